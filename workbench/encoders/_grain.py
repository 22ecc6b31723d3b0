"""One side of ``multigrain``: local features and a global vector of the same thing become one embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders._attention import Gate, GuidedPooling, meeting
from workbench.encoders._pooling import Mean
from workbench.records import Embedding


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
    """

    branches: Literal["both", "local", "global"] = "both"
    pooling: Literal["ggla", "mean"] = "ggla"
    maps: int = 4
    map_dim: int = 256
    gate: Literal["vector", "scalar"] = "vector"
    layers: int = 1
    heads: int = 16
    hidden_dim: int = 1024
    dropout: float = 0.1

    def __post_init__(self) -> None:
        known = {
            "branches": ("both", "local", "global"),
            "pooling": ("ggla", "mean"),
            "gate": ("vector", "scalar"),
        }
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"multigrain: {name} is {getattr(self, name)!r}; choose one of {', '.join(values)}"
                )


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
        self.part_dim, self.branches = part_dim, fusion.branches
        self.of_parts = nn.Identity() if part_dim == embed_dim else nn.Linear(part_dim, embed_dim)
        self.of_guide = nn.Linear(guide_dim, embed_dim)
        if aligned:
            nn.init.eye_(self.of_guide.weight)
            nn.init.zeros_(self.of_guide.bias)
        self.layers = nn.ModuleList(
            meeting(embed_dim, fusion.heads, fusion.hidden_dim, fusion.dropout) for _ in range(fusion.layers)
        )
        self.pooling = (
            GuidedPooling(embed_dim, fusion.maps, fusion.map_dim) if fusion.pooling == "ggla" else None
        )
        self.mean = Mean()
        self.gate = Gate(embed_dim, scalar=fusion.gate == "scalar") if fusion.branches == "both" else None

    def forward(self, made: Embedding, guide: Tensor) -> Embedding:
        """Fuse.

        Args:
            made: with ``parts (N, P, part_dim)``.
            guide: ``(N, guide_dim)``.

        Returns:
            The fused unit vector as ``mean``, the local features as unit vectors in ``parts``.
        """
        parts, mask, guide = self.local(made, guide)
        pooled = guide if self.branches == "global" else self.mean(parts, mask)
        if self.pooling is not None and self.branches != "global":
            pooled = self.pooling(guide, parts, mask)
        fused = pooled if self.gate is None else self.gate(pooled, guide)
        return Embedding(normalize(fused, dim=-1), parts=parts, mask=mask)

    def local(self, made: Embedding, guide: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Local features after they met, their mask, and the global vector in the width of the embedding."""
        if made.parts is None or made.mask is None:
            raise ValueError(
                "multigrain: the base gives no local features; choose 'towers', 'regions' or 'sequence'"
            )
        if made.parts.shape[-1] != self.part_dim:
            raise ValueError(
                f"multigrain: local features are {made.parts.shape[-1]} wide and the base's embedding "
                f"{self.part_dim}; this "
                "tower does not project its tokens, set head='tokens' in the options of the base and "
                "name a guide"
            )
        parts = self.of_parts(made.parts)
        for layer in self.layers:
            parts = layer(parts, src_key_padding_mask=~made.mask)
        return normalize(parts, dim=-1).masked_fill(~made.mask[..., None], 0), made.mask, self.of_guide(guide)

    def weights(self, made: Embedding, guide: Tensor) -> tuple[Tensor, Tensor]:
        """Weights of GGLA ``(N, P)`` and the mask ``(N, P)``.

        Raises:
            ValueError: the pooling is another.
        """
        if self.pooling is None:
            raise ValueError(
                "multigrain: a mean has no weights to show; set pooling='ggla' in the options of fusion"
            )
        parts, mask, guide = self.local(made, guide)
        return self.pooling.weights(guide, parts, mask), mask
