"""Data sets: one data set, one file. ``names()`` lists them, ``load(name, split=..., **options)`` gives a
``Split``.
"""

from workbench.registry import Shelf

_shelf = Shelf(__name__)
names, load, member = _shelf.names, _shelf.load, _shelf.member
