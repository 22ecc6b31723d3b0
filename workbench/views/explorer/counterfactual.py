"""What if the sentence said something else: edits of its scene graph, and what they do to one image's score
and rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import text
from workbench.records import SceneGraph
from workbench.views.explorer import order
from workbench.views.explorer.answers import Edit
from workbench.views.explorer.asker import Asker
from workbench.views.explorer.questions import Question
from workbench.views.explorer.wording import changed, described, drops, sentence


def graph_of(question: Question) -> SceneGraph | None:
    """The scene graph of the question's words, unedited; ``None`` where it is no text alone, or nobody asked
    for its graph.

    Raises:
        ValueError: an edit of a question without words.
    """
    if question.changes and not question.words:
        raise ValueError("only a question that is a text alone has a scene graph to edit")
    if not question.words or not (question.changes or "graph" in question.extras):
        return None
    graph: SceneGraph = text.load("scene_graph").of([question.words]).graphs[0]
    return graph


def reworded(question: Question, graph: SceneGraph) -> str:
    """The sentence of the graph after the question's edits."""
    for change in question.changes:
        graph = changed(graph, change)
    return sentence(graph)


def edits(askers: Sequence[Asker], question: Question, watched: int | None) -> dict[str, Any]:
    """The edited graph, and what the edits so far and every further drop do to the watched image.

    Returns:
        ``graph`` and ``edits`` of an answer; neither where the question is no text that asks for images.
    """
    graph = graph_of(question)
    if graph is None or watched is None or question.seeks != "images":
        return {"graph": graph}
    told: list[tuple[Any, ...]] = [
        ("asked", "as asked", question.words),
        ("remade", "said again from the graph", sentence(graph)),
    ]
    for change in question.changes:
        label, graph = described(graph, change), changed(graph, change)
        told.append(("edited", label, sentence(graph)))
    for change in drops(graph):
        told.append(
            ("drop", described(graph, change), sentence(changed(graph, change)), change.part, change.index)
        )
    found = [asker.sentences([one[2] for one in told]) for asker in askers]
    made = []
    for number, (kind, label, words, *place) in enumerate(told):
        scores = tuple(float(one[watched, number]) for one in found)
        ranks = tuple(order.places(one[:, number], [watched])[0] or 0 for one in found)
        made.append(Edit(kind, label, words, scores, ranks, *place))
    return {"graph": graph, "edits": tuple(made)}
