"""Items that a model encodes otherwise as queries than as what is sought, or otherwise for each direction."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor

from workbench.records import Embedding, Rows, require
from workbench.registry import require_known

Way = Literal["i2t", "t2i"]
WAYS: tuple[Way, Way] = ("i2t", "t2i")
# the prompt of a model that is asked about pairs
QUESTION = "question"
# what a method that encodes may take beside the items
FIELDS = ("side", "direction", "prompt")


@dataclass(frozen=True)
class SideBySide(Embedding):
    """Several embeddings of the same items; its own fields are those of the first.

    Args:
        members: the embeddings.
    """

    members: tuple[Embedding, ...] = ()

    @classmethod
    def from_members(cls, members: Sequence[Embedding]) -> Self:
        """Put embeddings of the same items side by side."""
        own = {name: getattr(members[0], name) for name in Embedding.__dataclass_fields__}
        return cls(**own, members=tuple(members))

    def current(self) -> tuple[Embedding, ...]:
        """Return the embeddings; the vectors of the first may have been changed since."""
        first, *others = self.members
        if first.mean is not self.mean:
            first = replace(first, mean=self.mean)
        return first, *others

    def take(self, rows: Rows | Tensor | slice) -> Self:
        """Return some rows ``(n,)`` of each."""
        return self.from_members([member.take(rows) for member in self.current()])

    def in_float32(self, device: torch.device) -> Self:
        """Return each in float32, on a device."""
        return self.from_members([member.in_float32(device) for member in self.current()])


class TwoWays(SideBySide):
    """Items as both directions see them, image to text first."""


def view_for_way(embedding: Embedding, way: Way) -> Embedding:
    """Return items as a direction sees them; those of one kind are seen alike by both.

    Args:
        embedding: of images or of texts.
        way: the direction.
    """
    return embedding.current()[WAYS.index(way)] if isinstance(embedding, TwoWays) else embedding


def query_way(image: Embedding, text: Embedding) -> Way:
    """Return in which direction items are compared: one text among several images is a query, and so are all
    images otherwise.

    Args:
        image: of images.
        text: of texts.
    """
    return "t2i" if len(text) == 1 and len(image) > 1 else "i2t"


def one_way(image: Embedding, text: Embedding) -> tuple[Embedding, Embedding]:
    """Return both sides as the direction in which they are compared sees them, see ``query_way``.

    Args:
        image: of images.
        text: of texts.
    """
    way = query_way(image, text)
    return view_for_way(image, way), view_for_way(text, way)


def prompts_of_stages(
    prompts: Mapping[str, str] | None, reranker: Any
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the prompts of a first stage and those of a second: a question is for what scores again, where
    that has a name.

    Args:
        prompts: see ``open_model``.
        reranker: that was named; empty = there is none.

    Raises:
        ValueError: they are no texts by name.
    """
    texts = isinstance(prompts, Mapping) and all(isinstance(text, str) for text in prompts.values())
    require(
        texts or prompts is None, f"prompts are {prompts!r:.60}; give a text each of i2t, t2i or question"
    )
    first = dict(prompts or {})
    second = {QUESTION: first.pop(QUESTION)} if reranker and QUESTION in first else {}
    return first, second


class Instruction(NamedTuple):
    """How a method that encodes is called in one direction.

    Args:
        fields: what it is given beside the items.
        prefix: stands before each text.
    """

    fields: Mapping[str, str]
    prefix: str = ""


def instructions(
    method: Callable[..., Any], kind: Literal["images", "texts"], prompts: Mapping[str, str]
) -> dict[Way, Instruction]:
    """Return how a method is called in each direction.

    Args:
        method: of an object, which may say by ``instructed`` that it has no use for what follows; takes
            items, and beside them ``side`` (``"query"`` or ``"item"``), ``direction`` (``"i2t"`` or
            ``"t2i"``) and ``prompt``, or some of these.
        kind: of items.
        prompts: by direction, what its queries are encoded with.

    Raises:
        ValueError: no such direction, or a prompt of images that the method does not take.
    """
    for way in prompts:
        require_known("prompts: no direction", way, WAYS, ValueError)
    instructed = getattr(getattr(method, "__self__", None), "has_prompts", inspect.isroutine(method))
    parameters = inspect.signature(method).parameters if instructed else {}
    taken = [name for name in FIELDS if name in parameters]
    calls = dict[Way, Instruction]()
    for way in WAYS:
        side = "query" if (kind == "images") == (way == "i2t") else "item"
        prompt = prompts.get(way, "") if side == "query" else ""
        values = {"side": side, "direction": way, "prompt": prompt}
        prefix = "" if "prompt" in taken else prompt
        require(
            not prefix or kind == "texts",
            f"prompts: {method.__name__}() takes no prompt, which {way} gives to images; leave {way} out",
        )
        calls[way] = Instruction({name: values[name] for name in taken}, prefix)
    return calls
