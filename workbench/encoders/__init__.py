"""Encoders: ``load(name, **options)`` makes a module that turns batches into ``Embedding`` records.

An encoder of one's own derives from ``Encoder`` and is named by its module and class,
``"my_module:MyEncoder"``.
"""

from typing import TYPE_CHECKING

from workbench.registry import Registry

if TYPE_CHECKING:
    from workbench.encoders.base import Encoder as Encoder

_registry = Registry(__name__, Encoder="base")
names = _registry.names
load = _registry.load
member = _registry.member
members_with_option = _registry.members_with_option
__getattr__ = _registry.public
