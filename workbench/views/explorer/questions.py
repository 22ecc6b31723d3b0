"""What a person asks the explorer: words, images, vectors and their sums, with filters and the extras that a
panel needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from workbench.registry import did_you_mean
from workbench.views.explorer.answers import Mark, Seeks

Kind = Literal["text", "image", "caption", "picture", "embedding"]
Extra = Literal["graph", "way", "words"]
KINDS = ("text", "image", "caption", "picture", "embedding")
SEEKS = ("images", "captions", "entities")


@dataclass(frozen=True)
class Term:
    """One summand of a question.

    Args:
        kind: ``"text"`` = loose words; ``"image"`` and ``"caption"`` = a row of the split, asked with its
            stored embedding; ``"picture"`` = a loose ``PIL.Image``; ``"embedding"`` = a vector ``(D,)``, the
            same for every run, or one a run.
        value: words, row, image or vectors.
        sign: 1 is added, -1 is taken away.
        name: how a heading calls it; a text is called by its words.

    Raises:
        ValueError: an unknown kind, or a sign that is not 1 or -1.
    """

    kind: Kind
    value: Any
    sign: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no kind of question {self.kind!r}; {did_you_mean(self.kind, list(KINDS))}")
        if self.sign not in (1, -1):
            raise ValueError(f"a term is added (1) or taken away (-1), got sign {self.sign}")
        if self.kind == "text" and not self.name:
            object.__setattr__(self, "name", self.value)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for terms that ask the same."""
        value = np.asarray(self.value).tobytes() if self.kind == "embedding" else self.value
        return (self.kind, id(value) if self.kind == "picture" else value, self.sign)


@dataclass(frozen=True)
class Filters:
    """What is shown; ranks stay those of the whole gallery.

    An image passes if one of its captions passes all filters of captions.

    Args:
        text: words that the caption must hold, any case.
        levels: levels of the caption; empty = all.
        low, high: least and greatest descriptiveness of the caption, on the pool's scale of 0 to 1.
        marks: what the grade may mean; empty = anything.
    """

    text: str = ""
    levels: tuple[int, ...] = ()
    low: float = 0.0
    high: float = 1.0
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Change:
    """One change to a scene graph: drop a part, or put another word in its place.

    Args:
        part: ``"objects"``, ``"attributes"`` or ``"relations"``.
        index: which of them, in the graph as the changes before have left it.
        word: the new word; ``""`` drops the part, and an object takes its attributes and relations with it.
    """

    part: Literal["objects", "attributes", "relations"]
    index: int
    word: str = ""


@dataclass(frozen=True)
class Question:
    """One question to all runs.

    Args:
        terms: summands; a single one that is added is scored by the objective, a sum by cosine.
        seeks: ``"images"``, ``"captions"`` or ``"entities"``.
        k: items a column.
        filters: what is shown.
        walk: how far to move towards the root, in [0, 1].
        pins: rows that are answered whether or not they are among the first.
        watched: row of the item that edits and words speak of; ``None`` = the first of the first run.
        changes: edits of the scene graph of the words.
        extras: ``"graph"``, ``"way"``, ``"words"``: what else is wanted.

    Raises:
        ValueError: nothing is asked, everything is taken away, or a value is out of its range.
    """

    terms: tuple[Term, ...]
    seeks: Seeks = "images"
    k: int = 12
    filters: Filters = field(default_factory=Filters)
    walk: float = 0.0
    pins: tuple[int, ...] = ()
    watched: int | None = None
    changes: tuple[Change, ...] = ()
    extras: frozenset[Extra] = frozenset()

    def __post_init__(self) -> None:
        if not any(term.sign > 0 for term in self.terms):
            raise ValueError("nothing is asked: give a text, an image, a caption or an embedding")
        if self.seeks not in SEEKS:
            raise ValueError(
                f"nothing to seek called {self.seeks!r}; {did_you_mean(self.seeks, list(SEEKS))}"
            )
        if self.k < 1 or not 0 <= self.walk <= 1:
            raise ValueError(f"k must be at least 1 and walk in [0, 1]; got k = {self.k}, walk = {self.walk}")

    @property
    def words(self) -> str:
        """The text of the question where it is a text alone (typed, or a caption named by ``name``); else
        ``""``.
        """
        alone = self.terms[0] if len(self.terms) == 1 else None
        return alone.name if alone and alone.kind in ("text", "caption") else ""

    @property
    def label(self) -> str:
        """The question as a heading."""
        signed = [("− " if term.sign < 0 else "+ ") + (term.name or term.kind) for term in self.terms]
        return " ".join(signed).removeprefix("+ ")

    def with_text(self, sentence: str) -> Question:
        """The same question with other words."""
        return replace(self, terms=(Term("text", sentence, name=sentence),))


def asked_by(
    message: dict[str, Any], pictures: Sequence[Any], captions: Sequence[str], image_ids: Sequence[str]
) -> Question:
    """The question in a message of the browser, every value checked.

    Args:
        message: the JSON that ``explorer.js`` sends.
        pictures: images and vectors that were uploaded, by their number.
        captions: of the split, which give the terms their names.
        image_ids: of the split, likewise.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the message is not one that ``explorer.js`` sends.
    """
    chosen = message["filters"]
    filters = Filters(
        str(chosen["text"]),
        tuple(int(level) for level in chosen["levels"]),
        float(chosen["low"]),
        float(chosen["high"]),
        tuple(chosen["marks"]),
    )
    return Question(
        tuple(_term(one, pictures, captions, image_ids) for one in message["terms"]),
        message["seeks"],
        int(message["k"]),
        filters,
        float(message["walk"]),
        tuple(int(row) for row in message["pins"]),
        None if message["watched"] is None else int(message["watched"]),
        tuple(Change(one["part"], int(one["index"]), str(one["word"])) for one in message["changes"]),
        frozenset(message["extras"]),
    )


def _term(
    message: dict[str, Any], pictures: Sequence[Any], captions: Sequence[str], image_ids: Sequence[str]
) -> Term:
    kind, sign, value = message["kind"], int(message["sign"]), message["value"]
    if kind == "text":
        return Term("text", str(value), sign, str(value))
    if kind == "upload":
        uploaded = pictures[int(value)]
        return Term(
            "embedding" if isinstance(uploaded, np.ndarray) else "picture",
            uploaded,
            sign,
            str(message["name"]),
        )
    row, names = int(value), captions if kind == "caption" else image_ids
    if not 0 <= row < len(names):
        raise ValueError(f"there is no {kind} number {row}")
    return Term(kind, row, sign, names[row] if kind == "caption" else f"image {names[row]}")
