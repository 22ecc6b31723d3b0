"""A paper's table that was made here, as page, Markdown, LaTeX and CSV: the same rows and texts in each."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from paper_tables.layout import Part
from paper_tables.table import SAME, Row, Table
from workbench.execution import report
from workbench.formatting import display_value, format_count, format_interval, unit_heading
from workbench.io import write_text
from workbench.metrics.comparison import Difference
from workbench.views.pages import fill_template
from workbench.views.plots.theme import CATEGORIES, axis_values, error_bars, panel_figure

# signs that LaTeX reads as something else, and those of the papers' tables that its fonts lack
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "∞": r"$\infty$",
    "†": r"\dag{}",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
    "₊": r"\textsubscript{+}",
    "\N{WARNING SIGN}": r"(!)",
}
# the greatest value of a parameter by the least, from which its axis is logarithmic
WIDE = 8
ONLY_PRINTED = "printed only, no arm of this grid"


def texts(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows as texts: label, number of seeds, our numbers with their intervals, those that
    are printed for the same test set, and what is to be said beside.

    Args:
        table: from ``execution.table.make``.
    """
    parts = [part for part in table.parts if part.word == SAME]
    printed = _printed_columns(table, parts)
    own = [f"{name}, {unit_heading(unit)}" for name, unit in table.columns.items()]
    theirs = [f"{head}, {_as_printed(table, head)}, {part.heading}" for part, head in printed]
    heads = ["row", "seeds", *own, *theirs, "beside"]
    rows = []
    for row in table.rows:
        if row.ours or any(row.printed in part.values for part in parts):
            rows.append(_row_cells(row, table, parts, printed))
    wide = len(heads) - (not any(row[-1] for row in rows))  # nothing is to be said beside any row
    return heads[:wide], [row[:wide] for row in rows]


def tables_of_other_sets(table: Table) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return heading, heads of columns and rows of each part that the paper measured on another test set, or
    of which it does not say the protocol: these do not stand beside numbers from here.

    Args:
        table: from ``execution.table.make``.
    """
    blocks = []
    for part in table.parts:
        if part.word == SAME:
            continue
        names = _table_heads(part)
        heads = ["row", *(f"{name}, {_as_printed(table, name)}" for name in names), "beside"]
        rows = []
        for row in table.rows:
            cells = part.values.get(row.printed or "")
            if cells:
                beside = part.remarks.get(row.printed or "", "")
                rows.append([row.printed or "", *(cells.get(name, "") for name in names), beside])
        wide = len(heads) - (not any(row[-1] for row in rows))
        where = f"{part.heading} ({part.word})" if part.word else part.heading
        blocks.append((f"In the paper, on {where}", heads[:wide], [row[:wide] for row in rows]))
    return blocks


def differences(table: Table) -> tuple[str, list[str], list[list[str]]]:
    """Return heading, heads of columns and rows as texts: of each row its differences from the first, with
    interval and verdict; no rows where nothing is compared.

    Args:
        table: from ``execution.table.make``.
    """
    by_row: dict[str, dict[str, str]] = {}
    heads: dict[str, str] = {}
    for difference in table.differences:
        label, unit = difference.label, difference.face
        value = format_interval(difference.value, difference.low, difference.high, unit, sign=True)
        heads[label] = f"{label}, {unit_heading(unit, difference=True)}"
        by_row.setdefault(difference.run, {})[label] = f"{value} {difference.mark} {difference.verdict}"
    rows = []
    for name, by_label in by_row.items():
        rows.append([name, *(by_label.get(label, "") for label in heads)])
    against = table.differences[0].against if table.differences else ""
    return f"Difference from {against}", ["row", *heads.values()], rows


def _as_printed(table: Table, head: str) -> str:
    """Return what the printed values are: the papers print correlations times 100."""
    return "printed x 100" if table.columns.get(head) == "correlation" else "printed"


def _table_heads(part: Part) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(part.values.values())))


def _printed_columns(table: Table, parts: Sequence[Part]) -> list[tuple[Part, str]]:
    """Return every printed column of some parts of a table, with its part."""
    columns: list[tuple[Part, str]] = []
    for part in parts:
        columns += [(part, head) for head in _table_heads(part)]
    return columns


def _row_cells(
    row: Row, table: Table, parts: Sequence[Part], printed: Sequence[tuple[Part, str]]
) -> list[str]:
    own = dict.fromkeys(table.columns, "")
    own |= {
        name: format_interval(*row.values[name], table.columns[name]) for name in own if name in row.values
    }
    beside = _remarks(row, parts) + ([] if row.ours else [ONLY_PRINTED])
    name = row.name if row.printed in (None, row.name) else f"{row.name} (printed as {row.printed})"
    theirs = [part.values.get(row.printed or "", {}).get(head, "") for part, head in printed]
    seeds = str(row.seeds) if row.ours else ""
    return [name, seeds, *own.values(), *theirs, "; ".join(dict.fromkeys(beside))]


def _remarks(row: Row, parts: Sequence[Part]) -> list[str]:
    """Return what is to be said beside the printed row."""
    return [text for part in parts if (text := part.remarks.get(row.printed or ""))]


def _comparison_sentence(row: Row, table: Table) -> str:
    """Return the same as a sentence of its own."""
    remarks = "; ".join(dict.fromkeys(_remarks(row, table.parts)))
    return f"{row.printed}: {remarks}." if remarks else ""


def markdown(table: Table) -> str:
    """Return the table as Markdown, with its notes and what is missing.

    Args:
        table: from ``execution.table.make``.
    """
    heads, rows = texts(table)
    heading, names, told = differences(table)
    below = [f"## {heading}", "", *_markdown_table(names, told), ""] if told else []
    for heading, names, lines in tables_of_other_sets(table):
        below += [f"## {heading}", "", *_markdown_table(names, lines), ""]
    notes = [f"- {note}" for note in _all_notes(table)]
    return "\n".join([f"# {table.title}", "", *_markdown_table(heads, rows), "", *below, *notes, ""])


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    body = []
    for line in lines:
        cells = " | ".join(cell.replace("|", "\\|") for cell in line)
        body.append(f"| {cells} |")
    return body


def latex(table: Table) -> str:
    """Return the table as LaTeX for the packages ``booktabs`` and ``graphicx``: what was measured here, and
    below it each part that was printed, since all of them beside one another are wider than a page can show.

    Args:
        table: from ``execution.table.make``.
    """
    own = [f"{name}, {unit_heading(unit)}" for name, unit in table.columns.items()]
    blocks = [
        (
            "Measured here",
            ["row", "seeds", *own],
            [_row_cells(row, table, table.parts, ()) for row in table.rows if row.ours],
        )
    ]
    for part in table.parts:
        names = _table_heads(part)
        lines = []
        for row in table.rows:
            if cells := part.values.get(row.printed or ""):
                lines.append([row.printed or "", *(cells.get(name, "") for name in names)])
        kind = _as_printed(table, names[0]) if names else "printed"
        blocks.append((f"{part.heading} ({part.word}), {kind}", ["row", *names], lines))
    heading, names, rows = differences(table)
    if rows:
        blocks.insert(1, (heading, names, rows))
    beside = {text: None for row in table.rows if (text := _comparison_sentence(row, table))}
    notes = r"\\ ".join(map(_escape_latex, [*_all_notes(table), *beside]))
    caption = rf"\caption{{{_escape_latex(table.title)}}}"
    body = [_tabular(*block) for block in blocks]
    ending = [rf"\par\footnotesize {notes}", r"\end{table}", ""]
    return "\n".join([r"\begin{table}", caption, *body, *ending])


def _tabular(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return one block of the table, made smaller where it is wider than the page."""
    head, *body = (" & ".join(map(_escape_latex, line[: len(heads)])) + r" \\" for line in [heads, *rows])
    begin = rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
    title = rf"\par\textit{{{_escape_latex(title)}}}\par"
    narrow = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    top = [title, narrow, begin, r"\toprule", head, r"\midrule"]
    return "\n".join([*top, *body, r"\bottomrule", r"\end{tabular}}"])


def _escape_latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def comma_separated(table: Table) -> str:
    """Return the table as CSV: each number and the ends of its interval in a column of its own, in the unit
    in which it is shown and printed; printed numbers of the same test set alone.

    Args:
        table: from ``execution.table.make``.
    """
    printed = _printed_columns(table, [part for part in table.parts if part.word == SAME])
    ours = []
    for name, unit in table.columns.items():
        ours += [f"{name}{end}, {unit_heading(unit)}" for end in ("", " low", " high")]
    theirs = [f"{_as_printed(table, head)} {head}, {part.heading}" for part, head in printed]
    apart = {(difference.run, difference.label): difference for difference in table.differences}
    keys = list(dict.fromkeys(difference.label for difference in table.differences))
    lines = []
    for row in table.rows:
        own: list[float | str] = []
        for name, unit in table.columns.items():
            own += [_csv_value(value, unit) for value in row.values.get(name, (None,) * 3)]
        cells = (part.values.get(row.printed or "", {}).get(head, "") for part, head in printed)
        compared = chain.from_iterable(_difference_values(apart.get((row.name, key))) for key in keys)
        seeds = row.seeds if row.ours else ""
        lines.append([row.name, row.printed or "", seeds, *own, *cells, *compared])
    against = dict.fromkeys(f"{difference.label} from {difference.against}" for difference in apart.values())
    heads = ["row", "printed as", "seeds", *ours, *theirs]
    for head in against:
        heads += [head, f"{head} low", f"{head} high", f"{head} verdict"]
    return pd.DataFrame(lines, columns=heads, dtype=object).to_csv(index=False, lineterminator="\n")


def _csv_value(value: float | None, unit: str) -> float | str:
    return "" if value is None else display_value(value, unit)


def _difference_values(difference: Difference | None) -> list[object]:
    """Return a difference, the ends of its interval and its verdict; empty for what is not compared."""
    if difference is None:
        return [""] * 4
    numbers = (difference.value, difference.low, difference.high)
    return [*(_csv_value(value, difference.face) for value in numbers), difference.verdict]


def curves(table: Table) -> dict[str, Any]:
    """Return the figure below the table, as plotly's JSON: RSUM, or the first number that was measured, over
    each parameter; nothing where no row of a curve has it.

    Args:
        table: from ``execution.table.make``.
    """
    head = next(
        (head for head, unit in table.columns.items() if unit == "sum"), next(iter(table.columns), "")
    )
    values = {
        row.name: value for row in table.rows if (value := row.values.get(head)) and value[0] is not None
    }
    drawn = {}
    for name, numbers in table.curves.items():
        points = {x: values[row] for row, x in numbers.items() if row in values}
        if points:
            drawn[name] = points
    if not drawn:
        return {}
    seeds = max(row.seeds for row in table.rows)
    title = f"{head} over the parameter, mean of {format_count(seeds, 'seed')} and 95 % interval"
    fig = draw_over_parameter(drawn, title=title, y=head, unit=table.columns[head])
    figure: dict[str, Any] = json.loads(fig.to_json())
    return figure


def draw_over_parameter(
    by_parameter: Mapping[str, Mapping[float, tuple[float | None, float | None, float | None]]],
    *,
    title: str,
    y: str,
    unit: str,
) -> go.Figure:
    """Draw one panel a parameter: a number over it, with intervals; a wide range is drawn by its logarithm.

    Args:
        by_parameter: name of the parameter -> its value -> mean and the ends of its interval, ``None`` = not
            known.
        title: what the figure shows.
        y: name of the number.
        unit: what the number is, of ``formatting.UNITS``.
    """
    fig = panel_figure(list(by_parameter), title, "", f"{y}, {unit_heading(unit)}", spacing=0.05)
    for column, by_value in enumerate(by_parameter.values(), 1):
        x = sorted(by_value)
        numbers = pd.DataFrame([by_value[at] for at in x], columns=["value", "low", "high"])
        bars = error_bars(numbers["value"], numbers["low"], numbers["high"], CATEGORIES[0], unit, width=5)
        hovers = [f"{at}: {format_interval(*by_value[at], unit)}" for at in x]
        marker = {"color": CATEGORIES[0], "size": 9}
        line = {"color": CATEGORIES[0], "width": 2.5}
        fig.add_scatter(
            x=x,
            y=axis_values(numbers["value"], unit),
            error_y=bars,
            mode="lines+markers",
            marker=marker,
            line=line,
            hoverinfo="text",
            hovertext=hovers,
            showlegend=False,
            row=1,
            col=column,
        )
        axis = {"type": "linear", "title": "value"}
        if x[0] > 0 and x[-1] / x[0] >= WIDE:
            axis = {"type": "log", "title": "value, log scale"}
        fig.update_xaxes(tickvals=x, ticktext=list(map(str, x)), row=1, col=column, **axis)
    return fig.update_layout(height=360)


def _all_notes(table: Table) -> list[str]:
    lacking = [f"{label} ({why})" for label, why in table.missing.items()]
    return [*table.notes, *([f"Missing: {'; '.join(lacking)}."] if lacking else [])]


def write(table: Table, folder: Path | str) -> dict[str, Path]:
    """Write all four files.

    Args:
        table: from ``execution.table.make``.
        folder: where they go, as ``<name>.html``, ``.md``, ``.tex`` and ``.csv``.

    Returns:
        Ending -> path.
    """
    heads, rows = texts(table)
    drawn = curves(table)
    about = {"title": table.title, "intro": "", "notes": _all_notes(table)}
    script, figure = (report.plotly_script(), report.figure_div(drawn, "curves")) if drawn else ("", "")
    heading, names, compared = differences(table)
    below = [{"heading": heading, "names": names, "rows": compared}] if compared else []
    below += [
        {"heading": title, "names": names, "rows": lines}
        for title, names, lines in tables_of_other_sets(table)
    ]
    html = fill_template(
        "views/pages/table.html.j2",
        **about,
        sortable=False,
        links={},
        tables=[{"heading": "", "names": heads, "rows": rows}, *below],
        script=Markup(script),
        figure=Markup(figure),
    )
    every = {"html": html, "md": markdown(table), "tex": latex(table), "csv": comma_separated(table)}
    return {end: write_text(Path(folder) / f"{table.name}.{end}", text) for end, text in every.items()}
