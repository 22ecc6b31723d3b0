"""From a set of parts to one vector: mean, max and the generalized pooling operator (GPO); and what stands
before it: projections to the width of the embedding, and heads for its log variance.

GPO sorts every dimension of a set ``X (n, D)`` in descending order and takes ``sum_k theta_k X_sorted[k]``;
the weights ``theta`` sum to 1 and depend on the set's size ``n`` alone. Source: Chen, Hu, Wu, Jiang, Wang,
"Learning the best pooling strategy for visual semantic embedding", CVPR 2021, section 4; the softmax
temperature 0.1 is that of the released code.
"""

from math import log
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

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
        sizes = mask.sum(1)
        if parts.shape[1] == 0 or bool((sizes == 0).any()):
            rows = torch.nonzero(sizes == 0).flatten().tolist()
            raise ValueError(
                f"pooling: set {rows[:3]} has no real part; drop empty captions and images without regions"
            )
        return self.pool(parts, mask, sizes)

    def pool(self, parts: Tensor, mask: Tensor, sizes: Tensor) -> Tensor:
        """Pool sets that are known to be non-empty; ``sizes (N,)`` counts their real parts."""
        raise NotImplementedError


class Mean(Pooling):
    """The mean of the real parts."""

    def pool(self, parts: Tensor, mask: Tensor, sizes: Tensor) -> Tensor:
        """Mean over the real parts."""
        return parts.masked_fill(~mask[..., None], 0).sum(1) / sizes[:, None]


class Max(Pooling):
    """The maximum of the real parts, dimension by dimension."""

    def pool(self, parts: Tensor, mask: Tensor, sizes: Tensor) -> Tensor:
        """Maximum over the real parts."""
        return parts.masked_fill(~mask[..., None], -torch.inf).amax(1)


class GPO(Pooling):
    """The generalized pooling operator.

    Args:
        d_pe: size of the sinusoidal code of a position.
        d_hidden: hidden size of the bidirectional GRU that reads the codes.
        temperature: of the softmax that makes the weights.
    """

    def __init__(self, *, d_pe: int = 32, d_hidden: int = 32, temperature: float = 0.1) -> None:
        super().__init__()
        self.d_pe, self.temperature = d_pe, temperature
        self.rnn = nn.GRU(d_pe, d_hidden, batch_first=True, bidirectional=True)
        self.score = nn.Linear(d_hidden, 1, bias=False)

    def weights(self, sizes: Tensor) -> Tensor:
        """Weights of the sorted positions.

        Args:
            sizes: ``(N,)`` real parts of each set, all at least 1.

        Returns:
            ``(N, max(sizes))``; a row sums to 1 and is exactly 0 from ``sizes`` on.
        """
        distinct, which = torch.unique(sizes, return_inverse=True)
        longest = int(distinct[-1])
        code = position_code(longest, self.d_pe).to(self.score.weight)
        packed = pack_padded_sequence(
            code.expand(len(distinct), -1, -1), distinct.cpu(), batch_first=True, enforce_sorted=False
        )
        hidden, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        scores = self.score(torch.stack(hidden.chunk(2, dim=-1)).mean(0)).squeeze(-1)
        real = torch.arange(longest, device=sizes.device) < distinct[:, None]
        return softmax_weights(scores, real, self.temperature)[which]

    def pool(self, parts: Tensor, mask: Tensor, sizes: Tensor) -> Tensor:
        """Weighted sum of the sorted parts."""
        return sorted_sum(parts, mask, self.weights(sizes).to(parts.dtype))


def position_code(length: int, size: int) -> Tensor:
    """Sinusoidal codes ``PE[p, 2k] = sin(p * 10000^(-2k/size))``, ``PE[p, 2k+1] = cos(same)``, positions from
    0.

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
    """``softmax(scores / temperature)`` over the real positions; exactly 0 elsewhere."""
    return (scores / temperature).masked_fill(~real, -torch.inf).softmax(-1)


def sorted_sum(parts: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
    """``sum_k weights[k] * X_sorted[k]``, every dimension sorted by itself in descending order.

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


def pool(name: PoolingName) -> Pooling:
    """Make a pooling by name."""
    return POOLINGS[name]()


class Projection(nn.Module):
    """A linear layer, with or without a residual MLP ``D_in - hidden - D_out`` with batch normalisation
    beside it.

    Padded parts are left out, so that they do not enter the batch statistics and cost nothing.

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
        hidden = (nn.Linear(in_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU()) if hidden_dim else ()
        self.mlp = nn.Sequential(*hidden, nn.Linear(hidden_dim, out_dim)) if hidden_dim else None

    def forward(self, parts: Tensor, mask: Tensor) -> Tensor:
        """Project.

        Args:
            parts: ``(N, P, D_in)``.
            mask: ``(N, P)`` True where a part is real.

        Returns:
            ``(N, P, D_out)``, 0 where a part is not real.
        """
        real = parts[mask]
        made: Tensor = self.linear(real)
        if self.mlp is not None:
            made = made + self.mlp(real)
        return made.new_zeros(*mask.shape, made.shape[-1]).masked_scatter(mask[..., None], made)


TOTAL = 0.1


class LogVar(nn.Module):
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
        self.pooling = pool(pooling)

    def forward(self, parts: Tensor, mask: Tensor) -> Tensor:
        """Parts ``(N, P, W)`` and mask ``(N, P)`` to log sigma squared ``(N, D)``."""
        made: Tensor = self.pooling(self.linear(parts), mask)
        return made
