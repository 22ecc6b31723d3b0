"""Metrics: ``names()`` lists them, ``load(name)`` makes one, ``evaluate(Evidence(scores, judgements), rows)``
measures.
"""

from workbench.metrics.evaluation import Evidence, evaluate
from workbench.metrics.registry import Metric, all_metrics, load, member, names, usual_names

__all__ = ["Evidence", "Metric", "all_metrics", "evaluate", "load", "member", "names", "usual_names"]
