"""Signals: what captions alone can tell, one file each.

``load(name, **options)`` makes a ``SignalMaker`` (what a caption says) or a ``RelevanceMaker`` (how well
captions fit images). ``scene_graph``, the parser of captions, is the package ``caption_graphs``.
"""

from workbench.registry import Shelf
from workbench.text.signal import Relevance, RelevanceMaker, SignalMaker

__all__ = ["Relevance", "RelevanceMaker", "SignalMaker", "judges", "load", "member", "names"]

_shelf = Shelf(__name__, SignalMaker="signal", RelevanceMaker="signal")
names = _shelf.names
load = _shelf.load
member = _shelf.member


def judges() -> list[str]:
    """Names of the members that grade captions against images, such as ``"cider"`` or ``"sentence"``."""
    return [name for name in names() if issubclass(member(name), _shelf.public("RelevanceMaker"))]
