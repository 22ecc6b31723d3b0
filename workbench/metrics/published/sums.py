"""Printed sums held against their parts: a sum of six numbers, each rounded to one decimal, may be off by 7 x
0.05, no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workbench.metrics.published.values import ROW, load, wide
from workbench.records.shown import fixed

TOLERANCE = 0.35
PARTS = {
    "rsum": tuple(f"{d}_r{k}" for d in ("i2t", "t2i") for k in (1, 5, 10)),
    "nsum": tuple(f"{d}_n{k}" for d in ("i2t", "t2i") for k in (1, 5, 10)),
    "sum": tuple(f"{d}_{part}" for d in ("i2t", "t2i") for part in ("mAPR", "RP", "r1")),
}
# paper, table, dataset, method of a sum that does not add up -> the likely reason
REASONS = {
    ("SAM", "3", "Flickr30K", "CVSE + SAM"): "a typing error: the paper's Table 4 shows about 370",
    ("AAHR", "2", "MS-COCO 5K", "VSE++"): "copied from the Flickr30K cell",
    ("DIAS", "1", "Flickr30K", "NUIF-d"): "the whole row but one cell equals SDE's row in CORA's Table 1",
    ("CORA", "1", "Flickr30K", "CORA"): "AAHR quotes 520.6",
    ("CORA", "1", "Flickr30K", "MV-VSE [†]"): "DIAS prints the same",
    ("DIAS", "1", "Flickr30K", "MV"): "CORA prints the same",
    ("AAHR", "1", "MS-COCO 1K", "VSRN++"): "text-to-image R@5 is printed as 90.4, other sources have 91.0",
}


def sums(rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every printed sum beside the sum of its printed parts.

    Args:
        rows: what ``load`` gave; ``None`` = all. A row whose sum or whose parts are not all there is left
            out.

    Returns:
        One line a sum: the row's columns, ``metric``, ``printed``, ``parts`` (their sum), ``adds_up`` (within
        0.35, what the rounding of seven numbers can do) and ``reason``, the likely one where it does not.
    """
    table = wide(load() if rows is None else rows)
    found = [pd.DataFrame(columns=["metric", "printed", "parts"], index=table.index[:0])]
    for metric, parts in PARTS.items():
        if {metric, *parts} <= set(table.columns):
            both = pd.DataFrame(
                {
                    "metric": metric,
                    "printed": table[metric],
                    "parts": table[list(parts)].sum(axis=1, skipna=False),
                }
            )
            found.append(both.dropna())
    out = pd.concat(found).reset_index()
    off = (out["printed"].astype(float) - out["parts"].astype(float)).abs()
    # 0.35 itself has no exact binary form
    adds_up = off <= TOLERANCE + 1e-6
    reasons = [
        REASONS.get(key, "")
        for key in zip(out["paper"], out["table"], out["dataset"], out["method"], strict=True)
    ]
    return out.assign(
        adds_up=adds_up,
        reason=[reason if not good else "" for reason, good in zip(reasons, adds_up, strict=True)],
    )


def warnings(rows: pd.DataFrame | None = None) -> dict[tuple[str, ...], str]:
    """What to say beside a row whose printed sum does not add up.

    Args:
        rows: what ``load`` gave; ``None`` = all.

    Returns:
        ``(paper, table, dataset, protocol, group, method)`` -> one sentence.

    >>> list(warnings(load(paper="AAHR", table="2")).values())
    ['prints rsum 409.8, its parts add up to 355.7: copied from the Flickr30K cell']
    """
    checked = sums(rows)
    wrong = checked[~checked["adds_up"].astype(bool)]
    return {tuple(line[name] for name in ROW): _sentence(line) for line in wrong.to_dict("records")}


def _sentence(line: Mapping[Any, Any]) -> str:
    reason = f": {line['reason']}" if line["reason"] else ""
    printed, parts = (fixed(line[name], 1) for name in ("printed", "parts"))
    return f"prints {line['metric']} {printed}, its parts add up to {parts}{reason}"
