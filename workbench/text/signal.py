"""What the members of this shelf derive from, a user's own among them.

A ``SignalMaker`` makes a signal, one value for each caption. A ``RelevanceMaker`` compares captions with
images, each of which is known by its own captions, and makes a ``Relevance``.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workbench.records import Judgements, Rows, Signal
from workbench.registry import Checked

Floats = NDArray[np.float32]


class Maker(Checked):
    """Learns from captions, and applies what it learnt to other captions.

    What was learnt is plain JSON (``state`` / ``restore``), so that a checkpoint can carry it and a caption
    that is typed a year later is read exactly as in training.
    """

    name: str

    def state(self) -> dict[str, Any]:
        """What ``fit`` learnt, as JSON values."""
        return {}

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned."""
        return self


class SignalMaker(Maker):
    """Makes one signal. ``fit`` learns from a pool (usually the training captions), ``of`` applies what was
    learnt.
    """

    def fit(self, captions: Sequence[str]) -> Self:
        """Learn from the pool; a maker without anything to learn returns itself."""
        return self

    def of(self, captions: Sequence[str]) -> Signal:
        """The signal of these captions."""
        raise NotImplementedError


class Relevance:
    """Scores ``(I, T)`` of captions against the reference captions of images; larger = more alike.

    It is what ``records.Graded`` asks for. A member of the shelf says in ``take`` how to compute any part of
    the matrix; the rest follows.

    Args:
        name: short key, e.g. ``"cider-d"``.
        rule: one sentence that says what a score means.
        shape: ``(I, T)``.
    """

    def __init__(self, name: str, rule: str, shape: tuple[int, int]) -> None:
        self.name, self.rule, self.shape = name, rule, shape

    def take(self, images: Rows, captions: Rows) -> Floats:
        """The scores of some captions against some images, for a training batch or a block of a metric.

        Args:
            images: ``(n,)`` image rows, repeats allowed.
            captions: ``(m,)`` caption rows, repeats allowed.

        Returns:
            ``(n, m)`` float32.
        """
        raise NotImplementedError

    def pairs(self, images: Rows, captions: Rows) -> Floats:
        """The same as ``take``."""
        return self.take(images, captions)

    def columns(self, captions: slice) -> Floats:
        """``(I, b)`` scores of neighbouring captions against all images."""
        return self.take(np.arange(self.shape[0]), np.arange(self.shape[1])[captions])

    def blocks(self, size: int = 2048) -> Iterator[tuple[slice, Floats]]:
        """The whole matrix, some captions at a time.

        Args:
            size: captions a block; memory is ``4 I size`` bytes a block and about as much again while it is
                made.

        Yields:
            The caption rows of the block, and its ``(I, b)`` scores.
        """
        for start in range(0, self.shape[1], size):
            captions = slice(start, min(start + size, self.shape[1]))
            yield captions, self.columns(captions)

    def dense(self) -> Floats:
        """The whole matrix ``(I, T)``, which needs ``4 I T`` bytes."""
        out = np.empty(self.shape, dtype=np.float32)
        for captions, scores in self.blocks():
            out[:, captions] = scores
        return out

    def judgements(self, *, minimum: float, size: int = 2048) -> Judgements:
        """The pairs that score at least ``minimum``, as sparse grades; a pair that is not listed has grade 0.

        Args:
            minimum: smallest score that is listed, greater than 0; a listed pair counts as relevant.
            size: captions a block.

        Raises:
            ValueError: ``minimum`` is not greater than 0, which would list every pair.
        """
        if not minimum > 0:
            raise ValueError(
                f"{self.name}: minimum is {minimum}; it must be greater than 0, "
                f"else every pair would be listed"
            )
        images, captions, grades = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for columns, scores in self.blocks(size):
            image, caption = np.nonzero(scores >= minimum)
            images.append(image)
            captions.append(caption + columns.start)
            grades.append(scores[image, caption])
        listed = np.concatenate(images), np.concatenate(captions), np.concatenate(grades)
        return Judgements(self.name, self.rule, self.shape, *listed, relevant_from=minimum)


class RelevanceMaker(Maker):
    """Makes a ``Relevance``. Unlike a signal, which is one value a caption, it knows which captions describe
    the same image.

    ``fit`` learns from a corpus, ``of`` compares captions with one another, ``against`` compares others with
    them.
    """

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn from a corpus; a maker without anything to learn returns itself.

        Args:
            captions: ``T`` texts.
            own: ``(T,)`` row of each caption's image.
        """
        return self

    def of(self, captions: Sequence[str], own: Rows, images: int | None = None) -> Relevance:
        """Every caption against every image, whose references are its own captions.

        Args:
            captions: ``T`` texts.
            own: ``(T,)`` row of each caption's image.
            images: number of images; by default the greatest row and one. An image without captions scores 0.

        Returns:
            Scores ``(I, T)``; a caption is among the references of its own image.
        """
        raise NotImplementedError

    def against(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> Relevance:
        """Texts from elsewhere against every image.

        Args:
            hypotheses: ``T`` texts.
            references: ``R`` texts.
            own: ``(R,)`` row of each reference's image.
            images: number of images; by default the greatest row and one. An image without references scores
                0.

        Returns:
            Scores ``(I, T)``.
        """
        raise NotImplementedError


def image_rows(maker: str, captions: int, own: Rows, images: int | None) -> tuple[Rows, int]:
    """The image rows as int64, and the number of images, checked against one another.

    Raises:
        ValueError: there are not as many rows as captions, or a row lies outside the images.
    """
    own = np.asarray(own, dtype=np.int64)
    if own.shape != (captions,):
        raise ValueError(
            f"{maker}: own has shape {own.shape} for {captions} captions; give one image row a caption"
        )
    known = int(own.max(initial=-1)) + 1 if images is None else images
    if captions and (own.min() < 0 or own.max() >= known):
        raise ValueError(f"{maker}: own holds rows {own.min()}..{own.max()}, there are {known} images")
    return own, known
