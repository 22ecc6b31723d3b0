"""A batch that is encoded chunk by chunk, with the loss and the gradient of the whole (GradCache).

The batch is embedded without gradient, so that nothing of one chunk is kept but its embeddings; the loss of
all embeddings gives their gradient; then every chunk is encoded again, and the gradient of its embeddings is
taken back through it. The sum over the chunks is the gradient of the whole batch. A chunk draws the same
random numbers each time, so that dropout leaves out the same.

Source: Gao et al., "Scaling deep contrastive learning batch size under memory limited setup", RepL4NLP 2021,
section 3. Departure: batch norms too are those of the whole batch. Each of them costs one more pass forward
and one more back, as far as it lies in the encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from workbench.records import Batch, Embedding
from workbench.training.averaging import batch_norms
from workbench.training.checkpoint import random_state, restore_random_state
from workbench.training.norms import OverChunks, UnknownError, summed


class Chunks:
    """The embeddings of some batches, as one, whose gradient is taken back to the encoder by ``backward``.

    Args:
        encoder: whose batch norms count every batch once.
        encode: embeds one batch by it.
        batches: the chunks.
        device: where random numbers are drawn.
    """

    def __init__(
        self,
        encoder: nn.Module,
        encode: Callable[[Batch], Embedding],
        batches: Sequence[Batch],
        device: torch.device,
    ) -> None:
        self._encode, self._batches, self._device = encode, batches, device
        self._norms, self._drew = OverChunks(), False
        counts = [norm.num_batches_tracked for norm in batch_norms(encoder)]
        self._counted = [(count, count.clone()) for count in counts]
        with torch.no_grad(), self._random_state_kept():
            self._states = [self._state(seed) for seed in _seeds(batches)]
            while len(made := self._embedded()) < len(batches):
                self._norms.settle(len(batches))
        if self._drew:
            _seeds(batches)  # the next step draws others
        self._leaves = list(map(_leaf, made))
        self.embedding = Embedding.joined(self._leaves)

    def backward(self) -> None:
        """Add to the gradient of the encoder's parameters what the gradient of ``embedding`` makes it."""
        norms, numbers = self._norms, range(len(self._batches))
        with self._random_state_kept():
            for last, (_, statistics) in reversed(list(enumerate(norms.known))):
                sums = [torch.zeros_like(one) for one in statistics]
                for number in numbers:
                    made, gradients = self._to_go_back(number)
                    found = torch.autograd.grad(made, statistics, gradients, allow_unused=True)
                    both = zip(sums, found, strict=True)
                    sums = [one if more is None else one + more for one, more in both]
                norms.gradients[last] = [summed(one) for one in sums]
            for number in numbers:
                made, gradients = self._to_go_back(number)
                if made:  # nothing in an encoder that stands still
                    torch.autograd.backward(made, gradients)

    def _embedded(self) -> list[Embedding]:
        """The embeddings of the chunks that come to the end of the encoder."""
        made = []
        for number in range(len(self._batches)):
            try:
                made.append(self._one(number))
            except UnknownError:
                continue
        return made

    def _one(self, number: int) -> Embedding:
        for count, was in self._counted:
            count.copy_(was)
        restore_random_state(before := self._states[number], self._device)
        try:
            with self._norms:
                return self._encode(self._batches[number])
        finally:
            after = random_state(self._device)
            self._drew = self._drew or any(not torch.equal(after[name], before[name]) for name in before)

    def _state(self, seed: int) -> dict[str, Tensor]:
        """State of the generators where the random numbers of a chunk begin."""
        devices = {name: torch.device(name) for name in ("cpu", self._device.type)}
        return {
            name: torch.Generator(device).manual_seed(seed).get_state() for name, device in devices.items()
        }

    def _to_go_back(self, number: int) -> tuple[list[Tensor], list[Tensor]]:
        """What a chunk makes that has a gradient, and that gradient."""
        made, leaves = vars(self._one(number)), vars(self._leaves[number])
        pairs = [(made[name], leaf.grad) for name, leaf in leaves.items() if leaf is not None]
        pairs = [(one, gradient) for one, gradient in pairs + self._norms.passed_on() if gradient is not None]
        pairs = [(one, gradient) for one, gradient in pairs if one.requires_grad]
        return [one for one, _ in pairs], [gradient for _, gradient in pairs]

    @contextmanager
    def _random_state_kept(self) -> Iterator[None]:
        before = random_state(self._device)
        yield
        restore_random_state(before, self._device)


def _seeds(batches: Sequence[Batch]) -> list[int]:
    found: list[int] = torch.randint(2**62, (len(batches),)).tolist()
    return found


def _leaf(made: Embedding) -> Embedding:
    values: dict[str, Any] = {
        name: value.detach().requires_grad_() if value is not None and value.is_floating_point() else value
        for name, value in vars(made).items()
    }
    return Embedding(**values)
