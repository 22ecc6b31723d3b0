"""Low-rank adapters on the towers of a pre-trained model, through the library peft.

A weight ``W`` that stays as it is becomes ``W + (alpha / rank) B A``, of which ``A`` and ``B`` alone are
trained. ``B`` begins at zero, so that training begins from the model itself.

Source: Hu et al., "LoRA: Low-rank adaptation of large language models", ICLR 2022, section 4.1.
Departure: open_clip keeps query, key and value of an attention in one weight ``(3 W, W)``; they share ``A``.
peft has a layer for PyTorch's attention, which adds to the weight and takes away again in every pass, so that
rounding moves it; here the weight is a parameter that peft adapts, and stays as it is.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from open_clip.modified_resnet import AttentionPool2d
from torch import nn

from workbench.io import import_optional
from workbench.records import require
from workbench.registry import Natural, Positive

Side = Literal["image", "text"]
# what an attention has in one weight
JOINT = "in_proj_weight"
# names of the layers that give query, key and value
ATTENTION = ("attn", "q_proj", "k_proj", "v_proj", "qkv", "q", "k", "v", "query", "key", "value")
# what peft puts into the name of a weight, and names of the weights that it adds
WRAPPED = ".base_layer"
ADDED = (".lora_A.", ".lora_B.")


@dataclass(frozen=True)
class Lora:
    """Which weights have an adapter, and how large it is.

    Args:
        rank: of the adapters.
        alpha: an adapter is added ``alpha / rank`` times.
        targets: names of linear layers and attentions, as ``"c_fc"`` or ``"attn"``, or their ends, as
            ``"11.mlp.c_fc"``; empty = query, key and value of every attention of a block.
        sides: towers that have adapters, ``"both"``, ``"image"`` or ``"text"``.
    """

    rank: Natural = 8
    alpha: Positive = 16.0
    targets: tuple[str, ...] = ()
    sides: Literal["both", "image", "text"] = "both"

    def adapts(self, side: str) -> bool:
        """Return whether a tower has adapters."""
        return self.sides in ("both", side)


def is_adapter(name: str) -> bool:
    """Return whether a weight is that of an adapter, by its name."""
    return any(part in name for part in ADDED)


def name_without_adapters(name: str) -> str:
    """Return the name that a weight has without adapters."""
    return name.replace(WRAPPED, "")


def adapt(network: nn.Module, lora: Lora, side_of: Callable[[str], str]) -> None:
    """Put adapters into a model, in place; its other weights keep whether they are trained.

    Args:
        network: a model with two towers.
        lora: which weights have an adapter.
        side_of: the tower of a module, by its name: ``"image"``, ``"text"`` or another word.

    Raises:
        ModuleNotFoundError: peft is not installed.
        ValueError: a tower has no such layer, or one that an adapter would not reach.
    """
    peft = import_optional("peft", "lora")
    trained = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    children: dict[str, list[str]] = {}
    for name in _targets(network, lora, side_of):
        parent, _, child = name.rpartition(".")
        children.setdefault(parent, []).append(child)
    # one module at a time, since peft knows layers by the ends of their names alone
    for parent, names in children.items():
        owner = network.get_submodule(parent)
        joint = [name for name in names if getattr(owner.get_submodule(name), JOINT, None) is not None]
        linear = [name for name in names if name not in joint]
        config = peft.LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            target_modules="|".join(linear) or None,
            target_parameters=[f"{name}.{JOINT}" for name in joint] or None,
        )
        peft.inject_adapter_in_model(config, owner)
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(is_adapter(name) or name_without_adapters(name) in trained)


def _targets(network: nn.Module, lora: Lora, side_of: Callable[[str], str]) -> list[str]:
    """Return names of the layers that get an adapter.

    Raises:
        ValueError: see ``adapt``.
    """
    chosen: list[str] = []
    sides: list[str] = [side for side in ("image", "text") if lora.adapts(side)]
    for side in sides:
        names = [name for name, _ in network.named_modules() if name and side_of(name) == side]
        for target in lora.targets or (ATTENTION,):
            some = list(_fitting_names(network, names, target, exact=bool(lora.targets)))
            wanted = target if isinstance(target, str) else "attention whose weights can be adapted"
            require(some, f"lora: the {side} tower has no {wanted}; name layers in lora.targets")
            chosen += some
    return list(dict.fromkeys(chosen))


def _fitting_names(
    network: nn.Module, names: list[str], target: str | tuple[str, ...], *, exact: bool
) -> Iterator[str]:
    """Yield names that a target fits; of layers that cannot have an adapter only those that were named.

    Raises:
        ValueError: a layer was named that cannot have an adapter.
    """
    ends = (target,) if isinstance(target, str) else target
    for name in names:
        if not any(f".{name}".endswith(f".{end}") for end in ends):
            continue
        problem = _problem(network, name)
        require(not (exact and problem), f"lora.targets: {name} {problem}")
        if not problem:
            yield name


def _problem(network: nn.Module, name: str) -> str:
    """Explain why a layer cannot have an adapter; empty = it can."""
    layer: Any = network.get_submodule(name)
    owner: Any = network.get_submodule(name.rpartition(".")[0])
    if getattr(layer, JOINT, None) is None and not isinstance(layer, nn.Linear):
        return f"is a {type(layer).__name__}, and adapters are for linear layers and attentions"
    # PyTorch's attentions read the weights of the layers inside them, and never call these
    if isinstance(owner, nn.MultiheadAttention | AttentionPool2d):
        return f"is read by the {type(owner).__name__} around it, past any adapter; name another layer"
    return ""


def merge_adapters(network: nn.Module) -> nn.Module:
    """Return a copy of a model with its adapters added to the weights, or the model itself where it has none.

    Args:
        network: as ``adapt`` left it.
    """
    if not any(is_adapter(name) for name, _ in network.named_parameters()):
        return network
    copy = deepcopy(network)
    wrapped = [name for name, layer in copy.named_modules() if hasattr(layer, "lora_A")]
    for name in wrapped:
        layer: Any = copy.get_submodule(name)
        layer.merge()
        copy.set_submodule(name, layer.get_base_layer())
    return copy
