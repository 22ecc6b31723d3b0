"""What every encoder offers, how its parameters are grouped for the optimiser, and two encoders as a pair."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from workbench.records import Batch, Embedding, require
from workbench.registry import Checked, options_of


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


class Encoder(Checked, nn.Module):
    """Turns a batch into embeddings; the base of every encoder. An encoder serves images, captions or both.

    A subclass sets the width ``embed_dim`` in ``__init__`` and implements one side, or both:

    - images: set ``image_input`` to what it reads from ``Batch.inputs`` (``"pixels"``, ``"regions"``, or both
      as ``"regions+pixels"``) and implement ``encode_images``; with pixels, also ``transform``.
    - captions: set ``encodes_text = True``, name in ``text_features`` what it reads from ``Batch.signals``,
      and implement ``encode_texts``.

    ``encode_images`` and ``encode_texts`` return an ``Embedding``: ``mean (N, embed_dim)``, one unit vector
    for each image or caption; with ``parts (N, P, W)`` (local features before pooling) and their
    ``mask (N, P)`` where it has them.
    ``output_fields`` lists the optional fields that it fills, ``groups`` the parameters by learning rate.
    Options are keyword arguments of ``__init__``, held to their annotations. Like every module it is moved by
    ``.to``, and makes new tensors on the device of its inputs. ``frozen_inputs`` are inputs that the
    ``frozen_encoder`` reads and nothing else does; ``notes`` are facts of its weights worth printing.

    >>> import torch
    >>> from torch.nn.functional import normalize
    >>> class Average(Encoder):
    ...     '''The mean of an image's regions, mapped to the width of the embedding.'''
    ...     image_input = "regions"
    ...     def __init__(self, *, in_dim: int = 2048, embed_dim: int = 512) -> None:
    ...         super().__init__()
    ...         self.embed_dim, self.linear = embed_dim, nn.Linear(in_dim, embed_dim)
    ...     def encode_images(self, batch: Batch) -> Embedding:
    ...         parts = self.linear(batch.inputs["regions"])
    ...         mask = torch.ones(parts.shape[:2], dtype=torch.bool, device=parts.device)
    ...         return Embedding(normalize(parts.mean(1), dim=-1), parts=parts, mask=mask)
    >>> [group.role for group in Average(in_dim=4, embed_dim=3).groups()]
    ['head']
    """

    image_input: str | None = None
    encodes_text: ClassVar[bool] = False
    frozen_inputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    embed_dim: int

    @property
    def output_fields(self) -> tuple[str, ...]:
        """Optional fields of ``Embedding`` that it fills: parts, and log variances where its ``log_var`` is a
        head that says them, or true.
        """
        return ("parts", "log_var") if getattr(self, "log_var", None) else ("parts",)

    @property
    def logits(self) -> tuple[float, float] | None:
        """Scale and shift of the scores that its weights were trained with; ``None`` = they are not known."""
        return None

    @property
    def frozen_encoder(self) -> "Encoder | None":
        """An encoder of both sides that this one holds, asks for pooled vectors and never trains; ``None`` =
        none. A batch may bring what it says as ``inputs["vectors"]`` and ``signals["vectors"]``.
        """
        return None

    @classmethod
    def text_features(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """Return signals that the encoder reads from ``Batch.signals``: name -> options for ``text.load(name,
        **options)``.

        Args:
            options: the options that the encoder will be made with.
        """
        return {}

    @classmethod
    def complete(cls, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with what only the experiment knows, as far as the encoder takes it.

        Args:
            options: as the user gave them; they stand, apart from ``pretrained``.
            facts: the ``vocabulary`` of the tokens, ``in_dim`` of the region features, ``pretrained=""``
                where weights follow.
        """
        known = options_of(cls)
        taken = {name: value for name, value in facts.items() if name in known}
        return {**taken, **options, **{name: value for name, value in taken.items() if name == "pretrained"}}

    @property
    def transform(self) -> Callable[[Any], Tensor]:
        """``PIL.Image`` -> ``(3, H, W)`` uint8 tensor, deterministic. Only for encoders that read pixels."""
        raise NotImplementedError(f"{type(self).__name__} does not read pixels")

    def encode_images(self, batch: Batch) -> Embedding:
        """Embed the batch's ``I`` images."""
        raise NotImplementedError(f"{type(self).__name__} does not encode images")

    def encode_texts(self, batch: Batch) -> Embedding:
        """Embed the batch's ``T`` captions."""
        raise NotImplementedError(f"{type(self).__name__} does not encode captions")

    def text_backbone(self) -> Mapping[str, int]:
        """Return the depth of each parameter that is pre-trained and reads text, by name; all others are
        head.
        """
        return {}

    def groups(self) -> list[ParameterGroup]:
        """Return parameters by role and depth; every trainable parameter occurs exactly once."""
        depth = self.text_backbone()
        named = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [ParameterGroup("head", {name: p for name, p in named.items() if name not in depth})]
        for level in sorted(set(depth.values())):
            part = {name: p for name, p in named.items() if depth.get(name) == level}
            if part:
                groups.append(ParameterGroup("text_backbone", part, level))
        return groups


class Pair(nn.Module):
    """An image encoder and a text encoder as one model.

    Args:
        image: encodes images.
        text: encodes captions; may be the very same module as ``image``.

    Raises:
        ValueError: an encoder does not encode its side, or the two embed to different widths.
    """

    def __init__(self, image: Encoder, text: Encoder) -> None:
        super().__init__()
        require(
            image.image_input is not None,
            f"{type(image).__name__} encodes no images; choose an image encoder such as 'towers' or "
            "'regions'",
        )
        require(
            text.encodes_text,
            f"{type(text).__name__} encodes no captions; choose a text encoder such as 'towers' or "
            "'sequence'",
        )
        require(
            image.embed_dim == text.embed_dim,
            f"images embed to {image.embed_dim} dimensions and captions to {text.embed_dim}; set the "
            "same embed_dim for both",
        )
        self.image = image
        if text is not image:
            self.other = text

    @property
    def text(self) -> Encoder:
        """The text encoder. A module that serves both sides is registered once, so that its weights are
        stored once.
        """
        return self.other if hasattr(self, "other") else self.image

    def groups(self) -> list[ParameterGroup]:
        """Return parameter groups of both sides, without the tower that serves no side."""
        if self.image is self.text:
            return self.image.groups()
        image = [group for group in self.image.groups() if group.role != "text_backbone"]
        return image + [group for group in self.text.groups() if group.role != "image_backbone"]
