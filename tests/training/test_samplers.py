"""Neighbours share a batch, no image is lost, and the order depends on the seed and the epoch alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.training import samplers
from workbench.training.samplers import k_means, mean_regions, neighbours_together


@given(
    clusters=st.lists(st.integers(0, 5), min_size=1, max_size=40).map(np.array),
    each=st.integers(1, 4),
    per_batch=st.integers(1, 4),
    seed=st.integers(0, 3),
)
def test_every_image_comes_once(clusters, each, per_batch, seed):
    images = np.arange(len(clusters))
    found = neighbours_together(images, clusters, each, per_batch, np.random.default_rng(seed))
    assert sorted(found.tolist()) == images.tolist()


def test_a_batch_takes_equally_many_images_from_each_of_its_clusters():
    # Six clusters of 20 images, 3 a batch with 4 images each: ten batches, of which the last may find only
    # leftovers.
    clusters = np.repeat(np.arange(6), 20)
    order = neighbours_together(np.arange(120), clusters, 4, 3, np.random.default_rng(0))
    whole = [np.unique(clusters[rows], return_counts=True)[1].tolist() for rows in order.reshape(-1, 12)]
    assert whole[:8] == [[4, 4, 4]] * 8
    assert len(whole) == 10


def test_the_order_is_random_among_clusters_and_within_them():
    clusters = np.repeat(np.arange(6), 20)
    one, again, other = (
        neighbours_together(np.arange(120), clusters, 4, 3, np.random.default_rng(n)) for n in (0, 0, 1)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(clusters[one], clusters[other])
    assert np.any(np.diff(one[:4]) < 0) or np.any(np.diff(one[12:16]) < 0)


@pytest.mark.parametrize("captions_per_image", [1, 2])
def test_an_epoch_of_neighbours_depends_on_seed_and_number_alone_and_has_as_many_batches_every_time(
    captions_per_image,
):
    own, clusters = np.repeat(np.arange(40), 4), np.arange(40) % 5

    def epoch(number):
        return samplers.epoch_batches(
            own,
            size=8,
            captions_per_image=captions_per_image,
            seed=1,
            number=number,
            clusters=clusters,
            clusters_per_batch=2,
        )

    first, again, other = epoch(3), epoch(3), epoch(4)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert len(first) == len(other) == 5 * 4 // captions_per_image
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert all(len(set(own[rows].tolist())) == 8 for rows in first)
    assert sum(len(set(clusters[own[rows]].tolist())) == 2 for rows in first) >= len(first) // 2
    if captions_per_image == 1:
        assert sorted(np.concatenate(first).tolist()) == list(range(160))


def test_neighbours_without_clusters_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="give the source clusters="):
        samplers.epoch_batches(
            np.arange(4), size=2, captions_per_image=1, seed=0, number=0, clusters_per_batch=2
        )


def test_k_means_finds_what_is_plainly_apart_and_says_the_same_twice():
    centres = np.array([[0, 0], [10, 0], [0, 10]])
    features = np.repeat(centres, 5, axis=0) + np.random.default_rng(0).normal(size=(15, 2)) * 0.1
    found = k_means(features, 3, seed=0)
    assert [len(set(found[i : i + 5].tolist())) for i in (0, 5, 10)] == [1, 1, 1]
    assert len(set(found.tolist())) == 3
    assert np.array_equal(found, k_means(features, 3, seed=0))


def test_fewer_images_than_clusters_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="2 images cannot form 3 clusters; lower clusters"):
        k_means(np.zeros((2, 4)), 3, seed=0)


def test_mean_regions_in_chunks_are_those_of_the_whole():
    regions = np.random.default_rng(0).normal(size=(7, 3, 2)).astype(np.float16)
    np.testing.assert_allclose(mean_regions(regions, chunk=2), regions.astype(np.float32).mean(1), rtol=1e-6)


def test_padded_rows_are_no_regions_by_hand():
    # (1, 3) and (3, 5) and a row of padding; an image of padding alone is zero
    regions = np.array([[[1, 3], [3, 5], [0, 0]], [[0, 0]] * 3], dtype=np.float32)
    assert mean_regions(regions).tolist() == [[2, 4], [0, 0]]
