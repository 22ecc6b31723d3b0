"""Graph tokens: scene graphs of captions as numbers, so that a batch of graphs is tensors and nothing else.

The name of an object, an attribute or a relation is a *phrase*. Phrases are numbered from 1 within a signal;
0 means that there is none. With a batch come the words of its distinct phrases, as token ids or as vectors of
a frozen text encoder.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from workbench.io import cached_texts
from workbench.records import Array, Rows, SceneGraph, require
from workbench.registry import Count, Natural
from workbench.text.signal import Ragged, SignalMaker
from workbench.text.tokens import Tokens, TokenSignal
from workbench.text.word_features import WordFeatures
from workbench.text.word_pieces import WordPieces

LONGEST = 32


@dataclass(frozen=True)
class GraphTokenSignal:
    """Graphs of ``N`` captions.

    Args:
        objects: phrase of each object; every caption has one at least.
        attributes: of each object ``(A,)`` phrases of its attributes, 0 = none.
        relations: ``(3,)`` each: position of the subject among the caption's objects, phrase, position of the
            object.
        phrases: ``(P,)`` the phrases in words; number ``n`` is ``phrases[n - 1]``.
        words: their token ids, or ``(P, D)`` vectors.
    """

    objects: Ragged
    attributes: Ragged
    relations: Ragged
    phrases: tuple[str, ...]
    words: TokenSignal | Array

    def take(self, rows: Rows) -> dict[str, torch.Tensor]:
        """Return the graphs of these captions: ``objects (n, O)``, ``attributes (n, O, A)``, ``relations (n,
        R, 3)``, all padded with 0; ``phrases (U,)``, the distinct ones of these captions in ascending order;
        ``words``, ``(U, L)`` ids padded with 0 or ``(U, D)`` vectors.
        """
        sides = {"objects": self.objects, "attributes": self.attributes, "relations": self.relations}
        graphs = {name: side.pad(rows)[0] for name, side in sides.items()}
        named = graphs["objects"], graphs["attributes"], graphs["relations"][..., 1]
        phrases = np.setdiff1d(np.concatenate(named, axis=None), [0])
        taken = {key: torch.from_numpy(value) for key, value in graphs.items()}
        words = (
            torch.from_numpy(self.words[phrases - 1])
            if isinstance(self.words, np.ndarray)
            else self.words.take(phrases - 1)
        )
        return {**taken, "phrases": torch.from_numpy(phrases), "words": words}


class GraphTokens(SignalMaker):
    """Parses captions and numbers what it finds.

    Args:
        tokens: options of the signal ``tokens`` that reads the phrases, or of ``word_pieces``, which has a
            ``model``; ``None`` = whole words, the vocabulary fitted on the phrases and captions of the pool.
        features: a frozen text encoder, by the names of ``word_features``; then a phrase is the mean of its
            tokens' vectors.
        objects: the most objects that are kept of a caption, the first ones; ``attributes``: the most
            attributes of one object; ``relations``: the most relations in which one object is the subject,
            and also the most in which it is the object.
        cache: folder where parsed captions and features are kept; ``None`` keeps them in memory only.
        cache_from: fewer captions than this stay in memory, so that single queries leave no files.
        processes: how many processes parse.

    Raises:
        ValueError: both ``tokens`` and ``features`` are given.
    """

    name = "graph_tokens"

    def __init__(
        self,
        *,
        tokens: Mapping[str, Any] | None = None,
        features: str = "",
        objects: Natural = 13,
        attributes: Natural = 4,
        relations: Natural = 13,
        cache: str | None = None,
        cache_from: Count = 256,
        processes: Natural = 1,
    ) -> None:
        require(
            tokens is None or not features,
            "graph_tokens: give tokens (ids of words) or features (vectors of phrases), not both",
        )
        self.objects = objects
        self.attributes = attributes
        self.relations = relations
        self.cache = cache
        self.cache_from = cache_from
        self.processes = processes
        options = {"max_length": LONGEST} if tokens is None else dict(tokens)
        self._reader: WordFeatures | WordPieces | Tokens
        if features:
            self._reader = WordFeatures(model=features, cache=cache, cache_from=cache_from)
        elif "model" in options:
            self._reader = WordPieces(**options)
        else:
            self._reader = Tokens(**options)

    @cached_property
    def parser(self) -> Any:
        """The registry's parser, loaded when a caption is read first."""
        from workbench.text import load

        return load("scene_graph", processes=self.processes)

    @property
    def vocabulary(self) -> list[str]:
        """Words that the tokens know; empty for features, word pieces and open_clip's tokenizers."""
        return self._reader.vocabulary if isinstance(self._reader, Tokens) else []

    def fit(self, captions: Sequence[str]) -> Self:
        """Learn the vocabulary, where words are read."""
        if isinstance(self._reader, Tokens):
            phrases = chain.from_iterable(map(_phrases_of_graph, self.graphs(captions)))
            self._reader.fit([*dict.fromkeys(phrases), *captions])
        return self

    def graphs(self, captions: Sequence[str]) -> tuple[SceneGraph, ...]:
        """Return the scene graphs of the captions, from the cache where they lie there."""
        if self.cache is None or len(captions) < self.cache_from:
            graphs: tuple[SceneGraph, ...] = self.parser.transform(captions).graphs
            return graphs
        return cached_graphs(self.parser, Path(self.cache), captions)

    def transform(self, captions: Sequence[str]) -> GraphTokenSignal:
        """Return the graphs of the captions as numbers."""
        number: dict[str, int] = {}
        numbers = [self._graph_as_numbers(graph, number) for graph in self.graphs(captions)]
        objects, attributes, relations = zip(*numbers, strict=True) if numbers else ((), (), ())
        return GraphTokenSignal(
            Ragged.from_rows(objects),
            Ragged.from_rows(attributes, width=self.attributes),
            Ragged.from_rows(relations, width=3),
            tuple(number),
            self._phrase_tokens(tuple(number)),
        )

    def _graph_as_numbers(
        self, graph: SceneGraph, number: dict[str, int]
    ) -> tuple[list[int], list[list[int]], list[list[int]]]:
        """Return a graph within the limits: objects, their attributes padded with 0, and relations."""

        def number_of(phrase: str) -> int:
            return number.setdefault(phrase.lower(), len(number) + 1)

        objects = [number_of(name) for name in graph.objects[: self.objects]]
        attributes: list[list[int]] = [[] for _ in objects]
        for node, attribute in graph.attributes:
            if node < len(objects) and len(attributes[node]) < self.attributes:
                attributes[node].append(number_of(attribute))
        active = [0] * len(objects)
        passive = [0] * len(objects)
        relations = []
        for subject, relation, thing in graph.relations:
            if max(subject, thing) < len(objects) and max(active[subject], passive[thing]) < self.relations:
                active[subject] += 1
                passive[thing] += 1
                relations.append([subject, number_of(relation), thing])
        return objects, [row + [0] * (self.attributes - len(row)) for row in attributes], relations

    def _phrase_tokens(self, phrases: tuple[str, ...]) -> TokenSignal | Array:
        if not isinstance(self._reader, WordFeatures):
            return self._reader.transform(phrases)
        features = self._reader.transform(phrases)
        sums = np.add.reduceat(features.flat.astype(np.float32), features.starts[:-1], axis=0)
        return np.asarray(sums / np.diff(features.starts)[:, None], dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """Return what the reader of the phrases learnt."""
        return self._reader.state()

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned."""
        self._reader.restore(state)
        return self


def _phrases_of_graph(graph: SceneGraph) -> list[str]:
    """Return the names of the objects, then of the attributes, then of the relations."""
    attributes = [attribute for _, attribute in graph.attributes]
    relations = [relation for _, relation, _ in graph.relations]
    return [*graph.objects, *attributes, *relations]


def cached_graphs(parser: Any, folder: Path, captions: Sequence[str]) -> tuple[SceneGraph, ...]:
    """Return graphs of captions, from a database that processes may share; what it lacks is parsed and added.
    A parser is the member ``scene_graph`` of this registry, a ``SignalMaker`` of this package or another. It
    takes ``processes`` and ``plurals``, and has ``transform(captions).graphs`` and ``identity()``, which
    tells it from other parsers.

    Raises:
        ChecksumError: the database is damaged; the message names it and the remedy.
    """

    def parse(new: list[str]) -> list[bytes]:
        graphs = parser.transform(new).graphs
        return [json.dumps([graph.objects, graph.attributes, graph.relations]).encode() for graph in graphs]

    rows = cached_texts(folder / f"scene_graphs-{parser.identity()}.sqlite", captions, parse)
    return tuple(SceneGraph.from_lists(*json.loads(rows[caption])) for caption in captions)


MEMBER = GraphTokens
