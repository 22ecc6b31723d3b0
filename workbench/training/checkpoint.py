"""A training run on disk: one safetensors file, replaced atomically, from which the run goes on exactly.

Tensors (model, objective, optimiser, random state) are the file's tensors; everything else (epoch, step,
history, and what the run is made from) is JSON in the file's header, and so is a checksum of both, since a
file that is replaced while it is needed can have no second file beside it. There is no pickle, so that a
checkpoint from a stranger can be opened.
"""

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from workbench.io import PARSER_ERRORS, ChecksumError, flatten, replacing
from workbench.records import require
from workbench.training.settings import changed_settings

LAST = "last.safetensors"
MADE_FROM = "made_from"
# the fact of a run that ended, and whose checkpoint has the facts alone
FINISHED = "finished"
# the one entry of the header: safetensors writes several in an order of chance
HEADER = "checkpoint"
UNREADABLE: tuple[type[Exception], ...] = (*PARSER_ERRORS, SafetensorError)


@dataclass(frozen=True)
class TrainingPosition:
    """Where a run keeps its checkpoint, and what the run is made from.

    Args:
        folder: of the run.
        made_from: JSON values by name: the settings and the rest of the configuration, the data, the code.
    """

    folder: Path
    made_from: Mapping[str, Any]

    def last(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return tensors and facts of the checkpoint that the run goes on from; ``None`` = there is none.

        Raises:
            ChecksumError: it is damaged, or made from something else, or the run ended, kept no optimiser
            state and is to train for more epochs; the message names what differs. Other code is named in a
            warning.
        """
        if not (path := self.folder / LAST).exists():
            return None
        tensors, facts = read(path)
        differ = changed_settings(facts[MADE_FROM], self.made_from)
        if code := differ.pop("code", ""):
            warnings.warn(f"{path} was made by another version of this package: {code}", stacklevel=2)
        require(
            not differ,
            f"{path} was made with other settings ({'; '.join(differ.values())}); choose a new folder or the "
            "old settings",
            ChecksumError,
        )
        before, now = (int(made_from.get("epochs", 0)) for made_from in (facts[MADE_FROM], self.made_from))
        require(
            FINISHED not in facts or now <= before,
            f"{self.folder} ended after {before} epochs and kept no optimiser state, so it cannot go on to "
            f"{now}; train it in a new folder, with keep_optimizer=true if it is to go on later",
            ChecksumError,
        )
        return tensors, facts

    @property
    def is_finished(self) -> bool:
        """Whether the run ended, and its checkpoint has the facts alone.

        Raises:
            ChecksumError: the file is not such a checkpoint.
        """
        path = self.folder / LAST
        return path.exists() and FINISHED in read_facts(path)

    @property
    def threads(self) -> int:
        """Threads with which PyTorch computed the checkpoint; 0 = there is none, or it does not say.

        Raises:
            ChecksumError: the file is not such a checkpoint.
        """
        path = self.folder / LAST
        return int(read_facts(path).get("threads", 0)) if path.exists() else 0


def write(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors and JSON facts; the file appears whole or not at all. The same of both gives the same
    bytes.

    Raises:
        OSError: it cannot be written.
    """
    # the format refuses shared storage (tied weights) and strides, so every tensor gets a plain copy
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    text = json.dumps(facts)
    header = json.dumps({"facts": text, "sha256": _checksum(plain, text)})
    with replacing(path) as temporary:
        try:
            save_file(plain, temporary, {HEADER: header})
        except SafetensorError as error:
            raise OSError(f"{path} could not be written: {error}") from None


def drop_state(folder: Path) -> None:
    """Drop weights, optimiser and random state of a finished run's checkpoint; its facts stay.

    Args:
        folder: of the run, which keeps its weights elsewhere.

    Raises:
        ChecksumError: the file is not such a checkpoint.
        OSError: it cannot be written.
    """
    path = folder / LAST
    if path.exists():
        write(path, {}, {**read_facts(path), FINISHED: True})


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return tensors and facts of a file that ``write`` made.

    Raises:
        ChecksumError: the file is not such a checkpoint, or it is damaged.
    """
    with _open_checkpoint(path) as (file, header):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        facts = json.loads(header["facts"])
        whole = header["sha256"] == _checksum(tensors, header["facts"])
    require(
        whole,
        f"{path} is damaged: its checksum is another; choose a new folder and train again",
        ChecksumError,
    )
    return tensors, facts


def read_facts(path: Path) -> dict[str, Any]:
    """Return the facts of a file that ``write`` made; its tensors are neither read nor held against the
    checksum.

    Raises:
        ChecksumError: the file is not such a checkpoint.
    """
    with _open_checkpoint(path) as (_, header):
        return dict(json.loads(header["facts"]))


@contextmanager
def _open_checkpoint(path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            if HEADER in header:  # older versions wrote facts and checksum beside each other
                header = json.loads(header[HEADER])
            require({"facts", "sha256"} <= header.keys(), "it holds no facts")
            yield file, header
    except UNREADABLE as error:
        raise ChecksumError(f"{path} is not a checkpoint of this workbench: {error}") from error


def _checksum(tensors: Mapping[str, Tensor], facts: str) -> str:
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def tensors_under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names begin with ``prefix.``, without it."""
    return {
        name.removeprefix(f"{prefix}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}.")
    }


def optimiser_tensors(optimiser: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the optimiser's state as named tensors, and its plain numbers as facts."""
    named = flatten(optimiser.state_dict()["state"])
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
    """Return the state of the generators that dropout draws from."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def restore_random_state(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Put back what ``random_state`` took out."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)


def copy_weights(model: nn.Module, objective: nn.Module) -> dict[str, Tensor]:
    """Return copies of all weights and buffers of model and objective, by prefix."""
    both = flatten({"model": model.state_dict(), "objective": objective.state_dict()})
    return {name: tensor.detach().clone() for name, tensor in both.items()}


def load_weights(model: nn.Module, objective: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put back what ``copy_weights`` took out."""
    model.load_state_dict(tensors_under("model", tensors))
    objective.load_state_dict(tensors_under("objective", tensors))
