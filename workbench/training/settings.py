"""What a training run can be told, and the one place where a seed is planted."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

CHOICES = {
    "optimizer": ("adamw", "adamp", "adam"),
    "schedule": ("cosine", "step", "exponential", "constant"),
    "sampler": ("shuffled", "clusters"),
    "device": ("auto", "cpu", "cuda"),
    "precision": ("auto", "float32", "bf16"),
    "tracker": ("", "tensorboard", "wandb"),
}
AT_LEAST = {
    "epochs": 0, "batch_size": 2, "captions_per_image": 1, "warmup_epochs": 0, "ramp_epochs": 0, "lr_warmup_steps": 0,
    "checkpoint_every": 0, "workers": 0, "lr": 0.0, "weight_decay": 0.0, "image_backbone_lr": 0.0, "text_backbone_lr": 0.0,
    "clusters": 1, "clusters_per_batch": 1, "epoch_factor": 0.0, "clip_norm": 0.0, "layer_decay": 0.0, "mix": 0.0, "swa_from": 0,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to train.

    Args:
        epochs: passes over the training captions; 0 evaluates the starting point.
        batch_size: images a batch (captions, where ``captions_per_image`` is 1).
        captions_per_image: captions of each image in a batch; 1 = the classic epoch over shuffled captions.
        sampler: ``"shuffled"``, or ``"clusters"`` = neighbouring images share a batch: k-means groups the
            training images by their mean region, or by their embedding before training where there are no
            regions; each batch takes equally many images from each of some clusters. A batch then holds
            ``batch_size`` images, whatever ``captions_per_image`` is.
        clusters, clusters_per_batch: of the training images in all, and in a batch.
        optimizer: ``"adamw"``, ``"adam"`` (its decay is part of the gradient) or ``"adamp"`` (timm's).
        lr: learning rate of the heads.
        weight_decay: for matrices; vectors and scalars are not decayed.
        schedule: ``"cosine"`` to zero, ``"step"`` (times ``step_factor`` after each epoch in
            ``step_epochs``), ``"exponential"`` (times ``epoch_factor`` after every epoch), ``"constant"``.
        step_epochs, step_factor: of the step schedule.
        epoch_factor: of the exponential schedule.
        lr_warmup_steps: the learning rate rises linearly over so many steps.
        warmup_epochs: epochs with the hinge summed over all negatives and the image backbone frozen.
        ramp_epochs: the loss grows linearly to its full weight over so many epochs after the warm-up.
        image_backbone_lr, text_backbone_lr: multipliers of ``lr``; 0 freezes.
        layer_decay: the learning rate of a block is multiplied by ``layer_decay ** (n_blocks - block)``.
        clip_norm: gradients are clipped to this norm; 0 = not clipped.
        mix: share of a batch's images that are mixed with another image, for objectives that read soft
            labels; 0 = none.
        swa_from: the result is the mean of the weights at the end of this epoch (counted from 1) and of all
            later ones, whatever their validation says; 0 = the weights of the best epoch.
        seed: of everything random.
        device: ``"auto"`` takes a GPU where there is one.
        precision: ``"auto"`` is bf16 autocast on a GPU and float32 elsewhere. Losses are always computed in
            float32.
        workers: processes that read batches ahead.
        checkpoint_every: steps between checkpoints; 0 = at the end of each epoch.
        tracker: ``""``, ``"tensorboard"`` or ``"wandb"``.

    Raises:
        ValueError: a value is outside its range; the message gives the range.
    """

    epochs: int = 4
    batch_size: int = 128
    captions_per_image: int = 5
    sampler: str = "shuffled"
    clusters: int = 100
    clusters_per_batch: int = 16
    optimizer: str = "adamw"
    lr: float = 5e-4
    weight_decay: float = 1e-4
    schedule: str = "cosine"
    step_epochs: tuple[int, ...] = (15,)
    step_factor: float = 0.1
    epoch_factor: float = 0.9
    lr_warmup_steps: int = 0
    warmup_epochs: int = 0
    ramp_epochs: int = 0
    image_backbone_lr: float = 1.0
    text_backbone_lr: float = 1.0
    layer_decay: float = 1.0
    clip_norm: float = 2.0
    mix: float = 0.0
    swa_from: int = 0
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    workers: int = 0
    checkpoint_every: int = 0
    tracker: str = field(default="")

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: choose one of {', '.join(map(repr, allowed))}"
                )
        for name, least in AT_LEAST.items():
            if not getattr(self, name) >= least:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be at least {least}")
        if self.mix > 1:
            raise ValueError(f"mix={self.mix!r}: a share of the images, at most 1")
        if self.epochs and self.swa_from > self.epochs:
            raise ValueError(
                f"swa_from={self.swa_from}: the run ends with epoch {self.epochs}; lower it, or set 0"
            )
        if self.sampler == "clusters" and (
            self.batch_size % self.clusters_per_batch or self.clusters < self.clusters_per_batch
        ):
            raise ValueError(
                f"clusters_per_batch={self.clusters_per_batch}: it must divide batch_size={self.batch_size}, and clusters="
                f"{self.clusters} must be at least as many"
            )
        if self.precision == "bf16" and self.device == "cpu":
            raise ValueError("precision='bf16' is for a GPU; use precision='auto' or device='cuda'")


def seed_everything(seed: int) -> None:
    """Seed PyTorch's global generators, from which weights and dropout are drawn. Nothing else in the package
    does.
    """
    torch.manual_seed(seed)
