"""Objectives: one paper, one file. ``names()`` lists them, ``load(name, **options)`` makes one."""

from workbench.registry import Shelf

_shelf = Shelf(__name__)
names, load, member = _shelf.names, _shelf.load, _shelf.member
