"""Columns that no reader needs are fields, in every layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import workbench as wb
from tests.data.fixtures import tar
from tests.data.test_layouts import image_bytes, parquet, put, write
from workbench.cli import app
from workbench.data.counterfactuals import Counterfactual, with_counterfactuals
from workbench.data.fields import fields_of_rows
from workbench.data.reading import Row
from workbench.io import write_table
from workbench.records import Split
from workbench.runs.caption_tables import caption_table, split_of_table
from workbench.runs.export_lists import export_lists

CAPTIONS = ["a red thing", "ein rotes Ding", "a blue thing", "ein blaues Ding"]
LANGUAGES = ["en", "de", "en", "de"]
PLACES = ["sea", "town"]
ROWS = [
    {
        "image": f"{row // 2}.jpg",
        "caption": CAPTIONS[row],
        "language": LANGUAGES[row],
        "place": PLACES[row // 2],
    }
    for row in range(4)
]
# a row an image, with a list of captions and one of their languages
IMAGES = [
    {"caption": CAPTIONS[row : row + 2], "language": LANGUAGES[row : row + 2], "place": PLACES[row // 2]}
    for row in (0, 2)
]


def csv(at: Path) -> None:
    pd.DataFrame(ROWS).to_csv(at / "captions.csv", index=False)
    put(at, 0, 1)


def json_lines(at: Path) -> None:
    rows = [{"image": f"{n}.jpg", **row} for n, row in enumerate(IMAGES)]
    write(at / "captions.jsonl", "\n".join(map(json.dumps, rows)))
    put(at, 0, 1)


def json_by_column(at: Path) -> None:
    write(at / "captions.json", json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}))
    put(at, 0, 1)


def coco(at: Path) -> None:
    images = [{"id": n, "file_name": f"{n}.jpg", "place": PLACES[n]} for n in range(2)]
    annotations = [
        {"id": n, "image_id": n // 2, "caption": CAPTIONS[n], "language": LANGUAGES[n]} for n in range(4)
    ]
    write(at / "captions_val.json", json.dumps({"images": images, "annotations": annotations}))
    put(at, 0, 1)


def karpathy(at: Path) -> None:
    images = []
    for n in range(2):
        texts = zip(CAPTIONS[2 * n : 2 * n + 2], LANGUAGES, strict=False)
        sentences = [{"raw": text, "tokens": text.split(), "language": language} for text, language in texts]
        images.append({"filename": f"{n}.jpg", "split": "test", "place": PLACES[n], "sentences": sentences})
    write(at / "dataset_mine.json", json.dumps({"dataset": "mine", "images": images}))
    put(at, 0, 1)


def tar_shard(at: Path) -> None:
    members = []
    for n, row in enumerate(IMAGES):
        members += [(f"{n}.jpg", image_bytes(n)), (f"{n}.json", json.dumps(row).encode())]
    tar(at / "a.tar", members)


def parquet_shard(at: Path) -> None:
    parquet(at / "a.parquet", image=[image_bytes(n // 2) for n in range(4)], **columns_of_rows())


def columns_of_rows() -> dict[str, list[str]]:
    return {name: [row[name] for row in ROWS] for name in ("caption", "language", "place")}


def frame(at: Path) -> Any:
    return pd.DataFrame({"image": [image_bytes(n // 2) for n in range(4)], **columns_of_rows()})


def datasets_of_the_library(at: Path) -> Any:
    datasets = pytest.importorskip("datasets")
    columns = {name: [row[name] for row in IMAGES] for name in IMAGES[0]}
    columns["place"] = [0, 1]
    data = datasets.Dataset.from_dict({"image": [image_bytes(0), image_bytes(1)], **columns})
    return data.cast_column("image", datasets.Image()).cast_column("place", datasets.ClassLabel(names=PLACES))


def saved_datasets(at: Path) -> None:
    datasets_of_the_library(at).save_to_disk(str(at))


LAYOUTS: list[Callable[[Path], Any]] = [
    csv,
    json_lines,
    json_by_column,
    coco,
    karpathy,
    tar_shard,
    parquet_shard,
    frame,
    datasets_of_the_library,
    saved_datasets,
]


@pytest.mark.parametrize("make", LAYOUTS)
def test_every_layout_keeps_the_columns_that_no_reader_needs(make, tmp_path):
    (tmp_path / "mine").mkdir()
    data = make(tmp_path / "mine")
    for _ in range(2):  # shards are read from their index the second time
        split = wb.load_data(tmp_path / "mine" if data is None else data, split="all")
        assert {name: (field.owner, field.cells()) for name, field in split.fields.items()} == {
            "language": ("caption", LANGUAGES),
            "place": ("image", PLACES),
        }
        assert not [note for note in split.notes if "not read" in note]


def fields_of(split: Split) -> dict[str, Any]:
    return {name: (field.owner, field.kind, field.cells()) for name, field in split.fields.items()}


@pytest.mark.parametrize("make", LAYOUTS)
def test_fields_of_every_layout_come_out_of_tables_runs_and_exports(make, tmp_path):
    (tmp_path / "mine").mkdir()
    data = make(tmp_path / "mine")
    split = wb.load_data(tmp_path / "mine" if data is None else data, split="all")
    names = {"id": str, "image": str}
    tables = {}
    for ending in (".csv", ".json", ".parquet"):
        tables[write_table(tmp_path / f"out{ending}", caption_table(split))] = ending
    vectors = {"images": np.eye(2), "texts": np.eye(2)[split.own]}
    run = wb.evaluate(**vectors, data=split, rounds=0).save(tmp_path / "run").parent
    for form in ("trec", "json"):
        (tmp_path / form).mkdir()
        export_lists(run, form, tmp_path / form)
        tables[tmp_path / form / "captions.csv"] = ".csv"
    for file, ending in tables.items():
        if ending == ".parquet":
            table = pd.read_parquet(file)
        else:
            table = pd.read_csv(file, dtype=names) if ending == ".csv" else pd.read_json(file, dtype=names)
        again = split_of_table("again", table, pd.Series(split.image_ids))
        assert fields_of(again) == fields_of(split), file.name
        assert again.captions == split.captions
    (opened,) = wb.open_runs([str(run)])
    assert fields_of(opened.split) == fields_of(split)


def test_a_subset_of_the_rows_has_the_fields_of_its_rows(tmp_path):
    rows = [
        {**row, "split": split} for row, split in zip(ROWS, ["train", "train", "test", "test"], strict=True)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "captions.csv", index=False)
    put(tmp_path, 0, 1)
    assert wb.load_data(tmp_path, split="test").fields["place"].cells() == ["town"]


def test_cells_that_are_no_values_are_not_kept_and_noted(tmp_path):
    rows = [{**ROWS[0], "box": {"x": 1}, "vector": [0.1, 0.2], "tags": ["cat", "dog"]}]
    write(tmp_path / "captions.json", json.dumps(rows))
    put(tmp_path, 0)
    split = wb.load_data(tmp_path, split="all")
    assert split.fields["tags"].cells() == ["cat, dog"]
    assert "columns that were not read: box, vector" in split.notes


def test_a_column_that_is_turned_off_is_no_field(tmp_path):
    pd.DataFrame([{**row, "id": n} for n, row in enumerate(ROWS)]).to_csv(
        tmp_path / "captions.csv", index=False
    )
    put(tmp_path, 0, 1)
    split = wb.load_data(tmp_path, split="all", columns={"id": None})
    assert list(split.fields) == ["language", "place"]
    assert "columns that were not read: id" in split.notes


def test_columns_that_some_rows_lack_have_gaps():
    rows = [Row("t.csv row 1", "a", "x", "0", fields={"n": 1}), Row("t.csv row 2", "a", "y", "1")]
    field = fields_of_rows(rows, np.array([0, 0]), 1)["n"]
    assert (field.owner, field.cells(), field.source) == ("caption", [1, None], "t.csv")


def test_counterfactuals_have_the_fields_of_their_captions(tmp_path):
    csv(tmp_path)
    split = wb.load_data(tmp_path, split="all")
    both = with_counterfactuals(split, [Counterfactual(1, "ein blaues Ding", "colour")])
    assert both.fields["language"].cells() == [*LANGUAGES, "de"]
    assert both.fields["place"].cells() == PLACES


def test_scenes_tell_their_backdrop():
    split = wb.load_data("scenes", split="test", size=20)
    assert split.fields["backdrop"].counts().keys() == {graph.objects[-1] for graph in split.image_graphs}
    assert split.fields["drawn_things"].cells() == [len(graph.objects) - 1 for graph in split.image_graphs]


def test_a_data_set_lists_its_fields(tmp_path):
    csv(tmp_path)
    lines = CliRunner().invoke(app, ["data", str(tmp_path)]).stdout.splitlines()
    assert any(line.split()[:4] == ["language", "caption", "category", "0"] for line in lines)
    about = json.loads(CliRunner().invoke(app, ["data", str(tmp_path), "--json"]).stdout)
    assert [field["name"] for field in about["fields"]] == ["language", "place"]
