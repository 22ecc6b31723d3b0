"""What the notebooks on relevance measure of several models, one function a table or figure.

``scores`` is a model's ``(I, T)`` scores by the model's name.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relevance_audit.false_negatives import candidates, false_negatives_in_batches
from relevance_audit.judgements import judgements_named
from relevance_audit.labels import Labels, judgement_labels
from workbench import data, text
from workbench.formatting import format_count, format_number
from workbench.metrics import correlation, semantic
from workbench.metrics.blocks import AnyScores
from workbench.metrics.categories import category_presence
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.metrics.intervals import ROUNDS, SEED
from workbench.metrics.registry import Metric, load
from workbench.records import Array, Judgements, Mask, MetricKey, Rows, Split, Values, densest_judgements
from workbench.records.measurement import Measurement
from workbench.runs.result import Result
from workbench.text import Relevance
from workbench.text.tuple_f1 import TupleF1Relevance

Scores = Mapping[str, AnyScores]
Measured = dict[str, list[Measurement]]
Judges = Mapping[str, Mapping[str, Any]]
# NCS and its relatives, with the numbers for few relevant items
NCS = ("ncs", "nsum", "asp", *(row(m=m) for row, m in product(semantic.BY_SIZE, (1, 2, 3))))
TABLE = ("R@1", "R@5", "R@10", "r_precision", "map_at_r")
CIDER: Judges = {
    "CIDEr-D": {},
    "CIDEr-D, itself left out": {"leave_one_out": True},
    "CIDEr": {"variant": "cider"},
}


def judge(name: str, options: Mapping[str, Any], split: Split) -> Relevance:
    """Return what a registered judge of texts, fitted on the split's captions, says of every pair of it."""
    maker = text.load(name, **options).fit(split.captions, split.own)
    relevance: Relevance = maker.transform(split.captions, split.own)
    return relevance


def relevant_pairs(own: Judgements, true: Judgements, phi: Relevance) -> pd.DataFrame:
    """Return how many pairs the labels, the truth and the judge call relevant, in all and for a caption."""
    called = phi.judgements()
    counts = {"labels": len(own.grades)}
    counts[f"truth: {true.name}"] = int((true.grades >= true.relevant_from).sum())
    counts["phi above 0"] = int((phi.dense() > 0).sum())
    counts[f"phi at least {called.relevant_from}"] = len(called.grades)
    counts["all"] = int(np.prod(own.shape))
    rows = {
        name: (format_count(number), format_number(number / own.shape[1], 1))
        for name, number in counts.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["pairs", "of a caption"])


def scores_of(runs: Sequence[Result], noise: Sequence[float], seed: int) -> dict[str, Array]:
    """Return the scores of every run; of a single run also copies with noise, in their standard
    deviations.
    """
    rng, scores = np.random.default_rng(seed), {run.name: run.scores for run in runs}
    first = runs[0]
    for size in noise if len(runs) == 1 else ():
        drawn = rng.standard_normal(first.scores.shape, dtype=np.float32)
        scores[f"{first.name}, noise {size}"] = first.scores + size * first.scores.std() * drawn
    return scores


def recall_by_size(
    scores: Scores, phi: AnyScores, ms: Sequence[int], k: int, without: Rows | None = None
) -> tuple[dict[str, dict[str, Values]], dict[str, dict[str, Values]]]:
    """Return semantic Recall at k, and the share of queries with one of the m best among k, as
    ``semantic.recall_curves`` gives them; ``without`` takes the pairs of these image rows out.
    """
    curves = partial(semantic.recall_curves, phi=phi, ms=ms, k=k, without=without)
    recall = {name: curves(matrix, of=semantic.sr_top) for name, matrix in scores.items()}
    return recall, {name: curves(matrix, of=semantic.any_top) for name, matrix in scores.items()}


def binary_recall(scores: Scores, own: Judgements, k: int) -> dict[str, dict[str, float]]:
    """Return r@k by the labels of every model and direction."""
    metric = load("R", ks=(k,))
    recalls = {}
    for name, matrix in scores.items():
        measurements = evaluate(Evidence(matrix, own), [metric], rounds=0)
        recalls[name] = {m.key.direction: m.value for m in measurements if m.key.direction}
    return recalls


def measure(
    scores: Scores,
    judged: AnyScores,
    metrics: Sequence[str | Metric],
    *,
    rounds: int = ROUNDS,
    seed: int = SEED,
    **how: Any,
) -> Measured:
    """Return metrics of every model by the same judgements.

    Args:
        scores: by model.
        judged: grades of the pairs.
        metrics: metrics, or their names.
        rounds: of the intervals, see ``evaluate``.
        seed: of the intervals.
        how: fields of ``Evidence``.
    """
    return {
        name: evaluate(Evidence(matrix, judged, **how), metrics, rounds=rounds, seed=seed)
        for name, matrix in scores.items()
    }


def by_labels_and_truth(scores: Scores, own: Judgements, true: Judgements, rows: Rows) -> pd.DataFrame:
    """Return each metric by the labels and by the truth: columns ``(labels or truth, model)``."""
    metrics = ["R", "r_precision", "map_at_r"]
    by = {
        what: measure(scores, judged, metrics, own=rows, name="own", rounds=0)
        for what, judged in (("labels", own), ("truth", true))
    }
    columns = {}
    for name, what in product(scores, by):
        columns[what, name] = {m.label: m.value for m in by[what][name]}
    keys = [f"{side}/{metric}" for side, metric in product(("i2t", "t2i"), TABLE)]
    return pd.DataFrame(columns).loc[keys]


def chosen_numbers(measured: Measured, keys: Sequence[str]) -> Measured:
    """Return the numbers of every model with these keys, written without the judgements."""
    numbers = {}
    for name, several in measured.items():
        numbers[name] = [m for m in several if m.key.local in keys]
    return numbers


def join_measured(*measured: Measured) -> Measured:
    """Return the numbers of several measurements of the same models."""
    together: dict[str, list[Measurement]] = {name: [] for name in measured[0]}
    for part in measured:
        for name, numbers in together.items():
            numbers += part[name]
    return together


def rated_pairs(ratings: Judges, split: Split, seed: int) -> tuple[Split, Judgements]:
    """Return the data that somebody rated, and the ratings.

    Args:
        ratings: a data set and its ratings with options, ``{"cxc:sits": {}}``; empty takes the split's own
            grades. Where they grade all pairs, own pairs and three random others a caption are taken.
        split: the data without ``ratings``.
        seed: of the random others.
    """
    name = next(iter(ratings), "")
    source, _, grades = name.partition(":")
    rated = data.load(source, split="test", **ratings[name]) if name else split
    chosen = judgements_named(rated, grades or densest_judgements(rated.judgements, graded=True))
    if chosen.unlisted is None:
        return rated, chosen
    return rated, correlation.judged_sample(chosen, rated.own, 3, np.random.default_rng(seed))


def kinds_of_relevance(rated: Split, judges: Judges, runs: Sequence[Result]) -> dict[str, AnyScores]:
    """Return what is held against the ratings: the labels, three kinds of CIDEr, tuple F1 of the scene
    graphs, the other judges, and the scores of the runs on these images.
    """
    graphs = rated.caption_graphs or text.load("scene_graph").transform(rated.captions).graphs
    kinds: dict[str, AnyScores] = {"annotated pair": rated.judgements["own"]}
    kinds |= {title: judge("cider", options, rated) for title, options in CIDER.items()}
    kinds["tuple F1"] = TupleF1Relevance(graphs, graphs, rated.own)
    for name, options in judges.items():
        if (name, options) != ("cider", {}):
            title = " ".join([f"judge: {name}", *(f"{key}={value}" for key, value in options.items())])
            kinds[title] = judge(name, options, rated)
    own = [run for run in runs if run.split.image_ids == rated.image_ids]
    return kinds | {f"scores of {run.name}": run.scores for run in own}


def correlations(
    kinds: Mapping[str, AnyScores], judged: Judgements, own: Rows, *, rounds: int, seed: int
) -> Measured:
    """Return how far each kind of relevance agrees with ratings: Pearson, Spearman, tau-c, with intervals."""
    metrics: list[str | Metric] = ["pearson", "spearman", "spearman_half", correlation.TauC()]
    rounds = min(rounds, 200)
    numbers = {}
    for name, relevance in kinds.items():
        pairs = correlation.grades_at_pairs(relevance, judged)
        numbers[name] = correlation.correlations(
            pairs, judged, own, metrics=metrics, rounds=rounds, seed=seed
        )
    return numbers


def correlation_table(measured: Measured) -> pd.DataFrame:
    """Return the correlations as texts, with and without own pairs; a row for each kind of relevance."""
    keys = ("pearson", "spearman", "kendall_tau_c", str(MetricKey("spearman_half", "t2i")))
    ways = [*keys, *(f"{key}[without own]" for key in keys)]
    numbers = {}
    for name, several in chosen_numbers(measured, ways).items():
        numbers[name] = {m.key.local: m.value for m in several}
    texts = pd.DataFrame(numbers).T.map(format_number, na_action="ignore", digits=3)
    return texts.astype(object).fillna("not defined")


def shown_kinds(split: Split) -> Mask | None:
    """Return ``(I, C)`` which kinds of things each image shows, for PMRP; ``None`` where no graphs are
    known.
    """
    graphs = split.image_graphs
    return category_presence([graph.objects for graph in graphs]) if graphs else None


def direction_of(key: str) -> str:
    """Return the direction of a key, ``"t2i"`` or ``"i2t"``."""
    return str(MetricKey.parse(key).direction)


def candidates_of(runs: Sequence[Result], callers: Mapping[str, Judgements], k: int) -> pd.DataFrame:
    """Return the candidates among the k best of all runs, see ``candidates``."""
    tables = [candidates(run.scores, run.split, callers, k=k) for run in runs]
    return pd.concat(tables, ignore_index=True)


def count_callers(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many of some candidates are called right by whom, by direction; each pair counts once."""
    pairs = table.drop_duplicates(["direction", "image", "caption"])
    who = pairs.right_by.replace("", "nobody")
    return pairs.groupby(["direction", who]).size().unstack(fill_value=0)


def labels_of(labelled: Mapping[str, str], folder: Path, table: pd.DataFrame, truth: str) -> Labels:
    """Return the labels of an annotator, or those that the truth gives to all candidates in the place of one.

    Args:
        labelled: ``{"annotator": name, "file": path}``; empty lets the truth do it.
        folder: of the run, where the labels lie without a file.
        table: the candidates.
        truth: name of the judgements.
    """
    person = labelled.get("annotator", "")
    labels = Labels(labelled.get("file") or folder / "labels.json", person or f"truth: {truth}")
    if not person:
        labels.add_all(judgement_labels(table, truth))
    return labels


def batch_size_tables(
    runs: Sequence[Result], truth: Judgements, *, rounds: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Return the false negatives in twenty training batches of 8, 32, 128 and 512 captions, by run."""
    own = runs[0].split.own
    sizes = [size for size in (8, 32, 128, 512) if size <= len(own)]
    return {
        run.name: false_negatives_in_batches(
            own, truth, sizes, scores=run.scores, batches=20, rounds=rounds, seed=seed
        )
        for run in runs
    }


def as_records(tables: Mapping[str, pd.DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """Return tables by name as JSON values, without the columns that follow from the others."""
    return {
        name: table.drop(columns="expected").to_dict("records")  # type: ignore[misc]
        for name, table in tables.items()
    }


def values_of(changed: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the values that ``recompute`` found, by model and key, before and after."""
    rows = changed.xs("value", axis=1, level=1)
    return {f"{run} | {key}": row.to_dict() for (run, key), row in rows.iterrows()}  # type: ignore[misc]
