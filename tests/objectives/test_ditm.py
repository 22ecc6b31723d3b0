from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding
from tests.oracles import losses as oracle
from tests.toys import S3, S4, close, eye
from workbench import objectives
from workbench.objectives.ditm import caption_pairs, image_to_text_margin, ordering_loss, text_to_image_margin

DELTA3 = torch.tensor([0.2, 0.9, 0.5], dtype=torch.float64)


def terms(scores, own, delta, *, warming=False, also=None, **options):
    """The terms of a given score matrix and descriptiveness."""
    objective = objectives.load("ditm", **options)
    objective.warm_up(warming)
    objective.scores = lambda image, text: scores
    given = replace(make_batch(own), also=also)
    given.signals["descriptiveness"] = delta
    return objective(random_embedding(1, seed=0), random_embedding(1, seed=1), given)


def ordered(sims, delta, *, eps=1e-2, reduction="sum"):
    """The ordering of the captions of one image."""
    scores, delta = torch.tensor([sims], dtype=torch.float64), torch.tensor(delta, dtype=torch.float64)
    return ordering_loss(
        scores, torch.ones_like(scores, dtype=torch.bool), delta, eps=eps, reduction=reduction
    )


def test_three_pairs_give_the_worked_margins():
    # i2t, hardest captions (1, 2, 0): (.2+.9)/6, (.9+.5)/6, (.5+.2)/6; t2i: 2 delta / 6
    margins = image_to_text_margin(DELTA3, DELTA3, 6.0)
    close(
        margins[torch.arange(3), torch.tensor([1, 2, 0])],
        torch.tensor([1.1, 1.4, 0.7], dtype=torch.float64) / 6,
    )
    close(text_to_image_margin(DELTA3, 6.0)[:, 0], torch.tensor([0.4, 1.8, 1.0], dtype=torch.float64) / 6)


def test_three_pairs_give_the_worked_triplet():
    # i2t: .183333-.80+.70, .233333-.60+.55, .116667-.50+.65 = .083333, .183333, .266667
    # t2i: .066667-.80+.65 < 0, .3-.60+.70 = .4, .166667-.50+.55 = .216667
    found = terms(S3, range(3), DELTA3)
    assert found["i2t"].item() == pytest.approx(0.083333 + 0.183333 + 0.266667, abs=2e-6)
    assert found["t2i"].item() == pytest.approx(0 + 0.4 + 0.216667, abs=2e-6)
    close(found["i2t"] + found["t2i"], 1.15)


def test_the_negative_is_chosen_by_similarity_and_not_by_violation():
    # Row .80 (own), .50, .45 with delta .5, .05, .95 and tau 1. By similarity caption 1: .55-.80+.50 = .25;
    # by violation it would be caption 2: 1.45-.80+.45 = 1.10.
    scores = torch.tensor([[0.80, 0.50, 0.45], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]], dtype=torch.float64)
    delta = torch.tensor([0.5, 0.05, 0.95], dtype=torch.float64)
    others = sum(max(0.0, delta[j].item() + 0.5 - 1 - 1) for j in (1, 2))
    close(terms(scores, range(3), delta, tau=1.0)["i2t"], 0.25 + others)


@pytest.mark.parametrize(
    ("sims", "delta", "expected"),
    [
        ((0.5, 0.7), (0.3, 0.6), 0.191611378),  # distances 1 and .774597: (log(1/.774597) - log 2)^2
        ((0.5, 0.7, 0.8), (0.2, 0.4, 0.8), 1.293578441),  # three unordered pairs
        ((0.5, 0.875), (0.3, 0.6), 0.0),  # distances 1 and .5, and 1/.5 = .6/.3
        ((0.5, 0.7), (0.0, 0.6), 14.737397),  # 0 is clamped at .01
    ],
)
def test_the_ordering_gives_the_worked_values(sims, delta, expected):
    assert ordered(sims, delta).item() == pytest.approx(expected, abs=1e-6 if expected > 10 else 1e-9)


def test_caption_pairs_are_unordered_and_stay_within_an_image():
    positives = make_batch([0, 1, 0, 0]).positives
    pairs = {(int(i), int(a), int(b)) for i, a, b in zip(*caption_pairs(positives), strict=True)}
    assert pairs == {(0, 0, 2), (0, 0, 3), (0, 2, 3)}


def test_captions_that_judgements_call_right_are_positives_and_are_not_ordered():
    scores = torch.tensor([[0.9, 0.7, 0.5, 0.3], [0.1, 0.2, 0.6, 0.8]], dtype=torch.float64)
    delta = torch.tensor([0.2, 0.4, 0.6, 0.8], dtype=torch.float64)
    own = terms(scores, [0, 0, 1, 1], delta)
    also = torch.zeros(2, 4, dtype=torch.bool)
    also[0, 2] = True
    both = terms(scores, [0, 0, 1, 1], delta, also=also)
    close(both["ordering"], own["ordering"])
    assert both["i2t"] != own["i2t"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("warming", [False, True])
def test_it_equals_a_loop_with_several_captions_an_image(seed, warming):
    own = [0, 0, 1, 1, 1, 2, 3]
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.rand(4, 7, generator=generator, dtype=torch.float64) - 1
    delta = torch.rand(7, generator=generator, dtype=torch.float64)
    delta[0] = 0
    positives = make_batch(own).positives.tolist()
    i2t, t2i = oracle.ditm_triplet(scores.tolist(), positives, delta.tolist(), 6.0, not warming)
    order = oracle.ditm_ordering(scores.tolist(), positives, delta.tolist(), 1e-2)
    found = terms(scores, own, delta, warming=warming)
    close(torch.stack([found["i2t"], found["t2i"], found["ordering"]]), [i2t, t2i, 0.07 * sum(order)])
    means = terms(scores, own, delta, warming=warming, reduction="mean")
    close(
        torch.stack([means["i2t"], means["t2i"], means["ordering"]]),
        [i2t / 7, t2i / 7, 0.07 * sum(order) / len(order)],
    )


@pytest.mark.parametrize("warming", [False, True])
def test_constant_descriptiveness_is_vsepp_with_twice_it_over_tau_as_margin(warming):
    constant = torch.full((4,), 0.6, dtype=torch.float64)
    found = terms(S4, range(4), constant, warming=warming, ordering=False)
    close(found["i2t"] + found["t2i"], 2.35 if warming else 1.53)


def test_the_ablation_switches_leave_vsepp():
    found = terms(S4, range(4), torch.rand(4), adaptive=False, ordering=False)
    assert set(found) == {"i2t", "t2i"}
    close(found["i2t"] + found["t2i"], 1.53)


def test_without_descriptiveness_it_still_ranks():
    found = terms(S3, range(3), torch.zeros(3, dtype=torch.float64), ordering=False)
    # margin 0: row 2 .65-.50; column 1 .70-.60, column 2 .55-.50
    close(found["i2t"] + found["t2i"], 0.15 + 0.10 + 0.05)


def test_the_triplet_never_falls_when_a_descriptiveness_rises():
    before = terms(S3, range(3), DELTA3, ordering=False)
    for caption in range(3):
        more = DELTA3.clone()
        more[caption] += 0.3
        after = terms(S3, range(3), more, ordering=False)
        assert all(after[name] >= before[name] for name in before)


def test_the_ordering_ignores_the_scale_of_descriptiveness_and_the_order_of_captions():
    expected = ordered((0.5, 0.7, 0.8), (0.2, 0.4, 0.8)).item()
    assert ordered((0.5, 0.7, 0.8), (0.5, 1.0, 2.0)).item() == pytest.approx(expected)
    assert ordered((0.8, 0.5, 0.7), (0.8, 0.2, 0.4)).item() == pytest.approx(expected)
    assert ordered((0.6, 0.6), (0.4, 0.4)).item() == 0


def test_one_caption_an_image_leaves_nothing_to_order():
    found = terms(S3.clone().requires_grad_(), range(3), DELTA3)["ordering"]
    assert found.item() == 0
    assert found.requires_grad


def test_a_caption_that_equals_its_image_keeps_the_ordering_finite():
    scores = torch.tensor([[1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    total = ordering_loss(
        scores, torch.ones(1, 2, dtype=torch.bool), torch.tensor([0.3, 0.6]), eps=1e-2, reduction="sum"
    )
    # log(1e-6 * .3) - log(1 * .6)
    assert total.item() == pytest.approx((math.log(1e-6) + math.log(0.5)) ** 2, rel=1e-6)
    assert torch.autograd.grad(total, scores)[0].isfinite().all()


def test_the_ratio_may_compare_raw_descriptiveness():
    # Raw (1, 2) where min-max says (0, 1): d = 1 and .774597, (log(1/.774597) - log 2)^2 as with (.3, .6)
    scores, both = (
        torch.tensor([[0.5, 0.7]], dtype=torch.float64),
        {"minmax": torch.tensor([0.0, 1.0]), "raw": torch.tensor([1.0, 2.0])},
    )
    found = terms(scores, [0, 0], both, ratio_on="raw")
    assert found["ordering"].item() == pytest.approx(0.07 * 0.191611378, abs=1e-8)
    assert objectives.load("ditm", ratio_on="raw").text_features() == {
        "descriptiveness": {"scorer": "l2_sum", "scale": "both"}
    }


def test_it_asks_for_the_scorer_and_for_two_captions_an_image_unless_nothing_is_ordered():
    assert objectives.load("ditm", scorer="printed").text_features()["descriptiveness"]["scorer"] == "printed"
    assert objectives.load("ditm").captions_per_image == 2
    assert objectives.load("ditm", ordering=False).captions_per_image == 1


def test_its_preset_is_the_papers():
    objective = objectives.load("ditm")
    found = objective.tau, objective.weights["ordering"], objective.scorer, objective.reduction
    assert found == (6.0, 0.07, "l2_sum", "sum")
    assert caption_pairs(eye(3))[0].numel() == 0


@pytest.mark.parametrize("option", [{"scorer": "tfidf"}, {"ratio_on": "both"}, {"reduction": "none"}])
def test_a_value_that_an_option_does_not_know_is_refused(option):
    with pytest.raises(ValueError, match="choose one of"):
        objectives.load("ditm", **option)
