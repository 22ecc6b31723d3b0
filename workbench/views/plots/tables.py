"""Tables of texts as pieces of a page that need nothing but themselves: what runs measured, lists of
captions, one's own numbers above those that papers print.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import pandas as pd

from workbench.formatting import format_interval, format_p_value, unit_heading
from workbench.metrics.comparison import stated, widened
from workbench.records.measurement import measurement_rows as readable_rows
from workbench.records.measurement import remarks
from workbench.views.pages import page
from workbench.views.plots.theme import each

LONGEST = 600
ABOUT = ("paper", "group", "method", "beside")


def listing(columns: Mapping[str, Sequence[str]], *, title: str, most: int = 40) -> str:
    """Texts in columns, one line a row, as HTML; the first ``most`` rows are shown, and a text of more than
    600 letters is cut, with a mark.

    Raises:
        ValueError: the columns differ in length.

    >>> "a &lt;b&gt;</td>" in listing({"text": ["a <b>"]}, title="Texts")
    True
    """
    rows = list(zip(*columns.values(), strict=True))
    return page(
        "views/plots/listing.html.j2", names=columns, rows=rows[:most], longest=LONGEST,
        caption=f"{title}: {len(rows)}" + (f", the first {most} shown" if len(rows) > most else ""),
    )  # fmt: skip


def numbers(runs: Mapping[str, Iterable[object]], *, title: str) -> str:
    """What several runs measured, one line a number: each run's value with its interval, and the contract.

    Args:
        runs: name -> its measurements, or pairs of a label and a contract that holds the value; a number that
            a run did not measure is an empty cell.
        title: data, split and protocol, which all the numbers share.
    """
    by_run = {run: list(several) for run, several in runs.items()}
    found = {run: {row["number"]: row for row in readable_rows(several)} for run, several in by_run.items()}
    notes = remarks(one for several in by_run.values() for one in several)
    contracts: dict[str, dict[str, str]] = {}
    for by_number in found.values():
        contracts |= {label: row for label, row in by_number.items() if label not in contracts}
    names = ["number", *found, "in", "chance", "queries", "gallery", "a hit is"]
    return page(
        "views/plots/listing.html.j2", names=names, caption="; ".join([title, *notes]), longest=LONGEST,
        rows=[
            [label, *(of.get(label, {}).get("value", "") for of in found.values()),
             *(contract[name] for name in names[-5:])]
            for label, contract in contracts.items()
        ],
    )  # fmt: skip


def printed(columns: Mapping[str, Sequence[str]], *, title: str, reason: str = "") -> str:
    """Rows of several papers under headings, one column a number, and what is to be said beside a row.

    Args:
        columns: texts by heading: ``paper`` and ``group`` make the headings, ``method`` and ``beside`` stand
            at the ends of a row, whatever else there is are numbers.
        title: data set and protocol of the rows.
        reason: why one's own rows do not compare with the others; empty where they do.

    Raises:
        ValueError: the columns differ in length.
    """
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    groups = groupby(rows, lambda row: ", ".join(text for text in (row["paper"], row["group"]) if text))
    return page(
        "views/plots/printed.html.j2", names=[name for name in columns if name not in ABOUT],
        blocks=[(head, list(part)) for head, part in groups], title=title, reason=reason,
    )  # fmt: skip


def verdicts(differences: pd.DataFrame, *, title: str) -> str:
    """Runs compared with one run, one line a number and run: rows of ``metrics.comparison.Difference``. The
    caption says for how many comparisons the intervals are widened.
    """
    rows = [
        {
            "number": row.key,
            "run": row.run,
            "difference": format_interval(row.value, row.low, row.high, row.face, sign=True),
            "in": unit_heading(row.face),
            "verdict": stated(row.verdict, row.against),
            "images on which it is better / worse / equal": f"{row.wins} / {row.losses} / {row.ties}",
            "p of the sign test (Holm)": format_p_value(row.p_holm),
        }
        for row in each(differences)
    ]
    caption = "; ".join(filter(None, (title, widened(len(rows)))))
    names = list(rows[0]) if rows else []
    cells = [list(row.values()) for row in rows]
    return page("views/plots/listing.html.j2", names=names, rows=cells, caption=caption, longest=LONGEST)
