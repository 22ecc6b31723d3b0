"""The page of slices: ranked bars, and next to each its typical queries with their answers; reads offline."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from slice_search.kinds import ALL_KINDS, BINDING, CAPTIONS, PHOTOGRAPHS, ErrorKinds, judge_accuracy
from slice_search.report import SliceReport
from slice_search.search import Slice
from workbench.formatting import format_count, format_interval, format_path, format_value, unit_heading
from workbench.records import Split
from workbench.runs.errors import first_answers
from workbench.runs.result import Result
from workbench.views.explorer import Explorer, Question
from workbench.views.explorer.queries import question_of
from workbench.views.pages import fill_template
from workbench.views.photographs import image_or_card

TEMPLATE = Path(__file__).with_name("slices.html.j2")
PERCENT = 100.0


def write_page(report: SliceReport, kinds: ErrorKinds | None = None, *, explorer: str = "") -> str:
    """Return the page of a search.

    Args:
        report: what was searched and found.
        kinds: errors by kind, which get a table.
        explorer: address of the explorer's page, to which slices lead; empty shows the command instead.
    """
    texts = report.rows()
    parts = []
    ends = _ends(report)
    for number, part in enumerate(report.findings.slices):
        bar = {name: _place(getattr(part, name), ends) for name in ("low", "effect", "high")}
        numbers = dict(zip(("label", "effect", "mean", "rest", "queries", "images", "p"), texts[number]))
        shown = {"bar": bar, "worse": _is_worse(report, part), "typical": _typical_rows(report, part)}
        address = explorer + report.selection(part).fragment if explorer and report.named else ""
        command = explore_command(report, part) if report.named else ""
        parts.append(numbers | shown | {"address": address, "command": command})
    return fill_template(
        TEMPLATE,
        title=report.title,
        summary=report.summary(),
        parts=parts,
        zero=_place(0.0, ends),
        ends=[format_value(end, report.measurement.face, sign=True) for end in ends],
        unit=unit_heading(report.measurement.face, difference=True),
        runs=[run.name for run in report.runs],
        kinds=kinds_table(kinds) if kinds else None,
    )


def write_explorer(report: SliceReport, file: Path) -> Path:
    """Write the explorer's page with the answers to the typical queries of each slice, which also filters all
    queries.

    Args:
        report: what was searched and found.
        file: of the page.
    """
    questions: dict[int, Question] = {}
    conditions: list[str] = []
    for part in report.findings.slices:
        conditions += part.conditions if report.named else ()
        for row in report.typical_queries(part).tolist():
            questions[row] = question_of(report.split, report.direction, row)
    explorer = Explorer(report.runs)
    return explorer.to_html(file, questions=list(questions.values()), conditions=conditions)


def explore_command(report: SliceReport, part: Slice) -> str:
    """Return the command that opens the queries of a slice in the explorer."""
    names = [run.name if run.folder is None else format_path(run.folder) for run in report.runs]
    words = ["workbench", "explore", *names, "--select", str(report.selection(part))]
    return shlex.join(words)


def _ends(report: SliceReport) -> tuple[float, float]:
    """Return the ends of the scale, which holds all intervals and zero."""
    slices = report.findings.slices
    return min([0.0, *(part.low for part in slices)]), max([0.0, *(part.high for part in slices)])


def _place(value: float, ends: tuple[float, float]) -> float:
    """Return where a value is on the scale, in percent."""
    width = ends[1] - ends[0]
    return round(PERCENT * (value - ends[0]) / width, 2) if width else 0.0


def _is_worse(report: SliceReport, part: Slice) -> bool:
    return (part.effect > 0) == report.measurement.smaller_is_better


def _typical_rows(report: SliceReport, part: Slice) -> list[dict[str, Any]]:
    """Return the typical queries of a slice, with their annotated items and first answers."""
    rows, judgements = report.typical_queries(part), report.measurement.key.judgements
    answers = [first_answers(run, report.direction, judgements, rows) for run in report.runs]
    show = _image_query if report.direction == "i2t" else _caption_query
    queries = []
    for place, row in enumerate(rows.tolist()):
        # a ranked list may name no item of a query
        shown = []
        for run, firsts in zip(report.runs, answers, strict=True):
            right = bool(firsts.rank[place] == 1)
            if firsts.first[place] >= 0:
                shown.append((int(firsts.first[place]), right, _says(run, report.runs, right)))
        queries.append(show(report.split, row, shown))
    return queries


def _caption_query(split: Split, row: int, answers: Sequence[tuple[int, bool, str]]) -> dict[str, Any]:
    own = int(split.own[row])
    items = [{"kind": "own", "image": image_or_card(split, own), "says": "annotated"}]
    for answer, right, says in answers:
        kind = "own" if right else "wrong"
        items.append({"kind": kind, "image": image_or_card(split, answer), "says": says})
    return {"text": split.captions[row], "items": items, "answers": []}


def _image_query(split: Split, row: int, answers: Sequence[tuple[int, bool, str]]) -> dict[str, Any]:
    texts = [
        {"text": split.captions[answer], "right": right, "says": says} for answer, right, says in answers
    ]
    item = {"kind": "query", "image": image_or_card(split, row), "says": "the query"}
    return {"text": "", "items": [item], "answers": texts}


def _says(run: Result, runs: Sequence[Result], right: bool) -> str:
    name = run.name if len(runs) > 1 else "first answer"
    verdict = "right" if right else "wrong"
    return f"{name}: {verdict}"


def kinds_table(kinds: ErrorKinds) -> dict[str, Any]:
    """Return the table of errors by kind as texts: names of columns, rows, and a sentence on the judge."""
    names = list(dict.fromkeys(kinds.table["model"]))
    judged = kinds.judged_by == CAPTIONS
    accuracy = {"scenes": judge_accuracy(), "photographs": judge_accuracy(PHOTOGRAPHS)} if judged else {}
    heads = ["lacks", *names, *(f"the judge is right, {place}" for place in accuracy)]
    rows = []
    # captions do not tell whether all statements are of the same things
    known = [kind for kind in ALL_KINDS if kind != BINDING or not accuracy]
    for kind in known:
        cells = [_share(kinds.table, kind, name) for name in names]
        row = [kind, *cells]
        row += [_accuracy_text(numbers.get(kind)) for numbers in accuracy.values()]
        rows.append(row)
    return {"heads": heads, "rows": rows, "says": describe_judge(kinds)}


def _share(table: pd.DataFrame, kind: str, name: str) -> str:
    row = table[(table["kind"] == kind) & (table["model"] == name)].iloc[0]
    return format_interval(row["share"], row["low"], row["high"])


def _accuracy_text(numbers: Sequence[float] | None) -> str:
    if numbers is None:
        return ""
    agreement, precision, recall = map(format_value, numbers)
    return f"{agreement} (precision {precision}, recall {recall})"


def describe_judge(kinds: ErrorKinds) -> str:
    """Describe what the shares are of, and who judged."""
    table = kinds.table.drop_duplicates("model")
    sizes = []
    for row in table.to_dict("records"):
        errors, queries = format_count(row["of"]), format_count(row["queries"])
        sizes.append(f"{errors} of {queries} for {row['model']}")
    shares = f"Percent of the wrong first answers ({kinds.direction}): {'; '.join(sizes)}. "
    if kinds.judged_by == CAPTIONS:
        return shares + (
            "The captions of an image are the judge: what none of them mentions counts as lacking. How often "
            "it is right was measured on the synthetic scenes, whose truth is known, and on 200 photographs "
            "that a reader looked at. It is wrong most often about relations."
        )
    return shares + "The ground truth of the data is the judge. An answer can lack several kinds."
