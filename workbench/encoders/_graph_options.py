"""Options of the graph encoder, in groups: how phrases are read, what attends to what, what is left out in
training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.registry import check_options, did_you_mean


@dataclass(frozen=True)
class Concepts:
    """How a phrase becomes a vector.

    Args:
        kind: ``"gru"`` (word vectors, learned here or from ``pretrained``), ``"features"`` (a frozen text
            encoder) or ``"towers"`` (the text tower of an open_clip model, with the weights ``pretrained``).
        name: the frozen encoder, by the names of the signal ``word_features``; or the open_clip model, as for
            ``towers``.
        word_dim: width of the word vectors, or of the frozen features.
        bidirectional: the GRU reads both ways, as the paper has it; the released code reads one way.
        whole: of kind ``"towers"``: what the tower makes of the whole caption, and of an entity's phrases, is
            kept, and the graph adds to it. Not in the paper: training starts where the pre-trained tower is,
            instead of from nothing.
    """

    kind: str = "gru"
    name: str = ""
    word_dim: int = 300
    bidirectional: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        known = ["gru", "features", "towers"]
        if self.kind not in known:
            raise ValueError(f"graph: no concepts of kind {self.kind!r}; {did_you_mean(self.kind, known)}")
        if bool(self.name) == (self.kind == "gru"):
            raise ValueError(
                f"graph: concepts of kind {self.kind!r} {'take no' if self.name else 'need a'} name"
            )
        if self.whole and self.kind != "towers":
            raise ValueError(
                f"graph: concepts of kind {self.kind!r} do not read whole captions; choose 'towers' or "
                "whole=False"
            )


@dataclass(frozen=True)
class Structure:
    """What attends to what.

    Args:
        attribute_layers, object_layers: layers within the stars, and among the objects.
        heads: attention heads.
        context: ``"joint"`` = one mean over a node's relations, ReLU, dropout and LayerNorm (released code);
            ``"roles"`` = a mean for each role (the paper).
        residual: of the attention layers; ``False`` is the printed equation.
        joint: objects and attributes in one graph with all these layers, instead of two stages (an ablation
            of the paper).
        fully_connected: the nodes of a caption are linked whether related or not (an ablation of the paper).
        position: add a code of an object's place in the caption.
    """

    attribute_layers: int = 1
    object_layers: int = 2
    heads: int = 16
    context: str = "joint"
    residual: bool = True
    joint: bool = False
    fully_connected: bool = False
    position: bool = True

    def __post_init__(self) -> None:
        if self.context not in ("joint", "roles"):
            raise ValueError(f"graph: context is {self.context!r}; choose 'joint' or 'roles'")
        if min(self.attribute_layers, self.object_layers, self.heads) < 1:
            raise ValueError("graph: attribute_layers, object_layers and heads must be at least 1")


@dataclass(frozen=True)
class Augmentation:
    """Probabilities, in training alone.

    Args:
        objects, attributes, relations: to leave one out of the graph.
        mask, delete: to mask or delete a word of a phrase; for word vectors.
        singularise, pluralise: to change the number of an object's name; for word vectors.
    """

    objects: float = 0.05
    attributes: float = 0.15
    relations: float = 0.15
    mask: float = 0.10
    delete: float = 0.05
    singularise: float = 0.0
    pluralise: float = 0.0

    def __post_init__(self) -> None:
        bad = [name for name, value in asdict(self).items() if not 0 <= value <= 1]
        if bad:
            raise ValueError(f"graph: augmentation {bad[0]} is {getattr(self, bad[0])}; give a probability")


def made(kind: type[Any], options: Mapping[str, Any] | None) -> Any:
    """A group of options from JSON values.

    Args:
        kind: one of the classes above.
        options: its fields; ``None`` = the defaults.

    Raises:
        TypeError: an unknown option; the message lists the near ones.
    """
    check_options(f"graph {kind.__name__.lower()}", kind, dict(options or {}))
    return kind(**(options or {}))
