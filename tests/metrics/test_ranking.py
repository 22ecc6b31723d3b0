import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import ndcg_score

from tests.metrics.families import map_at_r, r_precision, ranking
from tests.oracles import metrics as oracle
from workbench import metrics
from workbench.metrics.grades import Lists
from workbench.metrics.map_at_r import same_list
from workbench.metrics.ranks import rank
from workbench.records import Judgements

kendall_tau = metrics.load("kendall_tau").per_query


def ndcg(found, k=None, gain="linear"):
    return metrics.load("ndcg", gain=gain).per_query(found, k)


def scores_of(ranked, gallery=10):
    """Scores that rank the items in this order, all others after them."""
    scores = np.zeros((1, gallery))
    scores[0, list(ranked)] = np.arange(len(ranked), 0, -1)
    return scores


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        # relevant at 1 and 3 of R = 3: (1/1 + 2/3) / 3 and 2/3
        ((3, 7, 1, 9, 5), (0.555556, 0.666667, 1.0)),
        # relevant at 2 only: (1/2) / 3 and 1/3
        ((7, 3, 9, 1, 5), (0.166667, 0.333333, 0.0)),
    ],
)
def test_the_worked_example_of_eccv_caption(ranked, expected):
    relevant = np.isin(np.arange(10), [1, 3, 5])[None]
    ranks = rank(scores_of(ranked), relevant)
    first = float(ranks.first[0] == 1)
    assert_allclose((map_at_r(ranks)[0], r_precision(ranks)[0], first), expected, atol=5e-7)


@pytest.mark.parametrize(("ranked", "expected"), [((3, 7, 1, 9, 5), 0.755556), ((7, 3, 9, 1, 5), 0.533333)])
def test_map_at_r_is_not_the_average_precision_that_runs_to_the_last_relevant_item(ranked, expected):
    # the worked example by AAHR's Eq. 30: (1/1 + 2/3 + 3/5) / 3 and (1/2 + 2/4 + 3/5) / 3
    ranks = rank(scores_of(ranked), np.isin(np.arange(10), [1, 3, 5])[None])
    assert_allclose(ranks.mean(ranks.place / ranks.rank), [expected], atol=5e-7)
    assert map_at_r(ranks)[0] < expected


def test_ndcg_by_hand():
    # order of grades 1 3 0 2: 1 + 3/log2(3) + 0 + 2/log2(5) = 3.754142; best 3 2 1 0: 3 + 2/log2(3) + 1/2 =
    # 4.761860
    ranked = Lists(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[1.0, 3.0, 0.0, 2.0]]))
    assert_allclose(ndcg(ranked), [3.754142 / 4.761860], atol=1e-6)
    # exponential gains 1 7 0 3 against 7 3 1 0, the two best only: (1 + 7/log2(3)) / (7 + 3/log2(3))
    assert_allclose(ndcg(ranked, 2, gain="exponential"), [(1 + 7 / np.log2(3)) / (7 + 3 / np.log2(3))])


def test_kendall_tau_by_hand_with_a_tied_score():
    # grades 2 1 0 1: pairs of different grades (0,1) (0,2) (0,3) (1,2) (3,2); scores .9 .5 .5 .1
    # right: (0,1) (0,2) (0,3); wrong: (3,2) by order and (1,2), a tie: (3 - 2) / 5
    ranked = Lists(np.array([[0.9, 0.5, 0.5, 0.1]]), np.array([[2.0, 1.0, 0.0, 1.0]]))
    assert_allclose(kendall_tau(ranked), [0.2])


@pytest.mark.parametrize("seed", range(4))
def test_binary_metrics_equal_the_double_loops_with_ties(seed):
    rng = np.random.default_rng(seed)
    scores, relevant = rng.integers(-4, 4, (8, 15)) / 3, rng.random((8, 15)) < 0.3
    ranks = rank(scores, relevant)
    for ours, theirs in ((map_at_r(ranks), oracle.map_at_r), (r_precision(ranks), oracle.r_precision)):
        expected = [np.nan if value is None else value for value in theirs(scores, relevant)]
        assert_allclose(ours, expected)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("levels", [2, 5, 60])
def test_graded_metrics_equal_the_double_loops_with_ties_and_unjudged_pairs(seed, levels):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 4, (6, 14)) / 3
    grades = rng.integers(0, levels, (6, 14)) / 2
    grades[rng.random((6, 14)) < 0.3] = np.nan
    grades[0] = np.nan
    grades[1] = np.where(np.isnan(grades[1]), np.nan, 0.0)
    ranked, listed = Lists(scores, grades), [[None if np.isnan(g) else g for g in row] for row in grades]

    def expected(found):
        return [np.nan if value is None else value for value in found]

    assert_allclose(ndcg(ranked), expected(oracle.ndcg(scores, listed)))
    assert_allclose(
        ndcg(ranked, 3, gain="exponential"), expected(oracle.ndcg(scores, listed, 3, exponential=True))
    )
    assert_allclose(kendall_tau(ranked), expected(oracle.kendall_tau(scores, listed)))


def test_ndcg_equals_scikit_learn_where_no_score_is_tied(rng):
    scores, grades = (
        rng.permuted(np.tile(np.arange(30.0), (5, 1)), axis=1),
        rng.integers(0, 4, (5, 30)).astype(float),
    )
    ranked = Lists(scores, grades)
    assert_allclose(ndcg(ranked).mean(), ndcg_score(grades, scores))
    assert_allclose(ndcg(ranked, 7).mean(), ndcg_score(grades, scores, k=7))


def test_kendall_tau_equals_scipy_where_nothing_is_tied_and_somers_d_where_grades_are(rng):
    scores, untied, tied = (
        rng.permutation(40).astype(float),
        rng.permutation(40).astype(float),
        rng.integers(0, 4, 40).astype(float),
    )
    assert_allclose(
        kendall_tau(Lists(scores[None], untied[None])), [stats.kendalltau(scores, untied).statistic]
    )
    assert_allclose(kendall_tau(Lists(scores[None], tied[None])), [stats.somersd(tied, scores).statistic])


def test_negative_grades_are_refused_by_ndcg():
    with pytest.raises(ValueError, match="nDCG needs grades >= 0, the least is -1"):
        ndcg(Lists(np.zeros((1, 2)), np.array([[1.0, -1.0]])))


def test_measure_reports_both_directions_with_their_contracts(rng):
    grades = rng.integers(0, 4, (7, 12)).astype(np.float32)
    images, captions = np.nonzero(grades)
    judged = Judgements("graded", "x", (7, 12), images, captions, grades[images, captions], relevant_from=2)
    scores = rng.standard_normal((7, 12))
    found = {m.key.local: m for m in ranking(scores, judged, ks=(3,))}
    keys = ("map_at_r", "r_precision", "R@1", "ndcg", "ndcg@3", "kendall_tau")
    assert set(found) == {f"{direction}/{key}" for direction in ("i2t", "t2i") for key in keys}
    assert_allclose(
        found["t2i/map_at_r"].value, np.nanmean(np.array(oracle.map_at_r(scores.T, grades.T >= 2), float))
    )
    assert_allclose(found["i2t/kendall_tau"].value, np.mean(oracle.kendall_tau(scores, grades)))
    assert all(m.low <= m.value <= m.high for m in found.values())
    assert found["i2t/ndcg"].ties != found["i2t/R@1"].ties
    assert found["t2i/ndcg"].gallery == 7


def test_binary_judgements_can_be_measured_without_the_graded_metrics():
    found = ranking(np.eye(3), Judgements.from_own(np.arange(3), 3), graded=False, rounds=0)
    assert [m.key.local for m in found] == [
        f"{d}/{key}" for d in ("i2t", "t2i") for key in ("map_at_r", "r_precision", "R@1")
    ]


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_one_list_for_all_queries_is_their_order_by_how_often_they_are_relevant(direction):
    relevant = np.random.default_rng(3).random((30, 50)) < np.linspace(0.02, 0.6, 50)
    asked = relevant if direction == "i2t" else relevant.T
    common = sorted(range(asked.shape[1]), key=lambda item: (-asked[:, item].sum(), item))
    by_hand = []
    for row in asked[asked.any(axis=1)]:
        hits = [place for place, item in enumerate(common[: row.sum()], 1) if row[item]]
        by_hand.append(sum(n / place for n, place in enumerate(hits, 1)) / row.sum())
    assert_allclose(same_list(relevant, direction), np.mean(by_hand), atol=1e-12)
