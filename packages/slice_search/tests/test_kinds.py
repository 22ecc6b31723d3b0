"""Errors by kind: an independent count on a hundred scenes, statements by hand, and the judge by captions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scene_world
from scene_world.vocabulary import BACKDROPS, COUNTS, NOUNS
from slice_search.kinds import (
    ALL_KINDS,
    CAPTIONS,
    PHOTOGRAPHS,
    PHOTOGRAPHS_LABELS,
    TRUTH,
    agreement,
    error_kinds,
    judge_accuracy,
    kinds_of_pairs,
    make_judge,
    reader_agreement,
)
from slice_search.statements import KINDS, StatedByCaptions, is_scene, lacking, statements_of

from workbench.metrics.ranks import ranks_of
from workbench.records import SceneGraph, Split

HUNDRED = 100


@cache
def scenes() -> Split:
    """A hundred scenes with five captions each."""
    return scene_world.load("test", size=HUNDRED)


@cache
def wrong_answers() -> tuple[np.ndarray, np.ndarray]:
    """A wrong image for every caption: image rows and caption rows."""
    captions = np.arange(len(scenes().captions))
    shift = np.random.default_rng(0).integers(1, HUNDRED, len(captions))
    return (scenes().own + shift) % HUNDRED, captions


def by_hand(caption: SceneGraph, scene: SceneGraph) -> Counter[str]:
    """What a scene lacks of a caption, counted by loops over plain tuples, with no code of the package."""
    counts = ("plural", *COUNTS.values())

    def may_be(node: int, word: str) -> bool:
        name = scene.objects[node]
        return name == word or (name in NOUNS and word in NOUNS[name].kinds)

    def looks(node: int, attribute: str) -> bool:
        stated = {a for n, a in scene.attributes if n == node}
        return bool(stated & set(counts)) if attribute == "plural" else attribute in stated

    missing: Counter[str] = Counter()
    absent = []
    nodes = range(len(scene.objects))
    for number, word in enumerate(caption.objects):
        if not any(may_be(node, word) for node in nodes):
            missing["scene" if word in BACKDROPS else "thing"] += 1
            absent.append(number)
    for number, attribute in set(caption.attributes):
        if number in absent:
            continue
        if not any(may_be(node, caption.objects[number]) and looks(node, attribute) for node in nodes):
            missing["count" if attribute in counts else "attribute"] += 1
    for subject, relation, thing in set(caption.relations):
        ends = caption.objects[subject], caption.objects[thing]
        if subject in absent or thing in absent or set(ends) & set(BACKDROPS):
            continue
        holds = False
        for s, r, o in scene.relations:
            holds |= r == relation and may_be(s, ends[0]) and may_be(o, ends[1])
        missing["relation"] += not holds
    return missing


def test_kinds_equal_a_count_by_hand_on_a_hundred_scenes() -> None:
    split, (images, captions) = scenes(), wrong_answers()
    judge, name = make_judge(split)
    assert name == TRUTH
    numbers = kinds_of_pairs(judge, split, images, captions)
    exact = split.judgements["exact"].relevant()
    for row, (image, caption) in enumerate(zip(images.tolist(), captions.tolist(), strict=True)):
        missing = by_hand(split.caption_graphs[caption], split.image_graphs[image])
        assert [missing[kind] for kind in KINDS] == numbers[row, : len(KINDS)].tolist(), (image, caption)
        binding, nothing = numbers[row, len(KINDS) :]
        assert nothing == exact[image, caption]
        assert binding == (not missing and not exact[image, caption])
    assert (numbers.sum(axis=0) > 0).sum() >= 6


def test_statements_of_a_caption_by_kind() -> None:
    graph = SceneGraph(("dog", "cat", "snow"), ((0, "red"), (1, "two")), ((0, "left of", 1), (0, "in", 2)))
    kinds = [(statement.kind, statement.graph.objects) for statement in statements_of(graph)]
    assert kinds == [
        ("thing", ("dog",)),
        ("thing", ("cat",)),
        ("scene", ("snow",)),
        ("attribute", ("dog",)),
        ("count", ("cat",)),
        ("relation", ("dog", "cat")),
    ]


def test_backdrops_are_scenes_and_no_thing_is_one() -> None:
    assert all(map(is_scene, BACKDROPS))
    assert not any(map(is_scene, NOUNS))


def test_a_lacking_thing_is_not_counted_again_by_its_looks_and_relations() -> None:
    graphs = [
        SceneGraph(("dog", "cat"), ((0, "red"),), ((0, "left of", 1),)),
        SceneGraph(("cat",), ((0, "black"),)),
    ]
    judge = StatedByCaptions(("", ""), np.array([0, 1]), graphs)
    numbers = lacking(judge, np.array([1, 0]), np.array([0, 1]))
    # the image of the cat lacks the dog alone; that of both has a cat, and nobody says that it is black
    assert numbers[0].tolist() == [1, 0, 0, 0, 0]
    assert numbers[1].tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("stated", "asked", "lacks"),
    [
        (("puppy", "tiny"), ("dog", "small"), [0, 0, 0, 0, 0]),
        (("dog", "red"), ("puppy", "red"), [1, 0, 0, 0, 0]),
        (("dog", "three"), ("dog", "two"), [0, 0, 1, 0, 0]),
        (("dog", "three"), ("dog", "plural"), [0, 0, 0, 0, 0]),
        (("dog", "red"), ("beach", "long"), [0, 0, 0, 0, 1]),
    ],
)
def test_the_judge_by_captions_knows_narrower_words_and_numbers(
    stated: tuple[str, str], asked: tuple[str, str], lacks: list[int]
) -> None:
    graphs = [SceneGraph((noun,), ((0, look),)) for noun, look in (stated, asked)]
    judge = StatedByCaptions(("", ""), np.array([0, 1]), graphs)
    assert lacking(judge, np.array([0]), np.array([1]))[0].tolist() == lacks


def test_the_judge_by_captions_agrees_with_the_truth_as_recorded() -> None:
    images, captions = wrong_answers()
    table = agreement(scenes(), images, captions).set_index("kind")
    recorded = judge_accuracy()
    assert set(recorded) == set(KINDS)
    for kind in KINDS:
        assert abs(table.loc[kind, "agreement"] - recorded[kind][0]) < 0.1


def test_a_judge_is_held_against_what_a_reader_noted() -> None:
    graphs = [SceneGraph(("dog",)), SceneGraph(("dog",), ((0, "red"),)), SceneGraph(("cat",))]
    judge = StatedByCaptions(("", "", ""), np.array([0, 1, 2]), graphs)
    images, captions = np.array([0, 0, 0]), np.array([0, 1, 2])
    table = reader_agreement(judge, images, captions, ["nothing", "nothing", "thing"]).set_index("kind")
    # the judge: nothing, an attribute, a thing; the reader saw a red dog
    assert table.loc["thing", ["lacking", "agreement", "precision", "recall"]].tolist() == [1, 1, 1, 1]
    assert table.loc["attribute", ["lacking", "agreement", "precision"]].tolist() == [0, 2 / 3, 0]
    assert table.loc["any", ["lacking", "agreement", "precision"]].tolist() == [1, 2 / 3, 0.5]
    assert table.loc["any", "low"] < 2 / 3 < table.loc["any", "high"]


def test_two_hundred_photographs_have_labels_of_known_kinds_and_a_recorded_agreement() -> None:
    labels = pd.read_csv(PHOTOGRAPHS_LABELS, sep="\t", skiprows=1)
    assert len(labels) == 200
    assert not labels.duplicated(["image", "caption"]).any()
    named = set(" ".join(labels["lacking"]).split())
    assert named == {*KINDS, "nothing"}
    recorded = pd.read_csv(PHOTOGRAPHS, sep="\t", comment="#")
    assert set(recorded["kind"]) == {*KINDS, "any"}
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "failures.md").read_text(encoding="utf-8")
    for row in recorded.itertuples():
        agreement, low, high, precision, recall = (f"{100 * number:.1f}" for number in row[4:])
        name = "anything" if row.kind == "any" else row.kind
        assert f"| {name} | {agreement} [{low}, {high}] | {precision} | {recall} |" in guide


class Result:
    """As much of a result as errors are counted from."""

    name = "model"
    model = SimpleNamespace(floor=-np.inf)

    def __init__(self, split: Split, scores: np.ndarray) -> None:
        self.split, self._scores = split, scores

    def any_scores(self) -> np.ndarray:
        """Return the scores."""
        return self._scores

    def ranks(self, direction: str, judgements: str) -> np.ndarray:
        """Return the rank of the best ground truth of each query."""
        return ranks_of(self._scores, self.split.judgements[judgements], direction).first


def test_shares_are_of_the_wrong_first_answers_with_intervals() -> None:
    split = scenes()
    scores = np.random.default_rng(1).normal(size=(HUNDRED, len(split.captions)))
    scores[split.own[::2], np.arange(len(split.captions))[::2]] += 100  # every other caption is answered
    run = Result(split, scores)
    for way, queries in (("t2i", len(split.captions)), ("i2t", HUNDRED)):
        kinds = error_kinds([run], way)  # type: ignore[list-item,arg-type]
        table = kinds.table.set_index("kind")
        assert list(table.index) == list(ALL_KINDS)
        assert (table.queries == queries).all()
        assert len(kinds.errors) == table["of"].iloc[0]
        for kind in ALL_KINDS:
            share = (kinds.errors[kind] > 0).mean() if len(kinds.errors) else np.nan
            assert table.loc[kind, "share"] == pytest.approx(share, nan_ok=True)
            if len(kinds.errors):
                assert table.loc[kind, "low"] <= share <= table.loc[kind, "high"]
    errors = error_kinds([run]).errors  # type: ignore[list-item]
    assert not set(errors["query"]) & set(split.caption_ids[::2])
    own = dict(zip(split.caption_ids, (split.image_ids[row] for row in split.own), strict=True))
    assert all(own[query] != answer for query, answer in zip(errors["query"], errors["answer"], strict=True))


def test_data_without_a_truth_are_judged_by_their_captions() -> None:
    split = scenes()
    plain = replace(split, grade=None, image_graphs=None, caption_graphs=None)
    scores = np.random.default_rng(2).normal(size=(HUNDRED, len(split.captions)))
    kinds = error_kinds([Result(plain, scores)])  # type: ignore[list-item]
    assert kinds.judged_by == CAPTIONS
    shares = kinds.table.set_index("kind")["share"]
    assert shares["binding"] == 0
    assert shares["thing"] > 0.3
    with pytest.raises(ValueError, match="ground truth"):
        error_kinds([Result(plain, scores)], judged_by=TRUTH)  # type: ignore[list-item]


def test_unknown_directions_and_judgements_are_refused() -> None:
    run = Result(scenes(), np.zeros((HUNDRED, len(scenes().captions))))
    with pytest.raises(KeyError, match="t2x"):
        error_kinds([run], "t2x")  # type: ignore[list-item,arg-type]
    with pytest.raises(KeyError, match="people"):
        error_kinds([run], judgements="people")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="name one"):
        error_kinds([])
