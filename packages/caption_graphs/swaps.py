"""Counterfactuals of captions, made from their graphs: two attributes exchanged, two things, or the sides of
a relation.

*A red cat is left of a blue dog* has the counterfactuals *a blue cat is left of a red dog*, *a red dog is
left of a blue cat* and *a blue dog is left of a red cat*. Only words are exchanged that stand in the caption
once, as the graph has them, so that a counterfactual has the words of its caption. Data that know the truth
say of each counterfactual whether it is true of the image: such a counterfactual is left out, and one of
which they do not know it. Of other data nobody knows it: relations that hold both ways are left out, and some
counterfactuals may be true all the same.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import caption_graphs
from workbench import data
from workbench.data.counterfactuals import Counterfactual, with_counterfactuals
from workbench.records import SceneGraph, Split, require
from workbench.text import NegativeMaker

# they hold of both sides where they hold of one
BOTH_WAYS = frozenset({"next to", "near", "beside", "with", "by", "and", "alongside", "meet", "face"})
# numbers, which stand before other words than looks do
NUMBERS = frozenset({"a", "one", "two", "three", "four", "five", "six", "several", "many", "some", "few"})
Way = tuple[str, str, SceneGraph]
Ways = Callable[[str, SceneGraph], Iterator[Way]]


def swaps(
    *,
    of: str = "flickr8k",
    options: Mapping[str, Any] = {},
    split: Literal["train", "val", "test"] = "test",
) -> Split:
    """Return any data with counterfactuals of its captions.

    Args:
        of: a data set or a path, as ``workbench.data.load`` reads it.
        options: its options.
        split: its split.

    Returns:
        The captions followed by their counterfactuals, with ``Split.counterfactuals`` for ``"attributes"``,
        ``"things"`` and ``"relations"``.

    Raises:
        ValueError: no caption has a counterfactual; and as the data are loaded.
    """
    return swapped(data.load(of, split=split, **options))


def swapped(split: Split) -> Split:
    """Return the captions of a split with a counterfactual of each kind that they have, see above."""
    counterfactuals = list(_counterfactuals(split, WAYS))
    require(counterfactuals, f"{split.name}: no caption has two things or attributes that can be exchanged")
    return with_counterfactuals(replace(split, name=f"{split.name}, swapped"), counterfactuals)


class Counterfactuals(NegativeMaker):
    """Makes captions that are false of their images, for training: the counterfactuals of captions, see
    above.

    Args:
        kinds: what is exchanged, of ``"attributes"``, ``"things"`` and ``"relations"``.
    """

    name = "counterfactuals"

    def __init__(
        self,
        *,
        kinds: tuple[Literal["attributes", "things", "relations"], ...] = (
            "attributes",
            "things",
            "relations",
        ),
    ) -> None:
        self.kinds = kinds

    def transform(self, split: Split) -> tuple[tuple[str, ...], ...]:
        """Return ``(T,)`` counterfactuals of each caption, none where there are none."""
        texts: list[list[str]] = [[] for _ in split.captions]
        for row, text, _ in _counterfactuals(split, {kind: WAYS[kind] for kind in self.kinds}):
            texts[row].append(text)
        return tuple(map(tuple, texts))


def _counterfactuals(split: Split, kinds: Mapping[str, Ways]) -> Iterator[Counterfactual]:
    """Yield the counterfactuals of captions that are false of their images."""
    graphs = split.caption_graphs or caption_graphs.parse(split.captions)
    of_image: list[set[str]] = [set() for _ in split.image_ids]
    for caption, image in zip(split.captions, split.own, strict=True):
        of_image[image].add(caption)
    for row, (caption, graph) in enumerate(zip(split.captions, graphs, strict=True)):
        for kind, ways in kinds.items():
            texts = ((exchange_phrases(caption, *way[:2]), way[2]) for way in ways(caption, graph))
            if text := _first_counterfactual(split, row, texts, of_image):
                yield Counterfactual(row, text, kind)


def _first_counterfactual(
    split: Split, row: int, ways: Iterator[tuple[str, SceneGraph]], of_image: list[set[str]]
) -> str:
    """Return the first counterfactual of a caption that is false of its image; empty if there is none."""
    image = int(split.own[row])
    for text, graph in ways:
        if not text or text in of_image[image]:
            continue
        if split.grade is not None and split.image_graphs is not None:
            truth = split.grade(graph, [split.image_graphs[image]])
            if truth.unknown or truth.unclear or truth.holds[0] != 0:
                continue
        return text
    return ""


def exchange_phrases(text: str, first: str, second: str) -> str:
    """Return a text with two phrases in each other's place, their articles made right; empty where either
    does not stand there exactly once.

    >>> exchange_phrases("a red cat and an old dog", "red", "old")
    'an old cat and a red dog'
    """
    pattern = re.compile(rf"(\b[Aa]n? )?\b({re.escape(first)}|{re.escape(second)})\b")
    if sorted(match[2] for match in pattern.finditer(text)) != sorted((first, second)):
        return ""

    def replacement(match: re.Match[str]) -> str:
        word = second if match[2] == first else first
        if not match[1]:
            return word
        article = "n" if word[0] in "aeiou" else ""
        return f"{match[1][0]}{article} {word}"

    return pattern.sub(replacement, text)


def _attribute_swaps(_: str, graph: SceneGraph) -> Iterator[Way]:
    # a look that two things have may stand there for the other one, in another word
    lone = Counter(look for _, look in graph.attributes)
    for (i, a), (j, b) in combinations(graph.attributes, 2):
        if i != j and lone[a] == lone[b] == 1 and not {a, b} & NUMBERS:
            new = {(i, a): (i, b), (j, b): (j, a)}
            yield a, b, replace(graph, attributes=tuple(new.get(pair, pair) for pair in graph.attributes))


def _thing_swaps(_: str, graph: SceneGraph) -> Iterator[Way]:
    for i, j in combinations(range(len(graph.objects)), 2):
        names = list(graph.objects)
        names[i], names[j] = names[j], names[i]
        if names.count(names[i]) == names.count(names[j]) == 1:
            yield names[i], names[j], replace(graph, objects=tuple(names))


def _relation_swaps(text: str, graph: SceneGraph) -> Iterator[Way]:
    for s, tie, o in graph.relations:
        turn, sides = {s: o, o: s}, (_phrase(text, graph, s), _phrase(text, graph, o))
        if tie not in BOTH_WAYS and all(sides):
            ties = tuple((turn.get(a, a), r, turn.get(b, b)) for a, r, b in graph.relations)
            yield *sides, replace(graph, relations=ties)


def _phrase(text: str, graph: SceneGraph, node: int) -> str:
    """Return a thing that stands in a text once, with all its looks before it; empty where it does not."""
    looks, noun = [re.escape(a) for n, a in graph.attributes if n == node], re.escape(graph.objects[node])
    before = f"(?:(?:{'|'.join(looks)}) )*" if looks else ""
    phrases = re.findall(rf"\b({before}){noun}\b", text)
    whole = len(phrases) == 1 and sorted(phrases[0].split()) == sorted(" ".join(looks).split())
    return phrases[0] + graph.objects[node] if whole else ""


WAYS = {"attributes": _attribute_swaps, "things": _thing_swaps, "relations": _relation_swaps}
