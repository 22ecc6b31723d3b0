"""Symbolic judge: how much of what a caption states is stated by an image's captions too, without learned
weights, and with the statements as the reason of every score.

A caption is the set of its *statements*, read from its scene graph: an object, with its meanings and all that
is broader by WordNet ("puppy", a dog, an animal); an attribute, alone and of its object; a relation, whole
and with one of its three places left open, which is the partial credit. An image has the statements of all
its captions.

A statement weighs what it adds to the broader ones that it implies: with ``idf(s) = log(D / D_s)`` over D
images, of which ``D_s`` state s or something narrower, ``w(s) = idf(s) - max idf(broader)``, at least 0. So
the weights from "puppy" up to "entity" add up to ``idf(puppy)`` however many steps lie between, and what two
words share is the idf of the narrowest meaning above both (Resnik). Attributes and relations are weighted by
a factor each. With C and R the weights of the caption's and of the image's statements and M of those in both

``F = M / (a C + (1 - a) R)``, ``score = b sqrt(F) + (1 - b) sqrt(CIDEr-D / 10)``

F is Tversky's ratio: a = 1/2 is F1, and a = 1, the default, asks only whether the caption is right and not
whether it is complete; for two single words and a = 1/2 it is Lin's similarity. The square roots put scores
on a scale on which equal steps are about equal to people, so that Pearson's correlation is fair; b = 1 leaves
CIDEr-D out.

Source: Anderson et al., "SPICE", ECCV 2016 (tuples; WordNet); Lin, "An information-theoretic definition of
similarity", ICML 1998; Resnik, "Using information content to evaluate semantic similarity in a taxonomy",
IJCAI 1995; Tversky, "Features of similarity", Psychological Review 84, 1977. The weights of sets, the open
places and the sum of roots are ours. The defaults of the three factors, a and b are the best of a small grid
on one half of the images that Flickr8k's crowd rated, by Pearson's and Spearman's correlation over pairs that
are not own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy import sparse

from relevance_audit.lexicon import NOTHING, Kind, Lexicon, shipped_lexicon
from workbench.records import Array, Rows, SceneGraph, require
from workbench.registry import NotNegative, Share
from workbench.text.cider import Cider
from workbench.text.signal import Relevance, RelevanceMaker, image_rows
from workbench.text.tuple_f1 import Parser, package_parser

RULE = "soft tuple F1 and CIDEr-D, 0 to 1: statements shared with the image's captions, with synonyms"
OPEN = "..."
# of the pairs that are not own and score this much, the crowd of Flickr8k calls half relevant (on one half of
# its images)
RIGHT_FROM = 0.4
# statement -> the broader statements directly above it, and the part of the graph that it belongs to
Statements = dict[str, tuple[tuple[str, ...], str]]


class Reader:
    """Turns graphs into statements.

    Args:
        lexicon: meanings of words and what is broader; where it is empty, words count as they stand.
        senses: meanings of a word that count, the most frequent first.
    """

    def __init__(self, lexicon: Lexicon, senses: int) -> None:
        self.lexicon, self.senses = lexicon, senses
        # asked anew for every word of every caption
        self._word, self._meaning = cache(self._word_of), cache(self._meaning_of)

    def statements(self, graph: SceneGraph) -> Statements:
        """Return all statements of a graph, the broader ones included."""
        out: Statements = {}
        for name in graph.objects:
            out |= self._word(name, "noun", "objects")
        for node, attribute in graph.attributes:
            name = self._meaning(graph.objects[node], "noun")
            out |= self._word(attribute, "adj", "attributes")
            out[f"{name} | {self._meaning(attribute, 'adj')}"] = ((f"adj:{attribute}",), "attributes")
        for s, relation, o in graph.relations:
            ends = self._meaning(graph.objects[s], "noun"), self._meaning(graph.objects[o], "noun")
            verb = self._meaning(relation, "verb")
            partial = [(OPEN, verb, ends[1]), (ends[0], OPEN, ends[1]), (ends[0], verb, OPEN)]
            parts = tuple(" | ".join(words) for words in partial)
            out |= dict.fromkeys(parts, ((), "relations"))
            out[" | ".join((ends[0], verb, ends[1]))] = (parts, "relations")
        return out

    def _word_of(self, name: str, kind: Kind, part: str) -> Statements:
        """Return a word, its meanings, and everything broader."""
        synsets = self._synsets(name, kind)
        statements: Statements = {f"{kind}:{name}": (tuple(synsets), part)}
        for synset in self.lexicon.broader_synsets(synsets):
            statements[synset] = (tuple(self.lexicon.broader.get(synset, ())), part)
        return statements

    def _synsets(self, name: str, kind: Kind) -> list[str]:
        return self.lexicon.meanings(name, kind)[: self.senses]

    def _meaning_of(self, name: str, kind: Kind) -> str:
        """Return what stands for a word within a longer statement: its most frequent meaning, else the
        word.
        """
        if kind == "verb":
            first, _, rest = name.partition(" ")
            synsets = self._synsets(first, "verb")
            return f"{synsets[0]} {rest}".strip() if synsets else name
        return next(iter(self._synsets(name, kind)), name)


class SymbolicRelevance(Relevance):
    """Scores of ``T`` captions against ``I`` images, with their reasons.

    Args:
        maker: says weights and factors; fitted.
        candidates: statements of ``T`` captions.
        references: statements of ``I`` images.
        cider: CIDEr-D of the same captions and images.
    """

    def __init__(
        self,
        maker: "Symbolic",
        candidates: Sequence[Statements],
        references: Sequence[Statements],
        cider: Relevance,
    ) -> None:
        shape = len(references), len(candidates)
        super().__init__("symbolic", RULE, shape, relevant_from=RIGHT_FROM)
        every: Statements = {}
        for statements in (*references, *candidates):
            every |= statements
        self._statements = list(every)
        place = {statement: row for row, statement in enumerate(every)}
        weights = [maker.weight(statement, *broader) for statement, broader in every.items()]
        self._weights = np.array(weights)
        self._captions, self._images = _incidence(candidates, place), _incidence(references, place)
        self._cider = cider
        self._precision, self._tuples = maker.precision, maker.tuples
        self._weighted = self._captions.multiply(self._weights).astype(np.float32).tocsr()
        self._weighted.eliminate_zeros()
        sides = (self._captions, self._images)
        self._stated = [(side @ self._weights).astype(np.float32) for side in sides]

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` scores of some captions against some images."""
        out = self.tuple_scores(images, captions)
        if self._tuples < 1:
            shared = np.divide(self._cider.take(images, captions), 10, dtype=np.float32)
            np.sqrt(np.clip(shared, 0, 1, out=shared), out=shared)
            out *= self._tuples
            out += (1 - self._tuples) * shared
        return out

    def tuple_scores(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` square roots of F, without CIDEr-D."""
        shares = (self._images[images] @ self._weighted[captions].T).toarray()
        of_caption, of_image = self._stated[0][captions], self._stated[1][images]
        both = self._precision * of_caption + (1 - self._precision) * of_image[:, None]
        # where either states nothing, they share nothing
        shares /= np.maximum(both, np.finfo(np.float32).tiny)
        return np.asarray(np.sqrt(np.minimum(shares, 1, out=shares), out=shares))

    def explain(self, image: int, caption: int) -> pd.DataFrame:
        """Return why a pair has its score: the statements of the caption and of the image that weigh
        something.

        Returns:
            One row a statement, by weight: ``statement``, ``weight``, and whether the ``caption`` and the
            ``image`` hold it. The weight of those that both hold is M of the formula.
        """
        in_caption, in_image = (
            side[row : row + 1].toarray()[0] > 0
            for side, row in ((self._captions, caption), (self._images, image))
        )
        columns = {"statement": self._statements, "weight": self._weights}
        table = pd.DataFrame({**columns, "caption": in_caption, "image": in_image})
        weighty = table[(table.caption | table.image) & (table.weight > 0)]
        return weighty.sort_values("weight", ascending=False, kind="stable", ignore_index=True)


class Symbolic(RelevanceMaker):
    """Parses captions and compares their statements by weight.

    Args:
        synonyms: whether words have meanings and broader ones, from WordNet.
        senses: meanings of a word that count, 1 or 2.
        weighted: by how telling a statement is; without, each weighs the same.
        attributes: factor of their weights, beside 1 for objects.
        relations: factor of their weights.
        precision: a of the formula.
        tuples: b of the formula; 1 leaves CIDEr-D out.
        parser: makes a graph of each caption; by default the ``scene_graph`` signal.
    """

    name = "symbolic"
    bound, learnt = ("synonyms", "senses"), ("documents", "holding", "ngrams")

    def __init__(
        self,
        *,
        synonyms: bool = True,
        senses: Literal[1, 2] = 1,
        weighted: bool = True,
        attributes: NotNegative = 0.25,
        relations: NotNegative = 1.0,
        precision: Share = 1.0,
        tuples: Share = 0.3,
        parser: Parser | None = None,
    ) -> None:
        self.synonyms, self.senses = synonyms, senses
        self.weighted = weighted
        self.factors = {"objects": 1.0, "attributes": attributes, "relations": relations}
        self.precision, self.tuples = precision, tuples
        self.parser = parser
        self._reader = Reader(shipped_lexicon() if synonyms else NOTHING, senses)
        self.documents = 0
        self.holding: dict[str, int] = {}
        self.ngrams: dict[str, Any] = {}

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn how many images state what, and the n-grams of CIDEr-D."""
        own, images = image_rows(self.name, len(captions), own, None)
        statements = self._unite_statements(self._read_statements(captions), own, images)
        self.documents = len(np.unique(own))
        number = Counter(chain.from_iterable(statements))
        # a statement of one image weighs as much as one of none, so it need not be kept
        self.holding = {statement: n for statement, n in number.items() if n > 1}
        self.ngrams = Cider(tokens="words").fit(captions, own).state()
        return self

    def weight(self, statement: str, broader: Iterable[str], part: str) -> float:
        """Return what a statement adds to the broader ones."""
        if not self.weighted:
            return self.factors[part]
        known = max((self._idf(part_of) for part_of in broader), default=0.0)
        return self.factors[part] * max(self._idf(statement) - known, 0.0)

    def _idf(self, statement: str) -> float:
        return float(np.log(self.documents / self.holding.get(statement, 1)))

    def transform(self, captions: Sequence[str], own: Rows, images: int | None = None) -> SymbolicRelevance:
        """Return every caption against every image, whose references are its own captions."""
        return self.compare(captions, captions, own, images)

    def compare(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> SymbolicRelevance:
        """Return texts from elsewhere against every image.

        Raises:
            ValueError: nothing was fitted.
        """
        require(self.documents, "symbolic: no weights yet; call fit(captions, own) first")
        own, images = image_rows(self.name, len(references), own, images)
        truth = self._read_statements(references)
        stated = truth if hypotheses is references else self._read_statements(hypotheses)
        cider = Cider(tokens="words").restore(self.ngrams).compare(hypotheses, references, own, images)
        return SymbolicRelevance(self, stated, self._unite_statements(truth, own, images), cider)

    def _read_statements(self, captions: Sequence[str]) -> list[Statements]:
        self.parser = self.parser or package_parser()
        return [self._reader.statements(graph) for graph in self.parser(captions)]

    @staticmethod
    def _unite_statements(several: Sequence[Statements], own: Rows, images: int) -> list[Statements]:
        out: list[Statements] = [{} for _ in range(images)]
        for row, statements in zip(own.tolist(), several, strict=True):
            out[row] |= statements
        return out


def _incidence(several: Sequence[Statements], place: dict[str, int]) -> sparse.csr_array:
    """Return ``(N, S)``: 1 where a row holds one of the ``S`` statements."""
    flat = chain.from_iterable(several)
    columns = np.array([place[statement] for statement in flat], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum([len(statements) for statements in several])]).astype(np.int64)
    ones = np.ones(len(columns), dtype=np.float32)
    return sparse.csr_array((ones, columns, ends), shape=(len(several), max(len(place), 1)))
