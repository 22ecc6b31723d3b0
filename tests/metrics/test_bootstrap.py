import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from workbench.metrics import _bootstrap
from workbench.metrics._bootstrap import columns, interval, median_rank, over_folds, resamples, total


def test_every_resample_draws_as_many_queries_as_there_are(rng):
    weights = np.concatenate(list(resamples(13, 50, rng)))
    assert weights.shape == (50, 13)
    assert (weights.sum(axis=1) == 13).all()
    assert weights.min() == 0


def test_resamples_come_in_blocks_of_bounded_memory(rng, monkeypatch):
    monkeypatch.setattr(_bootstrap, "CHUNK", 40)
    assert [len(block) for block in resamples(13, 8, rng)] == [3, 3, 2]


def test_equal_values_have_an_interval_of_no_width(rng):
    found = columns({"x": np.full(9, 0.25)}, 100, rng)["x"]
    assert interval(found.draws) == (0.25, 0.25)


def test_the_interval_of_a_mean_has_the_width_that_theory_gives(rng):
    # 400 coin flips: the standard error is .025, so that the 95 % interval is 2 * 1.96 * .025 = .098 wide
    low, high = interval(columns({"x": np.tile([0.0, 1.0], 200)}, 4000, rng)["x"].draws)
    assert_allclose(high - low, 0.098, rtol=0.06)


def test_statistics_of_one_direction_share_their_draws(rng):
    values = rng.random(30)
    found = columns({"a": values, "b": 1 - values}, 50, rng)
    assert_allclose(found["a"].draws + found["b"].draws, 1.0)


def test_a_median_between_two_ranks_is_rounded_down(rng):
    # sorted 1 2 5 9: between 2 and 5 is 3.5
    found = median_rank(np.array([9.0, 2.0, np.nan, 1.0, 5.0]), 200, rng)
    assert (found.value, found.queries, found.left_out) == (3.0, 4, 1)


def test_draws_of_the_median_equal_the_median_of_the_drawn_ranks():
    ranks = np.array([3.0, 1.0, 8.0, 2.0, 2.0, 30.0])
    drawn = median_rank(ranks, 40, np.random.default_rng(0)).draws
    weights = np.concatenate(list(resamples(6, 40, np.random.default_rng(0)))).astype(int)
    expected = [np.floor(np.median(np.repeat(np.sort(ranks), row))) for row in weights]
    assert_array_equal(drawn, expected)


def test_sums_and_means_of_estimates_work_draw_by_draw(rng):
    a, b = (columns({"x": rng.random(n)}, 20, rng)["x"] for n in (5, 8))
    assert_allclose(total([a, b]).draws, a.draws + b.draws)
    assert_allclose(over_folds([a, b]).draws, (a.draws + b.draws) / 2)
    assert_allclose(total([a, b]).value, a.value + b.value)
    assert total([a, b]).queries == 13


def test_where_no_query_counts_the_error_names_the_statistic(rng):
    with pytest.raises(ValueError, match="ndcg: no query has an answer"):
        columns({"ndcg": np.full(3, np.nan)}, 10, rng)
