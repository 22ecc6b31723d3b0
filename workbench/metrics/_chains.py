"""Images with chains of texts from generic to specific, and their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows, Split

Vectors = NDArray[Any]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Chains:
    """What the hierarchy metrics read.

    Args:
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors of the captions.
        root: ``(D,)`` unit vector of the empty string.
        captions: ``(T,)`` texts; equal strings are one text, embedded as at their first place.
        level: ``(T,)`` larger = more specific; every chain has the same levels, once each.
        chain: ``(T,)`` number of the caption's chain.
        own: ``(T,)`` row of the caption's image; a chain describes one image.

    Raises:
        ValueError: lengths differ, a vector is not of unit length, a chain lacks a level or describes two
            images.
    """

    image: Vectors
    text: Vectors
    root: Vectors
    captions: Sequence[str]
    level: Rows
    chain: Rows
    own: Rows

    def __post_init__(self) -> None:
        lengths = {len(self.text), len(self.captions), len(self.level), len(self.chain), len(self.own)}
        if len(lengths) != 1:
            raise ValueError(f"text, captions, level, chain and own have lengths {sorted(lengths)}")
        for name, vectors in (("image", self.image), ("text", self.text), ("root", self.root[None])):
            lengths_off = np.abs(np.linalg.norm(vectors.astype(np.float64), axis=1) - 1).max()
            if not lengths_off < 1e-3:  # also catches NaN
                raise ValueError(f"{name} vectors must have length 1, one is off by {lengths_off:.3g}")
        levels = self.level[self.rows]
        if (levels != levels[0]).any() or (self.chain[self.rows] != self.chain[self.rows][:, :1]).any():
            raise ValueError(f"every chain must have the levels {levels[0].tolist()}, once each")
        if (self.own[self.rows] != self.own[self.rows][:, :1]).any():
            raise ValueError("a chain describes two images")

    @staticmethod
    def of(split: Split, image: Vectors, text: Vectors, root: Vectors) -> Chains:
        """The chains of a split with its embeddings, see the arguments of the class.

        Raises:
            ValueError: the split's captions form no chains.
        """
        if split.level is None or split.chain is None:
            raise ValueError(
                f"the captions of {split.name} form no chains; load chains, e.g. scenes with texts='chains'"
            )
        return Chains(image, text, root, split.captions, split.level, split.chain, split.own)

    @cached_property
    def rows(self) -> Rows:
        """``(C, L)`` caption rows of each chain, generic first."""
        depth = len(np.unique(self.level))
        if len(self.level) % depth:
            raise ValueError(f"{len(self.level)} captions do not make chains of {depth} levels")
        return np.lexsort((self.level, self.chain)).reshape(-1, depth)

    @cached_property
    def image_of(self) -> Rows:
        """``(C,)`` image row of each chain."""
        return self.own[self.rows[:, 0]]

    @cached_property
    def first(self) -> Rows:
        """``(T,)`` first row that holds the same string: the name of a text."""
        place: dict[str, int] = {}
        return np.array(
            [place.setdefault(caption, row) for row, caption in enumerate(self.captions)], dtype=np.int64
        )

    @cached_property
    def pool(self) -> Rows:
        """``(P,)`` rows of the distinct texts."""
        return np.unique(self.first)

    @property
    def cosine(self) -> Values:
        """``(T,)`` cosine of each caption with its own image."""
        return np.asarray(np.einsum("td,td->t", self.text, self.image[self.own], dtype=np.float64))

    @property
    def distance(self) -> Values:
        """``(T,)`` Euclidean distance of each caption from its own image, in [0, 2]."""
        return np.sqrt(np.maximum(2 - 2 * self.cosine, 0))

    @property
    def radius(self) -> Values:
        """``(T,)`` Euclidean distance of each caption from the root, in [0, 2]."""
        return np.asarray(np.linalg.norm(self.text.astype(np.float64) - self.root, axis=1))
