"""The first sentences of the tour's page: which model each number would choose, and what that costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.execution.findings import RSUM, TRUE
from workbench.formatting import format_value
from workbench.metrics.comparison import ALIKE, UNDECIDED
from workbench.views.plots.comparison import against_same_list

Results = Mapping[str, Any]


def headline(results: Results, titles: Sequence[str]) -> str:
    """Which model RSUM by binary labels would choose, which one the truth does, and what that costs.

    Args:
        results: of ``07_compare``.
        titles: of the models, in its order.

    Raises:
        KeyError: RSUM or mAP@R by the truth was not compared.
    """
    numbers = {key: _by_model(results, key) for key in (RSUM, *TRUE.values())}
    best = {key: max(range(len(titles)), key=values.__getitem__) for key, values in numbers.items()}
    close = {key: _not_apart(results, key, titles, one) for key, one in best.items()}
    field, truth = best[RSUM], best[TRUE["i2t"]]
    sums = ", ".join(
        f"{format_value(value, 'sum')} for {title}" for value, title in zip(numbers[RSUM], titles)
    )
    found = numbers[key := TRUE["i2t"]]
    said = (
        f"By RSUM, the sum by which the field ranks its models, {titles[field]} is best ({sums})"
        f"{close[RSUM]}."
    )
    if field == truth:
        return f"{said} The exact truth, which is known here, chooses the same model."
    turned = numbers[TRUE["t2i"]]
    back = best[TRUE["t2i"]]
    other = f"Caption to image, {titles[back]} is best with {format_value(turned[back])} percent"
    other += "" if back == field else f", where {titles[field]} has {format_value(turned[field])}"
    other += close[TRUE["t2i"]]
    below = against_same_list({key: dict(zip(titles, found))}, results.get("same_list", {}))
    misled = close[key] or ": RSUM would have misled"
    return (
        f"{said} Asked how many of the captions that are true of an image it puts first (mAP@R by the exact "
        f"truth), {titles[truth]} is best with {format_value(found[truth])} percent, where "
        f"{titles[field]} has "
        f"{format_value(found[field])}{misled}. {other}.{' ' * bool(below)}{below} "
        "Each is one run from one seed."
    )


def _not_apart(results: Results, key: str, titles: Sequence[str], best: int) -> str:
    """From which models the best one is not told apart: by the verdict where it was compared, with the first
    one, and else where their intervals overlap.
    """
    verdicts = {row["run"]: row["verdict"] for row in results["differences"].values() if row["key"] == key}
    models = results["models"]
    listed = []
    for i, title in enumerate(titles):
        if 0 in (i, best):
            close = verdicts.get(models[i or best], UNDECIDED) in (UNDECIDED, ALIKE)
        else:
            one, other = (results["contracts"][f"{models[n]}: {key}"] for n in (i, best))
            close = one["low"] <= other["high"] and other["low"] <= one["high"]
        listed += [title] if close and i != best else []
    return f", not told apart from {' or '.join(listed)}" if listed else ""


def _by_model(results: Results, key: str) -> list[float]:
    return [results["metrics"][f"{name}: {key}"] for name in results["models"]]
