"""The search on the command line: the command ``slices``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import workbench as wb
from workbench.cli.base import AsJson, Root, app, emit, require_writable, usage
from workbench.cli.output import align_columns
from workbench.io import write_text
from workbench.runs import store

if TYPE_CHECKING:
    from slice_search.kinds import ErrorKinds
    from slice_search.report import SliceReport

Runs = Annotated[
    list[str], typer.Argument(help="One run, or two of one data set; the first is the baseline.")
]
Number = Annotated[
    str, typer.Option(metavar="KEY", help="Number to compare, of one direction; empty takes R@1 of captions.")
]
By = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD", help="Field to search, or word, or shows; repeatable; none takes all."),
]
Rule = Annotated[
    Literal["holm", "bh"],
    typer.Option(help="Bound the chance of any false slice (holm), or their share (bh)."),
]
Minimum = Annotated[int, typer.Option(min=2, help="Images of a slice, and of its rest, at least.")]
Most = Annotated[int, typer.Option(min=1, help="Slices to report at most.")]
Pairs = Annotated[bool, typer.Option(help="Search slices of two conditions too.")]
Clusters = Annotated[
    int, typer.Option(min=0, help="Search so many clusters of the embedding space instead; 0 makes none.")
]
Save = Annotated[
    str,
    typer.Option(metavar="NAME", help="Save the slices, for --by slice:NAME-1 elsewhere."),
]
Kinds = Annotated[bool, typer.Option("--kinds", help="Count wrong first answers by what they lack.")]
Explore = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the explorer's page too, to which slices lead."),
]
Page = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with typical queries.")]


@app.command(epilog="Example: workbench slices RUN RUN --by language --page slices.html")
def slices(  # noqa: PLR0913 - typer reads the options from the signature
    run: Runs,
    number: Number = "",
    by: By = None,
    rule: Rule = "holm",
    minimum: Minimum = 20,
    most: Most = 10,
    pairs: Pairs = True,
    clusters: Clusters = 0,
    save: Save = "",
    kinds: Kinds = False,
    page: Page = None,
    explorer: Explore = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Find slices on which a run is worse, or on which two differ.

    Searches every field of the data, the words of captions, what images show, and pairs of these. Reports
    what is significant after the correction for everything that was searched.
    """
    from slice_search.kinds import error_kinds
    from slice_search.report import find_slices

    with usage():
        for file in filter(None, (page, explorer)):
            require_writable(file.parent)
        opened = wb.open_runs([str(store.find(text, root).folder) for text in run])
        how: dict[str, Any] = {"rule": rule, "minimum": minimum, "most": most, "pairs": pairs}
        report = find_slices(*opened, key=number, by=by or (), clusters=clusters, **how)
        errors = error_kinds(opened, report.direction) if kinds else None
        lines = _lines(report, errors)
        labels = _save_slices(report, save) if save else _labels(report)
        lines += _lines_of_next(run, labels)
        lines += _write_pages(page, explorer, report, errors)
    emit(_as_json(report, errors), as_json, lines)


def _lines(report: "SliceReport", errors: "ErrorKinds | None") -> list[str]:
    """Return what is printed."""
    from slice_search.page import kinds_table
    from slice_search.report import HEADS

    lines = [report.title, *align_columns([HEADS, *report.rows()]), report.summary()]
    if errors:
        table = kinds_table(errors)
        lines += ["", *align_columns([table["heads"], *table["rows"]]), table["says"]]
    return lines


def _labels(report: "SliceReport") -> list[str]:
    """Return by which labels other commands read the slices."""
    return [part.label for part in report.findings.slices] if report.named else []


def _save_slices(report: "SliceReport", name: str) -> list[str]:
    """Save the slices as ``NAME-1`` and so on, and return their labels."""
    from workbench.runs.saved_slices import PREFIX, save_slice

    labels = []
    for number, part in enumerate(report.findings.slices, 1):
        rows = part.mask.nonzero()[0].tolist()
        about = f"{report.describe(part)}; {report.title}"
        save_slice(report.split, f"{name}-{number}", rows, direction=report.direction, about=about)
        labels.append(f"{PREFIX}{name}-{number}=yes")
    return labels


def _lines_of_next(run: list[str], labels: list[str]) -> list[str]:
    """Return the command that lists the queries of the first slice."""
    if not labels:
        return []
    return [f'workbench errors {" ".join(run)} --where "{labels[0]}" lists the queries behind a slice']


def _write_pages(
    page: Path | None, explorer: Path | None, report: "SliceReport", errors: "ErrorKinds | None"
) -> list[str]:
    """Write the pages that were asked for, and return their paths."""
    from slice_search.page import write_explorer, write_page

    paths = []
    address = ""
    if explorer:
        paths.append(str(write_explorer(report, explorer)))
        address = Path(os.path.relpath(explorer, page.parent if page else ".")).as_posix()
    if page:
        paths.append(str(write_text(page, write_page(report, errors, explorer=address))))
    return paths


def _as_json(report: "SliceReport", errors: "ErrorKinds | None") -> dict[str, object]:
    """Return what ``--json`` prints."""
    return report.as_dict() | ({"kinds": errors.table.to_dict("records")} if errors else {})
