"""What is sought: the images, captions or entities of a split, with their names, filters, grades and places
in a ranking.

An entity is an object with its attributes, as CORA embeds it (image to entity retrieval). Source: Pham et
al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024, Fig. 3.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import text
from workbench.experiment.opened import OpenRun
from workbench.records import Rows, Split
from workbench.registry import did_you_mean
from workbench.retrieval import blocks
from workbench.views.explorer.answers import thumbnail_key
from workbench.views.explorer.questions import Filters, Mark, Question, Seeks

BLOCK = 65_536
SAMPLE = 300
OFFERED = 200
DENSER = ("exact", "eccv", "cxc", "human")


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

    def size(self, seeks: Seeks) -> int:
        """How many items there are."""
        sizes = {"images": len(self.split.image_ids), "captions": len(self.split.captions)}
        return sizes.get(seeks, len(self.entities.names))

    def id(self, seeks: Seeks, row: int) -> str:
        """Image id, caption id, or the entity's words."""
        names = {"images": self.split.image_ids, "captions": self.split.caption_ids}
        return names.get(seeks, self.entities.names)[row]

    def captions(self, seeks: Seeks, row: int) -> tuple[str, ...]:
        """The captions of an image, the longest first, since it tells most; or the one caption."""
        if seeks == "images":
            own = (self.split.captions[caption] for caption in self.captions_of(row))
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

    def captions_of(self, image: int) -> Rows:
        """Caption rows of an image."""
        order, starts = self._by_image
        return order[starts[image] : starts[image + 1]]

    def passes(self, seeks: Seeks, filters: Filters) -> NDArray[np.bool_] | None:
        """``(N,)`` which items pass the filters of captions; ``None`` = all of them. An entity is filtered by
        its words.
        """
        if seeks == "entities":
            wanted = filters.text.lower()
            return np.array([wanted in name.lower() for name in self.entities.names]) if wanted else None
        if not (filters.text or filters.levels or filters.low > 0 or filters.high < 1):
            return None
        kept = self._captions_that_pass(filters)
        if seeks == "captions":
            return kept
        images = np.zeros(len(self.split.image_ids), dtype=bool)
        images[self.split.own[kept]] = True
        return images

    def _captions_that_pass(self, filters: Filters) -> NDArray[np.bool_]:
        kept = np.ones(len(self.split.captions), dtype=bool)
        if filters.levels and self.split.level is not None:
            kept &= np.isin(self.split.level, filters.levels)
        if filters.low > 0 or filters.high < 1:
            kept &= (self.descriptiveness >= filters.low) & (self.descriptiveness <= filters.high)
        if filters.text:
            wanted = filters.text.lower()
            kept &= np.array([wanted in caption for caption in self._lower])
        return kept

    @cached_property
    def descriptiveness(self) -> NDArray[np.float32]:
        """``(T,)`` on the scale of this split's captions, in [0, 1]."""
        found = text.load("descriptiveness").fit(self.split.captions).of(self.split.captions)
        return np.asarray(found.values)

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
        own = [] if image is None else self.captions_of(image).tolist()
        for row in reversed(own):
            kept[self._names == self._names[row]] = False
            kept[row] = True
        return kept

    def row_of(self, caption: str) -> int | None:
        """Row of the first caption of the data that reads so."""
        return self._rows.get(caption)

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
    def _rows(self) -> dict[str, int]:
        return {caption: row for row, caption in reversed(list(enumerate(self.split.captions)))}

    @cached_property
    def _names(self) -> Rows:
        """``(T,)`` row of the first caption that reads the same."""
        return np.array([self._rows[caption] for caption in self.split.captions], dtype=np.int64)

    @cached_property
    def _by_image(self) -> tuple[Rows, Rows]:
        order = np.argsort(self.split.own, kind="stable")
        counts = np.bincount(self.split.own, minlength=len(self.split.image_ids))
        return order, np.concatenate([[0], np.cumsum(counts)])


class Grader:
    """Grades pairs of a query and an item.

    Args:
        gallery: of the split that is judged.
        name: of its judgements; ``""`` = the densest that it has, ``"own"`` where it has no other.

    Raises:
        ValueError: the split has no such judgements.
    """

    def __init__(self, gallery: Gallery, name: str = "") -> None:
        self.gallery, self.split = gallery, gallery.split
        known = list(self.split.judgements)
        self.name = name or next((one for one in DENSER if one in known), "own")
        if self.name not in known:
            raise ValueError(
                f"{self.split.name} has no judgements {self.name!r}; {did_you_mean(self.name, known)}"
            )

    def about(self, question: Question) -> tuple[str, int] | None:
        """``("caption", row)`` or ``("image", row)`` that a question is about, so that its answers can be
        graded.

        Words that are a caption of the data are that caption. A sum of terms is about nothing in the data.
        """
        term = question.terms[0]
        if len(question.terms) > 1 or question.changes:
            return None
        if term.kind == "text":
            row = self.gallery.row_of(term.value)
            return None if row is None else ("caption", row)
        return (term.kind, term.value) if term.kind in ("caption", "image") else None

    def image_of(self, question: Question) -> int | None:
        """Row of the image that a question is about, by itself or as a caption's own; ``None`` = of none in
        the data.
        """
        about = self.about(question)
        return None if about is None else self._image_of(about)

    def grades(self, question: Question, rows: Rows) -> tuple[list[float | None], list[Mark]]:
        """Grade and mark of each of these rows of the gallery."""
        about = self.about(question)
        if about is None:
            return [None] * len(rows), ["unknown"] * len(rows)
        own, grades = self._own(about, question.seeks, rows), self._grades(about, question.seeks, rows)
        marks = [self._mark(partner, grade) for partner, grade in zip(own, grades.tolist(), strict=True)]
        return [None if np.isnan(grade) else float(grade) for grade in grades], marks

    def _mark(self, own: bool, grade: float) -> Mark:
        if own:
            return "own"
        if np.isnan(grade):
            return "unknown"
        return "relevant" if grade >= getattr(self._relevance, "relevant_from", 1.0) else "not"

    @property
    def _relevance(self) -> Any:
        """The judgements, or what grades single pairs where the whole would cost too much."""
        judged: Any = self.split.judgements
        return judged.relevance(self.name) if hasattr(judged, "relevance") else judged[self.name]

    def _image_of(self, about: tuple[str, int]) -> int:
        kind, row = about
        return row if kind == "image" else int(self.split.own[row])

    def _own(self, about: tuple[str, int], seeks: Seeks, rows: Rows) -> NDArray[np.bool_]:
        image = self._image_of(about)
        if seeks == "entities":
            return np.array([image in self.gallery.entities.images[row] for row in rows], dtype=bool)
        return np.asarray((rows if seeks == "images" else self.split.own[rows]) == image)

    def _grades(self, about: tuple[str, int], seeks: Seeks, rows: Rows) -> NDArray[np.float32]:
        """NaN where nobody judged; within one kind by the judgements of pairs of that kind, where the data
        have them.
        """
        (kind, row), unknown = about, np.full(len(rows), np.nan, dtype=np.float32)
        asked = np.array([row])
        if (kind, seeks) == ("caption", "images"):
            return np.asarray(self._relevance.take(rows, asked)[:, 0])
        if (kind, seeks) == ("image", "captions"):
            return np.asarray(self._relevance.take(asked, rows)[0])
        same: dict[Any, Any] = {
            ("image", "images"): self.split.image_judgements,
            ("caption", "captions"): self.split.caption_judgements,
        }
        judged: Any = next(iter(same.get((kind, seeks), {}).values()), None)
        return unknown if judged is None else np.asarray(judged.take(asked, rows)[0])


def first(scores: NDArray[Any], k: int, passes: NDArray[np.bool_] | None = None) -> Rows:
    """The ``k`` best rows, best first; of equal scores the lower row first.

    Args:
        scores: ``(N,)``; NaN = not known, and never among the best.
        k: how many at most.
        passes: ``(N,)`` which rows may be shown; ``None`` = all.

    Returns:
        ``(at most k,)`` rows.

    >>> first(np.array([0.1, 0.9, np.nan, 0.9]), 3).tolist()
    [1, 3, 0]
    """
    rows = np.flatnonzero(~np.isnan(scores) & (True if passes is None else passes))
    if len(rows) > k:
        values = scores[rows]
        least = np.partition(values, len(rows) - k)[len(rows) - k]
        above, equal = rows[values > least], rows[values == least]
        rows = np.sort(np.concatenate([above, equal[: k - len(above)]]))
    return rows[np.argsort(-scores[rows], kind="stable")]


def places(scores: NDArray[Any], rows: Sequence[int]) -> list[int | None]:
    """The rank of each of these rows, counted from 1; ``None`` where it has no score.

    >>> places(np.array([0.1, 0.9, np.nan, 0.9]), [0, 1, 2, 3])
    [3, 1, None, 2]
    """
    found: list[int | None] = []
    for row in rows:
        value = scores[row]
        before = int((scores > value).sum()) + int((scores[:row] == value).sum())
        found.append(None if np.isnan(value) else before + 1)
    return found


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
    parts = [query @ gallery[part].float().T for part in blocks(len(gallery), BLOCK)]
    return torch.cat(parts, dim=1).cpu().numpy()
