"""The table of queries that a page filters: what is in it, and what is written and kept of a selection."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.views.explorer.toys import hand_space, toy_spaces
from workbench.records import Field
from workbench.runs.result import Result
from workbench.runs.saved_slices import saved_slices
from workbench.views.explorer import Explorer
from workbench.views.explorer.queries import Queries, add_column, bar_edges

# places of three images with four captions, by hand; the second run has the first two images exchanged
OWN = [0, 0, 1, 2]


def runs() -> list[Result]:
    vectors = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
    captions = ("a dog", "one dog", "a cat", "a bird sings")
    plain = hand_space(vectors, captions, OWN)
    fields = {
        "language": Field.from_cells("language", ["de", "en", "de", None]),
        "place": Field.from_cells("place", ["sea", "town", "sea"], owner="image"),
        "url": Field("url", np.array(["u1", "u2", "u3", "u4"], dtype=object), kind="text"),
    }
    split = replace(plain.split, fields=fields)
    image, text = plain.image, plain.text
    swapped = image.take(np.array([1, 0, 2]))
    return [
        replace(plain, name="first", split=split),
        Result("second", split, lambda: (plain.model, swapped, text)),
    ]


def column(record: dict[str, Any], size: int, blobs: list[bytes]) -> list[float]:
    """The numbers of a column, as ``query_table.js`` reads them."""
    if "constant" in record:
        return [record["constant"]] * size
    return np.frombuffer(blobs[record["at"]], dtype=f"<{record['type']}").tolist()


@pytest.mark.parametrize(
    ("values", "type_"),
    [([1, 2], "i1"), ([1, 300], "i2"), ([1, 70_000], "i4"), ([0.5, np.nan], "f4"), ([0.1, 0.2], "f8")],
)
def test_a_column_takes_the_smallest_type_that_holds_it(values: list[float], type_: str) -> None:
    blobs: list[bytes] = []
    record = add_column(np.array(values), blobs)
    assert record["type"] == type_
    assert np.array_equal(column(record, 2, blobs), values, equal_nan=True)
    assert add_column(np.ones(3), blobs) == {"constant": 1.0}


def test_bars_are_whole_numbers_where_these_are_few_and_cuts_of_three_digits_elsewhere() -> None:
    assert bar_edges(np.array([3.0, 5.0, 4.0, np.nan])) == [3.0, 4.0]
    edges = bar_edges(np.linspace(0, 1, 1001))
    assert len(edges) == 11
    assert edges == [float(f"{edge:.3g}") for edge in edges]
    assert bar_edges(np.array([1.0, 1000.0]))[0] == 93.0


def test_the_table_has_ranks_values_and_a_bar_a_value() -> None:
    opened = runs()
    table, blobs = Queries(opened).table("t2i")
    json.dumps(table, allow_nan=False)
    assert (table["ids"], table["texts"][3]) == (["0", "1", "2", "3"], "a bird sings")
    assert [column(ranks, 4, blobs) for ranks in table["ranks"]] == [
        run.ranks("t2i").tolist() for run in opened
    ]
    assert column(table["images"], 4, blobs) == OWN
    fields = {field["name"]: field for field in table["fields"]}
    assert "url" not in fields
    assert fields["language"]["labels"] == ["language=de", "language=en", "language=(missing)"]
    assert column(fields["language"]["column"], 4, blobs) == [0, 1, 0, 2]
    assert column(fields["place"]["column"], 4, blobs) == [0, 0, 1, 0]
    recall = table["numbers"][0]
    assert (recall["key"], recall["title"]) == ("t2i/R@1", "R@1")
    assert column(recall["values"][1], 4, blobs) == [0, 0, 0, 1]
    assert column(recall["chance"], 4, blobs) == pytest.approx([1 / 3] * 4)
    assert "t2i_rank" in {field["name"] for field in table["more"]}


def test_images_are_queries_too_and_a_field_may_be_added() -> None:
    table, blobs = Queries(runs()).table("i2t", ["t2i_rank"])
    assert table["texts"] == ["a dog", "a cat", "a bird sings"]
    fields = {field["name"]: field for field in table["fields"]}
    assert fields["language"]["labels"] == ["language=de", "language=(several)", "language=(missing)"]
    assert "t2i_rank" in fields
    assert column(table["ranks"][0], 3, blobs) == [1, 1, 1]


def test_means_of_the_table_are_the_numbers_of_the_runs() -> None:
    spaces = toy_spaces(20)
    table, blobs = Queries(spaces).table("t2i")
    for number in table["numbers"]:
        for run, values in zip(spaces, number["values"], strict=True):
            measured = wb.runs.compare.numbers(run, [number["key"]])[number["key"]][0]
            assert np.nanmean(column(values, table["size"], blobs)) == pytest.approx(measured.value)


@pytest.fixture
def explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    """An explorer in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Explorer(runs(), select="language=de; right in first; wrong in second")


def say(explorer: Explorer, **message: Any) -> dict[str, Any]:
    """What the browser is told."""
    replies: list[dict[str, Any]] = []
    explorer.send = lambda content, blobs=None: replies.append(content)
    explorer._on_message(explorer, {"number": "1", **message}, [])
    return replies[0]


def test_selected_queries_are_a_table_with_ranks_scores_and_answers(explorer: Explorer) -> None:
    assert explorer.selected == "t2i/R@1[language=de]; right in first; wrong in second"
    table = explorer.queries()
    assert table["id"].tolist() == ["0", "2"]
    assert table["language"].tolist() == ["de", "de"]
    assert table["rank second"].tolist() == explorer.runs[1].ranks("t2i")[[0, 2]].tolist()
    # caption 0 lies at (1, 0); its image is at (0, 1) in the second run, and the image of caption 2 at (1, 0)
    assert table["score second"].tolist() == [0.0, 0.0]
    assert table["wrong answer second"].tolist() == ["image-1", "image-0"]
    assert table["its score second"].tolist() == [1.0, 1.0]
    explorer.selected_idx = [1]
    assert explorer.queries()["id"].tolist() == ["2"]


def test_the_page_exports_the_selected_queries_below_the_folder_alone(explorer: Explorer) -> None:
    message = {"kind": "export-queries", "direction": "t2i", "rows": [2, 0], "path": "out.parquet"}
    assert say(explorer, **message)["path"] == "out.parquet"
    written = pd.read_parquet("out.parquet")
    assert written["id"].tolist() == ["2", "0"]
    assert "there already" in say(explorer, **message)["text"]
    assert "outside" in say(explorer, **{**message, "path": "../up.csv"})["text"]
    assert "a query lies outside" in say(explorer, **{**message, "path": "b.csv", "rows": [9]})["text"]


def test_a_selection_is_saved_and_is_then_a_field(explorer: Explorer) -> None:
    message = {"kind": "save-slice", "direction": "t2i", "rows": [1, 3], "name": "hard", "about": "by hand"}
    assert say(explorer, **message)["name"] == "slice:hard"
    assert saved_slices()["slice:hard"].about == "by hand"
    names = [
        field["name"] for field in say(explorer, kind="queries", direction="t2i", names=[])["table"]["fields"]
    ]
    assert "slice:hard" in names
    assert "another name" in say(explorer, **message)["text"]
    compared = wb.compare(*explorer.runs, keys=["t2i/R@1"], by="slice:hard")
    assert compared.numbers.loc[("first", "t2i/R@1[slice:hard=yes]"), "queries"] == 2


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"kind": "queries", "direction": "t2t", "names": []}, "no direction"),
        ({"kind": "condition", "direction": "t2i", "label": "colour=red"}, "colour"),
        ({"kind": "thumbnails", "page": "p", "wanted": ["7"]}, "outside"),
        ({"kind": "save-slice", "direction": "t2i", "rows": [1], "name": "a b", "about": ""}, "no name"),
    ],
)
def test_what_a_page_cannot_have_is_said_in_a_line(
    explorer: Explorer, message: dict[str, Any], says: str
) -> None:
    assert says in say(explorer, **message)["text"]


def test_a_condition_that_no_field_says_is_looked_up(explorer: Explorer) -> None:
    blobs: list[list[bytes]] = []
    explorer.send = lambda content, buffers=None: blobs.append(buffers)
    message = {"number": "1", "kind": "condition", "direction": "t2i", "label": "word=dog"}
    explorer._on_message(explorer, message, [])
    assert np.frombuffer(blobs[0][0], dtype=np.int8).tolist() == [1, 1, 0, 0]


def test_a_selection_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no query"):
        Explorer(runs(), select="t2i/R@1[language=de]; wrong in first")
    with pytest.raises(KeyError, match="third"):
        Explorer(runs(), select="t2i/R@1; wrong in third")
