"""Averages of weights: what a run gives in the end, and the slow copy of the encoders that objectives read.

A run gives the weights of its best epoch, or the mean of those of its last epochs. Source of
the mean: Izmailov et al., "Averaging weights leads to wider optima and better generalization" (SWA), UAI
2018; PCME++ takes it from epoch 16 of 25. Every epoch counts once, as in its released code; the learning rate
is that of the schedule. Source of the momentum copy: He et al., "Momentum contrast for
unsupervised visual representation learning", CVPR 2020, Eq. 2.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import get_swa_avg_fn, update_bn

from workbench.encoders.base import Pair

State = dict[str, Tensor]


def best_epoch(history: Sequence[Mapping[str, float]], select: str, *, smaller: bool = False) -> int:
    """Return the row of a history whose validation is best; of equal ones the first, so that epoch 0 is best
    only where nothing that was trained is better.

    Args:
        history: one mapping an epoch, as ``fit`` returns it.
        select: key of the number that chooses.
        smaller: whether a smaller number is a better one.
    """
    values = [row[f"val/{select}"] for row in history]
    return values.index(min(values) if smaller else max(values))


def update_result(result: State, weights: State, *, epoch: int, swa_from: int, best: bool) -> State:
    """Return the weights that a run would end with after this epoch.

    Args:
        result: those of the epochs before; empty at first.
        weights: at the end of this epoch.
        epoch: counted from 1; 0 = before training.
        swa_from: first epoch of the mean; 0 = keep those of the best epoch.
        best: this epoch is the best so far.

    Returns:
        Weights and buffers. Of integers there is no mean; the latest stay.
    """
    if not swa_from:
        return weights if best or not result else result
    if epoch < swa_from:
        return {}
    mean = get_swa_avg_fn()  # type: ignore[no-untyped-call]
    count = epoch - swa_from
    if not count:
        return dict(weights)
    real = [name for name, value in weights.items() if value.is_floating_point()]
    return weights | {name: mean(result[name], weights[name], count) for name in real}


def batch_norms(model: nn.Module) -> list[Any]:
    """Return batch norms that train; those of a frozen part stay as they are. The model must be in training
    mode.
    """
    return [
        part
        for part in model.modules()
        if isinstance(part, _BatchNorm) and part.training and part.track_running_stats
    ]


def refresh_statistics(model: nn.Module, encode: Callable[[Any], Any], batches: Iterable[Any]) -> None:
    """Measure the statistics of batch norms anew: those of averaged weights are not the average of
    statistics.

    Args:
        model: with the averaged weights; its batch norms get the plain mean over all batches.
        encode: a forward pass of the model.
        batches: of one epoch of training.
    """
    model.train()
    # PyTorch resets every batch norm of what it is given, so it gets those alone that train.
    norms = nn.ModuleList(batch_norms(model))
    norms.forward = encode
    update_bn(batches, norms)


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
        self.shared = {name for name, mine in self.pair.named_parameters() if id(mine) in frozen}
        self.followed = [
            (mine, theirs)
            for mine, theirs in zip(self.pair.parameters(), model.parameters(), strict=True)
            if mine is not theirs
        ]
        self.buffers = list(zip(self.pair.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self) -> None:
        """Move towards the encoders: ``copy <- share * copy + (1 - share) * encoder``."""
        for mine, theirs in self.followed:
            mine.lerp_(theirs, 1 - self.share)
        for buffer, latest in self.buffers:
            buffer.copy_(latest)

    def state(self) -> State:
        """Return the weights and buffers that are its own, by name."""
        return {name: value for name, value in self.pair.state_dict().items() if name not in self.shared}
