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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, distributed
from torch.utils.data import DataLoader, Dataset

from workbench.records import Batch, Embedding, Rows
from workbench.training import mixing
from workbench.training.batches import Source
from workbench.training.batches import to as batch_to
from workbench.training.settings import Settings
from workbench.training.sharding import is_cut

# bytes of gradients that are sent at once: one message a parameter would wait for the network each time
BUCKET = 2**25


@dataclass(frozen=True)
class Share:
    """What one process gets of a batch; with one process and no chunks all three are the same batch.

    Args:
        batch: the whole batch, for the objective; without image inputs where others hold them.
        images: the images that this process encodes, in chunks.
        captions: the captions that this process encodes, in chunks.
    """

    batch: Batch
    images: tuple[Batch, ...]
    captions: tuple[Batch, ...]

    def to(self, device: torch.device) -> Self:
        """The share with all its tensors on a device."""
        moved = {id(one): batch_to(one, device) for one in (self.batch, *self.images, *self.captions)}
        images, captions = (tuple(moved[id(one)] for one in part) for part in (self.images, self.captions))
        return type(self)(moved[id(self.batch)], images, captions)


class _Shares(Dataset[Share]):
    def __init__(self, source: Source, mix: float, seed: int, chunk: int) -> None:
        self.source, self.mix, self.seed, self.chunk = source, mix, seed, chunk
        self.rank, self.world = rank(), world()

    def __getitem__(self, rows: Rows) -> Share:
        undivided = self.world == 1 and not self.chunk
        if undivided and not self.mix:
            return self._undivided(self.source.batch(rows))
        whole = self.source.batch(rows, inputs=False)
        images = self.source.images_of(rows)[0]
        mixed = None
        if self.mix:
            mixed = mixing.recipe(rows, len(images), share=self.mix, seed=self.seed)
            whole = replace(whole, labels=mixed.labels(whole.positives))
        parts = tuple(
            mixing.of_images(self.source, images, places, mixed)
            if mixed
            else self.source.of_images(images[places])
            for places in self._places(len(images))
        )
        if undivided:
            return self._undivided(replace(whole, inputs=parts[0].inputs))
        captions = (self.source.of_captions(rows[places]) for places in self._places(len(rows)))
        return Share(whole, parts, tuple(captions))

    def _undivided(self, batch: Batch) -> Share:
        return Share(batch, (batch,), (batch,))

    def _places(self, count: int) -> list[Rows]:
        """The places in the batch that this process encodes, chunk by chunk."""
        own = np.array_split(np.arange(count), self.world)[self.rank]
        # every process has as many chunks as the one with the largest share
        largest = -(-count // self.world)
        return np.array_split(own, -(-largest // self.chunk)) if self.chunk else [own]


def loader(
    source: Source,
    batches: Sequence[Rows],
    *,
    workers: int = 0,
    mix: float = 0.0,
    seed: int = 0,
    chunk: int = 0,
) -> Iterator[Share]:
    """The share that falls to this process of every batch in the given order.

    Args:
        source: what batches are made from.
        batches: caption rows of each.
        workers: processes that read ahead of need.
        mix: share of a batch's images that are mixed with another image of the batch.
        seed: of the mixing.
        chunk: images, and captions, that are encoded at a time; 0 = the whole share.
    """
    # The loader draws a seed for its workers from this generator instead of the global one, which belongs to
    # the model.
    shares, draws = _Shares(source, mix, seed, chunk), torch.Generator()
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


def average_gradients(encoders: Iterable[Tensor], objective: Iterable[Tensor]) -> None:
    """Bring every process to the gradient of the whole batch.

    Args:
        encoders: parameters whose gradient is of this process's share; summed. Those that are cut over
            processes have that sum already.
        objective: parameters whose gradient is of the whole batch already; averaged.
    """
    if world() == 1:
        return
    for parameters, divisor in ((encoders, 1), (objective, world())):
        for bucket in buckets([one for one in parameters if one.requires_grad and not is_cut(one)]):
            for parameter in bucket:
                # A share may leave a parameter unused that another share uses, and all processes must take
                # part.
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            gradients = [parameter.grad for parameter in bucket if parameter.grad is not None]
            whole = torch.cat([gradient.reshape(-1) for gradient in gradients])
            distributed.all_reduce(whole)
            parts = torch.split(whole / divisor, [gradient.numel() for gradient in gradients])
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))


def buckets(parameters: Sequence[Tensor], size: int = BUCKET) -> Iterator[list[Tensor]]:
    """Neighbours of one type whose gradients are sent together.

    Args:
        parameters: in the order that all processes have.
        size: bytes at most, unless one parameter alone is larger.
    """
    held, held_bytes = list[Tensor](), 0
    for parameter in parameters:
        more = parameter.numel() * parameter.element_size()
        if held and (parameter.dtype != held[0].dtype or held_bytes + more > size):
            yield held
            held, held_bytes = [], 0
        held.append(parameter)
        held_bytes += more
    if held:
        yield held


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
