"""The false-negative audit: errors that other judgements call right, what people decide about them, and
what that does to the metrics.

``candidates`` and ``select_candidates`` find the errors, ``Labels`` keeps what annotators decide, and
``Labeller`` is the view in which they decide it. ``judgements_named`` looks judgements up,
``corrected_judgements`` turns labels into judgements, ``recompute_metrics`` measures everything anew,
``write_qrels`` and ``write_parquet`` pass them on.
``false_negatives_in_batches`` counts the same thing where it does harm first: among the negatives of
training. ``judge_advice`` says which judge to take, ``judge_agreement`` why, and ``choices_by_judge`` which
objective each would choose. ``order_agreement`` and its like hold metrics against the truth, and ``models``
has what the notebooks measure of several models.
"""

from relevance_audit.agreement import (
    TRUTH,
    order_agreement,
    order_differences,
    pooled_judgements,
    true_share,
    values_per_query,
)
from relevance_audit.false_negatives import candidates, false_negatives_in_batches, select_candidates
from relevance_audit.judgements import (
    corrected_judgements,
    judgements_named,
    read_parquet,
    read_qrels,
    recompute_metrics,
    write_parquet,
    write_qrels,
)
from relevance_audit.judges import choices_by_judge, judge_advice, judge_agreement
from relevance_audit.labeller import Labeller
from relevance_audit.labels import LABELS, Decision, Labels, judgement_labels
from relevance_audit.models import (
    NCS,
    as_records,
    batch_size_tables,
    binary_recall,
    by_labels_and_truth,
    candidates_of,
    chosen_numbers,
    correlation_table,
    correlations,
    count_callers,
    direction_of,
    join_measured,
    judge,
    kinds_of_relevance,
    labels_of,
    measure,
    rated_pairs,
    recall_by_size,
    relevant_pairs,
    scores_of,
    shown_kinds,
    values_of,
)
from relevance_audit.plots import draw_before_and_after, shares_by_batch_size

__all__ = [
    "LABELS",
    "NCS",
    "TRUTH",
    "Decision",
    "Labeller",
    "Labels",
    "as_records",
    "batch_size_tables",
    "binary_recall",
    "by_labels_and_truth",
    "candidates",
    "candidates_of",
    "choices_by_judge",
    "chosen_numbers",
    "corrected_judgements",
    "correlation_table",
    "correlations",
    "count_callers",
    "direction_of",
    "draw_before_and_after",
    "false_negatives_in_batches",
    "join_measured",
    "judge",
    "judge_advice",
    "judge_agreement",
    "judgement_labels",
    "judgements_named",
    "kinds_of_relevance",
    "labels_of",
    "measure",
    "order_agreement",
    "order_differences",
    "pooled_judgements",
    "rated_pairs",
    "read_parquet",
    "read_qrels",
    "recall_by_size",
    "recompute_metrics",
    "relevant_pairs",
    "scores_of",
    "select_candidates",
    "shares_by_batch_size",
    "shown_kinds",
    "true_share",
    "values_of",
    "values_per_query",
    "write_parquet",
    "write_qrels",
]
