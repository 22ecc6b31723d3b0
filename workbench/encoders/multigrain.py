"""Multigrain: a frozen global vector and trained local features of the same image or caption, fused by a
gate.

The encoders of AAHR: local features of another encoder of this shelf meet in a transformer layer, the global
vector guides their pooling (GGLA), and a gate mixes both. Regions and word features, grid features and
open_clip tokens all serve.

Departures: local features have unit length, so that they and the global vector weigh alike; the fused vector
is normalised; where the global vector comes from a pre-trained pair of encoders its map begins as the
identity, so that training starts from what that pair knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.encoders import load, member
from workbench.encoders._base import Encoder, ParameterGroup
from workbench.encoders._grain import Fusion, Grain
from workbench.encoders._pair import Pair
from workbench.encoders._pooling import Mean
from workbench.records import Batch, Embedding
from workbench.registry import check_options

GUIDES = ("auto", "base", "copy", "features")
Options = Mapping[str, Any]


class MultiGrain(Encoder):
    """Wraps an encoder of each side.

    Args:
        base: encoder of the images' local features, and of the captions' too where it serves both sides.
        base_options: its options.
        text_base: encoder of the captions' local features, where it is another.
        text_base_options: its options.
        embed_dim: width of the embedding; 0 = that of the base.
        guide: where the global vector comes from: ``"base"`` (the base's own pooled vector; the base is
            frozen), ``"copy"`` (a copy of the base as it starts, frozen; the base trains), ``"features"``
            (the mean of the frozen features that the base reads), or the name of another encoder of both
            sides, which is frozen. ``"auto"`` = ``"base"`` for an encoder that reads pixels, ``"features"``
            for others.
        guide_options: options of that other encoder.
        fusion: options of ``Fusion``: ``branches``, ``pooling``, ``maps``, ``map_dim``, ``gate``, ``layers``,
            ``heads``, ``hidden_dim``, ``dropout``.

    Raises:
        KeyError: no such encoder; TypeError: an unknown option; ValueError: encoders that do not fit
            together.
    """

    image_input: str | None = "pixels"
    encodes_text: ClassVar[bool] = True

    def __init__(
        self,
        *,
        base: str = "towers",
        base_options: Options | None = None,
        text_base: str = "",
        text_base_options: Options | None = None,
        embed_dim: int = 0,
        guide: str = "auto",
        guide_options: Options | None = None,
        fusion: Options | None = None,
    ) -> None:
        super().__init__()
        check_options("multigrain: fusion", Fusion, dict(fusion or {}))
        how = Fusion(**(fusion or {}))
        image = load(base, **(base_options or {}))
        self.base = Pair(image, load(text_base, **(text_base_options or {})) if text_base else image)
        self.guiding = guide if guide != "auto" else "base" if image.image_input == "pixels" else "features"
        self.guide = self._make_guide(guide_options or {})
        readers = [image] if self.guide is None else [image, self.guide.image]
        self.image_input = "+".join(dict.fromkeys(str(reader.image_input) for reader in readers))
        self.embed_dim = embed_dim or image.embed_dim
        widths = self._guide_dims()
        self.image_grain, self.text_grain = (
            Grain(image.embed_dim, width, self.embed_dim, how, aligned=self.guiding != "features")
            for width in widths
        )
        if self.guiding == "base":
            self.base.requires_grad_(False)
        self.train()

    @classmethod
    def signals(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """What the encoder of captions reads, and the frozen one where there is one.

        Raises:
            ValueError: both read a signal of the same name with other options.
        """
        side = "text_base" if options.get("text_base") else "base"
        wanted = [member(options.get(side, "towers")).signals(**(options.get(f"{side}_options") or {}))]
        if options.get("guide", "auto") not in GUIDES:
            wanted.append(member(options["guide"]).signals(**(options.get("guide_options") or {})))
        for name in set(wanted[0]) & set(wanted[-1]):
            if wanted[0][name] != wanted[-1][name]:
                raise ValueError(
                    f"multigrain: the base and the guide read {name!r} in two ways; let the base read "
                    "features"
                )
        return {name: found for each in wanted for name, found in each.items()}

    @classmethod
    def complete(cls, options: Options, facts: Options) -> dict[str, Any]:
        """The facts go to the wrapped encoders."""
        out = dict(options)
        for side, default in (("base", "towers"), ("text_base", ""), ("guide", "")):
            name = options.get(side, default)
            if name and name not in GUIDES:
                out[f"{side}_options"] = member(name).complete(options.get(f"{side}_options") or {}, facts)
        return out

    @property
    def transform(self) -> Any:
        """That of the encoder that reads pixels."""
        reader = (
            self.base.image
            if self.base.image.image_input == "pixels" or self.guide is None
            else self.guide.image
        )
        return reader.transform

    def images(self, batch: Batch) -> Embedding:
        """Embed images: the fused unit vector; local features as unit vectors in ``parts``."""
        made: Embedding = self.image_grain(*self._image(batch))
        return made

    def texts(self, batch: Batch) -> Embedding:
        """Embed captions, likewise."""
        made: Embedding = self.text_grain(*self._text(batch))
        return made

    @torch.no_grad()
    def image_weights(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """How much each region or patch counts, for a picture.

        Args:
            batch: with image inputs.

        Returns:
            ``(I, K)`` weights that sum to 1 over an image, and ``(I, K)`` which of them are real.

        Raises:
            ValueError: the pooling is not GGLA.
        """
        return self.image_grain.weights(*self._image(batch))

    @torch.no_grad()
    def text_weights(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """How much each word counts: ``(T, L)`` weights and mask, as ``image_weights``."""
        return self.text_grain.weights(*self._text(batch))

    def train(self, mode: bool = True) -> Self:
        """Training mode, except for what is frozen."""
        super().train(mode)
        if self.guiding == "base":
            self.base.eval()
        if self.guide is not None:
            self.guide.eval()
        return self

    def groups(self) -> list[ParameterGroup]:
        """Those of the base, where it trains, and what is of this encoder's own."""
        own = {
            name: p for name, p in self.named_parameters() if name.startswith(("image_grain.", "text_grain."))
        }
        return [*([] if self.guiding == "base" else self.base.groups()), ParameterGroup("head", own)]

    def _make_guide(self, options: Options) -> Pair | None:
        if self.guiding == "base" and self.base.image.image_input != "pixels":
            raise ValueError(
                "multigrain: a base without pre-trained weights is no guide; set guide='features' or 'towers'"
            )
        if self.guiding in ("base", "features"):
            return None
        if self.guiding == "copy":
            return deepcopy(self.base).requires_grad_(False)
        encoder = load(self.guiding, **options)
        return Pair(encoder, encoder).requires_grad_(False)

    def _guide_dims(self) -> tuple[int, int]:
        if self.guiding != "features":
            width = (self.guide or self.base).image.embed_dim
            return width, width
        widths = getattr(self.base.image, "in_dim", 0), getattr(self.base.text, "word_dim", 0)
        if not all(widths) or getattr(self.base.text, "words", None) is not None:
            raise ValueError(
                "multigrain: guide='features' needs bases that read frozen features; take 'regions' with "
                "'sequence' and "
                "features='minilm-package' in text_base_options, or name an encoder as guide"
            )
        return widths

    def _image(self, batch: Batch) -> tuple[Embedding, Tensor]:
        """Local features of the images, and their global vectors."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.guiding != "base"):
            made = self.base.image.images(batch)
        if self.guide is not None:
            with torch.no_grad():
                return made, self.guide.image.images(batch).mean
        return made, made.mean if self.guiding == "base" else _mean(batch.inputs["regions"])

    def _text(self, batch: Batch) -> tuple[Embedding, Tensor]:
        """Local features of the captions, and their global vectors."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.guiding != "base"):
            made = self.base.text.texts(batch)
        if self.guide is not None:
            with torch.no_grad():
                return made, self.guide.text.texts(batch).mean
        words = batch.signals.get("word_features")
        return made, made.mean if words is None or self.guiding == "base" else _mean(
            words["values"], words["mask"]
        )


def _mean(features: Tensor, mask: Tensor | None = None) -> Tensor:
    """The direction of the mean of frozen features."""
    mean: Tensor = normalize(Mean()(features, mask), dim=-1)
    return mean


MEMBER = MultiGrain
