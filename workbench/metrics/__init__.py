"""Metrics: ``names()`` lists them, ``load(name, **options)`` makes one, see ``table.Metric``."""

from workbench.metrics.table import Metric, load, member, names, rows

__all__ = ["Metric", "load", "member", "names", "rows"]
