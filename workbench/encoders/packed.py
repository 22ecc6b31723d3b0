"""Sets of different sizes without padding: the real parts of all sets end to end, and what runs over them.

Captions are padded to the longest of a batch, three times the mean length, and what is computed for padding
is thrown away. Here the parts lie in one tensor ``(R, D)``, set by set. Linear layers read it as it is;
attention and sorting take the sets of one size at a time. On a GPU, where many small kernels cost more than
padding, PyTorch's own padded forms run; the results are the same up to rounding.
"""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.nn.utils.rnn import PackedSequence


def uses_padded_form(parts: Tensor) -> bool:
    """Return whether the padded forms run, for parts that lie where these do."""
    return parts.is_cuda


class PackedIndex:
    """Where the real parts of padded sets lie when they stand end to end.

    Args:
        mask: ``(N, P)`` True where a part is real.
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self.sizes = mask.sum(1)

    @cached_property
    def places(self) -> Tensor:
        """``(R,)`` place of each real part among the ``N * P``."""
        return self.mask.flatten().nonzero()[:, 0]

    def rows(self, parts: Tensor) -> Tensor:
        """Return the real ones ``(R, ...)`` of the parts ``(N, P, ...)``."""
        return parts.flatten(0, 1).index_select(0, self.places)

    def pad(self, rows: Tensor) -> Tensor:
        """Return rows ``(R, ...)`` as ``(N, P, ...)``, with 0 where nothing is real."""
        flat = rows.new_zeros(self.mask.numel(), *rows.shape[1:])
        return flat.index_copy(0, self.places, rows).reshape(*self.mask.shape, *rows.shape[1:])

    @cached_property
    def _by_size(self) -> tuple[Tensor, Tensor, list[tuple[int, int]]]:
        """Sets by their size, the rows in that order, and how many sets there are of each size."""
        sizes, order = self.sizes.sort(stable=True)
        shift = (self.sizes.cumsum(0) - self.sizes)[order] - (sizes.cumsum(0) - sizes)
        rows = torch.arange(int(sizes.sum()), device=sizes.device) + shift.repeat_interleave(sizes)
        distinct, counts = torch.unique(sizes, return_counts=True)
        return order, rows, list(zip(counts.tolist(), distinct.tolist(), strict=True))

    def blocks(self, rows: Tensor) -> list[Tensor]:
        """Return the sets of each size as ``(count, size, ...)``, smallest first."""
        _, index, shapes = self._by_size
        parts = torch.split(rows.index_select(0, index), [count * size for count, size in shapes])
        return [part.reshape(*shape, *rows.shape[1:]) for part, shape in zip(parts, shapes, strict=True)]

    def join_sets(self, blocks: list[Tensor]) -> Tensor:
        """Return ``(N, ...)`` in the order of the sets, from one ``(count, ...)`` for each size."""
        return torch.cat(blocks).index_select(0, self._by_size[0].argsort())

    def join_rows(self, blocks: list[Tensor]) -> Tensor:
        """Return ``(R, ...)`` in the order of the rows, from one ``(count, size, ...)`` for each size."""
        flat = torch.cat([block.flatten(0, 1) for block in blocks])
        return flat.index_select(0, self._by_size[1].argsort())


def attention(layer: nn.MultiheadAttention, rows: Tensor, index: PackedIndex) -> Tensor:
    """Return self-attention among the parts of each set, ``(R, D)`` to ``(R, D)``."""
    if uses_padded_form(rows):
        parts = index.pad(rows)
        seen = layer(parts, parts, parts, key_padding_mask=~index.mask, need_weights=False)[0]
        return index.rows(seen)
    dropped = layer.dropout if layer.training else 0.0
    blocks = []
    for block in index.blocks(linear(rows, layer.in_proj_weight, layer.in_proj_bias)):
        # shape: (3, sets, heads, parts, width of a head)
        query, key, value = block.view(*block.shape[:2], 3, layer.num_heads, -1).permute(2, 0, 3, 1, 4)
        blocks.append(
            scaled_dot_product_attention(query, key, value, dropout_p=dropped).transpose(1, 2).flatten(2)
        )
    attended: Tensor = layer.out_proj(index.join_rows(blocks))
    return attended


def transformer(layer: nn.TransformerEncoderLayer, rows: Tensor, index: PackedIndex) -> Tensor:
    """Return a transformer layer over the parts of each set, ``(R, D)`` to ``(R, D)``."""
    if uses_padded_form(rows):
        return index.rows(layer(index.pad(rows), src_key_padding_mask=~index.mask))

    inputs = layer.norm1(rows) if layer.norm_first else rows
    rows = rows + layer.dropout1(attention(layer.self_attn, inputs, index))
    rows = rows if layer.norm_first else layer.norm1(rows)
    inputs = layer.norm2(rows) if layer.norm_first else rows
    hidden = layer.dropout(layer.activation(layer.linear1(inputs)))
    rows = rows + layer.dropout2(layer.linear2(hidden))
    return rows if layer.norm_first else layer.norm2(rows)


def gru(rnn: nn.GRU, rows: Tensor, sizes: Tensor) -> list[Tensor]:
    """Return the hidden states of a GRU of one layer.

    Args:
        rnn: reads in one direction or in both.
        rows: ``(R, D)`` parts, set by set.
        sizes: ``(N,)`` parts of each set.

    Returns:
        One ``(R, H)`` for each direction.
    """
    # the first parts of all sets, longest set first, then the second ones
    longest, order = torch.sort(sizes, descending=True)
    step = torch.arange(int(longest.max()), device=sizes.device)[:, None]
    there = step < longest
    places = ((sizes.cumsum(0) - sizes)[order] + step)[there]
    packed = rows.index_select(0, places)
    counts = there.sum(1).cpu()
    if uses_padded_form(rows):
        hidden = rnn(PackedSequence(packed, counts))[0].data.chunk(2 if rnn.bidirectional else 1, dim=-1)
    else:
        sizes_of_steps = counts.tolist()
        hidden = [_hidden_states(packed, sizes_of_steps, *way) for way in enumerate(rnn.all_weights)]
    back = places.argsort()
    return [states.index_select(0, back) for states in hidden]


def _hidden_states(packed: Tensor, counts: list[int], back: int, weights: Sequence[Tensor]) -> Tensor:
    """Return one direction as PyTorch computes it. PyTorch takes each step as a slice of one tensor, and on
    the way back fills a tensor of that size for every step; a split has one gradient for all.
    """
    of_parts, of_states, bias, bias_of_states = weights
    steps = torch.split(linear(packed, of_parts, bias), counts)
    width = of_states.shape[1]
    states = list[Tensor]()
    hidden = packed.new_zeros(0 if back else counts[0], width)
    for inputs in reversed(steps) if back else steps:
        if (more := len(inputs) - len(hidden)) > 0:
            hidden = torch.cat([hidden, hidden.new_zeros(more, width)])
        elif more < 0:
            hidden = hidden[:more]
        of_input = inputs.chunk(3, 1)
        of_hidden = linear(hidden, of_states, bias_of_states).chunk(3, 1)
        reset, update = ((a + b).sigmoid() for a, b in zip(of_hidden[:2], of_input[:2], strict=True))
        new = (of_input[2] + of_hidden[2] * reset).tanh()
        hidden = (hidden - new) * update + new
        states.append(hidden)
    return torch.cat(states[::-1] if back else states)
