"""A number over seeds: mean, t interval, and difference from where training began.

"Every objective was trained with several seeds; given are the mean, and the interval in which the mean of all
seeds lies with 95 % confidence if single seeds scatter normally: ``mean +- t(seeds - 1) * sd /
sqrt(seeds)``." With three seeds the factor t is 4.30, so that the interval reaches 2.48 standard deviations
to either side. It says how far chance in training moves the number; how far another sample of queries would
move it is the bootstrap's question (``intervals``).

The starting point is one fixed model, so that the difference from it has the mean's interval, shifted.

Source: W. S. Gosset ("Student"), The probable error of a mean, Biometrika 6, 1908.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from workbench.metrics.comparison import holm
from workbench.records import Values, require

COLUMNS = ("objective", "seed", "key", "value")
EVERY = "every true pair"


def t_interval(values: Values, confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval of a mean.

    Args:
        values: ``(seeds,)`` one number a seed.
        confidence: share of such intervals that hold the true mean.

    Returns:
        The two ends; NaN for a single value, whose scatter nobody knows.

    >>> low, high = t_interval(np.array([0.5, 0.6, 0.7]))  # 0.6 -+ 4.302653 * 0.1 / sqrt(3)
    >>> round(low, 6), round(high, 6)
    (0.351586, 0.848414)
    """
    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(stdtrit(len(values) - 1, (1 + confidence) / 2) * values.std(ddof=1) / len(values) ** 0.5)
    return float(values.mean()) - half, float(values.mean()) + half


def measure(
    table: pd.DataFrame, *, start: Mapping[str, float] | None = None, confidence: float = 0.95
) -> pd.DataFrame:
    """Mean, scatter and interval over seeds of every objective and key, and the difference from the starting
    point.

    Args:
        table: one row a number: ``objective``, ``seed``, ``key``, ``value``.
        start: key -> value of the starting point; the difference is given for these keys.
        confidence: of the interval.

    Returns:
        One row for each ``(key, objective)``, best mean first within a key: ``seeds``, ``mean``, ``sd``,
        ``low``, ``high``, then ``start``, ``difference``, ``difference_low``, ``difference_high`` and
        ``verdict``: ``above`` or ``below`` where the
        interval leaves the starting point out, ``undecided`` where it does not, empty where there is no
        interval or no start.

    Raises:
        ValueError: a column is missing, a value is not finite, or a seed comes twice.
    """
    _check(table)
    grouped = table.groupby(["key", "objective"])["value"]
    found = pd.DataFrame(grouped.agg(seeds="count", mean="mean", sd="std"))
    ends = {where: t_interval(part.to_numpy(np.float64), confidence) for where, part in grouped}
    found[["low", "high"]] = [ends[where] for where in found.index]
    found["start"] = found.index.get_level_values("key").map(dict(start or {})).astype(float)
    for name, column in (("", "mean"), ("_low", "low"), ("_high", "high")):
        found[f"difference{name}"] = found[column] - found["start"]
    sides = [found["difference_low"] > 0, found["difference_high"] < 0, found["difference_low"].notna()]
    found["verdict"] = np.select(sides, ["above", "below", "undecided"], "")
    return found.sort_values(["key", "mean"], ascending=[True, False], kind="stable")


def pairs(table: pd.DataFrame, key: str, *, alpha: float = 0.05) -> pd.DataFrame:
    """Which objectives a number tells apart: every pair by Welch's t test over seeds, with p values adjusted
    by Holm's rule for the number of pairs.

    Args:
        table: as for ``measure``.
        key: the number that is compared.
        alpha: chance of a single false difference among all pairs.

    Returns:
        One row a pair: ``objective`` (the better by its mean), ``against``, ``difference``, ``p``, ``p_holm``
        and ``apart``.

    Source:
        B. L. Welch, The generalization of "Student's" problem when several different population variances
        are involved, Biometrika 34, 1947.
    """
    _check(table)
    values = {name: one["value"].to_numpy() for name, one in table[table.key == key].groupby("objective")}
    order = sorted(values, key=lambda name: -values[name].mean())
    found = pd.DataFrame(
        [
            (one, other, values[one].mean() - values[other].mean(),
             float(_welch(values[one], values[other]).pvalue))
            for one, other in combinations(order, 2)
        ],
        columns=["objective", "against", "difference", "p"],
    )  # fmt: skip
    found["p_holm"] = holm(found["p"].tolist())
    found["apart"] = found["p_holm"] < alpha
    return found


def arms(table: pd.DataFrame) -> pd.DataFrame:
    """A recorded comparison as one table over seeds, the labels that were positive in the objective's name.

    Args:
        table: as for ``measure``, and ``positives``: ``own`` (binary labels) or ``exact`` (every true pair).

    Returns:
        The same rows; ``objective`` is e.g. ``"infonce"`` or ``"infonce, every true pair"``.
    """
    names = table["objective"] + np.where(table["positives"] == "own", "", f", {EVERY}")
    return table.assign(objective=names)


def components(table: pd.DataFrame, without: pd.DataFrame, key: str, *, alpha: float = 0.05) -> pd.DataFrame:
    """What a paper's own component adds to a number: the objective with all its components against the same
    without one of them, by Welch's t test over seeds, with p values adjusted by Holm's rule.

    Args:
        table: as for ``measure``, the whole objectives.
        without: the same, and instead of ``objective`` the column ``arm``: the name of an objective,
            ``" - "`` and what was left out.
        key: the number that is compared.
        alpha: chance of a single false verdict among all components, and of an interval that misses.

    Returns:
        One row a component: ``objective``, ``component``, ``with``, ``without``, ``difference``, ``low`` and
        ``high`` (the interval of the difference), ``p_holm`` and ``verdict``: ``helps``, ``harms`` or
        ``undecided``.
    """
    _check(table)
    _check(without.rename(columns={"arm": "objective"}))
    whole = {name: one["value"] for name, one in table[table.key == key].groupby("objective")}
    rows = []
    for arm, part in without[without.key == key].groupby("arm", sort=False):
        objective, _, component = str(arm).partition(" - ")
        test = _welch(whole[objective], part["value"])
        found = whole[objective].mean(), part["value"].mean()
        rows.append((objective, component, *found, found[0] - found[1], *test.confidence_interval(1 - alpha),
                     float(test.pvalue)))  # fmt: skip
    names = ["objective", "component", "with", "without", "difference", "low", "high", "p_holm"]
    out = pd.DataFrame(rows, columns=names)
    out["p_holm"] = holm(out["p_holm"].tolist())
    told = out["p_holm"] < alpha
    out["verdict"] = np.select(
        [told & (out["difference"] > 0), told & (out["difference"] < 0)], ["helps", "harms"], "undecided"
    )
    return out


def choices(table: pd.DataFrame, truth: str) -> pd.DataFrame:
    """Which objective each number would choose, and how its order of the objectives agrees with the truth's.

    Args:
        table: as for ``measure``; every number is larger where it is better.
        truth: the key that is true.

    Returns:
        One row a key: ``chosen`` (best mean over seeds), ``tau`` (Kendall's tau-b of the means with the
        truth's), ``truth`` (the truth's mean of the chosen objective) and ``lost`` (how much less that is
        than the best objective's); the keys that agree best with the truth first.

    Raises:
        KeyError: the table does not have the true key.
    """
    _check(table)
    means = table.pivot_table(index="objective", columns="key", values="value", aggfunc="mean")
    if truth not in means:
        raise KeyError(f"no {truth!r} in the table; it has {', '.join(map(str, means))}")
    found = pd.DataFrame({"chosen": means.idxmax(), "tau": means.corrwith(means[truth], method="kendall")})
    found["truth"] = means[truth].reindex(found["chosen"]).to_numpy()
    found["lost"] = means[truth].max() - found["truth"]
    found["among"] = len(means)
    return found.sort_values("tau", ascending=False, kind="stable")


def _welch(one: Any, other: Any) -> Any:
    from scipy.stats import ttest_ind  # seconds to import

    return ttest_ind(one, other, equal_var=False)


def _check(table: pd.DataFrame) -> None:
    missing = [name for name in COLUMNS if name not in table]
    require(
        len(table) and not missing,
        f"a table over seeds has the columns {', '.join(COLUMNS)} and rows; missing: {missing or 'all rows'}",
    )
    bad = table[~np.isfinite(table["value"].to_numpy(np.float64))]
    if len(bad):
        raise ValueError(
            f"{len(bad)} values are not finite, first {bad.iloc[0].to_dict()}; "
            "leave out what could not be measured"
        )
    for row in table[table.duplicated(["objective", "seed", "key"])].itertuples():
        raise ValueError(f"seed {row.seed} of {row.objective} comes twice for {row.key}")
