"""Scene graphs of captions: objects, attributes and relations, read from spaCy's dependencies by rules.

What counts as an object, an attribute or a relation is written down in
``tools/caption_graphs/data/README.md``.

A caption is read in five steps: misspelt words are put right (``spelling``), set phrases are folded
(``wording``, ``looks``), spaCy parses with weights that have learnt captions (``tree``), some phrases are
moved to the word they belong to (``placement``), and rules read what the tree says (``naming``,
``statements``, ``read``). The words that the rules know by name are in ``vocabulary``. Beside them lie
``store``, which keeps parsed captions.
"""

import gc
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context

import networkx
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caption_graphs import spelling, tree, wording
from caption_graphs.placement import placed
from caption_graphs.read import PLURAL, read_graph
from caption_graphs.vocabulary import Word
from workbench.records import Rows, SceneGraph
from workbench.registry import Natural
from workbench.text.signal import SignalMaker

CHUNK = 256
AT_ONCE = 4096  # captions whose trees are in memory together
WORTH = 16_384  # captions, 10 s of work for one process; below that, others would cost more than they bring
AHEAD = 2  # chunks that wait for a process while it reads
__all__ = [
    "SceneGraphSignal",
    "SceneGraphs",
    "from_networkx",
    "parse",
    "to_networkx",
]


@dataclass(frozen=True)
class SceneGraphSignal:
    """Scene graphs of ``N`` captions.

    Args:
        graphs: one a caption.
        fallbacks: ``(F,)`` rows of the captions in which no object was found; their graph is one object, the
            whole caption.
        model: the spaCy model that parsed them.
    """

    graphs: tuple[SceneGraph, ...]
    fallbacks: NDArray[np.int64]
    model: str
    name = "scene_graph"

    def __len__(self) -> int:
        return len(self.graphs)

    def take(self, rows: Rows) -> tuple[SceneGraph, ...]:
        """The graphs of these captions."""
        return tuple(self.graphs[row] for row in rows)


class SceneGraphs(SignalMaker):
    """Parses captions, and remembers what it parsed.

    Args:
        processes: processes that parse, this one among them. Each of the others loads the model first, which
            takes seconds, so that fewer than 16,384 captions are parsed by this one alone.
        plurals: also give things in the plural that nobody has counted the attribute ``"plural"``, since
            "some birds" says more than "a bird".
    """

    name = "scene_graph"

    def __init__(self, *, processes: Natural = 1, plurals: bool = False) -> None:
        self.processes, self.plurals = processes, plurals
        self._known: dict[str, SceneGraph | None] = {}

    def of(self, captions: Sequence[str]) -> SceneGraphSignal:
        """The graphs of the captions.

        Raises:
            OSError: no English spaCy model is installed.
        """
        new = list(dict.fromkeys(caption for caption in captions if caption not in self._known))
        self._known.update(zip(new, map(self._kept, _graphs(new, self.processes)), strict=True))
        graphs = tuple(self._known[caption] or SceneGraph((caption,)) for caption in captions)
        lost = [row for row, caption in enumerate(captions) if self._known[caption] is None]
        return SceneGraphSignal(graphs, np.array(lost, dtype=np.int64), tree.model()[1])

    def _kept(self, graph: SceneGraph | None) -> SceneGraph | None:
        return graph if graph is None or self.plurals else _unmarked(graph)


def parse(captions: Sequence[str]) -> tuple[SceneGraph, ...]:
    """The scene graphs of some captions.

    Args:
        captions: any texts.

    Returns:
        One graph a caption; a caption without any object gives one object that holds the whole caption.

    Raises:
        TypeError: one text was given, not several.

    Example:
        >>> parse(["A man rides a brown horse."])[0].relations
        ((0, 'ride', 1),)
    """
    if isinstance(captions, str):
        raise TypeError("parse: give a list of captions, such as [caption], not one text")
    return SceneGraphs().of(captions).graphs


def _graphs(captions: Sequence[str], processes: int) -> list[SceneGraph | None]:
    """Graphs of distinct captions, None for one without an object."""
    if processes == 1 or len(captions) < WORTH:
        return _read(captions)
    chunks = [captions[start : start + CHUNK] for start in range(0, len(captions), CHUNK)]
    # One thread a process: the processes share the cores already.
    pool = ProcessPoolExecutor(processes - 1, get_context("spawn"), threadpool_limits, (1,))
    ready = [pool.submit(tree.model_name) for _ in range(processes - 1)]
    here, there = dict[int, list[SceneGraph | None]](), dict[int, Future[list[SceneGraph | None]]]()
    left = deque(range(len(chunks)))
    try:
        with threadpool_limits(1):
            while left:
                # A worker needs seconds to start: what it was given before that, this process would wait for.
                started = sum(one.done() for one in ready)
                waiting = sum(not one.done() for one in there.values())
                for _ in range(min(started * AHEAD - waiting, len(left) - 1)):
                    i = left.popleft()
                    there[i] = pool.submit(_read, chunks[i])
                i = left.pop()
                here[i] = _read(chunks[i])
        found = here | {i: future.result() for i, future in there.items()}
    finally:
        pool.shutdown(wait=all(one.done() for one in ready), cancel_futures=True)
    return [graph for i in range(len(chunks)) for graph in found[i]]


def _read(captions: Sequence[str]) -> list[SceneGraph | None]:
    with _uncollected():
        starts = range(0, len(captions), AT_ONCE)
        return [graph for start in starts for graph in _read_some(captions[start : start + AT_ONCE])]


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for circles of references meanwhile: trees have none, and are so many that it would begin
    again and again.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _read_some(captions: Sequence[str]) -> list[SceneGraph | None]:
    sentences = [split(caption) for caption in captions]
    trees = map(placed, tree.trees([words for several in sentences for words in several]))
    return [read_graph([next(trees) for _ in several]) for several in sentences]


def split(caption: str) -> list[list[Word]]:
    """The sentences of a caption as words that the parser reads."""
    return [wording.fold(sentence) for sentence in wording.sentences(spelling.words(caption))]


def graph_of(trees: Sequence[tree.Tree]) -> SceneGraph | None:
    """The scene graph that the trees of a caption's sentences give; they are changed. None where no word
    names an object.
    """
    graph = read_graph([placed(one) for one in trees])
    return _unmarked(graph) if graph else None


def _unmarked(graph: SceneGraph) -> SceneGraph:
    """A graph without the marks of plurals."""
    return replace(graph, attributes=tuple(pair for pair in graph.attributes if pair[1] != PLURAL))


def to_networkx(graph: SceneGraph) -> networkx.DiGraph:
    """The graph with one vertex for each object and attribute.

    Args:
        graph: objects, attributes, relations.

    Returns:
        Vertices are numbered, objects first; each has ``kind`` (``"object"`` or ``"attribute"``) and
        ``label``. An edge has ``kind`` (``"attribute"`` or ``"relation"``) and ``labels``, a tuple, since two
        things may be related twice.
    """
    made = networkx.DiGraph()
    made.add_nodes_from((node, {"kind": "object", "label": name}) for node, name in enumerate(graph.objects))
    for number, (node, attribute) in enumerate(graph.attributes, len(graph.objects)):
        made.add_node(number, kind="attribute", label=attribute)
        made.add_edge(node, number, kind="attribute", labels=())
    for subject, relation, thing in graph.relations:
        before = made.edges[subject, thing]["labels"] if made.has_edge(subject, thing) else ()
        made.add_edge(subject, thing, kind="relation", labels=(*before, relation))
    return made


def from_networkx(graph: networkx.DiGraph) -> SceneGraph:
    """What ``to_networkx`` was given."""
    objects = [v for v, data in graph.nodes(data=True) if data["kind"] == "object"]
    number, edges = {vertex: i for i, vertex in enumerate(objects)}, graph.edges(data=True)
    return SceneGraph(
        tuple(graph.nodes[v]["label"] for v in objects),
        tuple((number[a], graph.nodes[b]["label"]) for a, b, data in edges if data["kind"] == "attribute"),
        tuple(
            (number[a], label, number[b])
            for a, b, data in edges
            if data["kind"] == "relation"
            for label in data["labels"]
        ),
    )
