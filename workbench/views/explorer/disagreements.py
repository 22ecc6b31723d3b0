"""The questions on which runs disagree: captions of the split whose own image stands at different ranks, or
whose first images have different grades where the data know the truth.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.records import require
from workbench.registry import require_known
from workbench.runs import compare
from workbench.runs.result import OpenRun
from workbench.views.explorer.answers import thumbnail_key
from workbench.views.explorer.gallery import Gallery

By = Literal["rank", "grade"]
MOST = 100


@dataclass(frozen=True)
class Disagreement:
    """A caption on which runs disagree.

    Args:
        row: of the caption.
        text: the caption.
        kind: ``"text"`` where these words name this caption; ``"caption"`` where an earlier one reads the
            same, so that the row must be asked.
        thumbnail: key of its own image.
        ranks: of its own image, one a run.
        grades: of the image that each run puts first; empty where no grades were asked for.
    """

    row: int
    text: str
    kind: Literal["text", "caption"]
    thumbnail: str
    ranks: tuple[int, ...]
    grades: tuple[float | None, ...] = ()


def disagreements(
    runs: Sequence[OpenRun], gallery: Gallery, by: By = "rank", most: int = MOST
) -> tuple[Disagreement, ...]:
    """The captions on which the runs differ most, one an image, most different first.

    Args:
        runs: over the split of the gallery.
        gallery: of the explorer.
        by: ``"rank"`` = by the ratio of the worst to the best rank of the caption's own image, as
            ``07_compare`` lists them; ``"grade"`` = by the difference between the grades of the images that
            the runs put first.
        most: how many.

    Raises:
        ValueError: fewer than two runs, an unknown ``by``, or grades that the data do not have.
    """
    require_known("disagreements go by rank or grade, not by", by, ["rank", "grade"], ValueError)
    require(len(runs) > 1, "a single run disagrees with nobody: open the explorer on two or more")
    ranks = compare.ranks(runs, "t2i")
    found = _by_grade(runs, most) if by == "grade" else _by_rank(runs, ranks, most)
    captions, own = gallery.split.captions, gallery.split.own
    return tuple(
        Disagreement(
            row,
            captions[row],
            "text" if gallery.rows[captions[row]] == row else "caption",
            thumbnail_key(int(own[row])),
            tuple(ranks[:, row].astype(int).tolist()),
            grades,
        )
        for row, grades in found
    )


def _by_rank(
    runs: Sequence[OpenRun], ranks: np.ndarray, most: int
) -> Iterator[tuple[int, tuple[float | None, ...]]]:
    for _, row in compare.chosen(ranks, runs[0].split, "t2i", (), most):
        yield row, ()


def _by_grade(runs: Sequence[OpenRun], most: int) -> Iterator[tuple[int, tuple[float | None, ...]]]:
    """Caption rows with the grades of the runs' first images, where these differ, one an image."""
    split, grade = runs[0].split, compare.grader(runs[0].split)
    if grade is None:
        raise ValueError(f"{split.name} knows no grades; ask for disagreements by rank")
    first = np.stack([run.scores.argmax(axis=0) for run in runs])
    differ = np.flatnonzero((first != first[0]).any(axis=0))
    graded = {int(row): grade(first[:, row], np.array([row]))[:, 0] for row in differ}
    apart = {
        row: float(np.nanmax(one) - np.nanmin(one)) for row, one in graded.items() if np.isfinite(one).any()
    }
    images = set[int]()
    for row in sorted((row for row, gap in apart.items() if gap > 0), key=lambda row: (-apart[row], row)):
        image = int(split.own[row])
        if image not in images and len(images) < most:
            images.add(image)
            yield row, tuple(None if np.isnan(one) else float(one) for one in graded[row].tolist())
