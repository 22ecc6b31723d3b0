"""What a run gives in the end: the weights of its best epoch, or the mean of the weights of its last epochs.

Source of the mean: Izmailov et al., "Averaging weights leads to wider optima and better generalization"
(SWA), UAI 2018; PCME++ takes it from epoch 16 of 25. Every epoch counts once, as in its released code; the
learning rate is that of the schedule.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

State = dict[str, Tensor]


def kept(so_far: State, now: State, *, epoch: int, swa_from: int, best: bool) -> State:
    """The weights to keep after an epoch.

    Args:
        so_far: what was kept before; empty at first.
        now: the weights at the end of this epoch.
        epoch: counted from 1.
        swa_from: first epoch of the mean; 0 = keep those of the best epoch.
        best: this epoch is the best so far.

    Returns:
        Weights and buffers. Of integers there is no mean; the latest are kept.
    """
    if not swa_from:
        return now if best or not so_far else so_far
    if epoch < swa_from:
        return {}
    count = epoch - swa_from + 1
    if count == 1:
        return now
    return {
        name: so_far[name] + (value - so_far[name]) / count if value.is_floating_point() else value
        for name, value in now.items()
    }


def batch_norms(model: nn.Module) -> list[Any]:
    """Batch norms that train; those of a frozen part stay as they are. The model must be in training mode."""
    return [
        part
        for part in model.modules()
        if isinstance(part, _BatchNorm) and part.training and part.track_running_stats
    ]


@torch.no_grad()
def refresh_statistics(model: nn.Module, encode: Callable[[Any], Any], batches: Iterable[Any]) -> None:
    """Measure the statistics of batch norms anew: those of averaged weights are not the average of
    statistics.

    Args:
        model: with the averaged weights; its batch norms get the plain mean over all batches.
        encode: a forward pass of the model.
        batches: of one epoch of training.
    """
    model.train()
    norms = batch_norms(model)
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    for batch in batches if norms else ():
        encode(batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
