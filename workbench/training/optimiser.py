"""Parameter groups, optimisers and the learning rate as a pure function of the step."""

import math
from typing import Any

from torch import nn
from torch.optim import Adam, AdamW, Optimizer

from workbench.encoders.base import ParameterGroup
from workbench.training.settings import Settings


def parameter_groups(
    groups: list[ParameterGroup], extra: nn.Module, settings: Settings
) -> list[dict[str, Any]]:
    """Optimiser groups with their own learning rate; parameters whose rate is 0 are frozen and left out.

    Args:
        groups: the model's groups, by role and depth.
        extra: the objective, whose own parameters train at ``lr`` without decay.
        settings: rates, multipliers, decay.
    """
    multiplier = {
        "image_backbone": settings.image_backbone_lr,
        "text_backbone": settings.text_backbone_lr,
        "head": 1.0,
    }
    out: list[dict[str, Any]] = []
    for group in groups:
        rate = settings.lr * multiplier[group.role] * settings.layer_decay**group.depth
        parameters = list(group.parameters.values())
        if rate == 0:
            for parameter in parameters:
                parameter.requires_grad_(False)
            continue
        for decay, wanted in ((settings.weight_decay, True), (0.0, False)):
            # Biases, norms and scales are vectors and scalars: decaying them pulls towards nothing
            # meaningful.
            chosen = [p for p in parameters if p.requires_grad and (p.ndim >= 2) is wanted]
            out.append({"params": chosen, "lr": rate, "base_lr": rate, "weight_decay": decay})
    own = [p for p in extra.parameters() if p.requires_grad]
    out.append({"params": own, "lr": settings.lr, "base_lr": settings.lr, "weight_decay": 0.0})
    return [group for group in out if group["params"]]


def make_optimiser(groups: list[dict[str, Any]], name: str) -> Optimizer:
    """``"adamw"`` or ``"adam"`` (PyTorch), or ``"adamp"`` (timm)."""
    if name == "adamp":
        from timm.optim.adamp import AdamP

        optimiser: Optimizer = AdamP(groups)  # type: ignore[no-untyped-call]
        return optimiser
    return Adam(groups) if name == "adam" else AdamW(groups)


def learning_rate_factor(step: int, *, steps_per_epoch: int, settings: Settings) -> float:
    """What the learning rates are multiplied by at a step; a pure function, so that a resumed run needs no
    state for it.
    """
    if step < settings.lr_warmup_steps:
        return (step + 1) / (settings.lr_warmup_steps + 1)
    if settings.schedule == "step":
        return float(
            settings.step_factor ** sum(step >= epoch * steps_per_epoch for epoch in settings.step_epochs)
        )
    if settings.schedule == "exponential":
        return float(settings.epoch_factor ** (step // steps_per_epoch))
    if settings.schedule == "cosine":
        span = max(settings.epochs * steps_per_epoch - settings.lr_warmup_steps, 1)
        return 0.5 * (1 + math.cos(math.pi * (step - settings.lr_warmup_steps) / span))
    return 1.0


def loss_ramp(step: int, *, steps_per_epoch: int, settings: Settings) -> float:
    """Weight of the loss at a step: 1, or rising linearly over ``ramp_epochs`` after the warm-up."""
    begin, length = settings.warmup_epochs * steps_per_epoch, settings.ramp_epochs * steps_per_epoch
    return (step - begin + 1) / length if begin <= step < begin + length else 1.0
