"""Gaps, objects and lists in the column of captions mean the same in every container."""

from __future__ import annotations

import io
import json
import tarfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import workbench as wb

CONTAINERS = ("json", "jsonl", "memory", "parquet", "tar")


def png(number):
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (40 * number, 0, 0)).save(out, "PNG")
    return out.getvalue()


def tar(folder, samples):
    with tarfile.open(folder / "a.tar", "w") as opened:
        for number, fields in enumerate(samples):
            files = {"png": png(number), "json": json.dumps(fields).encode()}
            for ending, content in files.items():
                about = tarfile.TarInfo(f"{number}.{ending}")
                about.size = len(content)
                opened.addfile(about, io.BytesIO(content))
    return folder


def held(container, folder, values, name="caption"):
    """Three images whose column of captions holds these values."""
    rows = [{name: value} for value in values]
    if container == "tar":
        return tar(folder, rows)
    if container in ("memory", "parquet"):
        table = pd.DataFrame({"image": [png(number) for number in range(len(rows))], name: values})
        if container == "memory":
            return table
        table.to_parquet(folder / "a.parquet")
        return folder
    for number in range(len(rows)):
        (folder / f"{number}.png").write_bytes(png(number))
    rows = [{"image": f"{number}.png", **row} for number, row in enumerate(rows)]
    lines = "\n".join(map(json.dumps, rows)) if container == "jsonl" else json.dumps(rows)
    (folder / f"captions.{container}").write_text(lines)
    return folder


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_gap_in_a_list_of_captions_counts_as_not_given(container, tmp_path):
    data = held(container, tmp_path, [["red", None], ["", "green"], ["blue", "sky"]])
    assert wb.load_data(data).captions == ("red", "green", "blue", "sky")


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, ""], ids=repr)
def test_every_kind_of_gap_counts_in_a_list_and_in_an_array(gap):
    images = [np.full((4, 4, 3), number, np.uint8) for number in range(2)]
    cells = [["red", gap], np.array([gap, "green"], dtype=object)]
    assert wb.load_data(pd.DataFrame({"image": images, "caption": cells})).captions == ("red", "green")


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_list_of_gaps_alone_is_no_caption(container, tmp_path):
    data = held(container, tmp_path, [["red"], [None, ""], ["blue"]])
    with pytest.raises(ValueError, match="caption"):
        wb.load_data(data)
    skipped = wb.load_data(data, on_error="skip")
    assert skipped.captions == ("red", "blue")
    assert any("skipped 1" in note for note in skipped.notes)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_language_that_an_object_lacks_is_named_with_those_it_has(container, tmp_path):
    data = held(container, tmp_path, [{"en": "red", "de": "rot"}] * 3)
    with pytest.raises(ValueError, match="object with en, de, and without fr"):
        wb.load_data(data, columns={"caption": "caption.fr"})
    assert wb.load_data(data, columns={"caption": "caption.de"}).captions == ("rot",) * 3


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_remedy_for_objects_names_the_column_that_there_is(container, tmp_path):
    data = held(container, tmp_path, [[{"value": f"red {n}", "lang": "en"}] for n in range(3)], "captions")
    with pytest.raises(ValueError, match=r"columns=\{'caption': 'captions\.value'\}"):
        wb.load_data(data)
    read = wb.load_data(data, columns={"caption": "captions.value"})
    assert read.captions == ("red 0", "red 1", "red 2")


def test_annotations_name_the_language_that_they_lack(tmp_path):
    (tmp_path / "0.png").write_bytes(png(0))
    annotations = [{"id": 1, "image_id": 0, "caption": {"en": "red"}}]
    content = {"images": [{"id": 0, "file_name": "0.png"}], "annotations": annotations}
    (tmp_path / "captions_val.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"captions_val\.json annotation 1.* en, and without fr"):
        wb.load_data(tmp_path, columns={"caption": "caption.fr"})


def test_a_list_inside_a_list_is_shown_as_it_stands(tmp_path):
    data = held("json", tmp_path, [[["red"]]] * 3)
    with pytest.raises(ValueError, match=r"row 1: the caption is \['red'\]"):
        wb.load_data(data)


def test_a_file_of_a_sample_that_is_chosen_and_not_there_is_named(tmp_path):
    data = tar(tmp_path, [{"caption": "red"}] * 2)
    for ours, name in (("image", "jpg"), ("caption", "fr.txt")):
        with pytest.raises(ValueError, match=f"there is no {name}"):
            wb.load_data(data, columns={ours: name})


def test_captions_that_an_image_of_shards_has_already_are_counted(tmp_path):
    image = {"bytes": png(1), "path": "1.png"}
    captions = ["red", "red", "green"]
    pd.DataFrame(
        {"image": [image] * 2 + [{"bytes": png(2), "path": "2.png"}], "caption": captions}
    ).to_parquet(tmp_path / "a.parquet")
    read = wb.load_data(tmp_path)
    assert read.captions == ("red", "green")
    assert any(note.startswith("1 caption left out") for note in read.notes)


def test_an_address_in_memory_is_called_one_and_a_list_of_rows_has_a_remedy():
    table = pd.DataFrame({"image": ["https://example.org/a.png"], "caption": ["red"]})
    with pytest.raises(ValueError, match=r"row 1, column image: .* is an address"):
        wb.load_data(table)
    with pytest.raises(TypeError, match=r"pandas\.DataFrame"):
        wb.load_data([{"image": "a.png", "caption": "red"}])
