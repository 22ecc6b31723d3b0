"""A training run on disk: one safetensors file, replaced atomically, from which the run goes on exactly.

Tensors (model, objective, optimiser, random state) are the file's tensors; everything else (epoch, step,
history) is JSON in the file's header. There is no pickle, so that a checkpoint from a stranger can be opened.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from workbench.records.writing import replacing

LAST = "last.safetensors"


def write(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors and JSON facts; the file appears whole or not at all."""
    # The format refuses shared storage (tied weights) and strided layouts, so every tensor gets its own plain
    # copy.
    own = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    with replacing(path) as temporary:
        save_file(own, temporary, {"facts": json.dumps(facts)})


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and facts of a file that ``write`` made.

    Raises:
        ValueError: the file is not such a checkpoint.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            return tensors, json.loads((file.metadata() or {})["facts"])
    except (KeyError, ValueError, OSError, SafetensorError) as error:
        raise ValueError(f"{path} is not a checkpoint of this workbench: {error}") from error


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with ``prefix.`` before their names."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with ``prefix.``, without it."""
    return {
        name.removeprefix(f"{prefix}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}.")
    }


def optimiser_tensors(optimiser: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The optimiser's state as named tensors, and its plain numbers as facts."""
    named = {
        f"{i}.{name}": value
        for i, state in optimiser.state_dict()["state"].items()
        for name, value in state.items()
    }
    tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
    return tensors, {name: value for name, value in named.items() if name not in tensors}


def restore_optimiser(
    optimiser: Optimizer, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]
) -> None:
    """Put back what ``optimiser_tensors`` took out."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**tensors, **numbers}.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def random_state(device: torch.device) -> dict[str, Tensor]:
    """State of the generators that dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def restore_random_state(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Put back what ``random_state`` took out."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)


def weights(model: nn.Module, objective: nn.Module) -> dict[str, Tensor]:
    """Copies of all weights and buffers of model and objective, by prefix."""
    both = prefixed("model", model.state_dict()) | prefixed("objective", objective.state_dict())
    return {name: tensor.detach().clone() for name, tensor in both.items()}


def load_weights(model: nn.Module, objective: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put back what ``weights`` took out."""
    model.load_state_dict(under("model", tensors))
    objective.load_state_dict(under("objective", tensors))
