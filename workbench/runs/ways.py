"""Items that a model encodes otherwise as queries than as what is sought, or otherwise for each direction."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
class TwoWays(Embedding):
    """Items as both directions see them. The fields of an embedding are those of image to text.

    Args:
        other: the items of text to image.
    """

    other: Embedding | None = None

    @classmethod
    def from_directions(cls, i2t: Embedding, t2i: Embedding) -> "TwoWays":
        """Put the embeddings of both directions side by side."""
        return cls(**vars(i2t), other=t2i)

    def towards(self, way: Way) -> Embedding:
        """Return the items as one direction sees them."""
        if way == "t2i" and self.other is not None:
            return self.other
        fields = {name: value for name, value in vars(self).items() if name != "other"}
        return Embedding(**fields)

    def take(self, rows: Rows | Tensor | slice) -> "TwoWays":
        """Return some rows ``(n,)`` of both."""
        return TwoWays.from_directions(self.towards("i2t").take(rows), self.towards("t2i").take(rows))

    def in_float32(self, device: torch.device) -> "TwoWays":
        """Return both in float32, on a device."""
        return TwoWays.from_directions(
            self.towards("i2t").in_float32(device), self.towards("t2i").in_float32(device)
        )


def view_for_way(embedding: Embedding, way: Way) -> Embedding:
    """Return items as a direction sees them; those of one kind are seen alike by both.

    Args:
        embedding: of images or of texts.
        way: the direction.
    """
    return embedding.towards(way) if isinstance(embedding, TwoWays) else embedding


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
