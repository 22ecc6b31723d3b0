"""Signals: what captions alone can tell, one file each.

``load(name, **options)`` makes a ``SignalMaker`` (what a caption says), a ``RelevanceMaker`` (how well
captions fit images), or a ``NegativeMaker`` (texts that are false of images). ``scene_graph``, the parser of
captions, is the package ``caption_graphs``.
"""

from workbench.registry import Registry
from workbench.text.signal import NegativeMaker, Relevance, RelevanceMaker, SignalMaker

__all__ = [
    "NegativeMaker",
    "Relevance",
    "RelevanceMaker",
    "SignalMaker",
    "judge_names",
    "load",
    "member",
    "names",
    "negative_makers",
]

_registry = Registry(__name__, SignalMaker="signal", RelevanceMaker="signal", NegativeMaker="signal")
names = _registry.names
load = _registry.load
member = _registry.member


def judge_names() -> list[str]:
    """Return names of the members that grade captions against images, such as ``"cider"`` or
    ``"sentence"``.
    """
    return [name for name in names() if issubclass(member(name), _registry.public("RelevanceMaker"))]


def negative_makers() -> list[str]:
    """Return names of the members that make texts that are false of images, such as ``"counterfactuals"``."""
    return [name for name in names() if issubclass(member(name), _registry.public("NegativeMaker"))]
