"""Which lines of the ledger count: arms trained long enough, with equal steps, that have learnt.

An arm is healthy if its RSUM has gone ``HEALTHY`` of the reference arm's way from chance, with the same data
and budget. Where an arm has not, an effect says that it did not train, and its line is void.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

# of the way from chance to the RSUM of the reference arm
HEALTHY = 0.8
# optimiser steps below which no arm has learnt what its loss asks
LEAST_STEPS = 100
KS = (1, 5, 10)
Line = Mapping[str, Any]


def chance(images: int, captions_per_image: int = 5) -> float:
    """Compute the RSUM of a random order, in points of 600.

    Args:
        images: of the gallery.
        captions_per_image: annotated with each.

    >>> round(chance(1000), 2)
    3.2
    """
    captions = images * captions_per_image
    missed = np.cumprod([1 - captions_per_image / (captions - drawn) for drawn in range(max(KS))])
    hits = [1 - missed[k - 1] + k / images for k in KS]
    return float(100 * sum(hits))


def steps_of(line: Line) -> list[int]:
    """Return the optimiser steps of each arm; nothing where nothing was trained for the line."""
    return list(line.get("budget", {}).get("steps", []))


def has_long_equal_arms(line: Line) -> bool:
    """Return whether the arms have at least ``LEAST_STEPS`` steps, and equally many."""
    steps = steps_of(line)
    return not steps or (min(steps) >= LEAST_STEPS and len(set(steps)) == 1)


def shares(lines: Sequence[Line], reference: str) -> list[float | None]:
    """Compute for each line which share of the reference's way from chance its worst arm has gone.

    A line of arms that were trained for the ledger holds its share.

    Args:
        lines: of which those of recorded comparisons with RSUM say how far each arm came, by data.
        reference: label of the reference arm of recorded comparisons.

    Returns:
        ``None`` where a line has no arms; NaN where nobody measured the RSUM of one of them.
    """
    sums = _sums(line for line in lines if "budget" not in line)
    return [_share(line, sums.get(line["data"], {}), reference) for line in lines]


def _sums(lines: Iterable[Line]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return RSUM and chance of each arm by data."""
    sums: dict[str, dict[str, tuple[float, float]]] = {}
    for line in lines:
        labels = line["contrast"].split(" | ")
        if line["metric"] == ["rsum"] and line["chance"] and len(labels) == len(line["values"]):
            for label, values in zip(labels, line["values"].values(), strict=True):
                sums.setdefault(line["data"], {})[label] = (float(np.mean(values)), line["chance"])
    return sums


def _share(line: Line, known: Mapping[str, tuple[float, float]], reference: str) -> float | None:
    if line["judge"] == "no training" or "seeds" not in line:
        return None
    if "budget" in line:
        return float(line.get("health", np.nan))
    arms = [known.get(label) for label in line["contrast"].split(" | ")]
    if reference not in known or None in arms:
        return float("nan")
    way = known[reference][0] - known[reference][1]
    return min((arm[0] - arm[1]) / way for arm in arms if arm)
