"""From features to the width of the embedding, part by part."""

from __future__ import annotations

from torch import Tensor, nn


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
        self.mlp = _mlp(in_dim, hidden_dim, out_dim) if hidden_dim else None

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


def _mlp(in_dim: int, hidden_dim: int, out_dim: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, out_dim)
    )
