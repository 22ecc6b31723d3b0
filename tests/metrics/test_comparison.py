from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import t as student
from scipy.stats import ttest_rel

from tests.oracles import comparison as oracle
from workbench.metrics import comparison, load
from workbench.metrics.comparison import Difference, holm, holm_levels, most_different_queries, sign_test
from workbench.metrics.crossed import crossed_variance
from workbench.metrics.intervals import Draws
from workbench.metrics.registry import Metric
from workbench.records import MetricKey

FIRST = np.array([1.0, 1.0, 0.0, 1.0, np.nan])
SECOND = np.array([0.0, 1.0, 1.0, 0.0, np.nan])


def by_run(key="t2i/R@1", **runs):
    return {key: runs}


def alone(queries, **options):
    """Draws over images with one caption each."""
    return Draws(np.arange(queries), queries, **options)


def test_the_worked_difference_of_two_runs():
    # differences 1, 0, -1, 1 over four queries that count: mean 1/4; two wins, one loss: 2 * P(X <= 1 of 3) =
    # 2 * 4/8 = 1
    (found,) = comparison.paired_differences(by_run(a=SECOND, b=FIRST), "a", alone(5))
    assert (found.label, found.run, found.against, found.value) == ("t2i/R@1", "b", "a", 0.25)
    assert (found.wins, found.losses, found.ties, found.p) == (2, 1, 1, 1.0)
    assert (found.queries, found.left_out, found.comparisons) == (4, 1, 1)
    assert found.low < 0 < found.high
    # four queries say nothing: the interval ends where no difference of shares is larger
    assert (found.low, found.high) == (-1.0, 1.0)
    assert (found.verdict, found.mark, found.is_significant) == ("undecided", "?", False)


def test_the_worked_interval():
    # half the images gain 1, half nothing: spread sqrt(1/4 / 100) = .05, times sqrt(100/99); two
    # imagined images of 1 / 100 each; t(99) at .975 = 1.984217: 1.984217 * sqrt(.0025 * 100/99 + .0002)
    gains = np.tile([1.0, 0.0], 50)
    (found,) = comparison.paired_differences(by_run(a=np.zeros(100), b=gains), "a", alone(100, rounds=20_000))
    half = 1.984217 * (0.0025 * 100 / 99 + 0.0002) ** 0.5
    assert_allclose([found.low, found.high], [0.5 - half, 0.5 + half], atol=0.002)


def test_the_interval_of_many_images_is_that_of_the_paired_t_test(rng):
    a, b = rng.random(2000), rng.random(2000)
    (found,) = comparison.paired_differences(by_run(a=a, b=b), "a", alone(2000, rounds=20_000))
    expected = ttest_rel(b, a).confidence_interval(0.95)
    assert_allclose([found.low, found.high], [expected.low, expected.high], atol=0.001)


@pytest.mark.parametrize(
    ("low", "high", "fewer", "verdict", "mark"),
    [
        (0.01, 0.03, False, "better", "▲"),
        (-0.03, -0.01, False, "worse", "▼"),
        (0.01, 0.03, True, "worse", "▼"),
        (-0.03, -0.01, True, "better", "▲"),
        (-0.004, 0.005, False, "no difference worth noting", "="),
        (0.001, 0.004, False, "no difference worth noting", "="),
        (0.001, 0.03, False, "better", "▲"),
        (-0.001, 0.03, False, "undecided", "?"),
        (0.0, 0.03, False, "undecided", "?"),
        (None, None, False, "undecided", "?"),
    ],
)
def test_the_worked_verdicts(low, high, fewer, verdict, mark):
    value = 0.0 if low is None else (low + high) / 2
    key = MetricKey.parse("t2i/R@1")
    one = Difference(key, value, low, high, smallest=0.005, smaller_is_better=fewer)
    assert (one.verdict, one.mark) == (verdict, mark)
    assert one.is_worth_noting == (verdict in ("better", "worse"))
    assert one.row()["verdict"] == verdict


def test_mark_word_and_interval_never_disagree(rng):
    """A dot once said "told apart" beside an interval that held zero."""
    seen, known = set(), {"medr": load("medr")}
    for _ in range(150):
        images, runs = int(rng.integers(4, 60)), [*"abcd"[: rng.integers(2, 5)]]
        shift = rng.choice([0.0, 0.002, 0.1, 0.5])
        values = {
            key: {
                name: rng.random(images) * 0.01 ** rng.integers(0, 2) + shift * (name > "a") for name in runs
            }
            for key in ("i2t/R@1", "i2t/medr", "exact:i2t/map_at_r")
        }
        for one in comparison.paired_differences(values, "a", alone(images, rounds=60), metrics=known):
            holds_zero = one.low <= 0 <= one.high
            inside = -one.smallest <= one.low <= one.high <= one.smallest
            assert one.is_significant == (not holds_zero)
            assert one.is_worth_noting == (not holds_zero and not inside) == (one.mark in "▲▼")
            assert (one.verdict == "no difference worth noting") == inside == (one.mark == "=")
            if one.is_worth_noting:
                gain = -one.value if one.label == "i2t/medr" else one.value
                assert one.verdict == ("better" if gain > 0 else "worse")
                assert one.mark == ("▲" if gain > 0 else "▼")
            seen.add(one.verdict)
    assert seen == {"better", "worse", "no difference worth noting", "undecided"}


def test_the_worked_sign_tests():
    assert sign_test(8, 2) == sign_test(2, 8) == pytest.approx(112 / 1024)
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(0, 0) == sign_test(3, 3) == 1.0


def test_the_worked_correction():
    # sorted .005 .01 .03 .04 times 4 3 2 1: .02 .03 .06 .04, the last raised to .06
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_worked_levels():
    # .005 <= .05/4 and .01 <= .05/3 are told apart, .03 > .05/2 is not: it and all after it keep .05/2
    assert_allclose(holm_levels([0.01, 0.04, 0.03, 0.005], 0.05), [0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 4])
    assert_allclose(holm_levels([0.01, 0.02], 0.05), [0.025, 0.05])
    assert len(holm_levels([], 0.05)) == 0


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_equals_the_sum_of_binomials(wins, losses):
    assert sign_test(wins, losses) == pytest.approx(oracle.sign_test(wins, losses))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_correction_equals_the_step_down_and_keeps_the_order(p):
    adjusted = holm(p)
    assert adjusted == pytest.approx(oracle.holm(p))
    assert all(a >= b for a, b in zip(adjusted, p))
    assert all(x <= y for (_, x), (_, y) in zip(sorted(zip(p, adjusted)), sorted(zip(p, adjusted))[1:]))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_a_difference_is_below_its_level_exactly_where_holm_tells_it_apart(p):
    assert [a <= b for a, b in zip(p, holm_levels(p, 0.05))] == [value <= 0.05 for value in oracle.holm(p)]


def test_the_spread_is_that_of_all_possible_draws():
    difference, own = np.array([1.0, 0.5, -1.0, 0.0, 2.0]) / 10, np.array([0, 0, 1, 2, 2])
    every = np.std(oracle.every_resample(difference.tolist(), own.tolist()))
    zeros, draws = np.zeros(5), Draws(own, 3, rounds=40_000)
    (found,) = comparison.paired_differences(by_run(a=zeros, b=difference), "a", draws)
    # images sum to .15, -.1 and .2; the largest moves the mean of five by .2/5; two degrees of freedom
    half = student.ppf(0.975, 2) * (every**2 * 3 / 2 + 2 * (0.2 / 5) ** 2) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.02)


def test_captions_of_one_image_are_one_sign_and_widen_the_interval(rng):
    gains, zeros = np.repeat(rng.standard_normal(400), 5), np.zeros(2000)
    plain, grouped = (
        comparison.paired_differences(by_run(a=zeros, b=gains), "a", draws)[0]
        for draws in (alone(2000), Draws(np.repeat(np.arange(400), 5), 400))
    )
    assert plain.value == grouped.value
    assert plain.wins + plain.losses == 2000
    assert grouped.wins + grouped.losses == 400
    # five copies of a query count as one: the interval is sqrt(5) = 2.24 times as wide
    assert (grouped.high - grouped.low) / (plain.high - plain.low) == pytest.approx(5**0.5, rel=0.1)


def test_a_run_does_not_differ_from_itself(rng):
    values = rng.random(30)
    (found,) = comparison.paired_differences(by_run(a=values, b=values.copy()), "a", alone(30))
    assert (found.value, found.low, found.high, found.ties, found.p) == (0.0, 0.0, 0.0, 30, 1.0)
    assert (found.is_significant, found.verdict) == (False, "no difference worth noting")


def test_the_pair_is_told_apart_where_two_separate_intervals_overlap(rng):
    """What the paired test is for: most of the scatter is that of the queries, which both runs share."""
    hard = rng.random(400)
    first, second = (hard < 0.5).astype(float), (hard < 0.56).astype(float)
    (found,) = comparison.paired_differences(by_run(a=first, b=second), "a", alone(400))
    ends = [np.quantile(alone(400).resample(one, "t2i"), [0.025, 0.975]) for one in (first, second)]
    assert ends[0][1] > ends[1][0]
    assert found.low > 0
    assert found.is_significant


def test_about_95_of_100_intervals_hold_the_true_difference(rng):
    held, draws = 0, alone(200, rounds=300)
    for _ in range(600):
        shared = rng.standard_normal(200)
        b = shared + 0.3 + rng.standard_normal(200)
        (found,) = comparison.paired_differences(by_run(a=shared, b=b), "a", draws, metrics={})
        held += found.low <= 0.3 <= found.high
    assert held / 600 == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize("kept", ["often", "seldom"])
def test_a_run_is_called_better_or_worse_by_chance_in_at_most_5_of_100_tables(kept, rng):
    """Family-wise: three runs that do not differ from the first, on two numbers, captions of an image alike.

    ``seldom``: hits that differ on about four images, where an interval from the spread alone is too narrow.
    """
    own, wrong, tables = np.repeat(np.arange(60), 3), 0, 700
    draws, share = Draws(own, 60, rounds=200), 0.5 if kept == "often" else 0.03
    for _ in range(tables):
        easy = rng.random(60) < 0.5
        values = {}
        for key, rows in (("i2t/R@1", np.arange(60)), ("t2i/R@1", own)):
            flipped = {name: (rng.random(60) < share)[rows] for name in "abcd"}
            values[key] = {name: (easy[rows] ^ flip).astype(float) for name, flip in flipped.items()}
        wrong += any(
            one.is_significant for one in comparison.paired_differences(values, "a", draws, metrics={})
        )
    # 700 tables at 5 % exactly give more than 46 in one of fifty cases
    assert wrong <= 46


def test_without_the_imagined_images_four_wins_against_none_would_count():
    gains = np.zeros(200)
    gains[:4] = 1
    (found,) = comparison.paired_differences(by_run(a=np.zeros(200), b=gains), "a", alone(200))
    assert found.p == pytest.approx(2 / 16)
    assert not found.is_significant


def test_the_correction_goes_over_all_runs_and_all_numbers(rng):
    base = np.zeros(20)
    values = {key: {"a": base, "b": base + 1, "c": rng.standard_normal(20)} for key in ("x", "y")}
    found = comparison.paired_differences(
        {f"i2t/{key}": runs for key, runs in values.items()}, "a", alone(20)
    )
    assert [(one.label, one.run) for one in found] == [
        ("i2t/x", "b"), ("i2t/x", "c"), ("i2t/y", "b"), ("i2t/y", "c"),
    ]  # fmt: skip
    assert [one.p_holm for one in found] == pytest.approx(oracle.holm([one.p for one in found]))
    assert {one.comparisons for one in found} == {4}
    assert found[0].verdict == "better"


def test_rsum_is_compared_by_the_draw_of_both_directions(rng):
    # 10 images and 20 captions; the sum of the two means moves by what either moves
    own, base = np.repeat(np.arange(10), 2), rng.random(30)
    (found,) = comparison.paired_differences(by_run("rsum", a=base, b=base + 0.1), "a", Draws(own, 10))
    assert found.value == pytest.approx(0.2)
    assert (found.wins, found.queries, found.face, found.smallest) == (10, 30, "sum", pytest.approx(0.03))
    assert found.low == pytest.approx(0.2 - student.ppf(0.975, 9) * (2 * 0.02**2) ** 0.5, abs=1e-6)


def test_a_median_rank_is_better_where_it_is_smaller(rng):
    ranks = rng.integers(1, 50, 200).astype(float)
    (found,) = comparison.paired_differences(by_run("i2t/medr", a=ranks + 20, b=ranks), "a", alone(200))
    assert (found.value, found.wins, found.verdict) == (-20.0, 200, "better")


def test_a_metric_of_a_users_own_brings_its_statistic(rng):
    class Loss(Metric):
        name, face, smaller_is_better = "loss", "correlation", True

    values = by_run("i2t/loss", a=np.full(50, 0.5), b=np.full(50, 0.25))
    (found,) = comparison.paired_differences(values, "a", alone(50), metrics={"loss": Loss()})
    assert (found.value, found.face, found.verdict) == (-0.25, "correlation", "better")


def test_folds_are_drawn_within_each_fold(rng):
    a, b = np.repeat([0.0, 1.0], 20), np.repeat([0.1, 1.1], 20)
    whole, folded = (
        comparison.paired_differences(by_run(key, a=a, b=a * b), "a", alone(40))[0]
        for key in ("i2t/R@1", "i2t/R@1[2 folds]")
    )
    assert whole.value == pytest.approx(folded.value)
    assert folded.high - folded.low < whole.high - whole.low


def test_without_rounds_there_is_no_interval():
    (found,) = comparison.paired_differences(by_run(a=SECOND, b=FIRST), "a", alone(5, rounds=0))
    assert (found.low, found.high, found.verdict) == (None, None, "undecided")


def test_runs_on_different_queries_are_refused():
    with pytest.raises(ValueError, match="b and a did not answer the same queries"):
        comparison.paired_differences(by_run(a=SECOND, b=np.ones(5)), "a", alone(5))
    with pytest.raises(ValueError, match="no query counts"):
        comparison.paired_differences(by_run(a=np.full(2, np.nan), b=np.full(2, np.nan)), "a", alone(2))
    with pytest.raises(KeyError, match="no run 'z' to compare with; there are a, b"):
        comparison.paired_differences(by_run(a=SECOND, b=FIRST), "z", alone(5))


def test_the_queries_on_which_runs_differ_most_come_first():
    # ratios 8, 1, 3, 8, not a number: the first beats the fourth, since some run answers it at rank 1
    ranks = np.array([[1.0, 3.0, 9.0, 16.0, np.nan], [8.0, 3.0, 3.0, 2.0, 1.0]])
    assert most_different_queries(ranks, 2) == [0, 3]
    assert most_different_queries(ranks, 9) == [0, 3, 2]


def test_one_query_of_a_group_is_chosen():
    ranks = np.array([[1.0, 1.0, 1.0], [9.0, 8.0, 2.0]])
    assert most_different_queries(ranks, 2, np.array([0, 0, 1])) == [0, 2]


def test_values_of_several_seeds_cover_their_scatter_and_need_no_order_of_seeds():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 60)), rng.random((3, 60)) + np.array([[0.1], [0.2], [0.3]])
    (one,) = comparison.paired_differences(by_run(a=a, b=b), "a", alone(60))
    means = b.mean(axis=1) - a.mean(axis=1)
    assert one.value == pytest.approx(means.mean())
    # resamples of images have the variance that mean squares have, and two imagined images are added to it
    parts, largest = crossed_variance(b - a), np.abs((b - a).mean(axis=0)).max() / 60
    parts = replace(parts, images=parts.images + 2 * largest**2)
    assert one.high - one.value == pytest.approx(parts.half_width(), rel=0.05)
    (turned,) = comparison.paired_differences(by_run(a=a[::-1], b=b[::-1]), "a", alone(60))
    assert (turned.low, turned.high) == pytest.approx((one.low, one.high))


def test_a_seed_that_one_run_lacks_does_not_count():
    lacking = np.vstack([FIRST, np.full(5, np.nan)])
    (found,) = comparison.paired_differences(by_run(a=np.vstack([SECOND, SECOND]), b=lacking), "a", alone(5))
    (single,) = comparison.paired_differences(by_run(a=SECOND, b=FIRST), "a", alone(5))
    assert found == single
    with pytest.raises(ValueError, match="no seed is common for b and a"):
        comparison.paired_differences(
            by_run(a=np.vstack([np.full(5, np.nan), SECOND]), b=lacking), "a", alone(5)
        )
