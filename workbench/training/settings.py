"""What a training run can be told, and the one place where a seed is planted."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal, Self

import torch
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench import devices
from workbench.io import flatten
from workbench.records import MetricKey, require
from workbench.registry import Count, Natural, NotNegative, Share


class Section(BaseModel):
    """Fields that are frozen and held to their types and ranges."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change a field.

        Raises:
            AttributeError: always.
        """
        kind = type(self).__name__
        raise AttributeError(f"{kind} does not change; for another {name}, config.replace() gives a new one")

    def __delattr__(self, name: str) -> None:
        """Refuse to delete a field.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{type(self).__name__} does not change; make a new one without {name}")


class Settings(Section):
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
        lr: learning rate of the heads; 0 with ``epochs`` = 0 alone.
        weight_decay: for matrices; vectors and scalars are not decayed.
        text_backbone_decay: of the pre-trained weights that read text, where they have a decay of their own.
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
        select: the number on the validation split by which the best epoch is chosen: ``"rsum"`` (binary
            labels), or any that the split can be measured by, e.g. ``"exact:t2i/map_at_r"``, which is the
            default where the data know the exact truth.
        patience: training ends after so many epochs in a row that are no better by ``select`` than the best
            before them; 0 = never early.
        seed: of everything random.
        deterministic: the same seed gives the same numbers on one machine with one number of threads; an
            operation that has no such form is refused by name. ``False`` is up to a few percent faster.
        threads: of the processor that PyTorch computes with. Sums are added in another order with another
            number, so that numbers differ; a run keeps it. 0 = PyTorch's own number, usually the cores of the
            machine, and for a resumed run the number that it began with.
        device: ``"auto"`` takes a GPU where there is one.
        precision: ``"auto"`` is bf16 autocast on a GPU and float32 elsewhere. Losses are always computed in
            float32.
        chunk_size: images, and captions, that are encoded at a time, with the loss and the gradient of the
            whole batch (GradCache): memory is that of a chunk, and a step encodes twice; 0 = the whole batch.
            Encoders whose batch norms train are refused.
        compile: encoders are compiled by ``torch.compile``, which takes minutes and pays in long runs.
        workers: processes that read batches ahead.
        checkpoint_every: steps between checkpoints; 0 = at the end of each epoch.
        keep_optimizer: a finished run keeps its last checkpoint with the state of the optimiser, from which
            it can train for more epochs; this takes about four times the room of the weights.
        tracker: ``""``, ``"tensorboard"`` or ``"wandb"``.

    Raises:
        ValueError: an unknown field, a value of another type or one outside its range.
    """

    epochs: Count = 4
    batch_size: Annotated[int, Ge(2)] = 128
    captions_per_image: Natural = 5
    sampler: Literal["shuffled", "clusters"] = "shuffled"
    clusters: Natural = 100
    clusters_per_batch: Natural = 16
    optimizer: Literal["adamw", "adamp", "adam"] = "adamw"
    lr: NotNegative = 5e-4
    weight_decay: NotNegative = 1e-4
    text_backbone_decay: NotNegative | None = None
    schedule: Literal["cosine", "step", "exponential", "constant"] = "cosine"
    # strict=False, since a list is what JSON has for a tuple
    step_epochs: tuple[Natural, ...] = Field(default=(15,), strict=False)
    step_factor: NotNegative = 0.1
    epoch_factor: NotNegative = 0.9
    lr_warmup_steps: Count = 0
    warmup_epochs: Count = 0
    ramp_epochs: Count = 0
    image_backbone_lr: NotNegative = 1.0
    text_backbone_lr: NotNegative = 1.0
    layer_decay: NotNegative = 1.0
    clip_norm: NotNegative = 2.0
    mix: Share = 0.0
    swa_from: Count = 0
    select: str = "rsum"
    patience: Count = 0
    seed: Count = 0
    deterministic: bool = True
    threads: Count = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "float32", "bf16"] = "auto"
    chunk_size: Count = 0
    compile: bool = False
    workers: Count = 0
    checkpoint_every: Count = 0
    keep_optimizer: bool = False
    tracker: Literal["", "tensorboard", "wandb"] = ""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        MetricKey.parse(self.select)
        require(
            self.lr or not self.epochs,
            "nothing is left to train (lr is 0); raise lr, or set epochs=0 to measure the starting point",
        )
        require(
            not self.epochs or self.swa_from <= self.epochs,
            f"swa_from={self.swa_from}: the run ends with epoch {self.epochs}; lower it, or set 0",
        )
        require(
            not (self.swa_from and self.patience),
            f"patience={self.patience} may end the run before the epochs whose mean swa_from="
            f"{self.swa_from} takes; set one of them to 0",
        )
        divided = self.batch_size % self.clusters_per_batch == 0 and self.clusters >= self.clusters_per_batch
        require(
            self.sampler != "clusters" or divided,
            f"clusters_per_batch={self.clusters_per_batch}: it must divide "
            f"batch_size={self.batch_size}, and clusters={self.clusters} must be at least as many",
        )
        devices.require_precision(self.precision, self.device)
        return self


# What a run may be resumed with other than it had: where and how it runs, and where its data lie, whose
# content is held against theirs by itself.
FREE = frozenset(
    ["device", "compile", "workers", "checkpoint_every", "keep_optimizer", "tracker", "data.root"]
)


def changed_settings(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Return what a run must not be resumed with, in words by name.

    More epochs are no other run, unless the schedule ends with the last of them.

    Args:
        was: what the run was made from, nested JSON values; fields of ``Settings`` stand at the top.
        now: what it would go on with.

    >>> changed_settings({"objective": "vsepp", "lr": 1}, {"objective": "dias", "lr": 1})
    {'objective': 'objective was vsepp, is dias'}
    """
    grows = now.get("schedule") != "cosine" and was.get("epochs", 0) < now.get("epochs", 0)
    # a tuple and its list are one value in JSON
    first, second = (flatten(json.loads(json.dumps(values))) for values in (was, now))
    names = sorted((first | second).keys() - FREE - ({"epochs"} if grows else set()))
    out = {}
    for name in names:
        old, new = first.get(name, "not there"), second.get(name, "not there")
        # a member of a registry is called as its field
        said = name.removesuffix(".name")
        if old != new:
            out[name] = f"{said} was {str(old) or 'empty'}, is {str(new) or 'empty'}"
    return out


def seed_everything(seed: int) -> None:
    """Seed PyTorch's global generators, from which weights and dropout are drawn. Nothing else in the package
    does.
    """
    torch.manual_seed(seed)


@contextmanager
def computing_threads(count: int) -> Iterator[None]:
    """Let PyTorch compute with so many threads of the processor within the block.

    Args:
        count: 0 = as many as before.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def deterministic_algorithms(wanted: bool) -> Iterator[None]:
    """Take the deterministic form of each PyTorch operation within the block, where ``wanted``.

    Raises:
        RuntimeError: an operation has no such form; the message names it and the setting that allows it.
    """
    from torch.utils import deterministic

    before = torch.are_deterministic_algorithms_enabled()
    init_section = deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    if wanted:
        # cuBLAS reads it when it is loaded
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(wanted)
    # memory that is filled before it is written costs time and changes no number
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    except RuntimeError as error:
        if wanted and "deterministic" in str(error):
            raise RuntimeError(
                f"{str(error).partition('. ')[0]}; set deterministic=false to allow it"
            ) from error
        raise
    finally:
        torch.use_deterministic_algorithms(before)
        deterministic.fill_uninitialized_memory = init_section  # type: ignore[attr-defined]
