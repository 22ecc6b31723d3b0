"""A number over seeds: mean and t interval.

"Every objective was trained with several seeds; given are the mean, and the interval in which the mean of all
seeds lies with 95 % confidence if single seeds scatter normally: ``mean +- t(seeds - 1) * sd /
sqrt(seeds)``." With three seeds the factor t is 4.30, so that the interval reaches 2.48 standard deviations
to either side. It says how far chance in training moves the number; how far another sample of queries would
move it is the bootstrap's question (``intervals``). An end that would leave the range of the number, such as
RSUM's 0 to 600, stands at the end of the range.

Source: W. S. Gosset ("Student"), The probable error of a mean, Biometrika 6, 1908.
"""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from workbench.formatting import RANGES
from workbench.metrics.comparison import holm
from workbench.records import Values, require
from workbench.records.measurement import CONFIDENCE, unit_of

COLUMNS = ("objective", "seed", "key", "value")
EVERY = "every true pair"


def t_interval(values: Values, *, unit: str = "number") -> tuple[float, float]:
    """Compute Student's interval of a mean of one number a seed; NaN for a single value, whose scatter nobody
    knows, and for shares, sums, ranks and correlations that are all the same, whose scatter is too small to
    be seen.

    Args:
        values: ``(seeds,)``.
        unit: what they are, of ``formatting.UNITS``; no end leaves its range, where the values keep to it.

    >>> low, high = t_interval(np.array([0.5, 0.6, 0.7]))  # 0.6 -+ 4.302653 * 0.1 / sqrt(3)
    >>> round(low, 6), round(high, 6)
    (0.351586, 0.848414)
    """
    if len(values) < 2:
        return float("nan"), float("nan")
    half = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2) * values.std(ddof=1) / len(values) ** 0.5)
    ends = float(values.mean()) - half, float(values.mean()) + half
    least, most = RANGES.get(unit, ends)
    inside = least <= values.min() and values.max() <= most
    if inside and values.min() == values.max() and unit in RANGES:
        return float("nan"), float("nan")
    return (max(least, ends[0]), min(most, ends[1])) if inside else ends


def seed_statistics(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, scatter and interval over seeds of every objective and key.

    Args:
        table: one row a number: ``objective``, ``seed``, ``key``, ``value``.

    Returns:
        One row for each ``(key, objective)``, best mean first within a key: ``seeds``, ``mean``, ``sd``,
        ``low`` and ``high``.

    Raises:
        ValueError: a column is missing, a value is not finite, or a seed comes twice.
    """
    _require_single_values(table)
    grouped = table.groupby(["key", "objective"])["value"]
    out = pd.DataFrame(grouped.agg(seeds="count", mean="mean", sd="std"))
    units = out.index.get_level_values("key").map(unit_of)
    out[["low", "high"]] = [
        t_interval(part.to_numpy(np.float64), unit=unit)
        for unit, (_, part) in zip(units, grouped, strict=True)
    ]
    return out.sort_values(["key", "mean"], ascending=[True, False], kind="stable")


def compared_pairs(pairs: list[tuple[pd.Series, pd.Series]]) -> pd.DataFrame:
    """Test each pair of columns of values by Welch's t test, with p values adjusted by Holm's rule for the
    number of pairs.

    Args:
        pairs: two columns of values each, one value a seed.

    Returns:
        One row a pair: ``first`` and ``second`` mean, ``difference`` with ``low`` and ``high``, ``p``,
        ``p_holm`` and whether they are ``apart``, where the chance of a single false difference among all
        pairs is 5 %.

    Source: B. L. Welch, The generalization of "Student's" problem when several different population variances
    are involved, Biometrika 34, 1947.
    """
    from scipy.stats import ttest_ind  # seconds to import

    tests = [ttest_ind(*pair, equal_var=False) for pair in pairs]
    means = pd.DataFrame([(one.mean(), other.mean()) for one, other in pairs], columns=["first", "second"])
    intervals = [[*test.confidence_interval(CONFIDENCE)] for test in tests]
    ends = pd.DataFrame(intervals, columns=["low", "high"])
    out = means.assign(difference=means["first"] - means["second"]).join(ends)
    out["p"] = [float(test.pvalue) for test in tests]
    out["p_holm"] = holm(out["p"].tolist())
    return out.assign(apart=out["p_holm"] < 1 - CONFIDENCE)


def values_by_objective(table: pd.DataFrame, key: str) -> dict[str, pd.Series]:
    """Return the values of one number by objective, in the order of the table."""
    _require_single_values(table)
    return {str(name): one["value"] for name, one in table[table.key == key].groupby("objective", sort=False)}


def table_over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return a recorded comparison as one table over seeds, from the column ``positives``: ``own`` (binary
    labels) or ``exact`` (every true pair). ``objective`` becomes e.g. ``"infonce"`` or ``"infonce, every true
    pair"``.
    """
    names = table["objective"] + np.where(table["positives"] == "own", "", f", {EVERY}")
    return table.assign(objective=names)


def choice_by_number(table: pd.DataFrame, truth: str) -> pd.DataFrame:
    """Return which objective each number would choose, and how its order of the objectives agrees with the
    truth's.

    Args:
        table: as for ``seed_statistics``; every number is larger where it is better.
        truth: the key that is true.

    Returns:
        One row a key: ``chosen`` (best mean over seeds), ``tau`` (Kendall's tau-b of the means with the
        truth's), ``truth`` (the truth's mean of the chosen objective), ``lost`` (how much less that is than
        the best objective's) and ``among`` (how many objectives); the keys that agree best with the truth
        first.

    Raises:
        KeyError: the table does not have the true key.
    """
    _require_single_values(table)
    means = table.pivot_table(index="objective", columns="key", values="value", aggfunc="mean")
    require(truth in means, f"no {truth!r} in the table; it has {', '.join(map(str, means))}", KeyError)
    out = pd.DataFrame({"chosen": means.idxmax(), "tau": means.corrwith(means[truth], method="kendall")})
    out["truth"] = means[truth].reindex(out["chosen"]).to_numpy()
    out["lost"] = means[truth].max() - out["truth"]
    return out.assign(among=len(means)).sort_values("tau", ascending=False, kind="stable")


def _require_single_values(table: pd.DataFrame) -> None:
    missing = [name for name in COLUMNS if name not in table]
    require(
        len(table) and not missing,
        f"a table over seeds has the columns {', '.join(COLUMNS)} and rows; missing: {missing or 'all rows'}",
    )
    bad = table[~np.isfinite(table["value"].to_numpy(np.float64))]
    require(
        bad.empty,
        f"{len(bad)} values are not finite, first {bad.head(1).to_dict('records')}; "
        "leave out what could not be measured",
    )
    for row in table[table.duplicated(["objective", "seed", "key"])].itertuples():
        raise ValueError(f"seed {row.seed} of {row.objective} comes twice for {row.key}")
