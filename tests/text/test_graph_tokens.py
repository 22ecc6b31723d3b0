from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest
import torch

from workbench import text
from workbench.io import ChecksumError
from workbench.records import SceneGraph
from workbench.text.graph_tokens import cached_graphs

GRAPHS = (
    SceneGraph(("dog", "ball"), ((0, "brown"), (0, "big"), (1, "brown")), ((0, "chase", 1),)),
    SceneGraph(("Dog",)),
    SceneGraph(("man", "hot dog"), (), ((0, "eat", 1), (1, "near", 0))),
)


def made(graphs=GRAPHS, **options):
    maker = text.load("graph_tokens", **options)
    maker.graphs = lambda captions: tuple(graphs)
    return maker


def signal(graphs=GRAPHS, **options):
    return made(graphs, **options).fit([""] * len(graphs)).transform([""] * len(graphs))


def test_phrases_are_numbered_from_one_and_graphs_are_padded_with_zero():
    found = signal()
    assert found.phrases == ("dog", "ball", "brown", "big", "chase", "man", "hot dog", "eat", "near")
    taken = found.take(np.array([2, 0]))
    assert taken["objects"].tolist() == [[6, 7], [1, 2]]
    assert taken["attributes"].tolist() == [[[0] * 4] * 2, [[3, 4, 0, 0], [3, 0, 0, 0]]]
    assert taken["relations"].tolist() == [[[0, 8, 1], [1, 9, 0]], [[0, 5, 1], [0, 0, 0]]]
    assert taken["phrases"].tolist() == list(range(1, 10))
    assert all(isinstance(value, torch.Tensor) for value in taken.values())


def test_a_batch_carries_the_words_of_its_own_phrases_alone():
    taken = signal(tokens={"vocabulary": ["dog", "hot"]}).take(np.array([1]))
    assert taken["phrases"].tolist() == [1]
    assert taken["words"].tolist() == [[2, 4, 3]]
    taken = signal(tokens={"vocabulary": ["dog", "hot"]}).take(np.array([2]))
    # Unknown words are 1: man, hot dog, eat, near.
    assert taken["words"].tolist() == [[2, 1, 3, 0], [2, 5, 4, 3], [2, 1, 3, 0], [2, 1, 3, 0]]


def test_the_limits_keep_the_first_of_everything():
    objects = tuple(f"thing {n}" for n in range(6))
    graph = SceneGraph(
        objects, tuple((0, f"kind {n}") for n in range(5)), tuple((0, "near", n % 5 + 1) for n in range(9))
    )
    taken = signal([graph], objects=4, attributes=2, relations=3).take(np.array([0]))
    assert taken["objects"].shape == (1, 4)
    assert (taken["attributes"][0, 0] != 0).sum() == 2
    # Object 0 is the subject of three relations at most, and those with objects 4 and 5 are gone.
    assert taken["relations"][0, :, 2].tolist() == [1, 2, 3]


def test_the_vocabulary_holds_the_words_of_phrases_and_captions():
    maker = made()
    maker.fit(["Dogs chase balls", "", ""])
    assert {"dogs", "hot", "eat"} <= set(maker.vocabulary)
    again = made().restore(maker.state())
    assert again.vocabulary == maker.vocabulary


def test_a_phrase_without_words_is_a_start_and_an_end():
    taken = signal([SceneGraph(("!!!",)), SceneGraph(("",))], tokens={"vocabulary": ["dog"]}).take(
        np.array([0, 1])
    )
    assert taken["words"].tolist() == [[2, 3], [2, 3]]


def test_vectors_of_a_frozen_encoder_are_the_mean_of_its_tokens():
    maker = made(features="minilm-package")
    taken = maker.transform([""] * 3).take(np.array([1, 2]))
    alone = text.load("word_features", model="minilm-package").transform(["hot dog"]).take(np.array([0]))
    row = taken["phrases"].tolist().index(7)
    torch.testing.assert_close(taken["words"][row], alone["values"][0].mean(0), atol=2e-3, rtol=0)
    assert maker.vocabulary == []
    made(features="minilm-package").restore(maker.state())


class Parser:
    """Counts what it is asked to parse."""

    def __init__(self, name="one"):
        self.asked, self.name = [], name

    def identity(self):
        return self.name

    def transform(self, captions):
        self.asked += captions
        return type(
            "Signal",
            (),
            {"graphs": tuple(SceneGraph((caption,), ((0, "old"),), ((0, "is", 0),)) for caption in captions)},
        )


def test_a_caption_is_parsed_once_and_then_read_from_disk(tmp_path):
    parser, other = Parser("first"), Parser("second")
    first = cached_graphs(parser, tmp_path, ["a", "b", "a"])
    assert (
        cached_graphs(parser, tmp_path, ["b", "c", "a"])[0]
        == first[1]
        == SceneGraph(("b",), ((0, "old"),), ((0, "is", 0),))
    )
    assert parser.asked == ["a", "b", "c"]
    cached_graphs(other, tmp_path, ["a"])
    assert other.asked == ["a"]
    with closing(sqlite3.connect(tmp_path / "scene_graphs-first.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM kept").fetchone() == (3,)


@pytest.mark.parametrize("kind", ["flip", "swap", "truncation"])
def test_a_damaged_database_is_refused_by_name(tmp_path, kind):
    captions = [f"caption {n}" for n in range(200)]
    cached_graphs(Parser(), tmp_path, captions)
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    if kind == "swap":
        with closing(sqlite3.connect(file)) as database, database:
            found = dict(
                database.execute("SELECT text, made FROM kept WHERE text IN ('caption 1', 'caption 2')")
            )
            other = {"caption 1": found["caption 2"], "caption 2": found["caption 1"]}
            database.executemany(
                "UPDATE kept SET made = ? WHERE text = ?", [(v, k) for k, v in other.items()]
            )
    elif kind == "flip":
        content[content.index(b'[["caption 150') + 4] ^= 1
        file.write_bytes(content)
    else:
        file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ChecksumError, match=r"scene_graphs-one\.sqlite .*delete it, it is made again"):
        cached_graphs(Parser(), tmp_path, captions)
    file.unlink()
    assert len(cached_graphs(Parser(), tmp_path, captions)) == 200


def test_few_captions_leave_no_file(tmp_path):
    maker = text.load("graph_tokens", cache=str(tmp_path), cache_from=2)
    maker.parser = Parser()
    maker.graphs(["a"])
    assert list(tmp_path.iterdir()) == []


def test_a_parser_that_is_not_installed_is_named_when_a_caption_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "caption_graphs", None)
    maker = text.load("graph_tokens")
    with pytest.raises(ModuleNotFoundError, match="caption_graphs"):
        maker.graphs(["a dog"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": {}, "features": "minilm-package"}, "not both"),
        ({"objects": 0}, "objects is 0; it should be greater than or equal to 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        text.load("graph_tokens", **options)
