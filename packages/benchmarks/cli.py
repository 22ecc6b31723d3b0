"""The command ``reproduce``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.base import AsJson, Root, app, echo, emit, parse_pairs, require_writable, usage
from workbench.cli.output import align_columns

Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weights", metavar="MODEL=PLACE", help="A file, folder or object for a model; repeatable."
    ),
]
DataRoots = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="NAME=FOLDER", help="Folder of a data set; repeatable."),
]


@app.command(epilog="Example: workbench reproduce ViT-B-32 --data coco=coco/")
def reproduce(
    name: Annotated[str, typer.Argument(help="A model or a data set; empty takes all.")] = "",
    weights: Weights = None,
    data: DataRoots = None,
    table: Annotated[str, typer.Option(metavar="FILE", help="Another table of published numbers.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the numbers and their sources.")] = False,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Measure published numbers again, and say which are within their tolerance.

    A number is measured where its weights and data are on this machine; what is missing is said. Exit code 1
    means that a number lies outside, 3 that none could be measured.
    """
    with usage():
        from benchmarks import reproduce as published

        rows = published.choose(published.read_published(table or published.FILE), name)
        if dry_run:
            cells = [(row.model or "-", row.data, row.number, str(row.value), row.source) for row in rows]
            emit([vars(row) for row in rows], as_json, align_columns(cells))
            return
        folder = Path(root) / "reproduce"
        require_writable(folder)
        say = partial(echo, err=True)
        places = {"weights": parse_pairs(weights), "roots": parse_pairs(data)}
        outcomes = published.reproduce(rows, say=say, **places)
        files = published.write_outcomes(outcomes, folder)
    lines = align_columns(published.lines_of(outcomes))
    lines += dict.fromkeys(outcome.reason for outcome in outcomes if outcome.reason)
    records = [{**vars(outcome), "published": vars(outcome.published)} for outcome in outcomes]
    emit(records, as_json, [*lines, published.summary(outcomes), *map(str, files)])
    statuses = {outcome.status for outcome in outcomes}
    raise typer.Exit(1 if "outside" in statuses else 3 * (statuses == {"not run"}))
