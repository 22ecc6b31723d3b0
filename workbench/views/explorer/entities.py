"""Entities of captions (an object with its attributes), where a run embeds them: CORA's image to entity
retrieval.

Source: Pham et al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024,
Fig. 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.experiment.opened import OpenRun
from workbench.records import Rows
from workbench.views.explorer import sphere


class Entities:
    """Distinct entities of all runs, each named by its words; equal words are one entity, embedded as at its
    first caption.

    Args:
        spaces: the runs; those that embed no entities take no part.
    """

    def __init__(self, spaces: Sequence[OpenRun]) -> None:
        said = [_said(space) for space in spaces]
        self.names = tuple(dict.fromkeys(name for names in said for name in names))
        number = {name: row for row, name in enumerate(self.names)}
        self._vectors, self._rows = [], []
        self.images: list[set[int]] = [set() for _ in self.names]
        for space, names in zip(spaces, said, strict=True):
            rows = np.array([number[name] for name in names], dtype=np.int64)
            distinct, place = np.unique(rows, return_index=True)
            self._rows.append(distinct)
            self._vectors.append(None if space.text.entities is None else space.text.entities[place])
            self._own(space, rows)

    def _own(self, space: OpenRun, rows: Rows) -> None:
        if space.text.owner is not None:
            for row, caption in zip(rows.tolist(), space.text.owner.tolist(), strict=True):
                self.images[row].add(int(space.split.own[caption]))

    def scores(self, points: NDArray[Any], run: int) -> NDArray[np.float32]:
        """``(Q, E)`` cosines of points in the space of a run; NaN for an entity that it does not embed."""
        out = np.full((len(points), len(self.names)), np.nan, dtype=np.float32)
        vectors = self._vectors[run]
        if vectors is not None and len(vectors):
            out[:, self._rows[run]] = sphere.cosines(points, vectors)
        return out


def _said(space: OpenRun) -> list[str]:
    """The words of each embedded entity: attributes, then the object."""
    labels, maker = space.text.labels, space.model.makers.get("graph_tokens")
    if space.text.entities is None or labels is None or maker is None:
        return []
    phrases: Any = maker.of(space.split.captions)
    words = ("", *phrases.phrases)
    return [" ".join([*(words[a] for a in row[1:] if a), words[row[0]]]) for row in labels.tolist()]
