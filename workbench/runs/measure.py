"""Every number of scores on a split: which metrics its judgements allow, walked in one order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workbench import metrics as registry
from workbench import text as signals
from workbench.formatting import format_count
from workbench.metrics import calibration, correlation, cxc, space
from workbench.metrics.blocks import AnyScores, at_pairs, products
from workbench.metrics.categories import Categories, category_presence
from workbench.metrics.counterfactual_accuracy import counterfactual_accuracies
from workbench.metrics.evaluation import Columns, Evidence, Subset, walk
from workbench.metrics.evaluation import evaluate as measured
from workbench.metrics.intervals import ROUNDS
from workbench.metrics.ranks import Best, Ranked, Ranks
from workbench.metrics.registry import Metric
from workbench.progress import Task
from workbench.records import Array, Embedding, Judgements, Measurement, MetricKey, Split, Values, require
from workbench.records.metric_key import densest_judgements
from workbench.registry import require_known
from workbench.runs.declared import measure_declared
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.model import Model, Say, silent
from workbench.runs.resolve import choosing_metric
from workbench.runs.scoring import score_split
from workbench.text.descriptiveness import score_pool
from workbench.text.words import words
from workbench.training.batches import Source

# what says which captions are positive in Crisscrossed Captions: the pairs of the package eccv-caption, and
# the ratings
CXC = ("cxc", "sits")
# items of every query that a run keeps
BEST = 10


def calibrate(model: TrainedModel, source: Source) -> None:
    """Let the objective choose on the validation split what it chooses there, by RSUM."""
    if not model.objective.calibrates:
        return
    own = source.split.judgements["own"]
    image, text = (side.in_float32(model.device) for side in model.embed(source))

    def rsum(scores: Tensor) -> float:
        return measured(Evidence(scores.float().cpu().numpy(), own), ["rsum"], rounds=0)[0].value

    with torch.no_grad():
        model.objective.calibrate(image, text, rsum)


class NotMeasuredError(ValueError):
    """A split has no such number; the message names near ones that it has."""


def validate(
    model: TrainedModel, source: Source, select: str, metrics: Sequence[str] = ()
) -> dict[str, float]:
    """Compute RSUM on the validation split, in [0, 6], and the number by which the best epoch is chosen.

    Args:
        model: encoders and objective, as they are.
        source: the validation split.
        select: key of the number that chooses.
        metrics: names of metrics beyond those of the registry.

    Raises:
        NotMeasuredError: the split has no such number.
    """
    image, text = model.embed(source)
    scores, split = score_split(model, image, text), source.split
    key = MetricKey.parse(select)
    walked = partial(evaluate_split, scores, vectors=(image.mean.numpy(), text.mean.numpy()), rounds=0)
    # judgements that nobody asks for cost a pass over all pairs
    needed = {name: split.judgements[name] for name in split.judgements if name in ("own", key.judgements)}
    table = [row() for row in dict.fromkeys((registry.member("rsum"), choosing_metric(select, metrics)))]
    measurements = walked(replace(split, judgements=needed), table=table)[0]
    values = {m.label: m.value for m in measurements if m.label in ("rsum", select)}
    if select not in values:
        every = dict.fromkeys(m.label for m in walked(split, metrics=metrics)[0])
        require_known(f"select: {split.name} has no number", select, every, NotMeasuredError)
    return values


def measure(
    model: Model, split: Split, image: Embedding, text: Embedding, *, say: Say = silent, **how: Any
) -> tuple[list[Measurement], dict[str, Values], dict[str, Best]]:
    """Return all metrics that the split's judgements allow, of a model.

    Args:
        model: scores the embeddings.
        split: whose images and captions they are.
        image: embeddings of the images.
        text: embeddings of the captions.
        say: is told what re-ranking costs.
        how: ``metrics``, ``strict``, ``judge`` and ``rounds``, as ``evaluate_split`` takes them.

    Returns:
        The two that ``evaluate_split`` returns, and by direction the scores and rows of the ``BEST`` best
        items of every query.
    """
    ranked = Ranked(score_split(model, image, text, say=say), list(split.judgements.values()), BEST)
    # products of other vectors say nothing of two images, or of two captions
    vectors = (image.mean.numpy(), text.mean.numpy()) if model.of_unit_length and not model.directed else None
    measurements, values = evaluate_split(ranked, split, vectors=vectors, **how)
    return measurements, values, ranked.best


def evaluate_split(
    scores: AnyScores | Ranked,
    split: Split,
    *,
    vectors: tuple[Array, Array] | None = None,
    metrics: Sequence[str] = (),
    strict: bool = True,
    table: Sequence[Metric] = (),
    judge: str = "",
    rounds: int = ROUNDS,
) -> tuple[list[Measurement], dict[str, Values]]:
    """Return all metrics that the split's judgements allow, of any scores: a walk over the table of metrics.

    One pass a direction ranks by all judgements. A split with folds is measured in these smaller galleries as
    well, marked ``[5 folds]``; Crisscrossed Captions in two directions, in four where vectors are given, and
    by the correlations with its ratings. A split with a benchmark is measured by the scores that this
    declares and by nothing else.

    Args:
        scores: ``(I, T)``, larger = more alike; a matrix, or rows made when they are asked for; or what was
            ranked already by all judgements of the split.
        split: whose images and captions are scored.
        vectors: ``(I, D)`` and ``(T, D)`` unit vectors of images and of captions, for judgements of pairs of
            one kind.
        metrics: names of metrics beyond those that every evaluation measures, from the registry or as
            ``"my_module:MyMetric"``.
        strict: refuse a metric that the split has nothing for; else it is left out.
        table: measure these alone; empty = those that every evaluation measures.
        judge: member of the text registry that grades the split's captions against its images; the metrics
            that ``metrics`` names and that read grades are measured by it as well, with each query's own
            items in the lists and without. Empty = none.
        rounds: bootstrap rounds of the intervals; 0 = none.

    Returns:
        Every number with its contract; and text of the key -> ``(queries,)`` the values that the number is
        made of, NaN for a query that does not count; of a sum over directions those of the images and then
        those of the captions.

    Raises:
        KeyError: no such metric. ValueError: the split has nothing that an asked metric is measured by.
    """
    if split.benchmark is not None:
        all_scores = scores.scores if isinstance(scores, Ranked) else scores
        return measure_declared(all_scores, split, vectors, [*metrics, *filter(None, [judge])], rounds)
    densest = densest_judgements(split.judgements)
    usual, more = _choose_metrics(metrics, densest)
    table = table or usual + more
    ranked = scores if isinstance(scores, Ranked) else Ranked(scores, list(split.judgements.values()))
    scores = ranked.scores
    pairs, graded = list[tuple[Measurement, Values]](), [metric for metric in more if "graded" in metric.by]
    with Task(f"measuring {split.name}") as task:
        for evidence, chosen, subset in _evidence_to_walk(ranked, split, vectors, table):
            for pair in walk(evidence, chosen, subset=subset, rounds=rounds):
                pairs.append(pair)
                task.update(detail=f"{format_count(len(pairs), 'number')} so far")
        for evidence in _judged_evidence(scores, split, judge) if judge and graded else ():
            pairs += walk(evidence, graded, rounds=rounds)
    binding = [metric for metric in table if "counterfactuals" in metric.by]
    false_captions = split.counterfactuals
    pairs += counterfactual_accuracies(scores, false_captions, split.own, metrics=binding, rounds=rounds)
    measurements = [m for m, _ in pairs]
    spatial = [metric for metric in table if metric.requires == "space"]
    measurements += space.space_numbers(ranked, split.own, vectors, spatial, rounds=rounds)
    dense = split.judgements[densest]
    measurements += calibration.calibrations(scores, dense, split.own, table, rounds=rounds)
    rated = [metric for metric in table if "rated" in metric.by]
    measurements += _measure_correlations(scores, split, vectors, rated, rounds)
    if strict:
        _require_measured(more, usual, measurements, split)
    return measurements, {m.label: values for m, values in pairs}


def _choose_metrics(names: Sequence[str], densest: str) -> tuple[list[Metric], list[Metric]]:
    """Return the metrics that every evaluation measures, and those that are asked for.

    Args:
        names: of the latter.
        densest: judgements that say most about all pairs.
    """
    more = [registry.load(name) for name in names]
    named = {(metric.name, metric.by) for metric in more}
    usual = [
        metric()
        for metric in registry.all_metrics().values()
        if metric.default and (metric.name, metric.by) not in named
    ]
    # the truth has parts where it is more than the annotated pairs
    if densest == "own":
        usual = [metric for metric in usual if not {"densest", "any"} & set(metric.by)]
    return usual, more


def _require_measured(
    asked: Sequence[Metric], usual: Sequence[Metric], measurements: Sequence[Measurement], split: Split
) -> None:
    """Raise if a metric that was asked for has no number."""
    known = {(m.key.metric, m.key.judgements) for m in measurements}
    for metric in asked:
        # another metric of this name is measured by other judgements
        shared = any(other.name == metric.name for other in usual)
        places = {judgements for name, judgements in known if name == metric.name}
        by, has = " or ".join(metric.by), ", ".join(split.judgements)
        require(
            places & set(metric.by) if shared else places,
            f"metric {metric.name!r} is measured by {by}, and {split.name} has only the judgements {has}",
        )


def _evidence_to_walk(
    ranked: Ranked, split: Split, vectors: tuple[Array, Array] | None, table: Sequence[Metric]
) -> Iterator[tuple[Evidence, list[Metric], Subset | None]]:
    """Yield evidence, the metrics that are measured by it, and the queries that are asked."""
    judgements, scores = dict(split.judgements), ranked.scores
    labels = judgements["own"]

    def metrics_by(*by: str) -> list[Metric]:
        return [metric for metric in table if set(by) & set(metric.by)]

    yield Evidence(scores, labels, split.own, ranked=ranked), metrics_by("own"), None
    if split.folds > 1:
        yield Evidence(scores, labels, split.own, folds=split.folds), metrics_by("own"), None
    for name, judged in judgements.items():
        evidence = Evidence(scores, judged, split.own, labels, ranked=ranked)
        if name in CXC:
            within = _ranks_within_sides(split, vectors)
            crossed = Evidence(scores, judged, split.own, name=cxc.NAME, ranked=ranked, within=within)
            yield crossed, metrics_by(cxc.NAME), None
        if name not in ("own", cxc.NAME):
            graded = ["graded"] if len(np.unique(judged.grades)) > 1 else []
            yield evidence, metrics_by("others", name, *graded), None
        if name == "exact" and split.level is not None:
            specific = Subset("most specific", captions=split.level == split.level.max(), directions=("t2i",))
            yield evidence, metrics_by(name), specific
    dense = judgements[densest_judgements(judgements)]
    parted = Evidence(scores, dense, split.own, labels, ranked=ranked, columns=columns_of(split))
    yield parted, metrics_by("densest"), None
    if split.image_graphs is not None and metrics_by("categories"):
        classes = category_presence([graph.objects for graph in split.image_graphs])
        yield Evidence(scores, Categories(classes, split.own), split.own), metrics_by("categories"), None


def columns_of(split: Split) -> Columns:
    """Return what the captions of a split have without any image."""
    makers: dict[str, Callable[[], Values]] = {
        "words": lambda: np.array([len(words(caption)) for caption in split.captions]),
        "descriptiveness": lambda: score_pool(split.captions)[1],
    }
    level = split.level
    if level is not None:
        makers = {"level": lambda: np.asarray(level), **makers}
    return Columns(makers)


def _judged_evidence(scores: AnyScores, split: Split, judge: str) -> Iterator[Evidence]:
    """Yield a judge's grades of the split, its captions being the references of their images."""
    pool = split.captions, split.own
    phi = signals.load(judge).fit(*pool).transform(*pool, images=len(split.image_ids))
    for folds in sorted({1, split.folds}):
        for without in (False, True):
            yield Evidence(scores, phi, split.own, name=judge, folds=folds, without_own=without)


def _ranks_within_sides(split: Split, vectors: tuple[Array, Array] | None) -> dict[str, Ranks]:
    """Return retrieval of Crisscrossed Captions within a modality, where its ratings and the vectors are
    there.
    """
    found: dict[str, Ranks] = {}
    if vectors is not None and "sis" in split.image_judgements:
        images = cxc.ranks_within(products(vectors[0], vectors[0]), split.image_judgements["sis"])
        # a small part of the split may have no pair of images that is positive
        found |= {"i2i": images} if images.counts.any() else {}
    if vectors is not None and "sts" in split.caption_judgements:
        rated = split.caption_judgements["sts"]
        found["t2t"] = cxc.ranks_within(products(vectors[1], vectors[1]), rated, split.own)
    return found


def _measure_correlations(
    scores: AnyScores,
    split: Split,
    vectors: tuple[Array, Array] | None,
    metrics: Sequence[Metric],
    rounds: int,
) -> list[Measurement]:
    """Return agreement with ratings that list what was rated and leave the rest open; one that is undefined
    is left out.
    """
    rated: list[tuple[Array, Judgements, tuple[str, ...]]] = []
    for judged in split.judgements.values():
        if judged.unlisted is None:
            rated.append((at_pairs(scores, judged.images, judged.captions), judged, ("i2t", "t2i")))
    if vectors is not None:
        images, captions = vectors
        for judged in split.image_judgements.values():
            rated.append((_scores_of_rated_pairs(images, judged), judged, ("i2i",)))
        for judged in split.caption_judgements.values():
            rated.append((_scores_of_rated_pairs(captions, judged), judged, ("t2t",)))
    measurements: list[Measurement] = []
    for values, judged, ways in rated:
        if len(judged.grades):
            measurements += correlation.correlations(
                values, judged, split.own, directions=ways, metrics=metrics, rounds=rounds
            )
    return [m for m in measurements if not np.isnan(m.value)]


def _scores_of_rated_pairs(vectors: Array, judged: Judgements) -> Array:
    """Return scores of the rated pairs of one side, by its vectors."""
    first, second = vectors[judged.images], vectors[judged.captions]
    scores: Array = np.einsum("nd,nd->n", first, second, dtype=np.float64)
    return scores
