"""Commands that inspect runs, members of the registries, data and this machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import workbench as wb
from workbench.cli import describe, run_page
from workbench.cli.base import (
    USUAL,
    AsJson,
    By,
    Device,
    Every,
    GalleryOfSlices,
    Precision,
    RandomWeights,
    Root,
    Tagged,
    app,
    emit,
    require_writable,
    usage,
)
from workbench.cli.output import (
    align_columns,
    changed_numbers,
    comparison_lines,
    cut_lines,
    screen_width,
)
from workbench.execution import library, parameters
from workbench.execution.doctor import examine
from workbench.formatting import format_bytes
from workbench.records import require
from workbench.records.measurement import contracts_of, headline, leading_line, measurement_row
from workbench.registry import require_known
from workbench.runs import store as runs
from workbench.runs.place import serving
from workbench.runs.spellings import name_of

Model = Annotated[str, typer.Option(help="Any open_clip model: its name, or the path of its JSON file.")]
Pretrained = Annotated[str, typer.Option(help="Its weights: a file, or a tag of open_clip.")]
NO_MODEL = (
    "--pretrained, --random-weights and --images belong to --model; name one, such as ViT-B-32:openai, or "
    "the folder of a run"
)
# columns of `ls`, and those that are there only where a run has one
HEADS = (
    "when",
    "took",
    "run",
    "name",
    "tags",
    "size",
    "notebook",
    "status",
    "data",
    "objective",
    "seed",
    "queries",
    "headline",
)
SOMETIMES = ("name", "tags", "size")
Runs = Annotated[
    list[str] | None, typer.Argument(help="Runs of one data set; none takes the shipped encoder.")
]
Page = Annotated[Path | None, typer.Option("--page", help="Write answers as a page, open nothing.")]
Ask = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A question for --page; repeatable.")]
Select = Annotated[
    str,
    typer.Option(
        metavar="QUERIES",
        help="Select the queries behind a number: NUMBER[language=de]; right in A; wrong in B.",
    ),
]
Images = Annotated[str, typer.Option(metavar="FOLDER", help="Folder of images.")]
InTab = Annotated[
    bool, typer.Option("--app", help="Serve the explorer alone, in a tab without JupyterLab (Voilà).")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Where the server listens; 0 takes a free one.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address, open no tab.")]


@app.command(epilog="Example: workbench explore --model ViT-B-32 --pretrained mine.pt --images photos")
def explore(  # noqa: PLR0913 - typer reads the options from the signature
    run: Runs = None,
    tag: Tagged = None,
    model: Model = "",
    pretrained: Pretrained = "",
    random_weights: RandomWeights = False,
    images: Images = "",
    root: Root = "runs",
    prepare: Annotated[bool, typer.Option("--prepare", help="Write the notebook, open nothing.")] = False,
    answers: Page = None,
    ask: Ask = None,
    select: Select = "",
    in_tab: InTab = False,
    port: Port = 0,
    no_browser: NoBrowser = False,
    allow_root: Annotated[bool, typer.Option("--allow-root", help="Let root start the server.")] = False,
    device: Device = "auto",
    precision: Precision = "auto",
    as_json: AsJson = False,
) -> None:
    """Open JupyterLab on the retrieval explorer.

    Compares several runs of one data set. With --images it asks any model, or one run, about images of your
    own. With --app, the explorer stands alone in a tab of the browser. With --page, answers become a page
    that reads offline: to your questions, or to the ten captions on which the runs disagree most. With
    --select, the explorer opens on the queries behind a number of a table.
    """
    from workbench.execution import servers

    with usage():
        wb.use_device(device, precision)
        run = _choose_runs(run or [], tag or [], root)
        require(not (run and model), "give runs, or --model with --images, not both")
        if images and run and len(run) == 1:
            model, run = str(runs.find(run[0], root).folder), []
        require(model or not (pretrained or images or random_weights), NO_MODEL)
        _require_page(ask or [], answers, in_tab)
        if in_tab and not prepare:
            servers.require_app(allow_root=allow_root)
        own = (model, images, pretrained, random_weights)
        _require_selection(select, model)
        shown = _write_page(answers, ask or [], run, root, own, select) if answers else None
        path = shown or _explorer_notebook(run, root, own, (device, precision), in_tab=in_tab, select=select)
    emit({"page" if answers else "notebook": str(path)}, as_json, [str(path)])
    if not (prepare or answers):
        serve = servers.open_app if in_tab else servers.open_lab
        _serve(partial(serve, path, allow_root=allow_root, port=port, browser=not no_browser), root)


def _serve(serve: Callable[[], int], root: str) -> None:
    """Serve until it ends, and end the command with its exit code; notebooks write their runs to ``root``."""
    with usage(), serving(root):
        raise typer.Exit(serve())


def _require_page(ask: Sequence[str], page: Path | None, in_tab: bool) -> None:
    """Raise if questions have no page, or a page has a tab."""
    require(not ask or page, "--ask gives the questions of a page; name its file with --page")
    require(not (in_tab and page), "give --app or --page, not both")


def _explorer_notebook(
    names: Sequence[str],
    root: str,
    own: tuple[str, str, str, bool],
    on: tuple[str, str],
    *,
    in_tab: bool,
    select: str,
) -> Path:
    """Return the notebook that shows the explorer: of a model, of runs, or in a tab of its own."""
    from workbench.execution import jupyter

    if own[0]:
        jupyter.require_model(*own)
        return jupyter.write_model_explorer(*own, root=root, on=on, in_tab=in_tab)
    if in_tab:
        return jupyter.write_run_explorer(names, root=root, on=on, select=select)
    return jupyter.write_explorer(names, root=root, on=on, select=select)


def _require_selection(select: str, model: str) -> None:
    """Raise if a selection cannot be read, or is of a model that answers about images of one's own."""
    require(not (select and model), "--select chooses queries of runs; evaluate the model, and name its run")
    if select:
        from workbench.runs.selection import Selection

        Selection.parse(select)


def _choose_runs(names: list[str], tags: list[str], root: str) -> list[str]:
    """Return the runs that were named, or else those with tags.

    Raises:
        FileNotFoundError: no run has the tags.
    """
    if not tags:
        return names
    require(not names, "name runs, or choose them by --tag, not both")
    tagged = [str(run.folder) for run in runs.list_runs(root, tags=tags) if run.status in ("ok", "unwatched")]
    require(tagged, _explain_no_run("*", tags, root), FileNotFoundError)
    return tagged


def _write_page(
    file: Path,
    asked: Sequence[str],
    names: Sequence[str],
    root: str,
    own: tuple[str, str, str, bool],
    select: str,
) -> Path:
    """Return the explorer's answers as a page; without a question, to those on which the runs disagree most,
    or, of one run, to the one it opens with.
    """
    require(not file.is_dir(), f"{file} is a folder; name a file, such as {file / 'answers.html'}", OSError)
    require_writable(file.parent)
    from workbench.execution import jupyter

    model, images, pretrained, random = own
    if model:
        jupyter.require_model(*own)
        shown: Sequence[Any] = [wb.open_model(model, pretrained, random_weights=random)]
    else:
        shown = wb.open_runs(names, root=root)
    explorer = wb.explore(*shown, images=images or None, select=select)
    return explorer.to_html(file, questions=asked or explorer.most_different())


@app.command(epilog="Example: workbench params 03_train")
@usage()
def params(notebook: str, as_json: AsJson = False) -> None:
    """List the parameters of a notebook: name, type, default, help."""
    rows = [
        asdict(parameter) for parameter in parameters.read_parameters(library.find_file(notebook)).values()
    ]
    emit(rows, as_json, align_columns((p["name"], p["type"], repr(p["default"]), p["help"]) for p in rows))


@app.command(epilog="Example: workbench ls --notebook 03_train")
@usage()
def ls(
    notebook: str = "*",
    size: Annotated[bool, typer.Option("--size", help="Say what each takes on the disk.")] = False,
    tag: Tagged = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """List the runs, oldest first.

    Each with its start, time, status and main number.
    """
    require(root == "runs" or Path(root).is_dir(), f"there is no folder {root!r}", FileNotFoundError)
    listed = runs.list_runs(root, notebook, tag or [])
    if not listed and not as_json:
        emit([], as_json, [_explain_no_run(notebook, tag or [], root)])
        return
    rows = list[dict[str, object]]()
    entries = []
    for run in listed:
        line, entry = _run_row(run), asdict(run)
        if size:
            entry["bytes"] = runs.size_of(run.folder)
            line["size"] = format_bytes(entry["bytes"])
        rows.append(line)
        rows += map(_evaluation_row, run.evaluations_as_runs())
        entries.append(entry)
    bad = [f"{run.folder} is {run.status}" for run in listed if run.status.startswith(runs.UNREADABLE)]
    emit(entries, as_json, [*_run_lines(rows), *bad])


def _run_lines(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return runs as lines, each run on two where the screen is too narrow for one."""
    filled = set[str]()
    for row in rows:
        filled |= {head for head, cell in row.items() if cell}
    # names, tags and sizes have a column where any run has one
    heads = [head for head in HEADS if head not in SOMETIMES or head in filled]
    table: list[list[object]] = [[*heads]]
    for row in rows:
        table.append([row.get(head, "") for head in heads])
    lines = align_columns(table)
    if max(map(len, lines)) <= screen_width():
        return lines
    middle = heads.index("status") + 1
    firsts = align_columns(cells[:middle] for cells in table)
    seconds = align_columns(cells[middle:] for cells in table)
    halves = list[str]()
    for first, second in zip(firsts, seconds, strict=True):
        halves += [first, f"    {second}"]
    return halves


def _explain_no_run(notebook: str, tags: Sequence[str], root: str) -> str:
    """Explain that no run matches, and how to make one."""
    which = "" if notebook == "*" else f" of {notebook!r}"
    tagged = f" with the tag {' and '.join(tags)}" if tags else ""
    hint = "`workbench ls` lists all" if tags else "`workbench run 03_train` makes one"
    return f"no run{which}{tagged} below {root}; {hint}"


def _run_row(run: Any) -> dict[str, object]:
    """Return a run in the list, with its first numbers: what the results say, else what the parameters ask
    for.
    """
    known = {**run.params, **run.results}
    measured = dict(contracts_of(run.results))
    queries = next((measurement_row(label, measured[label])["queries"] for label in headline(measured)), "")
    ended = runs.UNREADABLE if run.status.startswith(runs.UNREADABLE) else run.status
    seconds = run.env.get("seconds")
    took = "" if seconds is None else str(timedelta(seconds=round(seconds)))
    began = f"{run.began:%Y-%m-%d %H:%M}" if run.began else ""
    tags = " ".join(run.about.tags)
    seed = known.get("seed", "")
    data = Path(str(known.get("dataset", name_of(known.get("data", "")))))
    objective = run.results.get("objective") or run.results.get("model")
    objective = objective or name_of(known.get("objective", ""))
    return {
        "when": began,
        "took": took,
        "run": run.id,
        "name": run.about.name,
        "tags": tags,
        "notebook": run.notebook,
        "status": ended,
        "data": data.name,
        "objective": objective,
        "seed": seed,
        "queries": queries,
        "headline": leading_line(measured),
    }


def _evaluation_row(run: Any) -> dict[str, object]:
    """Return the line of an evaluation on other data, below its run."""
    own = {"when": "", "took": "", "name": "", "tags": ""}
    return _run_row(run) | own | {"run": f"  {run.folder.name}", "notebook": "evaluate"}


@app.command(epilog="Example: workbench show runs/mine --all")
@usage()
def show(run: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """Show one run: its status, settings, main numbers and files.

    Each number has its interval and the count of its queries. With --all come all parameters and numbers.
    """
    shown = runs.find(run, root)
    emit(asdict(shown), as_json, run_page.run_lines(shown, every=every))


@app.command(epilog="Example: workbench diff runs/mine runs/other")
@usage()
def diff(
    first: str,
    second: str,
    every: Every = False,
    by: By = None,
    gallery: GalleryOfSlices = "whole",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Show what differs between two runs.

    Parameters and main numbers, with the paired difference where both runs kept values by query. With --by
    the differences in each slice of the queries, all adjusted together.
    """
    a, b = runs.find(first, root), runs.find(second, root)
    differing = runs.diff(a, b)
    parts = differing if every else {"params": differing["params"]}
    rows = list[tuple[str, object, object]]()
    for part, values in parts.items():
        rows += [(f"{part}: {name}", *both) for name, both in values.items()]
    require(by or gallery == "whole", "--gallery slice belongs to slices; say by which field, --by FIELD")
    measured, compared = changed_numbers(a, b, every) if not by else _changed_slices(a, b, by, gallery)
    lines = align_columns(rows) if every else cut_lines(align_columns(rows))
    lines += measured
    if not by and not any(differing.values()):
        lines = ["no difference"]
    emit(differing | {"differences": compared}, as_json, lines)


def _changed_slices(
    a: runs.Run, b: runs.Run, by: list[str], gallery: Literal["whole", "slice"]
) -> tuple[list[str], dict[str, Any]]:
    """Compare two runs in each slice of the queries of their data: lines, and the differences by number."""
    comparison = wb.compare(a.folder, b.folder, by=by, gallery=gallery)
    rows = comparison.differences.to_dict("records")
    return comparison_lines(comparison), {row["key"]: row for row in rows}


@app.command("list", epilog="Example: workbench list objectives")
@usage()
def list_registry(
    registry: Annotated[str, typer.Argument(show_default=False)] = "", as_json: AsJson = False
) -> None:
    """List what has a name, of one registry or of all.

    The registries are data, encoders, metrics, objectives and text. Configs and grids are files to run.
    Tables are the tables and figures of the papers, each with its command.
    """
    if not registry:
        rows, lines = describe.all_members(screen_width())
    elif registry in describe.LISTS:
        rows, lines = describe.LISTS[registry][1]()
    else:
        require_known("no registry", registry, (*describe.KINDS, *describe.LISTS))
        rows = describe.member_rows(registry)
        lines = describe.member_lines(rows, screen_width())
    emit(rows, as_json, lines)


@app.command(epilog="Example: workbench explain map_at_r")
@usage()
def explain(name: str, as_json: AsJson = False) -> None:
    """Explain a name: what it computes, and its options.

    The name is one of `workbench list`, module:Class, a number such as t2i/R@1, a field of the configuration,
    or an option such as margin. Of a preset it says where each value is from.
    """
    lines = describe.explain(name)
    emit(lines, as_json, lines)


@app.command(epilog="Example: workbench build --root runs")
@usage()
def build(
    root: Root = "runs",
    notebook: str = "*",
    tag: Tagged = None,
    by: By = None,
    out: Annotated[str, typer.Option(help="Folder to write to; empty takes that of the runs.")] = "",
    as_json: AsJson = False,
) -> None:
    """Build a leaderboard of all good runs: a page and a CSV file.

    With --by further tables have a column a slice.
    """
    from workbench.views.pages import leaderboard

    require_writable(out or root)
    made = leaderboard.build(root, out=out, notebook=notebook, tags=tag or [], by=by or [])
    emit(asdict(made), as_json, [f"{made.runs} runs  {made.html}", str(made.csv)])


@app.command(epilog="Example: workbench export runs/mine --to open_clip --out mine_clip")
@usage()
def export(
    run: str,
    to: Annotated[str, typer.Option(help="open_clip, transformers, onnx, trec or json.")],
    out: Annotated[str, typer.Option(help="Folder to write; it must not exist.")],
    licence: Annotated[str, typer.Option(help="Licence of the weights, for the model card.")] = "unknown",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Write the model of a run for another library, or its lists.

    open_clip and ONNX take two towers of open_clip with their own pooled
    vectors. transformers takes those that are CLIPs. ONNX and transformers
    also take models that transformers built. A run on frozen features has no
    towers and cannot be exported. trec and json take the lists of any run,
    the best 1,000 of every query, and the ground truth of its data.
    """
    from workbench.runs.export import export as written

    made = written(runs.find(run, root).folder, to, out, licence=licence)
    emit(str(made), as_json, [str(made)])


@app.command(epilog="Example: workbench doctor --model ViT-B-32 --pretrained mine.pt --images photos")
def doctor(
    model: Model = "",
    pretrained: Pretrained = "",
    random_weights: RandomWeights = False,
    images: Images = "",
    bench: Annotated[
        bool, typer.Option("--bench", help="Measure how fast this machine is; takes minutes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that this machine has what a first run needs.

    With --model it also checks that model, on a few images of the folder or on plain colours. With --bench
    it measures how fast the machine is, beside references.
    """
    with usage():
        require(model or not (pretrained or images or random_weights), NO_MODEL)
    if model:
        from workbench.runs import preview

        with usage((*USUAL, RuntimeError)):
            said = preview.check_model(model, images, pretrained=pretrained, random_weights=random_weights)
        emit(said, as_json, align_columns(said.items()))
        return
    if bench:
        with usage():
            benches = entry_points(group="workbench.bench")
            require(benches, "no benchmark is installed; the package machine_bench has one", LookupError)
        rows, lines = next(iter(benches)).load()()
        emit(rows, as_json, align_columns(lines))
        return
    found = examine()
    emit(found, as_json, align_columns((one["state"], one["name"], one["detail"]) for one in found))
    raise typer.Exit(any(one["state"] == "missing" for one in found))
