"""What a caption states, statement by statement, and two judges of whether an image has it.

A statement is of one kind: a thing, how a thing looks (attribute), how many there are (count), how two things
are related (relation), or where or when it all is (scene). Each is judged by itself: "a red dog" is stated by
an image with one red dog, whatever else the caption says of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

import numpy as np
from relevance_audit.lexicon import Kind as PartOfSpeech
from relevance_audit.lexicon import shipped_lexicon

from workbench.records import Rows, SceneGraph, Split, Values, require
from workbench.text.tuple_f1 import package_parser

Kind = Literal["thing", "attribute", "count", "relation", "scene"]
KINDS: tuple[Kind, ...] = ("thing", "attribute", "count", "relation", "scene")
# WordNet's meanings whose narrower ones are a place or a time of all that an image shows
SCENES: Mapping[str, str] = {
    "location": "n00027167",
    "geological formation": "n09287968",
    "natural elevation": "n09366317",
    "way": "n04564698",
    "body of water": "n09225146",
    "weather": "n11524662",
    "time period": "n15113229",
    "time": "n15228378",
    "room": "n04105893",
    "sky": "n09436708",
    "land": "n09334396",
    "forest": "n08438533",
    "grass": "n12102133",
}
PLURAL = "plural"
NUMBERS = {
    **{word: number for number, word in enumerate(("one", "two", "three", "four", "five", "six"), 1)},
    **{word: number for number, word in enumerate(("seven", "eight", "nine", "ten"), 7)},
    **{str(number): number for number in range(1, 11)},
    "couple": 2,
    "pair": 2,
    "both": 2,
    "several": 0,
    "many": 0,
    "few": 0,
    "some": 0,
    PLURAL: 0,
}


@dataclass(frozen=True)
class Statement:
    """One statement of a caption.

    Args:
        kind: what it says.
        graph: it alone.
        about: nodes of the caption's graph that it is about, each a thing or a scene.
    """

    kind: Kind
    graph: SceneGraph
    about: tuple[int, ...]


class Judge(Protocol):
    """Says whether images have what statements say.

    Attributes:
        graphs: of the captions.
    """

    graphs: Sequence[SceneGraph]

    def holds(self, statement: SceneGraph, image: int) -> bool | None:
        """Return whether an image has what a graph states; ``None`` = not known."""


def statements_of(graph: SceneGraph) -> list[Statement]:
    """Return the statements of a caption: of each node, of each attribute, and of each relation.

    A relation to a scene ("in the snow") says no more than the scene and is left out.
    """
    names = graph.objects
    statements = []
    for node, name in enumerate(names):
        kind: Kind = "scene" if is_scene(name) else "thing"
        statements.append(Statement(kind, SceneGraph((name,)), (node,)))
    for node, attribute in dict.fromkeys(graph.attributes):
        counts: Kind = "count" if attribute in NUMBERS else "attribute"
        statements.append(Statement(counts, SceneGraph((names[node],), ((0, attribute),)), (node,)))
    for subject, relation, thing in dict.fromkeys(graph.relations):
        if is_scene(names[thing]) or is_scene(names[subject]) or subject == thing:
            continue
        pair = SceneGraph((names[subject], names[thing]), (), ((0, relation, 1),))
        statements.append(Statement("relation", pair, (subject, thing)))
    return statements


@cache
def is_scene(name: str) -> bool:
    """Return whether a noun is a place or a time of all that an image shows.

    >>> is_scene("snow"), is_scene("sunset"), is_scene("castle")
    (True, True, False)
    """
    return not set(SCENES.values()).isdisjoint(_broader_words(name, "noun"))


@cache
def _broader_words(name: str, kind: PartOfSpeech) -> frozenset[str]:
    """Return the most frequent meaning of a word and all that is broader, and the word."""
    lexicon = shipped_lexicon()
    return frozenset({name, *lexicon.broader_synsets(lexicon.meanings(name, kind)[:1])})


@cache
def _is_a(name: str, broader: str, kind: PartOfSpeech) -> bool:
    """Return whether a word means another one or something narrower."""
    meanings = shipped_lexicon().synsets(broader, kind)[:1] or [broader]
    return broader in _broader_words(name, kind) or meanings[0] in _broader_words(name, kind)


class GroundTruth:
    """Judges by the truth of the data.

    Args:
        split: with the graphs of images and captions, and what grades a graph.

    Raises:
        ValueError: the data do not know the truth of a statement.
    """

    def __init__(self, split: Split) -> None:
        require(has_truth(split), f"{split.name} has no ground truth of statements")
        self._grade, self._images = split.grade, split.image_graphs or ()
        self.graphs: Sequence[SceneGraph] = split.caption_graphs or ()
        self._known: dict[tuple[SceneGraph, int], bool | None] = {}

    def holds(self, statement: SceneGraph, image: int) -> bool | None:
        """Return whether an image has what a graph states; ``None`` = not known."""
        key = (statement, image)
        if key not in self._known:
            assert self._grade is not None
            truth = self._grade(statement, [self._images[image]]).holds[0]
            self._known[key] = None if np.isnan(truth) else bool(truth)
        return self._known[key]


def has_truth(split: Split) -> bool:
    """Return whether the data know which statements hold of which image."""
    return None not in (split.grade, split.image_graphs, split.caption_graphs)


class StatedByCaptions:
    """Judges by what the image's own captions state, with the meanings of words that ``relevance_audit`` has.

    A statement holds if a caption of the image states it, or something narrower by WordNet: "a small dog" of
    an image with "a tiny puppy". What no caption mentions counts as lacking.

    Args:
        captions: ``(T,)`` texts.
        own: ``(T,)`` image row of each.
        graphs: of the captions; ``None`` parses them.
    """

    def __init__(
        self, captions: Sequence[str], own: Rows, graphs: Sequence[SceneGraph] | None = None
    ) -> None:
        self.graphs = package_parser()(captions) if graphs is None else graphs
        self._of_image: dict[int, list[SceneGraph]] = {}
        for row, graph in zip(own.tolist(), self.graphs, strict=True):
            self._of_image.setdefault(row, []).append(graph)

    def holds(self, statement: SceneGraph, image: int) -> bool:
        """Return whether a caption of an image states what a graph of one statement does."""
        return any(_states(graph, statement) for graph in self._of_image.get(image, ()))


def _states(graph: SceneGraph, statement: SceneGraph) -> bool:
    """Return whether a graph holds one statement, or a narrower one."""
    if statement.relations:
        return any(_relation_holds(graph, statement, triple) for triple in graph.relations)
    name = statement.objects[0]
    if not statement.attributes:
        return any(_is_a(other, name, "noun") for other in graph.objects)
    attribute = statement.attributes[0][1]
    for node, other in graph.attributes:
        if _is_a(graph.objects[node], name, "noun") and _attribute_holds(other, attribute):
            return True
    return False


def _attribute_holds(stated: str, wanted: str) -> bool:
    """Return whether an attribute means another one; a number is several, and numbers are equal or not."""
    if wanted not in NUMBERS:
        return _is_a(stated, wanted, "adj")
    if stated not in NUMBERS:
        return False
    return NUMBERS[stated] == NUMBERS[wanted] or (NUMBERS[wanted] == 0 and NUMBERS[stated] != 1)


def _relation_holds(graph: SceneGraph, statement: SceneGraph, triple: tuple[int, str, int]) -> bool:
    subject, relation, thing = triple
    wanted = statement.relations[0][1]
    ends = ((subject, statement.objects[0]), (thing, statement.objects[1]))
    if not all(_is_a(graph.objects[node], name, "noun") for node, name in ends):
        return False
    first, _, rest = relation.partition(" ")
    wanted_first, _, wanted_rest = wanted.partition(" ")
    return relation == wanted or (rest == wanted_rest and _is_a(first, wanted_first, "verb"))


def lacking(judge: Judge, images: Rows, captions: Rows) -> Values:
    """Count what images lack of captions, kind by kind.

    What is said of a thing that an image lacks is not counted again: of "a red dog", an image without a dog
    lacks a thing, and one with a brown dog an attribute.

    Args:
        judge: says what holds.
        images: ``(N,)`` rows.
        captions: ``(N,)`` rows.

    Returns:
        ``(N, 5)`` numbers of statements by ``KINDS``; a row is NaN where something of it is not known.
    """
    out = np.zeros((len(images), len(KINDS)))
    stated: dict[int, list[Statement]] = {}
    for row, (image, caption) in enumerate(zip(images.tolist(), captions.tolist(), strict=True)):
        if caption not in stated:
            stated[caption] = statements_of(judge.graphs[caption])
        for kind in _kinds_lacking(judge, stated[caption], image):
            if kind is None:
                out[row] = np.nan
            else:
                out[row, KINDS.index(kind)] += 1
    return out


def _kinds_lacking(judge: Judge, statements: Sequence[Statement], image: int) -> Iterator[Kind | None]:
    """Yield the kind of each statement that an image lacks, ``None`` of one that nobody knows."""
    absent: set[int] = set()
    for statement in statements:
        if not absent.isdisjoint(statement.about):
            continue
        holds = judge.holds(statement.graph, image)
        if holds is None:
            yield None
        elif not holds:
            yield statement.kind
            if statement.kind in ("thing", "scene"):
                absent.update(statement.about)
