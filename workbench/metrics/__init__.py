"""Metrics: ``names()`` lists them, ``load(name, **options)`` makes one row of the table, see ``table.Metric``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.registry import Shelf, check_options, did_you_mean

if TYPE_CHECKING:
    from workbench.metrics.table import Metric as Metric

_shelf = Shelf(__name__, Metric="table")
__getattr__ = _shelf.public


def rows() -> dict[str, type[Metric]]:
    """All metrics of the shelf and of installed packages, by name: that of the file, or of each that it offers."""
    out = {}
    for name in _shelf.names():
        offered = _shelf.member(name)
        out |= {row.name: row for row in offered} if isinstance(offered, tuple) else {name: offered}
    return out


def names() -> list[str]:
    """Names of the metrics, sorted."""
    return sorted(rows())


def member(name: str) -> type[Metric]:
    """The class of a metric, by its name or by ``"my_module:MyMetric"``.

    Raises:
        KeyError: no such metric; the message lists the near names.
    """
    known = rows()
    if name not in known and ":" not in name:
        raise KeyError(f"metrics: no {name!r}; {did_you_mean(name, list(known))}")
    return known[name] if name in known else _shelf.member(name)  # type: ignore[no-any-return]


def load(name: str, **options: Any) -> Metric:
    """One metric by name, or by ``"my_module:MyMetric"``.

    Raises:
        KeyError: no such metric; the message lists the near names.
        TypeError, ValueError: an option that the metric does not take.

    >>> load("ndcg", gain="exponential").name
    'ndcg'
    """
    check_options(f"metric {name!r}", member(name), options)
    return member(name)(**options)
