"""The commands ``reproduce``, ``classify`` and ``compose``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.base import (
    AsJson,
    Device,
    Models,
    Precision,
    Root,
    Rounds,
    app,
    echo,
    emit,
    parse_pairs,
    require_writable,
    usage,
)
from workbench.cli.output import align_columns, number_lines
from workbench.records import require

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
    """Measure published numbers again, and judge each.

    A number is measured where its weights and data are on this machine; what is missing is said. Exit code 1
    means that a number lies outside, 3 that none could be measured.
    """
    with usage():
        from benchmark_sets import reproduce as published

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


@app.command(epilog="Example: workbench classify imagenet/ --model ViT-B-32:openai --templates seven")
@usage()
def classify(  # noqa: PLR0913 - typer reads the options from the signature
    folder: Annotated[str, typer.Argument(help="A folder a class, or what datasets has written.")],
    model: Models = None,
    templates: Annotated[
        str, typer.Option(help="name, photo, seven, or a file with {} in each line.")
    ] = "photo",
    classes: Annotated[str, typer.Option(metavar="FILE", help="Names of the classes, one a line.")] = "",
    column: Annotated[str, typer.Option(help="Column of the classes in what datasets has written.")] = "",
    linear_probe: Annotated[
        bool, typer.Option("--probe", help="Also learn a linear probe on train/.")
    ] = False,
    device: Device = "auto",
    precision: Precision = "auto",
    rounds: Rounds = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Classify images by names of classes, and by a linear probe.

    Several models make one table, and each is held against the first: what a model has forgotten in training
    is seen there.
    """
    import workbench as wb
    from benchmark_sets import classes as reading
    from benchmark_sets import classified
    from benchmark_sets.written import rounds_or_usual

    wb.use_device(device, precision)
    require(model, "name a model with --model")
    names = reading.read_names(classes)
    words = reading.read_templates(templates)
    test = reading.read_labelled(folder, "test", names, column)
    parts = classified.parts_of(folder, names, column) if linear_probe else None
    require_writable(root)
    results = []
    for each in model or ():
        results += classified.classify_all(each, test, words, parts, rounds_or_usual(rounds))
    differences = classified.differences_of(results, len(test.split.image_ids))
    numbers = classified.records(results, test, differences)
    file = classified.write(results, test, numbers, Path(root) / "classify")
    emit(numbers, as_json, [*classified.lines(results, test, differences), str(file)])


@app.command(epilog="Example: workbench compose scenes --model ViT-B-32:openai")
@usage()
def compose(
    data: Annotated[str, typer.Argument(help="scenes, cirr or fashioniq.")],
    model: Models = None,
    folder: Annotated[
        str, typer.Option("--folder", help="Of the data; empty looks below WORKBENCH_DATA.")
    ] = "",
    device: Device = "auto",
    precision: Precision = "auto",
    rounds: Rounds = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Find images by an image and a text that changes it.

    The sum of both vectors is measured, and each of the two alone. Of the synthetic scenes it is known
    exactly what is true of "the same scene in the snow".
    """
    import workbench as wb
    from benchmark_sets import composed
    from benchmark_sets.written import rounds_or_usual, write_records

    wb.use_device(device, precision)
    require(model, "name a model with --model")
    galleries = composed.load(data, folder or None)
    require_writable(root)
    records, lines = {}, [composed.describe(galleries)]
    for each in model or ():
        opened = wb.open_model(each)
        measured = composed.evaluate_composed(opened, galleries, rounds=rounds_or_usual(rounds))
        records[each] = [number.as_dict() for number in measured]
        lines += [each, *number_lines(measured, every=True)]
    file = write_records(Path(root) / "compose", data, {"data": data, "results": records})
    emit(records, as_json, [*lines, str(file)])
