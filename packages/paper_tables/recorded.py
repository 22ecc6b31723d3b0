"""What recorded comparisons say of claims: lines of the ledger from tables of values by seed."""

import hashlib
from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from paper_tables import health
from paper_tables.claims import (
    BASELINE,
    ENOUGH,
    FURTHER,
    RECORDED_IMAGES,
    RECORDED_THREADS,
    TABLES,
    Claim,
    line_of,
    line_of_arms,
    load_claims,
)
from workbench import assets, objectives
from workbench.records import Values


def lines_from_recorded() -> list[dict[str, Any]]:
    """Return a line for every question that the recorded comparisons answer, without its verdict."""
    lines: list[dict[str, Any]] = []
    for claim in load_claims().values():
        tables = [where for where in claim.data if where in TABLES]
        for where, (who, keys) in product(tables, claim.keys.items()):
            lines += _contrasts(claim, where, who, keys)
    return lines


def _contrasts(claim: Claim, where: str, who: str, keys: list[str]) -> Iterable[dict[str, Any]]:
    table = _recorded_numbers(where)
    if claim.models and not claim.arms and where == "W":
        values = {"more": _correlation_over_models(claim, keys, table)}
        about = {"source": _source_tables(where), "threads": RECORDED_THREADS, "seconds": None}
        yield line_of(claim, where, "all objectives", who, values, **about)
    for more, less in claim.recorded:
        arms = [_arm_by_seed(table, name, keys) for name in (more, less)]
        both = sorted(set(arms[0].index) & set(arms[1].index))
        if len(both) < 2:
            continue
        sides = {name: arm[both].to_numpy(dtype=float) for name, arm in zip(("more", "less"), arms)}
        ran = sum(float(_arm_by_seed(table, name, ["seconds"]).reindex(both).sum()) for name in (more, less))
        about = {
            "chance": round(health.chance(RECORDED_IMAGES), 2) if keys == ["rsum"] else None,
            "seeds": both,
        }
        about |= {
            "source": _source_tables(where, (more, less)),
            "threads": RECORDED_THREADS,
            "seconds": round(ran),
        }
        yield line_of_arms(claim, where, f"{more} | {less}", who, sides, **about)


@cache
def _recorded_numbers(where: str) -> pd.DataFrame:
    """Return ``(arm, seed, key)`` -> value, of runs that were trained with annotated pairs."""
    rows = pd.concat([assets.read_recorded(name) for name in (*TABLES[where], *FURTHER.get(where, ()))])
    for column, value in (("positives", "own"), ("judge", "CIDEr-D")):
        rows = rows[rows[column].isna() | (rows[column] == value)] if column in rows else rows
    arm = rows["arm"].fillna(rows["objective"]) if "arm" in rows else rows["objective"]
    return rows.assign(arm=arm).pivot_table(index=["arm", "seed"], columns="key", values="value")


def _arm_by_seed(table: pd.DataFrame, name: str, keys: list[str]) -> "pd.Series[float]":
    """Return seed -> mean of the numbers; empty where the arm or a number is not recorded."""
    if name not in table.index or not set(keys) <= set(table.columns):
        return pd.Series(dtype=float)
    return table.loc[[name], keys].dropna().mean(axis=1).droplevel("arm")


def _correlation_over_models(claim: Claim, keys: list[str], table: pd.DataFrame) -> Values:
    """Return ``(objectives,)`` Tukey's jackknife values of how RSUM and another number go together:
    their scatter says how far other objectives would move their mean.
    """
    both = pd.DataFrame({"sum": table["rsum"], "other": table[keys].mean(axis=1, skipna=False)}).dropna()
    means = both.groupby("arm").mean()
    # an objective without one of its parts, or in a second form, is no further objective
    means = means[means.index.isin(objectives.names())]
    names = [name for name in means.index if claim.models != "gains" or name != BASELINE]
    every, count = _joint_gain(claim, means), len(names)
    without = [_joint_gain(claim, means.drop(name)) for name in names]
    return count * every - (count - 1) * np.array(without)


def _joint_gain(claim: Claim, means: pd.DataFrame) -> float:
    """Return the mean gain in RSUM less that in the other number, in deviations over objectives, or how much
    more than ``ENOUGH`` both correlate.
    """
    if claim.models != "gains":
        return float(means["sum"].corr(means["other"])) - ENOUGH
    scaled = means / means.std()
    gain = (scaled - scaled.loc[BASELINE]).drop(BASELINE).mean()
    return float(gain["sum"] - gain["other"])


@cache
def _source_tables(where: str, arms: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the tables that values come from, by the hash of their content."""
    further = [name for name in FURTHER.get(where, ()) if assets.read_recorded(name)["arm"].isin(arms).any()]
    files = (assets.path(f"results/{name}.tsv") for name in (*TABLES[where], *further))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files}
