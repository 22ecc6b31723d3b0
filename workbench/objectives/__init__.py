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

    addends = parse(name)
    given = options_of(name, addends, options)
    return Sum(name, addends, {paper: _shelf.load(paper, **given.get(paper, {})) for paper in addends})


def check(name: str, options: Mapping[str, Any], path: str = "") -> None:
    """Refuse a name, or options by name, type and range, without making the objective.

    Args:
        name: as for ``load``.
        options: as for ``load``.
        path: where the options stand in a configuration, for messages.

    Raises:
        KeyError, TypeError, ValueError: as ``load``.
    """
    papers: dict[str, Mapping[str, Any]] = {name: options}
    if _is_sum(name):
        from workbench.objectives._sum import options_of, parse

        papers = {**{paper: {} for paper in parse(name)}, **options_of(name, parse(name), options)}
    for paper, given in papers.items():
        where = f"{path}.{paper}" if _is_sum(name) else path
        check_options(f"objective {paper!r}", member(paper), given, where)


def _is_sum(name: str) -> bool:
    return "+" in name or "*" in name or "." in name.rpartition(":")[2]
