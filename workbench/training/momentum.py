"""The momentum copy of the encoders: a slow average of their weights, whose outputs an objective may
remember.

Source: He et al., "Momentum contrast for unsupervised visual representation learning", CVPR 2020, Eq. 2.
"""

from collections.abc import Mapping
from copy import deepcopy

import torch
from torch import Tensor

from workbench.encoders.base import Pair


class Momentum:
    """A copy of the encoders that follows them and takes no gradient.

    The copy is always in evaluation mode: its outputs are targets, so that dropout would only blur them, and
    it draws nothing random. Batch statistics are not averaged but those of the encoders, since an average
    over a thousand steps would still remember how they began. Weights that are frozen are shared and not
    copied.

    Args:
        model: the encoders.
        share: of itself that the copy keeps after a step.
    """

    def __init__(self, model: Pair, share: float) -> None:
        self.share = share
        frozen = {id(parameter): parameter for parameter in model.parameters() if not parameter.requires_grad}
        self.pair = deepcopy(model, dict(frozen)).requires_grad_(False).eval()
        both = zip(self.pair.named_parameters(), model.parameters(), strict=True)
        self.followed = {name: (mine, theirs) for (name, mine), theirs in both if mine is not theirs}
        self.buffers = list(zip(self.pair.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self) -> None:
        """Move towards the encoders: ``copy <- share * copy + (1 - share) * encoder``."""
        for mine, theirs in self.followed.values():
            mine.lerp_(theirs, 1 - self.share)
        self._take_buffers()

    def state(self) -> dict[str, Tensor]:
        """The weights that are its own, by name."""
        return {name: mine for name, (mine, _) in self.followed.items()}

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what ``state`` gave, beside encoders that were put back before.

        Raises:
            KeyError: a weight is missing.
        """
        for name, (mine, _) in self.followed.items():
            mine.copy_(tensors[name])
        self._take_buffers()

    def _take_buffers(self) -> None:
        for mine, theirs in self.buffers:
            mine.copy_(theirs)
