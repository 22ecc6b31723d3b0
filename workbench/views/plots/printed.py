"""One's own numbers above those that papers print, as a table that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from workbench.views.plots.theme import escape

# the class twice: a notebook page aligns all cells to the right by a rule of two classes
STYLE = """<style>
.printed { border-collapse: collapse; font: 13px/1.3 system-ui, sans-serif; color: inherit; background: transparent; }
.printed caption { text-align: left; color: inherit; padding: 4px 0 8px; font-size: 15px; } .printed caption b { display: block; }
table.printed.printed td, table.printed.printed th { background: transparent; padding: 2px 10px 2px 0; white-space: nowrap; }
table.printed.printed td { text-align: right; font-variant-numeric: tabular-nums; }
table.printed.printed th, table.printed.printed td:last-child { text-align: left; font-weight: normal; }
table.printed.printed td:last-child { white-space: normal; min-width: 14em; font-size: 12px; }
table.printed.printed thead th { text-align: right; font-weight: bold; }
table.printed.printed thead th:first-child { text-align: left; }
table.printed.printed th[scope=rowgroup] { font-weight: bold; padding-top: 10px; border-top: 1px solid rgba(128, 128, 128, .5); }
</style>"""
ABOUT = ("paper", "group", "method", "beside")


def printed(columns: Mapping[str, Sequence[str]], *, title: str, reason: str = "") -> str:
    """Rows of several papers under headings, one column a number, and what is to be said beside a row.

    Args:
        columns: texts by heading: ``paper`` and ``group`` make the headings, ``method`` and ``beside`` stand
            at the ends of a row, whatever else there is are numbers.
        title: data set and protocol of the rows.
        reason: why one's own rows do not compare with the others; empty where they do.

    Returns:
        HTML with all texts escaped.

    Raises:
        ValueError: the columns differ in length.
    """
    names = [name for name in columns if name not in ABOUT]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(
        _block(list(part), names) for _, part in groupby(rows, lambda row: (row["paper"], row["group"]))
    )
    verdict = (
        f"\N{WARNING SIGN} Not comparable: {reason}."
        if reason
        else "\N{CHECK MARK} Measured alike: split, counts and gallery agree."
    )
    caption = f"<caption><b>{escape(title)}</b>{escape(verdict)}</caption>"
    head = f'<thead><tr><th scope="col">method</th>{heads}<td></td></tr></thead>'
    return f'{STYLE}<table class="printed">{caption}{head}{body}</table>'


def _block(rows: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    heading = ", ".join(text for text in (rows[0]["paper"], rows[0]["group"]) if text)
    lines = []
    for row in rows:
        cells = "".join(f"<td>{escape(row[name])}</td>" for name in names)
        lines.append(
            f'<tr><th scope="row">{escape(row["method"])}</th>{cells}<td>{escape(row["beside"])}</td></tr>'
        )
    return f'<tbody><tr><th scope="rowgroup" colspan="{len(names) + 2}">{escape(heading)}</th></tr>{"".join(lines)}</tbody>'
