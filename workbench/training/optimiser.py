"""The optimiser, its groups of parameters, and the learning rate as a pure function of the step, so that a
resumed run needs no state for it.
"""

import math
from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.optim import Adam, AdamW, Optimizer

from workbench.encoders.base import ParameterGroup
from workbench.training.settings import Settings

Groups = list[dict[str, Any]]


def parameter_groups(groups: Sequence[ParameterGroup], objective: nn.Module, settings: Settings) -> Groups:
    """Return optimiser groups with their own learning rate; parameters whose rate is 0 are frozen and left
    out.

    Args:
        groups: the model's groups, by role and depth.
        objective: its own parameters train at ``lr`` without decay.
        settings: rates, multipliers, decay.
    """
    multiplier = {
        "image_backbone": settings.image_backbone_lr,
        "text_backbone": settings.text_backbone_lr,
        "head": 1.0,
    }
    out: Groups = []
    for group in groups:
        rate = settings.lr * multiplier[group.role] * settings.layer_decay**group.depth
        for parameter in group.parameters.values() if rate == 0 else ():
            parameter.requires_grad_(False)
        text_decay = settings.text_backbone_decay if group.role == "text_backbone" else None
        decay = settings.weight_decay if text_decay is None else text_decay
        trained = [p for p in group.parameters.values() if p.requires_grad]
        # biases, norms and scales are vectors and scalars: decaying them pulls towards nothing meaningful
        out.append(_parameter_group([p for p in trained if p.ndim >= 2], rate, decay))
        out.append(_parameter_group([p for p in trained if p.ndim < 2], rate, 0.0))
    out.append(_parameter_group([p for p in objective.parameters() if p.requires_grad], settings.lr, 0.0))
    return [group for group in out if group["params"]]


def _parameter_group(parameters: list[nn.Parameter], rate: float, decay: float) -> dict[str, Any]:
    return {"params": parameters, "lr": rate, "base_lr": rate, "weight_decay": decay}


def make_optimiser(groups: Groups, settings: Settings) -> Optimizer:
    """Make ``"adamw"`` or ``"adam"`` (PyTorch), or ``"adamp"`` (timm)."""
    if settings.optimizer == "adamp":
        from timm.optim.adamp import AdamP

        return AdamP(groups)  # type: ignore[no-untyped-call]
    return (Adam if settings.optimizer == "adam" else AdamW)(groups)


def learning_rate_factor(step: int, *, steps_per_epoch: int, settings: Settings) -> float:
    """Return what the learning rates are multiplied by at a step."""
    if step < settings.lr_warmup_steps:
        return (step + 1) / (settings.lr_warmup_steps + 1)
    if settings.schedule == "step":
        passed = sum(step >= epoch * steps_per_epoch for epoch in settings.step_epochs)
        return float(settings.step_factor**passed)
    if settings.schedule == "exponential":
        return float(settings.epoch_factor ** (step // steps_per_epoch))
    if settings.schedule == "cosine":
        span = max(settings.epochs * steps_per_epoch - settings.lr_warmup_steps, 1)
        return 0.5 * (1 + math.cos(math.pi * (step - settings.lr_warmup_steps) / span))
    return 1.0


def loss_ramp(step: int, *, steps_per_epoch: int, settings: Settings) -> float:
    """Return the weight of the loss at a step: 1, or rising linearly over ``ramp_epochs`` after the
    warm-up.
    """
    begin = settings.warmup_epochs * steps_per_epoch
    length = settings.ramp_epochs * steps_per_epoch
    return (step - begin + 1) / length if begin <= step < begin + length else 1.0
