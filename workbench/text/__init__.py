"""Signals: what captions alone can tell, one file each.

``load(name, **options)`` makes a ``SignalMaker`` (what a caption says) or a ``RelevanceMaker`` (captions
against images).
"""

from workbench.registry import Shelf

_shelf = Shelf(__name__)
names, load, member = _shelf.names, _shelf.load, _shelf.member
