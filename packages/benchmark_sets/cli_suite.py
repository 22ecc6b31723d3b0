"""The command ``suite``: several models on several benchmarks."""

from typing import Annotated, Any

import typer

from workbench.cli.base import (
    AsJson,
    Precision,
    Rounds,
    app,
    emit,
    parse_pairs,
    progress_callback,
    require_writable,
    usage,
)
from workbench.cli.output import align_columns
from workbench.io import read_options
from workbench.records import require
from workbench.registry import require_known

# what the file of a suite may hold
KEYS = ("models", "benchmarks", "folders", "devices", "executor", "rounds")

Benchmarks = Annotated[
    list[str] | None,
    typer.Argument(
        help="Data sets, paths, or KIND:NAME, where KIND is classify, compose, languages or lengths.",
        show_default=False,
    ),
]
SuiteModels = Annotated[
    list[str] | None,
    typer.Option("--model", help="An open_clip name, NAME:TAG, a run, a folder or hub name; repeatable."),
]
SuiteFile = Annotated[str, typer.Option("--file", metavar="YAML", help=f"A file of {', '.join(KEYS)}.")]
Folders = Annotated[
    list[str] | None, typer.Option("--folder", metavar="NAME=FOLDER", help="Of a data set; repeatable.")
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", help="auto, cpu or cuda:1; several share the models; repeatable."),
]
Executor = Annotated[str, typer.Option(help="local, submitit or dask, where each model is a job.")]
Tracker = Annotated[str, typer.Option(help="Log the numbers to tensorboard, wandb or mlflow.")]
OutFolder = Annotated[str, typer.Option("--out", help="Folder of the suite; one that is there is added to.")]


@app.command(epilog="Example: workbench suite winoground sugarcrepe --model ViT-B-32:openai --model my_clip/")
@usage()
def suite(  # noqa: PLR0913 - typer reads the options from the signature
    benchmarks: Benchmarks = None,
    model: SuiteModels = None,
    file: SuiteFile = "",
    folder: Folders = None,
    out: OutFolder = "runs/suite",
    device: Devices = None,
    precision: Precision = "auto",
    executor: Executor = "local",
    rounds: Rounds = None,
    tracker: Tracker = "",
    as_json: AsJson = False,
) -> None:
    """Measure several models on several benchmarks.

    An image or a text is encoded once by each model, whatever data set it is of. The same command goes on
    where it was stopped. What cannot be measured is said in its cell. --out gets a page, CSV, LaTeX, results
    for mteb and model cards for the hub. Without models and benchmarks, these are written again. Exit code 3
    means that data are missing, 1 that a model failed.
    """
    import workbench as wb
    from benchmark_sets import suite_exports, suite_page, suites
    from benchmark_sets.written import rounds_or_usual
    from workbench.training.processes import check_machine

    fields = _read_file(file)
    models = [*fields.get("models", []), *(model or [])]
    names = [*fields.get("benchmarks", []), *(benchmarks or [])]
    devices = device or fields.get("devices", [])
    wb.use_device(devices[0] if len(devices) == 1 else "auto", precision)
    require_writable(out)
    check_machine("cpu", tracker)
    if models or names:
        how: dict[str, Any] = {"folders": {**fields.get("folders", {}), **parse_pairs(folder)}}
        how |= {"executor": executor, "options": fields.get("executor"), "devices": devices}
        how["rounds"] = rounds_or_usual(fields.get("rounds") if rounds is None else rounds)
        measured = suites.suite(models, names, out, say=progress_callback(), **how)
    else:
        measured = suites.read_suite(out)
    page = suite_page.write_page(measured)
    suite_exports.write_all(measured)
    if tracker:
        suite_exports.log_to(tracker, measured, progress_callback())
    emit(_records(measured), as_json, [*_lines(measured), str(page)])
    statuses = {cell.status for cell in measured.cells}
    raise typer.Exit(1 if "failed" in statuses else 3 * ("missing" in statuses))


def _read_file(file: str) -> dict[str, Any]:
    """Read the file of a suite; nothing where there is none."""
    fields = dict(read_options(file)) if file else {}
    for key, value in fields.items():
        require_known(f"{file}: no key", key, KEYS)
        kinds = {"folders": dict, "executor": dict, "rounds": int}
        kind = kinds.get(key, list)
        require(isinstance(value, kind), f"{file}: {key} is {value!r:.60}; give a {kind.__name__}")
    return fields


def _records(measured: Any) -> list[dict[str, Any]]:
    """Return the numbers of a suite as JSON values."""
    table = measured.table()
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


def _lines(measured: Any) -> list[str]:
    """Return a table for each benchmark, a row a model, and what could not be measured."""
    from workbench.records.measurement import measurement_row

    lines: list[str] = []
    table = measured.table(every=False)
    for name, rows in table.groupby("benchmark", sort=False):
        labels = list(dict.fromkeys(rows["number"].dropna()))
        cells: dict[str, dict[str, str]] = {}
        chances: dict[str, str] = {}
        for row in rows.to_dict("records"):
            if row["status"] == "ok":
                shown = measurement_row(row["number"], {key: _known(value) for key, value in row.items()})
                cells.setdefault(row["model"], {})[row["number"]] = shown["value"]
                chances[row["number"]] = shown["chance"]
        if labels:
            cells["chance"] = chances
            body = [[str(name), *labels]]
            for model, texts in cells.items():
                body.append([model, *(texts.get(label, "") for label in labels)])
            lines += [*align_columns(body), ""]
    return [*lines, *measured.problems(), measured.summary()]


def _known(value: Any) -> Any:
    """Return a value of a table; ``None`` where there is none."""
    return None if value != value else value
