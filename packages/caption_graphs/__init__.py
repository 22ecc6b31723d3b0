"""Scene graphs of captions: objects, attributes and relations, read from spaCy's dependencies by rules.

What counts as an object, an attribute or a relation is written down in
``tools/caption_graphs/data/README.md``.

A caption is read in five steps: misspelt words are put right (``spelling``), set phrases are folded
(``wording``, ``frames``, ``looks``), spaCy parses with weights that have learnt captions (``tree``), some
phrases are moved to the word they belong to (``placement``), and rules read what the tree says (``naming``,
``statements``, ``read``). The words that the rules know by name are in ``vocabulary``.
"""

import hashlib
from collections.abc import Callable, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caption_graphs import spelling, tree, wording
from caption_graphs.placement import place_phrases
from caption_graphs.read import read_graph, unread_words
from caption_graphs.sentences import sentence
from caption_graphs.vocabulary import ASSETS, Word
from workbench.records import Rows, SceneGraph, require
from workbench.registry import Natural
from workbench.text.signal import SignalMaker

if TYPE_CHECKING:
    import networkx

CHUNK = 1024  # captions whose trees are in memory together
WORTH = 16_384  # captions, 10 s of work for one process; below that, others would cost more than they bring
# graphs of a chunk of captions, None for one without an object
Reader = Callable[[Sequence[str]], list[SceneGraph | None]]
__all__ = ["SceneGraphSignal", "SceneGraphs", "parse", "split", "to_networkx"]


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
        """Return the graphs of these captions."""
        return tuple(self.graphs[row] for row in rows)


class SceneGraphs(SignalMaker):
    """Parses captions, and remembers what it parsed.

    Args:
        processes: processes that parse, this one among them. Each of the others loads the model first, which
            takes seconds, so that fewer than 16,384 captions are parsed by this one alone.
        plurals: also give things in the plural that nobody has counted the attribute ``"plural"``, since
            "some birds" says more than "a bird".
        corrects: put misspelt words right. What a person types is read as it stands, since a model reads it
            so.
    """

    name = "scene_graph"

    def __init__(self, *, processes: Natural = 1, plurals: bool = False, corrects: bool = True) -> None:
        self.processes, self.plurals = processes, plurals
        self.corrects = corrects
        self._parsed: dict[str, SceneGraph | None] = {}

    def transform(self, captions: Sequence[str]) -> SceneGraphSignal:
        """Return the graphs of the captions.

        Raises:
            OSError: no English spaCy model is installed.
        """
        new = list(dict.fromkeys(caption for caption in captions if caption not in self._parsed))
        self._parsed.update(zip(new, self._distinct_graphs(new), strict=True))
        graphs = [self._parsed[caption] for caption in captions]
        lost = [row for row, graph in enumerate(graphs) if graph is None]
        whole = tuple(
            graph or SceneGraph((caption,)) for caption, graph in zip(captions, graphs, strict=True)
        )
        return SceneGraphSignal(whole, np.array(lost, dtype=np.int64), tree.model()[1])

    def _distinct_graphs(self, captions: Sequence[str]) -> list[SceneGraph | None]:
        read = partial(_parse_chunk, plurals=self.plurals, corrects=self.corrects)
        return _parse_distinct(captions, self.processes, read)

    def unread_words(self, caption: str) -> tuple[str, ...]:
        """Return the words of a caption that its graph holds in no form; small words such as "the" are left
        out.

        >>> SceneGraphs().unread_words("A cat and a hous")
        ('hous',)
        """
        return unread_words(caption, self.transform([caption]).graphs[0])

    def restate(self, caption: str) -> str:
        """Return what the graph of a caption says, as a plain sentence.

        >>> SceneGraphs().restate("Look, two cats on a big box!")
        'two cats on a big box'
        """
        return sentence(self.transform([caption]).graphs[0])

    def unusual_words(self, caption: str, usual: Set[str] = frozenset()) -> dict[str, tuple[str, ...]]:
        """Return the words of a caption that captions do not use, each with those near to it, the nearest
        first.

        Args:
            caption: any text.
            usual: lower-case words that are usual besides, such as those of one's own captions.

        >>> SceneGraphs().unusual_words("A gren elefant")["elefant"]
        ('elegant', 'elephant', 'elephants')
        """
        return spelling.unusual_words(caption, usual)

    def identity(self) -> str:
        """Return what tells the graphs of this parser from those of another: a hash of its rules, words,
        weights and spaCy model, whether it marks plurals, and whether it leaves slips as they are.
        """
        marks = "-plurals" if self.plurals else ""
        return f"{_code_hash()}{marks}" if self.corrects else f"{_code_hash()}{marks}-as_written"


def parse(captions: Sequence[str]) -> tuple[SceneGraph, ...]:
    """Return the scene graphs of some captions.

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
    several = not isinstance(captions, str)
    require(several, "parse: give a list of captions, such as [caption], not one text", TypeError)
    return SceneGraphs().transform(captions).graphs


def _parse_distinct(captions: Sequence[str], processes: int, read: Reader) -> list[SceneGraph | None]:
    """Return graphs of distinct captions, None for one without an object."""
    chunks = [captions[start : start + CHUNK] for start in range(0, len(captions), CHUNK)]
    if processes == 1 or len(captions) < WORTH:
        return list(chain.from_iterable(map(read, chunks)))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return list(chain.from_iterable(pool.map(read, chunks)))


def _parse_chunk(captions: Sequence[str], *, plurals: bool, corrects: bool) -> list[SceneGraph | None]:
    sentences = [split(caption, corrects=corrects) for caption in captions]
    # One thread: the model's matrices are so small that two wait for each other longer than they work.
    with threadpool_limits(1, "blas"):
        trees = map(place_phrases, tree.parse_trees(list(chain.from_iterable(sentences))))
        return [read_graph(list(islice(trees, len(several))), plurals=plurals) for several in sentences]


def split(caption: str, *, corrects: bool = True) -> list[list[Word]]:
    """Return the sentences of a caption as words that the parser reads."""
    words = spelling.corrected_words(caption) if corrects else wording.tokens(caption)
    return [wording.fold(sentence) for sentence in wording.sentences(words)]


@cache
def _code_hash() -> str:
    pipeline, name = tree.model()
    digest = hashlib.sha256(f"{name} {pipeline.meta['version']}".encode())
    for file in [*sorted(Path(__file__).parent.glob("*.py")), *sorted(ASSETS.iterdir())]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def to_networkx(graph: SceneGraph) -> "networkx.DiGraph":
    """Return the graph with one vertex for each object and attribute.

    Args:
        graph: objects, attributes, relations.

    Returns:
        Vertices are numbered, objects first; each has ``kind`` (``"object"`` or ``"attribute"``) and
        ``label``. An edge has ``kind`` (``"attribute"`` or ``"relation"``) and ``labels``, a tuple, since two
        things may be related twice.
    """
    import networkx  # slow to import

    drawn: networkx.DiGraph = networkx.DiGraph()
    drawn.add_nodes_from((node, {"kind": "object", "label": name}) for node, name in enumerate(graph.objects))
    for number, (node, attribute) in enumerate(graph.attributes, len(graph.objects)):
        drawn.add_node(number, kind="attribute", label=attribute)
        drawn.add_edge(node, number, kind="attribute", labels=())
    for subject, relation, thing in graph.relations:
        before = drawn.edges[subject, thing]["labels"] if drawn.has_edge(subject, thing) else ()
        drawn.add_edge(subject, thing, kind="relation", labels=(*before, relation))
    return drawn
