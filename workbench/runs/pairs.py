"""Models that read an image and a text together and say how well they match. They have no vectors.

Their scores are kept while they are computed: in the cache where the object has an ``identity``, else in the
folder that was named for it. What it costs to score all pairs is said before it begins.
"""

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from workbench import devices, progress
from workbench.formatting import format_cost, format_duration, format_number
from workbench.io import cache_folder, checksum, text_stamp
from workbench.io.ahead import in_threads
from workbench.io.pair_scores import PairScores
from workbench.metrics.blocks import AnyScores, image_by_image
from workbench.progress import Task
from workbench.records import Array, Embedding, Rows, require
from workbench.registry import require_list
from workbench.runs.model import Say, silent
from workbench.runs.outputs import as_score_list, as_score_matrix
from workbench.runs.own import OwnModel, call_scorer, read_loose_image
from workbench.runs.ways import QUESTION
from workbench.training.batches import Source

# images that are scored at a time by an object that takes lists of both, each with so many texts
AT_ONCE, TEXTS_AT_ONCE = 64, 256
# pairs that are scored at a time by an object that takes pairs
PAIRS_AT_ONCE = 64
# pairs by which the cost is measured: at most this share of all, until so many seconds are spent, by as many
# pairs at a time as later or by fewer
SHARE = 1 / 8
ENOUGH_SECONDS, TRY_SECONDS = 0.5, 10.0
# seconds between two times when scores are written
WRITE_SECONDS = 2.0
# a cost of fewer seconds is not said
SAID_SECONDS = 1.0
# hours that scoring all pairs may take, where nobody says how many
MOST_HOURS = 12.0
# what the scores of an object are given
OF_LISTS = "a list of PIL images and a list of texts"
OF_PAIRS = "a list of PIL images and a list of as many texts"
clock = time.perf_counter


class PairScorer(Protocol):
    """What a model of one's own offers that reads an image and a text together: one of the two, or both.

    A text ``identity``, such as a name with a version of the weights, lets its scores be kept in the cache.
    """

    def score(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        """Return ``(N,)`` numbers for ``N`` pairs, each of an image in RGB and the text beside it; larger =
        more alike.
        """

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        """Return ``(I, T)`` numbers for images in RGB and texts; larger = more alike."""


@dataclass(frozen=True)
class Items(Embedding):
    """Images or texts themselves, of a model that has no vectors: ``mean`` is ``(N, 0)``.

    Args:
        opened: gives the image or text of a row.
        rows: ``(N,)``.
        stamp: gives the checksum of a row, 0 where it is not known; ``None`` = nothing is known.
    """

    opened: Callable[[int], Any] = str
    rows: Rows | None = None
    stamp: Callable[[int], int] | None = None

    @classmethod
    def from_opener(
        cls, opened: Callable[[int], Any], rows: Rows, stamp: Callable[[int], int] | None = None
    ) -> "Items":
        """Refer to rows by what opens them."""
        return cls(torch.empty(len(rows), 0), opened=opened, rows=rows, stamp=stamp)

    def take(self, rows: Rows | Tensor | slice) -> "Items":
        """Return some rows ``(n,)``."""
        return Items.from_opener(self.opened, np.atleast_1d(np.asarray(self.rows)[rows]), self.stamp)

    def in_float32(self, device: torch.device) -> "Items":
        """Return the same, since there is nothing to move."""
        return self

    def read(self, rows: Rows) -> list[Any]:
        """Open the items of some rows, each distinct one once."""
        names, place = np.unique(np.asarray(self.rows)[rows], return_inverse=True)
        items = in_threads(self.opened, names.tolist())
        return [items[number] for number in place.tolist()]

    def stamps(self) -> Rows:
        """Return ``(N,)`` checksums; of images that are read from nothing that is known, of their pixels."""
        stamp = self.stamp or _unknown_content
        return np.array(
            [stamp(row) or _content_checksum(self.opened(row)) for row in np.asarray(self.rows)], np.int64
        )


def _unknown_content(row: int) -> int:
    return 0


def _content_checksum(item: Any) -> int:
    """Return a checksum of 64 bits of a text or of an image."""
    if isinstance(item, str):
        return text_stamp(item)
    return text_stamp(hashlib.sha256(item.tobytes() + str(item.size).encode()).hexdigest())


class PairModel(OwnModel):
    """An object that reads an image and a text together and says how well they match. It has no vectors.

    Args:
        subject: the object.
        name: how tables call it.
        origin: see ``Model``.

    Attributes:
        folder: where scores are kept of an object that has no ``identity``; empty = nowhere.
        max_hours: that scoring all pairs may take.
    """

    of_unit_length = False
    scores_itself = True
    folder: str | Path = ""
    max_hours: float = MOST_HOURS

    def __init__(self, subject: Any, name: str, origin: Mapping[str, Any] | None = None) -> None:
        super().__init__(subject, name, origin)
        self.paired = callable(getattr(subject, "score", None))
        self.in_lists = callable(getattr(subject, "scores", None))
        self._latest: dict[str, _Latest] = {}

    def with_prompts(self, prompts: Mapping[str, str]) -> Self:
        """Return the object with another question about its pairs.

        Args:
            prompts: the question, ``{"question": "Is this {text}?"}``.

        Raises:
            ValueError: the object is asked nothing, or prompts of directions.
        """
        ask: Any = getattr(self.subject, "with_question", None)
        require(
            callable(ask) and set(prompts) == {QUESTION},
            f"prompts: {self.name} scores pairs; a vision-language model takes "
            '{"question": "Is this {text}?"}, and others none',
        )
        changed = copy(self)
        changed.subject, changed._latest = ask(prompts[QUESTION]), {}
        changed.origin = {**self.origin, "prompts": dict(prompts)}
        return changed

    def embed_images_of(self, source: Source) -> Embedding:
        """Refer to the images of a split, which are opened when they are scored."""
        split = source.split
        return Items.from_opener(split.open_image, np.arange(len(split.image_ids)), split.stamp)

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Refer to loose images; ``features`` is not read."""
        require_list("images", images)
        return Items.from_opener(lambda row: read_loose_image(images[row]), np.arange(len(images)))

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Refer to loose texts."""
        require_list("texts", texts)
        return Items.from_opener(lambda row: texts[row], np.arange(len(texts)))

    def score_store(self) -> PairScores | None:
        """Return where scores are kept; ``None`` = nowhere."""
        identity = str(getattr(self.subject, "identity", ""))
        if not (identity or self.folder):
            return None
        known = identity or f"{self.name} {_source_checksum(self.subject)}"
        facts = [known, self._place.type, devices.precision_of(self.precision)]
        key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
        place = cache_folder() if identity else Path(self.folder)
        return PairScores(place / f"pairs-{key}.sqlite")

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
        """Return ``(I, T)`` scores of a whole split; the cost is said before it begins.

        Raises:
            ValueError: it would take longer than ``max_hours``.
        """
        session = self._start_session(image, text)
        if (latest := self._latest.get("whole")) and latest.matches(image, text):
            return latest.scores
        remedy = "let it score the best items of a first stage again, as the reranker with rerank=16"
        self._report_cost(self._count_missing(session), partial(self._score_sample, session), remedy, say)
        scores = super().scores_of_split(image, text, say=say)
        if isinstance(scores, np.ndarray):
            self._latest["whole"] = _Latest(image, text, scores)
        return scores

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores, some images and texts at a time."""
        session = self._start_session(image, text)
        out = np.empty((len(image), len(text)), np.float32)
        with Task(f"scoring pairs with {self.name}", out.size, "pairs") as session.task:
            for rows in _split_rows(len(image), AT_ONCE):
                out[rows] = self._score_rows(session, rows)
            session.write()
        return out

    def pair_scores(
        self, image: Embedding, text: Embedding, rows: Rows, items: Rows, *, say: Say = silent
    ) -> Array:
        """Score pairs, see ``Model``."""
        session, pairs = self._start_session(image, text), (rows.tobytes(), items.tobytes())
        if (latest := self._latest.get("pairs")) and latest.matches(image, text, pairs):
            return latest.scores
        began = clock()
        values = session.known(rows, items)
        missing = np.flatnonzero(np.isnan(values))

        def attempt(size: int) -> int:
            some = missing[:size]
            return self._try_pairs(session, rows[some], items[some])

        self._report_cost(len(missing), attempt, "re-rank fewer items", say)
        with Task(f"scoring pairs with {self.name}", len(rows), "pairs") as session.task:
            self._fill_missing(session, rows, items, values)
            session.write()
        say(format_cost(len(rows), len(image) * len(text), self.name, clock() - began))
        self._latest["pairs"] = _Latest(image, text, values, pairs)
        return values

    def _report_cost(self, pairs: int, attempt: Callable[[int], int], remedy: str, say: Say) -> None:
        """Report what it costs to score so many pairs.

        Args:
            pairs: how many.
            attempt: scores about so many of them, and says how many.
            remedy: what else can be done.
            say: is told the cost.

        Raises:
            ValueError: it would take longer than ``max_hours``.
        """
        seconds = self._estimate_seconds(pairs, attempt)
        cost = f"{format_number(pairs, 0)} pairs with {self.name}: about {format_duration(seconds)}"
        require(
            seconds <= 3600 * self.max_hours,
            f"scoring {cost}, more than {format_duration(3600 * self.max_hours)}; {remedy}, or raise "
            "max_hours",
        )
        if seconds >= SAID_SECONDS:
            _report(say, f"scoring {cost}")

    def _start_session(self, image: Embedding, text: Embedding) -> "_Session":
        if isinstance(image, Items) and isinstance(text, Items):
            return _Session(self.score_store(), image, text)
        raise TypeError(f"{self.name} scores images and texts, and no vectors")

    def _score_rows(self, session: "_Session", rows: Rows) -> Array:
        """Return ``(n, T)`` scores of some images with all texts."""
        every = np.arange(len(session.texts))
        pairs = np.repeat(rows, len(every)), np.tile(every, len(rows))
        values = session.known(*pairs)
        if not self.in_lists:
            self._fill_missing(session, *pairs, values)
            return values.reshape(len(rows), -1)
        matrix = values.reshape(len(rows), -1)
        for items in _split_rows(len(every), TEXTS_AT_ONCE):
            if np.isnan(matrix[:, items]).any():
                block = self._score_matrix(session, rows, items)
                matrix[:, items] = block
                session.add(np.repeat(rows, len(items)), np.tile(items, len(rows)), block.ravel())
        return matrix

    def _fill_missing(self, session: "_Session", rows: Rows, items: Rows, values: Array) -> None:
        """Compute the scores of pairs, images ascending, that are NaN."""
        missing = np.flatnonzero(np.isnan(values))

        def score(some: Rows, few: Rows) -> Array:
            scores = self._score_by_call(session, some, few)
            session.add(np.broadcast_to(some, few.shape), few, scores)
            return scores

        if self.paired:
            for part in _split_rows(len(missing), PAIRS_AT_ONCE):
                chosen = missing[part]
                values[chosen] = score(rows[chosen], items[chosen])
        else:
            values[missing] = image_by_image(score, rows[missing], items[missing])

    def _score_by_call(self, session: "_Session", rows: Rows, items: Rows) -> Array:
        """Return ``(n,)`` scores of pairs; without ``score``, of one image ``(1,)`` and texts."""
        if not self.paired:
            row: Array = self._score_matrix(session, rows, items)[0]
            return row
        with torch.no_grad(), devices.in_precision(self._place, self.precision):
            sides = session.opened(rows), session.texts.read(items)
            output = call_scorer(self.subject.score, f"{self.name}.score", *sides, remedy=OF_PAIRS)
        scores = as_score_list(output, f"{self.name}.score", len(rows))
        return self._require_finite(session, scores, rows, items)

    def _score_matrix(self, session: "_Session", rows: Rows, items: Rows) -> Array:
        """Return ``(n, m)`` scores of some images with some texts."""
        with torch.no_grad(), devices.in_precision(self._place, self.precision):
            sides = session.opened(rows), session.texts.read(items)
            output = call_scorer(self.subject.scores, f"{self.name}.scores", *sides, remedy=OF_LISTS)
        scores = as_score_matrix(output, f"{self.name}.scores", len(rows), len(items))
        return self._require_finite(session, scores, rows, items)

    def _require_finite(self, session: "_Session", scores: Array, rows: Rows, items: Rows) -> Array:
        """Return scores ``(n,)`` of pairs, or ``(n, m)`` of images and texts; raise if one is not finite."""
        for place in np.argwhere(~np.isfinite(scores))[:1]:
            (text,) = session.texts.read(items[place[-1:]])
            pair = f"image {rows[place[0]]} and {text!r:.60}"
            raise ValueError(
                f"{self.name} gives {pair} the score {scores[tuple(place)]}; give a finite number"
            )
        return scores

    def _count_missing(self, session: "_Session") -> int:
        """Return how many pairs of a split have no score that is kept."""
        images, texts = len(session.images), len(session.texts)
        if session.kept is None or not session.kept.file.is_file():
            return images * texts
        count = 0
        for rows in _split_rows(images, AT_ONCE):
            known = session.known(np.repeat(rows, texts), np.tile(np.arange(texts), len(rows)))
            count += int(np.isnan(known).sum())
        return count

    def _estimate_seconds(self, pairs: int, attempt: Callable[[int], int]) -> float:
        """Estimate how long so many pairs take, from a few of them, of which ever more are scored at a time;
        0 = too few for an estimate.
        """
        left, rate = int(pairs * SHARE), 0.0
        size, times = 1, 0
        spent = 0.0
        most = AT_ONCE * TEXTS_AT_ONCE if self.in_lists else PAIRS_AT_ONCE
        while size <= left and spent < TRY_SECONDS:
            began = clock()
            count = attempt(size)
            seconds = clock() - began
            # the first one also loads what is loaded once
            spent += seconds if size > 1 else 0.0
            rate, left = seconds / count, left - count
            # and so does the first one of a size
            times += size == most
            if times > 1 and spent >= ENOUGH_SECONDS:
                break
            size = min(4 * size, most)
        return rate * pairs

    def _try_pairs(self, session: "_Session", rows: Rows, items: Rows) -> int:
        """Score pairs as they are scored later, and say how many."""
        if self.paired:
            self._score_by_call(session, rows, items)
        else:
            image_by_image(partial(self._score_by_call, session), rows, items)
        return len(rows)

    def _score_sample(self, session: "_Session", size: int) -> int:
        """Score about so many pairs as they are scored later, and say how many."""
        images, texts = len(session.images), len(session.texts)
        if self.in_lists:
            # an image is prepared once for as many texts as are there, up to so many
            items = min(texts, TEXTS_AT_ONCE, size)
            rows = min(images, size // items, AT_ONCE)
            self._score_matrix(session, np.arange(rows), np.arange(items))
            return rows * items
        numbers = np.arange(min(size, images * texts))
        self._score_by_call(session, *np.divmod(numbers, texts))
        return len(numbers)


@dataclass(frozen=True)
class _Latest:
    """Scores that were computed last, of these embeddings.

    Args:
        image, text: the embeddings.
        scores: of all pairs, or of some.
        pairs: which.
    """

    image: Embedding
    text: Embedding
    scores: Array
    pairs: tuple[bytes, bytes] | None = None

    def matches(self, image: Embedding, text: Embedding, pairs: tuple[bytes, bytes] | None = None) -> bool:
        """Return whether they are of these embeddings, and of these pairs."""
        return self.image is image and self.text is text and self.pairs == pairs


class _Session:
    """Images and texts whose pairs are scored, the images that are open, and scores that wait to be written.

    Args:
        kept: where scores are kept; ``None`` = nowhere.
        images, texts: of a split, or loose ones.
    """

    def __init__(self, kept: PairScores | None, images: Items, texts: Items) -> None:
        self.kept = kept
        self.images, self.texts = images, texts
        self.task = Task("", shown=False)
        self.open: dict[int, Any] = {}
        self.waiting: list[tuple[Rows, Rows, Array]] = []
        self.written = clock()

    @cached_property
    def stamps(self) -> tuple[Rows, Rows]:
        """Checksums of images and of texts."""
        return self.images.stamps(), self.texts.stamps()

    def opened(self, rows: Rows) -> list[Any]:
        """Open the images of some rows; those of the rows before are open still."""
        new = np.setdiff1d(rows, list(self.open))
        self.open |= dict(zip(new.tolist(), self.images.read(new), strict=True))
        self.open = {row: self.open[row] for row in np.unique(rows).tolist()}
        return [self.open[row] for row in rows.tolist()]

    def known(self, rows: Rows, items: Rows) -> Array:
        """Return ``(N,)`` scores of pairs that are kept, NaN where there is none."""
        if self.kept is None:
            return np.full(len(rows), np.nan, np.float32)
        values = self.kept.read(self.stamps[0][rows], self.stamps[1][items])
        self.task.update(int((~np.isnan(values)).sum()))
        return values

    def add(self, rows: Rows, items: Rows, values: Array) -> None:
        """Take scores ``(N,)`` of pairs, which are written now or soon."""
        self.task.update(len(values))
        if self.kept:
            self.waiting.append((self.stamps[0][rows], self.stamps[1][items], values))
            if clock() - self.written >= WRITE_SECONDS:
                self.write()

    def write(self) -> None:
        """Write what waits."""
        if self.kept and self.waiting:
            self.kept.add(*map(np.concatenate, zip(*self.waiting, strict=True)))
        self.waiting, self.written = [], clock()


def _split_rows(count: int, size: int) -> list[Rows]:
    """Return rows in parts of at most so many."""
    return [np.arange(first, min(first + size, count)) for first in range(0, count, size)]


def _report(say: Say, line: str) -> None:
    """Report a line to whoever listens, else where progress is shown."""
    if say is silent:
        progress.note(line)
    else:
        say(line)


def _source_checksum(subject: Any) -> str:
    """Return the checksum of the file that holds the class of an object, where it is known."""
    try:
        file = inspect.getsourcefile(type(subject))
    except TypeError:
        return ""
    return checksum(Path(file)) if file and Path(file).is_file() else ""
