"""The false-negative audit: errors that other judgements call right, what people decide about them, and
what that does to the metrics.

``candidates`` and ``select`` find the errors, ``Labels`` keeps what annotators decide, and ``Labeller`` is
the view in which they decide it. ``named`` looks judgements up, ``corrected`` turns labels into judgements,
``recompute`` measures everything anew, ``write_qrels`` and ``write_parquet`` pass them on.
``false_negatives_in_batches`` counts the same thing where it does harm first: among the negatives of
training. ``judge_advice`` says which judge to take, ``judge_agreement`` why, and ``judges_choices`` which
objective each would choose. ``order_agreement`` and its like hold metrics against the truth, and ``models``
has what the notebooks measure of several models.
"""

from relevance_audit.agreement import (
    TRUTH,
    order_agreement,
    order_differences,
    per_query,
    pooled,
    true_share,
)
from relevance_audit.false_negatives import candidates, false_negatives_in_batches, select
from relevance_audit.judgements import (
    corrected,
    named,
    read_parquet,
    read_qrels,
    recompute,
    write_parquet,
    write_qrels,
)
from relevance_audit.judges import judge_advice, judge_agreement, judges_choices
from relevance_audit.labeller import Labeller
from relevance_audit.labels import LABELS, Decision, Labels, judged
from relevance_audit.models import (
    NCS,
    as_records,
    binary_recall,
    by_batch_size,
    by_labels_and_truth,
    callers,
    candidates_of,
    correlation_table,
    correlations,
    direction_of,
    joined,
    judge,
    kinds_of_relevance,
    kinds_shown,
    labels_of,
    measure,
    rated_pairs,
    recall_by_size,
    relevant_pairs,
    scores_of,
    shown,
    values_of,
)
from relevance_audit.plots import before_and_after, shares_by_batch_size

__all__ = [
    "LABELS",
    "NCS",
    "TRUTH",
    "Decision",
    "Labeller",
    "Labels",
    "as_records",
    "before_and_after",
    "binary_recall",
    "by_batch_size",
    "by_labels_and_truth",
    "callers",
    "candidates",
    "candidates_of",
    "corrected",
    "correlation_table",
    "correlations",
    "direction_of",
    "false_negatives_in_batches",
    "joined",
    "judge",
    "judge_advice",
    "judge_agreement",
    "judged",
    "judges_choices",
    "kinds_of_relevance",
    "kinds_shown",
    "labels_of",
    "measure",
    "named",
    "order_agreement",
    "order_differences",
    "per_query",
    "pooled",
    "rated_pairs",
    "read_parquet",
    "read_qrels",
    "recall_by_size",
    "recompute",
    "relevant_pairs",
    "scores_of",
    "select",
    "shares_by_batch_size",
    "shown",
    "true_share",
    "values_of",
    "write_parquet",
    "write_qrels",
]
