from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize

from tests.objectives.worlds import load, make_batch, random_embedding
from tests.oracles import dias as oracle
from tests.toys import S3, S4, close
from workbench import objectives
from workbench.losses.distance_weighted import distance_weighted
from workbench.objectives.dias import (
    alignment,
    correlation,
    first_captions,
    inter_difference,
    intra_difference,
)
from workbench.objectives.parts import attention
from workbench.objectives.parts.attention import CrossAttention
from workbench.objectives.parts.selection import Selection, constraint_loss, probability, thresholds
from workbench.records import Batch, Embedding

Y = torch.tensor([[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]], dtype=torch.float64)
Z = torch.tensor([[1, 0.4, 0.25], [0.4, 1, 0.6], [0.25, 0.6, 1]], dtype=torch.float64)
NONE = torch.zeros(2, dtype=torch.float64)


def matrix(values):
    return torch.tensor(values, dtype=torch.float64)


def sums(difference, beta=0.0, **fields):
    """The constraint under a rule, and what it keeps."""
    selection, start = Selection(**fields), matrix((beta, beta) if isinstance(beta, float) else beta)
    kept = selection.mask(difference, start).nonzero().tolist()
    return constraint_loss(difference, selection, start, reduction="sum").item(), kept


def padded(count, seed, parts=4):
    """An embedding whose rows have 1 to ``parts`` real parts."""
    made = random_embedding(count, seed=seed, parts=parts)
    mask = torch.arange(parts)[None, :] <= (torch.arange(count) * 7 % parts)[:, None]
    return replace(made, mask=mask)


def real(made):
    """Real parts of every row as lists."""
    return [parts[mask].tolist() for parts, mask in zip(made.parts.detach(), made.mask, strict=True)]


@pytest.mark.parametrize(
    ("values", "denominators", "expected"),
    [
        # .8/1 + .8/.9 + .5/.6 + .5/.7
        (((0.8, 0.2), (0.1, 0.5)), "absolute", -3.236507937),
        (((0.8, 0.2), (0.1, 0.5)), "printed", -3.236507937),
        # printed: .8/.6 + .8/.9 + .5/.6 + .5/.3
        (((0.8, -0.2), (0.1, 0.5)), "printed", -4.722222222),
        (((0.8, -0.2), (0.1, 0.5)), "absolute", -3.236507937),
        # printed: .5/-.1 + .5/.6 + .5/.6 + .5/-.1, the wrong direction
        (((0.5, -0.6), (0.1, 0.5)), "printed", 8.333333333),
        (((0.5, -0.6), (0.1, 0.5)), "absolute", -2.575757576),
    ],
)
def test_the_alignment_gives_the_worked_values(values, denominators, expected):
    close(alignment(matrix(values), denominators=denominators, reduction="sum"), expected)
    close(alignment(matrix(values), denominators=denominators, reduction="mean"), expected / 2)
    assert oracle.alignment(values, denominators == "printed") == pytest.approx(expected, abs=1e-9)


def test_three_pairs_give_the_worked_correlations():
    # columns (1,2,0), (0,1,3) against (2,1,1), (1,0,2): 4/sqrt(5 6), 1/sqrt(5 5); 4/sqrt(10 6), 6/sqrt(10 5)
    image, text = matrix([[1, 0], [2, 1], [0, 3]]), matrix([[2, 1], [1, 0], [1, 2]])
    found = correlation(image, text)
    torch.testing.assert_close(found, matrix([[0.730297, 0.2], [0.516398, 0.848528]]), atol=1e-6, rtol=0)
    close(alignment(found, denominators="absolute", reduction="sum"), -2.801723777)


def test_the_identity_is_the_least_alignment():
    close(alignment(torch.eye(5, dtype=torch.float64), denominators="absolute", reduction="sum"), -10.0)


def test_both_constraints_give_the_worked_values():
    # .40^2 + .55^2 + .35^2, twice; .1^2 + .05^2 + .3^2, twice
    assert sums(inter_difference(S3), rule="dense")[0] == pytest.approx(1.17)
    assert sums(Y - Z, rule="dense")[0] == pytest.approx(0.205)


def test_probabilities_and_thresholds_are_the_worked_ones():
    difference, others = inter_difference(S3), ~torch.eye(3, dtype=torch.bool)
    chance = probability(difference)
    torch.testing.assert_close(
        chance[[0, 0, 1], [1, 2, 2]], matrix([0.401312, 0.365864, 0.413382]), atol=1e-6, rtol=0
    )
    for counted, values in (
        (others, [0.383588, 0.407347, 0.389623]),
        (torch.ones_like(others), [0.422392, 0.438232, 0.426416]),
    ):
        torch.testing.assert_close(thresholds(chance, counted, NONE[0]), matrix(values), atol=1e-6, rtol=0)
    found = thresholds(probability(Y - Z), others, NONE[0])
    torch.testing.assert_close(found, matrix([0.481262, 0.450289, 0.456530]), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("difference", "fields", "expected", "kept"),
    [
        (S3 - S3.T, {}, 0.245, [[1, 2], [2, 1]]),
        (S3 - S3.T, {"rule": "printed"}, 0.605, [[0, 2], [2, 0]]),
        (S3 - S3.T, {"diagonal": True}, 0.0, [[0, 0], [1, 1], [2, 2]]),
        (Y - Z, {}, 0.005, [[0, 2], [2, 0]]),
        # The largest P of rows 0 and 1 are (0, 1) and (1, 2); of row 2 (2, 1). Both ways: (1, 2) alone.
        (S3 - S3.T, {"rule": "top_k", "keep": 0.5}, 0.245, [[1, 2], [2, 1]]),
        # 2 (.40 + .55 + .35)
        (S3 - S3.T, {"rule": "l1"}, 2.6, [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]),
    ],
)
def test_the_selection_keeps_what_was_worked_out(difference, fields, expected, kept):
    found, entries = sums(difference, **fields)
    assert found == pytest.approx(expected, abs=1e-9)
    assert entries == kept


def test_the_slope_of_a_learned_beta_is_the_measured_one():
    # At beta 0 the soft loss of S3 falls by .283 for every unit of beta, so that beta alone would grow for
    # ever. That was measured with the diagonal and the sample deviation, which is sqrt(3/2) times the
    # population's.
    beta = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    selection, difference = Selection(beta="learned", keep=1.0, diagonal=True), S3 - S3.T
    soft = selection.soft_mask(difference, beta)
    (slope,) = torch.autograd.grad((soft * difference.square()).sum(), beta)
    assert slope.sum().item() * math.sqrt(3 / 2) == pytest.approx(-0.283, abs=5e-4)


def test_a_learned_beta_pays_for_keeping_too_little():
    beta = torch.full((2,), 1.5, dtype=torch.float64, requires_grad=True)
    selection, difference = Selection(beta="learned", keep=0.5), (S4 - S4.T).requires_grad_()
    found = constraint_loss(difference, selection, beta, reduction="mean")
    slopes = torch.autograd.grad(found, (beta, difference))
    assert slopes[0].sum() > 0  # a smaller beta is cheaper
    hard = selection.mask(difference, beta)
    close(slopes[1], (2 * difference * hard / 12).detach())
    close(found, ((hard * difference.square()).sum() / 12 + (hard.sum() / 12 - 0.5) ** 2).detach())
    soft = selection.soft_mask(difference, beta)
    worth = (soft * (difference.detach().square() + 2 * (hard.sum() / 12 - 0.5))).sum() / 12
    close(slopes[0], torch.autograd.grad(worth, beta)[0])


@pytest.mark.parametrize(("width", "keep"), [(8, 0.5), (1024, 0.25)])
def test_a_learned_beta_comes_to_keep_the_share_that_it_aims_at_and_stays_there(width, keep):
    # With a price on the share of the soft mask nothing was kept after 300 steps in 1,024 dimensions. A slope
    # of 0 is a share that lacks half of what a kept entry costs, .1 at most here.
    generator, selection = torch.Generator().manual_seed(0), Selection(beta="learned", keep=keep)
    beta = torch.zeros(2, requires_grad=True)
    optimiser, shares = torch.optim.Adam([beta], lr=0.02), []
    for _ in range(300):
        image, text = (normalize(torch.randn(32, width, generator=generator), dim=1) for _ in range(2))
        difference = inter_difference(image @ normalize(image + text, dim=1).T)
        optimiser.zero_grad()
        (0.05 * constraint_loss(difference, selection, beta, reduction="sum")).backward()
        optimiser.step()
        shares.append(selection.mask(difference, beta.detach()).sum().item() / (32 * 31))
    assert abs(sum(shares[-50:]) / 50 - keep) < 0.06
    assert min(shares[-50:]) > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fields", [{}, {"printed": True}, {"diagonal": True}])
def test_the_selection_equals_a_loop(seed, fields):
    scores = torch.rand(6, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    difference = inter_difference(scores)
    for betas in ((0.3, 0.3), (-0.5, 0.2)):
        rule = "printed" if fields.get("printed") else "p"
        total, kept = oracle.sparse_constraint(difference.tolist(), *betas, **fields)
        found = sums(difference, betas, rule=rule, diagonal=fields.get("diagonal", False))
        assert found == (pytest.approx(total), [list(pair) for pair in kept])


def test_sparse_is_at_most_dense_and_beta_leads_from_dense_to_nothing():
    difference = inter_difference(S4)
    dense, everything = sums(difference, rule="dense")
    found = [sums(difference, beta)[0] for beta in (-100.0, -1.0, 0.0, 1.0, 100.0)]
    assert found[0] == pytest.approx(dense)
    assert found[-1] == 0
    assert found == sorted(found, reverse=True)
    assert sums(difference, rule="top_k", keep=1.0) == (pytest.approx(dense), everything)
    for rule in ("p", "printed", "top_k"):
        kept = Selection(rule=rule).mask(difference, NONE)
        assert torch.equal(kept, kept.T)


def test_equal_sides_have_no_difference():
    image = random_embedding(5, seed=0).mean
    assert inter_difference(image @ image.T).abs().max() < 1e-12
    assert intra_difference(image, image).abs().max() == 0


def test_the_alignment_ignores_scales_and_orders():
    image, text = random_embedding(7, seed=0).parts[:, 0], random_embedding(7, seed=1).parts[:, 0]
    scale, order = torch.tensor([1, 2, 5, 0.1, 3, 1]), torch.tensor([3, 1, 5, 0, 2, 4])
    expected = alignment(correlation(image, text), denominators="absolute", reduction="sum")
    for v, t in ((image * scale, text), (image.flip(0), text.flip(0)), (image[:, order], text[:, order])):
        torch.testing.assert_close(
            alignment(correlation(v, t), denominators="absolute", reduction="sum"), expected
        )
    close(correlation(image, text).detach(), oracle.correlation(image.tolist(), text.tolist()))


def test_widths_that_differ_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="give both encoders the same embed_dim"):
        correlation(torch.zeros(2, 3), torch.zeros(2, 4))


SCORERS = {
    "cross": oracle.cross_score,
    "chan": oracle.chan_score,
    "scan_t2i": lambda regions, words: oracle.scan_score(words, regions, 9),
    "scan_i2t": lambda regions, words: oracle.scan_score(regions, words, 4),
}


@pytest.mark.parametrize(("form", "one"), SCORERS.items())
def test_scores_by_parts_equal_a_loop_over_pairs(form, one):
    image, text = padded(3, seed=0), padded(5, seed=1, parts=3)
    found = CrossAttention(form).scores(image, text)
    close(found.detach(), [[one(regions, words) for words in real(text)] for regions in real(image)])


def test_scores_in_chunks_are_those_of_the_whole(monkeypatch):
    image, text = padded(7, seed=0), padded(5, seed=1)
    whole = CrossAttention().scores(image, text)
    monkeypatch.setattr(attention, "ELEMENTS", {"cpu": 160})
    monkeypatch.setattr(attention, "GROUP", {"cpu": 2})
    torch.testing.assert_close(CrossAttention().scores(image, text), whole)


@pytest.mark.parametrize("attention", ["relu", "printed"])
def test_other_weights_by_hand(attention):
    # cosines .6, .2 and -.2: relu .75, .25, 0; printed 1, 1/3, -1/3; the fourth part is padding
    found = CrossAttention(attention=attention).weights(
        matrix([[0.6, 0.2, -0.2, 0.9]]), torch.tensor([True, True, True, False])
    )
    close(found, [[0.75, 0.25, 0, 0]] if attention == "relu" else [[1, 1 / 3, -1 / 3, 0]])


def test_padding_changes_no_term():
    image, text, given = padded(4, seed=0), padded(8, seed=1), make_batch([0, 0, 1, 2, 2, 2, 3, 3])
    for options in ({}, {"scorer": "cross", "rows": "attended"}, {"scorer": "chan"}):
        more = [
            replace(
                side,
                parts=torch.cat([side.parts, side.parts], 1),
                mask=torch.cat([side.mask, side.mask & False], 1),
            )
            for side in (image, text)
        ]
        objective, terms = load("dias", **options), []
        for sides in ((image, text), more):
            torch.manual_seed(0)
            terms.append(objective(*sides, given))
        for name, term in terms[0].items():
            torch.testing.assert_close(term, terms[1][name])


@pytest.mark.parametrize("which", ["mean", "attended", "pooled"])
def test_rows_are_what_their_names_say(which):
    image, text, given = padded(3, seed=0), padded(4, seed=1), make_batch([0, 1, 1, 2])
    found = load("dias", rows=which, weights={"loc": 0, "dim": 1, "inter": 0, "intra": 0})(
        image, text, given
    )["dim"]
    sides = [], []
    for t, i in enumerate(given.own.tolist()):
        regions, words = real(image)[i], real(text)[t]
        if which == "mean":
            pairs = [(oracle.mean(regions), oracle.mean(words))]
        elif which == "pooled":
            pairs = [(image.mean[i].tolist(), text.mean[t].tolist())]
        else:
            pairs = [
                (r, oracle.mixed(oracle.attention([oracle.cosine(r, w) for w in words]), words))
                for r in regions
            ]
            pairs += [
                (oracle.mixed(oracle.attention([oracle.cosine(r, w) for r in regions]), regions), w)
                for w in words
            ]
        for side, vectors in zip(sides, zip(*pairs, strict=True), strict=True):
            side.extend(vectors)
    close(found, oracle.alignment(oracle.correlation(*sides), False))


def test_the_terms_are_the_weighted_equations():
    own = [0, 0, 1, 2, 2, 3]
    image, text, given = padded(4, seed=0), padded(6, seed=1), make_batch(own)
    torch.manual_seed(0)
    found = load("dias", selection="dense")(image, text, given)
    captions = [0, 2, 3, 5]
    scores = image.mean @ text.mean[captions].T
    intra = image.mean @ image.mean.T - text.mean[captions] @ text.mean[captions].T
    close(found["inter"], 0.05 * (scores - scores.T).square().sum().item())
    close(found["intra"], 0.1 * intra.square().sum().item())
    torch.manual_seed(0)
    whole, options = image.mean @ text.mean.T, {"margin": 0.2, "cutoff": 1.7, "reduction": "sum"}
    drawn = [
        distance_weighted(s, p, **options)
        for s, p in ((whole, given.positives), (whole.T, given.positives.T))
    ]
    close(found["loc"].detach(), (drawn[0] + drawn[1]).detach())
    means = [[oracle.mean(r) for r in real(side)] for side in (image, text)]
    c = oracle.correlation([means[0][i] for i in own], means[1])
    close(found["dim"], 10 * oracle.alignment(c, False))
    torch.manual_seed(0)
    means = load("dias", selection="dense", reduction="mean")(image, text, given)
    close(means["inter"], found["inter"].item() / 12)
    close(means["dim"], found["dim"].item() / 6)
    close(means["loc"], found["loc"].item() / 6)


def test_cross_compares_images_by_what_they_see_in_their_own_captions():
    image, text, given = padded(3, seed=0), padded(3, seed=1), make_batch([0, 1, 2])
    found = load(
        "dias", scorer="cross", selection="dense", weights={"loc": 0, "dim": 0, "inter": 1, "intra": 1}
    )
    terms = found(image, text, given)
    scores = matrix([[oracle.cross_score(r, w) for w in real(text)] for r in real(image)])
    close(terms["inter"], (scores - scores.T).square().sum())
    of_words, of_regions = found.attention.attended_pairs(image, text)
    v = normalize(torch.stack([a[m].mean(0) for a, m in zip(of_words, image.mask, strict=True)]), dim=1)
    t = normalize(torch.stack([a[m].mean(0) for a, m in zip(of_regions, text.mask, strict=True)]), dim=1)
    close(terms["intra"].detach(), (v @ v.T - t @ t.T).square().sum().detach())
    assert (v * t).sum(1).tolist() == pytest.approx(scores.diagonal().tolist())


def test_a_square_batch_takes_of_every_image_the_caption_with_the_least_id_and_no_image_twice():
    given = Batch(["a", "b", "a", "c"], ["t3", "t1", "t2", "t0"], torch.tensor([1, 2, 1, 0]))
    images, captions = first_captions(given)
    assert (images.tolist(), captions.tolist()) == ([1, 0], [2, 3])
    taken = random_embedding(4, seed=0).take(images)
    torch.testing.assert_close(taken.parts, random_embedding(4, seed=0).parts[[1, 0]])


def test_in_the_warm_up_the_triplet_sums_over_all_negatives():
    image, text, given = random_embedding(4, seed=0), random_embedding(4, seed=1), make_batch(range(4))
    objective = load("dias")
    objective.scores = lambda image, text: S4
    close(objective(image, text, given)["loc"], 1.53)
    objective.warm_up(True)
    close(objective(image, text, given)["loc"], 2.35)


@pytest.mark.parametrize("term", ["loc", "dim", "inter", "intra"])
def test_a_term_alone_computes_nothing_else(term):
    image, text, given = random_embedding(4, seed=0), random_embedding(4, seed=1), make_batch(range(4))
    torch.manual_seed(0)  # the triplet draws its negatives
    whole = load("dias")(image, text, given)
    off = {name: 0.0 for name in whole if name != term}
    objective = load("dias", weights=off)
    torch.manual_seed(0)
    alone = objective(image, text, given)
    assert set(alone) == set(objective.terms) == {term}
    close(alone[term].detach(), whole[term].detach())
    selected = load("dias")
    selected.select([term])
    assert set(selected(image, text, given)) == {term}
    assert selected.inputs == objective.inputs == (("parts",) if term == "dim" else ())
    if term == "dim":
        objective.scores = None
        objective(image, text, given)


def test_it_reads_parts_for_what_needs_them_and_scores_by_them_only_where_told():
    assert load("dias").inputs == ("parts",)
    assert load("dias", rows="pooled").inputs == ()
    assert not load("dias").scores_parts
    cross = load("dias", scorer="cross", rows="pooled")
    assert cross.inputs == ("parts",)
    assert cross.scores_parts
    bare = Embedding(random_embedding(4, seed=0).mean)
    assert set(load("dias", rows="pooled")(bare, bare, make_batch(range(4)))) == {
        "loc",
        "dim",
        "inter",
        "intra",
    }
    with pytest.raises(ValueError, match="no parts; choose encoders that keep regions"):
        load("dias")(bare, bare, make_batch(range(4)))


def test_its_preset_is_the_papers_and_a_learned_beta_is_a_parameter():
    objective = load("dias")
    assert objective.weights == {"loc": 1, "dim": 10, "inter": 0.05, "intra": 0.1}
    assert (objective.margin, objective.cutoff, objective.reduction) == (0.2, 1.7, "sum")
    assert list(objective.state_dict()) == []
    learned = load("dias", selection={"rule": "p", "beta": "learned", "keep": 0.1})
    assert [name for name, _ in learned.named_parameters()] == ["beta"]
    image, text = random_embedding(4, seed=0), random_embedding(4, seed=1)
    sum(learned(image, text, make_batch(range(4))).values()).backward()
    assert (learned.beta.grad != 0).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scorer": "crossed"}, ValueError, "choose one of dual, cross, chan"),
        ({"scorer": {"name": "chan", "temprature": 1}}, TypeError, "did you mean temperature"),
        ({"rows": "max"}, ValueError, "choose one of mean, attended, pooled"),
        ({"weights": {"iner": 1}}, ValueError, "did you mean inter"),
        (
            {"weights": {"inter": -1}},
            ValueError,
            "weights.inter is -1; it should be greater than or equal to 0",
        ),
        ({"weights": dict.fromkeys(("loc", "dim", "inter", "intra"), 0)}, ValueError, "give at least one of"),
        ({"selection": "topk"}, ValueError, "top_k"),
        ({"selection": {"kep": 0.1}}, TypeError, "did you mean keep"),
        ({"selection": {"keep": 0}}, ValueError, "keep is 0; it should be greater than 0"),
        ({"selection": {"beta": "free"}}, ValueError, "choose one of learned"),
        ({"selection": {"rule": "dense", "beta": "learned"}}, ValueError, "for the rules 'p' and 'printed'"),
        ({"reduction": "none"}, ValueError, "choose one of mean, sum"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        objectives.load("dias", **options)


def test_attended_rows_of_one_part_are_that_part():
    made, other = (random_embedding(3, seed=n, parts=1) for n in (0, 1))
    of_words, of_regions = CrossAttention().attended_pairs(made, other)
    torch.testing.assert_close(of_words, other.parts)
    torch.testing.assert_close(of_regions, made.parts)
