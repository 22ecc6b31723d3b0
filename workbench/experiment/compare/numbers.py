"""Numbers of several open runs on the same queries, with intervals, and each run against the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench import metrics
from workbench.experiment.opened import OpenRun
from workbench.metrics import comparison
from workbench.metrics.ranks import Direction, Ranks, both
from workbench.records import Measurement, MetricKey, Rows, Split, densest

Values = NDArray[np.float64]
WHOLE: dict[str, tuple[Callable[[Ranks], Values], str]] = {
    "map_at_r": (
        metrics.load("map_at_r").per_query,
        "precision at each relevant item among the R best, summed and divided by R",
    ),
    "r_precision": (metrics.load("r_precision").per_query, "share of relevant items among the R best"),
}
AT_K: dict[str, tuple[Callable[[Ranks, int], Values], str]] = {
    "R": (metrics.load("R").per_query, "at least one relevant item among the {} best"),
    "recall": (metrics.load("recall").per_query, "share of the relevant items among the {} best"),
}
RSUM = "sum of the hit rates at 1, 5 and 10 of both directions, image by image"


def default_keys(split: Split) -> list[str]:
    """RSUM and R@1 by the split's own pairs, and mAP@R by the densest judgements that it has.

    Args:
        split: with judgements.
    """
    dense = densest(split.judgements)
    return [
        "rsum",
        "i2t/R@1",
        "t2i/R@1",
        *([f"{dense}:{d}/map_at_r" for d in ("i2t", "t2i")] if dense != "own" else []),
    ]


def per_query(space: OpenRun, keys: Sequence[str]) -> dict[str, Values]:
    """One value a query for each number.

    Args:
        space: an open run.
        keys: ``rsum`` (a value an image) or ``[judgements:]direction/metric`` with the metrics ``R@K``,
            ``recall@K``, ``map_at_r`` and ``r_precision``, e.g. ``"t2i/R@1"``, ``"exact:i2t/map_at_r"``.

    Returns:
        Key -> ``(queries,)``, NaN where a query has nothing relevant.

    Raises:
        KeyError: judgements that the split does not have, or a metric that is none of these.
    """
    parsed = {key: _parsed(key, space.split) for key in keys}
    ranked = {
        name: both(space.scores, space.split.judgements[name])
        for name in {name for name, _, _ in parsed.values()}
    }
    return {
        key: _values(ranked[name], direction, metric, space.split.own)
        for key, (name, direction, metric) in parsed.items()
    }


def _parsed(key: str, split: Split) -> tuple[str, str, str]:
    """Judgements, direction and metric of a key."""
    name, colon, rest = key.rpartition(":")
    name = name if colon else "own"
    direction, _, metric = rest.partition("/")
    stem, _, k = metric.partition("@")
    if name not in split.judgements:
        raise KeyError(f"{key}: the split has no judgements {name!r}; it has {', '.join(split.judgements)}")
    known = rest == "rsum" or (
        direction in ("i2t", "t2i") and (metric in WHOLE or (stem in AT_K and k.isdigit()))
    )
    if not known:
        raise KeyError(
            f"no number {key!r}; there are rsum, and i2t/ or t2i/ with R@K, recall@K, {', '.join(WHOLE)}"
        )
    return name, direction, metric


def _values(ranked: Mapping[Direction, Ranks], direction: str, metric: str, own: Rows) -> Values:
    if direction == "rsum":
        return comparison.rsum_by_image(ranked["i2t"].first, ranked["t2i"].first, own)
    found = ranked["i2t" if direction == "i2t" else "t2i"]
    stem, _, k = metric.partition("@")
    return WHOLE[metric][0](found) if metric in WHOLE else AT_K[stem][0](found, int(k))


def _groups(keys: Sequence[str], split: Split) -> dict[str, Rows]:
    """Captions are drawn by image: five captions of one image are no five independent queries."""
    return {key: split.own for key in keys if "t2i/" in key}


def measured(
    values: Mapping[str, Values], split: Split, *, rounds: int = 2000, seed: int = 0
) -> list[Measurement]:
    """The numbers of one run with bootstrap intervals; whole images are drawn, each with all its captions.

    Args:
        values: what ``per_query`` gave.
        split: that was measured on.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.
    """
    rng, out = np.random.default_rng(seed), []
    for key, column in values.items():
        name, direction, metric = _parsed(key, split)
        stem, _, k = metric.partition("@")
        hit = (
            RSUM if direction == "rsum" else WHOLE[metric][1] if metric in WHOLE else AT_K[stem][1].format(k)
        )
        sizes = {
            "i2t": len(split.captions),
            "t2i": len(split.image_ids),
            "rsum": len(split.image_ids) + len(split.captions),
        }
        contract = Measurement(MetricKey.parse(key), 0.0, gallery=sizes[direction])
        estimate = comparison.paired_bootstrap(column, rounds, rng, _groups([key], split).get(key))
        out.append(estimate.report(contract, contract.key, hit))
    return out


def table(
    spaces: Sequence[OpenRun], keys: Sequence[str], *, rounds: int = 2000, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All runs in one table, and each against the first.

    Args:
        spaces: open runs of one split.
        keys: see ``per_query``.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Returns:
        One row a run and number, with its contract, indexed by run and label; and one row a difference, with
        the fields of ``comparison.Difference`` and ``told_apart``.
    """
    split = spaces[0].split
    found = {space.name: per_query(space, keys) for space in spaces}
    numbers = [
        {"run": name, "label": m.label, **m.as_dict()}
        for name, values in found.items()
        for m in measured(values, split, rounds=rounds, seed=seed)
    ]
    by_key = {key: {name: values[key] for name, values in found.items()} for key in keys}
    told = comparison.measure(by_key, spaces[0].name, groups=_groups(keys, split), rounds=rounds, seed=seed)
    differences = pd.DataFrame([{**asdict(one), "told_apart": one.told_apart} for one in told])
    return pd.DataFrame(numbers).set_index(["run", "label"]), differences
