"""A batch that is encoded chunk by chunk, with the loss and the gradient of the whole (GradCache).

The first pass embeds every chunk without gradient, so that nothing but its embedding is kept; the loss of all
embeddings gives their gradient; the second pass encodes every chunk again, with the same random numbers, and
takes that gradient back through it. Batch norms that train would see one chunk alone, and are refused.

Source: Gao et al., "Scaling deep contrastive learning batch size under memory limited setup", RepL4NLP 2021,
section 3.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from workbench.records import Batch, Embedding, require
from workbench.training.averaging import batch_norms
from workbench.training.checkpoint import random_state, restore_random_state

Encode = Callable[[Batch], Embedding]


def require_no_batch_norms(model: nn.Module) -> None:
    """Raise if batch norms of a model, in training mode, train.

    Raises:
        ValueError: the message names the remedies.
    """
    require(
        not batch_norms(model),
        "chunk_size: a batch norm of these encoders would see one chunk instead of the batch; set "
        "hidden_dim=0 (regions) or another layer than 'mlp' (sequence), freeze the tower, or set "
        "chunk_size=0",
    )


class ChunkedEmbedding:
    """The embeddings of some chunks as one, ``embedding``, whose gradient ``backward`` takes to the encoder.

    Args:
        encode: embeds one chunk.
        chunks: of the batch.
        device: where random numbers are drawn.
    """

    def __init__(self, encode: Encode, chunks: Sequence[Batch], device: torch.device) -> None:
        self._encode = encode
        self._chunks = chunks
        self._device = device
        self._states: list[dict[str, Tensor]] = []
        self._leaves: list[Embedding] = []
        for chunk in chunks:
            self._states.append(random_state(device))
            with torch.no_grad():
                self._leaves.append(_as_leaf(encode(chunk)))
        self.embedding = Embedding.join(self._leaves)

    def backward(self) -> None:
        """Encode again, and add to the encoder's gradient what that of ``embedding`` makes it."""
        with torch.random.fork_rng([self._device] if self._device.type == "cuda" else []):
            for chunk, state, leaf in zip(self._chunks, self._states, self._leaves, strict=True):
                restore_random_state(state, self._device)
                encoded = vars(self._encode(chunk))
                gradients = {
                    name: value.grad
                    for name, value in leaf.present_fields().items()
                    if value.grad is not None and encoded[name].requires_grad
                }
                if gradients:  # none in an encoder that is frozen
                    torch.autograd.backward([encoded[name] for name in gradients], list(gradients.values()))


def _as_leaf(embedding: Embedding) -> Embedding:
    values = embedding.present_fields()
    for value in values.values():
        if value.is_floating_point():
            value.requires_grad_()
    return Embedding(**values)
