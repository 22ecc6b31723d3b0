"""Grades of what was found: by the split's own pairs, or by denser judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows
from workbench.registry import did_you_mean
from workbench.views.explorer.answers import Mark, Seeks
from workbench.views.explorer.gallery import Gallery
from workbench.views.explorer.questions import Question

DENSER = ("exact", "eccv", "cxc", "human")


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
        return "relevant" if grade >= self._from else "not"

    @property
    def _from(self) -> float:
        return float(getattr(self._relevance, "relevant_from", 1.0))

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
        same = {
            ("image", "images"): self.split.image_judgements,
            ("caption", "captions"): self.split.caption_judgements,
        }
        judged: Sequence[Any] = list(same.get((kind, seeks), {}).values())
        return np.asarray(judged[0].take(asked, rows)[0]) if judged else unknown
