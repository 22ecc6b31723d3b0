"""Samplers visit what they promise, and a batch knows whose caption is whose."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.records.test_records import small
from workbench.records import Split
from workbench.training import batches, samplers
from workbench.training.batches import Source

OWN = st.lists(st.integers(1, 5), min_size=1, max_size=12).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@given(own=OWN, size=st.integers(1, 6), seed=st.integers(0, 3))
def test_the_classic_epoch_visits_no_caption_twice(own, size, seed):
    visited = np.concatenate(
        samplers.epoch_batches(own, size=size, captions_per_image=1, seed=seed, number=0)
    )
    assert len(set(visited.tolist())) == len(visited)
    assert len(own) - len(visited) < size or len(own) < size


@given(own=OWN, seed=st.integers(0, 3))
def test_the_grouped_epoch_visits_every_caption_when_batches_hold_all_images(own, seed):
    least = int(np.bincount(own).min())
    visited = np.concatenate(samplers.group_by_image(own, 1, least, np.random.default_rng(seed)))
    assert set(visited.tolist()) == set(range(len(own)))


@given(own=OWN, seed=st.integers(0, 3))
def test_a_grouped_batch_holds_so_many_captions_of_each_image(own, seed):
    for rows in samplers.group_by_image(own, 1, 1, np.random.default_rng(seed)):
        assert len(set(own[rows].tolist())) == len(rows)


def test_an_epoch_depends_on_seed_and_number_alone():
    own = np.repeat(np.arange(10), 5)
    first, again, other = (
        samplers.epoch_batches(own, size=3, captions_per_image=2, seed=1, number=n) for n in (4, 4, 5)
    )
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_too_few_captions_an_image_are_refused_by_name_and_number():
    with pytest.raises(ValueError, match="image row 1 has 1 captions, but captions_per_image=2"):
        samplers.group_by_image(np.array([0, 0, 1]), 2, 2, np.random.default_rng(0))


class Numbers:
    name = "numbers"

    def take(self, rows):
        return torch.from_numpy(rows)

    def __len__(self):
        return 3


def source() -> Source:
    return Source(small(), {"pixels": lambda rows: torch.from_numpy(rows)}, {"numbers": Numbers()})


def test_a_batch_holds_each_image_once_and_says_whose_caption_is_whose():
    batch = source().batch(np.array([2, 1, 0]))
    assert list(batch.image_ids) == ["b", "a"]
    assert batch.own.tolist() == [0, 1, 1]
    assert batch.inputs["pixels"].tolist() == [1, 0]
    assert batch.signals["numbers"].tolist() == [2, 1, 0]


def test_pixels_are_opened_once():
    opened: list[int] = []
    split = small(open_image=lambda row: opened.append(row) or row)
    pixels = batches.Pixels(split, lambda image: torch.full((3, 2, 2), image, dtype=torch.uint8))
    assert pixels(np.array([1, 0]))[0, 0, 0, 0] == 1
    pixels(np.array([1]))
    assert opened == [1, 0]


def pixels(images=3):
    """Images of one shade of their row, 12 bytes each, and the rows that this process has opened."""
    opened: list[int] = []
    ids, own = tuple(map(str, range(images))), np.arange(images)
    split = Split("toy", ids, ("a caption",) * images, ids, own, lambda row: opened.append(row) or row)
    shade = lambda row: torch.full((3, 2, 2), row, dtype=torch.uint8)  # noqa: E731
    return batches.Pixels(split, shade), opened


def test_pixels_stay_within_their_memory_and_the_one_unused_longest_leaves(monkeypatch):
    # room for two images of 12 bytes; 0 is used again before 2 comes, so that 1 leaves
    monkeypatch.setenv("WORKBENCH_PIXELS_GB", "30e-9")
    read, opened = pixels()
    for row in (0, 1, 0, 2):
        assert read(np.array([row])).tolist() == [[[[row] * 2] * 2] * 3]
    assert opened == [0, 1, 2]
    assert read(np.array([2, 0]))[:, 0, 0, 0].tolist() == [2, 0]
    assert opened == [0, 1, 2]
    read(np.array([1]))
    assert opened == [0, 1, 2, 1]
    # where there is no room for one, each is opened each time
    monkeypatch.setenv("WORKBENCH_PIXELS_GB", "11e-9")
    read, opened = pixels()
    read(np.array([0, 0]))
    assert opened == [0, 0]


@pytest.mark.parametrize("said", ["many", "-1", "nan", "inf"])
def test_a_memory_of_pixels_that_is_no_number_is_refused(monkeypatch, said):
    monkeypatch.setenv("WORKBENCH_PIXELS_GB", "1e-7")
    assert pixels()[0].memory == 100
    monkeypatch.setenv("WORKBENCH_PIXELS_GB", said)
    with pytest.raises(ValueError, match=f"WORKBENCH_PIXELS_GB is '{said}'; give a number of gigabytes"):
        pixels()


def test_missing_region_features_are_named():
    with pytest.raises(ValueError, match="toy/test has no region features; set features="):
        batches.region_reader(small())
