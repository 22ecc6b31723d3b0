"""What the members of this registry derive from, a user's own among them.

A ``SignalMaker`` makes a signal, one value for each caption. A ``RelevanceMaker`` compares captions with
images, each of which is known by its own captions, and makes a ``Relevance``. A ``NegativeMaker`` makes texts
that are false of images.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from scipy import sparse

from workbench.records import Array, Judgements, Mask, Rows, Signal, Split, require
from workbench.registry import Checked


class Maker(Checked):
    """Learns from captions, and applies what it learnt to other captions.

    What was learnt is plain JSON (``state`` / ``restore``), so that a checkpoint can carry it. A member
    says in ``learnt`` which attributes ``fit`` sets, and in ``bound`` which options they belong to.
    """

    name: str
    learnt: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()

    def state(self) -> dict[str, Any]:
        """Return what ``fit`` learnt, as JSON values, with the options that it belongs to."""
        return {key: getattr(self, key) for key in self.bound + self.learnt}

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned.

        Raises:
            ValueError: it was learnt with other options.
        """
        for option in self.bound:
            learnt = state[option]
            own = getattr(self, option)
            require(
                learnt == own,
                f"{self.name}: the state was made with {option} {learnt!r}, this one has {own!r}",
            )
        for key in self.learnt:
            setattr(self, key, state[key])
        return self


class SignalMaker(Maker):
    """Makes one signal. ``fit`` learns from a pool (usually the training captions), ``transform`` applies
    what was learnt.
    """

    def fit(self, captions: Sequence[str]) -> Self:
        """Learn from the pool; a maker without anything to learn returns itself."""
        return self

    def transform(self, captions: Sequence[str]) -> Signal:
        """Return the signal of these captions."""
        raise NotImplementedError

    @property
    def context_length(self) -> int:
        """The most ids of a caption, start and end included; 0 = no limit, or none that is known."""
        return getattr(self, "max_length", None) or 0

    def count_truncated(self, captions: Sequence[str], signal: Signal) -> int:
        """Count the captions that are longer than ``context_length`` ids, whose end is therefore not read.

        Args:
            captions: any.
            signal: theirs, as ``transform`` made it.
        """
        return 0

    def token_texts(self, captions: Sequence[str]) -> list[list[str]]:
        """Return the words or tokens that the signal has of each caption, as texts; one that reads words says
        it.
        """
        raise NotImplementedError(f"the signal {self.name!r} is not one of words")


class Relevance:
    """Scores ``(I, T)`` of captions against the reference captions of images; larger = more alike. It is what
    ``records.Graded`` asks for; a member says in ``take`` how to compute any part of the matrix.

    Args:
        name: short key, e.g. ``"cider-d"``.
        rule: one sentence that says what a score means.
        shape: ``(I, T)``.
        relevant_from: the smallest score at which a pair counts as relevant where nobody asks for another.
    """

    def __init__(self, name: str, rule: str, shape: tuple[int, int], *, relevant_from: float = 1.0) -> None:
        self.name = name
        self.rule = rule
        self.shape = shape
        self.relevant_from = relevant_from

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` float32 scores of some captions ``(m,)`` against some images ``(n,)``; rows may
        repeat.
        """
        raise NotImplementedError

    def blocks(self, size: int = 2048) -> Iterator[tuple[slice, Array]]:
        """Yield the whole matrix, ``size`` captions at a time: their rows, and ``(I, b)`` scores."""
        for start in range(0, self.shape[1], size):
            captions = slice(start, min(start + size, self.shape[1]))
            yield captions, self.take(np.arange(self.shape[0]), np.arange(captions.start, captions.stop))

    def dense(self) -> Array:
        """Return the whole matrix ``(I, T)``, which needs ``4 I T`` bytes."""
        out = np.empty(self.shape, dtype=np.float32)
        for captions, scores in self.blocks():
            out[:, captions] = scores
        return out

    def judgements(self, *, minimum: float | None = None, size: int = 2048) -> Judgements:
        """Return the pairs that score at least ``minimum``, as sparse grades; a pair that is not listed has
        grade 0.

        Args:
            minimum: greater than 0; a listed pair counts as relevant. ``None`` = ``relevant_from``.
            size: captions a block.

        Raises:
            ValueError: ``minimum`` is not greater than 0, which would list every pair.
        """
        minimum = self.relevant_from if minimum is None else minimum
        require(
            minimum > 0,
            f"{self.name}: minimum is {minimum}; it must be greater than 0, else every pair would be listed",
        )
        nothing = sparse.coo_array((self.shape[0], 0), dtype=np.float32)
        blocks = (sparse.coo_array(scores * (scores >= minimum)) for _, scores in self.blocks(size))
        listed = sparse.hstack([nothing, *blocks], "coo")
        images, captions = listed.coords
        return Judgements(
            self.name, self.rule, self.shape, images, captions, listed.data, relevant_from=minimum
        )


class RelevanceMaker(Maker):
    """Makes a ``Relevance``. Unlike a signal, which is one value a caption, it knows which captions describe
    the same image: ``own`` is the ``(T,)`` row of each caption's image.
    """

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn from a corpus; a maker without anything to learn returns itself."""
        return self

    def transform(self, captions: Sequence[str], own: Rows, images: int | None = None) -> Relevance:
        """Return every caption against every image, whose references are its own captions, the caption itself
        among them. ``images`` is the greatest row and one where it is not given; an image without captions
        scores 0.
        """
        return self.compare(captions, captions, own, images)

    def compare(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> Relevance:
        """Return texts ``(T,)`` from elsewhere against every image, whose references ``(R,)`` ``own`` gives
        the rows of.
        """
        raise NotImplementedError


class NegativeMaker(Maker):
    """Makes texts that are false of images, for training."""

    def transform(self, split: Split) -> tuple[tuple[str, ...], ...]:
        """Return ``(T,)`` texts for each caption of a split, none where there are none."""
        raise NotImplementedError


def image_rows(maker: str, captions: int, own: Rows, images: int | None) -> tuple[Rows, int]:
    """Return the image rows as int64, and the number of images, checked against one another.

    Raises:
        ValueError: there are not as many rows as captions, or a row lies outside the images.
    """
    own = np.asarray(own, dtype=np.int64)
    require(
        own.shape == (captions,),
        f"{maker}: own has shape {own.shape} for {captions} captions; give one image row a caption",
    )
    known = int(own.max(initial=-1)) + 1 if images is None else images
    least = own.min(initial=0)
    most = own.max(initial=-1)
    require(least >= 0 and most < known, f"{maker}: own holds rows {least}..{most}, there are {known} images")
    return own, known


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths, stored end to end.

    Args:
        flat: ``(total, ...)`` values of all rows; may be memory-mapped.
        starts: ``(N + 1,)`` where each row begins, and the end of the last one.
    """

    flat: Array
    starts: Rows

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[Any]], kind: type = np.int64, *, width: int = 0) -> Self:
        """Return rows of numbers, or of ``width`` numbers each."""
        values = chain.from_iterable(rows)
        flat: Array = np.array([*values], kind).reshape(-1, width) if width else np.fromiter(values, kind)
        return cls(flat, offsets([len(row) for row in rows]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows_at_least(self, length: int) -> list[int]:
        """Return the rows with so many values or more."""
        rows: list[int] = np.flatnonzero(np.diff(self.starts) >= length).tolist()
        return rows

    def pad(self, rows: Rows) -> tuple[Array, Mask]:
        """Return ``(n, L, ...)`` values of some rows, padded with 0 to the longest of them, and ``(n, L)``
        True where a value is real.
        """
        lengths = self.starts[rows + 1] - self.starts[rows]
        places = np.arange(lengths.max(initial=0))
        mask = places < lengths[:, None]
        values = np.zeros((*mask.shape, *self.flat.shape[1:]), dtype=self.flat.dtype)
        values[mask] = self.flat[(self.starts[rows][:, None] + places)[mask]]
        return values, mask


def offsets(lengths: Sequence[int] | Rows) -> Rows:
    """Return ``(N + 1,)`` start of each row in the flat array, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
