"""How far a cheaper metric lies from the truth when several models are put in order.

"The models are ordered by the truth, mAP@R with all that is relevant, over all queries. A metric is computed
again on resamples of the images, and Kendall's tau between its order and the truth's is the share of pairs
of models in the same order less the share in the opposite order; equal values count as neither." 1 = the same
order, -1 = the reversed one. The truth's own tau under resampling is the ceiling: where it is far from 1, the
models are too close together for any metric to order them. All metrics of one direction see the same
resamples.

``pooled_judgements`` builds labels as ECCV Caption did on photographs: some queries are asked, and positives
are looked for only among the items that a few models put first; here the truth answers in place of the
annotators.

Source: M. Kendall, A new measure of rank correlation, Biometrika 30, 1938; S. Chun et al., ECCV Caption, ECCV
2022 (pooling).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from workbench.metrics.blocks import AnyScores, RowScores, best_items, by_rows
from workbench.metrics.categories import Categories
from workbench.metrics.evaluation import Evidence, walk
from workbench.metrics.intervals import ROUNDS, SEED, Draws, percentile_interval
from workbench.metrics.ranks import Ranked
from workbench.metrics.registry import Metric, load
from workbench.records import Judgements, Mask, MetricKey, Rows, Values, require

TRUTH = str(MetricKey("map_at_r", judgements="truth"))
Table = Mapping[str, Mapping[str, Values]]


def pooled_judgements(
    truth: Judgements,
    own: Rows,
    pool: Sequence[AnyScores],
    *,
    depth: int = 5,
    images: float = 0.25,
    captions: float = 0.05,
    seed: int = 0,
) -> Judgements:
    """Return labels as ECCV Caption has them: few queries, and of each the positives that a pool of models
    found.

    Args:
        truth: answers whether a pooled pair is relevant.
        own: ``(T,)`` row of each caption's image; own pairs are positive without being asked.
        pool: ``(I, T)`` scores of the models that propose items.
        depth: items that each model proposes for a query.
        images: share of the images that are asked; ECCV Caption has 1,261 of 5,000.
        captions: share of the captions that are asked; ECCV Caption has 1,332 of 25,000.
        seed: of the choice of queries.
    """
    rng, shape = np.random.default_rng(seed), truth.shape
    sampled = []
    for n, share in zip(shape, (images, captions)):
        sampled.append(np.sort(rng.choice(n, max(1, round(share * n)), replace=False)))
    image_queries, caption_queries = sampled
    pairs = [own * np.int64(shape[1]) + np.arange(shape[1])]
    for scores in map(by_rows, pool):
        query, item = _best_pairs(scores, image_queries, depth)
        caption, image = _best_pairs(scores.T, caption_queries, depth)
        pairs += [query * shape[1] + item, image * shape[1] + caption]
    rows, columns = np.divmod(np.unique(np.concatenate(pairs)), shape[1])
    good = (truth.grades_at(rows, columns) >= truth.relevant_from) | (own[columns] == rows)
    found_by = f"relevant by {truth.name!r} and among the {depth} first of {len(pool)} models"
    rule = f"{found_by}, or the caption was written for the image"
    listed = rows[good], columns[good], np.ones(int(good.sum()), dtype=np.float32)
    pooled = Judgements("pooled", rule, shape, *listed, source=truth.source)
    return replace(pooled, image_queries=image_queries, caption_queries=caption_queries)


def _best_pairs(scores: RowScores, queries: Rows, depth: int) -> tuple[Rows, Rows]:
    """Return the best scored items of some queries, as pairs."""
    depth = min(depth, scores.shape[1])
    items = [best_items(scores.rows(slice(q, q + 1)), depth)[1][0] for q in queries.tolist()]
    return np.repeat(queries, [len(row) for row in items]), np.concatenate(items)


def true_share(phi: AnyScores, truth: Judgements, ms: Sequence[int]) -> dict[str, Values]:
    """Return which share of the m best items by phi ``(I, T)`` is truly relevant, for each of ``ms``: for
    ``"i2t"`` and ``"t2i"`` ``(len(ms),)`` means over queries. Equal phi counts against it.
    """
    out = {}
    for side, ranks in Ranked(by_rows(phi), [truth]).by(truth).items():
        hits = (np.bincount(ranks.query[ranks.rank <= m], minlength=len(ranks.counts)) / m for m in ms)
        out[side] = np.stack(list(hits), axis=1)[ranks.counts > 0].mean(axis=0)
    return out


def values_per_query(
    scores: AnyScores,
    own: Rows,
    truth: Judgements,
    *,
    labels: Judgements | None = None,
    phi: AnyScores | None = None,
    categories: Mask | None = None,
    ks: tuple[int, ...] = (1, 5, 10),
) -> dict[str, Values]:
    """Return what each metric says of each query of one model, by direction: ``truth:i2t/map_at_r``,
    ``i2t/R@1``, ``phi:i2t/ncs@1``, ...

    Args:
        scores: ``(I, T)``, larger = more alike.
        own: ``(T,)`` row of each caption's image: the labels of R@K.
        truth: which pairs are truly relevant.
        labels: incomplete labels, such as ``pooled_judgements``, for ``<name>:i2t/map_at_r``.
        phi: grades for NCS.
        categories: ``(I, C)`` of the images, for PMRP.
        ks: depths of R@K and NCS.

    Returns:
        ``(queries,)`` by key; NaN where a query does not count.
    """
    binary, rows = Judgements.from_own(own, truth.shape[0]), by_rows(scores)
    pairs: list[tuple[str, AnyScores, Metric]] = [("truth", truth, load("map_at_r"))]
    pairs.append(("own", binary, load("R", ks=ks)))
    ranked_by = [binary, truth]
    if labels:
        pairs.append((labels.name, labels, load("map_at_r")))
        ranked_by.append(labels)
    if phi is not None:
        pairs.append(("phi", phi, load("ncs", ks=ks)))
    if categories is not None:
        pairs.append(("categories", Categories(categories, own), load("pmrp")))
    ranked, out = Ranked(rows, ranked_by), dict[str, Values]()
    for name, judged, metric in pairs:
        evidence = Evidence(rows, judged, own, name=name, ranked=ranked)
        for measurement, values in walk(evidence, [metric], rounds=0):
            out[measurement.label] = values
    return dict(sorted(out.items(), key=lambda item: MetricKey.parse(item[0]).direction))


def order_agreement(
    table: Table, own: Rows, *, truth: str = TRUTH, rounds: int = ROUNDS, seed: int = SEED
) -> pd.DataFrame:
    """Return how well each metric puts the models into the truth's order.

    Args:
        table: model -> key -> ``(queries,)``, as ``values_per_query`` gives it; at least two models.
        own: ``(T,)`` row of each caption's image: images are drawn with all their captions.
        truth: the key, without direction, that decides.
        rounds: resamples of the images; 0 = no intervals and no shares.
        seed: of the resamples.

    Returns:
        One row a key: ``tau`` on all queries, its bootstrap interval ``low`` and ``high``, ``order`` = share
        of resamples with exactly the truth's order, ``best`` = share with the truth's best model alone on
        top, ``distance`` = mean over models of the value less the truth's, with its interval, and ``queries``
        that count.

    Raises:
        ValueError: fewer than two models.
    """
    require(len(table) >= 2, f"{len(table)} model has no order; give at least two")
    means = _means_by_key(table, Draws(own, int(own.max()) + 1, rounds, seed))
    rows = {}
    for key, (value, drawn, queries) in means.items():
        right, right_drawn, _ = means[_truth_key(key, truth)]
        taus, apart = _tau_by_round(drawn, right), (drawn - right_drawn).mean(axis=1)
        low, high = percentile_interval(taus)
        (near, far), top = percentile_interval(apart), int(right.argmax())
        alone_on_top = drawn[:, top] > np.delete(drawn, top, axis=1).max(axis=1)
        rows[key] = {"tau": float(_tau_by_round(value[None], right)[0]), "low": low, "high": high}
        rows[key] |= {
            "order": _share_of_hits(taus == _tau_by_round(right[None], right)),
            "best": _share_of_hits(alone_on_top),
        }
        rows[key] |= {"queries": queries, "distance": float((value - right).mean())}
        rows[key] |= {"distance_low": near, "distance_high": far}
    return pd.DataFrame.from_dict(rows, orient="index")


def order_differences(
    table: Table, own: Rows, *, truth: str = TRUTH, rounds: int = ROUNDS, seed: int = SEED
) -> pd.DataFrame:
    """Return differences between neighbours in the truth's order, better less worse, with paired intervals;
    for the arguments see ``order_agreement``.

    Returns:
        One row for each key and pair: ``key``, ``better``, ``worse``, ``difference``, ``low``, ``high``. By
            the
        truth it is at least 0; a metric whose interval lies below 0 contradicts it.
    """
    names, rows = list(table), []
    means = _means_by_key(table, Draws(own, int(own.max()) + 1, rounds, seed))
    for key, (value, drawn, _) in means.items():
        for better, worse in pairwise(np.argsort(-means[_truth_key(key, truth)][0], kind="stable").tolist()):
            low, high = percentile_interval(drawn[:, better] - drawn[:, worse])
            ends = {"difference": float(value[better] - value[worse]), "low": low, "high": high}
            rows.append({"key": key, "better": names[better], "worse": names[worse], **ends})
    return pd.DataFrame(rows)


def _means_by_key(table: Table, draws: Draws) -> dict[str, tuple[Values, Values, int]]:
    """Return, by key, ``(models,)`` means over the queries that count, ``(rounds, models)`` those of
    resamples, and how many count.
    """
    out = {}
    for key in next(iter(table.values())):
        values = np.stack([model[key] for model in table.values()], axis=1)
        known, direction = np.asarray(~np.isnan(values).any(axis=1)), MetricKey.parse(key).direction
        columns = np.where(known[:, None], values, np.nan).T
        means = np.array([draws.value(column, direction) for column in columns])
        drawn = np.stack([draws.resample(column, direction) for column in columns], axis=1)
        out[key] = (means, drawn, int(known.sum()))
    return out


def _truth_key(key: str, truth: str) -> str:
    """Return the truth's key in the direction of another key."""
    return str(replace(MetricKey.parse(truth), direction=MetricKey.parse(key).direction))


def _share_of_hits(hits: Mask) -> float:
    return float(hits.mean()) if len(hits) else float("nan")


def _tau_by_round(drawn: Values, right: Values) -> Values:
    """Return ``(rounds,)`` Kendall tau of rows of values with the truth's values."""
    first, second = np.array(list(combinations(range(len(right)), 2))).T
    ahead = np.sign(drawn[:, first] - drawn[:, second])
    return np.asarray((ahead * np.sign(right[first] - right[second])).mean(axis=1))
