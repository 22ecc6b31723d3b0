"""Metrics: ``names()`` lists them, ``load(name)`` makes one, ``evaluate(Evidence(scores, judgements), rows)``
measures.
"""

from workbench.metrics.evaluation import Evidence, evaluate
from workbench.metrics.registry import Metric, load, member, names, rows, usual_names

__all__ = ["Evidence", "Metric", "evaluate", "load", "member", "names", "rows", "usual_names"]
