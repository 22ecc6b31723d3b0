import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.metrics.families import by_key, semantic
from tests.oracles import semantic as oracle
from workbench import metrics
from workbench.metrics.blocks import by_rows, drop_pairs
from workbench.metrics.evaluation import Evidence
from workbench.metrics.grades import Lists
from workbench.metrics.semantic import any_top, ncs_top, recall_curves, voted_images
from workbench.metrics.semantic import sr_top as semantic_recall
from workbench.records import Judgements

# METHODS 10 and 11.7: six captions, two an image, against three images
PHI = np.array(
    [
        [5.342274, 5.342274, 0, 0.100164, 0.040597, 0.046622],
        [0, 0.100164, 5.401897, 5.401897, 0, 0],
        [0.087219, 0, 0, 0, 6.489371, 6.489371],
    ]
)
SCORES = np.array(
    [[0.9, 0.3, 0.8, 0.1, 0.2, 0.1], [0.2, 0.4, 0.7, 0.6, 0.1, 0.0], [0.1, 0.2, 0.1, 0.3, 0.5, 0.9]]
)
OWN = np.array([0, 0, 1, 1, 2, 2])


class Captions:
    """A relevance as text makes it: columns and pairs of a matrix."""

    name, rule = "cider-d", "x"

    def __init__(self, matrix):
        self.matrix, self.shape = matrix, matrix.shape

    def take(self, images, captions):
        return self.matrix[np.ix_(images, captions)]


ncs = metrics.load("ncs").per_query


def average_semantic_precision(scores, grades):
    return metrics.load("asp").per_query(Lists(scores, grades, 1))


def judged(matrix, unlisted=0.0):
    images, captions = np.nonzero(~np.isnan(matrix))
    grades = matrix[images, captions].astype(np.float32)
    return Judgements("human", "x", matrix.shape, images, captions, grades, unlisted=unlisted)


@pytest.mark.parametrize(
    ("key", "percent"),
    [("i2t/ncs@1", 100), ("t2i/ncs@1", 66.979154), ("i2t/ncs@2", 83.333333), ("t2i/ncs@2", 99.428855)],
)
def test_the_worked_ncs_with_ground_truth(key, percent):
    found = by_key(semantic(SCORES, PHI, ks=(1, 2), rounds=0))
    assert_allclose(100 * found[key].value, percent, atol=2e-6)


@pytest.mark.parametrize(
    ("key", "percent"),
    [("i2t/ncs@1", 33.333333), ("t2i/ncs@1", 50), ("i2t/ncs@2", 42.552426), ("t2i/ncs@2", 83.333333)],
)
def test_the_worked_ncs_without_ground_truth(key, percent):
    found = by_key(semantic(SCORES, PHI, own=OWN, ground_truth=False, ks=(1, 2), rounds=0))
    assert_allclose(100 * found[f"{key}[without own]"].value, percent, atol=2e-6)


def test_the_worked_semantic_recall_of_the_best_m():
    found = by_key(semantic(SCORES, PHI, ks=(2,), rounds=0))
    assert_allclose(
        [found[f"i2t/sr_top{m}@2"].value for m in (1, 2, 3)], [1.0, 0.833333, 0.555556], atol=5e-7
    )


def test_printed_ncs_by_hand():
    # m = 2: the two own captions of each image; image 0 retrieves captions 0 and 2 first: 5.34 of 10.68; the
    # others both
    found = Lists(SCORES, PHI, 2)
    assert_allclose(ncs_top(found, 2, 2), [0.5, 1.0, 1.0])
    assert_allclose(ncs_top(found, 1, 2), [0.5, 0.5, 0.5])


def test_the_worked_asp():
    scores = np.array([[0.80, 0.70, 0.10], [0.30, 0.60, 0.55], [0.65, 0.20, 0.50]])
    relevance = np.array([[1, 0.6, 0.1], [0.5, 1, 0.2], [0.1, 0.3, 1]])
    found = by_key(semantic(scores, relevance, rounds=0))
    assert_allclose(
        [100 * found[f"{d}/asp"].value for d in ("i2t", "t2i")], [75.925926, 70.370370], atol=5e-7
    )


def test_released_semantic_recall_by_hand():
    # by its captions image 0 votes for itself, then image 1 (.100164 of caption 1; image 2 has .087219 of
    # caption 0)
    assert voted_images(by_rows(PHI), OWN, 2).tolist() == [[0, 1], [1, 0], [2, 0]]
    found = by_key(semantic(SCORES, PHI, own=OWN, ks=(2,), ms=(2,), rounds=0))
    # two best of image 0: captions 0 and 2, both of images 0 and 1: 2 of 4; of image 1: 2 and 3; of image 2:
    # 5 and 4
    assert found["i2t/sr_votes2@2"].value == 0.5
    # two best images: captions 0, 1, 2, 3 both of {0, 1} but caption 3 (1 and 2); captions 4, 5 both of {2,
    # 0}: 11 of 12
    assert_allclose(found["t2i/sr_votes2@2"].value, 11 / 12)


def test_without_ground_truth_the_own_image_leaves_the_vote_and_not_what_was_voted_for():
    # m = 1: image 0 votes for image 1, images 1 and 2 for image 0, so that captions 2 3, 0 1 and 0 1 are
    # relevant; the best scored of the others are captions 2, 1 and 3: one, one and none of 2
    assert voted_images(by_rows(PHI), OWN, 1, without_own=True).tolist() == [[1], [0], [0]]
    found = by_key(semantic(SCORES, PHI, own=OWN, ground_truth=False, ks=(1,), ms=(1,), rounds=0))
    assert_allclose(found["i2t/sr_votes1@1[without own]"].value, 1 / 3)


@pytest.fixture(params=range(3))
def case(request):
    """Scores with ties and of both signs, grades with ties, zeros and unjudged pairs; a query of zeros, one
    not judged."""
    rng = np.random.default_rng(request.param)
    scores, grades = rng.integers(-4, 4, (9, 14)) / 3, rng.integers(0, 4, (9, 14)) / 2
    grades[rng.random((9, 14)) < 0.2] = np.nan
    grades[3], grades[5] = 0.0, np.nan
    return scores, grades


def listed(grades):
    return [[None if np.isnan(g) else g for g in row] for row in grades]


def numbers(values):
    return [np.nan if value is None else value for value in values]


@pytest.mark.parametrize(("k", "m"), [(1, 1), (3, 2), (5, 7), (14, 3)])
def test_all_forms_equal_the_double_loops_with_ties_and_unjudged_pairs(case, k, m):
    scores, grades = case
    found, rows = (
        Lists(scores, grades, k, max(k, m)),
        list(zip(scores, listed(grades), strict=True)),
    )
    assert_allclose(ncs(found, k), [oracle.ncs(s, g, k) for s, g in rows])
    assert_allclose(ncs_top(found, k, m), numbers(oracle.ncs_top(s, g, k, m) for s, g in rows))
    assert_allclose(
        semantic_recall(found, k, m), numbers(oracle.semantic_recall(s, g, k, m) for s, g in rows)
    )
    assert_allclose(average_semantic_precision(scores, grades), numbers(oracle.asp(s, g) for s, g in rows))


def test_without_ground_truth_equals_the_double_loops(case):
    scores, grades = case
    grades, own = np.nan_to_num(grades), np.arange(14) % 9
    found = by_key(semantic(scores, grades, own=own, ground_truth=False, ks=(1, 3), ms=(2,), rounds=0))
    sides = {
        "i2t": (scores, grades, [np.flatnonzero(own == i) for i in range(9)]),
        "t2i": (scores.T, grades.T, own[:, None]),
    }
    for direction, (rows, worth, removed) in sides.items():
        lines = list(
            zip(
                rows,
                worth,
                removed.tolist() if direction == "t2i" else [list(r) for r in removed],
                strict=True,
            )
        )
        expected = np.mean([oracle.ncs(s, g, 3, gone) for s, g, gone in lines])
        assert_allclose(found[f"{direction}/ncs@3[without own]"].value, expected)
        several = numbers(oracle.semantic_recall(s, g, 3, 2, gone) for s, g, gone in lines)
        assert_allclose(found[f"{direction}/sr_top2@3[without own]"].value, np.nanmean(several))


@pytest.mark.parametrize("ground_truth", [True, False])
def test_votes_equal_the_double_loops(case, ground_truth):
    scores, grades = case
    grades, own = np.nan_to_num(grades), np.arange(14) % 9
    kept = [oracle.voted_images(grades, own, i, 3, ballots=4) for i in range(9)]
    assert_array_equal(voted_images(by_rows(grades), own, 3, ballots=4), kept)
    kept = [oracle.voted_images(grades, own, i, 3, gone=not ground_truth) for i in range(9)]
    found = by_key(semantic(scores, grades, own=own, ground_truth=ground_truth, ks=(4,), rounds=0))
    gone = [[] if ground_truth else np.flatnonzero(own == i) for i in range(9)]
    of = [[t for t in range(14) if own[t] in images] for images in kept]
    i2t = [oracle.recall_of_set(scores[i], of[i], 4, gone[i]) for i in range(9)]
    t2i = [
        oracle.recall_of_set(scores[:, t], kept[own[t]], 4, [] if ground_truth else [own[t]])
        for t in range(14)
    ]
    suffix = "" if ground_truth else "[without own]"
    assert_allclose(found[f"i2t/sr_votes3@4{suffix}"].value, np.nanmean(numbers(i2t)))
    assert_allclose(found[f"t2i/sr_votes3@4{suffix}"].value, np.nanmean(numbers(t2i)))


def test_curves_are_semantic_recall_by_m(case):
    scores, grades = case
    found = recall_curves(scores, grades, [1, 3, 7], k=4)
    for direction, rows, worth in (("i2t", scores, grades), ("t2i", scores.T, grades.T)):
        several = [
            numbers(oracle.semantic_recall(s, g, 4, m) for s, g in zip(rows, listed(worth), strict=True))
            for m in (1, 3, 7)
        ]
        assert_allclose(found[direction], np.nanmean(several, axis=1))


def test_curves_without_own_pairs_and_of_queries_with_one_hit(case):
    scores, grades = case
    own = np.arange(grades.shape[1]) % grades.shape[0]
    found = recall_curves(scores, grades, [1, 4], k=3, without=own)
    hits = recall_curves(scores, grades, [1, 4], k=3, of=any_top, without=own)
    for direction, rows, worth in (("i2t", scores, grades), ("t2i", scores.T, grades.T)):
        several = []
        for query, (s, g) in enumerate(zip(rows, listed(worth), strict=True)):
            mine = set(np.flatnonzero(own == query)) if direction == "i2t" else {own[query]}
            several.append(numbers(oracle.semantic_recall(s, g, 3, m, mine) for m in (1, 4)))
        several = np.array(several)
        assert_allclose(found[direction], np.nanmean(several, axis=0))
        assert_allclose(hits[direction], np.nanmean(np.where(np.isnan(several), np.nan, several > 0), axis=0))


def test_retrieving_by_phi_itself_is_ideal(rng):
    phi = rng.random((6, 20))
    found = by_key(semantic(phi, phi, ms=(1, 5), ks=(5,), rounds=0))
    assert_allclose(
        [found[f"{d}/{key}"].value for d in ("i2t", "t2i") for key in ("ncs@5", "sr_top5@5", "asp")], 1
    )
    assert_allclose(found["nsum"].value, 6)


def test_binary_grades_make_ncs_the_share_of_relevant_items_and_printed_ncs_semantic_recall(rng):
    scores, grades = rng.standard_normal((5, 12)), np.zeros((5, 12))
    grades[:, :4] = 1
    found = Lists(scores, grades, 4)
    assert_allclose(ncs(found, 4), [np.isin(np.argsort(-row)[:4], range(4)).mean() for row in scores])
    assert_allclose(ncs_top(found, 4, 4), semantic_recall(found, 4, 4))


def test_judgements_a_matrix_and_a_relevance_give_the_same_numbers(rng, monkeypatch):
    phi = np.round(rng.random((7, 11)), 1).astype(np.float32)
    scores = rng.standard_normal((7, 11))
    matrix, sparse_, held = (semantic(scores, one, rounds=0) for one in (phi, judged(phi), Captions(phi)))
    monkeypatch.setattr("workbench.metrics.blocks.HELD", 0)
    made = semantic(scores, Captions(phi), rounds=0)
    assert not by_rows(Captions(phi)).held
    for others in (sparse_, held, made):
        assert_allclose([m.value for m in others], [m.value for m in matrix])
    assert [one[0].key.judgements for one in (matrix, sparse_, held)] == ["grades", "human", "cider-d"]


def test_removed_items_stay_removed_when_scores_are_turned_or_cut(rng):
    scores, own = rng.standard_normal((3, 6)), OWN
    rest = drop_pairs(by_rows(scores), own, np.arange(6))
    expected = np.where(own == np.arange(3)[:, None], -np.inf, scores)
    assert_array_equal(rest.rows(slice(0, 3)), expected)
    assert_array_equal(rest.T.rows(slice(2, 5)), expected.T[2:5])
    rows, columns = np.array([2, 0]), np.array([5, 1, 0])
    assert_array_equal(rest.select(rows, columns).rows(slice(0, 2)), expected[np.ix_(rows, columns)])
    assert (rest.shape, rest.T.shape) == ((3, 6), (6, 3))
    assert rest.step > 0


def test_intervals_and_contracts_are_filled_in(rng):
    found = by_key(semantic(rng.standard_normal((9, 20)), judged(rng.random((9, 20))), own=np.arange(20) % 9))
    assert all(m.low <= m.value <= m.high for m in found.values())
    one = found["t2i/ncs_top2@5"]
    assert (one.gallery, one.queries, one.key.judgements) == (9, 20, "human")
    assert one.hit.startswith("phi of those of the 2 best")
    assert "the 3 images" in found["i2t/sr_votes3@1"].hit


def test_what_cannot_be_measured_is_refused(rng):
    with pytest.raises(ValueError, match="give own, the image row of each caption"):
        Evidence(SCORES, PHI, without_own=True)
    with pytest.raises(ValueError, match="at least 0 to be summed, the least is -1"):
        semantic(SCORES, np.full((3, 6), -1.0))
    with pytest.raises(ValueError, match=r"scores are \(3, 6\)"):
        semantic(SCORES, PHI[:, :5])
