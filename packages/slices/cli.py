"""The search on the command line: the command ``slices``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import workbench as wb
from workbench.cli.base import AsJson, Root, app, emit, require_writable, usage
from workbench.cli.output import align_columns
from workbench.io import write_text
from workbench.runs import store


@app.command(epilog="Example: workbench slices RUN RUN --by language --page slices.html")
def slices(  # noqa: PLR0913 - typer reads the options from the signature
    run: Annotated[
        list[str], typer.Argument(help="One run, or two of one data set; the first is the baseline.")
    ],
    number: Annotated[
        str, typer.Option(metavar="KEY", help="Number to compare, of one direction.")
    ] = "t2i/R@1",
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Fields to search, or word, shows; repeatable; none takes all."),
    ] = None,
    rule: Annotated[
        Literal["holm", "bh"], typer.Option(help="Bound any false slice (holm) or their share (bh).")
    ] = "holm",
    minimum: Annotated[int, typer.Option(min=2, help="Images of a slice, and of its rest, at least.")] = 20,
    most: Annotated[int, typer.Option(min=1, help="Slices to report at most.")] = 10,
    pairs: Annotated[bool, typer.Option(help="Search slices of two conditions too.")] = True,
    kinds: Annotated[
        bool, typer.Option("--kinds", help="Count wrong first answers by what they lack.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with typical queries.")
    ] = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Find the slices on which a run is worse, or on which two runs differ most.

    Searches every field of the data, the words of captions, what images show, and pairs of these. Reports
    what is significant after the correction for everything that was searched.
    """
    from slices.kinds import error_kinds
    from slices.page import kinds_table, write_page
    from slices.report import HEADS, find_slices

    with usage():
        if page:
            require_writable(page.parent)
        opened = wb.open_runs([str(store.find(text, root).folder) for text in run])
        report = find_slices(
            *opened, key=number, by=by or (), rule=rule, minimum=minimum, most=most, pairs=pairs
        )
        errors = error_kinds(opened, "i2t" if report.direction == "i2t" else "t2i") if kinds else None
    lines = [report.title, *align_columns([HEADS, *report.rows()]), report.summary()]
    answer = report.as_dict()
    if errors:
        table = kinds_table(errors)
        lines += ["", *align_columns([table["heads"], *table["rows"]]), table["says"]]
        answer["kinds"] = errors.table.to_dict("records")
    if page:
        lines.append(str(write_text(page, write_page(report, errors))))
    emit(answer, as_json, lines)
