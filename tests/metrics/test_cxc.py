import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.metrics.families import by_key, crossed, hit_at_k, ranking
from tests.oracles import metrics as oracle
from workbench.metrics import cxc
from workbench.metrics.blocks import products
from workbench.metrics.ranks import Ranked
from workbench.records import Judgements


def rated(name, size, pairs, grades, relevant_from=3.0):
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Judgements(
        name, "x", size, first, second, np.array(grades, np.float32), relevant_from, unlisted=None
    )


def vectors(rng, *shape):
    out = rng.standard_normal(shape).astype(np.float32)
    return out / np.linalg.norm(out, axis=-1, keepdims=True)


def test_image_to_image_by_hand():
    # 0-1 rated 4, 2-0 rated 1: images 0 and 1 are asked; 0 prefers 2, then 1; 1 prefers 0
    sis = rated("sis", (3, 3), [(0, 1), (2, 0)], [4, 1], 2.5)
    scores = np.array([[9.0, 0.1, 0.3], [0.2, 9.0, 0.1], [0.3, 0.1, 9.0]])
    assert cxc.ranks_within(scores, sis).first[:2].tolist() == [2, 1]
    assert np.isnan(cxc.ranks_within(scores, sis).first[2])


def test_co_captions_are_positive_and_the_query_itself_is_not():
    # captions 0 1 of image 0, 2 of image 1; 2 is rated 3 with 0; every caption would find itself first
    sts = rated("sts", (3, 3), [(2, 0), (1, 1)], [3, 5])
    scores = np.array([[1.0, 0.4, 0.6], [0.4, 1.0, 0.7], [0.6, 0.7, 1.0]])
    ranks = cxc.ranks_within(scores, sts, np.array([0, 0, 1]))
    assert ranks.counts.tolist() == [2, 1, 1]
    # 0: 2 then 1, both positive; 1: 2 then 0; 2: 1 then 0
    assert ranks.rank.tolist() == [1, 2, 2, 2]


def test_the_query_is_removed_where_all_scores_are_negative():
    # a diagonal of 0 would still beat the others
    scores, sis = np.array([[-0.1, -0.9], [-0.8, -0.1]]), rated("sis", (2, 2), [(0, 1)], [5])
    assert cxc.ranks_within(scores, sis).first.tolist() == [1, 1]
    assert scores.min() == -0.9


def test_either_of_two_ratings_of_a_pair_makes_it_positive():
    sis = rated("sis", (3, 3), [(0, 1), (1, 0)], [1, 3])
    assert cxc.ranks_within(np.zeros((3, 3)), sis).counts.tolist() == [1, 1, 0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 2, 5])
def test_hits_within_a_modality_equal_the_double_loop_with_ties(seed, k):
    rng = np.random.default_rng(seed)
    pairs = sorted({tuple(map(int, pair)) for pair in rng.integers(0, 12, (9, 2))})
    scores, own = rng.integers(-3, 3, (12, 12)) / 4, np.sort(rng.integers(0, 6, 12))
    for group in (None, own):
        expected = oracle.within(scores, set(pairs), group, k)
        found = hit_at_k(cxc.ranks_within(scores, rated("sts", (12, 12), pairs, [4] * len(pairs)), group), k)
        assert_allclose(found, [np.nan if value is None else value for value in expected])


def test_all_four_directions_are_measured_with_their_counts_and_their_sum(rng):
    image, text, own = vectors(rng, 6, 8), vectors(rng, 12, 8), np.arange(12) // 2
    sits = rated("sits", (6, 12), [(0, 0), (1, 2), (1, 3), (5, 11), (2, 9)], [5, 4, 3, 3, 2])
    sis, sts = rated("sis", (6, 6), [(0, 1), (4, 1)], [3, 2.5], 2.5), rated("sts", (12, 12), [(0, 5)], [4])
    images, captions = (
        cxc.ranks_within(products(image, image), sis),
        cxc.ranks_within(products(text, text), sts, own),
    )
    found = by_key(crossed(products(image, text), sits, own=own, within={"i2i": images, "t2t": captions}))
    assert set(found) == {f"{d}/R@{k}" for d in ("i2t", "t2i", "i2i", "t2t") for k in (1, 5, 10)} | {"rsum"}
    counts = {
        d: (found[f"{d}/R@1"].queries, found[f"{d}/R@1"].left_out, found[f"{d}/R@1"].gallery)
        for d in ("i2t", "t2i")
    }
    assert counts == {"i2t": (3, 3, 12), "t2i": (4, 8, 6)}
    counts = {
        d: (found[f"{d}/R@1"].queries, found[f"{d}/R@1"].left_out, found[f"{d}/R@1"].gallery)
        for d in ("i2i", "t2t")
    }
    assert counts == {"i2i": (3, 3, 5), "t2t": (12, 0, 11)}
    parts = [found[f"{d}/R@{k}"].value for d in ("i2t", "t2i", "i2i", "t2t") for k in (1, 5)]
    assert_allclose(found["rsum"].value, sum(parts))
    assert found["rsum"].label == "cxc:rsum"
    assert found["rsum"].low <= found["rsum"].value <= found["rsum"].high
    assert found["rsum"].gallery == 12 + 6 + 5 + 11


def test_two_directions_are_the_r_at_1_of_the_same_judgements_and_have_no_sum(rng):
    sits = rated("sits", (6, 12), [(0, 0), (1, 2), (1, 3), (5, 11), (2, 9)], [5, 4, 3, 3, 2])
    scores = rng.standard_normal((6, 12))
    ranked = Ranked(scores, [sits])
    found, other = by_key(crossed(ranked, sits)), by_key(ranking(scores, sits, graded=False))
    assert "rsum" not in found
    assert [found[f"{d}/R@1"].value for d in ("i2t", "t2i")] == [
        other[f"{d}/R@1"].value for d in ("i2t", "t2i")
    ]
