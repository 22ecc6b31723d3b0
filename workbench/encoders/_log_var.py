"""What an encoder adds to be probabilistic: a head that says log sigma squared.

Source: Chun, "Improved probabilistic image-text representations", ICLR 2024, released code: a linear map and
GPO, without norm at
the end. Departure: the released code starts every variance near 1, so that a distance in 1,024 dimensions
starts near 2,000; here the variances of an embedding add up to 0.1 at the start, whatever its width, and are
the same for all. So a model begins with the order of its means; a random head would begin by ranking at
random.
"""

from __future__ import annotations

from math import log

from torch import Tensor, nn

from workbench.encoders._pooling import pool

TOTAL = 0.1


class LogVar(nn.Module):
    """Linear map and pooling of parts into log sigma squared.

    Args:
        width: of the parts.
        embed_dim: of the embedding.
        pooling: ``"gpo"``, ``"mean"`` or ``"max"``.
    """

    def __init__(self, width: int, embed_dim: int, pooling: str = "gpo") -> None:
        super().__init__()
        self.linear = nn.Linear(width, embed_dim)
        nn.init.zeros_(self.linear.weight)
        nn.init.constant_(self.linear.bias, log(TOTAL / embed_dim))
        self.pooling = pool(pooling)

    def forward(self, parts: Tensor, mask: Tensor) -> Tensor:
        """Parts ``(N, P, W)`` and mask ``(N, P)`` to log sigma squared ``(N, D)``."""
        made: Tensor = self.pooling(self.linear(parts), mask)
        return made
