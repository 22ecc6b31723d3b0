"""What is sought: the images, captions or entities of a split, with their names, their filters and their
grades.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import text
from workbench.records import Rows, SceneGraph, Split
from workbench.views.explorer.answers import Seeks, thumbnail_key
from workbench.views.explorer.entities import Entities
from workbench.views.explorer.questions import Filters

SAMPLE = 300
OFFERED = 200


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
            return tuple(
                sorted(
                    (self.split.captions[caption] for caption in self.captions_of(row)), key=len, reverse=True
                )
            )
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
        graphs = self.split.caption_graphs or _parsed(self.split.captions[:SAMPLE])
        said = {
            "objects": [name for graph in graphs for name in graph.objects],
            "attributes": [word for graph in graphs for _, word in graph.attributes],
            "relations": [word for graph in graphs for _, word, _ in graph.relations],
        }
        return {
            part: tuple(word for word, _ in Counter(words).most_common(OFFERED))
            for part, words in said.items()
        }

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
        wanted = words.lower()
        images = ((row, name) for row, name in enumerate(self.split.image_ids) if wanted in name.lower())
        captions = (
            (row, self.split.captions[row]) for row, caption in enumerate(self._lower) if wanted in caption
        )
        found = {"caption": list(islice(captions, most)), "image": list(islice(images, most // 2))}
        return [
            {"kind": kind, "value": row, "name": name} for kind, rows in found.items() for row, name in rows
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


def _parsed(captions: Sequence[str]) -> Sequence[SceneGraph]:
    graphs: Sequence[SceneGraph] = text.load("scene_graph").of(captions).graphs
    return graphs
