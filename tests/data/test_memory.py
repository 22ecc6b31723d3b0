"""Tables in memory: rows of one image, cells as pandas makes them, and what is refused by row and column."""

from __future__ import annotations

import io
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

import workbench as wb
from tests.data.test_door import Dataset

COLOURS = ["red", "green", "blue"]


def plain(n):
    return Image.new("RGB", (8, 6), COLOURS[n])


def png(n):
    out = io.BytesIO()
    plain(n).save(out, "PNG")
    return out.getvalue()


CONTENTS = {
    "image of Pillow": plain,
    "bytes": png,
    "array": lambda n: np.asarray(plain(n)),
    "struct": lambda n: {"bytes": png(n), "path": f"{n}.png"},
    "struct without a path": lambda n: {"bytes": png(n), "path": None},
    "list of one": lambda n: [png(n)],
}


def rows(content, order=None, **columns):
    """A row a caption: three images with four captions each."""
    numbers = [(n, k) for n in range(3) for k in range(4)]
    if order is not None:
        random.Random(order).shuffle(numbers)
    made = {name: [of(n, k) for n, k in numbers] for name, of in columns.items()}
    captions = [f"{COLOURS[n]} {k}" for n, k in numbers]
    return {"image": [content(n) for n, _ in numbers], "caption": captions, **made}


def frame(table):
    return pd.DataFrame(table)


def listed(table):
    return Dataset([dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)])


@pytest.mark.parametrize("container", [frame, listed])
@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("ids", [{}, {"image_id": lambda n, k: n}])
def test_rows_with_the_same_image_are_one_image_in_any_order(container, kind, ids):
    for order in (None, 1):
        split = wb.load_data(container(rows(CONTENTS[kind], order, **ids)))
        assert (len(split.image_ids), len(split.captions)) == (3, 12)
        assert any("9 rows with the image of another" in note for note in split.notes)
        for caption, row in zip(split.captions, split.own, strict=True):
            assert split.open_image(row).getpixel((0, 0)) == Image.new(
                "RGB", (1, 1), caption.split()[0]
            ).getpixel((0, 0))


def test_rows_of_the_library_datasets_with_the_same_image_are_one_image(tmp_path):
    datasets = pytest.importorskip("datasets")
    table = rows(CONTENTS["struct"], 2, image_id=lambda n, k: n)
    made = datasets.Dataset.from_dict(table).cast_column("image", datasets.Image())
    made.save_to_disk(tmp_path / "disk")
    for source in (made, tmp_path / "disk", datasets.DatasetDict({"test": made})):
        split = wb.load_data(source)
        assert (len(split.image_ids), len(split.captions)) == (3, 12)
        assert split.open_image(0).size == (8, 6)


def test_images_of_one_content_under_two_ids_or_in_two_splits_stay_apart_and_are_counted():
    table = frame(rows(plain, image_id=lambda n, k: f"{n} {k % 2}"))
    split = wb.load_data(table)
    assert len(split.image_ids) == 6
    assert any("3 images with the content of another" in note for note in split.notes)
    parts = {"train": frame(rows(plain)), "test": frame(rows(plain))}
    split = wb.load_data(parts, split="all")
    assert len(split.image_ids) == 6
    assert any("3 images with the content of another" in note for note in split.notes)


def test_one_image_throughout_tells_nothing_unless_an_id_does():
    table = rows(lambda n: plain(0))
    split = wb.load_data(frame(table))
    assert len(split.image_ids) == 12
    assert any("every row has the same image" in note for note in split.notes)
    assert len(wb.load_data(frame(table | {"image_id": [7] * 12})).image_ids) == 1


def test_paths_in_memory_are_one_image_however_they_are_written(tmp_path):
    plain(0).save(tmp_path / "a.png")
    paths = ["a.png", "./a.png", f"{tmp_path}//a.png", str(tmp_path / "a.png")]
    table = frame({"image": paths, "caption": ["one", "two", "three", "four"]})
    assert wb.load_data(table, images=tmp_path).own.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("kind", [np.asarray, np.array, tuple, pd.Series])
def test_a_series_of_texts_in_a_cell_is_a_list_of_captions(kind):
    texts = [kind([f"{n}", f"{n} again"]) for n in "ab"]
    table = frame({"image": [plain(0), plain(1)], "captions": texts})
    assert wb.load_data(table).captions == ("a", "a again", "b", "b again")
    numbered = frame({"image": [plain(0), plain(1)], "caption_1": texts, "caption_2": ["x", "y"]})
    with pytest.raises(ValueError, match="row 1: the caption is"):
        wb.load_data(numbered)


def test_captions_of_a_parquet_file_are_read_from_memory_too(tmp_path):
    plain(0).save(tmp_path / "a.png")
    table = frame({"image": ["a.png"], "captions": [["one", "two"]], "names": [[{"en": "a"}]]})
    table.to_parquet(tmp_path / "t.parquet")
    back = pd.read_parquet(tmp_path / "t.parquet")
    assert wb.load_data(back, images=tmp_path).captions == ("one", "two")
    chosen = {"caption": "names.en"}
    assert wb.load_data(back, images=tmp_path, columns=chosen).captions == ("a",)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan"), ""])
def test_every_kind_of_gap_is_a_gap(gap):
    images, texts = [plain(0), plain(1), plain(2)], ["one", "two", gap]
    with pytest.raises(ValueError, match=r"row 3: the caption of 2 is empty"):
        wb.load_data(frame({"image": images, "caption": texts}))
    assert wb.load_data(frame({"image": images, "caption": texts}), on_error="skip").captions == (
        "one",
        "two",
    )
    numbers = frame(
        {"image": images, "caption": ["a", "b", "c"], "id": [gap, "x", "y"], "split": ["test"] * 3}
    )
    assert wb.load_data(numbers).caption_ids == ("0#0", "x", "y")
    table = frame({"image": [plain(0), gap, plain(2)], "caption": ["one", "two", "three"]})
    with pytest.raises(ValueError, match=r"row 2, column image: it holds no image"):
        wb.load_data(table)
    assert wb.load_data(table, on_error="skip").captions == ("one", "three")


WRONG = {
    "floats": (np.zeros((8, 6, 3)), r"\(8, 6, 3\) of float64.*255"),
    "floats of single precision": (np.zeros((8, 6, 3), np.float32), "float32.*255"),
    "channels first": (np.zeros((3, 8, 6), np.uint8), r"\(3, 8, 6\).*moveaxis"),
    "several images": (np.zeros((2, 8, 6, 3), np.uint8), r"\(2, 8, 6, 3\)"),
    "long numbers": (np.zeros((8, 6), np.int64), "int64"),
    "a number": (7, "found int 7"),
    "two images": ([png(0), png(1)], "found list"),
    "no bytes": (b"", "no image"),
    "an empty struct": ({"bytes": None, "path": None}, "no image"),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("container", [frame, listed])
def test_an_image_of_another_form_is_refused_with_row_and_column(kind, container):
    wrong, said = WRONG[kind]
    table = {"photo": [plain(0), wrong, plain(2)], "caption": ["one", "two", "three"]}
    with pytest.raises(ValueError, match=f"row 2, column photo: .*{said}"):
        wb.load_data(container(table), check_images=False)
    split = wb.load_data(container(table), on_error="skip")
    assert split.captions == ("one", "three")
    assert any("1 x unreadable image" in note for note in split.notes)


@pytest.mark.parametrize("shape", [(8, 6), (8, 6, 1), (8, 6, 3), (8, 6, 4)])
def test_arrays_with_one_three_or_four_channels_are_images(shape):
    arrays = [np.full(shape, n, np.uint8) for n in (10, 20)]
    split = wb.load_data(frame({"image": arrays, "caption": ["one", "two"]}))
    assert split.open_image(1).size == (6, 8)


def test_a_column_name_that_stands_twice_is_refused():
    table = pd.concat([frame(rows(plain)), frame({"caption": ["again"] * 12})], axis=1)
    with pytest.raises(ValueError, match=r"columns image, caption, caption; .*twice: caption"):
        wb.load_data(table)


def test_a_table_of_arrow_is_read_as_a_frame_is():
    table = pa.Table.from_pandas(frame(rows(png)))
    assert len(wb.load_data(table).image_ids) == 3


def test_ids_of_images_and_objects_in_cells_are_read_as_in_a_file():
    table = rows(plain, id=lambda n, k: f"image {n}", words=lambda n, k: {"en": f"a {n} {k}", "de": "ein"})
    split = wb.load_data(frame(table), columns={"caption": "words.en"})
    assert split.captions[:2] == ("a 0 0", "a 0 1")
    assert any("the column id holds the ids of images" in note for note in split.notes)
    with pytest.raises(ValueError, match=r"row 1: the caption is an object with en, de; .*'caption\.en'"):
        wb.load_data(frame({"image": table["image"], "caption": table["words"]}))


def test_only_the_columns_that_are_read_are_taken_from_a_table():
    class Guarded(Dataset):
        def __getitem__(self, at):
            assert at != "mask"
            return super().__getitem__(at)

    split = wb.load_data(Guarded([{"image": png(n), "caption": f"a {n}", "mask": n} for n in range(2)]))
    assert "columns that were not read: mask" in split.notes
