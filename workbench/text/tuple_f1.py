"""Tuple F1: how much two scene graphs say the same, as the F1 of their objects, attributes and relations.

A graph is a set of tuples: ``(object,)``, ``(object, attribute)`` and ``(subject, relation, object)``. The
reference captions of an image make one set, the union of their graphs' tuples. With c tuples in the
candidate, r in the references and m in both: ``P = m / c``, ``R = m / r``,
``F1 = 2 P R / (P + R) = 2 m / (c + r)``; without a match all three are 0.

Source: Anderson, Fernando, Johnson, Gould, "SPICE: Semantic Propositional Image Caption Evaluation", ECCV
2016, equations 2-5.
Departures: the graphs come from the workbench's own parser and not from the Stanford one, and tuples match by
lemma or by synonym sets that the user gives and not by WordNet. The numbers are therefore not those of SPICE,
and the metric does not bear that name.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from workbench.records import Array, Rows, SceneGraph, require
from workbench.text.signal import Relevance, RelevanceMaker, image_rows

Synonyms = Sequence[Collection[str]]
Parser = Callable[[Sequence[str]], Sequence[SceneGraph]]
Tuples = frozenset[tuple[str, ...]]
PARTS = {"objects": 1, "attributes": 2, "relations": 3}


@dataclass(frozen=True)
class TupleScore:
    """How many tuples match, and how many the candidate and the references have; scores of several graphs
    add up to their micro average.
    """

    matched: int
    candidate: int
    reference: int

    @property
    def precision(self) -> float:
        """Share of the candidate's tuples that the references hold; 0 where there are none."""
        return self.matched / max(self.candidate, 1)

    @property
    def recall(self) -> float:
        """Share of the references' tuples that the candidate holds; 0 where there are none."""
        return self.matched / max(self.reference, 1)

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        return 2 * self.matched / max(self.candidate + self.reference, 1)

    def __add__(self, other: "TupleScore") -> "TupleScore":
        return TupleScore(
            self.matched + other.matched, self.candidate + other.candidate, self.reference + other.reference
        )


def tuple_f1(
    candidate: SceneGraph, references: Sequence[SceneGraph], synonyms: Synonyms | None = None
) -> float:
    """Compute F1 of a candidate's tuples against the union of the references' tuples, in [0, 1].

    Args:
        candidate: graph of one caption.
        references: graphs of an image's captions, or the graph of a scene.
        synonyms: sets of names that count as the same, e.g. ``[{"man", "guy"}, {"left of", "to left of"}]``.

    >>> girl = SceneGraph(("girl", "court"), ((0, "young"),), ((0, "on", 1),))
    >>> truth = SceneGraph(("girl", "court", "racket"), ((0, "young"),), ((0, "holding", 2),))
    >>> round(tuple_f1(girl, [truth]), 6)
    0.666667
    """
    return tuple_scores(candidate, references, synonyms)["all"].f1


def tuple_scores(
    candidate: SceneGraph, references: Sequence[SceneGraph], synonyms: Synonyms | None = None
) -> dict[str, TupleScore]:
    """Return the scores of ``"all"`` tuples, and of ``"objects"``, ``"attributes"`` and ``"relations"``; for
    the arguments see ``tuple_f1``.

    Raises:
        ValueError: a name is in two synonym sets.
    """
    same = _representatives(synonyms)
    proposed = _united_tuples([candidate], same)
    truth = _united_tuples(references, same)
    sizes = [Counter(map(len, tuples)) for tuples in (proposed & truth, proposed, truth)]
    scores = {"all": TupleScore(*map(Counter.total, sizes))}
    for name, size in PARTS.items():
        scores[name] = TupleScore(*(counts[size] for counts in sizes))
    return scores


class TupleF1Relevance(Relevance):
    """Tuple F1 of ``T`` graphs against ``I`` images, of whose ``R`` reference graphs ``own`` ``(R,)`` gives
    the image rows.

    Raises:
        ValueError: ``own`` does not fit the references, or a name is in two synonym sets.
    """

    def __init__(
        self,
        candidates: Sequence[SceneGraph],
        references: Sequence[SceneGraph],
        own: Rows,
        images: int | None = None,
        synonyms: Synonyms | None = None,
    ) -> None:
        own, images = image_rows("tuple_f1", len(references), own, images)
        rule = "tuple F1, 0 to 1: objects, attributes and relations shared with the image's captions"
        super().__init__("tuple_f1", rule, (images, len(candidates)))
        same = _representatives(synonyms)
        of_image: list[list[SceneGraph]] = [[] for _ in range(images)]
        for row, graph in zip(own.tolist(), references, strict=True):
            of_image[row].append(graph)
        of_candidate = [[graph] for graph in candidates]
        incidence = _incidence_matrix([_united_tuples(graphs, same) for graphs in of_image + of_candidate])
        self._images = incidence[:images]
        self._captions = incidence[images:]
        self._image_sizes = np.diff(self._images.indptr)
        self._caption_sizes = np.diff(self._captions.indptr)

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` scores, see ``Relevance``."""
        matched = self._captions[captions] @ self._images[images].T
        caption = np.repeat(self._caption_sizes[captions], np.diff(matched.indptr))
        both = caption + self._image_sizes[images][matched.indices]
        scores = (2 * matched.data / both).astype(np.float32)
        return sparse.csr_array((scores, matched.indices, matched.indptr), shape=matched.shape).toarray().T


class TupleF1(RelevanceMaker):
    """Parses captions and compares their graphs.

    Args:
        synonyms: sets of names that count as the same, for objects, attributes and relations alike.
        parser: makes a graph of each caption; by default the ``scene_graph`` signal.

    Raises:
        ValueError: a name is in two synonym sets.
    """

    name = "tuple_f1"

    def __init__(
        self,
        *,
        synonyms: Synonyms | None = None,
        parser: Parser | None = None,
    ) -> None:
        _representatives(synonyms)
        self.synonyms = synonyms
        self.parser = parser

    def compare(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> TupleF1Relevance:
        """Return texts from elsewhere against every image."""
        truth = self._parse(references)
        candidates = truth if hypotheses is references else self._parse(hypotheses)
        return TupleF1Relevance(candidates, truth, own, images, self.synonyms)

    def _parse(self, captions: Sequence[str]) -> Sequence[SceneGraph]:
        # Kept, since it remembers what it has parsed.
        self.parser = self.parser or package_parser()
        return self.parser(captions)


def package_parser() -> Parser:
    """Return the ``scene_graph`` signal as a function from captions to graphs."""
    from workbench.text import load

    signal = load("scene_graph")
    return lambda captions: signal.transform(captions).graphs


def _representatives(synonyms: Synonyms | None) -> dict[str, str]:
    """Return, for each name of a synonym set, the name that stands for the set."""
    stand_in: dict[str, str] = {}
    for names in synonyms or ():
        for name in set(names):
            require(name not in stand_in, f"tuple_f1: {name!r} is in two synonym sets; join them into one")
            stand_in[name] = min(names)
    return stand_in


def _united_tuples(graphs: Iterable[SceneGraph], same: dict[str, str]) -> Tuples:
    """Return the tuples of all graphs together, every name replaced by the one that stands for it."""
    tuples = chain.from_iterable(graph.tuples() for graph in graphs)
    return frozenset(tuple(map(same.get, names, names)) for names in tuples)


def _incidence_matrix(rows: list[Tuples]) -> sparse.csr_array:
    """Return ``(N, W)``: 1 where a row holds one of the ``W`` tuples that occur."""
    counter = CountVectorizer(analyzer=list, dtype=np.float64)
    return sparse.csr_array(counter.fit_transform(rows) if any(rows) else (len(rows), 1))


MEMBER = TupleF1
