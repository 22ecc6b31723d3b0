"""Encoders: ``load(name, **options)`` makes a module that turns batches into ``Embedding`` records."""

from workbench.registry import Shelf

_shelf = Shelf(__name__)
names, load, member = _shelf.names, _shelf.load, _shelf.member
