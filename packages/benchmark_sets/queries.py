"""Composed queries: images, and texts that change them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.records import Split


@dataclass(frozen=True)
class Query:
    """An image and a text that changes it.

    Args:
        reference: row of the image.
        text: what is asked of it.
        targets: rows of the images that are right.
        candidates: rows among which the target is also sought; empty = none.
        kind: of the change; numbers of each kind stand beside those of all.
    """

    reference: int
    text: str
    targets: tuple[int, ...]
    candidates: tuple[int, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Gallery:
    """Images and the queries that are asked of them.

    Args:
        split: the images, each with its id as its caption, which is not read.
        queries: of these images.
        category: of the queries; empty = there is one gallery alone.
        depths: at which the targets are sought in the gallery.
        depths_of_candidates: at which they are sought among a query's candidates.
        without_reference: whether the reference is left out of its own list.
    """

    split: Split
    queries: Sequence[Query]
    category: str = ""
    depths: tuple[int, ...] = (1, 5, 10, 50)
    depths_of_candidates: tuple[int, ...] = ()
    without_reference: bool = True


def split_of(name: str, ids: Sequence[str], open_image: Callable[[int], Any]) -> Split:
    """Return images without captions as a split, in which an id stands for the caption.

    Args:
        name: of the split.
        ids: of the images.
        open_image: row -> image.
    """
    rows = np.arange(len(ids))
    return Split(name, tuple(ids), tuple(ids), tuple(ids), rows, open_image)
