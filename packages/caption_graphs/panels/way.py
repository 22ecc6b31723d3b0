"""The way from a question to the root, the embedding of the empty text, along the sphere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.registry import Share
from workbench.views.explorer import Panel, Question, Term
from workbench.views.explorer.engine import Answerer, unit_vector
from workbench.views.explorer.questions import Seeks

SIDES: tuple[Seeks, ...] = ("captions", "images")
STEPS = tuple(step / 10 for step in range(11))
ROOT = Question((Term("text", ""),))


@dataclass(frozen=True)
class Walk:
    """What the panel sets: how far the question moves towards the root, 1 = the root itself."""

    walk: Share = 0.0


def point_between(start: NDArray[Any], end: NDArray[Any], share: float) -> NDArray[np.float32]:
    """Return the point on the great circle from ``start`` to ``end``, unit vectors.

    Args:
        start: ``(D,)``.
        end: ``(D,)``.
        share: 0 = start, 1 = end.

    Returns:
        ``(D,)`` unit vector. Of opposite vectors no circle is the shortest, and the straight way is taken.

    >>> [round(float(value), 4) for value in point_between(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5)]
    [0.7071, 0.7071]
    """
    angle = float(np.arccos(np.clip(float(start @ end), -1, 1)))
    if np.sin(angle) < 1e-6:
        return unit_vector((1 - share) * start + share * end)
    return unit_vector((np.sin((1 - share) * angle) * start + np.sin(share * angle) * end) / np.sin(angle))


class Way(Panel):
    """Moves a question towards the root, and names what each run finds on the way."""

    name = "way"
    title = "Walk to the root: from specific to generic"
    encodes = True
    Settings = Walk

    def move(self, question: Question, settings: Walk) -> Question:
        """Return the point on the way as the question."""
        if not settings.walk:
            return question
        points = [self._point(answerer, question, settings.walk) for answerer in self.engine.answerers]
        return replace(question, terms=(Term("embedding", points, name=question.label),))

    def answer(self, question: Question, settings: Walk | None, watched: int | None) -> Mapping[str, Any]:
        """Return the caption and the image that each run finds nearest at each step."""
        question = self.engine.reword(question)
        steps: list[dict[str, Any]] = []
        if self.engine.encodes:
            for run, answerer in enumerate(self.engine.answerers):
                if answerer.has_vectors:
                    steps += self._steps(run, answerer, question)
        return {"steps": steps, "thumbnails": [step["thumbnail"] for step in steps]}

    def _point(self, answerer: Answerer, question: Question, walk: float) -> NDArray[np.float32] | None:
        """Return the point on the way in the space of a run; ``None`` where it has no model or no space."""
        if not answerer.encodes or not answerer.has_vectors:
            return None
        return point_between(answerer.query_vector(question), answerer.query_vector(ROOT), walk)

    def _steps(self, run: int, answerer: Answerer, question: Question) -> Sequence[dict[str, Any]]:
        start = answerer.query_vector(question)
        root = answerer.query_vector(ROOT)
        points = np.stack([point_between(start, root, step) for step in STEPS])
        captions, images = (answerer.cosines(points, seeks) for seeks in SIDES)
        split = self.engine.split
        steps = []
        for number, walk in enumerate(STEPS):
            caption = int(captions[number].argmax())
            image = int(images[number].argmax())
            level = self.engine.gallery.item("captions", caption)["level"]
            step = {
                "run": run,
                "walk": walk,
                "text": split.captions[caption],
                "level": level,
                "cosine": float(captions[number, caption]),
                "image": split.image_ids[image],
                "thumbnail": str(image),
            }
            steps.append(step)
        return steps
