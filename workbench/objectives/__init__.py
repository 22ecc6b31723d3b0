"""Objectives: one paper, one file. ``names()`` lists them, ``load(name, **options)`` makes one.

A name may be a weighted sum of papers, or of some of their terms: ``"ditm+0.5*dias.dim"``. Its options are
those of each paper, ``load("ditm+0.5*dias.dim", ditm={"tau": 5}, dias={"rows": "pooled"})``, and the first
paper's scores are those of evaluation. An objective of one's own derives from ``Objective`` and is named by
its module and class, ``"my_module:MyLoss"``, alone or in a sum.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.registry import Shelf, check_options

if TYPE_CHECKING:
    from workbench.objectives.base import Objective as Objective

_shelf = Shelf(__name__, Objective="base")
names, member, __getattr__ = _shelf.names, _shelf.member, _shelf.public


def load(name: str, **options: Any) -> Any:
    """Make an objective, or a sum of several.

    Args:
        name: a name of the shelf, or a sum.
        options: of the objective; of a sum, the options of each paper by its name.

    Raises:
        KeyError: no such paper or term; TypeError: an unknown option; ValueError: a sum that cannot be read
            or united.
    """
    if not _is_sum(name):
        return _shelf.load(name, **options)
    from workbench.objectives._sum import Sum, options_of, parse

    given = options_of(name, options)
    return Sum(name, parse(name), {paper: _shelf.load(paper, **own) for paper, own in given.items()})


def check(name: str, options: Mapping[str, Any], path: str = "") -> None:
    """Refuse a name, or options by name, type and range, before data is read. A sum is made as well, since
    its papers alone know their terms.

    Args:
        name: as for ``load``.
        options: as for ``load``.
        path: where the options stand in a configuration, for messages.

    Raises:
        KeyError, TypeError, ValueError: as ``load``.
    """
    if _is_sum(name):
        from workbench.objectives._sum import options_of

        for paper, given in options_of(name, options).items():
            check(paper, given, path and f"{path}.{paper}")
        load(name, **options)
    else:
        check_options(f"objective {name!r}", member(name), options, path)


def _is_sum(name: str) -> bool:
    return "+" in name or "*" in name or "." in name.rpartition(":")[2]
