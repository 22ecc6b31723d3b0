"""Which file of a sample is the image, and which holds the captions: nothing is taken in silence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import workbench as wb
from tests.data.fixtures import tar
from tests.data.test_shards import image_bytes

RED, BLUE = (250, 0, 0), (0, 0, 250)
IMAGE, OTHER, TEXT = image_bytes(RED), image_bytes(BLUE), b"a red square"
RULE = "up to the first dot, and stand side by side"


def _load(place: Path, members: list[tuple[str, bytes]], **options: Any) -> Any:
    tar(place / "a.tar", members)
    return wb.load_data(place, split="all", **options)


def _json(**fields: Any) -> tuple[str, bytes]:
    return "a.json", json.dumps(fields).encode()


@pytest.mark.parametrize("other", ["a.depth.png", "a.cond.png", "a.0.png", "a.mask.PNG", "a.seg.jpg"])
@pytest.mark.parametrize("text", [("a.txt", TEXT), _json(caption="a red square")])
@pytest.mark.parametrize("first", [True, False])
def test_the_image_is_the_one_whose_name_is_the_key_and_an_ending(other, text, first, tmp_path):
    images = [(other, OTHER), ("a.jpg", IMAGE)]
    split = _load(tmp_path, [*(images if first else images[::-1]), text])
    assert split.open_image(0).getpixel((3, 3)) == RED
    assert split.captions == ("a red square",)
    assert any(f"1 x .{other[2:].lower()}" in note for note in split.notes)


def test_another_image_or_text_is_read_where_it_is_chosen(tmp_path):
    members = [("a.de.txt", b"rot"), ("a.depth.png", OTHER), ("a.en.txt", TEXT), ("a.jpg", IMAGE)]
    split = _load(tmp_path, members, columns={"image": "depth.png", "caption": "en.txt"})
    assert split.open_image(0).getpixel((3, 3)) == BLUE
    assert split.captions == ("a red square",)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("a.jpg", IMAGE), ("a.png", OTHER), ("a.txt", TEXT)], "jpg and .png may each be the image"),
        ([("a.x.jpg", IMAGE), ("a.txt", TEXT), ("a.jpg", IMAGE), ("a.JPG", OTHER)], "a.JPG stands twice"),
        ([("a.de.txt", b"rot"), ("a.en.txt", TEXT), ("a.jpg", IMAGE)], "de.txt and .en.txt may each be"),
        ([("a.png", IMAGE), ("a.txt", TEXT), ("a.png", OTHER), ("a.txt", b"blue")], "a.png stands twice"),
        ([("a.png", IMAGE), ("b.png", OTHER), ("a.txt", TEXT), ("b.txt", b"blue")], RULE),
        ([("a.png", IMAGE), ("a_1.txt", TEXT)], RULE),
        ([("a.depth.png", IMAGE), ("a.normal.png", OTHER), ("a.txt", TEXT)], "depth.png and .normal.png"),
        ([("a.png", IMAGE), _json(width=3, words="x")], "width, words.*columns="),
        ([("a.png", IMAGE), _json(text="x", title="y")], "text and title, and each may hold the caption"),
    ],
)
def test_what_may_be_meant_by_two_files_is_refused_with_shard_key_and_rule(members, message, tmp_path):
    with pytest.raises(ValueError, match=rf"^a\.tar, a.*{message}"):
        _load(tmp_path, members)
    with pytest.raises(ValueError, match="holds no sample"):
        _load(tmp_path, members, on_error="skip")


def test_samples_whose_names_have_dots_are_samples_of_their_own(tmp_path):
    members = [
        (f"p_22.{n}.{end}", content) for n in (5, 6) for end, content in (("png", IMAGE), ("txt", TEXT))
    ]
    assert _load(tmp_path, members).image_ids == ("a/p_22.5", "a/p_22.6")


def test_two_samples_with_the_same_first_name_lose_nothing(tmp_path):
    members = [("a.jpg", IMAGE), ("a.txt", TEXT), ("a.crop.jpg", OTHER), ("a.crop.txt", b"blue")]
    assert _load(tmp_path, members).captions == ("a red square", "blue")


@pytest.mark.parametrize(
    ("fields", "captions"),
    [
        ({"text": "one"}, ("one",)),
        ({"TEXT": "one", "width": 3}, ("one",)),
        ({"alt_text": ["one", "two"]}, ("one", "two")),
        ({"caption": None, "captions": ["one"]}, ("one",)),
        ({"captions": None, "title": "one", "caption": ""}, ("one",)),
        ({"caption": "one", "title": "two"}, ("one",)),
        ({"caption": "two", "captions": ["one", "two"]}, ("one", "two")),
        ({"caption_1": "one", "caption_2": "two"}, ("one", "two")),
        ({"sentences": [{"raw": "one"}]}, ("one",)),
    ],
)
def test_the_names_that_tables_know_hold_in_the_json_of_a_sample(fields, captions, tmp_path):
    assert _load(tmp_path, [("a.png", IMAGE), _json(**fields)]).captions == captions


def test_a_field_is_chosen_by_its_name_or_its_path_in_a_tar_and_in_parquet(tmp_path):
    fields = {"caption": {"en": "one", "de": "eins"}, "note": "two", "part": "val"}
    members = [("a.png", IMAGE), ("a.txt", b"three"), _json(**fields)]
    for chosen, caption in (("caption.en", "one"), ("note", "two"), ("txt", "three")):
        split = _load(tmp_path, members, columns={"caption": chosen, "split": "part"})
        assert (split.captions, split.name.partition("/")[2]) == ((caption,), "all")
        assert any("val (1 image)" in note for note in split.notes)
    (tmp_path / "a.tar").unlink()
    table = pyarrow.table({"image": [IMAGE], **{name: [value] for name, value in fields.items()}})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for chosen, caption in (("caption.en", "one"), ("note", "two")):
        assert wb.load_data(tmp_path, split="all", columns={"caption": chosen}).captions == (caption,)


def test_a_null_beside_a_text_counts_as_not_given(tmp_path):
    assert _load(tmp_path, [("a.png", IMAGE), ("a.txt", TEXT), _json(captions=None)]).captions == (
        "a red square",
    )


def test_what_was_not_read_is_counted_by_kind_also_from_the_index(tmp_path):
    about = _json(caption="another", width=3, url="u")
    members = [("a.cls", b"7"), ("a.png", IMAGE), ("a.txt", TEXT), about, ("b.cls", b"8"), ("b.png", OTHER)]
    for _ in range(2):
        notes = _load(tmp_path, [*members, ("b.txt", b"blue"), ("b.fr.txt", b"bleu")]).notes
        assert any("2 x .cls, 1 x .fr.txt" in note for note in notes)
        assert any(note.endswith("not read: caption") for note in notes)
        assert any("1 sample with another caption in .json" in note for note in notes)


def test_columns_of_parquet_that_hold_no_plain_values_are_named(tmp_path):
    for name, more in (("a", "depth"), ("b", "vector")):
        table = pyarrow.table({"image": [image_bytes(RED)], "text": ["red"], more: [b"1"]})
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    notes = wb.load_data(tmp_path, split="all").notes
    assert any(note == "b.parquet: columns that were not read: vector" for note in notes)
    assert any(note == "a.parquet: columns that were not read: depth" for note in notes)
    for columns, message in (
        ({"id": "vector"}, "not read of shards"),
        ({"words": "text"}, "no name 'words'"),
    ):
        with pytest.raises(ValueError, match=message):
            wb.load_data(tmp_path, columns=columns)


def test_images_with_the_bytes_of_another_are_counted_in_any_order(tmp_path):
    members = [(f"{n}.png", content) for n, content in enumerate((IMAGE, OTHER, IMAGE))]
    texts = [(f"{n}.txt", str(n).encode()) for n in range(3)]
    split = _load(tmp_path, [file for pair in zip(members, texts, strict=True) for file in pair])
    assert len(split.image_ids) == 3
    assert any("1 image with the bytes of another" in note for note in split.notes)


def test_a_shard_that_was_changed_under_its_size_and_date_is_read_anew(tmp_path):

    _load(tmp_path, [("a.png", IMAGE), ("a.txt", b"red one")])
    date = (tmp_path / "a.tar").stat().st_mtime_ns
    tar(tmp_path / "a.tar", [("a.png", IMAGE), ("a.txt", b"red two")])
    os.utime(tmp_path / "a.tar", ns=(date, date))
    assert wb.load_data(tmp_path, split="all").captions == ("red two",)
