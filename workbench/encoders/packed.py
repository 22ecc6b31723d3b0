"""Sets of different sizes without padding: the real parts of all sets end to end, and what runs over them.

Captions are padded to the longest of a batch, three times the mean length, and what is computed for padding
is thrown away. Here the parts lie in one tensor ``(R, D)``, set by set. Linear layers read it as it is;
attention and sorting take the sets of one size at a time; a GRU takes the first parts of all sets, then the
second ones, and so on. On a GPU, where many small kernels cost more than padding, PyTorch's own padded forms
run; the results are the same up to rounding.
"""

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def padded_form(parts: Tensor) -> bool:
    """Whether the padded forms run, for parts that lie where these do."""
    return parts.is_cuda


class Layout:
    """Where the real parts of padded sets lie when they stand end to end.

    Args:
        mask: ``(N, P)`` True where a part is real.
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask, self.sizes = mask, mask.sum(1)

    @cached_property
    def places(self) -> Tensor:
        """``(R,)`` place of each real part among the ``N * P``."""
        return self.mask.flatten().nonzero()[:, 0]

    def rows(self, parts: Tensor) -> Tensor:
        """The real ones ``(R, ...)`` of the parts ``(N, P, ...)``."""
        return parts.flatten(0, 1).index_select(0, self.places)

    def padded(self, rows: Tensor) -> Tensor:
        """Rows ``(R, ...)`` as ``(N, P, ...)``, with 0 where nothing is real."""
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

    @property
    def distinct(self) -> list[int]:
        """The sizes that occur, smallest first."""
        return [size for _, size in self._by_size[2]]

    def blocks(self, rows: Tensor) -> list[Tensor]:
        """The sets of each size as ``(count, size, ...)``, smallest first."""
        _, index, shapes = self._by_size
        parts = torch.split(rows.index_select(0, index), [count * size for count, size in shapes])
        return [part.reshape(*shape, *rows.shape[1:]) for part, shape in zip(parts, shapes, strict=True)]

    def of_sets(self, blocks: list[Tensor]) -> Tensor:
        """``(N, ...)`` in the order of the sets, from one ``(count, ...)`` for each size."""
        return torch.cat(blocks).index_select(0, self._by_size[0].argsort())

    def of_rows(self, blocks: list[Tensor]) -> Tensor:
        """``(R, ...)`` in the order of the rows, from one ``(count, size, ...)`` for each size."""
        flat = torch.cat([block.flatten(0, 1) for block in blocks])
        return flat.index_select(0, self._by_size[1].argsort())


def attention(layer: nn.MultiheadAttention, rows: Tensor, layout: Layout) -> Tensor:
    """Self-attention among the parts of each set, ``(R, D)`` to ``(R, D)``."""
    if padded_form(rows):
        parts = layout.padded(rows)
        seen = layer(parts, parts, parts, key_padding_mask=~layout.mask, need_weights=False)[0]
        return layout.rows(seen)
    dropped = layer.dropout if layer.training else 0.0
    blocks = []
    for block in layout.blocks(linear(rows, layer.in_proj_weight, layer.in_proj_bias)):
        # shape: (3, sets, heads, parts, width of a head)
        query, key, value = block.view(*block.shape[:2], 3, layer.num_heads, -1).permute(2, 0, 3, 1, 4)
        blocks.append(
            scaled_dot_product_attention(query, key, value, dropout_p=dropped).transpose(1, 2).flatten(2)
        )
    made: Tensor = layer.out_proj(layout.of_rows(blocks))
    return made


def transformer(layer: nn.TransformerEncoderLayer, rows: Tensor, layout: Layout) -> Tensor:
    """A transformer layer over the parts of each set, ``(R, D)`` to ``(R, D)``."""
    if padded_form(rows):
        return layout.rows(layer(layout.padded(rows), src_key_padding_mask=~layout.mask))

    def forward(parts: Tensor) -> Tensor:
        hidden = layer.dropout(layer.activation(layer.linear1(parts)))
        made: Tensor = layer.dropout2(layer.linear2(hidden))
        return made

    def among(parts: Tensor) -> Tensor:
        made: Tensor = layer.dropout1(attention(layer.self_attn, parts, layout))
        return made

    if layer.norm_first:
        rows = rows + among(layer.norm1(rows))
        return rows + forward(layer.norm2(rows))
    rows = layer.norm1(rows + among(rows))
    made: Tensor = layer.norm2(rows + forward(rows))
    return made


def gru(rnn: nn.GRU, vectors: Tensor, which: Tensor | None, sizes: Tensor) -> list[Tensor]:
    """The hidden states of a GRU of one layer.

    Args:
        rnn: reads in one direction or in both.
        vectors: ``(V, D)`` what is read, each distinct vector once.
        which: ``(R,)`` vector of each part, set by set; ``None`` = ``vectors`` are the parts themselves.
        sizes: ``(N,)`` parts of each set.

    Returns:
        One ``(R, H)`` for each direction.
    """
    if padded_form(vectors):
        return _by_cudnn(rnn, vectors if which is None else vectors[which], sizes)
    with torch.autocast("cpu", enabled=False):
        return _by_steps(rnn, vectors.to(rnn.all_weights[0][0].dtype), which, sizes)


def _by_steps(rnn: nn.GRU, vectors: Tensor, which: Tensor | None, sizes: Tensor) -> list[Tensor]:
    order = sizes.argsort(descending=True, stable=True)
    size, start = sizes[order], (sizes.cumsum(0) - sizes)[order]
    step = torch.arange(int(sizes.max()))[:, None]
    real = step < size
    at_once = real.sum(1).tolist()
    made = []
    for suffix in ("", "_reverse") if rnn.bidirectional else ("",):
        place = (start + (size - 1 - step if suffix else step))[real]
        weights = [getattr(rnn, f"{name}_l0{suffix}") for name in ("weight_ih", "bias_ih")]
        read = linear(vectors, *weights).index_select(0, place if which is None else which[place])
        hidden = _Gru.apply(
            read, getattr(rnn, f"weight_hh_l0{suffix}"), getattr(rnn, f"bias_hh_l0{suffix}"), at_once
        )
        made.append(hidden.index_select(0, place.argsort()))
    return made


def _by_cudnn(rnn: nn.GRU, rows: Tensor, sizes: Tensor) -> list[Tensor]:
    layout = Layout(torch.arange(int(sizes.max()), device=sizes.device) < sizes[:, None])
    packed = pack_padded_sequence(layout.padded(rows), sizes.cpu(), batch_first=True, enforce_sorted=False)
    hidden = layout.rows(pad_packed_sequence(rnn(packed)[0], batch_first=True)[0])
    return list(hidden.chunk(2 if rnn.bidirectional else 1, dim=-1))


class _Gru(torch.autograd.Function):
    """One direction of a GRU over sets that shrink in number step by step.

    PyTorch's own backward pass on a CPU fills a gradient of the size of the whole input at every step, and
    adds to the gradient of the weights there; here both are made once.
    """

    @staticmethod
    def forward(ctx: Any, read: Tensor, weight: Tensor, bias: Tensor, at_once: list[int]) -> Tensor:
        """Hidden states ``(R, H)``, step by step.

        Args:
            ctx: what the backward pass needs.
            read: ``(R, 3H)`` inputs of the gates, step by step.
            weight: ``(3H, H)`` of the hidden state.
            bias: ``(3H,)`` of the hidden state.
            at_once: sets that are read at each step.
        """
        width = weight.shape[1]
        gates, new, out = (
            torch.empty_like(read),
            read.new_empty(len(read), width),
            read.new_empty(len(read), width),
        )
        hidden = read.new_zeros(at_once[0], width)
        for part, count in _steps(at_once):
            before, gate = hidden[:count], torch.addmm(bias, hidden[:count], weight.T, out=gates[part])
            gate[:, : 2 * width].add_(read[part, : 2 * width]).sigmoid_()
            reset, keep, heard = gate.chunk(3, dim=1)
            torch.addcmul(read[part, 2 * width :], reset, heard, out=new[part]).tanh_()
            hidden = torch.lerp(new[part], before, keep, out=out[part])
        ctx.save_for_backward(gates, new, out, weight)
        ctx.at_once = at_once
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of what was read, of the weight and of the bias."""
        gates, new, out, weight = ctx.saved_tensors
        width, first = weight.shape[1], ctx.at_once[0]
        before = _before(out, ctx.at_once)
        to_gates, to_new = torch.empty_like(gates), torch.empty_like(new)
        carried = out.new_zeros(first, width)
        for part, count in reversed(_steps(ctx.at_once)):
            reset, keep, heard = gates[part].chunk(3, dim=1)
            to_reset, to_keep, to_heard = to_gates[part].chunk(3, dim=1)
            slope = carried[:count].add_(gradients[0][part])
            kept = slope * keep
            _slope_of_sigmoid(slope * (before[part] - new[part]), keep, to_keep)
            torch.ops.aten.tanh_backward.grad_input(slope - kept, new[part], grad_input=to_new[part])
            _slope_of_sigmoid(to_new[part] * heard, reset, to_reset)
            torch.mul(to_new[part], reset, out=to_heard)
            torch.addmm(kept, to_gates[part], weight, out=slope)
        to_weight, to_bias = to_gates.T @ before, to_gates.sum(0)
        to_gates[:, 2 * width :] = to_new
        return to_gates, to_weight, to_bias, None


def _slope_of_sigmoid(gradient: Tensor, value: Tensor, out: Tensor) -> None:
    torch.ops.aten.sigmoid_backward.grad_input(gradient, value, grad_input=out)


def _steps(at_once: Iterable[int]) -> list[tuple[slice, int]]:
    """Rows of each step, and how many they are."""
    out, start = [], 0
    for count in at_once:
        out.append((slice(start, start + count), count))
        start += count
    return out


def _before(out: Tensor, at_once: list[int]) -> Tensor:
    """``(R, H)`` hidden state before each row was read; 0 before the first step."""
    steps = _steps(at_once)
    earlier = [out[part][:count] for (part, _), (_, count) in pairwise(steps)]
    return torch.cat([out.new_zeros(at_once[0], out.shape[1]), *earlier])
