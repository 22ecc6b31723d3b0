"""Several processes, one batch: every process encodes its share, and all of them see the loss of the whole.

The batch is global. A process encodes a slice of its images and a slice of its captions; the embeddings are
gathered with their gradient, so that each process computes the objective on the whole batch, negatives,
memory and all, exactly as one process would. No objective knows of it. Batch norms take their statistics over
the whole batch too, so that what rank 0 keeps of them is what every process has. The gradient of the encoders
is then the sum over processes, that of the objective's own parameters the mean, since every process has it
whole.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, distributed
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset

from workbench.records import Batch, Embedding, Rows
from workbench.training import mixing
from workbench.training.batches import Source
from workbench.training.batches import to as batch_to
from workbench.training.settings import Settings


@dataclass(frozen=True)
class Share:
    """What one process gets of a batch; with one process all three are the same batch.

    Args:
        batch: the whole batch, for the objective; with several processes without image inputs.
        images: the images that this process encodes.
        captions: the captions that this process encodes.
    """

    batch: Batch
    images: Batch
    captions: Batch

    def to(self, device: torch.device) -> Self:
        """The share with all its tensors on a device."""
        batch = batch_to(self.batch, device)
        if self.images is self.batch:
            return type(self)(batch, batch, batch)
        return type(self)(batch, batch_to(self.images, device), batch_to(self.captions, device))


class _Shares(Dataset[Share]):
    def __init__(self, source: Source, mix: float, seed: int) -> None:
        self.source, self.rank, self.world, self.mix, self.seed = source, rank(), world(), mix, seed

    def __getitem__(self, rows: Rows) -> Share:
        if self.world == 1 and not self.mix:
            batch = self.source.batch(rows)
            return Share(batch, batch, batch)
        whole = self.source.batch(rows, inputs=False)
        images = self.source.images_of(rows)[0]
        places = np.array_split(np.arange(len(images)), self.world)[self.rank]
        if self.mix:
            recipe = mixing.recipe(rows, len(images), share=self.mix, seed=self.seed)
            whole = replace(whole, labels=recipe.labels(whole.positives))
            part = mixing.of_images(self.source, images, places, recipe)
        else:
            part = self.source.of_images(images[places])
        if self.world == 1:
            batch = replace(whole, inputs=part.inputs)
            return Share(batch, batch, batch)
        return Share(whole, part, self.source.of_captions(np.array_split(rows, self.world)[self.rank]))


def loader(
    source: Source, batches: Sequence[Rows], *, workers: int = 0, mix: float = 0.0, seed: int = 0
) -> Iterator[Share]:
    """The share that falls to this process of every batch in the given order.

    Args:
        source: what batches are made from.
        batches: caption rows of each.
        workers: processes that read ahead of need.
        mix: share of a batch's images that are mixed with another image of the batch.
        seed: of the mixing.
    """
    # The loader draws a seed for its workers from this generator instead of the global one, which belongs to
    # the model.
    shares, draws = _Shares(source, mix, seed), torch.Generator()
    return iter(DataLoader(shares, sampler=batches, batch_size=None, num_workers=workers, generator=draws))


def world() -> int:
    """Number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Number of this process; 0 writes files and talks."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def leads() -> bool:
    """Whether this process writes the run folder: the only one, or the first of those that ``torchrun``
    starts or has started.
    """
    return os.environ.get("RANK", "0") == "0"


def gather(embedding: Embedding) -> Embedding:
    """The embeddings of all processes, in the order of their ranks, with gradient; with one process the
    embedding itself.
    """
    if world() == 1:
        return embedding
    given = {name: value for name, value in vars(embedding).items() if value is not None}
    shapes: list[Any] = [None] * world()
    distributed.all_gather_object(shapes, {name: tuple(value.shape) for name, value in given.items()})
    if embedding.owner is not None:
        # An owner is a row among its own process's captions.
        given["owner"] = embedding.owner + sum(shape["mean"][0] for shape in shapes[: rank()])
    return Embedding(
        **{
            name: torch.cat(_gathered(value, [shape[name] for shape in shapes]))
            for name, value in given.items()
        }
    )


def whole_statistics() -> AbstractContextManager[Any]:
    """In this block, batch norms that train take mean and variance over the shares of all processes, with
    gradient, whatever the class of the module; with one process nothing changes.
    """
    return nullcontext() if world() == 1 else _WholeStatistics()


class _WholeStatistics(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        called = _batch_norm if func is torch.nn.functional.batch_norm else func
        return called(*args, **(kwargs or {}))


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``torch.nn.functional.batch_norm``; a share may be empty. Half precision is summed in float32."""
    if not training:
        return torch.nn.functional.batch_norm(
            input, running_mean, running_var, weight, bias, False, momentum, eps
        )
    wide = input.to(torch.promote_types(input.dtype, torch.float32))
    axes, shape = [0, *range(2, input.ndim)], (1, -1, *[1] * (input.ndim - 2))
    count = _Sum.apply(wide.new_tensor(input.numel() // input.shape[1]))
    mean = _Sum.apply(wide.sum(axes)) / count
    centred = wide - mean.view(shape)
    variance = _Sum.apply(centred.square().sum(axes)) / count
    if running_mean is not None and running_var is not None:
        with torch.no_grad():
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((variance * count / (count - 1)).to(running_var.dtype), momentum)
    made: Tensor = centred * (variance + eps).rsqrt().view(shape)
    made = made if weight is None else made * weight.view(shape)
    return (made if bias is None else made + bias.view(shape)).to(input.dtype)


class _Sum(torch.autograd.Function):
    """The sum over all processes. What each of them makes of it counts into the gradient."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        distributed.all_reduce(whole := value.clone())
        return whole

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        distributed.all_reduce(whole := gradient.clone())
        return whole


def average_gradients(encoders: Iterable[Tensor], objective: Iterable[Tensor]) -> None:
    """Bring every process to the gradient of the whole batch.

    Args:
        encoders: parameters whose gradient is of this process's share; summed.
        objective: parameters whose gradient is of the whole batch already; averaged.
    """
    if world() == 1:
        return
    for parameters, divisor in ((encoders, 1), (objective, world())):
        for parameter in parameters:
            if parameter.requires_grad:
                # A share may leave a parameter unused that another share uses, and all processes must take
                # part.
                grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                distributed.all_reduce(grad)
                parameter.grad = grad / divisor


def _gathered(value: Tensor, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """The tensors of all processes; every axis but the first is padded to the longest."""
    missing = np.max(shapes, axis=0) - value.shape
    padded = torch.nn.functional.pad(value, [n for most in missing[::-1].tolist() for n in (0, most)])
    pieces = _Gather.apply(padded) if value.is_floating_point() else _all_gather(padded)
    return [piece[: shape[0]] for piece, shape in zip(pieces, shapes, strict=True)]


def _all_gather(value: Tensor) -> tuple[Tensor, ...]:
    # Not every backend carries booleans.
    plain = value.to(torch.uint8) if value.dtype == torch.bool else value.contiguous()
    pieces = [torch.empty_like(plain) for _ in range(world())]
    distributed.all_gather(pieces, plain)
    return tuple(piece.to(value.dtype) for piece in pieces)


class _Gather(torch.autograd.Function):
    """All-gather whose gradient is that of the loss of the whole batch, averaged over the processes that
    computed it.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> tuple[Tensor, ...]:
        return _all_gather(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        whole = torch.stack(gradients)
        distributed.all_reduce(whole)
        return whole[rank()] / world()


def accelerator(settings: Settings, folder: Path | None) -> Accelerator:
    """Device, precision and tracker of the settings.

    Args:
        settings: how to train.
        folder: where a tracker writes; ``None`` = here.

    Raises:
        ValueError: a GPU is asked for and there is none.
    """
    cpu = settings.device == "cpu" or not torch.cuda.is_available()
    if settings.device == "cuda" and cpu:
        raise ValueError("device='cuda', but PyTorch sees no GPU; use device='auto' or 'cpu'")
    half = settings.precision == "bf16" or (settings.precision == "auto" and not cpu)
    # accelerate keeps device and precision for the life of the process; a notebook may train again with
    # others.
    AcceleratorState._reset_state(reset_partial_state=True)
    out = Accelerator(
        cpu=cpu,
        mixed_precision="bf16" if half else "no",
        log_with=settings.tracker or None,
        project_dir=str(folder or "."),
    )
    if settings.tracker:
        out.init_trackers(
            "itm-workbench",
            config={k: v for k, v in vars(settings).items() if isinstance(v, int | float | str)},
        )
    return out
