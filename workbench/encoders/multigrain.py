"""Multigrain: a frozen global vector and trained local features of the same image or caption, fused by a
gate.

The encoders of AAHR: local features of another encoder of this registry meet in a transformer layer, the
global vector guides their pooling (GGLA), and a gate mixes both. Regions and word features, grid features and
open_clip tokens all serve.

Departures: local features have unit length, so that they and the global vector weigh alike; the fused vector
is normalised; where the global vector comes from a pre-trained pair of encoders its map begins as the
identity, so that training starts from what that pair knows.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders import load, member
from workbench.encoders.base import Encoder, Pair, ParameterGroup
from workbench.encoders.packed import PackedIndex, transformer
from workbench.encoders.pooling import Gate, GuidedPooling, Mean, ValuePooling, meeting_layer
from workbench.records import Batch, Embedding, require
from workbench.registry import Count, Dropped, Group, Natural


@dataclass(frozen=True)
class Fusion:
    """How local features and the global vector become one.

    Args:
        branches: ``"both"``, ``"local"`` or ``"global"`` alone.
        pooling: of the local features: ``"ggla"`` or ``"mean"``.
        maps: pairs of maps of GGLA.
        map_dim: width that they map to.
        gate: one gate for each dimension (``"vector"``) or for all (``"scalar"``).
        layers: transformer layers over the local features.
        heads: of a layer, as far as they divide the width.
        hidden_dim: of a layer's feed-forward part.
        dropout: of a layer.
        variant: ``"released"`` = as the authors' code has it, see ``ReleasedGrain``; it reads ``maps`` as the
            heads of GGLA (8 there) and takes none of ``branches``, ``pooling``, ``map_dim`` and ``gate``.
        padding: in the released form, whether padded words count in GGLA's softmax as they do in the released
            code; a caption's embedding then depends on the longest caption of its batch.
    """

    branches: Literal["both", "local", "global"] = "both"
    pooling: Literal["ggla", "mean"] = "ggla"
    maps: Natural = 4
    map_dim: Natural = 256
    gate: Literal["vector", "scalar"] = "vector"
    layers: Count = 1
    heads: Natural = 16
    hidden_dim: Natural = 1024
    dropout: Dropped = 0.1
    variant: Literal["paper", "released"] = "paper"
    padding: bool = False


class Grain(nn.Module):
    """One side: local features and a global vector to an embedding.

    Args:
        part_dim: width of the local features.
        guide_dim: width of the global vector.
        embed_dim: ``D``.
        fusion: how they become one.
        aligned: the global vectors of both sides are comparable already, so that the map begins as the
            identity.
    """

    def __init__(
        self, part_dim: int, guide_dim: int, embed_dim: int, fusion: Fusion, *, aligned: bool
    ) -> None:
        super().__init__()
        self.part_dim = part_dim
        self.branches = fusion.branches
        self.of_parts = nn.Identity() if part_dim == embed_dim else nn.Linear(part_dim, embed_dim)
        self.of_guide = nn.Linear(guide_dim, embed_dim)
        if aligned:
            nn.init.eye_(self.of_guide.weight)
            nn.init.zeros_(self.of_guide.bias)
        self.layers = nn.ModuleList(
            meeting_layer(embed_dim, fusion.heads, fusion.hidden_dim, fusion.dropout)
            for _ in range(fusion.layers)
        )
        self.pooling: GuidedPooling | ValuePooling | None = (
            GuidedPooling(embed_dim, fusion.maps, fusion.map_dim) if fusion.pooling == "ggla" else None
        )
        self.mean = Mean()
        self.gate = Gate(embed_dim, scalar=fusion.gate == "scalar") if fusion.branches == "both" else None

    def forward(self, base: Embedding, guide: Tensor) -> Embedding:
        """Fuse.

        Args:
            base: with ``parts (N, P, part_dim)``.
            guide: ``(N, guide_dim)``.

        Returns:
            The fused unit vector as ``mean``, the local features as unit vectors in ``parts``.
        """
        parts, mask, guide = self.local_features(base, guide)
        fused = guide
        if self.branches != "global":
            fused = self.pooling(guide, parts, mask) if self.pooling else self.mean(parts, mask)
        fused = self.gate(fused, guide) if self.gate else fused
        return Embedding(normalize(fused, dim=-1), parts=parts, mask=mask)

    def local_features(self, base: Embedding, guide: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return local features after they met, their mask, and the global vector in the width of the
        embedding.
        """
        if base.parts is None or base.mask is None:
            raise ValueError(
                "multigrain: the base gives no local features; choose 'towers', 'regions' or 'sequence'"
            )
        require(
            base.parts.shape[-1] == self.part_dim,
            f"multigrain: local features are {base.parts.shape[-1]} wide and the base's embedding "
            f"{self.part_dim}; this tower does not project its tokens, set head='tokens' in the options of "
            "the base and name a guide",
        )
        return self.mix_parts(base.parts, base.mask), base.mask, self.of_guide(guide)

    def mix_parts(self, parts: Tensor, mask: Tensor) -> Tensor:
        """Return the local features ``(N, P, D)`` after they met, as unit vectors."""
        index = PackedIndex(mask)
        rows = self.of_parts(index.rows(parts))
        for layer in self.layers:
            rows = transformer(cast(nn.TransformerEncoderLayer, layer), rows, index)
        return index.pad(normalize(rows, dim=-1))

    def weights(self, base: Embedding, guide: Tensor) -> tuple[Tensor, Tensor]:
        """Return weights of GGLA ``(N, P)`` and the mask ``(N, P)``.

        Raises:
            ValueError: the pooling is another.
        """
        if self.pooling is None:
            raise ValueError(
                "multigrain: a mean has no weights to show; set pooling='ggla' in the options of fusion"
            )
        parts, mask, guide = self.local_features(base, guide)
        return self.pooling.weights(guide, parts, mask), mask


class ReleasedGrain(Grain):
    """One side as AAHR's authors released it (METHODS 8.8).

    The local vector is ``.8 r + .2 GGLA``: ``r`` is the mean of the two largest values of each coordinate of
    the local features, before they meet in a transformer layer; GGLA has heads with values. The gate mixes
    the local and the global unit vector, and what it gives is not normalised.
    """

    def __init__(
        self, part_dim: int, guide_dim: int, embed_dim: int, fusion: Fusion, *, aligned: bool
    ) -> None:
        super().__init__(part_dim, guide_dim, embed_dim, fusion, aligned=aligned)
        self.padding = fusion.padding
        self.pooling = ValuePooling(embed_dim, fusion.maps)
        self.gate = Gate(embed_dim)

    def forward(self, base: Embedding, guide: Tensor) -> Embedding:
        """Fuse; ``mean`` is of any length, ``local`` a unit vector, ``parts`` have not met."""
        met, mask, guide = self.local_features(base, guide)
        parts = self.of_parts(base.parts)
        heard = torch.ones_like(mask) if self.padding else mask
        pooling = cast(ValuePooling, self.pooling)
        gate = cast(Gate, self.gate)
        local = normalize(0.8 * two_largest(parts, mask) + 0.2 * pooling(guide, met, heard), dim=-1)
        return Embedding(gate(local, normalize(guide, dim=-1)), parts=parts, mask=mask, local=local)

    def mix_parts(self, parts: Tensor, mask: Tensor) -> Tensor:
        """Return the local features after they met, as they are, padding too."""
        parts = self.of_parts(parts)
        for layer in self.layers:
            parts = layer(parts, src_key_padding_mask=~mask)
        return parts


def two_largest(parts: Tensor, mask: Tensor) -> Tensor:
    """Return ``(N, D)``: the mean of the two largest values of each coordinate over the real parts ``(N, P,
    D)``; of a single part, the part.
    """
    most = parts.masked_fill(~mask[..., None], -torch.inf).topk(min(2, parts.shape[1]), dim=1).values
    total = most.masked_fill(most.isneginf(), 0).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(1, most.shape[1])


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
            (the mean of what the base reads: frozen features, or word vectors, which learn nothing from it;
            the base's own pooled vector is then not used), or the name of another encoder of both sides,
            which is frozen. ``"auto"`` = ``"base"`` for an encoder that reads pixels, ``"features"`` for
            others.
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
        embed_dim: Count = 0,
        guide: str = "auto",
        guide_options: Options | None = None,
        fusion: Annotated[Options | None, Group(Fusion)] = None,
    ) -> None:
        super().__init__()
        how = Fusion(**(fusion or {}))
        image = load(base, **(base_options or {}))
        self.base = Pair(image, load(text_base, **(text_base_options or {})) if text_base else image)
        self.guiding = guide
        if guide == "auto":
            self.guiding = "base" if image.image_input == "pixels" else "features"
        self.guide = self._make_guide(guide_options or {})
        readers = [image] if self.guide is None else [image, self.guide.image]
        self.image_input = "+".join(dict.fromkeys(str(reader.image_input) for reader in readers))
        of_base = str(image.image_input).split("+")
        self.frozen_inputs = tuple(name for name in self.image_input.split("+") if name not in of_base)
        self.embed_dim = embed_dim or image.embed_dim
        widths = self._guide_dims()
        grain = ReleasedGrain if how.variant == "released" else Grain
        self.image_grain, self.text_grain = (
            grain(image.embed_dim, width, self.embed_dim, how, aligned=self.guiding != "features")
            for width in widths
        )
        if self.guiding == "base":
            self.base.requires_grad_(False)
        self.train()

    @classmethod
    def text_features(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """Return what the encoder of captions reads, and the frozen one where there is one.

        Raises:
            ValueError: both read a signal of the same name with other options.
        """
        side = "text_base" if options.get("text_base") else "base"
        wanted = [member(options.get(side, "towers")).text_features(**(options.get(f"{side}_options") or {}))]
        if options.get("guide", "auto") not in GUIDES:
            wanted.append(member(options["guide"]).text_features(**(options.get("guide_options") or {})))
        for name in set(wanted[0]) & set(wanted[-1]):
            require(
                wanted[0][name] == wanted[-1][name],
                f"multigrain: the base and the guide read {name!r} in two ways; let the base read features",
            )
        return {**wanted[0], **wanted[-1]}

    @classmethod
    def complete(cls, options: Options, facts: Options) -> dict[str, Any]:
        """Complete the options of the wrapped encoders with the facts."""
        out = dict(options)
        for side, default in (("base", "towers"), ("text_base", ""), ("guide", "")):
            name = options.get(side, default)
            if name and name not in GUIDES:
                out[f"{side}_options"] = member(name).complete(options.get(f"{side}_options") or {}, facts)
        return out

    @property
    def frozen_encoder(self) -> Encoder | None:
        """The encoder that guides, where it is another than the base."""
        return None if self.guide is None else self.guide.image

    @property
    def transform(self) -> Any:
        """That of the encoder that reads pixels."""
        reader = self.base if self.guide is None or self.base.image.image_input == "pixels" else self.guide
        return reader.image.transform

    def encode_images(self, batch: Batch) -> Embedding:
        """Embed images: the fused unit vector; local features as unit vectors in ``parts``."""
        embedding: Embedding = self.image_grain(*self._side_features("image", batch))
        return embedding

    def encode_texts(self, batch: Batch) -> Embedding:
        """Embed captions, likewise."""
        embedding: Embedding = self.text_grain(*self._side_features("text", batch))
        return embedding

    @property
    def output_fields(self) -> tuple[str, ...]:
        """Parts, and in the released form the local vectors."""
        return ("parts", "local") if isinstance(self.image_grain, ReleasedGrain) else ("parts",)

    @property
    def weighs(self) -> bool:
        """Whether regions and words have weights that can be shown and that the embedding reads."""
        grain = self.image_grain
        return grain.pooling is not None and grain.branches != "global"

    @torch.no_grad()
    def weights(self, side: Literal["image", "text"], batch: Batch) -> tuple[Tensor, Tensor]:
        """Return how much each region, patch or word counts, for a figure.

        Args:
            side: whose.
            batch: with the inputs of its images, or the signals of its captions.

        Returns:
            ``(I, K)`` or ``(T, L)`` weights that sum to 1 over an image or caption, and which of them are
            real, of the same shape.

        Raises:
            ValueError: the pooling is not GGLA.
        """
        grain = self.image_grain if side == "image" else self.text_grain
        return grain.weights(*self._side_features(side, batch))

    def train(self, mode: bool = True) -> Self:
        """Set training mode, except for what is frozen."""
        super().train(mode)
        if self.guiding == "base":
            self.base.eval()
        if self.guide is not None:
            self.guide.eval()
        return self

    def groups(self) -> list[ParameterGroup]:
        """Return those of the base, where it trains, and what is of this encoder's own."""
        grains = ("image_grain.", "text_grain.")
        own = {name: p for name, p in self.named_parameters() if name.startswith(grains)}
        return [*([] if self.guiding == "base" else self.base.groups()), ParameterGroup("head", own)]

    def _make_guide(self, options: Options) -> Pair | None:
        require(
            self.guiding != "base" or self.base.image.image_input == "pixels",
            "multigrain: a base without pre-trained weights is no guide; set guide='features' or 'towers'",
        )
        if self.guiding in ("base", "features"):
            return None
        if self.guiding == "copy":
            return deepcopy(self.base).requires_grad_(False)
        encoder = load(self.guiding, **options)
        return Pair(encoder, encoder).requires_grad_(False)

    def _guide_dims(self) -> tuple[int, int]:
        if self.guiding != "features":
            return ((self.guide or self.base).image.embed_dim,) * 2
        widths = getattr(self.base.image, "in_dim", 0), getattr(self.base.text, "word_dim", 0)
        require(
            all(widths) and not getattr(self.base.text, "backbone", None),
            "multigrain: guide='features' needs bases that read features and words, both frozen; take "
            "'regions' with 'sequence', or name an encoder as guide",
        )
        return widths

    def _side_features(self, side: Literal["image", "text"], batch: Batch) -> tuple[Embedding, Tensor]:
        """Return local features of the images or of the captions, and their global vectors."""

        def embed(pair: Pair) -> Embedding:
            return pair.image.encode_images(batch) if side == "image" else pair.text.encode_texts(batch)

        with torch.set_grad_enabled(torch.is_grad_enabled() and self.guiding != "base"):
            base = embed(self.base)
        if self.guide is not None:
            known = (batch.inputs if side == "image" else batch.signals).get("vectors")
            with torch.no_grad():
                return base, embed(self.guide).mean if known is None else known.to(base.mean)
        if self.guiding == "base":
            return base, base.mean
        if side == "image":
            return base, normalize(Mean()(batch.inputs["regions"]), dim=-1)
        return base, normalize(Mean()(*_word_vectors(self.base.text, batch)), dim=-1)


def _word_vectors(text: Encoder, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return vectors ``(T, L, word_dim)`` of the words that an encoder of captions reads, as constants, and
    their mask.
    """
    words = getattr(text, "words", None)
    if words is None:
        read = batch.signals["word_features"]
        return read["values"], read["mask"]
    ids: Tensor = batch.signals["tokens"]
    return words(ids).detach(), ids != 0


MEMBER = MultiGrain
