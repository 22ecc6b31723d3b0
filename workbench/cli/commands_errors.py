"""The command that lists what results answer wrongly."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import workbench as wb
from workbench.cli.base import AsJson, Root, app, emit, require_writable, usage
from workbench.cli.output import align_columns
from workbench.formatting import format_count, format_number, format_path
from workbench.io import require_table_name, write_table
from workbench.records import require
from workbench.runs import store as runs

# letters of a text in the table
LONGEST = 40
QUERIES: dict[str, Literal["image", "caption"]] = {"i2t": "image", "t2i": "caption"}
DIRECTIONS = {"i2t": "image to caption", "t2i": "caption to image"}


@app.command(epilog="Example: workbench errors runs/mine runs/other --out errors.csv")
@usage()
def errors(
    run: Annotated[list[str], typer.Argument(help="One run, or two on the same data.")],
    limit: Annotated[int, typer.Option(min=0, help="Rows of each list in the terminal.")] = 10,
    where: Annotated[
        str, typer.Option(metavar="SLICE", help="Only queries of a slice: language=de, words>20, word=red.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all rows: .csv, .json or .parquet.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the explorer's answers to the listed queries.")
    ] = None,
    judgements: Annotated[str, typer.Option(help="Judgements of the data that say what is right.")] = "own",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """List queries that one run answers rightly, the other wrongly.

    Of one run, list those that it answers wrongly. An answer is right where a ground truth has rank 1, as R@1
    counts it. Each row has the rank of the best ground truth, and the first wrong answer with its score.
    --out and --json hold all rows, with ids and texts, and with the scores of both runs.
    """
    require(len(run) <= 2, "give one run, or two")
    if out:
        require_table_name(out)
    for file in filter(None, (out, page)):
        require(not file.is_dir(), f"{file} is a folder; name a file", OSError)
        require_writable(file.parent)
    folders = [str(runs.find(name, root).folder) for name in run]
    opened = wb.open_runs(folders)
    table = wb.errors(*opened, judgements=judgements, where=where)
    if out:
        write_table(out, table)
    if page:
        _write_page(page, opened, table, limit)
    names = " ".join(map(format_path, map(Path, folders)))
    lines = [*_error_lists(table, limit), *(str(file) for file in (out, page) if file)]
    lines.append(f"`workbench explore {names}` opens the explorer; --page FILE writes its answers to these")
    # the rank is infinite where the gallery has no ground truth, which JSON cannot say
    rows = table.replace([math.inf, -math.inf], None).to_dict("records")
    emit({"queries": table.attrs["queries"], "errors": rows}, as_json, lines)


def _error_lists(table: Any, limit: int) -> list[str]:
    """Return the errors as tables with a heading each, and how many queries there are of each kind."""
    lines = []
    for way, counts in table.attrs["queries"].items():
        if not counts["queries"]:
            continue  # nothing of this direction is in the slice
        known = {**counts["right"], **{name: counts[name] for name in ("both", "none") if name in counts}}
        parts = [f"in {name}: {format_number(count, 0)}" for name, count in known.items()]
        total = format_count(counts["queries"], QUERIES[way])
        lines += ["", f"{DIRECTIONS[way]}, {total}, right {'; '.join(parts)}"]
        for (right, wrong), part in table[table["direction"] == way].groupby(["right", "wrong"], sort=False):
            against = f", right in {right}" if right else ""
            lines += ["", f"wrong in {wrong}{against}: {format_count(len(part), QUERIES[way])}"]
            heads = ("query", "rank", "first answer", "score", "ground truth", "score")
            lines += align_columns([heads, *map(_error_cells, part.head(limit).to_dict("records"))])
            left = len(part) - limit
            lines += [f"and {format_number(left, 0)} more"] * (left > 0)
    return lines[1:]


def _error_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return an error as cells: an image by its id, a caption by its text."""
    of_image = row["direction"] == "i2t"
    query, answer, truth = (
        _item_cell(row, name, caption)
        for name, caption in (("query", not of_image), ("answer", of_image), ("truth", of_image))
    )
    scores = [format_number(row[name], 3) for name in ("answer_score", "truth_score")]
    return query, format_number(row["rank"], 0), answer, scores[0], truth, scores[1]


def _item_cell(row: dict[str, Any], name: str, caption: bool) -> str:
    """Return an image by its id, a caption by id and text."""
    text = f"{row[f'{name}_id']} {row[name]}" if caption else str(row[f"{name}_id"])
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _write_page(file: Path, opened: list[Any], table: Any, limit: int) -> None:
    """Write the explorer's answers to the queries that the terminal lists."""
    from workbench.views.explorer.questions import Question, Term

    split, asked = opened[0].split, []
    rows = {"i2t": split.image_ids, "t2i": split.caption_ids}
    listed = table.groupby(["direction", "wrong"], sort=False).head(limit)
    for way, query in listed[["direction", "query_id"]].drop_duplicates().itertuples(index=False):
        place = rows[way].index(query)
        term = Term(QUERIES[way], place, name=split.captions[place] if way == "t2i" else query)
        asked.append(Question((term,), seeks="images" if way == "t2i" else "captions"))
    require(asked, "no query is answered wrongly, so there is nothing for a page")
    wb.explore(*opened).to_html(file, questions=asked)
