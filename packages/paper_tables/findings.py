"""What recorded comparisons over seeds say: columns of tables, and sentences computed from them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.formatting import (
    format_count,
    format_interval,
    format_number,
    format_value,
    unit_heading,
)
from workbench.metrics.seeds import compared_pairs, values_by_objective
from workbench.records.measurement import unit_of
from workbench.views.plots.theme import named_rows

SECONDS = "seconds"
VERDICTS = {1: "helps", -1: "harms", 0: "undecided"}


def describe_choices(choices: pd.DataFrame, truth: str) -> str:
    """Describe which objective each number would choose and what that costs by the truth.

    Args:
        choices: from ``metrics.seeds.choice_by_number``.
        truth: the key that is true.
    """
    best = choices.to_dict("index")[truth]
    others = choices.drop(index=truth)
    # of numbers that lose the same, those by annotated pairs first: they are what the field goes by
    prefixed = [":" in str(key) for key in others.index]
    by_loss = others.assign(prefixed=prefixed).sort_values(["lost", "prefixed"], ascending=[False, True])
    wrong = by_loss[by_loss["lost"] > 0]
    taus: Any = others["tau"].to_dict()
    losses = []
    for key, row in wrong.head(2).iterrows():
        choice = f"`{key}` would choose {row['chosen']}, with {format_value(row['truth'])} percent"
        losses.append(f"{choice}: a loss of {_format_points(row['lost'])} percentage points.")
    sentences = [f"The truth (`{truth}`) chooses {best['chosen']}: {format_value(best['truth'])} percent."]
    sentences += losses or ["Every other number chooses the same."]
    sentences.append(_describe_agreement(taus, best["among"]))
    return " ".join(filter(None, sentences))


def _describe_agreement(taus: Mapping[str, float], ways: int) -> str:
    """Describe which numbers order the ways of training most and least like the truth."""
    like, least = max(taus, key=taus.__getitem__), min(taus, key=taus.__getitem__)
    most, fewest = (format_value(taus[key], "correlation") for key in (like, least))
    return (
        f"Of all numbers, `{like}` orders the {ways} ways of training most like the truth "
        f"(Kendall's tau {most}). `{least}` orders them least like it ({fewest})."
    )


def _format_points(share: float) -> str:
    """Return percentage points, whole where they are many, so that they agree with rounded percentages."""
    return format_number(100 * share, 0) if share >= 0.1 else format_value(share)


def choice_columns(choices: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of a table of ``metrics.seeds.choice_by_number``, for ``tables.listing``."""
    taus = [format_value(tau, "correlation") for tau in choices["tau"]]
    truths = choices["truth"].map(format_value).tolist()
    return {
        "number": list(map(str, choices.index)),
        "would choose": choices["chosen"].tolist(),
        "Kendall's tau with the truth's order": taus,
        "truth of the chosen, percent": truths,
        "lost, percentage points": choices["lost"].map(format_value).tolist(),
    }


def objective_columns(measured: pd.DataFrame, keys: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of a table for ``tables.listing``: a mean with its interval for every objective and
    number.

    Args:
        measured: from ``metrics.seeds.seed_statistics``, under one more level of the index: which labels were
            positive.
        keys: the numbers, in the order of the columns.
    """
    statistics: dict[Any, Any] = measured.to_dict("index")
    rows = [(labels, name) for labels, number, name in statistics if number == keys[0]]
    columns = {"positives": [labels for labels, _ in rows], "objective": [name for _, name in rows]}
    for key in keys:
        cells = [statistics[labels, key, name] for labels, name in rows]
        if key == SECONDS:
            columns[key] = [format_number(cell["mean"], 0) for cell in cells]
            continue
        unit = unit_of(key)
        head = f"{key}, {unit_heading(unit)}"
        columns[head] = [format_interval(cell["mean"], cell["low"], cell["high"], unit) for cell in cells]
    return columns


def recipe_rows(around: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of a table of ``search.recipe_table``, for ``tables.listing``."""
    columns = {
        "objective": around.index.tolist(),
        "learning rate": [format_number(rate, 3) for rate in around["lr"]],
    }
    for head, field in (("warm-up epochs", "warmup_epochs"), ("epochs", "epochs"), ("steps", "steps")):
        columns[head] = [format_number(number, 0) for number in around[field]]
    columns["percent"] = around["value"].map(format_value).tolist()
    for change in list(map(str, around))[list(around).index("value") + 1 :]:
        columns[change] = [format_value(points, sign=True) for points in around[change]]
    columns["seeds scatter by"] = around["scatter"].map(format_value).tolist()
    return columns


def component_table(table: pd.DataFrame, without: pd.DataFrame, key: str) -> pd.DataFrame:
    """Compare objectives with all their components and without one of them, by Welch's t test over seeds,
    with Holm's rule.

    Args:
        table: as for ``metrics.seeds.seed_statistics``, the complete objectives.
        without: the same, and instead of ``objective`` the column ``arm``: the name of an objective,
            ``" - "`` and what was left out.
        key: the number that is compared.

    Returns:
        One row a component: ``objective``, ``component``, ``with``, ``without``, ``difference``, ``low`` and
        ``high`` (the interval of the difference), ``p_holm`` and ``verdict``: ``helps``, ``harms`` or
        ``undecided``.
    """
    complete = values_by_objective(table, key)
    parts = values_by_objective(without.rename(columns={"arm": "objective"}), key)
    names = [arm.split(" - ", 1) for arm in parts]
    pairs = [(complete[name], part) for (name, _), part in zip(names, parts.values(), strict=True)]
    tested = compared_pairs(pairs)
    signs = np.sign(tested["difference"]) * tested["apart"]
    rows = pd.DataFrame(names, columns=["objective", "component"]).join(tested)
    rows = rows.assign(verdict=signs.map(VERDICTS))
    return rows.rename(columns={"first": "with", "second": "without"}).drop(columns=["p", "apart"])


def component_rows(components: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of a table of ``component_table``, for ``tables.listing``."""
    whole = components["with"].map(format_value)
    without = components["without"].map(format_value)
    differences = [
        format_interval(row.difference, row.low, row.high, sign=True) for row in named_rows(components)
    ]
    return {
        "objective": components["objective"].tolist(),
        "component": components["component"].tolist(),
        "with it": whole.tolist(),
        "without": without.tolist(),
        "difference": differences,
        "verdict": components["verdict"].tolist(),
    }


def describe_components(components: pd.DataFrame, key: str) -> str:
    """Describe which components help and which harm by a number.

    Args:
        components: from ``component_table``.
        key: the number.
    """
    sentences = []
    for verdict, plural in (("helps", "help"), ("harms", "harm")):
        parts = [
            f"{row.objective}'s {row.component} ({format_value(row.difference, sign=True)})"
            for row in named_rows(components[components["verdict"] == verdict])
        ]
        if parts:
            verb = verdict if len(parts) == 1 else plural
            sentences.append(f"{' and '.join(parts)} {verb}")
    undecided = int((components["verdict"] == "undecided").sum())
    verb = "is" if undecided == 1 else "are"
    effects = ". ".join(sentences) or "no component makes a significant difference"
    count = format_count(len(components), "component")
    return f"By `{key}`, in percentage points: {effects}. {undecided} of {count} {verb} undecided."


def results_as_json(measured: pd.DataFrame, keys: Sequence[str]) -> dict[str, Any]:
    """Return means with their intervals as ``results.json`` holds them.

    Args:
        measured: as for ``is_scored_by_objective``.
        keys: the numbers.
    """
    metrics: dict[str, float] = {}
    contracts: dict[str, Any] = {}
    statistics: dict[Any, Any] = measured.to_dict("index")
    for (labels, key, name), row in statistics.items():
        if key not in keys:
            continue
        label = f"{name}, {labels} | {key}"
        metrics[label] = row["mean"]
        contracts[label] = {"face": unit_of(key), "seeds": row["seeds"]}
        # one seed has no interval
        contracts[label] |= {end: row[end] for end in ("low", "high") if not np.isnan(row[end])}
    return {"metrics": metrics, "contracts": contracts}
