import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.oracles import comparison as oracle
from workbench.metrics import comparison, recall
from workbench.metrics.comparison import holm, most_different, paired_bootstrap, rsum_by_image, sign_test
from workbench.records import Judgements

FIRST = np.array([1.0, 1.0, 0.0, 1.0, np.nan])
SECOND = np.array([0.0, 1.0, 1.0, 0.0, np.nan])


def by_run(**runs):
    return {"t2i/R@1": runs}


def test_the_worked_difference_of_two_runs():
    # differences 1, 0, -1, 1 over four queries that count: mean 1/4; two wins, one loss: 2 * P(X <= 1 of 3) =
    # 2 * 4/8 = 1
    (found,) = comparison.measure(by_run(a=SECOND, b=FIRST), "a")
    assert (found.key, found.run, found.against, found.value) == ("t2i/R@1", "b", "a", 0.25)
    assert (found.wins, found.losses, found.ties, found.p) == (2, 1, 1, 1.0)
    assert (found.queries, found.left_out, found.comparisons) == (4, 1, 1)
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= 0.25 <= found.high <= 1


def test_the_worked_sign_tests():
    assert sign_test(8, 2) == sign_test(2, 8) == pytest.approx(112 / 1024)
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(0, 0) == sign_test(3, 3) == 1.0


def test_the_worked_correction():
    # sorted .005 .01 .03 .04 times 4 3 2 1: .02 .03 .06 .04, the last raised to .06
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_equals_the_sum_of_binomials(wins, losses):
    assert sign_test(wins, losses) == pytest.approx(oracle.sign_test(wins, losses))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_correction_equals_the_step_down_and_keeps_the_order(p):
    adjusted = holm(p)
    assert adjusted == pytest.approx(oracle.holm(p))
    assert all(a >= b for a, b in zip(adjusted, p))
    assert all(x <= y for (_, x), (_, y) in zip(sorted(zip(p, adjusted)), sorted(zip(p, adjusted))[1:]))


def test_the_bootstrap_has_the_mean_and_spread_of_all_possible_draws(rng):
    difference, groups = np.array([1.0, 0.5, -1.0, 0.0, 2.0]), np.array([0, 0, 1, 2, 2])
    draws = paired_bootstrap(difference, 40_000, rng, groups).draws
    every = oracle.every_resample(difference.tolist(), groups.tolist())
    assert draws.mean() == pytest.approx(np.mean(every), abs=0.02)
    assert draws.std() == pytest.approx(np.std(every), abs=0.02)
    assert set(np.round(draws, 9)) == set(np.round(every, 9))


def test_a_group_of_its_own_for_each_query_changes_nothing():
    plain = comparison.measure(by_run(a=SECOND, b=FIRST), "a", seed=3)
    grouped = comparison.measure(by_run(a=SECOND, b=FIRST), "a", groups={"t2i/R@1": np.arange(5)}, seed=3)
    assert plain == grouped


def test_captions_of_one_image_are_one_sign_and_widen_the_interval(rng):
    gains = np.repeat(rng.standard_normal(40), 5)
    plain, grouped = (
        comparison.measure(by_run(a=np.zeros(200), b=gains), "a", groups=groups)[0]
        for groups in (None, {"t2i/R@1": np.repeat(np.arange(40), 5)})
    )
    assert plain.value == grouped.value
    assert plain.wins + plain.losses == 200
    assert grouped.wins + grouped.losses == 40
    # five copies of a query count as one: the interval is sqrt(5) = 2.24 times as wide
    assert (grouped.high - grouped.low) / (plain.high - plain.low) == pytest.approx(5**0.5, rel=0.15)


def test_turning_the_comparison_round_turns_its_sign(rng):
    a, b = rng.random(60), rng.random(60)
    (there,), (back,) = comparison.measure(by_run(a=a, b=b), "a"), comparison.measure(by_run(b=b, a=a), "b")
    assert there.value == pytest.approx(-back.value)
    assert (there.wins, there.losses, there.p) == (back.losses, back.wins, back.p)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_a_run_does_not_differ_from_itself(rng):
    values = rng.random(30)
    (found,) = comparison.measure(by_run(a=values, b=values.copy()), "a")
    assert (found.value, found.low, found.high, found.ties, found.p, found.told_apart) == (
        0.0,
        0.0,
        0.0,
        30,
        1.0,
        False,
    )


def test_the_pair_is_told_apart_where_two_separate_intervals_overlap(rng):
    """What the paired test is for: most of the scatter is that of the queries, which both runs share."""
    hard = rng.random(400)
    first, second = (hard < 0.5).astype(float), (hard < 0.56).astype(float)
    (found,) = comparison.measure(by_run(a=first, b=second), "a")
    alone = [
        np.quantile(rng.choice(values, (2000, 400)).mean(axis=1), [0.025, 0.975])
        for values in (first, second)
    ]
    assert alone[0][1] > alone[1][0]
    assert found.low > 0
    assert found.told_apart


def test_about_95_of_100_intervals_hold_the_true_difference(rng):
    held = 0
    for _ in range(300):
        shared = rng.standard_normal(80)
        b = shared + 0.3 + rng.standard_normal(80)
        (found,) = comparison.measure(by_run(a=shared, b=b), "a", rounds=400, seed=int(rng.integers(1 << 30)))
        held += found.low <= 0.3 <= found.high
    assert held / 300 == pytest.approx(0.95, abs=0.04)


def test_the_correction_goes_over_all_runs_and_all_numbers(rng):
    base = np.zeros(20)
    values = {key: {"a": base, "b": base + 1, "c": rng.standard_normal(20)} for key in ("x", "y")}
    found = comparison.measure(values, "a")
    assert [(one.key, one.run) for one in found] == [("x", "b"), ("x", "c"), ("y", "b"), ("y", "c")]
    assert [one.p_holm for one in found] == pytest.approx(oracle.holm([one.p for one in found]))
    assert {one.comparisons for one in found} == {4}
    assert found[0].told_apart


def test_without_rounds_there_is_no_interval():
    (found,) = comparison.measure(by_run(a=SECOND, b=FIRST), "a", rounds=0)
    assert (found.low, found.high) == (None, None)


def test_the_same_seed_gives_the_same_intervals():
    one, same, other = (
        comparison.measure(by_run(a=np.arange(9.0), b=np.zeros(9)), "a", seed=seed)[0] for seed in (1, 1, 2)
    )
    assert one == same != other


def test_runs_on_different_queries_are_refused():
    with pytest.raises(ValueError, match="b and a did not answer the same queries"):
        comparison.measure(by_run(a=SECOND, b=np.ones(5)), "a")
    with pytest.raises(ValueError, match="no query counts"):
        comparison.measure(by_run(a=np.full(2, np.nan), b=np.full(2, np.nan)), "a")
    with pytest.raises(KeyError, match="no run 'z' to compare with; there are a, b"):
        comparison.measure(by_run(a=SECOND, b=FIRST), "z")


@pytest.mark.parametrize("captions", [5, None])
def test_the_shares_of_the_images_have_rsum_as_their_mean(captions, rng):
    own = np.repeat(np.arange(12), captions or rng.integers(1, 6, 12))
    scores = rng.standard_normal((12, len(own))) + 2 * (own == np.arange(12)[:, None])
    judged = Judgements.own(own, 12)
    i2t, t2i = (recall.best_ranks(scores, judged, direction) for direction in ("i2t", "t2i"))
    expected = next(m.value for m in recall.measure(scores, judged, rounds=0) if m.key == "rsum")
    assert rsum_by_image(i2t, t2i, own).mean() == pytest.approx(expected)
    assert expected == pytest.approx(oracle.rsum(i2t.tolist(), t2i.tolist()))


def test_rsum_has_no_share_for_a_query_without_an_answer():
    with pytest.raises(ValueError, match="no relevant item"):
        rsum_by_image(np.array([np.nan]), np.array([1.0]), np.array([0]))


def test_the_queries_on_which_runs_differ_most_come_first():
    # ratios 8, 1, 3, 8, not a number: the first beats the fourth, since some run answers it at rank 1
    ranks = np.array([[1.0, 3.0, 9.0, 16.0, np.nan], [8.0, 3.0, 3.0, 2.0, 1.0]])
    assert most_different(ranks, 2) == [0, 3]
    assert most_different(ranks, 9) == [0, 3, 2]


def test_one_query_of_a_group_is_chosen():
    ranks = np.array([[1.0, 1.0, 1.0], [9.0, 8.0, 2.0]])
    assert most_different(ranks, 2, np.array([0, 0, 1])) == [0, 2]


def test_runs_that_agree_give_no_query():
    assert most_different(np.ones((2, 4)), 3) == []
