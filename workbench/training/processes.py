"""Several processes, one batch: every process encodes its shard, and all of them see the loss of the whole.

The embeddings are gathered, so that each process computes the objective on the whole batch, exactly as one
process would; no objective knows of it. The gradient of its own embeddings, times ``process_count``, goes
back to the encoder, and the mean over processes of the gradients is the gradient of one process.
"""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, distributed, nn

from workbench import devices
from workbench.records import Embedding, require
from workbench.training.averaging import batch_norms
from workbench.training.settings import Settings


def process_count() -> int:
    """Return the number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def process_rank() -> int:
    """Return the number of this process, also before it has met the others; 0 writes files and talks."""
    return int(os.environ.get("RANK", "0"))


def gather(embedding: Embedding) -> Embedding:
    """Return the embeddings of all processes, in the order of their ranks, its own with gradient; with one
    process the embedding itself.
    """
    if process_count() == 1:
        return embedding
    fields = embedding.present_fields()
    shapes: list[Any] = [None] * process_count()
    distributed.all_gather_object(shapes, {name: tuple(value.shape) for name, value in fields.items()})
    pieces: list[dict[str, Tensor]] = [{} for _ in shapes]
    for name, value in fields.items():
        gathered = _gather_tensors(value, [shape[name] for shape in shapes])
        for piece, part in zip(pieces, gathered, strict=True):
            piece[name] = part
    return Embedding.join([Embedding(**piece) for piece in pieces])


def _gather_tensors(value: Tensor, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """Return the tensors of all processes, which travel padded to the largest."""
    missing = np.max(shapes, axis=0) - value.shape
    # PyTorch takes two numbers a dimension, the last dimension first
    margins = np.stack([np.zeros_like(missing), missing[::-1]], axis=1)
    padded = nn.functional.pad(value, margins.ravel().tolist())
    # not every backend carries booleans
    plain = padded.to(torch.uint8) if value.dtype == torch.bool else padded.contiguous()
    pieces = [torch.empty_like(plain) for _ in range(process_count())]
    distributed.all_gather(pieces, plain.detach())
    out = [
        piece[tuple(map(slice, shape))].to(value.dtype) for piece, shape in zip(pieces, shapes, strict=True)
    ]
    out[process_rank()] = value.view_as(value)
    if value.requires_grad:
        out[process_rank()].register_hook(lambda gradient: gradient * process_count())  # type: ignore[no-untyped-call]
    return out


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace the gradients of every process by the mean of all gradients, in one message."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if process_count() == 1 or not trained:
        return
    gradients = list(map(_gradient_or_zeros, trained))
    # the gradient of a transposed weight is not contiguous
    mean = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(mean)
    parts = torch.split(mean / process_count(), [gradient.numel() for gradient in gradients])
    for parameter, gradient, part in zip(trained, gradients, parts, strict=True):
        parameter.grad = gradient.copy_(part.view_as(gradient))


def _gradient_or_zeros(parameter: Tensor) -> Tensor:
    """Return the gradient; zeros where the shard leaves a parameter unused that another shard uses."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def synchronise_batch_norms(model: nn.Module, device: torch.device) -> None:
    """Make batch norms take their statistics over all processes (``SyncBatchNorm``), in place.

    Raises:
        ValueError: the processes run on CPUs, where PyTorch has no such norm.
    """
    if process_count() == 1 or not batch_norms(model):
        return
    require(
        device.type != "cpu",
        "several processes on CPUs cannot share batch norms; set hidden_dim=0 (regions) or another layer "
        "(sequence), freeze the tower, or train with one process",
    )
    from timm.layers import norm_act  # it knows timm's own norms, PyTorch's function does not

    norm_act.convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]


def check_machine(device: str, tracker: str = "") -> None:
    """Raise if this machine does not have the device or the tracker.

    Args:
        device: as in ``Settings``.
        tracker: likewise.

    Raises:
        ValueError: a GPU is asked for and there is none; ImportError: the tracker is not installed.
    """
    devices.find_device(device)
    require(
        not tracker or find_spec(tracker),
        f"tracker={tracker!r} is not installed; pip install 'itm-workbench[trackers]'",
        ImportError,
    )


def make_accelerator(settings: Settings, folder: Path | None) -> Accelerator:
    """Make the accelerator, with device, precision and tracker of the settings.

    Args:
        settings: how to train.
        folder: where a tracker writes; ``None`` = here.

    Raises:
        ValueError, ImportError: as ``check_machine``.
    """
    check_machine(settings.device, settings.tracker)
    cpu = devices.find_device(settings.device).type == "cpu"
    precision = devices.precision_of(settings.precision)
    if precision == "auto":
        precision = "float32" if cpu else "bf16"
    # accelerate keeps device and precision for the life of the process; a notebook may change them
    AcceleratorState._reset_state(reset_partial_state=True)
    out = Accelerator(
        cpu=cpu,
        mixed_precision="no" if precision == "float32" else precision,
        log_with=settings.tracker or None,
        project_dir=str(folder or "."),
    )
    if settings.tracker:
        plain = {
            name: value for name, value in vars(settings).items() if isinstance(value, int | float | str)
        }
        out.init_trackers("itm-workbench", config=plain)
    return out
