"""All runs of a root in one page and one table: a group for each test split, since numbers of different
splits do not compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.experiment import runs

ABOUT = ("notebook", "run", "status", "objective", "seed", "train_images", "epochs")
SPLIT = ("dataset", "split", "images", "captions")
HEADLINE = ("rsum", "i2t/R@1", "t2i/R@1", "exact:i2t/map_at_r", "exact:t2i/map_at_r")
SUMMARY = """One table for each test split: numbers of different splits do not compare. Each number stands with its 95 % bootstrap
interval over queries; equal scores count against the model; all images and all captions are one gallery. RSUM lies in [0, 6].
The best value of a column is bold, which does not say whether it is more than chance: the notebook 07_compare tests that."""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Leaderboard</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; font-size: 13px; margin: 1rem 0 2rem; }}
th, td {{ padding: 4px 12px 4px 0; text-align: left; }}
tr {{ border-top: 1px solid rgba(128, 128, 128, .4); }}
td.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
td small {{ opacity: .8; }} .best {{ font-weight: bold; }} .wide {{ overflow-x: auto; }}
</style><main><h1>Leaderboard</h1><p>{summary}</p>{groups}</main></html>
"""


@dataclass(frozen=True)
class Leaderboard:
    """What was written.

    Args:
        html: the page.
        csv: the table: one row a run, every number with the ends of its interval.
        runs: runs in it.
        left_out: folders of runs without numbers of retrieval, with the reason.
    """

    html: Path
    csv: Path
    runs: int
    left_out: dict[str, str]


def build(root: Path | str = "runs", *, out: Path | str = "", notebook: str = "*") -> Leaderboard:
    """Write ``leaderboard.html`` and ``leaderboard.csv`` over all runs below a root.

    Runs on the same test split (data set, name, images, captions) stand in one table, the best RSUM first. A
    run that did not end well or measured no RSUM is left out and named.

    Args:
        root: where runs lie.
        out: folder to write to; empty = the root itself.
        notebook: only runs of this notebook.

    Raises:
        FileNotFoundError: there is no run with numbers below the root.
    """
    rows, left_out = [], {}
    for run in runs.list_runs(root, notebook):
        reason = _unfit(run)
        if reason:
            left_out[str(run.folder)] = reason
        else:
            rows.append(_row(run))
    if not rows:
        raise FileNotFoundError(f"no run with an RSUM below {root}; `workbench run 03_train` makes one")
    table = pd.DataFrame(rows).sort_values(
        [*SPLIT, "rsum"], ascending=[True] * len(SPLIT) + [False], kind="stable"
    )
    folder = Path(out) if str(out) else Path(root)
    page = runs.write_text(folder / "leaderboard.html", _page(table, left_out))
    return Leaderboard(
        page, runs.write_text(folder / "leaderboard.csv", table.to_csv(index=False)), len(table), left_out
    )


def _unfit(run: runs.Run) -> str:
    if run.status not in ("ok", "unwatched"):
        return run.status
    return "" if "rsum" in run.results.get("metrics", {}) else "no RSUM among its results"


def _row(run: runs.Run) -> dict[str, Any]:
    split, contracts = run.results.get("split", {}), run.results.get("contracts", {})
    row: dict[str, Any] = {"notebook": run.notebook, "run": run.id, "status": run.status}
    row |= {"objective": run.results.get("objective", ""), "seed": run.results.get("seed", "")}
    row |= {name: run.params.get(name, "") for name in ("train_images", "epochs")}
    row |= {"dataset": run.results.get("dataset", ""), "split": split.get("name", "")}
    row |= {name: split.get(name, 0) for name in ("images", "captions")}
    for label, value in run.results["metrics"].items():
        contract = contracts.get(label, {})
        row |= {label: value, f"{label} low": contract.get("low"), f"{label} high": contract.get("high")}
    return row


def _page(table: pd.DataFrame, left_out: Mapping[str, str]) -> str:
    groups = [_group(key, part) for key, part in table.groupby(list(SPLIT), sort=False)]
    if left_out:
        lines = "".join(
            f"<li>{escape(Path(folder).name)}: {escape(reason)}</li>" for folder, reason in left_out.items()
        )
        groups.append(f"<details><summary>Left out: {len(left_out)}</summary><ul>{lines}</ul></details>")
    return PAGE.format(summary=SUMMARY, groups="".join(groups))


def _group(key: Any, part: pd.DataFrame) -> str:
    dataset, split, images, captions = key
    labels = [label for label in HEADLINE if label in part and part[label].notna().any()]
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in (*ABOUT, *labels))
    body = "".join(_line(row, labels, part) for row in part.to_dict("records"))
    title = f"{dataset}, {split}: {images:,} images, {captions:,} captions"
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    # what scrolls must be reached by the keyboard
    place = f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}">'
    return f"<h2>{escape(title)}</h2>{place}{table}</div>"


def _line(row: Mapping[Any, Any], labels: Sequence[str], part: pd.DataFrame) -> str:
    cells = "".join(f"<td>{escape(str(row[name]))}</td>" for name in ABOUT)
    for label in labels:
        value, low, high = row[label], row[f"{label} low"], row[f"{label} high"]
        best = " best" if value == part[label].max() else ""
        ends = "" if pd.isna(low) else f" <small>[{low:.3f}, {high:.3f}]</small>"
        cells += f'<td class="number{best}">{"" if pd.isna(value) else f"{value:.3f}{ends}"}</td>'
    return f"<tr>{cells}</tr>"
