"""Grades from categories of images, such as the classes of the objects that they show."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.records import Array, Mask, Rows

FAR = 3  # differing categories from which on the grade is 0


def category_presence(categories: Sequence[Collection[str]]) -> Mask:
    """Return ``(N, C)`` which categories each of N images shows, one column for each that occurs, in
    alphabetical order.

    >>> category_presence([["dog", "cat"], ["cat"], []]).astype(int).tolist()
    [[1, 1], [1, 0], [0, 0]]
    """
    from sklearn.preprocessing import MultiLabelBinarizer  # seconds to import

    return np.asarray(MultiLabelBinarizer().fit_transform(categories), dtype=bool)


@dataclass(frozen=True)
class Categories:
    """Grades of pairs, see ``records.Graded``: ``far`` less the number of categories in which the image and
    the caption's image differ.

    Args:
        codes: ``(I, C)`` which categories each image shows, e.g. from ``category_presence``.
        own: ``(T,)`` row of each caption's image.
        far: differing categories from which on the grade is 0.
    """

    codes: Mask
    own: Rows
    far: int = FAR
    name: str = "categories"

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of images and of captions."""
        return len(self.codes), len(self.own)

    @property
    def listed(self) -> tuple[Mask, Mask]:
        """Return ``(I,)`` and ``(T,)`` which images and captions have a category."""
        shows = np.asarray(self.codes.any(axis=1))
        return shows, shows[self.own]

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` grades; NaN for an image without any category and for its captions."""
        first, second = (self.codes[rows].astype(np.float32) for rows in (images, self.own[captions]))
        # Hamming distances; exact, since they are small whole numbers
        apart = first.sum(axis=1)[:, None] + second.sum(axis=1) - 2 * first @ second.T
        listed = np.logical_and.outer(first.any(axis=1), second.any(axis=1))
        return np.where(listed, self.far - np.minimum(np.rint(apart), self.far), np.float32(np.nan))
