"""What a user asks the explorer: words, images, vectors and their sums, with filters and panels' settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, ValidationError

from workbench.io import type_adapter
from workbench.records import SceneGraph, Split, require
from workbench.registry import Count, Natural, describe_error

Kind = Literal["text", "image", "caption", "pixels", "embedding"]
Seeks = Literal["images", "captions", "entities"]
Mark = Literal["own", "relevant", "not", "unknown"]
SEEKS: tuple[Seeks, ...] = get_args(Seeks)
MARKS: dict[Mark, str] = {
    "own": "paired with the query in the data",
    "relevant": "another match by the judgements",
    "not": "no match by the judgements",
    "unknown": "nobody judged this pair",
}
# also what was made in Python is checked, and not taken as it is
CHECKED = ConfigDict(revalidate_instances="always", arbitrary_types_allowed=True)


@dataclass(frozen=True)
class Term:
    """One summand of a question; terms that ask the same are equal.

    Args:
        kind: ``"text"`` = loose words; ``"image"`` and ``"caption"`` = a row of the split, asked with its
            stored embedding; ``"pixels"`` = a loose ``PIL.Image``; ``"embedding"`` = a vector ``(D,)``, the
            same for every run, or one a run, where ``None`` = this run cannot answer.
        value: words, row, image or vectors.
        sign: 1 is added, -1 is taken away.
        name: how a heading calls it; a text is called by its words.
        graph: what the words say, where that is known; else they are read when they are graded.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CHECKED

    kind: Kind
    value: Any = field(compare=False)
    sign: Literal[1, -1] = 1
    name: str = field(default="", compare=False)
    graph: SceneGraph | None = None
    key: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind == "text" and not self.name:
            object.__setattr__(self, "name", self.value)
        object.__setattr__(self, "key", self._key())

    def _key(self) -> Any:
        """Return what tells the term apart: neither an array nor an image has a hash of its own."""
        if self.kind == "embedding":
            return tuple(map(_vector_bytes, self.vectors))
        return id(self.value) if self.kind == "pixels" else self.value

    @property
    def vectors(self) -> tuple[NDArray[np.float32] | None, ...]:
        """The vectors of an embedding: a single one for every run, or one a run."""
        first = next((vector for vector in self.value if vector is not None), ())
        return tuple(map(_parse_vector, self.value)) if np.ndim(first) else (_parse_vector(self.value),)


def _parse_vector(values: Any) -> NDArray[np.float32] | None:
    return None if values is None else np.asarray(values, dtype=np.float32)


def _vector_bytes(vector: NDArray[np.float32] | None) -> bytes | None:
    return None if vector is None else vector.tobytes()


@dataclass(frozen=True)
class Filters:
    """What is shown; ranks stay those of the whole gallery.

    An image passes if one of its captions passes all filters of captions.

    Args:
        text: words that the caption must hold, any case.
        levels: levels of the caption; empty = all.
        low, high: least and greatest descriptiveness of the caption, on the pool's scale of 0 to 1.
        marks: what the grade may mean; empty = anything.
        images: rows of images, e.g. those that are selected; empty = all.
    """

    text: str = ""
    levels: tuple[int, ...] = ()
    low: float = 0.0
    high: float = 1.0
    marks: tuple[Mark, ...] = ()
    images: tuple[int, ...] = ()

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(**CHECKED, extra="forbid")


@dataclass(frozen=True)
class Question:
    """One question to all runs.

    Args:
        terms: summands; a single one that is added is scored by the objective, a sum by cosine.
        seeks: ``"images"``, ``"captions"`` or ``"entities"``.
        k: items a column.
        filters: what is shown.
        pins: rows that are answered whether or not they are among the first.
        watched: row of the item that panels speak of; ``None`` = the first of the first run.
        settings: what panels have set, by the name of the panel; each reads its own.
        shown: names of the panels whose part of the answer is wanted.
        skip: items at the head of each column that are left out, since a page has them already.

    Raises:
        ValueError: nothing is asked, or everything is taken away.
    """

    terms: tuple[Term, ...]
    seeks: Seeks = "images"
    k: Natural = 12
    filters: Filters = field(default_factory=Filters)
    pins: tuple[int, ...] = ()
    watched: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    shown: frozenset[str] = frozenset()
    skip: Count = 0

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(**CHECKED, extra="forbid")

    def __post_init__(self) -> None:
        require(
            any(term.sign > 0 for term in self.terms),
            "the question is empty; give a text, an image, a caption or an embedding",
        )

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
        signs = {1: "+ ", -1: "− "}
        parts = [signs[term.sign] + (term.name or term.kind) for term in self.terms]
        return " ".join(parts).removeprefix("+ ")


def check_question(question: Any) -> Question:
    """Return a question whose values are of the types and in the ranges that ``Question`` says.

    Args:
        question: a ``Question``, or its fields by name as JSON has them.

    Raises:
        TypeError, ValueError: a value is not; the message names it.
    """
    try:
        valid: Question = type_adapter(Question).validate_python(question)
    except ValidationError as error:
        values = vars(question) if isinstance(question, Question) else question
        raise describe_error("question", values, error.errors()) from None
    return valid


def read_question(message: Mapping[str, Any], uploads: Sequence[Any], split: Split) -> Question:
    """Return the question in a message of the browser, checked.

    Args:
        message: the JSON that ``exchange.js`` sends.
        uploads: images and vectors that were uploaded, by their number.
        split: whose images and captions the terms name.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the message is not one that ``exchange.js`` sends.
    """
    terms = tuple(_parse_term(term, uploads, split) for term in message["terms"])
    return check_question({**message, "terms": terms})


def _parse_term(message: dict[str, Any], uploads: Sequence[Any], split: Split) -> Term:
    kind = message["kind"]
    sign = message["sign"]
    value = message["value"]
    if kind == "text":
        return Term("text", str(value), sign)
    if kind == "upload":
        upload = uploads[int(value)]
        if isinstance(upload, np.ndarray):
            return Term("embedding", upload, sign, message["name"])
        return Term("pixels", upload, sign, message["name"])
    row = int(value)
    names = split.captions if kind == "caption" else split.image_ids
    require(0 <= row < len(names), f"there is no {kind} number {row}")
    name = names[row] if kind == "caption" else f"image {names[row]}"
    return Term(kind, row, sign, name)
