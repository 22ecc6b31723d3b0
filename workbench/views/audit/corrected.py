"""Judgements corrected by labels, and what that does to every metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.metrics.intervals import ROUNDS, SEED
from workbench.metrics.table import Evidence, Metric, measure
from workbench.records import Judgements, Rows, Split
from workbench.views.audit.labels import INVALID, VALID, Pair

Scores = NDArray[Any]
MEASURED = ("R", "recall", "medr", "map_at_r", "r_precision", "rsum")


def corrected(
    base: Judgements, labels: Mapping[Pair, str], split: Split, *, name: str = "corrected"
) -> Judgements:
    """Judgements in which valid pairs are relevant and invalid ones are not; unsure ones stay as they were.

    Args:
        base: what was judged before, e.g. ``split.judgements["own"]``.
        labels: label of each pair of ids ``(image, caption)``, e.g. ``Labels.settled()``.
        split: whose ids they are.
        name: of the new judgements.

    Returns:
        The base's grades, except: a valid pair has at least the least relevant grade, an invalid one that was
        relevant, or that nobody had judged, has grade 0. Whoever is asked in the base is asked still.

    Raises:
        ValueError: an id is not in the split, or grade 0 would count as relevant.
    """
    if base.relevant_from <= 0:
        raise ValueError(
            f"judgements {base.name!r} call grade 0 relevant (from {base.relevant_from}), so none can be taken back"
        )
    said = [(pair, label) for pair, label in labels.items() if label in (VALID, INVALID)]
    images = rows_of([image for (image, _), _ in said], split.image_ids, "image")
    captions = rows_of([caption for (_, caption), _ in said], split.caption_ids, "caption")
    before = base.at(images, captions)
    valid = np.array([label == VALID for _, label in said], dtype=bool)
    right = before >= base.relevant_from
    grades = np.where(
        valid, np.where(right, before, base.relevant_from), np.where(right | np.isnan(before), 0.0, before)
    )
    keys, width = images * np.int64(base.shape[1]) + captions, np.int64(base.shape[1])
    kept = ~np.isin(base.images * width + base.captions, keys)
    rule = f"{base.rule}; corrected by labels: {valid.sum()} pairs valid, {(~valid).sum()} invalid"
    return replace(
        base,
        name=name,
        rule=rule,
        images=np.concatenate([base.images[kept], images]),
        captions=np.concatenate([base.captions[kept], captions]),
        grades=np.concatenate([base.grades[kept], grades.astype(np.float32)]),
        source=f"{base.source or base.name}, and labels",
    )


def rows_of(ids: Sequence[str], known: Sequence[str], kind: str) -> Rows:
    """The rows of ids.

    Args:
        ids: to be found.
        known: ids of a split, in order.
        kind: ``"image"`` or ``"caption"``, for the message.

    Raises:
        ValueError: an id is not among the known ones.
    """
    row = {one: number for number, one in enumerate(known)}
    missing = sorted({one for one in ids if one not in row})
    if missing:
        raise ValueError(
            f"{len(missing)} {kind} ids are not in the split of {len(known)}, e.g. {missing[0]!r}; "
            "load the split that was judged, with as many images"
        )
    return np.array([row[one] for one in ids], dtype=np.int64)


def recompute(
    scores: Mapping[str, Scores],
    judgements: Mapping[str, Judgements],
    own: Rows,
    *,
    metrics: Sequence[str | Metric] = MEASURED,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> pd.DataFrame:
    """Every metric of every run by each of several judgements.

    Args:
        scores: run -> ``(I, T)``.
        judgements: e.g. ``{"before": own, "after": corrected}``.
        own: ``(T,)`` row of each caption's image.
        metrics: of ranks, or their names.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Returns:
        Indexed by ``run`` and ``key``; for each judgement the columns ``(name, "value")``, ``(name, "low")``,
        ``(name, "high")``.

    Raises:
        ValueError: shapes differ, or no query has an answer.
    """
    rows = [
        {"run": run, "key": m.key.local, "judgements": name, "value": m.value, "low": m.low, "high": m.high}
        for run, matrix in scores.items()
        for name, one in judgements.items()
        for m in measure(Evidence(matrix, one, own, name="own"), metrics, rounds=rounds, seed=seed)
    ]
    table = pd.DataFrame(rows)
    order = pd.MultiIndex.from_frame(table[["run", "key"]].drop_duplicates())
    wide = table.pivot(index=["run", "key"], columns="judgements", values=["value", "low", "high"]).swaplevel(
        axis=1
    )
    return wide.loc[order, [(name, part) for name in judgements for part in ("value", "low", "high")]].astype(
        float
    )
