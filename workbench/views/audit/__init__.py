"""The false-negative audit: errors that other judgements call right, what people say of them, and what that
does to the metrics.

``candidates`` and ``select`` find the errors, ``Labels`` keeps what annotators say, and ``Labeller`` is the
view in which they say it. ``corrected`` turns labels into judgements, ``recompute`` measures everything
again, ``write_qrels`` and ``write_parquet`` pass them on. ``false_negatives_in_batches`` counts the same
thing where it does harm first: among the negatives of training.
"""

from workbench.views.audit.candidates import candidates, select
from workbench.views.audit.corrected import corrected, recompute
from workbench.views.audit.files import read_parquet, read_qrels, write_parquet, write_qrels
from workbench.views.audit.in_batches import false_negatives_in_batches
from workbench.views.audit.labeller import Labeller
from workbench.views.audit.labels import LABELS, Decision, Labels, judged

__all__ = [
    "LABELS", "Decision", "Labeller", "Labels", "candidates", "corrected", "false_negatives_in_batches", "judged", 
    "read_parquet", "read_qrels", "recompute", "select", "write_parquet", "write_qrels",
]  # fmt: skip
