"""The printed values: a long table, filtered, and one line a row of a paper's table."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from workbench.records import MetricKey

ROW = ("paper", "table", "dataset", "protocol", "group", "method")
COLUMNS = (*ROW, "metric", "printed", "value")
FILE = Path(__file__).parent / "values.tsv"
EMPTY = "-"
# the papers' numbers under the labels of our measurements; theirs are in percent
LABELS = {f"{d}_r{k}": str(MetricKey("R", d, k=k)) for d in ("i2t", "t2i") for k in (1, 5, 10)} | {
    "rsum": "rsum", **{f"{d}_r{k}": str(MetricKey("R", d, k=k)) for d in ("i2i", "t2t") for k in (1, 5)},
    **{f"{d}_mAPR": str(MetricKey("map_at_r", d)) for d in ("i2t", "t2i")},
    **{f"{d}_RP": str(MetricKey("r_precision", d)) for d in ("i2t", "t2i")},
    "P": "hierarcaps_traversal/P", "R": "hierarcaps_traversal/R", "d_corr": "d_corr_image",
}  # fmt: skip
Filter = str | Sequence[str] | None


@cache
def _all() -> pd.DataFrame:
    """All rows in the order of the file; a dash, where a paper prints no number, is NaN."""
    rows = pd.read_csv(FILE, sep="\t", dtype=str, keep_default_na=False)
    printed = rows["printed"].where(rows["printed"] != EMPTY)
    return rows.assign(value=printed.astype(float))


def load(
    *,
    paper: Filter = None,
    table: Filter = None,
    dataset: Filter = None,
    protocol: Filter = None,
    group: Filter = None,
    method: Filter = None,
    metric: Filter = None,
) -> pd.DataFrame:
    """Printed values, filtered by their columns; each filter is a value, several values, or ``None`` for all.

    Args:
        paper: ``DITM``, ``CORA``, ``DIAS``, ``SAM`` or ``AAHR``: where it is printed.
        table: number of the table as the paper writes it, e.g. ``"II"`` or ``"2"``.
        dataset: e.g. ``"MS-COCO 1K"``.
        protocol: how it was measured, e.g. ``"5-fold mean"``.
        group: heading above the rows, e.g. the backbone or the text encoder; may be empty.
        method: as printed, with its marks, e.g. ``"NAAF*"``.
        metric: e.g. ``"i2t_r1"``, ``"rsum"``.

    Returns:
        One row a value: these seven columns, ``printed`` (the text) and ``value`` (percent; NaN where the
        paper prints a dash).

    Raises:
        KeyError: a value that does not occur, with the near ones.
        ValueError: no row has all of them.

    >>> load(paper="DITM", dataset="MS-COCO 1K", method="DITM", group="ViT-B/32 (151M)", metric="rsum")["printed"].tolist()
    ['540.3']
    """
    given = {
        "paper": paper,
        "table": table,
        "dataset": dataset,
        "protocol": protocol,
        "group": group,
        "method": method,
    }
    wanted = {
        name: _values(name, filter)
        for name, filter in {**given, "metric": metric}.items()
        if filter is not None
    }
    found = _all()
    for name, values in wanted.items():
        found = found[found[name].isin(values)]
    if found.empty:
        raise ValueError(f"no printed value has all of {wanted}; leave one out to see what there is")
    return found.reset_index(drop=True)


def _values(name: str, given: str | Sequence[str]) -> list[str]:
    values, known = [given] if isinstance(given, str) else list(given), sorted(set(_all()[name]))
    for value in values:
        if value not in known:
            near = difflib.get_close_matches(value, known, n=3, cutoff=0.5) or known
            raise KeyError(f"published: no {name} {value!r}; there is {', '.join(near)}")
    return values


def wide(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each row of a paper's table, one column a metric, in the order of the papers.

    Args:
        rows: what ``load`` gave.

    Returns:
        The values in percent, indexed by paper, table, dataset, protocol, group and method; NaN where nothing
        is printed.
    """
    table = rows.pivot(index=list(ROW), columns="metric", values="value")
    order = pd.MultiIndex.from_frame(rows[list(ROW)].drop_duplicates())
    return table.loc[order, list(dict.fromkeys(rows["metric"]))].rename_axis(columns=None)
