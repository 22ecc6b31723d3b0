"""Large towers in shares: every process holds a part of each block's weights, gradients and optimiser state,
and the whole of a block only while it runs it (PyTorch's ``fully_shard``, FSDP).

What is cut are the blocks of pre-trained towers and of frozen encoders, whose weights are by far the most;
heads, embeddings and the objective stay whole. The gradient of a block is the sum over processes, as that of
everything else in ``processes``. A process asks for a block as often as every other does, or all of them wait
for ever: batches are divided into equal numbers of chunks and of groups of captions.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from workbench.encoders.base import Pair
from workbench.records import require

# captions that every process needs, since a text tower reads those of like length in so many groups
FEWEST = 4


class Shards:
    """Cuts the blocks of a model, and puts them together again.

    Args:
        model: is changed in place; its optimiser is made afterwards.
        world: how many processes share it.
        device: where it runs.

    Raises:
        ValueError: no block of it belongs to a tower.
    """

    def __init__(self, model: Pair, world: int, device: torch.device) -> None:
        blocks = list(_blocks(model))
        require(blocks, "shard: these encoders have no tower with blocks; set shard=false")
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh(device.type, (world,))
        self._blocks = []
        for stack, place, block in blocks:
            # what is put back in the end has the block's buffers, and no weights till then
            empty = {id(one): _like(one) for one in block.parameters()}
            self._blocks.append((stack, place, deepcopy(block, dict(empty))))
            cut: Any = fully_shard(block, mesh=mesh)
            cut.set_gradient_divide_factor(1.0)

    def undo(self) -> None:
        """Put whole blocks in the places of cut ones."""
        for stack, place, plain in self._blocks:
            held = {name: whole(value) for name, value in stack[place].state_dict().items()}
            plain.load_state_dict(held, assign=True)
            stack[place] = plain.train(stack[place].training)
        self._blocks = []


def _blocks(model: Pair) -> Iterator[tuple[Any, int, nn.Module]]:
    """The stacks of a model, and the blocks in them all of whose weights are a tower's or are frozen."""
    groups = (group.parameters.values() for group in model.groups() if group.role != "head")
    heads = {id(one) for one in model.parameters() if one.requires_grad}
    heads -= {id(one) for parameters in groups for one in parameters}
    for stack in _stacks(model):
        for place, block in enumerate(stack):
            own = [id(one) for one in block.parameters()]
            if own and heads.isdisjoint(own):
                yield stack, place, block


def _like(parameter: nn.Parameter) -> nn.Parameter:
    return nn.Parameter(torch.empty_like(parameter, device="meta"), parameter.requires_grad)


def _stacks(module: nn.Module) -> Iterator[Any]:
    if isinstance(module, nn.ModuleList | nn.Sequential):
        yield module
    else:
        for child in module.children():
            yield from _stacks(child)


def whole(value: Any) -> Any:
    """A tensor that is cut over processes as one; any other value itself. All processes take part."""
    return value.full_tensor() if is_cut(value) else value


def cut_as(value: Tensor, own: Any) -> Tensor:
    """A whole tensor, cut as another one is, where that is."""
    if not is_cut(own) or value.shape != own.shape:
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(own.device), own.device_mesh, own.placements)


def is_cut(value: Any) -> bool:
    """Whether a tensor is cut over processes."""
    return hasattr(value, "full_tensor")
