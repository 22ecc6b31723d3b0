"""Several open runs on the same queries: numbers with intervals, paired tests, the queries on which they differ."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from workbench import published
from workbench.metrics import comparison, ranking, recall
from workbench.metrics._ranks import Direction, Ranks, both
from workbench.records import LazyJudgements, Measurement, Rows, Split
from workbench.space import Space

Values = NDArray[np.float64]
WHOLE: dict[str, tuple[Callable[[Ranks], Values], str]] = {
    "map_at_r": (ranking.map_at_r, "precision at each relevant item among the R best, summed and divided by R"),
    "r_precision": (ranking.r_precision, "share of relevant items among the R best"),
}
AT_K: dict[str, tuple[Callable[[Ranks, int], Values], str]] = {
    "R": (recall.hit_at_k, "at least one relevant item among the {} best"),
    "recall": (recall.recall_at_k, "share of the relevant items among the {} best"),
}
RSUM = "sum of the hit rates at 1, 5 and 10 of both directions, image by image"


def default_keys(split: Split) -> list[str]:
    """RSUM and R@1 by the split's own pairs, and mAP@R by the densest judgements that it has.

    Args:
        split: with judgements.
    """
    dense = next((name for name in ("exact", "eccv_caption", "human") if name in split.judgements), None)
    return ["rsum", "i2t/R@1", "t2i/R@1", *([f"{dense}:{d}/map_at_r" for d in ("i2t", "t2i")] if dense else [])]


def per_query(space: Space, keys: Sequence[str]) -> dict[str, Values]:
    """One value a query for each number.

    Args:
        space: an open run.
        keys: ``rsum`` (a value an image) or ``[judgements:]direction/metric`` with the metrics ``R@K``, ``recall@K``,
            ``map_at_r`` and ``r_precision``, e.g. ``"t2i/R@1"``, ``"exact:i2t/map_at_r"``.

    Returns:
        Key -> ``(queries,)``, NaN where a query has nothing relevant.

    Raises:
        KeyError: judgements that the split does not have, or a metric that is none of these.
    """
    parsed = {key: _parsed(key, space.split) for key in keys}
    ranked = {name: both(space.scores, space.split.judgements[name]) for name in {name for name, _, _ in parsed.values()}}
    return {key: _values(ranked[name], direction, metric, space.split.own) for key, (name, direction, metric) in parsed.items()}


def _parsed(key: str, split: Split) -> tuple[str, str, str]:
    """Judgements, direction and metric of a key."""
    name, colon, rest = key.rpartition(":")
    name = name if colon else "own"
    direction, _, metric = rest.partition("/")
    stem, _, k = metric.partition("@")
    if name not in split.judgements:
        raise KeyError(f"{key}: the split has no judgements {name!r}; it has {', '.join(split.judgements)}")
    known = rest == "rsum" or (direction in ("i2t", "t2i") and (metric in WHOLE or (stem in AT_K and k.isdigit())))
    if not known:
        raise KeyError(f"no number {key!r}; there are rsum, and i2t/ or t2i/ with R@K, recall@K, {', '.join(WHOLE)}")
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


def measured(values: Mapping[str, Values], split: Split, *, rounds: int = 2000, seed: int = 0) -> list[Measurement]:
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
        hit = RSUM if direction == "rsum" else WHOLE[metric][1] if metric in WHOLE else AT_K[stem][1].format(k)
        sizes = {"i2t": len(split.captions), "t2i": len(split.image_ids), "rsum": len(split.image_ids) + len(split.captions)}
        contract = Measurement("", 0.0, judgements=name, gallery=sizes[direction])
        estimate = comparison.paired_bootstrap(column, rounds, rng, _groups([key], split).get(key))
        out.append(estimate.report(contract, key.rpartition(":")[2], hit))
    return out


def table(
    spaces: Sequence[Space], keys: Sequence[str], *, rounds: int = 2000, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All runs in one table, and each against the first.

    Args:
        spaces: open runs of one split.
        keys: see ``per_query``.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Returns:
        One row a run and number, with its contract, indexed by run and label; and one row a difference, with the fields of
        ``comparison.Difference`` and ``told_apart``.
    """
    split = spaces[0].split
    found = {space.name: per_query(space, keys) for space in spaces}
    numbers = [
        {"run": name, "label": m.label, **asdict(m)}
        for name, values in found.items()
        for m in measured(values, split, rounds=rounds, seed=seed)
    ]
    by_key = {key: {name: values[key] for name, values in found.items()} for key in keys}
    told = comparison.measure(by_key, spaces[0].name, groups=_groups(keys, split), rounds=rounds, seed=seed)
    differences = pd.DataFrame([{**asdict(one), "told_apart": one.told_apart} for one in told])
    return pd.DataFrame(numbers).set_index(["run", "label"]), differences


def ranks(spaces: Sequence[Space], direction: Literal["i2t", "t2i"]) -> Values:
    """``(runs, queries)`` rank of each query's best own item.

    Args:
        spaces: open runs of one split.
        direction: image to text or text to image.
    """
    return np.stack([both(space.scores, space.split.judgements["own"])[direction].first for space in spaces])


def chosen(
    ranked: Values, split: Split, direction: Literal["i2t", "t2i"], asked: Sequence[str], count: int
) -> list[tuple[str, int]]:
    """The queries to show: those asked for by id, then those on which the runs differ most, one an image.

    Args:
        ranked: ``(runs, queries)`` from ``ranks``.
        split: that was measured on.
        direction: whether images or captions are the queries.
        asked: ids of images or captions; those of the other kind are passed over.
        count: how many on which the runs differ.

    Returns:
        Pairs of the reason and the query row.

    Raises:
        KeyError: an id that is neither an image's nor a caption's.
    """
    ids = split.image_ids if direction == "i2t" else split.caption_ids
    known = {*split.image_ids, *split.caption_ids}
    for one in asked:
        if one not in known:
            near = difflib.get_close_matches(one, sorted(known), n=3) or [*split.image_ids[:2], *split.caption_ids[:2]]
            raise KeyError(f"no image or caption {one!r} in {split.name}; there is {', '.join(near)}")
    given = [("asked for", ids.index(one)) for one in asked if one in ids]
    groups = split.own if direction == "t2i" else None
    most = comparison.most_different(ranked, count, groups)
    spread = [f"the runs differ: ranks {ranked[:, row].min():.0f} to {ranked[:, row].max():.0f}" for row in most]
    return given + list(zip(spread, most, strict=True))


def grader(split: Split) -> Callable[[Rows, Rows], NDArray[np.float32]] | None:
    """What grades any image and caption of a split between 0 and 1, where its data know; else ``None``."""
    name = next((name for name in ("graded", "exact") if name in split.judgements), None)
    if name is None:
        return None
    judged = split.judgements
    return judged.relevance(name).take if isinstance(judged, LazyJudgements) else judged[name].take


def noisy(space: Space, amount: float, *, name: str, seed: int = 0) -> Space:
    """The same model with random numbers added to its vectors: a baseline that is known to be worse.

    Args:
        space: an open run whose scores read the mean vectors alone.
        amount: length of what is added to each vector of length 1; 0 changes nothing.
        name: of the baseline.
        seed: of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)

    def blurred(mean: torch.Tensor) -> torch.Tensor:
        added = torch.nn.functional.normalize(torch.randn(mean.shape, generator=generator), dim=1)
        return torch.nn.functional.normalize(mean + amount * added, dim=1)

    image, text = (replace(one, mean=blurred(one.mean)) for one in (space.image, space.text))
    return replace(space, name=name, image=image, text=text, folder=None)


def beside_printed(spaces: Sequence[Space], rows: pd.DataFrame) -> dict[str, list[str]]:
    """One's own runs above the papers' rows, in percent, with what is to be said beside each.

    Args:
        spaces: open runs of one split; one gallery, no folds.
        rows: what ``published.load`` gave.

    Returns:
        Columns of texts: ``paper``, ``group``, ``method``, one for each metric, ``beside``. A number that is not known is empty;
        R@K and RSUM are known of one's own runs.
    """
    wide = published.wide(rows)
    labels = {metric: published.LABELS.get(metric, metric) for metric in wide.columns}
    keys = [label for label in labels.values() if label == "rsum" or label.startswith(("i2t/R@", "t2i/R@"))]
    own = [{key: 100 * column.mean() for key, column in per_query(space, keys).items()} for space in spaces]
    notes = published.beside(rows)
    numbers = {
        label: [_percent(found.get(label)) for found in own] + [_percent(value) for value in wide[metric]]
        for metric, label in labels.items()
    }
    about = list(zip(*wide.index, strict=True))
    heads = {"paper": ["measured here"] * len(own) + [f"{p}, table {t}" for p, t in zip(about[0], about[1], strict=True)]}
    heads |= {"group": [""] * len(own) + list(about[4]), "method": [space.name for space in spaces] + list(about[5])}
    return heads | numbers | {"beside": [""] * len(own) + [notes[key] for key in wide.index]}


def _percent(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.1f}"
