"""Weights that have learnt captions: what they learn from, that they learn, and those that are shipped."""

import json
from collections import Counter
from itertools import chain

import caption_graphs as scene_graph
import numpy as np
import pytest
from caption_graphs import tree
from caption_graphs.vocabulary import Word
from safetensors.numpy import load_file, save_file

from tools.caption_graphs import adaptation, annotations
from tools.caption_graphs.adaptation import Lesson, Reading, learn
from tools.caption_graphs.annotations import DATA, MEASURING, TEXTS, image_keys, texts

MOST_BYTES = 3.5e6


def test_a_sentence_is_read_as_it_was_taught():
    pipeline, _ = tree.plain_model()
    wanted = Reading(
        ["man", "boards", "train", "."],
        ["NN", "VBZ", "NN", "."],
        ["nsubj", "ROOT", "dobj", "punct"],
        [1, 1, 1, 1],
    )

    def read():
        from spacy.tokens import Doc

        with pipeline.select_pipes(disable="lemmatizer"):
            doc = pipeline(Doc(pipeline.vocab, wanted.words))
        return [(word.tag_, word.dep_, word.head.i) for word in doc]

    taught = list(zip(wanted.tags, wanted.deps, wanted.heads, strict=True))
    assert read() != taught
    learn(pipeline, [wanted] * 32, Lesson(12, 1e-3, 0.0), "one sentence")
    assert read() == taught


def test_the_shipped_weights_are_small_and_finite_and_not_those_they_began_with():
    file = tree.ADAPTED
    assert file.stat().st_size <= MOST_BYTES
    began, learnt = tree.weights(tree.plain_model()[0]), load_file(file)
    assert set(learnt) == set(began)
    for name, value in learnt.items():
        assert value.dtype == np.float16
        assert np.isfinite(value).all()
        assert np.abs(value.astype(np.float32) - began[name]).max() > 1e-3, name


def test_weights_of_a_model_that_is_built_otherwise_are_refused(tmp_path):
    pipeline, _ = tree.plain_model()
    weights = tree.weights(pipeline)
    save_file(weights, tmp_path / "labels", {"labels": "other"})
    save_file(
        weights | {"tagger.3.b": np.zeros(3, np.float32)},
        tmp_path / "sizes",
        {"labels": tree.label_names(pipeline)},
    )
    for name in ("labels", "sizes"):
        with pytest.raises(
            ValueError, match=r"small English model 3.8, and en_core_web_sm.* is built otherwise.*pip"
        ):
            tree.adapt(pipeline, tmp_path / name)


def lines(name):
    return [json.loads(line) for line in (DATA / f"{name}").read_text("utf-8").splitlines()]


@pytest.mark.real_data
def test_no_caption_of_an_image_for_measuring_is_learnt_from(real_data):
    image_key = image_keys(real_data)
    rows = [row for row in lines("annotated.jsonl") if row["part"] in MEASURING]
    measured = {image_key(row["source"], row["id"]) for row in rows}
    learnt = [(row["source"], row["id"]) for row in lines("chosen.jsonl") if "source" in row]
    proofread = [tuple(line.split()) for line in adaptation.PROOFREAD.read_text().splitlines()]
    assert len(set(learnt + proofread)) == len(learnt + proofread)
    assert not measured & {image_key(*key) for key in learnt + proofread}
    known = {source: texts(real_data / file, source) for source, file in TEXTS.items()}
    texts_for_measuring = {known[row["source"]][row["id"]] for row in rows}
    drawn = adaptation.pool(real_data, {"flickr8k": 300, "coco": 300, "hierarcaps": 60})
    assert len(drawn) == 660
    assert not texts_for_measuring & {*drawn, *(known[source][name] for source, name in proofread)}


def test_the_guide_states_how_many_captions_were_chosen_and_corrected():
    guide = (DATA / "README.md").read_text("utf-8")
    rows = lines("chosen.jsonl")
    assert len({(row.get("source"), row.get("id"), row.get("text")) for row in rows}) == len(rows)
    for how, count in Counter(row["how"] for row in rows).items():
        kind = {"made up": " made up", "world": " of the embedded world"}.get(how, "")
        assert f"- {count:,} captions{kind}" in guide


def test_the_guide_states_how_many_captions_were_proofread():
    guide = (DATA / "README.md").read_text("utf-8")
    assert f"{len(adaptation.PROOFREAD.read_text().splitlines()):,} captions" in guide


def test_other_verbs_and_things_stand_in_the_same_trees():
    man = Reading(
        ["a", "man", "sees", "lakes", "."],
        ["DT", "NN", "VBZ", "NNS", "."],
        ["det", "nsubj", "ROOT", "dobj", "punct"],
        [1, 2, 2, 2, 2],
    )
    other = Reading(["fox", "stalking", "."], ["NN", "VBG", "."], ["ROOT", "acl", "punct"], [0, 0, 0])
    sentences = adaptation.varied([man] * 40, [other])
    assert {
        (sentence.tags == man.tags, sentence.deps == man.deps, sentence.heads == man.heads)
        for sentence in sentences
    } == {(True,) * 3}
    # "man" stands in for others and stays; there is no other thing that is many
    assert {tuple(sentence.words) for sentence in sentences} == {("a", "man", "stalks", "lakes", ".")}


@pytest.mark.real_data
def test_proofread_captions_are_read_as_the_parser_reads_them(real_data, monkeypatch, tmp_path):
    (tmp_path / "few.txt").write_text("flickr8k 1000268201_693b08cb0e.jpg#2\n")
    monkeypatch.setattr(adaptation, "PROOFREAD", tmp_path / "few.txt")
    (proofread,) = adaptation.proofread(real_data)
    (read,) = tree.parse_trees([[Word(word) for word in proofread.words]])
    assert (proofread.tags, proofread.deps, proofread.heads) == (read.tags, read.deps, read.heads)


@pytest.mark.real_data
def test_chosen_readings_are_trees_of_the_words_of_their_captions(real_data):
    readings = adaptation.chosen(real_data)
    # the others' captions are folded into another number of words by now
    assert len(readings) > 0.98 * len(lines("chosen.jsonl"))
    for reading in readings:
        assert len(reading.words) == len(reading.tags) == len(reading.deps) == len(reading.heads)
        for i in range(len(reading.words)):
            above = [i]
            while reading.heads[above[-1]] != above[-1] and len(above) <= len(reading.words):
                above.append(reading.heads[above[-1]])
            assert len(above) <= len(reading.words), reading


@pytest.mark.real_data
def test_captions_are_read_better_than_by_the_model_that_learnt_nothing(real_data):
    """On captions that no rule and no weight was made from; also stated in the guide."""
    pipeline, _ = tree.model()
    own = {name: value.copy() for name, value in tree.weights(pipeline).items()}
    parts = [annotations.annotated(real_data, part) for part in MEASURING]
    captions = list(chain.from_iterable(part.captions for part in parts))
    truth = list(chain.from_iterable(part.graphs for part in parts))
    agreed = annotations.agreement(scene_graph.parse(captions), truth)
    try:
        tree.put_weights(pipeline, tree.weights(tree.plain_model()[0]))
        before = annotations.agreement(scene_graph.parse(captions), truth)
    finally:
        tree.put_weights(pipeline, own)
    assert agreed["objects"].f1 > before["objects"].f1 + 0.005
    assert agreed["attributes"].f1 > before["attributes"].f1 + 0.01
    assert agreed["relations"].f1 > before["relations"].f1 + 0.03
    figures = " | ".join(f"{before[part].f1:.3f}" for part in ("objects", "attributes", "relations"))
    guide = (DATA / "README.md").read_text("utf-8")
    assert f"| all, with spaCy's own weights | {len(captions)} | {figures} |" in guide


@pytest.mark.real_data
def test_annotated_captions_that_a_teacher_reads_rightly_are_learnt(real_data):
    """A teacher that reads what the parser reads gives the captions that the parser reads rightly."""

    class Parser:
        def read(self, sentences):
            readings = []
            for parsed in tree.parse_trees([list(map(Word, words)) for words in sentences]):
                tokens = list(map(parsed.token, range(len(parsed.words))))
                readings.append(Reading(tokens, parsed.tags, parsed.deps, parsed.heads))
            return readings

    learnt = adaptation.right(real_data, Parser(), ("dev",))
    truth = annotations.annotated(real_data, "dev")
    parsed = scene_graph.parse(truth.captions)
    single = [len(scene_graph.split(caption)) == 1 for caption in truth.captions]
    same = [mine.tuples() == theirs.tuples() for mine, theirs in zip(parsed, truth.graphs, strict=True)]
    assert len(learnt) == sum(alone and also for alone, also in zip(single, same, strict=True)) > 30
