"""Queries that were selected get a name, and cut again as a field."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.views.explorer.toys import hand_space
from workbench.records import Split
from workbench.runs import saved_slices
from workbench.runs.fields import AllFields
from workbench.runs.slices import slices_of


@pytest.fixture
def split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Split:
    """Three images; the first has two captions."""
    monkeypatch.chdir(tmp_path)
    captions = ("a", "b", "c", "d")
    return hand_space([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], captions, [0, 0, 1, 2]).split


def test_a_slice_of_captions_cuts_captions_and_images_with_one_of_them(split: Split) -> None:
    file = saved_slices.save_slice(split, "long-ones", [1, 3])
    assert file.name == "long-ones.slice.json"
    assert "slice:long-ones" in set(AllFields(split))
    captions = slices_of(split, "slice:long-ones", "t2i")
    assert np.flatnonzero(captions["slice:long-ones=yes"]).tolist() == [1, 3]
    images = slices_of(split, "slice:long-ones", "i2t")
    assert np.flatnonzero(images["slice:long-ones=yes"]).tolist() == [0, 2]


def test_a_slice_of_images_holds_all_of_their_captions(split: Split) -> None:
    saved_slices.save_slice(split, "first", [0], direction="i2t")
    masks = slices_of(split, "slice:first*words", "t2i")
    assert np.flatnonzero(masks["slice:first=yes, words=1"]).tolist() == [0, 1]


def test_queries_are_known_by_their_ids_in_a_part_of_the_data(split: Split) -> None:
    saved_slices.save_slice(split, "mine", [0, 3])
    part = split.restrict(np.array([2]), np.array([3]))
    assert slices_of(part, "slice:mine", "t2i")["slice:mine=yes"].tolist() == [True]
    other = split.restrict(np.array([1]), np.array([2]))
    assert "slice:mine" not in AllFields(other)


@pytest.mark.parametrize("name", ["", "two words", "../up", "a,b"])
def test_a_name_that_could_not_be_typed_is_refused(split: Split, name: str) -> None:
    with pytest.raises(ValueError, match="no name of a slice"):
        saved_slices.save_slice(split, name, [0])


def test_an_empty_slice_and_one_that_is_there_are_refused(split: Split) -> None:
    with pytest.raises(ValueError, match="would be empty"):
        saved_slices.save_slice(split, "mine", [])
    saved_slices.save_slice(split, "mine", [0])
    with pytest.raises(FileExistsError, match="another name"):
        saved_slices.save_slice(split, "mine", [1])
    saved_slices.save_slice(split, "mine", [1], overwrite=True)
    assert saved_slices.saved_slices()["slice:mine"].queries == ["1"]


def test_a_slice_that_is_not_there_is_named_with_the_near_ones(split: Split) -> None:
    saved_slices.save_slice(split, "mine", [0])
    with pytest.raises(KeyError, match="slice:mine"):
        slices_of(split, "slice:mime", "t2i")


def test_a_file_that_is_no_slice_is_named(split: Split, tmp_path: Path) -> None:
    (tmp_path / "slices").mkdir()
    (tmp_path / "slices" / "broken.slice.json").write_text('{"name": "broken"}')
    with pytest.raises(ValueError, match=r"broken\.slice\.json is no saved slice"):
        AllFields(split)
