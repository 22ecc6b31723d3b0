"""From a set of parts to one vector: mean, max and the generalized pooling operator (GPO); what stands before
it: projections to the width of the embedding, and heads for its log variance; and attention among the parts:
regions that look at one another, a global vector that says how much each part counts, and a gate that mixes
both.

GPO sorts every dimension of a set ``X (n, D)`` in descending order and takes ``sum_k theta_k X_sorted[k]``;
the weights ``theta`` sum to 1 and depend on the set's size ``n`` alone. Source: Chen, Hu, Wu, Jiang, Wang,
"Learning the best pooling strategy for visual semantic embedding", CVPR 2021, section 4; the softmax
temperature 0.1 is that of the released code.

Sources of the attention: AAHR, Eqs. 1-7; Fu et al., "Learning semantic relationship among instances for
image-text matching" (HREM), CVPR 2023, for the layer in which local features meet; Pham et al., "Composing
object relations and attributes for image-text matching" (CORA), CVPR 2024, section 3.2, and the released
code, for regions (a code of each region's place, one attention layer, a feed-forward layer of the same width,
both with a residual).
"""

from math import log
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders import packed
from workbench.encoders.packed import PackedIndex, attention, gru
from workbench.records import require

PoolingName = Literal["gpo", "max", "mean"]


class Pooling(nn.Module):
    """Pools every set of a batch over its real parts."""

    def forward(self, parts: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pool.

        Args:
            parts: ``(N, P, D)``.
            mask: ``(N, P)`` True where a part is real; ``None`` = all are.

        Returns:
            ``(N, D)``; the order of the parts and the content of padded ones make no difference.

        Raises:
            ValueError: a set has no real part.
        """
        mask = torch.ones(parts.shape[:2], dtype=torch.bool, device=parts.device) if mask is None else mask
        index = PackedIndex(mask)
        return self.pool_rows(index.rows(parts), index)

    def pool_rows(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Return what ``forward`` does, for real parts end to end.

        Args:
            rows: ``(R, D)``.
            index: which set each belongs to.

        Raises:
            ValueError: a set has no real part.
        """
        empty = torch.nonzero(index.sizes == 0).flatten().tolist()
        require(
            not empty,
            f"pooling: set {empty[:3]} has no real part; drop empty captions and images without regions",
        )
        return self.pool(rows, index)

    def pool(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Pool sets that are known to be non-empty."""
        raise NotImplementedError


class Mean(Pooling):
    """The mean of the real parts."""

    def pool(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Return the mean over the real parts."""
        return torch.segment_reduce(rows, "mean", lengths=index.sizes)


class Max(Pooling):
    """The maximum of the real parts, dimension by dimension."""

    def pool(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Return the maximum over the real parts."""
        # not torch.segment_reduce, whose gradient is wrong where parts of a set are equal
        return index.join_sets([block.amax(1) for block in index.blocks(rows)])


class GPO(Pooling):
    """The generalized pooling operator.

    Args:
        d_pe: size of the sinusoidal code of a position.
        d_hidden: hidden size of the bidirectional GRU that reads the codes.
        temperature: of the softmax that makes the weights.
    """

    def __init__(self, *, d_pe: int = 32, d_hidden: int = 32, temperature: float = 0.1) -> None:
        super().__init__()
        self.d_pe = d_pe
        self.temperature = temperature
        self.rnn = nn.GRU(d_pe, d_hidden, batch_first=True, bidirectional=True)
        self.score = nn.Linear(d_hidden, 1, bias=False)

    def weights(self, sizes: Tensor) -> Tensor:
        """Return weights of the sorted positions.

        Args:
            sizes: ``(N,)`` real parts of each set, all at least 1.

        Returns:
            ``(N, max(sizes))``; a row sums to 1 and is exactly 0 from ``sizes`` on.
        """
        distinct, which = torch.unique(sizes, return_inverse=True)
        longest = int(distinct[-1])
        real = torch.arange(longest, device=sizes.device) < distinct[:, None]
        place = real.nonzero()[:, 1]
        code = position_code(longest, self.d_pe).to(self.score.weight)
        hidden = torch.stack(gru(self.rnn, code[place], distinct)).mean(0)
        scores = PackedIndex(real).pad(self.score(hidden).squeeze(-1))
        return softmax_weights(scores, real, self.temperature)[which]

    def pool(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Return the weighted sum of the sorted parts."""
        if packed.uses_padded_form(rows):
            weights = self.weights(index.sizes).to(rows.dtype)
            return sorted_sum(index.pad(rows), index.mask, weights)
        weights = self.weights(torch.unique(index.sizes)).to(rows.dtype)
        blocks = zip(index.blocks(rows), weights, strict=True)
        return index.join_sets([sort_descending(block) @ theta[: block.shape[1]] for block, theta in blocks])


def sort_descending(parts: Tensor) -> Tensor:
    """Return ``(N, D, P)`` every dimension of the sets ``(N, P, D)`` sorted by itself, largest first."""
    columns = parts.transpose(1, 2).contiguous()
    # numpy sorts many short rows several times as fast as PyTorch.
    values = columns.detach().to(torch.promote_types(columns.dtype, torch.float32))
    order = torch.from_numpy(np.argsort(-values.numpy(), axis=-1))
    return columns.gather(-1, order)


def position_code(length: int, size: int) -> Tensor:
    """Return sinusoidal codes ``PE[p, 2k] = sin(p * 10000^(-2k/size))``, ``PE[p, 2k+1] = cos(same)``,
    positions from 0.

    Args:
        length: number of positions.
        size: even size of a code.

    Returns:
        ``(length, size)`` float32.

    Source:
        Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3.5.
    """
    rate = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * rate
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :size].float()


def softmax_weights(scores: Tensor, real: Tensor, temperature: float) -> Tensor:
    """Return ``softmax(scores / temperature)`` over the real positions; exactly 0 elsewhere."""
    return (scores / temperature).masked_fill(~real, -torch.inf).softmax(-1)


def sorted_sum(parts: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
    """Return ``sum_k weights[k] * X_sorted[k]``, every dimension sorted by itself in descending order.

    Args:
        parts: ``(N, P, D)``.
        mask: ``(N, P)`` True where a part is real.
        weights: ``(N, n)``, at most ``P`` columns and 0 for every position from a set's size on.

    Returns:
        ``(N, D)``.
    """
    # Sorting along the last, contiguous axis takes half the time of sorting along the middle one.
    columns = parts.masked_fill(~mask[..., None], -torch.inf).transpose(1, 2).contiguous()
    best = columns.sort(dim=-1, descending=True).values[..., : weights.shape[1]]
    padding = torch.arange(weights.shape[1], device=mask.device) >= mask.sum(1, keepdim=True)
    return torch.einsum("ndk,nk->nd", best.masked_fill(padding[:, None, :], 0), weights)


POOLINGS: dict[str, type[Pooling]] = {"gpo": GPO, "max": Max, "mean": Mean}


class Projection(nn.Module):
    """A linear layer, with or without a residual MLP ``D_in - hidden - D_out`` with batch normalisation
    beside it.

    Args:
        in_dim: ``D_in``.
        out_dim: ``D_out``.
        hidden_dim: width of the MLP's hidden layer; 0 = no MLP.

    Source:
        Chen et al., "Learning the best pooling strategy for visual semantic embedding", CVPR 2021, released
        code.
    """

    def __init__(self, in_dim: int, out_dim: int, hidden_dim: int = 0) -> None:
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)
        self.mlp = (
            nn.Sequential(
                nn.Linear(in_dim, hidden_dim),
                nn.BatchNorm1d(hidden_dim),
                nn.ReLU(),
                nn.Linear(hidden_dim, out_dim),
            )
            if hidden_dim
            else None
        )

    def forward(self, rows: Tensor) -> Tensor:
        """Map the real parts ``(R, D_in)`` to ``(R, D_out)``."""
        mapped: Tensor = self.linear(rows)
        return mapped if self.mlp is None else mapped + self.mlp(rows)


TOTAL = 0.1


class LogVar(Pooling):
    """What an encoder adds to be probabilistic: a head that turns parts into log sigma squared.

    Source: Chun, "Improved probabilistic image-text representations", ICLR 2024, released code: a linear map
    and GPO, without norm at the end. Departure: the released code starts every variance near 1, so that a
    distance in 1,024 dimensions starts near 2,000; here the variances of an embedding add up to 0.1 at the
    start, whatever its width, and are the same for all. So a model begins with the order of its means; a
    random head would begin by ranking at random.

    Args:
        width: of the parts.
        embed_dim: of the embedding.
        pooling: ``"gpo"``, ``"mean"`` or ``"max"``.
    """

    def __init__(self, width: int, embed_dim: int, pooling: PoolingName = "gpo") -> None:
        super().__init__()
        self.linear = nn.Linear(width, embed_dim)
        nn.init.zeros_(self.linear.weight)
        nn.init.constant_(self.linear.bias, log(TOTAL / embed_dim))
        self.pooling = POOLINGS[pooling]()

    def pool(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Return the log sigma squared ``(N, D)`` of the real parts ``(R, W)``."""
        return self.pooling.pool(self.linear(rows), index)


HEADS = (16, 8, 6, 5, 4, 3, 2, 1)
EPS = 1e-8


class GuidedPooling(nn.Module):
    """Global-guided local attention (GGLA): a global vector says how much each local feature counts.

    Cosines of the mapped global vector with the mapped local features, averaged over ``maps`` pairs of maps,
    go through a softmax; the weights sum the local features as they are. There is no temperature, so that
    with 36 features the largest weight is at most ``e^2`` times the smallest, and the result stays close to
    the mean.

    Args:
        embed_dim: ``D``.
        maps: pairs of linear maps; the paper does not state how many.
        map_dim: what they map to.
    """

    def __init__(self, embed_dim: int, maps: int, map_dim: int) -> None:
        super().__init__()
        self.maps = maps
        self.of_guide, self.of_parts = (nn.Linear(embed_dim, maps * map_dim, bias=False) for _ in range(2))

    def weights(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        """Return weights of the local features.

        Args:
            guide: ``(N, D)`` global vectors.
            parts: ``(N, P, D)``.
            mask: ``(N, P)`` True where a part is real.

        Returns:
            ``(N, P)``; a row sums to 1 and is 0 where a part is not real. The lengths of all vectors make no
            difference.
        """
        # Half precision would round the cosines to steps of 1/256, and the weights with them.
        precise = torch.promote_types(parts.dtype, torch.float32)
        guide = guide.to(precise)
        values = parts.to(precise)
        index = PackedIndex(mask)
        with torch.autocast(parts.device.type, enabled=False):
            of_guide, of_parts = (
                maps.weight.to(precise).reshape(self.maps, -1, maps.in_features)
                for maps in (self.of_guide, self.of_parts)
            )
            queries = normalize(torch.einsum("nd,mkd->nmk", guide, of_guide), dim=-1)
            keys = torch.einsum("rd,mkd->rmk", index.rows(values), of_parts)
            # A dot product of mapped vectors, as one of the part itself: (W_p x) . a = x . (W_p' a).
            dots = values @ torch.einsum("nmk,mkd->ndm", queries, of_parts)
            lengths = index.pad(keys.norm(dim=-1)).clamp(min=EPS)
        return (dots / lengths).mean(-1).masked_fill(~mask, -torch.inf).softmax(-1).to(parts.dtype)

    def forward(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        """Return ``(N, D)``: the weighted sum of the parts."""
        return torch.einsum("np,npd->nd", self.weights(guide, parts, mask), parts)


class ValuePooling(nn.Module):
    """GGLA as AAHR's authors released it: heads with maps of their own for query, key and value.

    Each head weighs the parts by the softmax of the cosines of its query with its keys, and sums its values;
    the heads are averaged (METHODS 8.8).

    Args:
        embed_dim: ``D``.
        heads: how many.
    """

    def __init__(self, embed_dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(embed_dim, heads * embed_dim) for _ in range(3))

    def weights(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        """Return ``(N, P)`` weights of the parts, the mean over heads; a row sums to 1."""
        return self._weights_by_head(guide, parts, mask).mean(1)

    def _weights_by_head(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        # shape: (N, heads, D) and (N, P, heads, D)
        queries = normalize(self.query(guide).unflatten(-1, (self.heads, -1)), dim=-1)
        keys = normalize(self.key(parts).unflatten(-1, (self.heads, -1)), dim=-1)
        cosines = torch.einsum("nhd,nphd->nhp", queries, keys)
        return cosines.masked_fill(~mask[:, None], -torch.inf).softmax(-1)

    def forward(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        """Return ``(N, D)`` from global vectors ``(N, D)``, parts ``(N, P, D)`` and mask ``(N, P)``."""
        values = self.value(parts).unflatten(-1, (self.heads, -1))
        return torch.einsum("nhp,nphd->nhd", self._weights_by_head(guide, parts, mask), values).mean(1)


class Gate(nn.Module):
    """``g = sigmoid(W [local; guide] + b)``, and ``g * local + (1 - g) * guide``, which lies between the two.

    Args:
        embed_dim: ``D``.
        scalar: one gate for all dimensions, where the default has one for each.
    """

    def __init__(self, embed_dim: int, *, scalar: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * embed_dim, 1 if scalar else embed_dim)

    def forward(self, local: Tensor, guide: Tensor) -> Tensor:
        """Mix ``(N, D)`` with ``(N, D)``."""
        gate: Tensor = self.linear(torch.cat([local, guide], dim=-1)).sigmoid()
        return gate * local + (1 - gate) * guide


def head_count(embed_dim: int, most: int) -> int:
    """Return as many attention heads as divide the width, up to ``most``."""
    return next(count for count in HEADS if count <= most and embed_dim % count == 0)


def meeting_layer(embed_dim: int, heads: int, hidden_dim: int, dropout: float) -> nn.TransformerEncoderLayer:
    """Return one transformer layer over a set; as many heads as divide the width, up to ``heads``."""
    return nn.TransformerEncoderLayer(
        embed_dim, head_count(embed_dim, heads), hidden_dim, dropout, batch_first=True
    )


CODE = 16
DROPOUT = 0.1


class RegionAttention(nn.Module):
    """One layer of self-attention among the regions of an image.

    Args:
        dim: ``D``, a multiple of ``heads``.
        heads: attention heads.
        renumber: a region's place counts the real regions before it, and not all.
    """

    def __init__(self, dim: int, heads: int, renumber: bool = False) -> None:
        super().__init__()
        self.renumber = renumber
        self.code = nn.Linear(CODE, dim)
        self.dropout = nn.Dropout(DROPOUT)
        self.before = nn.LayerNorm(dim)
        self.between = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, rows: Tensor, index: PackedIndex) -> Tensor:
        """Let the regions ``(R, D)`` of each image attend to one another; the real ones of all images lie end
        to end.
        """
        length = index.mask.shape[1]
        code = self.dropout(self.code(position_code(length, CODE).to(rows)))
        places = index.mask.cumsum(1)[index.mask] - 1 if self.renumber else index.places % length
        seen = self.before(rows + code[places])
        rows = rows + attention(self.attention, seen, index)
        changed: Tensor = self.feed_forward(self.between(rows))
        return rows + changed
