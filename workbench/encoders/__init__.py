"""Encoders: ``load(name, **options)`` makes a module that turns batches into ``Embedding`` records.

An encoder of one's own derives from ``Encoder`` and is named by its module and class,
``"my_module:MyEncoder"``.
"""

from typing import TYPE_CHECKING

from workbench.registry import Shelf

if TYPE_CHECKING:
    from workbench.encoders.base import Encoder as Encoder

_shelf = Shelf(__name__, Encoder="base")
names = _shelf.names
load = _shelf.load
member = _shelf.member
takers = _shelf.takers
__getattr__ = _shelf.public
