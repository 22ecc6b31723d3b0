"""Tables of texts as pieces of a page that need nothing but themselves: what runs measured, lists of
captions, one's own numbers above those that papers print.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from workbench.formatting import format_interval, format_p_value, unit_heading
from workbench.metrics.comparison import explain_widening, state_verdict
from workbench.records.measurement import measurement_rows as readable_rows
from workbench.records.measurement import remarks
from workbench.runs.selection import selection_of
from workbench.views.pages import Cell, fill_template
from workbench.views.plots.theme import named_rows

LONGEST = 600
ABOUT = ("paper", "group", "method", "beside")


def listing(columns: Mapping[str, Sequence[str]], *, title: str, most: int = 40) -> str:
    """Return texts in columns, one line a row, as HTML; the first ``most`` rows are shown, and a text of more
    than 600 letters is cut, with a mark.

    Raises:
        ValueError: the columns differ in length.

    >>> "a &lt;b&gt;</td>" in listing({"text": ["a <b>"]}, title="Texts")
    True
    """
    rows = list(zip(*columns.values(), strict=True))
    caption = f"{title}: {len(rows)}"
    if len(rows) > most:
        caption += f", the first {most} shown"
    return _listing(list(columns), rows[:most], caption)


def numbers(runs: Mapping[str, Iterable[object]], *, title: str, links: bool = False) -> str:
    """Return what several runs measured, one line a number: each run's value with its interval, and the
    contract.

    Args:
        runs: name -> its measurements, or pairs of a label and a contract that holds the value; a number that
            a run did not measure is an empty cell.
        title: data, split and protocol, which all the numbers share.
        links: whether a value leads to its queries in an explorer on the same page.
    """
    measurements: list[object] = []
    values: dict[str, dict[str, str]] = {}
    contracts: dict[str, dict[str, str]] = {}
    for run, of_run in runs.items():
        own = list(of_run)
        measurements += own
        values[run] = {}
        for row in readable_rows(own):
            values[run][row["number"]] = row["value"]
            contracts.setdefault(row["number"], row)
    facts = ["in", "chance", "queries", "gallery", "a hit is"]
    rows = []
    for label, contract in contracts.items():
        texts = [by_number.get(label, "") for by_number in values.values()]
        cells = [link_to_queries(text, label) for text in texts] if links else texts
        rows.append([label, *cells, *(contract[fact] for fact in facts)])
    return _listing(["number", *values, *facts], rows, "; ".join([title, *remarks(measurements)]))


def link_to_queries(text: str, label: str) -> str | Cell:
    """Return the text of a cell that leads to the queries behind a number, where it has some.

    Args:
        text: of the cell.
        label: of the number.
    """
    selection = selection_of(label)
    if selection is None or not text:
        return text
    return Cell(text, link=selection.fragment, hover=f"the queries of {selection} in the explorer")


def _listing(names: Sequence[str], rows: Sequence[Sequence[str | Cell]], caption: str) -> str:
    return fill_template(
        "views/plots/listing.html.j2", names=names, rows=rows, caption=caption, longest=LONGEST
    )


def printed_table(columns: Mapping[str, Sequence[str]], *, title: str, reason: str = "") -> str:
    """Return rows of several papers under headings, one column a number, and what is to be said beside a row.

    Args:
        columns: texts by heading: ``paper`` and ``group`` make the headings, ``method`` and ``beside`` stand
            at the ends of a row, whatever else there is are numbers.
        title: data set and protocol of the rows.
        reason: why one's own rows do not compare with the others and are not among them; empty where they do.

    Raises:
        ValueError: the columns differ in length.
    """
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    groups = groupby(rows, lambda row: ", ".join(filter(None, (row["paper"], row["group"]))))
    blocks = [(head, list(part)) for head, part in groups]
    names = [name for name in columns if name not in ABOUT]
    return fill_template(
        "views/plots/printed.html.j2", names=names, blocks=blocks, title=title, reason=reason
    )


def verdicts(differences: pd.DataFrame, *, title: str, links: bool = False) -> str:
    """Return runs compared with one run, one line a number and run: rows of
    ``metrics.comparison.Difference``. The caption says for how many comparisons the intervals are widened.

    Args:
        differences: the rows.
        title: of the table.
        links: whether a difference leads to its queries in an explorer on the same page.
    """
    rows = [_verdict_cells(row, links) for row in named_rows(differences)]
    caption = "; ".join(filter(None, (title, explain_widening(len(rows)))))
    names = list(rows[0]) if rows else []
    return _listing(names, [list(row.values()) for row in rows], caption)


def _verdict_cells(row: Any, links: bool) -> dict[str, str | Cell]:
    difference = format_interval(row.value, row.low, row.high, row.face, sign=True)
    return {
        "number": row.key,
        "run": row.run,
        "difference": link_to_queries(difference, row.key) if links else difference,
        "in": unit_heading(row.face),
        "verdict": state_verdict(row.verdict, row.against),
        "images on which it is better / worse / equal": f"{row.wins} / {row.losses} / {row.ties}",
        "p of the sign test (Holm)": format_p_value(row.p_holm),
    }
