"""The scene graph of a question: drop or swap a part, and see what that does to the watched image.

Edited sentences are compared with the unedited one as it is written from its graph, so that only the edit
differs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from caption_graphs.panels.edits import Change, apply_change, describe_change, possible_drops
from caption_graphs.sentences import sentence
from workbench.records import SceneGraph, require
from workbench.views.explorer import Panel, Question, Term
from workbench.views.explorer.gallery import ranking

SAMPLE = 300
OFFERED = 200


@dataclass(frozen=True)
class Edits:
    """What the panel sets: edits of the scene graph of the words, in their order."""

    changes: tuple[Change, ...] = ()


class Graph(Panel):
    """Edits the scene graph of a question that is a text alone."""

    name = "graph"
    title = "Scene graph: edit the query and see what changes"
    encodes = True
    reads = True
    Settings = Edits

    def reword(self, question: Question, settings: Edits) -> Question:
        """Return the sentence that the edited graph makes; the graph grades it.

        Raises:
            ValueError: the question is not a text alone, or the graph has no such part.
        """
        if not settings.changes:
            return question
        graph = self._graphs(question, settings)[-1]
        return replace(question, terms=(Term("text", sentence(graph), graph=graph),))

    def answer(self, question: Question, settings: Edits | None, watched: int | None) -> Mapping[str, Any]:
        """Return the edited graph, the words that a swap is offered, and what the edits so far and every
        further drop do to the watched image.
        """
        if not question.words:
            return {"graph": None, "edits": [], "vocabulary": {}}
        changes = settings.changes if settings else ()
        graphs = self._graphs(question, Edits(changes))
        edits: list[dict[str, Any]] = []
        if watched is not None and question.seeks == "images" and self.engine.encodes:
            edits = self._score_rows(_compared_rows(question.words, graphs, changes), watched)
        return {"graph": graphs[-1], "edits": edits, "vocabulary": self.vocabulary}

    def _graphs(self, question: Question, settings: Edits) -> list[SceneGraph]:
        """Return the graph of the words, and the one after each edit."""
        require(question.words, "only a question that is a text alone has a scene graph to edit")
        graph = self.engine.graph_parser.transform([question.words]).graphs[0]
        return list(accumulate(settings.changes, apply_change, initial=graph))

    def _score_rows(self, rows: list[tuple[str, str, str]], watched: int) -> list[dict[str, Any]]:
        sentences = [words for _, _, words in rows]
        scores = [answerer.score_sentences(sentences) for answerer in self.engine.answerers]
        edits = []
        for number, (kind, label, words) in enumerate(rows):
            columns = [of_run[:, number] for of_run in scores]
            of_watched = [float(column[watched]) for column in columns]
            ranks = [int(ranking(column)[1][watched]) for column in columns]
            edit = {"kind": kind, "label": label, "sentence": words, "scores": of_watched, "ranks": ranks}
            edits.append(edit)
        return edits

    @cached_property
    def vocabulary(self) -> dict[str, list[str]]:
        """Objects, attributes and relations that the data speak of, most frequent first."""
        split = self.engine.split
        graphs = split.caption_graphs or self.engine.graph_parser.transform(split.captions[:SAMPLE]).graphs
        objects = Counter[str]()
        attributes = Counter[str]()
        relations = Counter[str]()
        for graph in graphs:
            objects.update(graph.objects)
            attributes.update(word for _, word in graph.attributes)
            relations.update(word for _, word, _ in graph.relations)
        counts = {"objects": objects, "attributes": attributes, "relations": relations}
        return {part: list(dict(words.most_common(OFFERED))) for part, words in counts.items()}


def _compared_rows(
    words: str, graphs: list[SceneGraph], changes: Iterable[Change]
) -> list[tuple[str, str, str]]:
    """Return kind, label and sentence of what is compared.

    Args:
        words: as they were asked.
        graphs: of the words, and after each edit.
        changes: the edits.
    """
    rows = [
        ("asked", "as asked", words),
        ("remade", "rewritten from the graph", sentence(graphs[0])),
    ]
    for (old, new), change in zip(pairwise(graphs), changes, strict=True):
        rows.append(("edited", describe_change(old, change), sentence(new)))
    for drop in possible_drops(graphs[-1]):
        rows.append(("drop", describe_change(graphs[-1], drop), sentence(apply_change(graphs[-1], drop))))
    return rows
