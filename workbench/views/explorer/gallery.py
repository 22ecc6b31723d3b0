"""What is sought: the images, captions or entities of a split, with their names, filters, grades and places
in a ranking.

An entity is an object with its attributes, as CORA embeds it (image to entity retrieval). Source: Pham et
al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024, Fig. 3.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench import text
from workbench.records import Rows, SceneGraph, Split, Truth, densest_judgements
from workbench.registry import require_known
from workbench.runs.result import Result
from workbench.text.words import words
from workbench.views.explorer.questions import Filters, Mark, Question, Seeks, Term

BLOCK = 65_536
TRUTHS = 16


class Entities:
    """Distinct entities of all runs, each named by its words; equal words are one entity, embedded as at its
    first caption.
    """

    def __init__(self, runs: Sequence[Result]) -> None:
        phrases = [_phrases(run) for run in runs]
        self.names = tuple(dict.fromkeys(chain.from_iterable(phrases)))
        number = {name: row for row, name in enumerate(self.names)}
        self.images: list[set[int]] = [set() for _ in self.names]
        # rows of the entities that a run embeds, with their vectors
        self._embedded: list[tuple[list[int], Any]] = []
        for run, names in zip(runs, phrases, strict=True):
            first = {name: row for row, name in reversed(list(enumerate(names)))}
            vectors: Any = run.text.entities
            rows = [number[name] for name in first]
            self._embedded.append((rows, vectors[[*first.values()]] if first else None))
            captions = [] if run.text.owner is None else run.text.owner.tolist()
            for name, caption in zip(names, captions):
                self.images[number[name]].add(int(run.split.own[caption]))

    def scores(self, points: NDArray[Any], number: int) -> NDArray[np.float32]:
        """Return ``(Q, E)`` cosines of points in the space of a run, by its number; NaN where it lacks an
        entity.
        """
        out = np.full((len(points), len(self.names)), np.nan, dtype=np.float32)
        rows, vectors = self._embedded[number]
        if rows:
            out[:, rows] = cosines(points, vectors)
        return out


def _phrases(run: Result) -> list[str]:
    """Return the words of each embedded entity: attributes, then the object."""
    labels = run.text.labels
    maker = run.model.makers.get("graph_tokens")
    if run.text.entities is None or labels is None or maker is None:
        return []
    signal: Any = maker.transform(run.split.captions)
    phrases = ("", *signal.phrases)
    names = []
    for thing, *attributes in labels.tolist():
        words = [phrases[attribute] for attribute in attributes if attribute]
        names.append(" ".join([*words, phrases[thing]]))
    return names


class Gallery:
    """The items of one split, and the entities of all runs."""

    def __init__(self, split: Split, entities: Entities) -> None:
        self.split = split
        self.entities = entities

    def ids(self, seeks: Seeks) -> Sequence[str]:
        """Return the image id, caption id, or the entity's words, of every item."""
        names = {"images": self.split.image_ids, "captions": self.split.caption_ids}
        return names.get(seeks, self.entities.names)

    def item(self, seeks: Seeks, row: int) -> dict[str, Any]:
        """Return what the data say of an item, as fields of ``Item``; the captions of an image come the
        longest first, since it tells most.
        """
        name = self.ids(seeks)[row]
        if seeks == "entities":
            return {"id": name, "captions": (name,), "rows": (), "thumbnail": "", "level": None, "count": 1}
        split = self.split
        if seeks == "images":
            rows = self.caption_rows[row].tolist()
            rows.sort(key=lambda caption: len(split.captions[caption]), reverse=True)
            image = row
            level = None
            count = 1
        else:
            rows = [row]
            image = int(split.own[row])
            level = None if split.level is None else int(split.level[row])
            count = int(self.wording_counts[row])
        return {
            "id": name,
            "captions": tuple(split.captions[caption] for caption in rows),
            "rows": tuple(rows),
            "thumbnail": str(image),
            "level": level,
            "count": count,
        }

    @cached_property
    def caption_rows(self) -> list[Rows]:
        """Caption rows of each image."""
        counts = np.bincount(self.split.own, minlength=len(self.split.image_ids))
        return np.split(np.argsort(self.split.own, kind="stable"), np.cumsum(counts)[:-1])

    def rows_of_image(self, image: int, seeks: Seeks) -> list[int]:
        """Return rows of the items that the data pair with an image: itself, its captions, or their
        entities.
        """
        if seeks == "entities":
            return [row for row, images in enumerate(self.entities.images) if image in images]
        return [image] if seeks == "images" else self.caption_rows[image].tolist()

    def passing_items(self, seeks: Seeks, filters: Filters) -> NDArray[np.bool_]:
        """Return ``(N,)`` which items pass the filters of captions. An entity is filtered by its words."""
        wanted = filters.text.lower()
        if seeks == "entities":
            return np.array([wanted in name.lower() for name in self.entities.names], dtype=bool)
        passes = np.ones(len(self.split.captions), dtype=bool)
        if filters.levels and self.split.level is not None:
            passes &= np.isin(self.split.level, filters.levels)
        if filters.low > 0 or filters.high < 1:
            passes &= (self.descriptiveness >= filters.low) & (self.descriptiveness <= filters.high)
        if filters.images:
            passes &= np.isin(self.split.own, filters.images)
        if wanted:
            passes &= np.array([wanted in caption for caption in self._lower_captions])
        images = np.bincount(self.split.own[passes], minlength=len(self.split.image_ids)) > 0
        return passes if seeks == "captions" else images

    @cached_property
    def descriptiveness(self) -> NDArray[np.float32]:
        """``(T,)`` on the scale of this split's captions, in [0, 1]."""
        captions = self.split.captions
        maker = text.load("descriptiveness").fit(captions)
        return np.asarray(maker.transform(captions).values)

    @cached_property
    def wordings(self) -> Rows:
        """``(T,)`` number of the wording of each caption; those that read the same share it."""
        return np.asarray(pd.factorize(np.array(self.split.captions, dtype=object))[0], dtype=np.int64)

    @cached_property
    def wording_counts(self) -> Rows:
        """``(T,)`` how many captions read as each one does."""
        return np.bincount(self.wordings)[self.wordings]

    @property
    def has_repeats(self) -> bool:
        """Whether two captions read the same."""
        return bool((self.wording_counts > 1).any())

    def distinct_captions(self, passes: NDArray[np.bool_], image: int | None) -> NDArray[np.bool_]:
        """Return ``(T,)`` one caption of each that read the same among those that pass: that of this image,
        or the first one.
        """
        rows = np.flatnonzero(passes)
        rows = rows[np.argsort(self.split.own[rows] != image, kind="stable")]
        first = rows[np.unique(self.wordings[rows], return_index=True)[1]]
        return np.isin(np.arange(len(passes)), first)

    def share_ranks(self, order: Rows, ranks: Rows) -> tuple[Rows, Rows]:
        """Return a ranking of all captions in which those that read the same have the best of their ranks.

        Args:
            order: as ``ranking`` gives it.
            ranks: likewise.
        """
        best = np.zeros(len(ranks), dtype=np.int64)
        # the best comes last, and stays
        best[self.wordings[order[::-1]]] = ranks[order[::-1]]
        ranks = np.where(ranks > 0, best[self.wordings], 0)
        return order[np.argsort(ranks[order], kind="stable")], ranks

    def suggestions(self, words: str, *, most: int = 12) -> list[dict[str, Any]]:
        """Return captions that hold these words and images whose id does, the first ones, as terms that may
        be asked.
        """
        wanted = words.lower()
        captions = self.split.captions
        ids = self.split.image_ids
        caption_rows = (row for row, caption in enumerate(self._lower_captions) if wanted in caption)
        image_rows = (row for row, name in enumerate(ids) if wanted in name.lower())
        terms: list[dict[str, Any]] = []
        for row in islice(caption_rows, most):
            terms.append({"kind": "caption", "value": row, "name": captions[row]})
        for row in islice(image_rows, most // 2):
            terms.append({"kind": "image", "value": row, "name": ids[row]})
        return terms

    @cached_property
    def words(self) -> frozenset[str]:
        """The lower-case words of all captions."""
        return frozenset(words(" ".join(self.split.captions)))

    @cached_property
    def _lower_captions(self) -> tuple[str, ...]:
        return tuple(caption.lower() for caption in self.split.captions)

    @cached_property
    def row_by_caption(self) -> dict[str, int]:
        """Row of the first caption that reads so."""
        return {caption: row for row, caption in reversed(list(enumerate(self.split.captions)))}


class Grader:
    """Grades pairs of a query and an item.

    Args:
        gallery: of the split that is judged.
        name: of its judgements, or a judge of the text registry such as ``"sentence"``, which grades by the
            captions; ``""`` = the densest judgements that the split has, ``"own"`` where it has no other.

    Raises:
        ValueError: the split has no such judgements, and there is no such judge.
    """

    def __init__(self, gallery: Gallery, name: str = "") -> None:
        self.gallery = gallery
        self.split = gallery.split
        known = list(self.split.judgements)
        self.name = name or densest_judgements(known)
        self._by_judge = self.name not in known
        known += text.judge_names() if self._by_judge else []
        require_known(f"{self.split.name} has no judgements", self.name, known, ValueError)
        self._truth = lru_cache(TRUTHS)(self._truth_of)

    def subject(self, question: Question) -> tuple[str, int, int] | None:
        """Return the kind and row of the caption or image that a question is about, so that its answers can
        be graded, and the row of the image itself or of the caption's own.

        Words that are a caption of the data are that caption. A sum of terms is about nothing in the data.
        """
        if len(question.terms) > 1 or question.terms[0].graph is not None:
            return None
        term = question.terms[0]
        row = self._row(term)
        if row is None or term.kind not in ("text", "caption", "image"):
            return None
        return ("image", row, row) if term.kind == "image" else ("caption", row, int(self.split.own[row]))

    def _row(self, term: Term) -> Any:
        """Return the row that a term names; of words, that of the caption which reads so, or ``None``."""
        return self.gallery.row_by_caption.get(term.value) if term.kind == "text" else term.value

    def truth(self, question: Question) -> Truth | None:
        """Return of which images a question made of words is true: a sum where every added sentence holds and
        no subtracted one; ``None`` where the data do not know, or where only their own pairs are asked for.
        """
        spoken = all(term.kind in ("text", "caption") for term in question.terms)
        unknown = self.name == "own" or self._by_judge or self.split.grade is None
        if unknown or not spoken or question.seeks != "images":
            return None
        return self._truth(question.terms)

    def _truth_of(self, terms: tuple[Term, ...]) -> Truth:
        grade: Any = self.split.grade
        graphs = self.split.image_graphs or ()
        truths: list[Truth] = [grade(self._statement(term), graphs) for term in terms]
        if len(terms) == 1 and terms[0].sign > 0:
            return truths[0]
        signed = []
        for term, truth in zip(terms, truths, strict=True):
            signed.append(truth.holds if term.sign > 0 else 1 - truth.holds)
        lines = np.stack(signed)
        # one false part makes the whole false, whatever is not known of the others
        holds = np.where((lines == 0).any(axis=0), np.float32(0), lines.min(axis=0))
        unknown = dict.fromkeys(chain.from_iterable(truth.unknown for truth in truths))
        unclear = dict.fromkeys(chain.from_iterable(truth.unclear for truth in truths))
        return Truth(holds, holds, tuple(unknown), tuple(unclear))

    def _statement(self, term: Term) -> SceneGraph | str:
        """Return what a term says: its graph where it has one or the data have it, else its words."""
        if term.graph is not None:
            return term.graph
        row = self._row(term)
        graphs = self.split.caption_graphs
        return graphs[row] if graphs and row is not None else term.name

    def grades(self, question: Question, rows: Rows) -> tuple[list[float | None], list[Mark]]:
        """Return the grade and mark of each of these rows of the gallery."""
        about = self.subject(question)
        own: list[int] = []
        grades = np.full(len(rows), np.nan, dtype=np.float32)
        if about:
            kind, row, image = about
            grades = self._grades(kind, row, question.seeks, rows)
            own = self.gallery.rows_of_image(image, question.seeks)
        elif (truth := self.truth(question)) is not None:
            grades = (truth.share if self.name == "graded" else truth.holds)[rows]
        least = getattr(self.relevance, "relevant_from", 1.0)
        conditions = [np.isin(rows, own), np.isnan(grades), grades >= least]
        marks = np.select(conditions, ["own", "unknown", "relevant"], "not")
        known = grades.astype(object)
        known[np.isnan(grades)] = None
        return known.tolist(), marks.tolist()

    @cached_property
    def relevance(self) -> Any:
        """The judgements, or what grades single pairs where the whole would cost too much; of a judge what it
        says of the split's captions, fitted on them.
        """
        if not self._by_judge:
            return self.split.relevance(self.name)
        pool = self.split.captions, self.split.own
        return text.load(self.name).fit(*pool).transform(*pool)

    def _grades(self, kind: str, row: int, seeks: Seeks, rows: Rows) -> NDArray[np.float32]:
        """Return the grades of rows, NaN where nobody judged; within one kind by the judgements of pairs of
        that kind, where the data have them.
        """
        if (kind, seeks) == ("caption", "images"):
            return np.asarray(self.relevance.take(rows, np.array([row]))[:, 0])
        judgements = self._judgements(kind, seeks)
        if judgements is None:
            return np.full(len(rows), np.nan)
        return np.asarray(judgements.take(np.array([row]), rows)[0])

    def _judgements(self, kind: str, seeks: Seeks) -> Any:
        """Return what grades items of a kind against an image or a caption; ``None`` = nothing does."""
        if (kind, seeks) == ("image", "captions"):
            return self.relevance
        pairs: dict[Any, Any] = {
            ("image", "images"): self.split.image_judgements,
            ("caption", "captions"): self.split.caption_judgements,
        }
        return next(iter(pairs.get((kind, seeks), {}).values()), None)


def ranking(scores: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return the order of a gallery: its rows, best first, and the rank of each row, counted from 1, 0 = no
    score.

    Args:
        scores: ``(N,)``; NaN = not known, and in no order. Of equal scores the lower row comes first.

    >>> order, ranks = ranking(np.array([0.1, 0.9, np.nan, 0.9]))
    >>> order.tolist(), ranks.tolist()
    ([1, 3, 0], [3, 1, 0, 2])
    """
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(~np.isnan(scores))]
    ranks = np.zeros(len(scores), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return order, ranks


def cosines(points: NDArray[Any], gallery: Any) -> NDArray[np.float32]:
    """Return cosines of some points with a gallery that may be memory-mapped or in half precision, block by
    block.

    Args:
        points: ``(Q, D)`` unit vectors.
        gallery: ``(N, D)`` tensor of unit vectors.

    Returns:
        ``(Q, N)``.
    """
    import torch

    query = torch.from_numpy(np.ascontiguousarray(points, dtype=np.float32)).to(gallery.device)
    parts = [query @ part.float().T for part in gallery.split(BLOCK)]
    return torch.cat(parts, dim=1).cpu().numpy()
