from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding
from tests.oracles import probabilistic as oracle
from tests.toys import close
from workbench import objectives
from workbench.losses import similarity
from workbench.objectives.pcme import FLOOR, draw_samples
from workbench.records import Embedding


def made(**options):
    return objectives.load("pcme", **options).double()


def on_a_line(*places):
    """Samples at places of a line, one item: ``(1, J, 1)``."""
    return torch.tensor(places, dtype=torch.float64)[None, :, None]


def log_odds(image, text, a=5.0, b=5.0, **options):
    a, b = torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
    return similarity.match_log_odds(image, text, scale=a, shift=b, floor=FLOOR, **options)


def nll(odds, matched):
    return torch.nn.functional.softplus(-odds if matched else odds)


@pytest.mark.parametrize(
    ("distance", "matched", "expected"),
    [
        (0.4, True, 0.002475685),
        (1.2, False, 0.126928011),
        (1.0, False, 0.693147181),
        (0.6, True, 0.018149928),
    ],
)
def test_one_sample_gives_the_worked_values(distance, matched, expected):
    # s = 5 - 5 * .4 = 3, and log(1 + exp(-2 * 3)) = .002475685
    close(nll(log_odds(on_a_line(0.0), on_a_line(distance)), matched), [[expected]])


def test_two_pairs_give_the_worked_loss():
    distances = torch.tensor([[0.4, 1.2], [1.0, 0.6]], dtype=torch.float64)
    objective = made(beta=0.0)
    objective.scores = lambda image, text: 2 * (5 - 5 * distances)
    found = objective(random_embedding(1, seed=0), random_embedding(1, seed=1), make_batch([0, 1]))
    assert set(found) == {"match"}
    # 2 * (.002475685 + .126928011 + .693147181 + .018149928); the values have nine digits each.
    assert found["match"].item() == pytest.approx(1.681401609, abs=2e-9)


def test_two_samples_a_side_give_the_worked_values():
    # Distances of 0 and .1 to -.4 and -.6: .4, .6, .5, .7.
    image, text = on_a_line(0.0, 0.1), on_a_line(-0.4, -0.6)
    close(nll(log_odds(image, text), True), [[0.018820387]])
    close(nll(log_odds(image, text), False), [[3.982210020]])


def test_the_score_is_the_mean_probability():
    close(log_odds(on_a_line(0.0), on_a_line(0.4)).sigmoid(), [[0.997527377]])
    image, text = on_a_line(0.0, 0.1), on_a_line(-0.4, -0.6)
    probabilities = [oracle.sigmoid(2 * (5 - 5 * d)) for d in (0.4, 0.5, 0.6, 0.7)]
    close(log_odds(image, text).sigmoid(), [[sum(probabilities) / 4]])


def test_equal_samples_reduce_to_one():
    close(log_odds(on_a_line(0.0, 0.0, 0.0), on_a_line(0.7, 0.7)), log_odds(on_a_line(0.0), on_a_line(0.7)))


def test_samples_are_spread_by_the_deviation():
    found = draw_samples(torch.tensor([[1.0]]), torch.tensor([[2.0]]).log(), torch.tensor([[[0.5], [-1.0]]]))
    assert found.flatten().tolist() == pytest.approx([2.0, -1.0])


def test_the_released_variant_reads_the_output_as_log_sigma_and_the_consistent_one_as_log_variance():
    # Noise 1, output log 4: a deviation of 2 or of 4.
    one = Embedding(
        torch.zeros(1, 1, dtype=torch.float64), torch.full((1, 1), 4.0, dtype=torch.float64).log()
    )
    for variant, expected in (("consistent", 2.0), ("released", 4.0), ("original", 4.0)):
        objective = made(variant=variant).eval()
        drawn = objective._draw(one, torch.Generator().manual_seed(0))
        half = torch.randn(1, 4, 1, generator=torch.Generator().manual_seed(0)).double()
        torch.testing.assert_close(drawn, expected * torch.cat([half, -half], dim=1))


def test_variants_have_the_constants_of_their_repositories():
    found = {name: made(variant=name) for name in ("consistent", "released", "original")}
    assert {
        name: (o.scale.item(), o.shift.item(), o.samples, o.weights["vib"]) for name, o in found.items()
    } == {
        "consistent": (5, 5, 8, 1e-3),
        "released": (5, 5, 8, 1e-3),
        "original": (15, 15, 7, 1e-5),
    }
    image, text, given = random_embedding(2, seed=0), random_embedding(2, seed=1), make_batch([0, 1])
    terms = [
        *oracle.vib(image.mean.tolist(), image.log_var.tolist()),
        *oracle.vib(text.mean.tolist(), text.log_var.tolist()),
    ]
    close(found["released"](image, text, given)["vib"], 1e-3 * sum(terms) / 12)
    # in evaluation the draws of an item come in pairs that differ in sign, so that their mean is its own
    close(found["original"].eval()(image, text, given)["vib"], 1e-5 * sum(terms))


@pytest.mark.parametrize("weight", [None, 0.0])
def test_the_original_bottleneck_reads_the_mean_of_the_samples_that_are_scored(weight):
    own = [0, 0, 1]
    image, text, given = random_embedding(2, seed=0), random_embedding(3, seed=1), make_batch(own)
    objective = made(variant="original", beta=weight)
    torch.manual_seed(3)
    drawn = [objective._draw(one, None) for one in (image, text)]
    torch.manual_seed(3)
    found = objective(image, text, given)
    odds = log_odds(*drawn, 15.0, 15.0, added=1e-6)
    losses = nll(odds, True) * given.positives + nll(odds, False) * ~given.positives
    close(found["match"], 2 * losses.sum())
    if weight is None:
        sides = zip(drawn, (image, text), strict=True)
        terms = [oracle.vib(its.mean(1).tolist(), one.log_var.tolist()) for its, one in sides]
        close(found["vib"], 1e-5 * sum(map(sum, terms)))
        plain = [oracle.vib(one.mean.tolist(), one.log_var.tolist()) for one in (image, text)]
        assert abs(found["vib"].item() - 1e-5 * sum(map(sum, plain))) > 1e-7


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", ["consistent", "released"])
def test_it_equals_a_double_loop(seed, variant):
    own = [0, 0, 1, 2, 2]
    image, text, given = random_embedding(3, seed=seed), random_embedding(5, seed=seed + 9), make_batch(own)
    objective = made(variant=variant, samples=3, beta=0.0)
    torch.manual_seed(seed)
    drawn = [objective._draw(one, None).tolist() for one in (image, text)]
    torch.manual_seed(seed)
    found = objective(image, text, given)["match"]
    expected = 0.0
    for i in range(3):
        for j in range(5):
            expected += oracle.pcme_nll(drawn[0][i], drawn[1][j], 5.0, 5.0, own[j] == i)
    close(found, 2 * expected)


def test_chunks_of_images_give_the_whole(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    image, text = (torch.randn(n, 3, 4, generator=generator, dtype=torch.float64) for n in (5, 7))
    whole = log_odds(image, text)
    monkeypatch.setattr(similarity, "block_entries", lambda _: 1)
    close(log_odds(image, text), whole)


def test_without_variance_the_seed_does_not_matter():
    image, text = (
        replace(one, log_var=one.log_var * 0 - 1e3)
        for one in (random_embedding(3, seed=0), random_embedding(4, seed=1))
    )
    objective = made()
    torch.manual_seed(0)
    first = objective.scores(image, text)
    torch.manual_seed(1)
    torch.testing.assert_close(objective.scores(image, text), first)
    distances = torch.cdist(image.mean, text.mean)
    torch.testing.assert_close(first, 2 * (5 - 5 * distances))


def test_training_draws_anew_and_evaluation_scores_a_pair_alike_wherever_it_stands():
    image, text = random_embedding(4, seed=0), random_embedding(5, seed=1)
    objective = made()
    assert not torch.equal(objective.scores(image, text), objective.scores(image, text))
    objective.eval()
    whole = objective.scores(image, text)
    part = objective.scores(
        Embedding(image.mean[2:], image.log_var[2:]), Embedding(text.mean[[3]], text.log_var[[3]])
    )
    torch.testing.assert_close(part, whole[2:, [3]])


def test_draws_of_evaluation_have_the_embedding_as_their_mean():
    one = random_embedding(3, seed=0)
    for count, drawn in ((7, 8), (8, 8)):
        found = made(samples=count).eval()._draw(one, torch.Generator().manual_seed(1))
        assert found.shape[1] == drawn
        torch.testing.assert_close(found.mean(1), one.mean)


def test_the_score_is_unbiased_over_draws():
    image, text = random_embedding(2, seed=0), random_embedding(2, seed=1)
    torch.manual_seed(0)
    few = torch.stack([made(samples=8).scores(image, text).sigmoid() for _ in range(400)]).mean(0)
    many = made(samples=500).scores(image, text).sigmoid()
    torch.testing.assert_close(few, many, atol=0.02, rtol=0)


@pytest.mark.parametrize("variant", ["consistent", "released", "original"])
def test_the_gradient_is_finite_at_distance_zero(variant):
    same = torch.full((2, 3), 3**-0.5, dtype=torch.float64)
    image, text = (
        Embedding(same.clone().requires_grad_(), torch.full((2, 3), -1e3, dtype=torch.float64))
        for _ in range(2)
    )
    objective = made(variant=variant)
    made_ = objective(image, text, make_batch([0, 1]))["match"]
    made_.backward()
    assert made_.isfinite()
    assert image.mean.grad.isfinite().all()


def test_scores_do_not_saturate_where_probabilities_do():
    # sigmoid(2 * 15 * .9) is 1 in single precision at both distances; the log odds still tell them apart.
    near, far = (log_odds(on_a_line(0.0).float(), on_a_line(d).float(), 15.0, 15.0) for d in (0.1, 0.2))
    assert near.float().sigmoid() == far.float().sigmoid() == 1
    assert near > far


def test_soft_labels_divide_the_likelihood():
    image, text, given = random_embedding(2, seed=0), random_embedding(2, seed=1), make_batch([0, 1])
    labels = torch.tensor([[0.75, 0.25], [0.0, 1.0]], dtype=torch.float64)
    objective = made(beta=0.0).eval()
    odds = objective.scores(image, text)
    by_hand = sum(
        labels[i, j] * nll(odds[i, j], True) + (1 - labels[i, j]) * nll(odds[i, j], False)
        for i in range(2)
        for j in range(2)
    )
    close(objective(image, text, replace(given, labels=labels))["match"], 2 * by_hand)


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="choose one of consistent, released, original"):
        made(variant="printed")
