"""Metrics: ``load(name)`` gives the function that turns scores and judgements into ``Measurement`` records."""

from workbench.registry import Shelf

_shelf = Shelf(__name__)
names, load, member = _shelf.names, _shelf.member, _shelf.member
