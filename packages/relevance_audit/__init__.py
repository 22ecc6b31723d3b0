"""The false-negative audit: errors that other judgements call right, what people decide about them, and
what that does to the metrics.

``candidates`` and ``select`` find the errors, ``Labels`` keeps what annotators decide, and ``Labeller`` is
the view in which they decide it. ``named`` looks judgements up, ``corrected`` turns labels into judgements,
``recompute`` measures everything anew, ``write_qrels`` and ``write_parquet`` pass them on.
``false_negatives_in_batches`` counts the same thing where it does harm first: among the negatives of
training. ``judge_advice`` says which judge to take, ``judge_agreement`` why, and ``judged_objectives`` which
objective each would choose.
"""

from relevance_audit.false_negatives import candidates, false_negatives_in_batches, select
from relevance_audit.judgements import (
    corrected,
    named,
    read_parquet,
    read_qrels,
    recompute,
    write_parquet,
    write_qrels,
)  # fmt: skip
from relevance_audit.judges import judge_advice, judge_agreement, judged_objectives
from relevance_audit.labeller import Labeller
from relevance_audit.labels import LABELS, Decision, Labels, judged

__all__ = [
    "LABELS",
    "Decision",
    "Labeller",
    "Labels",
    "candidates",
    "corrected",
    "false_negatives_in_batches",
    "judge_advice",
    "judge_agreement",
    "judged",
    "judged_objectives",
    "named",
    "read_parquet",
    "read_qrels",
    "recompute",
    "select",
    "write_parquet",
    "write_qrels",
]  # fmt: skip
