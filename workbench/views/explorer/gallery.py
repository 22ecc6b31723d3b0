"""What is sought: the images, captions or entities of a split, with their names, filters, grades and places
in a ranking.

An entity is an object with its attributes, as CORA embeds it (image to entity retrieval). Source: Pham et
al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024, Fig. 3.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import text
from workbench.records import Rows, SceneGraph, Split, Truth, densest
from workbench.registry import require_known
from workbench.runs.result import OpenRun
from workbench.views.explorer.answers import thumbnail_key
from workbench.views.explorer.pictures import recent
from workbench.views.explorer.questions import Change, Filters, Mark, Question, Seeks, Term, changed, parsed

BLOCK = 65_536
SAMPLE = 300
OFFERED = 200
TRUTHS = 16


class Entities:
    """Distinct entities of all runs, each named by its words; equal words are one entity, embedded as at its
    first caption.

    Args:
        runs: the runs; those that embed no entities take no part.
    """

    def __init__(self, runs: Sequence[OpenRun]) -> None:
        phrases = [_phrases(run) for run in runs]
        self.names = tuple(dict.fromkeys(name for names in phrases for name in names))
        number = {name: row for row, name in enumerate(self.names)}
        self._vectors, self._rows = [], []
        self.images: list[set[int]] = [set() for _ in self.names]
        for run, names in zip(runs, phrases, strict=True):
            rows = np.array([number[name] for name in names], dtype=np.int64)
            distinct, place = np.unique(rows, return_index=True)
            self._rows.append(distinct)
            self._vectors.append(None if run.text.entities is None else run.text.entities[place])
            owners = [] if run.text.owner is None else run.split.own[run.text.owner.numpy()].tolist()
            for row, image in zip(rows.tolist(), owners, strict=True):
                self.images[row].add(image)

    def scores(self, points: NDArray[Any], number: int) -> NDArray[np.float32]:
        """``(Q, E)`` cosines of points in the space of a run, by its number; NaN where it lacks an entity."""
        out = np.full((len(points), len(self.names)), np.nan, dtype=np.float32)
        vectors = self._vectors[number]
        if vectors is not None and len(vectors):
            out[:, self._rows[number]] = cosines(points, vectors)
        return out


def _phrases(run: OpenRun) -> list[str]:
    """The words of each embedded entity: attributes, then the object."""
    labels, maker = run.text.labels, run.model.makers.get("graph_tokens")
    if run.text.entities is None or labels is None or maker is None:
        return []
    phrases: Any = maker.of(run.split.captions)
    words = ("", *phrases.phrases)
    return [" ".join([*(words[a] for a in row[1:] if a), words[row[0]]]) for row in labels.tolist()]


class Gallery:
    """The items of one split.

    Args:
        split: images and captions.
        entities: of all runs.
    """

    def __init__(self, split: Split, entities: Entities) -> None:
        self.split, self.entities = split, entities

    def ids(self, seeks: Seeks) -> Sequence[str]:
        """Image id, caption id, or the entity's words, of every item."""
        names = {"images": self.split.image_ids, "captions": self.split.caption_ids}
        return names.get(seeks, self.entities.names)

    def captions(self, seeks: Seeks, row: int) -> tuple[str, ...]:
        """The captions of an image, the longest first, since it tells most; or the one caption."""
        if seeks == "images":
            own = (self.split.captions[caption] for caption in self.captions_of[row])
            return tuple(sorted(own, key=len, reverse=True))
        return (self.split.captions[row],) if seeks == "captions" else (self.entities.names[row],)

    def thumbnail(self, seeks: Seeks, row: int) -> str:
        """Key of the item's picture."""
        if seeks == "entities":
            return ""
        return thumbnail_key(row if seeks == "images" else int(self.split.own[row]))

    def level(self, seeks: Seeks, row: int) -> int | None:
        """Level of a caption, where the data know it."""
        known = self.split.level
        return None if known is None or seeks != "captions" else int(known[row])

    @cached_property
    def captions_of(self) -> list[Rows]:
        """Caption rows of each image."""
        counts = np.bincount(self.split.own, minlength=len(self.split.image_ids))
        return np.split(np.argsort(self.split.own, kind="stable"), np.cumsum(counts)[:-1])

    def partners(self, about: tuple[str, int] | None, seeks: Seeks) -> list[int]:
        """Rows of the items that the data pair with a caption or an image; none of an entity.

        Args:
            about: kind and row of what is asked, as ``Grader.about`` gives it.
            seeks: what is looked for.
        """
        if about is None or seeks == "entities":
            return []
        image = int(self.split.own[about[1]]) if about[0] == "caption" else about[1]
        return [image] if seeks == "images" else self.captions_of[image].tolist()

    def passes(self, seeks: Seeks, filters: Filters) -> NDArray[np.bool_]:
        """``(N,)`` which items pass the filters of captions. An entity is filtered by its words."""
        wanted, asked = filters.text.lower(), replace(filters, marks=()) != Filters()
        if seeks == "entities":
            return np.array([wanted in name.lower() for name in self.entities.names], dtype=bool)
        if not asked:
            return np.ones(len(self.ids(seeks)), dtype=bool)
        kept = np.ones(len(self.split.captions), dtype=bool)
        if filters.levels and self.split.level is not None:
            kept &= np.isin(self.split.level, filters.levels)
        if filters.low > 0 or filters.high < 1:
            kept &= (self.descriptiveness >= filters.low) & (self.descriptiveness <= filters.high)
        if filters.images:
            kept &= np.isin(self.split.own, filters.images)
        if wanted:
            kept &= np.array([wanted in caption for caption in self._lower])
        images = np.bincount(self.split.own[kept], minlength=len(self.split.image_ids)) > 0
        return kept if seeks == "captions" else images

    @cached_property
    def descriptiveness(self) -> NDArray[np.float32]:
        """``(T,)`` on the scale of this split's captions, in [0, 1]."""
        return np.asarray(
            text.load("descriptiveness").fit(self.split.captions).of(self.split.captions).values
        )

    @cached_property
    def vocabulary(self) -> dict[str, tuple[str, ...]]:
        """Objects, attributes and relations that the data speak of, most frequent first: what a swap is
        offered.
        """
        parser: Any = text.load("scene_graph")
        graphs = self.split.caption_graphs or parser.of(self.split.captions[:SAMPLE]).graphs
        used = {
            "objects": [name for graph in graphs for name in graph.objects],
            "attributes": [word for graph in graphs for _, word in graph.attributes],
            "relations": [word for graph in graphs for _, word, _ in graph.relations],
        }
        return {part: tuple(dict(Counter(words).most_common(OFFERED))) for part, words in used.items()}

    def once(self, image: int | None) -> NDArray[np.bool_]:
        """``(T,)`` one caption of each that read the same: the first one, or that of this image."""
        kept: NDArray[np.bool_] = self._names == np.arange(len(self._names))
        for row in [] if image is None else reversed(self.captions_of[image].tolist()):
            kept[self._names == self._names[row]] = False
            kept[row] = True
        return kept

    def suggestions(self, words: str, *, most: int = 12) -> list[dict[str, Any]]:
        """Captions that hold these words and images whose id does, the first ones, as terms that may be
        asked.
        """
        wanted, captions, ids = words.lower(), self.split.captions, self.split.image_ids
        of_captions = (row for row, caption in enumerate(self._lower) if wanted in caption)
        of_images = (row for row, name in enumerate(ids) if wanted in name.lower())
        return [
            *({"kind": "caption", "value": row, "name": captions[row]} for row in islice(of_captions, most)),
            *({"kind": "image", "value": row, "name": ids[row]} for row in islice(of_images, most // 2)),
        ]

    @cached_property
    def _lower(self) -> tuple[str, ...]:
        return tuple(caption.lower() for caption in self.split.captions)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row of the first caption that reads so."""
        return {caption: row for row, caption in reversed(list(enumerate(self.split.captions)))}

    @cached_property
    def _names(self) -> Rows:
        """``(T,)`` row of the first caption that reads the same."""
        return np.array([self.rows[caption] for caption in self.split.captions], dtype=np.int64)


class Grader:
    """Grades pairs of a query and an item.

    Args:
        gallery: of the split that is judged.
        name: of its judgements, or a judge of the text shelf such as ``"sentence"``, which grades by the
            captions; ``""`` = the densest judgements that the split has, ``"own"`` where it has no other.

    Raises:
        ValueError: the split has no such judgements, and there is no such judge.
    """

    def __init__(self, gallery: Gallery, name: str = "") -> None:
        self.gallery, self.split = gallery, gallery.split
        known = list(self.split.judgements)
        self.name = name or densest(known)
        self._truths: dict[Any, Truth] = {}
        self._by_judge = self.name not in known
        known += text.judges() if self._by_judge else []
        require_known(f"{self.split.name} has no judgements", self.name, known, ValueError)

    def about(self, question: Question) -> tuple[str, int] | None:
        """``("caption", row)`` or ``("image", row)`` that a question is about, so that its answers can be
        graded.

        Words that are a caption of the data are that caption. A sum of terms is about nothing in the data.
        """
        term = question.terms[0]
        if len(question.terms) > 1 or question.changes:
            return None
        if term.kind == "text":
            row = self.gallery.rows.get(term.value)
            return None if row is None else ("caption", row)
        return (term.kind, term.value) if term.kind in ("caption", "image") else None

    def image_of(self, question: Question) -> int | None:
        """Row of the image that a question is about, by itself or as a caption's own; ``None`` = of none in
        the data.
        """
        about = self.about(question)
        return int(self.split.own[about[1]]) if about and about[0] == "caption" else about and about[1]

    def truth(self, question: Question) -> Truth | None:
        """Of which images a question made of words is true: a sum where every added sentence holds and no
        subtracted one; ``None`` where the data do not know, or where only their own pairs are asked for.
        """
        spoken = all(term.kind in ("text", "caption") for term in question.terms)
        unknown = self.name == "own" or self._by_judge or self.split.grade is None
        if unknown or not spoken or question.seeks != "images":
            return None
        key = (tuple(term.key for term in question.terms), question.changes)
        return recent(self._truths, key, lambda: self._truth(question), TRUTHS)

    def _truth(self, question: Question) -> Truth:
        found = [self._truth_of(term, question.changes) for term in question.terms]
        if len(found) == 1 and question.terms[0].sign > 0:
            return found[0]
        signed = np.stack(
            [one.holds if t.sign > 0 else 1 - one.holds for t, one in zip(question.terms, found, strict=True)]
        )
        # one false part makes the whole false, whatever is not known of the others
        holds = np.where((signed == 0).any(axis=0), np.float32(0), signed.min(axis=0))
        unknown, unclear = (
            tuple(dict.fromkeys(word for one in found for word in getattr(one, which)))
            for which in ("unknown", "unclear")
        )
        return Truth(holds, holds, unknown, unclear)

    def _truth_of(self, term: Term, changes: Sequence[Change]) -> Truth:
        """The truth of one sentence: by its graph where the data have it or it was edited."""
        grade: Any = self.split.grade
        graphs = self.split.caption_graphs
        row = self.gallery.rows.get(term.value) if term.kind == "text" else term.value
        statement: SceneGraph | str = term.name
        if changes:
            statement = reduce(changed, changes, parsed(term.name))
        elif graphs and row is not None:
            statement = graphs[row]
        truth: Truth = grade(statement, self.split.image_graphs or ())
        return truth

    def grades(self, question: Question, rows: Rows) -> tuple[list[float | None], list[Mark]]:
        """Grade and mark of each of these rows of the gallery."""
        about, image, seeks = self.about(question), self.image_of(question), question.seeks
        truth = None if about else self.truth(question)
        own = np.zeros(len(rows), dtype=bool)
        if truth is not None:
            grades = (truth.share if self.name == "graded" else truth.holds)[rows]
        elif about is None:
            return [None] * len(rows), ["unknown"] * len(rows)
        else:
            grades = self._grades(about, seeks, rows)
        if about and seeks == "entities":
            own = np.array([image in self.gallery.entities.images[row] for row in rows], dtype=bool)
        elif about:
            own = (rows if seeks == "images" else self.split.own[rows]) == image
        least = getattr(self._relevance, "relevant_from", 1.0)
        marks = np.select([own, np.isnan(grades), grades >= least], ["own", "unknown", "relevant"], "not")
        return [None if np.isnan(grade) else float(grade) for grade in grades], marks.tolist()

    @property
    def _relevance(self) -> Any:
        """The judgements, or what grades single pairs where the whole would cost too much."""
        if self._by_judge:
            return self._judge
        return self.split.relevance(self.name)

    @cached_property
    def _judge(self) -> Any:
        """What a judge says of the captions of the split; fitted on them."""
        pool = self.split.captions, self.split.own
        return text.load(self.name).fit(*pool).of(*pool)

    def _grades(self, about: tuple[str, int], seeks: Seeks, rows: Rows) -> NDArray[np.float32]:
        """NaN where nobody judged; within one kind by the judgements of pairs of that kind, where the data
        have them.
        """
        (kind, row), split = about, self.split
        same: dict[Any, Any] = {"images": split.image_judgements, "captions": split.caption_judgements}
        if kind == "caption" and seeks == "images":
            return np.asarray(self._relevance.take(rows, np.array([row]))[:, 0])
        judged = [self._relevance] if seeks == "captions" else []
        if f"{kind}s" == seeks:
            judged = list(same[seeks].values())
        return np.asarray(judged[0].take(np.array([row]), rows)[0]) if judged else np.full(len(rows), np.nan)


def ranking(scores: NDArray[Any]) -> tuple[Rows, Rows]:
    """The order of a gallery: its rows, best first, and the rank of each row, counted from 1, 0 = no score.

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
    """Cosines of some points with a gallery that may be memory-mapped or in half precision, block by block.

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
