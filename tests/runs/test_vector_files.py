"""Vectors that were made elsewhere: what a source of any kind holds is read by its names, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
import torch
from safetensors.numpy import save_file

import workbench as wb
from workbench.runs.vector_files import read_both, read_vectors

IDS = ("000.png", "001.png", "002.png")
VALUES = np.array([[3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]], np.float32)
UNIT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], np.float32)


def _table(ids: str = "image_ids") -> pd.DataFrame:
    return pd.DataFrame({ids: IDS, "vector": list(VALUES)})


def _pt(file: Path, **fields: Any) -> Path:
    torch.save({"images": torch.tensor(VALUES), **fields}, file.with_suffix(".pt"))
    return file.with_suffix(".pt")


def _npz(file: Path, **fields: Any) -> Path:
    np.savez(file.with_suffix(".npz"), **{"images": VALUES, **fields})
    return file.with_suffix(".npz")


def _safetensors(file: Path) -> Path:
    file = file.with_suffix(".safetensors")
    save_file({"images": VALUES}, file, metadata={"format": "pt", "image_ids": json.dumps(IDS)})
    return file


def _json(file: Path) -> Path:
    content = {"image_ids": IDS, "images": VALUES.tolist()}
    file.with_suffix(".json").write_text(json.dumps(content))
    return file.with_suffix(".json")


def _json_rows(file: Path) -> Path:
    rows = [{"id": name, "embedding": row.tolist()} for name, row in zip(IDS, VALUES, strict=True)]
    file.with_suffix(".json").write_text(json.dumps(rows))
    return file.with_suffix(".json")


def _parquet(file: Path) -> Path:
    _table().to_parquet(file.with_suffix(".parquet"))
    return file.with_suffix(".parquet")


def _indexed(file: Path) -> Path:
    _table().set_index("image_ids").to_parquet(file.with_suffix(".parquet"))
    return file.with_suffix(".parquet")


def _feather(file: Path) -> Path:
    _table("file_name").to_feather(file.with_suffix(".feather"))
    return file.with_suffix(".feather")


def _csv(file: Path) -> Path:
    pd.DataFrame({"id": IDS, "0": VALUES[:, 0], "1": VALUES[:, 1]}).to_csv(file, index=False)
    return file


SOURCES: dict[str, Callable[[Path], Any]] = {
    "list in .pt": lambda file: _pt(file, image_ids=list(IDS)),
    "tuple in .pt": lambda file: _pt(file, ids=IDS),
    "array in .npz": lambda file: _npz(file, image_ids=np.array(IDS)),
    "bytes in .npz": lambda file: _npz(file, filenames=np.array(IDS).astype("S")),
    "metadata of safetensors": _safetensors,
    "list in .json": _json,
    "rows in .json": _json_rows,
    "column of .parquet": _parquet,
    "index of .parquet": _indexed,
    "column of .feather": _feather,
    "column of .csv": _csv,
    "table in memory": lambda file: _table("Image ID"),
    "index of a table in memory": lambda file: _table().set_index("image_ids").rename_axis(None),
    "index of a series in memory": lambda file: pd.Series(list(VALUES), index=list(IDS)),
    "table of another library": lambda file: pyarrow.Table.from_pandas(_table()),
    "mapping in memory": lambda file: {"image_ids": list(IDS), "images": VALUES},
}


@pytest.mark.parametrize("kind", SOURCES)
def test_ids_are_read_whatever_holds_them(kind, tmp_path):
    vectors = read_vectors(SOURCES[kind](tmp_path / "v.csv"), "image")
    assert vectors.ids == IDS
    np.testing.assert_allclose(vectors.values.numpy(), UNIT)
    assert vectors.unread == ()


def test_whole_numbers_are_ids_and_zeros_before_them_stay(tmp_path):
    assert read_vectors(_pt(tmp_path / "v", image_ids=torch.tensor([7, 8, 9])), "image").ids == (
        "7",
        "8",
        "9",
    )
    assert read_vectors({"ids": [7, np.int64(8), 9], "vectors": VALUES}, "text").ids == ("7", "8", "9")
    (tmp_path / "v.csv").write_text("image_id,dim_0,dim_1\n007,1,0\n008,0,1\nNA,1,1\n")
    assert read_vectors(tmp_path / "v.csv", "image").ids == ("007", "008", "NA")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image_ids": list(IDS[:2])}, "image_ids: 2 ids for 3"),
        ({"image_ids": [0.5, 1.5, 2.5]}, "image_ids"),
        ({"image_ids": {"a": 1}}, "image_ids"),
        ({"ids": [None, "a", "b"]}, "ids"),
        ({"id": [True, False, True]}, "id"),
        ({"image_ids": np.array([[1], [2], [3]])}, "image_ids"),
        ({"image_ids": list(IDS), "img_id": [1, 2, 3]}, "image_ids and img_id"),
        ({"filenames": list(IDS), "paths": ["a", "b", "c"]}, "filenames and paths"),
        ({"ids": ["a", "a", "b"]}, "'a'.* stands twice"),
        (
            {"image_map": VALUES, "image_gradient": VALUES, "images": VALUES[0]},
            "image_map and image_gradient",
        ),
    ],
)
def test_ids_that_are_none_or_may_be_meant_by_two_fields_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        read_vectors({"images": VALUES, **fields}, "image")


def test_ids_as_objects_of_python_are_refused_by_name_and_other_objects_are_not_read(tmp_path):
    with pytest.raises(ValueError, match="image_ids"):
        read_vectors(_npz(tmp_path / "a", image_ids=np.array(IDS, object)), "image")
    assert read_vectors(_npz(tmp_path / "b", words=np.array(IDS, object)), "image").unread == ("words",)


def test_fields_that_are_not_read_are_named_and_one_file_may_hold_both_sides(tmp_path):
    fields = {
        "texts": torch.tensor(VALUES),
        "caption_ids": ["a", "b", "c"],
        "image_ids": list(IDS),
        "temperature": 0.07,
    }
    image, text = read_both(both := _pt(tmp_path / "both", **fields), both)
    assert (image.ids, text.ids) == (IDS, ("a", "b", "c"))
    assert image.notes + text.notes == ("both.pt: not read: temperature",)
    image, _ = read_both(both, VALUES)
    assert "texts, caption_ids, temperature" in image.notes[0]


def test_the_vectors_of_the_other_side_are_not_taken(tmp_path):
    with pytest.raises(ValueError, match=r"images float32 \(3, 2\)"):
        read_vectors(_npz(tmp_path / "v"), "text")


def _numbered(names: list[str], **more: Any) -> pd.DataFrame:
    return pd.DataFrame({**more, **dict(zip(names, np.tile(VALUES, 5).T, strict=False))})


WIDE = [f"dim_{n}" for n in range(10)]


@pytest.mark.parametrize(
    "names",
    [WIDE, [str(n) for n in range(10)], [f"emb_{n:03d}" for n in range(10)], [f"V{n}" for n in range(1, 11)]],
)
def test_numbered_columns_are_the_dimensions_and_others_are_named(names):
    read = read_vectors(_numbered(names, id=IDS, width=640.0, label1=7), "image")
    assert read.values.shape == (3, 10)
    assert read.ids == IDS
    assert (read.unread, list(read.beside)) == ((), ["width", "label1"])
    assert all(part in read.notes[0] for part in (names[0], names[-1], "10"))


def test_dimensions_stand_in_the_order_of_their_numbers():
    table = _numbered(WIDE)
    shuffled = table[sorted(WIDE, key=lambda name: name[::-1])]
    torch.testing.assert_close(read_vectors(shuffled, "text").values, read_vectors(table, "text").values)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv", "memory"])
def test_sizes_and_scores_change_no_vector(ending, tmp_path):
    table = _numbered(WIDE, id=IDS, width=640, score=[0.5, 0.2, 0.1])
    source = tmp_path / f"v{ending}"
    if ending == "memory":
        source = table
    elif ending == ".csv":
        table.to_csv(source, index=False)
    else:
        getattr(table, f"to_{ending[1:]}")(source)
    plain = read_vectors(table[["id", *WIDE]], "image")
    torch.testing.assert_close(read_vectors(source, "image").values, plain.values)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (_numbered(WIDE).drop(columns="dim_3"), "number 3 is missing"),
        (_numbered(WIDE).astype({"dim_4": str}), "dim_4 holds no numbers"),
        (_numbered([f"x_{n}" for n in range(3)] + [f"y_{n}" for n in range(3)]), "x_0 to x_2 and y_0 to y_2"),
        (pd.DataFrame({"id": IDS, "x": 1.0, "y": 2.0}), "x float64.*y float64"),
        (pd.DataFrame({"bbox": list(VALUES), "scores": list(VALUES)}), "bbox and scores"),
        (pd.DataFrame(np.ones((3, 3)), columns=["id", "dim_0", "dim_0"]), "dim_0.* stands twice"),
    ],
)
def test_columns_that_are_not_clear_are_refused_with_the_candidates(table, message):
    with pytest.raises(ValueError, match=message):
        read_vectors(table, "image")


def _of_kind(values: Any, ending: str, place: Path) -> Any:
    """The values in a container, under the name of a field where it has names."""
    file = place / f"v{ending}"
    if ending == "array":
        return values
    if ending == "tensor":
        return torch.tensor(values)
    if ending == "list":
        return values.tolist()
    if ending == "mapping":
        return {"images": values}
    if ending == ".npy":
        np.save(file, values)
    elif ending == ".npz":
        np.savez(file, images=values)
    else:
        torch.save({"images": torch.tensor(values)}, file)
    return file


@pytest.mark.parametrize("ending", ["array", "tensor", "mapping", ".npy", ".npz", ".pt"])
def test_one_rule_says_which_numbers_are_vectors_in_every_container(ending, tmp_path):
    for values, note in (
        (VALUES > 0, "booleans"),
        (VALUES.astype(np.int8), "bytes"),
        (VALUES.astype(int), ""),
    ):
        values = np.abs(values.astype(values.dtype)) if values.dtype != bool else values | ~values
        vectors = read_vectors(_of_kind(values, ending, tmp_path), "image")
        assert vectors.values.shape == (3, 2)
        assert [note in said for said in vectors.notes] == [True] * bool(note)
    with pytest.raises(ValueError, match="complex64"):
        read_vectors(_of_kind(VALUES.astype(np.complex64), ending, tmp_path), "image")


@pytest.mark.parametrize("ending", ["array", "mapping", ".npy", ".npz", "list"])
def test_texts_are_no_vectors_and_their_kind_is_named(ending, tmp_path):
    with pytest.raises(ValueError, match=r"<U|list"):
        read_vectors(_of_kind(VALUES.astype(str), ending, tmp_path), "image")


def test_what_is_masked_or_too_large_is_no_number():
    with pytest.raises(ValueError, match="row 1 is not finite"):
        read_vectors(np.ma.masked_array(VALUES, mask=[[0, 0], [1, 0], [0, 0]]), "image")
    with pytest.raises(ValueError, match="row 2 is not finite"):
        read_vectors(np.array([[1.0, 0.0], [0.0, 1.0], [1e300, 0.0]]), "image")


def test_a_list_of_tensors_and_other_orders_of_bytes_are_vectors():
    rows = [torch.tensor(row, requires_grad=True) for row in VALUES]
    for source in (rows, VALUES.astype(">f4"), np.flip(np.flip(VALUES)), torch.tensor(VALUES).to_sparse()):
        np.testing.assert_allclose(read_vectors(source, "image").values.numpy(), UNIT)


def test_notes_of_vectors_reach_the_result_and_name_the_side_without_ids():
    split = wb.load_data("scenes", split="test", size=3)
    images = {"ids": list(split.image_ids), "vectors": VALUES, "age": 3}
    texts = np.tile(VALUES, (len(split.captions) // 3, 1))
    notes = wb.evaluate(images=images, texts=texts, data=split, rounds=0).split.notes
    assert "images: not read: age" in notes
    (order,) = [note for note in notes if "without ids" in note]
    assert "captions" in order
    assert "images" not in order


def test_a_row_of_a_csv_with_a_field_too_many_is_refused(tmp_path):
    (tmp_path / "v.csv").write_text("id,dim_0,dim_1\na,1,2,3\nb,3,2\n")
    with pytest.raises(ValueError, match=r"v\.csv holds no vectors"):
        read_vectors(tmp_path / "v.csv", "image")


def test_columns_of_numbers_with_gaps_of_their_own_kind_are_read():
    table = _numbered(WIDE, id=IDS).convert_dtypes()
    assert read_vectors(table, "image").values.shape == (3, 10)
    table.loc[1, "dim_3"] = pd.NA
    with pytest.raises(ValueError, match="row 1 is not finite"):
        read_vectors(table, "image")


def test_columns_beside_vectors_are_fields_in_the_order_of_the_data(tmp_path):
    split = wb.load_data("scenes", split="test", size=3)
    count = len(split.captions)
    table = pd.DataFrame(np.tile(VALUES, (count // 3, 1)), columns=["dim_0", "dim_1"][: VALUES.shape[1]])
    table["id"] = split.caption_ids
    table["language"] = [["de", "en"][n % 2] for n in range(count)]
    table[::-1].to_csv(tmp_path / "texts.csv", index=False)
    result = wb.evaluate(images=VALUES, texts=tmp_path / "texts.csv", data=split, by="language", rounds=0)
    assert result.split.fields["language"].cells() == table["language"].tolist()
    assert result.split.fields["language"].source == "texts.csv"
    assert "t2i/R@1[language=en]" in result
    assert not any("not read" in note for note in result.split.notes)
