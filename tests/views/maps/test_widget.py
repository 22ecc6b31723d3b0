"""The live map without a browser: what is selected, linked, exported and sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import traitlets

from workbench.views.maps import coordinates
from workbench.views.maps.space_map import map_runs
from workbench.views.maps.widget import EmbeddingMap


@pytest.fixture
def maps(space, tmp_path, monkeypatch):
    monkeypatch.setitem(coordinates.METHODS, "tsne", lambda vectors, settings, start: vectors[:, :2])
    image = replace(space.image, mean=space.image.mean.flip(1))
    return map_runs(
        [space, replace(space.with_embeddings("other", image, space.text), folder=tmp_path / "other")],
        k=4,
        clusters=3,
    )


def test_rows_ids_and_images_are_three_names_of_one_selection(maps):
    live = EmbeddingMap(maps)
    # rows 0 to 11 are images, 12 and 13 the captions of image 0, 16 the first caption of image 2
    live.selected_rows = [3, 13, 12, 16]
    assert live.selected_ids == ["i3", "c1", "c0", "c4"]
    assert live.selected_idx == [3, 0, 2]
    live.selected_ids = ["c0", "not here", "i5"]
    assert live.selected_rows == [12, 5]
    assert live.selected_idx == [0, 5]
    live.selected_idx = [7, 99]
    assert live.selected_rows == [7]
    assert live.selected_ids == ["i7"]


def test_the_selection_is_a_table_with_what_differs_named_by_the_run(maps):
    live = EmbeddingMap(maps)
    live.selected_rows = [12, 2]
    found = live.selection()
    assert found["id"].tolist() == ["c0", "i2"]
    assert found["row"].tolist() == [12, 2]
    assert found["x of toy"].tolist() == pytest.approx(maps[0].points[[12, 2], 0])
    assert {"hubness of toy", "hubness of other", "moved of other", "cluster", "text"} <= set(found)
    assert "hubness" in EmbeddingMap(maps[0]).selection()


def test_linked_maps_select_the_same(maps):
    one, other = EmbeddingMap(maps), EmbeddingMap(maps[:1])
    one.link(other)
    one.selected_rows = [20, 3]
    assert other.selected_rows == [20, 3]
    other.select(["i1"])
    assert one.selected_rows == [1]


def test_a_map_linked_with_an_explorer_speaks_of_images(maps):
    class Explorer(traitlets.HasTraits):
        selected_idx = traitlets.List(traitlets.Int())

    live, explorer = EmbeddingMap(maps), Explorer()
    live.link(explorer)
    live.selected_rows = [13, 4]
    assert explorer.selected_idx == [0, 4]
    assert live.selected_rows == [13, 4]
    explorer.selected_idx = [6]
    assert live.selected_rows == [6]


def test_what_cannot_be_linked_is_refused(maps):
    with pytest.raises(ValueError, match="HasTraits has neither selected_ids nor selected_idx"):
        EmbeddingMap(maps).link(traitlets.HasTraits())


@pytest.mark.parametrize(
    ("ending", "read"), [("csv", pd.read_csv), ("json", pd.read_json), ("parquet", pd.read_parquet)]
)
def test_an_export_holds_the_selection_or_everything(maps, tmp_path, ending, read, hostile):
    live = EmbeddingMap(maps)
    assert len(read(live.export(tmp_path / f"all.{ending}"))) == 36
    live.selected_rows = [17]
    found = read(live.export(tmp_path / f"one.{ending}"))
    assert found["text"].tolist() == [hostile]


def test_an_export_of_another_kind_is_refused(maps, tmp_path):
    with pytest.raises(ValueError, match=r"must end with \.csv, \.json, \.parquet"):
        EmbeddingMap(maps).export(tmp_path / "x.xlsx")


def test_the_browser_gets_numbers_as_binary_arrays(maps):
    config = EmbeddingMap(maps, colour="level").config
    assert (config["size"], config["images"], config["k"], len(config["captions"])) == (36, 12, 4, 24)
    assert (
        np.frombuffer(config["maps"][1]["points"], dtype=np.float32).tolist()
        == maps[1].points.ravel().tolist()
    )
    assert (
        np.frombuffer(config["maps"][0]["near"], dtype=np.int32).tolist()
        == maps[0].neighbours.ravel().tolist()
    )
    first, *others = config["colours"]
    assert (first["name"], first["labels"]) == ("level", ["level 1", "level 2", "image"])
    assert np.frombuffer(first["data"][0], dtype=np.uint8).tolist() == [2] * 12 + [0, 1] * 12
    assert {one["name"] for one in others} == {
        "kind",
        "descriptiveness",
        "cluster",
        "hubness",
        "gap",
        "moved",
    }
    assert len(np.frombuffer(config["moved"], dtype=np.int32)) == 20


def test_a_thumbnail_is_sent_when_it_is_asked_for(maps, monkeypatch):
    live, sent = EmbeddingMap(maps), []
    monkeypatch.setattr(live, "send", sent.append)
    live._on_message(live, {"kind": "thumbnail", "image": 3}, [])
    live._on_message(live, {"kind": "thumbnail", "image": 99}, [])
    (message,) = sent
    assert (message["kind"], message["image"]) == ("thumbnail", 3)
    assert message["src"].startswith("data:image/png;base64,")


def test_maps_of_different_items_and_unknown_colours_are_refused(maps, space):
    cut = replace(maps[1], items=maps[1].items.iloc[::-1])
    with pytest.raises(ValueError, match="toy and other map different items"):
        EmbeddingMap([maps[0], cut])
    with pytest.raises(ValueError, match=r"no colour 'levl'.*level"):
        EmbeddingMap(maps, colour="levl")
    with pytest.raises(ValueError, match="there is no map"):
        EmbeddingMap([])


class Words:
    """A text lies where the first caption of image 3 does."""

    def __init__(self, run):
        self.run = run

    def embed_texts(self, texts):
        return self.run.text.take(np.array([6]))

    def scores(self, image, text):
        return (image.mean @ text.mean.T).numpy()


def test_a_sentence_lies_amid_its_nearest_and_selects_what_is_found(maps):
    maps = [
        replace(one, run=replace(one.run, load=lambda one=one: (Words(one.run), one.run.image, one.run.text)))
        for one in maps
    ]
    live = EmbeddingMap(maps)
    live.ask("a ship")
    cosines = maps[1].vectors @ maps[1].run.text.mean[6].numpy()
    assert live.question["text"] == "a ship"
    assert live.question["near"][1] == np.argsort(-cosines)[:5].tolist()
    assert live.question["near"][0][0] == 12 + 6
    found = maps[0].run.image.mean @ maps[0].run.text.mean[6]
    assert live.selected_rows[:12] == found.argsort(descending=True).tolist()[:12]
    captions = maps[0].run.text.mean @ maps[0].run.text.mean[6]
    assert [row - 12 for row in live.selected_rows[12:]] == captions.argsort(descending=True).tolist()[:12]
    live.selected_rows = [1]
    live.ask("a ship", select=False)
    assert live.selected_rows == [1]
    with pytest.raises(ValueError, match="the question is empty"):
        live.ask(" ")
