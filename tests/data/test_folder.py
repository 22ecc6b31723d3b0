from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import workbench as wb
from workbench import data
from workbench.data.reading import Problems
from workbench.data.tables import read_table

KINDS = ["captions.csv", "captions.jsonl", "captions.parquet"]


def write_image(path, size=(8, 6), colour=(200, 30, 30)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def write(file, records):
    """The records as CSV, JSON Lines or Parquet, by the file's suffix."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    if file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    elif file.suffix == ".parquet":
        table = {name: [record.get(name) for record in records] for name in columns}
        pyarrow.parquet.write_table(pa.table(table), file)
    else:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(records)
        file.write_text(text.getvalue(), encoding="utf-8", newline="")
    return file


@pytest.fixture
def base(tmp_path):
    for n, name in enumerate(("a.jpg", "b.png", "deep/c.jpg")):
        write_image(tmp_path / name, colour=(200, 30, 90 * n))
    return tmp_path


def load(base, split="all", **options):
    return data.load("folder", split=split, root=str(base), **options)


ROWS = [
    {"image": "a.jpg", "caption": "a red thing"},
    {"image": "b.png", "caption": 'another, quoted "thing"'},
    {"image": "a.jpg", "caption": "two\nlines"},
    {"image": "deep/c.jpg", "caption": "ein rotes Ding, größer"},
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_split(base, kind):
    write(base / kind, ROWS)
    split = load(base)
    assert split.image_ids == ("a.jpg", "b.png", "deep/c.jpg")
    assert split.captions == tuple(row["caption"] for row in ROWS)
    assert split.own.tolist() == [0, 1, 0, 2]
    assert split.caption_ids == ("a.jpg#0", "b.png#0", "a.jpg#1", "deep/c.jpg#0")
    assert split.open_image(2).size == (8, 6)
    assert split.level is None
    assert split.notes[0] == f"read as table: {kind}"
    assert split.notes[1].startswith("nothing tells the splits, all images are read")


@pytest.mark.parametrize("kind", KINDS)
def test_ids_levels_and_chains_are_read(base, kind):
    rows = [{**row, "id": f"c{n}", "level": n % 2 + 1, "chain": n // 2} for n, row in enumerate(ROWS)]
    write(base / kind, rows)
    split = load(base)
    assert split.caption_ids == ("c0", "c1", "c2", "c3")
    assert split.level.tolist() == [1, 2, 1, 2]
    assert split.chain.tolist() == [0, 0, 1, 1]


def numbered(of, captions=3):
    """Rows with an id that a function makes of the numbers of image and caption."""
    names = ("a.jpg", "b.png", "deep/c.jpg")
    return [
        {"image": name, "caption": f"text {k} of {name}", "id": of(n, k)}
        for n, name in enumerate(names)
        for k in range(captions)
    ]


@pytest.mark.parametrize("kind", [*KINDS, "captions.json"])
@pytest.mark.parametrize("column", ["id", "caption_id"])
@pytest.mark.parametrize(
    ("of", "whose"),
    [
        (lambda n, k: n, "the ids of images"),
        (lambda n, k: f"img-{n}", "the ids of images"),
        (lambda n, k: k, "the numbers of captions"),
        (lambda n, k: 3 - k, "the numbers of captions"),
    ],
)
def test_ids_that_are_not_those_of_captions_are_not_read_and_a_note_says_so(base, kind, column, of, whose):
    rows = [{column if name == "id" else name: row[name] for name in row} for row in numbered(of)]
    rows = rows[::2] + rows[1::2]
    if kind == "captions.json":
        (base / kind).write_text(json.dumps(rows), encoding="utf-8")
    else:
        write(base / kind, rows)
    split = load(base)
    assert (len(split.image_ids), len(split.captions)) == (3, 9)
    assert any(f"the column {column} holds {whose}" in note for note in split.notes)
    assert set(split.caption_ids) == {f"{image}#{k}" for image in split.image_ids for k in range(3)}


def test_ids_that_are_neither_those_of_captions_nor_of_images_are_refused_and_can_be_turned_off(base):
    write(base / "captions.csv", numbered(lambda n, k: (n + k) % 4))
    with pytest.raises(ValueError, match=r"row 4: the id '1' was used before, .*columns=\{'id': None\}"):
        load(base)
    split = wb.load_data(base, columns={"id": None})
    assert len(split.captions) == 9
    assert "columns that were not read: id" in split.notes
    write(base / "captions.csv", numbered(lambda n, k: n))
    with pytest.raises(ValueError, match="the id '0' was used before"):
        wb.load_data(base, columns={"id": "id"})


def test_files_of_the_same_bytes_are_counted_and_stay_images_of_their_own(base):
    (base / "copy.jpg").write_bytes((base / "a.jpg").read_bytes())
    write(base / "captions.csv", [*ROWS, {"image": "copy.jpg", "caption": "the same again"}])
    split = load(base)
    assert len(split.image_ids) == 4
    assert any(
        "1 image with the bytes of another file" in note and "copy.jpg" in note for note in split.notes
    )
    assert not any("bytes" in note for note in load(base, check_images=False).notes)


def test_an_id_of_several_images_is_noted(base):
    write(base / "captions.csv", [{**row, "image_id": n // 2} for n, row in enumerate(ROWS)])
    assert any("2 image ids at several images" in note for note in load(base).notes)


def test_without_a_column_split_every_image_is_in_exactly_one(tmp_path):
    rows = [{"image": f"{n}.jpg", "caption": f"caption {k}"} for n in range(60) for k in range(2)]
    for n in range(60):
        write_image(tmp_path / f"{n}.jpg", size=(1, 1))
    write(tmp_path / "captions.csv", rows)
    parts = [set(load(tmp_path, name, check_images=False).image_ids) for name in ("train", "val", "test")]
    assert set.union(*parts) == {f"{n}.jpg" for n in range(60)}
    assert sum(map(len, parts)) == 60
    assert len(parts[0]) > len(parts[1]) + len(parts[2])


def corrupt(base):
    (base / "cut.jpg").write_bytes(write_image(base / "whole.jpg", size=(200, 200)).read_bytes()[:-300])
    (base / "text.jpg").write_text("no image", encoding="utf-8")


BAD = {
    "missing image": ({"image": "none.jpg", "caption": "gone"}, FileNotFoundError, "there is no image file"),
    "corrupt image, cut off": (
        {"image": "cut.jpg", "caption": "half"},
        ValueError,
        "cut.jpg is not a readable image",
    ),
    "corrupt image, no image": (
        {"image": "text.jpg", "caption": "text"},
        ValueError,
        "text.jpg is not a readable image",
    ),
    "empty caption": ({"image": "a.jpg", "caption": "  "}, ValueError, "the caption of a.jpg is empty"),
    "repeated id": (
        {"image": "a.jpg", "caption": "again", "id": "first"},
        ValueError,
        "id 'first' was used before, in .* row 1",
    ),
    "path with two dots": ({"image": "../a.jpg", "caption": "up"}, ValueError, "leads out of the folder"),
    "path with two dots inside": (
        {"image": "deep/../../a.jpg", "caption": "up"},
        ValueError,
        "leads out of the folder",
    ),
    "absolute path": ({"image": "/etc/hostname", "caption": "root"}, ValueError, "leads out of the folder"),
    "Windows path": ({"image": "C:a.jpg", "caption": "drive"}, ValueError, "leads out of the folder"),
    "link out of the folder": (
        {"image": "link.jpg", "caption": "link"},
        ValueError,
        "is a link that leads out",
    ),
    "no image": ({"image": "", "caption": "nothing"}, ValueError, "the image path is None"),
    "level": (
        {"image": "a.jpg", "caption": "level", "level": "high"},
        ValueError,
        "level is 'high'; expected a whole number",
    ),
    "split": (
        {"image": "b.png", "caption": "split", "split": "holdout"},
        ValueError,
        "split 'holdout' is not one of train, val, test",
    ),
    "two splits": (
        {"image": "a.jpg", "caption": "both", "split": "val"},
        ValueError,
        "a.jpg is in 'val' here, in 'train'",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named_by_file_and_row(base, tmp_path_factory, kind, name):
    corrupt(base)
    (base / "link.jpg").symlink_to(write_image(tmp_path_factory.mktemp("outside") / "x.jpg"))
    row, error, message = BAD[name]
    good = {"image": "a.jpg", "caption": "a red thing", "id": "first", "split": "train"}
    write(base / kind, [good, {"split": "train", **row}])
    with pytest.raises(error, match=f"{kind} row 2.*{message}"):
        load(base)
    split = load(base, on_error="skip")
    assert split.caption_ids == ("first",)
    assert split.notes[-1].startswith("skipped 1: 1 x ")
    assert f"{kind} row 2" in split.notes[-1]


def test_skipped_rows_are_counted_by_kind(base):
    rows = [ROWS[0], BAD["missing image"][0], BAD["empty caption"][0], BAD["missing image"][0]]
    write(base / "captions.csv", rows)
    assert "skipped 3: 1 x empty caption, 2 x missing image" in load(base, on_error="skip").notes[-1]


def test_rows_that_are_no_rows_are_named(base):
    (base / "captions.csv").write_text("image,caption\na.jpg,fine\na.jpg,too,many\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"captions.csv row 2: 3 fields, but the columns are"):
        load(base)
    (base / "captions.jsonl").write_text(
        '{"image": "a.jpg", "caption": "fine"}\n{"image": \n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"captions.jsonl row 2: not JSON"):
        load(base, table="captions.jsonl")
    (base / "captions.jsonl").write_text('["a.jpg"]\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"captions.jsonl row 1: expected an object"):
        load(base, table="captions.jsonl")
    (base / "captions.jsonl").write_text('{"image": "a.jpg", "caption": 7}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"captions.jsonl row 1: the caption is 7; expected text"):
        load(base, table="captions.jsonl")


def test_a_table_that_breaks_off_or_is_of_another_kind_is_named(base):
    (base / "captions.csv").write_text('image,caption\na.jpg,fine\na.jpg,"never closed\n', encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"captions.csv cannot be read after captions.csv row 1: unexpected end of data"
    ):
        load(base)
    (base / "captions.csv").write_bytes("image,caption\na.jpg,größer\n".encode("latin-1"))
    with pytest.raises(
        ValueError, match=r"captions.csv cannot be read after captions.csv row 0: 'utf-8' codec"
    ):
        load(base)
    (base / "captions.parquet").write_text("no table", encoding="utf-8")
    with pytest.raises(ValueError, match=r"captions.parquet is not a Parquet file"):
        load(base, table="captions.parquet")


def test_a_level_for_some_rows_only_is_refused(base):
    write(base / "captions.csv", [{**ROWS[0], "level": 1}, ROWS[1]])
    with pytest.raises(ValueError, match=r"captions.csv row 2: level is empty, but other rows have one"):
        load(base)


def test_columns_that_nobody_needs_are_fields(base):
    write(base / "captions.csv", [{**ROWS[0], "url": "somewhere", "Level": 3}])
    split = load(base)
    assert {name: field.cells() for name, field in split.fields.items()} == {
        "url": ["somewhere"],
        "Level": [3],
    }
    assert not any("not read" in note for note in split.notes)


def test_the_check_of_images_can_be_left_out_and_a_broken_one_is_then_named_when_opened(base):
    corrupt(base)
    write(base / "captions.csv", [ROWS[0], {"image": "cut.jpg", "caption": "half an image"}])
    split = load(base, check_images=False)
    split.open_image(0)
    with pytest.raises(ValueError, match=r"captions.csv row 2: .*cut.jpg is not a readable image"):
        split.open_image(1)


def test_a_spreadsheets_mark_at_the_beginning_is_no_part_of_a_name(base):
    (base / "captions.csv").write_bytes(b"\xef\xbb\xbfimage,caption\r\na.jpg,fine\r\n")
    assert load(base).captions == ("fine",)


def test_what_is_missing_is_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"set root=.*Put the images into a folder"):
        data.load("folder")
    with pytest.raises(FileNotFoundError, match=r"holds no data that can be read named captions\.\*"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"lacks other\.csv"):
        load(tmp_path, table="other.csv")
    write(tmp_path / "captions.csv", ROWS)
    write(tmp_path / "captions.jsonl", ROWS)
    with pytest.raises(ValueError, match=r"can be read in 2 ways: .*; choose one with table="):
        load(tmp_path)
    with pytest.raises(ValueError, match="split is 'dev'; choose one of train"):
        load(tmp_path, "dev")
    with pytest.raises(ValueError, match="on_error is 'ignore'"):
        load(tmp_path, table="captions.csv", on_error="ignore")
    (tmp_path / "captions.xlsx").touch()
    with pytest.raises(FileNotFoundError, match=r"named captions\.xlsx.*give a table with the columns"):
        load(tmp_path, table="captions.xlsx")


def test_a_split_that_no_row_is_in_says_which_there_are(base):
    write(base / "captions.csv", [{**BAD["missing image"][0], "split": "train"}])
    with pytest.raises(ValueError, match=r"no usable row for split 'test'; choose train, all\."):
        load(base, "test", on_error="skip")


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), max_size=30).filter(
    str.strip
)


@given(captions=st.lists(TEXTS, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("kind", KINDS)
def test_any_caption_survives_any_kind_of_table(tmp_path, kind, captions):
    write_image(tmp_path / "a.jpg")
    write(tmp_path / kind, [{"image": "a.jpg", "caption": caption} for caption in captions])
    split = load(tmp_path, check_images=False)
    assert split.captions == tuple(caption.strip() for caption in captions)
    assert np.array_equal(split.own, np.zeros(len(captions)))


PARTS = st.lists(
    st.sampled_from(["..", ".", "", "a", "deep", "a.jpg", "c.jpg", "link", "~", "/", "C:", "\\"]), max_size=6
)


@given(parts=PARTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_leads_out_of_the_folder(tmp_path, parts):
    inner = tmp_path / "inner"
    if not inner.exists():
        write_image(inner / "a.jpg")
        write_image(inner / "deep" / "c.jpg")
        write_image(tmp_path / "a.jpg", colour=(0, 0, 255))
        (inner / "link").symlink_to(tmp_path)
    write(inner / "captions.jsonl", [{"image": "/".join(parts), "caption": "an image"}])
    try:
        split = load(inner)
    except (ValueError, FileNotFoundError):
        return
    # The image outside is blue.
    assert split.open_image(0).getpixel((0, 0))[0] > 150


def test_a_record_has_only_the_columns_that_hold_a_value(tmp_path):
    rows = [{"image": "a", "caption": "b", "level": None}, {"image": "", "caption": "c", "level": 2}]
    for kind in KINDS:
        found = [record for _, record in read_table(write(tmp_path / kind, rows), Problems("raise"))]
        assert [set(record) for record in found] == [{"image", "caption"}, {"caption", "level"}]
