"""Batch norms whose mean and variance are those of the whole batch, wherever its parts are encoded: by
several processes at once, or chunk by chunk.

Whatever the class of the module, it calls PyTorch's ``batch_norm``, and in the blocks that are opened here
that call is ours.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, distributed
from torch.nn.functional import batch_norm
from torch.overrides import TorchFunctionMode

from workbench.records import require
from workbench.training.processes import world

Follow = Callable[[Tensor, Tensor, Tensor], None]


def whole_statistics() -> AbstractContextManager[Any]:
    """In this block, batch norms that train take mean and variance over the shares of all processes, with
    gradient; with one process nothing changes.
    """
    return nullcontext() if world() == 1 else OverProcesses()


class OverProcesses(TorchFunctionMode):
    """Batch norms over the shares of all processes; a share may be empty. Half precision is summed in
    float32.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        called = self._batch_norm if func is batch_norm else func
        return called(*args, **(kwargs or {}))

    def _batch_norm(
        self,
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        if not training:
            return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)

        def follow(count: Tensor, mean: Tensor, variance: Tensor) -> None:
            if running_mean is not None and running_var is not None:
                with torch.no_grad():
                    running_mean.lerp_(mean.to(running_mean.dtype), momentum)
                    running_var.lerp_((variance * count / (count - 1)).to(running_var.dtype), momentum)

        wide = input.to(torch.promote_types(input.dtype, torch.float32))
        # channels last, so that statistics broadcast
        centred, variance = self.statistics(wide.movedim(1, -1), follow)
        made: Tensor = centred * (variance + eps).rsqrt()
        made = made if weight is None else made * weight
        return (made if bias is None else made + bias).movedim(-1, 1).to(input.dtype)

    def statistics(self, values: Tensor, follow: Follow) -> tuple[Tensor, Tensor]:
        """Values ``(..., C)`` less the mean of the whole batch, and its variance ``(C,)``.

        Args:
            values: of this part of the batch.
            follow: is told count, mean and variance, once.
        """
        axes = tuple(range(values.ndim - 1))
        count = _Sum.apply(values.new_tensor(values.numel() // values.shape[-1]))
        mean = _Sum.apply(values.sum(axes)) / count
        centred = values - mean
        variance = _Sum.apply(centred.square().sum(axes)) / count
        follow(count, mean, variance)
        return centred, variance


class UnknownError(Exception):
    """A chunk met a batch norm whose statistics are not known yet."""


class OverChunks(OverProcesses):
    """Batch norms over all chunks of a batch, and over all processes.

    A chunk stops (``UnknownError``) at the first norm whose statistics nobody knows; when all chunks have
    come there, ``settle`` makes them from what the chunks have noted, and the chunks are encoded anew. Mean
    and variance are leaves of the graph of a chunk. Their gradient, once it is summed over all chunks, goes
    back through ``passed_on``, the chunk's part in them.
    """

    def __init__(self) -> None:
        super().__init__()
        # of every norm in the order of their calls: count; mean and variance
        self.known: list[tuple[Tensor, tuple[Tensor, Tensor]]] = []
        # gradient of mean and variance by the number of the norm
        self.gradients: dict[int, list[Tensor]] = {}
        self._waiting: list[tuple[Tensor, Tensor, Tensor, Follow]] = []
        self._parts: list[tuple[Tensor, Tensor]] = []

    def __enter__(self) -> Any:
        self._parts = []
        return super().__enter__()  # type: ignore[no-untyped-call]

    def statistics(self, values: Tensor, follow: Follow) -> tuple[Tensor, Tensor]:
        """As of ``OverProcesses``.

        Raises:
            UnknownError: all chunks must come here first.
        """
        axes, number = tuple(range(values.ndim - 1)), len(self._parts)
        if number == len(self.known):
            count = values.new_tensor(values.numel() // values.shape[-1])
            mean = values.sum(axes) / count.clamp(min=1)
            self._waiting.append((count, mean, (values - mean).square().sum(axes), follow))
            raise UnknownError
        count, (mean, variance) = self.known[number]
        # about the mean, the variance does not change with it
        fixed = (values - mean.detach()).square().sum(axes)
        self._parts.append((values.sum(axes) / count, fixed / count))
        return values - mean, variance

    def settle(self, chunks: int) -> None:
        """Make the statistics of the norm where all chunks have stopped."""
        require(
            len(self._waiting) == chunks, "chunks of a batch pass different batch norms; set chunk_size=0"
        )
        counts, means, squares = map(torch.stack, list(zip(*self._waiting, strict=True))[:3])
        count = summed(counts.sum())
        mean = summed((counts[:, None] * means).sum(0)) / count
        apart = (counts[:, None] * (means - mean).square()).sum(0)
        variance = summed(squares.sum(0) + apart) / count
        self._waiting[0][3](count, mean, variance)
        self.known.append((count, (mean.requires_grad_(), variance.requires_grad_())))
        self._waiting = []

    def passed_on(self) -> list[tuple[Tensor, Tensor]]:
        """The part of the chunk that was encoded last in every mean and variance whose gradient is known,
        with that gradient.
        """
        return [
            pair
            for number, gradients in self.gradients.items()
            for pair in zip(self._parts[number], gradients, strict=True)
        ]


def summed(value: Tensor) -> Tensor:
    """The sum over all processes, without gradient."""
    if world() > 1:
        distributed.all_reduce(value := value.clone())
    return value


class _Sum(torch.autograd.Function):
    """The sum over all processes. What each of them makes of it counts into the gradient."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return summed(value)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return summed(gradient)
