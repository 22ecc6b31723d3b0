"""Objectives: one paper, one file. ``names()`` lists them, ``load(name, **options)`` makes one.

A name may be a weighted sum of papers, or of some of their terms: ``"ditm+0.5*dias.dim"``. Its options are
those of each paper, ``load("ditm+0.5*dias.dim", ditm={"tau": 5}, dias={"rows": "pooled"})``, and the first
paper's scores are those of evaluation. An objective of one's own derives from ``Objective`` and is named by
its module and class, ``"my_module:MyLoss"``, alone or in a sum.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.registry import Registry, did_you_mean, make, options_of, require

if TYPE_CHECKING:
    from workbench.objectives.base import Objective as Objective

_registry = Registry(__name__, Objective="base")
names, member = _registry.names, _registry.member
__getattr__ = _registry.public
members_with_option = _registry.members_with_option


def load(name: str, /, _path: str = "", **options: Any) -> Any:
    """Make an objective, or a sum of several.

    Args:
        name: a name of the registry, or a sum.
        options: of the objective; of a sum, the options of each paper by its name.
        _path: where the options stand in a configuration, for messages.

    Raises:
        KeyError: no such paper or term; TypeError: an unknown option, or one of another type; ValueError: an
            option out of range, or a sum that cannot be read or united.
    """
    if not _is_sum(name):
        _require_known(name, options, _path)
        return make(f"objective {name!r}", member(name), options, _path)
    from workbench.objectives import _sum

    given = _sum.options_of(name, options, lambda paper: options_of(member(paper))).items()
    made = {paper: load(paper, _path and f"{_path}.{paper}", **own) for paper, own in given}
    return _sum.Sum(name, _sum.parse_sum(name), made)


def _require_known(name: str, options: Mapping[str, Any], path: str) -> None:
    """Raise if an objective lacks an option that others have; name its near ones, or the others."""
    own = list(options_of(member(name)))
    for option in options.keys() - set(own):
        others = members_with_option(option)
        hint = did_you_mean(option, own, f"it is one of {', '.join(others)}")
        require(
            not others,
            f"{path or 'options'}.{option}: objective {name!r} has no option {option!r}; {hint}",
            TypeError,
        )


def names_in_sum(name: str) -> tuple[str, ...]:
    """Return the names of the objectives that a name stands for, itself where it is no sum.

    Raises:
        ValueError: a sum that cannot be read.

    >>> names_in_sum("ditm+0.5*dias.dim"), names_in_sum("ditm")
    (('ditm', 'dias'), ('ditm',))
    """
    from workbench.objectives._sum import parse_sum

    return tuple(parse_sum(name)) if _is_sum(name) else (name,)


def _is_sum(name: str) -> bool:
    return "+" in name or "*" in name or "." in name.rpartition(":")[2]
