"""The papers' tables on the command line: the verb ``table``, ``list tables``, and what a grid with a key
``table`` becomes.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

import workbench as wb
from workbench.cli import describe
from workbench.cli.base import (
    AsJson,
    InPaper,
    Pairs,
    Root,
    WithPairs,
    app,
    emit,
    parse_pairs,
    progress_callback,
    require_writable,
    usage,
)
from workbench.cli.output import screen_width
from workbench.execution import executors, library, parameters
from workbench.records import require
from workbench.registry import require_known
from workbench.runs import store as runs


@app.command(cls=WithPairs, epilog="Example: workbench table ditm_table4")
def table(
    file: str,
    parameter: Pairs = None,
    paper: InPaper = False,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Make the table of a grid from finished runs.

    Without -p and --paper it takes those with which the grid was run last. Exit code 3 means that arms are
    missing.
    """
    with usage():
        words, notes = parse_pairs(parameter), list[str]()
        if not (words or paper):
            words, paper = parameters.read_typed_words(root, library.find_file(file, "grid").stem)
            typed = [*(f"-p {name}={value}" for name, value in words.items()), *["--paper"] * paper]
            notes = [f"As the grid was run last: {' '.join(typed)}."] if typed else []
        table_, files, lines = write_table(file, words, root, paper=paper, notes=notes)
    emit({"files": {end: str(path) for end, path in files.items()}, **asdict(table_)}, as_json, lines)
    raise typer.Exit(3 if table_.missing else 0)


@app.command(epilog="Example: workbench figure aahr_figure8 RUN RUN")
@usage()
def figure(
    name: Annotated[str, typer.Argument(help="Such as dias_figure4, or of printed rows 'MS-COCO 5K, full'.")],
    run: Annotated[list[str], typer.Argument(help="Runs on the same data.")],
    images: Annotated[int, typer.Option(min=0, help="The first N images; 0 takes all.")] = 0,
    out: Annotated[str, typer.Option(metavar="FILE", help="The page; empty names it below the runs.")] = "",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Write the page of a paper's figure of finished runs.

    A data set and protocol of the papers shows the rows that they print, with the runs above them.
    """
    from paper_tables import figures

    figures.require_figure(name)
    file = Path(out or Path(root) / "figures" / f"{re.sub(r'[^a-z0-9]+', '_', name.lower())}.html")
    require_writable(file.parent)
    folders = [str(runs.find(text, root).folder) for text in run]
    figures.write_figure(name, wb.open_runs(folders, images=images), file)
    emit({"page": str(file)}, as_json, [str(file)])


claims_app = typer.Typer(help="List, train and report the papers' claims.")
app.add_typer(claims_app, name="claims")


@claims_app.command("list", epilog="Example: workbench claims list")
def claims_list(as_json: AsJson = False) -> None:
    """List all claims, with their verdicts and the questions that wait."""
    from paper_tables import asked, claims, claims_told

    ledger = claims.current(claims.read_ledger())
    rows, lines = [], []
    for claim in claims.load_claims().values():
        own = [line for line in ledger if line["claim"] == claim.id]
        verdicts = list(dict.fromkeys(map(claims_told.short_verdict, own)))
        waiting = [f"{where}: {text}" for where, text in asked.describe_untried(claim, own).items()]
        rows.append({**asdict(claim), "verdicts": verdicts, "waiting": waiting})
        lines.append(f"{claim.id:4}{claim.says} {'; '.join([*verdicts, *waiting])}".rstrip())
    emit(rows, as_json, [*lines, *_legend_lines()])


def _legend_lines() -> list[str]:
    """Describe what the letters and words of the list mean, and where more is said."""
    from paper_tables import claims, claims_page, claims_told

    judges = ", ".join(f"{name} = {words}" for name, words in claims_page.JUDGES.items())
    verdicts = [f"{word} = {words}" for word, words in claims_told.MEANS.items()]
    page = "`workbench claims show D2` tells one claim; `workbench claims report` writes the page of all"
    data = ", ".join(f"{letter} = {name}" for letter, name in claims.DATA.items())
    return ["", data, judges, f"exploratory = {claims_told.EXPLORATORY}", *verdicts, page]


@claims_app.command("show", epilog="Example: workbench claims show D2")
def claims_show(name: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False) -> None:
    """Show a claim, the commands that train its arms, and its verdicts."""
    from paper_tables import asked, claims, claims_told

    with usage():
        claim = claims.find_claim(name)
    lines = [line for line in claims.current(claims.read_ledger()) if line["claim"] == name]
    verdicts = []
    for line in lines:
        about = (line["contrast"], claims_told.short_verdict(line), claims_told.effect_of(line))
        verdicts.append(f"  {', '.join(about)}")
    waiting = [f"  {where}: {text}" for where, text in asked.describe_untried(claim, lines).items()]
    emit({**asdict(claim), "ledger": lines}, as_json, [*claim.about(), *verdicts, *waiting])


@claims_app.command("record", epilog="Example: workbench claims record")
def claims_record(as_json: AsJson = False) -> None:
    """Judge all claims that recorded comparisons or no training can decide."""
    from paper_tables import claims, recorded, untrained

    lines = [*recorded.lines_from_recorded(), *untrained.measure_claims()]
    added = claims.record_lines(lines, f"{date.today()}")
    emit({"added": added}, as_json, [f"{claims.LEDGER}: lines added: {added}"])


@claims_app.command("state", epilog="Example: workbench claims state D2 --data scenes")
def claims_state(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID", show_default=False)] = None,
    data: Annotated[str, typer.Option(help="scenes, flickr8k or hierarcaps.")] = "scenes",
    as_json: AsJson = False,
) -> None:
    """State questions before they are tried: claim, arms, smallest effect and number of seeds.

    Takes all claims by default. Commit the file that it names, then try them with `claims run`.
    """
    from paper_tables import asked, trained

    with usage():
        require_known("claims are trained on no", data, trained.PLACES)
        chosen = trained.trainable_claims(names or (), trained.PLACES[data])
    added = asked.state(asked.questions(chosen, trained.PLACES[data]), f"{date.today()}")
    emit({"added": added}, as_json, [f"{asked.FILE}: questions added: {added}"])


@claims_app.command("run", epilog="Example: workbench claims run D2 D9 --data scenes --seeds 5")
def claims_run(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID", show_default=False)] = None,
    data: Annotated[str, typer.Option(help="scenes, flickr8k or hierarcaps.")] = "scenes",
    seeds: Annotated[int, typer.Option(min=2, help="Of each arm, at most those that were stated.")] = 10,
    rates: Annotated[
        bool, typer.Option("--rates", help="Train seed 0 at half and twice the rate too: costs two seeds.")
    ] = False,
    there: Annotated[
        bool, typer.Option("--there", help="Train nothing: name the folders, and judge by what is there.")
    ] = False,
    executor: Annotated[str, typer.Option(help="local, submitit or dask.")] = "local",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Train the missing arms of claims, and add their verdicts to the ledger.

    Takes all claims by default. Questions are stated and committed before, see `claims state`, and are
    answered once they have as many seeds. Without --rates, a verdict may change at other learning rates.
    """
    from paper_tables import asked, claims, trained

    with usage():
        require_known("claims are trained on no", data, trained.PLACES)
        executors.require_executor(executor, {})
        require_writable(root)
        chosen = trained.trainable_claims(names or (), trained.PLACES[data])
        unstated = asked.explain_unstated(chosen, trained.PLACES[data], asked.committed())
        require(not unstated, unstated)
        jobs = trained.plan(chosen, trained.PLACES[data], seeds, root, rates=rates)
    say = progress_callback()
    say(trained.describe_cost(jobs))
    failed = [] if there else trained.train_all(jobs, root, executor, say)
    every = trained.lines_of_contrasts(chosen, trained.PLACES[data], jobs)
    answers = [line for line in every if asked.has_its_seeds(line)]
    added = claims.record_lines(answers, f"{date.today()}")
    lines = trained.folders(jobs) if there else []
    lines += [*failed, f"{claims.LEDGER}: questions answered: {len(answers)}, lines added: {added}"]
    if len(every) > len(answers):
        lines.append(f"wait for the seeds that they were stated with: {len(every) - len(answers)}")
    emit({"answered": len(answers), "added": added, "failed": failed}, as_json, lines)
    raise typer.Exit(1 if failed else 0)


@claims_app.command("report", epilog="Example: workbench claims report --out claims.html --docs docs")
def claims_report(
    out: Annotated[str, typer.Option(help="The page.")] = "runs/claims.html",
    docs: Annotated[
        str, typer.Option(help="Folder of two Markdown pages of the same; empty writes none.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Write an offline page of all claims, to filter and to search."""
    from paper_tables import claims, claims_page, claims_words
    from workbench.io import write_text

    every = claims.read_ledger()
    lines, limits = claims.current(every), claims_words.limits_text(every)
    page = claims_page.write(lines, limits, claims_words.power_text(lines), claims.history(every))
    texts = {Path(out): page}
    if docs:
        texts |= {Path(docs) / name: text for name, text in claims_words.pages(every).items()}
    files = [write_text(path, text) for path, text in texts.items()]
    emit({"files": [str(file) for file in files]}, as_json, [str(file) for file in files])


def prepare(grid: Mapping[str, Any], changes: Mapping[str, Any], path: Path | str) -> Mapping[str, Any]:
    """Return a grid with a ``table``, checked, over the seeds of a table; see
    ``workbench.execution.grid``.
    """
    from paper_tables import layout

    layout.read(seeded := layout.over_seeds(grid, changes), path)
    return seeded


def missing(grid: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what a table needs beside the data of its arms; see ``workbench.execution.grid``."""
    from paper_tables import needs

    return [*needs.missing_weights(arms.values()), *needs.measured_on(grid, arms.values())]


def finish(
    path: Path, changes: Mapping[str, Any], root: str, folders: Sequence[Path], paper: bool
) -> list[str]:
    """Write the table after its grid has run; see ``workbench.execution.grid``."""
    return write_table(path, changes, root, folders, paper=paper)[2]


def write_table(
    file: Path | str,
    changes: Mapping[str, Any],
    root: str,
    ended: Sequence[Path] = (),
    *,
    paper: bool = False,
    notes: Sequence[str] = (),
) -> tuple[Any, dict[str, Path], list[str]]:
    """Write the table of a grid below the runs.

    Args:
        file: of the grid, by path or name.
        changes: values that go over those of all arms.
        root: where the runs lie; the table goes to its folder ``tables``.
        ended: folders of runs that are first measured on what else the table asks for.
        paper: in the settings of its paper.
        notes: further sentences below the table.

    Returns:
        The table, its files by their ending, and lines to print.
    """
    from paper_tables import pages
    from paper_tables import table as tables
    from workbench.execution import grid

    lacking = tables.measure_missing(grid.read_grid(library.find_file(file, "grid")), ended)
    table_ = tables.make(file, changes, root=root, measure=bool(ended), paper=paper)
    table_ = replace(table_, notes=[*table_.notes, *notes, *lacking])
    files = pages.write(table_, Path(root) / "tables")
    return table_, files, [pages.markdown(table_).rstrip(), *map(str, files.values())]


def list_tables() -> tuple[list[dict[str, str]], list[str]]:
    """Return all tables and figures, and as lines what each shows, the command that makes it, and what it
    lacks.
    """
    from paper_tables import table as tables

    rows, lines = tables.list_tables(), list[str]()
    for row in rows:
        wrapped = textwrap.wrap(row["remark"], min(screen_width(), 1000) - 4)
        lines += [f"{row['table']}: {row['shows']}", *(f"    {text}" for text in (row["command"], *wrapped))]
    lines += ['RUN is a finished run, RUNS is a list of them: \'["RUN", "RUN"]\'']
    return rows, lines


describe.LISTS["tables"] = ("tables and figures of the papers, each with its command", list_tables)
