"""One bootstrap: images are drawn, each with all its captions, and every number sees the same draw."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from workbench.metrics import intervals
from workbench.metrics.intervals import Draws, clustered_wilson, percentile_interval

OWN = np.array([0, 0, 0, 1, 2, 2])


def weights(draws):
    return np.concatenate(list(draws.blocks()))


def test_every_resample_draws_as_many_images_as_there_are():
    drawn = weights(Draws(np.repeat(np.arange(13), 5), 13, rounds=50))
    assert drawn.shape == (50, 13)
    assert (drawn.sum(axis=1) == 13).all()
    assert drawn.min() == 0


def test_within_folds_images_are_drawn_within_each_fold():
    drawn = weights(Draws(np.arange(12), 12, rounds=20, folds=3))
    assert (drawn.reshape(20, 3, 4).sum(axis=2) == 4).all()


def test_resamples_come_in_blocks_of_bounded_memory(monkeypatch):
    monkeypatch.setattr(intervals, "CHUNK", 40)
    assert [len(block) for block in Draws(np.arange(13), 13, rounds=8).blocks()] == [3, 3, 2]


def test_a_resample_repeats_all_captions_of_an_image_and_serves_both_directions():
    draws, rng = Draws(OWN, 3, rounds=30), np.random.default_rng(0)
    captions, images = rng.random(6), rng.random(3)
    for row, text, image, both in zip(
        weights(draws).astype(int), draws.resample(captions, "t2i"), draws.resample(images, "i2t"),
        draws.resample(np.concatenate([images, captions]), ""), strict=True,
    ):  # fmt: skip
        assert_allclose(text, np.repeat(captions, row[OWN]).mean())
        assert_allclose(image, np.repeat(images, row).mean())
        assert_allclose(both, text + image)


def drawn_medians(draws, ranks, own):
    """The medians of the drawn ranks, resample by resample."""
    medians = []
    for row in weights(draws).astype(int):
        drawn = np.repeat(ranks, row[own])
        known = drawn[~np.isnan(drawn)]
        medians.append(np.floor(np.median(known)) if len(known) else np.nan)
    return np.array(medians)


@pytest.mark.parametrize("case", ["wide", "coarse", "few", "equal within an image", "three"])
def test_medians_of_resamples_spread_as_those_of_the_drawn_ranks(case, rng):
    own = np.repeat(np.arange(200), 5)
    draws, ranks = Draws(own, 200, rounds=400), np.floor(np.exp(3 + 2 * rng.normal(size=1000)))
    if case == "coarse":
        ranks = 1.0 + (rng.random(1000) < 0.49)
    elif case == "few":
        ranks[rng.random(1000) < 0.9] = np.nan
    elif case == "equal within an image":
        ranks = np.repeat(ranks[:200], 5)
    elif case == "three":
        ranks[3:] = np.nan
    expected, resampled = drawn_medians(draws, ranks, own), draws.resample(ranks, "t2i", "median")
    assert_array_equal(np.isnan(resampled), np.isnan(expected))
    assert_allclose(np.nanstd(resampled), np.nanstd(expected), rtol=0.12, atol=1e-9)
    assert_allclose(np.nanmean(resampled), np.nanmean(expected), rtol=0.05)


def test_the_median_of_equal_draws_is_the_median_itself():
    # an image in every resample: 1 2 5 9, between 2 and 5 is 3.5, rounded down
    draws = Draws(np.zeros(4, np.int64), 1, rounds=3)
    assert draws.resample(np.array([9.0, 2.0, 1.0, 5.0]), "t2i", "median").tolist() == [3.0] * 3


def test_the_interval_of_a_median_is_woodruffs():
    # Ranks 1 to 9 of nine images. The share below 5, of which 5 itself is half, has the variance
    # 2 / 81 * 9 / 8 = 1 / 36, as of 9 trials; Student's quantile with 8 degrees of freedom is 2.306004.
    # Wilson's interval of a half is .195284 to .804716: the second and the eighth rank.
    draws = Draws(np.arange(9), 9)
    value, moved, there = draws.influence(np.arange(1.0, 10), "t2i", "median")
    assert value == 5
    assert_allclose(np.linalg.norm(moved, axis=1), (3, 3))
    assert there.all()
    assert (np.sign(moved[0]) == [-1] * 4 + [0] + [1] * 4).all()  # more small ranks, a smaller median


def test_the_interval_of_a_median_over_folds_adds_what_the_folds_do_not_share(rng):
    ranks, own = np.floor(np.exp(2 * rng.normal(size=40))), np.arange(40)
    folds = [Draws(own[:20], 20).influence(part, "t2i", "median") for part in (ranks[:20], ranks[20:])]
    value, moved, _ = Draws(own, 40, folds=2).influence(ranks, "t2i", "median")
    reaches = np.array([np.linalg.norm(part[1], axis=1) for part in folds])
    assert value == np.mean([part[0] for part in folds])
    assert_allclose(np.linalg.norm(moved, axis=1), np.sqrt((reaches**2).sum(axis=0)) / 2)


@pytest.mark.parametrize("values", [[4.0], [2.0, 2.0, 2.0], [1.0, 9.0]])
def test_the_interval_of_few_ranks_stays_among_them(values):
    own = np.zeros(len(values), np.int64)
    value, moved, _ = Draws(own, 1).influence(np.array(values), "t2i", "median")
    below, above = np.linalg.norm(moved, axis=1)
    assert (value - below, value + above) == pytest.approx((min(values), max(values)))


@pytest.mark.parametrize(("images", "centre", "spread"), [(20, 3.0, 1.5), (60, 4.0, 2.0), (200, 5.0, 2.0)])
def test_intervals_of_medians_cover_the_truth(images, centre, spread):
    """Five captions an image, whose ranks are correlated by 0.3, in whole numbers."""
    rng, covered = np.random.default_rng(5), []
    draws = Draws(np.repeat(np.arange(images), 5), images)
    for _ in range(400):
        of_images, of_captions = rng.normal(size=(images, 1)), rng.normal(size=(images, 5))
        logarithm = centre + spread * (0.3**0.5 * of_images + 0.7**0.5 * of_captions)
        ranks = np.maximum(1, np.floor(np.exp(logarithm))).ravel()
        value, moved, _ = draws.influence(ranks, "t2i", "median")
        below, above = np.linalg.norm(moved, axis=1)
        covered.append(value - below <= np.floor(np.exp(centre)) <= value + above)
    # 400 trials have a standard error of one point
    assert 0.92 <= np.mean(covered) <= 0.985


def test_a_median_between_two_ranks_is_rounded_down():
    # sorted 1 2 5 9: between 2 and 5 is 3.5
    assert Draws(np.arange(5), 5).value(np.array([9.0, 2.0, np.nan, 1.0, 5.0]), "t2i", "median") == 3.0


def test_a_number_over_folds_is_the_mean_of_the_folds_draw_by_draw(rng):
    own, values = np.repeat(np.arange(6), 2), rng.random(12)
    draws = Draws(own, 6, rounds=25, folds=2)
    by_fold = weights(draws).reshape(25, 2, 3)
    mine = values.reshape(2, 3, 2).mean(axis=2)
    assert_allclose(draws.resample(values, "t2i"), ((by_fold * mine).sum(axis=2) / 3).mean(axis=1))
    assert_allclose(draws.value(values, "t2i"), values.mean())


def test_queries_that_do_not_count_are_left_out_and_a_draw_without_any_is_nan():
    draws = Draws(np.array([0, 1]), 2, rounds=200)
    found = draws.resample(np.array([0.5, np.nan]), "t2i")
    assert set(found[~np.isnan(found)]) == {0.5}
    assert 0.15 < np.isnan(found).mean() < 0.35  # the second image twice: a quarter
    assert percentile_interval(found) == (0.5, 0.5)
    assert np.isnan(draws.value(np.full(2, np.nan), "t2i"))


def test_equal_values_have_an_interval_of_no_width_and_no_rounds_none():
    draws = Draws(np.arange(9), 9, rounds=100)
    assert percentile_interval(draws.resample(np.full(9, 0.25), "i2t")) == (0.25, 0.25)
    assert percentile_interval(Draws(np.arange(9), 9, rounds=0).resample(np.full(9, 0.25), "i2t")) == (
        None,
        None,
    )


def test_the_interval_of_a_mean_has_the_width_that_theory_gives():
    # 400 coin flips: the standard error is .025, so that the 95 % interval is 2 * 1.96 * .025 = .098 wide
    draws = Draws(np.arange(400), 400, rounds=4000)
    low, high = percentile_interval(draws.resample(np.tile([0.0, 1.0], 200), "i2t"))
    assert_allclose(high - low, 0.098, rtol=0.06)


def test_the_sum_of_each_image_adds_up_to_the_number(rng):
    own, values = np.repeat(np.arange(4), 3), rng.random(16)
    draws = Draws(own, 4)
    assert_allclose(draws.by_image(values, "").mean(), draws.value(values, ""))
    assert_allclose(draws.by_image(values[4:], "t2i"), values[4:].reshape(4, 3).sum(axis=1))


@pytest.mark.parametrize("direction", ["i2t", "t2i", ""])
def test_what_images_move_has_the_variance_of_the_resamples(direction, rng):
    own = np.sort(rng.integers(0, 150, 600))
    draws = Draws(own, 150, rounds=4000)
    images, captions = rng.random(150), (rng.random(600) + rng.random(150)[own]) / 2
    captions[rng.random(600) < 0.3] = np.nan
    values = {"i2t": images, "t2i": captions, "": np.concatenate([images, captions])}[direction]
    value, moved, _ = draws.influence(values, direction)
    assert value == pytest.approx(draws.value(values, direction))
    assert (moved**2).sum() == pytest.approx(draws.resample(values, direction).var(), rel=0.06)


@pytest.mark.parametrize("images", [20, 60])
@pytest.mark.parametrize("ease", [(0.01, 0.06), (0.06, 0.15), (0.2, 0.8)])
def test_intervals_of_few_images_with_rare_hits_cover_the_truth(images, ease):
    """Five captions an image, whose hits are correlated: percentiles of resamples cover 88 to 93 %."""
    rng, covered = np.random.default_rng(5), []
    draws = Draws(np.repeat(np.arange(images), 5), images)
    for share in rng.uniform(*ease, 400):
        of_images = rng.beta(share * 4, (1 - share) * 4, images)  # an intraclass correlation of 0.2
        hits = (rng.random((images, 5)) < of_images[:, None]).astype(float).ravel()
        value, moved, there = draws.influence(hits, "t2i")
        low, high = clustered_wilson(value, float((moved**2).sum()), int(there.sum()))
        covered.append(low <= share <= high)
    # 400 trials have a standard error of one point
    assert 0.915 <= np.mean(covered) <= 0.985


def test_an_interval_depends_on_values_own_rounds_and_seed_alone(rng):
    values = rng.random(6)
    first = Draws(OWN, 3, rounds=50).resample(values, "t2i")
    Draws(OWN, 3, rounds=50).resample(rng.random(3), "i2t")
    assert_array_equal(Draws(OWN, 3, rounds=50).resample(values, "t2i"), first)
    assert (Draws(OWN, 3, rounds=50, seed=1).resample(values, "t2i") != first).any()


def test_values_of_the_wrong_length_and_folds_that_cannot_be_cut_are_refused():
    with pytest.raises(ValueError, match="t2i: 5 values for 6 queries; there are 3 images and 6 captions"):
        Draws(OWN, 3).resample(np.ones(5), "t2i")
    with pytest.raises(ValueError, match="2 folds do not divide 3 images"):
        Draws(OWN, 3, folds=2)


# By hand, with z = 1.959964: z^2 = 3.841459. 0 of 10: 3.841459 / (10 + 3.841459) = 0.277533. Of 1/2 in 4:
# (0.5 + 3.841459 / 8 -+ sqrt(3.841459 (0.25 / 4 + 3.841459 / 64))) / (1 + 3.841459 / 4) = 0.150038, 0.849962.
@pytest.mark.parametrize(
    ("share", "trials", "low", "high"),
    [(0.0, 10, 0.0, 0.277533), (1.0, 10, 0.722467, 1.0), (0.5, 4, 0.150038, 0.849962)],
)
def test_wilsons_interval_is_that_of_the_formula(share, trials, low, high):
    assert_allclose(intervals.wilson(share, trials), (low, high), atol=1e-6)


@example(121, 2.2250738585072014e-308)
@given(st.integers(1, 500), st.floats(0, 1))
def test_wilsons_interval_holds_its_share_and_stays_among_shares(trials, share):
    low, high = intervals.wilson(share, trials)
    assert 0 <= low <= share <= high <= 1
    assert high > low
    assert_allclose(intervals.wilson(1 - share, trials), (1 - high, 1 - low), atol=1e-9)


def measured(scores, own, metrics, **options):
    from workbench.metrics import Evidence, evaluate
    from workbench.records import Judgements

    found = evaluate(Evidence(scores, Judgements.from_own(own, len(scores))), metrics, **options)
    return {one.label: one for one in found}


def test_a_perfect_model_is_not_certain_and_its_trials_are_images_not_captions():
    found = measured(np.repeat(np.eye(40), 5, axis=1), np.repeat(np.arange(40), 5), ["R", "rsum"])
    low = 40 / (40 + 3.841459)
    for label in ("i2t/R@1", "t2i/R@1"):
        assert_allclose((found[label].low, found[label].high), (low, 1.0), atol=1e-6)
        assert "Wilson" in found[label].interval
    assert_allclose((found["rsum"].low, found["rsum"].high), (6 * low, 6.0), atol=1e-5)


def test_no_interval_goes_beyond_the_best_value_that_an_order_can_have():
    own = np.repeat(np.arange(40), 5)
    found = measured(np.repeat(np.eye(40), 5, axis=1), own, ["recall"])["i2t/recall@1"]
    # of five relevant captions one place holds a fifth
    assert_allclose((found.value, found.low, found.high), (0.2, 0.2 * 40 / (40 + 3.841459), 0.2), atol=1e-6)


def test_a_number_that_moves_has_the_bootstraps_interval(rng):
    scores, own = rng.random((40, 40)), np.arange(40)
    found = measured(scores, own, ["R"])["i2t/R@10"]
    hits = (np.argsort(-scores, axis=1)[:, :10] == own[:, None]).any(axis=1).astype(float)
    assert (found.low, found.high) == percentile_interval(Draws(own, 40).resample(hits, "i2t"))
    assert "percentiles" in found.interval


def test_what_every_order_has_is_certain_and_has_no_interval():
    found = measured(np.eye(5), np.arange(5), ["R"])
    assert (found["i2t/R@10"].low, found["i2t/R@10"].high) == (None, None)
    assert "every order" in found["i2t/R@10"].interval
    assert found["i2t/R@1"].low < 1
    assert measured(np.eye(5), np.arange(5), ["R"], rounds=0)["i2t/R@1"].low is None
