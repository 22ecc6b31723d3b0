"""What is reached by the truth alone, held against a search over all orders and all ways to annotate."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.metrics.test_within import judged
from workbench.metrics.evaluation import Evidence, walk
from workbench.metrics.map_at_r import map_at_r
from workbench.metrics.ranks import rank

ROWS = ("R_top", "rsum_top", "same_list")


def measured(relevant, own, name="exact"):
    evidence = Evidence(np.zeros(relevant.shape), judged(relevant, name), own)
    return {m.label: (m, values) for m, values in walk(evidence, ROWS, rounds=20)}


def searched(relevant, k):
    """The best share of hits by direction, query by query: the largest over all choices of ``k`` items, each
    over all ways in which every caption was written for one of the images that it is true of.
    """
    images, captions = relevant.shape
    ways = list(product(*(np.flatnonzero(column) for column in relevant.T)))
    of_images, of_captions = [], []
    for image in range(images):
        asked = [way for way in ways if image in way]
        shares = []
        for chosen in combinations(range(captions), min(k, captions)):
            shares.append(sum(any(way[t] == image for t in chosen) for way in asked) / len(asked))
        of_images.append(max(shares))
    for caption in range(captions):
        shares = []
        for chosen in combinations(range(images), min(k, images)):
            shares.append(sum(way[caption] in chosen for way in ways) / len(ways))
        of_captions.append(max(shares))
    return of_images, of_captions


@pytest.mark.parametrize("seed", range(4))
def test_the_top_equals_a_search_over_all_orders_on_six_images(seed):
    rng = np.random.default_rng(seed)
    relevant = np.zeros((6, 7), dtype=bool)
    for caption, number in enumerate((1, 2, 2, 3, 3, 2, 1)):
        relevant[rng.permutation(6)[:number], caption] = True
    relevant[np.arange(6), np.arange(6)] = True
    found = measured(relevant, np.arange(7) % 6)
    total = 0.0
    for k in (1, 5, 10):
        of_images, of_captions = searched(relevant, k)
        assert_allclose(found[f"exact:i2t/R_top@{k}"][1], of_images)
        assert_allclose(found[f"exact:t2i/R_top@{k}"][1], of_captions)
        total += np.mean(of_images) + np.mean(of_captions)
    assert found["exact:rsum_top"][0].value == pytest.approx(total)


def test_specific_captions_first_by_hand():
    # image 0 has a caption of its own, image 1 shares its caption with image 0
    found = measured(np.array([[1, 1], [0, 1]], dtype=bool), np.array([0, 1]))
    assert found["exact:i2t/R_top@1"][1].tolist() == [1, 1]
    assert found["exact:t2i/R_top@1"][1].tolist() == [1, 0.5]
    assert found["exact:rsum_top"][0].value == pytest.approx(3 + 2.75)


def test_where_each_caption_is_true_of_its_image_alone_the_top_is_all():
    found = measured(np.eye(4, dtype=bool)[:, [0, 0, 1, 2, 3]], np.array([0, 0, 1, 2, 3]))
    assert found["exact:rsum_top"][0].value == 6


def test_one_list_is_what_scores_by_how_common_an_item_is_reach(rng):
    relevant = rng.random((9, 30)) < rng.random(30)
    relevant[np.arange(30) % 9, np.arange(30)] = True
    common = relevant.sum(axis=0) - 1e-3 * np.arange(30)
    expected = map_at_r(rank(np.tile(common, (9, 1)), relevant))
    found = measured(relevant, np.arange(30) % 9)
    assert_allclose(found["exact:i2t/same_list"][1], expected)


def test_the_top_needs_the_whole_truth(rng):
    found = measured(rng.random((5, 10)) < 0.5, np.arange(10) % 5, "human")
    assert list(found) == ["human:i2t/same_list", "human:t2i/same_list"]
