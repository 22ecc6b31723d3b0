"""What every encoder offers, and how its parameters are grouped for the optimiser."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from workbench.records import Batch, Embedding


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that share a learning rate.

    Args:
        role: ``"image_backbone"``, ``"text_backbone"`` or ``"head"``; ``Config`` gives each role a
            multiplier.
        parameters: by name.
        depth: blocks between these parameters and the top of their backbone (``n_blocks - block``); 0 for
            heads. The learning rate is multiplied by ``layer_decay ** depth``.
    """

    role: str
    parameters: Mapping[str, nn.Parameter]
    depth: int = 0


class Encoder(nn.Module):
    """Turns a batch into embeddings. An encoder serves images, captions or both.

    ``image_input`` names what it reads from ``Batch.inputs`` for images (``"pixels"``, ``"regions"``, both as
    ``"regions+pixels"``, or ``None`` when it encodes no images); ``encodes_text`` says whether it encodes
    captions.
    """

    image_input: str | None = None
    encodes_text: ClassVar[bool] = False
    embed_dim: int

    @property
    def gives(self) -> tuple[str, ...]:
        """Optional fields of ``Embedding`` that it fills."""
        return ("parts",)

    @classmethod
    def signals(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """Signals that the encoder reads from ``Batch.signals``: name -> options for ``text.load(name,
        **options)``.

        Args:
            options: the options that the encoder will be made with.
        """
        return {}

    @classmethod
    def complete(cls, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Options with what only the experiment knows, as far as the encoder takes it.

        Args:
            options: as the user gave them; they stand, apart from ``pretrained``.
            facts: the ``vocabulary`` of the tokens, ``in_dim`` of the region features, ``pretrained=""``
                where weights follow.
        """
        known = inspect.signature(cls).parameters
        taken = {name: value for name, value in facts.items() if name in known}
        return {**taken, **options, **{name: value for name, value in taken.items() if name == "pretrained"}}

    @property
    def transform(self) -> Callable[[Any], Tensor]:
        """``PIL.Image`` -> ``(3, H, W)`` uint8 tensor, deterministic. Only for encoders that read pixels."""
        raise NotImplementedError(f"{type(self).__name__} does not read pixels")

    def images(self, batch: Batch) -> Embedding:
        """Embed the batch's ``I`` images."""
        raise NotImplementedError(f"{type(self).__name__} does not encode images")

    def texts(self, batch: Batch) -> Embedding:
        """Embed the batch's ``T`` captions."""
        raise NotImplementedError(f"{type(self).__name__} does not encode captions")

    def groups(self) -> list[ParameterGroup]:
        """Parameters by role and depth; every trainable parameter occurs exactly once."""
        return [ParameterGroup("head", dict(self.named_parameters()))]
