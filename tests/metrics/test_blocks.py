import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.metrics.families import by_key, crossed, errors, order, ranking, recall
from workbench.metrics import blocks
from workbench.metrics.blocks import best_items, by_rows, products
from workbench.metrics.ranks import Ranked, Relevant, rank, rank_all
from workbench.records import Judgements


@pytest.fixture
def world(rng):
    """Embeddings of small whole numbers, whose products are exact and often equal, with graded judgements."""
    image, text = (
        rng.integers(-2, 3, (23, 3)).astype(np.float32),
        rng.integers(-2, 3, (60, 3)).astype(np.float32),
    )
    pairs = np.unravel_index(rng.choice(23 * 60, 300, replace=False), (23, 60))
    grades = rng.integers(0, 4, 300).astype(np.float32)
    graded = Judgements("graded", "x", (23, 60), *pairs, grades, relevant_from=2)
    return image, text, graded


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "COMPUTED", 100)
    monkeypatch.setattr(blocks, "CACHED", 100)


def test_scores_made_by_rows_give_what_the_whole_matrix_gives(world, small_blocks):
    image, text, graded = world
    own = Judgements.from_own(np.arange(60) % 23, 23)
    lazy, whole = products(image, text), image @ text.T
    assert 60 // lazy.step > 5
    for measure in (
        lambda s: recall(s, own, rounds=20),
        lambda s: ranking(s, graded, rounds=20),
        lambda s: errors(s, own, graded, rounds=20),
        lambda s: crossed(s, graded, rounds=20),
    ):
        assert measure(lazy) == measure(whole)


def test_blocks_of_any_size_give_the_same_ranks_and_orders(world):
    image, text, graded = world
    scores = image @ text.T
    ranks, codes = rank(scores, graded.relevant()), order(scores, graded.dense())
    for block in (1, 7, 23, 100):
        assert_array_equal(rank(scores, graded.relevant(), block=block).rank, ranks.rank)
        assert_array_equal(order(scores, graded, block=block), codes)


def test_folds_can_be_cut_from_embeddings(rng):
    image, text, own = rng.integers(-2, 3, (20, 3)), rng.integers(-2, 3, (60, 3)), np.repeat(np.arange(20), 3)
    judged = Judgements.from_own(own, 20)
    lazy, whole = products(image, text), image @ text.T
    assert recall(lazy, judged, own=own, folds=5) == recall(whole, judged, own=own, folds=5)


def test_one_pass_by_many_judgements_gives_what_each_gives_alone(world):
    image, text, graded = world
    own = Judgements.from_own(np.arange(60) % 23, 23)
    ranked = Ranked(image @ text.T, [own, graded])
    for judged in (own, graded):
        for direction, ranks in Ranked(image @ text.T, [judged]).by(judged).items():
            assert_array_equal(ranked.by(judged)[direction].rank, ranks.rank)
            assert_array_equal(ranked.by(judged)[direction].counts, ranks.counts)


def test_ranks_by_other_judgements_and_folds_of_ranks_are_refused(world):
    image, text, graded = world
    own = Judgements.from_own(np.arange(60) % 23, 23)
    ranked = Ranked(image @ text.T, [graded])
    with pytest.raises(ValueError, match=r"'own' were not ranked, only \['graded'\]"):
        recall(ranked, own)
    with pytest.raises(ValueError, match="cannot be cut into folds"):
        recall(
            Ranked(image[:20] @ text.T, [kept := graded.restrict(np.arange(20), np.arange(60))]),
            kept,
            folds=5,
        )


@pytest.mark.parametrize("few", [0, 1000])
def test_counting_and_sorting_give_the_same_ranks(world, monkeypatch, few):
    image, text, graded = world
    expected = rank(image @ text.T, graded.relevant()).rank
    monkeypatch.setattr("workbench.metrics.ranks.FEW", few)
    assert_array_equal(rank(image @ text.T, graded.relevant()).rank, expected)


@pytest.mark.parametrize("few", [2, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_read_gives_what_numpy_gives(world, monkeypatch, few, dtype):
    image, text, graded = world
    # many equal scores, a gallery beyond the part that is read at a time, an item that is taken out
    scores = np.tile((image @ text.T).astype(dtype), (1, 30))
    scores[:, 7] = -np.inf
    relevant = np.tile(graded.relevant(), (1, 30))
    relevant[3] = False
    monkeypatch.setattr("workbench.metrics.ranks.FEW", few)
    for table, truth in ((scores, relevant), (scores.T, relevant.T)):
        found = {}
        for cached in (0, 2**30):
            monkeypatch.setattr("workbench.metrics.ranks.CACHED", cached)
            found[cached] = rank_all(table, [Relevant.from_pairs(truth)], k=10, block=9)
        monkeypatch.setattr("workbench.metrics.ranks.CACHED", 0)
        with pytest.raises(ValueError, match="1 scores are NaN among queries 0 to 8; a NaN has no rank"):
            rank(np.where(np.arange(table.size).reshape(table.shape) == 3, np.nan, table), truth, block=9)
        ranks, (best_scores, items) = found[0]
        assert_array_equal(ranks[0].rank, found[2**30][0][0].rank)
        expected = np.argsort(-table, axis=1, kind="stable")[:, :10]
        assert_array_equal(items, expected)
        assert_array_equal(best_scores, np.take_along_axis(table, expected, 1))


def test_a_turned_matrix_is_copied_right_beyond_the_size_of_a_tile(rng):
    scores = rng.standard_normal((150, 70)).astype(np.float32)
    assert_array_equal(by_rows(scores).T.rows(slice(3, 50)), scores.T[3:50])


@pytest.mark.parametrize("unlisted", [None, 0.0, 2.0])
def test_sparse_grades_give_the_rows_of_their_matrix_in_both_directions(world, unlisted):
    _, _, graded = world
    judged = Judgements("g", "x", (23, 60), graded.images, graded.captions, graded.grades, unlisted=unlisted)
    grades, dense = by_rows(judged), judged.dense()
    assert_array_equal(grades.rows(slice(5, 14)), dense[5:14])
    assert_array_equal(grades.T.rows(slice(0, 60)), dense.T)


def test_queries_that_are_not_asked_are_in_the_gallery_only():
    # caption 1 is relevant to both images, but only image 1 is asked, and no caption but 0
    judged = Judgements(
        "some", "x", (2, 2), np.array([0, 0, 1]), np.array([0, 1, 1]), np.ones(3, np.float32),
        image_queries=np.array([1]), caption_queries=np.array([0]),
    )  # fmt: skip
    ranks = Ranked(np.array([[1.0, 0.0], [1.0, 0.0]]), [judged]).by(judged)
    assert ranks["i2t"].counts.tolist() == [0, 1]
    assert_array_equal(ranks["i2t"].first, [np.nan, 2])
    assert ranks["t2i"].counts.tolist() == [1, 0]
    assert_array_equal(ranks["t2i"].first, [2, np.nan])


def test_a_query_whose_only_answer_the_gallery_lacks_is_asked_and_fails():
    judged = Judgements(
        "some",
        "x",
        (2, 2),
        np.array([1]),
        np.array([1]),
        np.ones(1, np.float32),
        missing_captions=np.array([0]),
    )
    found = by_key(ranking(np.eye(2), judged, graded=False, rounds=0))
    for key in ("R@1", "map_at_r", "r_precision"):
        assert (found[f"i2t/{key}"].value, found[f"i2t/{key}"].queries) == (0.5, 2)
    assert_allclose(found["t2i/R@1"].value, 1)


def test_the_best_items_are_those_of_a_stable_sort():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(7, 1501)).astype(np.float32)
    many[0], many[1, 700:] = 0.5, -np.inf
    for scores, ks in ((rng.integers(-2, 3, (9, 14)) / 2, (1, 4, 14)), (many, (1, 10, 93, 94, 1501))):
        for k in ks:
            found, items = best_items(scores, k)
            expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            assert_array_equal(items, expected)
            assert_array_equal(found, np.take_along_axis(scores, expected, 1))
