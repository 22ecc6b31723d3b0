"""What the ledger says, as a page to filter, sort and search; ``claims_words`` says the same in Markdown."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from paper_tables import claims
from workbench.formatting import format_count, format_number
from workbench.views.pages import Cell, page

SIGNS = {"replicated": "\u2714", "refuted": "\u2718", "equivalent": "=", "undecided": "?", "void": "\u2205"}
MEANS = {
    "replicated": "the effect has the paper's sign, beyond chance",
    "refuted": "it has the other sign, or is too small to matter where the paper prints a larger one",
    "equivalent": "the effect is too small to matter",
    "undecided": "the seeds cannot tell",
    "void": "an arm has learnt too little to say anything",
}
UNITS = {"sum": "points of 600", "share": "percentage points", "correlation": "correlation", "number": ""}
# how papers call the objectives
TITLES = {
    "aahr": "AAHR", "cora": "CORA", "daa": "DAA", "dias": "DIAS", "ditm": "DITM", "hrem": "HREM",
    "infonce": "InfoNCE", "pcme": "PCME", "pcmepp": "PCME++", "sam": "SAM", "siglip": "SigLIP",
    "vsepp": "VSE++",
}  # fmt: skip
SCRIPT = Path(__file__).with_name("claims_filters.js")
NAMES = ("claim", "says", "data", "by labels", "by the truth", "printed", "labels and truth")
INTRO = (
    "A row is one claim of a paper on one data set. An effect is the mean difference of two arms with the "
    "same seed. It is positive where it has the paper's sign. Brackets hold Student's 95 % interval. Holm's "
    "rule runs over the claims of a paper. The embedded world knows which pairs are true; binary labels know "
    "one image a caption. "
)


def write(lines: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> str:
    """The page, from the lines of the ledger that count."""
    asked = questions(lines)
    legend = " ".join(f"{SIGNS[word]} {word}: {told}." for word, told in MEANS.items())
    waiting = unjudged(asked)
    tables = [
        {
            "heading": f"Judged: {_count(asked)}",
            "prose": True,
            "names": NAMES,
            "rows": [_row(*one) for one in asked.items()],
        },
        {
            "heading": f"Not yet judged: {format_count(len(waiting), 'claim')}",
            "prose": True,
            "names": ("claim", "says", "made by or waits for"),
            "rows": [[_name(one), one.says, _waits(one)] for one in waiting],
        },
    ]
    return page(
        "views/pages/table.html.j2", title="Claims of five papers", intro=INTRO + legend, sortable=True,
        tables=tables, links={}, notes=notes, script="", figure="",
        filters=Markup(SCRIPT.read_text(encoding="utf-8")),
    )  # fmt: skip


def columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """A row a claim, data set and contrast, as texts by column: what both judges say."""
    asked = questions(lines)
    texts = [
        (key[0], claims.find(key[0]).says, f"{claims.DATA[key[1]]}: {contrast_of(key, judges)}",
         told_of(first_of(judges)), told_of(judges.get("truth")))
        for key, judges in asked.items()
    ]  # fmt: skip
    heads = ("claim", "says", "data and arms", "by labels, or without training", "by the truth")
    return {head: [row[n] for row in texts] for n, head in enumerate(heads)}


Asked = dict[tuple[str, str, str], dict[str, Mapping[str, Any]]]


def questions(lines: Sequence[Mapping[str, Any]]) -> Asked:
    """(claim, data, contrast) -> judge -> line, in the order of the claims."""
    order, asked = list(claims.load()), Asked()
    for line in sorted(lines, key=lambda one: order.index(one["claim"])):
        asked.setdefault((line["claim"], line["data"], line["contrast"]), {})[line["judge"]] = line
    return asked


def unjudged(asked: Asked) -> list[claims.Claim]:
    """Claims of which the ledger says nothing yet."""
    return [one for name, one in claims.load().items() if name not in {key[0] for key in asked}]


def _count(asked: Asked) -> str:
    return f"{format_count(len({key[0] for key in asked}), 'claim')}, {format_count(len(asked), 'row')}"


def _row(key: tuple[str, str, str], judges: Mapping[str, Mapping[str, Any]]) -> list[str | Cell]:
    claim, first = claims.find(key[0]), first_of(judges)
    truth = judges.get("truth")
    printed = printed_of(first) if first else ""
    contrast = f"{contrast_of(key, judges)}, {seeds_of(first or truth or {})}"
    return [
        _name(claim),
        Cell(claim.says, note=" ".join(filter(None, [f"{contrast}.", claim.remark, _runs(first or truth)]))),
        claims.DATA[key[1]],
        *(_cell(line) for line in (first, truth)),
        printed,
        parting_of(first, truth),
    ]


def _runs(line: Mapping[str, Any] | None) -> str:
    """Where the runs of a line lie below the runs of this machine, those of the first seed."""
    ids = (line or {}).get("source", {}).get("runs", [])
    return f"Runs of the first seed: {', '.join(f'claims/{one}' for one in ids)}." if ids else ""


def first_of(judges: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The line that asks no truth."""
    return next((line for who, line in judges.items() if who != "truth"), None)


def told_of(line: Mapping[str, Any] | None) -> str:
    """A verdict with its effect; nothing where a judge does not decide."""
    return f"{word_of(line)}, {effect_of(line)}" if line else ""


def contrast_of(key: tuple[str, str, str], judges: Mapping[str, Mapping[str, Any]]) -> str:
    """The arms as papers call them, and how many images they have where ``claims run`` trained them."""
    images = next(iter(judges.values())).get("budget", {}).get("train_images")
    # a paper numbers the rows of its table
    said = re.sub(r"\([ivx]+\) ", "", key[2].replace(" | ", " minus "))
    said = re.sub(r"[a-z]+", lambda word: TITLES.get(word[0], word[0]), said)
    return said + (f", {format_count(images, 'image')}" if images else "")


def _name(claim: claims.Claim) -> Cell:
    """The filters read the paper, and every verdict, from what a cell is sorted by."""
    note, order = f"{claim.paper}, {claim.place}", f"{claim.paper} {int(claim.id[1:]):03}"
    return Cell(claim.id, note=note, order=order)


def _cell(line: Mapping[str, Any] | None) -> Cell:
    return (
        Cell(word_of(line), note=effect_of(line), order=line["verdict"]) if line else Cell("", order="none")
    )


def printed_of(line: Mapping[str, Any]) -> str:
    """The paper's effect."""
    return "" if line["printed"] is None else format_number(line["printed"], _digits(line))


def seeds_of(line: Mapping[str, Any]) -> str:
    """How many seeds, or groups of images, it is the mean of."""
    count = len(line["values"]["more"])
    return format_count(count, "group" if line["judge"] == "no training" else "seed")


def word_of(line: Mapping[str, Any]) -> str:
    """The verdict, with its sign."""
    return f"{SIGNS[line['verdict']]} {line['verdict']}"


def effect_of(line: Mapping[str, Any]) -> str:
    """The effect with its interval, positive where it has the paper's sign."""
    mean, low, high = (format_number(line[name], _digits(line)) for name in ("effect", "low", "high"))
    return f"{mean} ({low} to {high}) {UNITS[line['unit']]}".rstrip()


def _digits(line: Mapping[str, Any]) -> int:
    return 1 if line["unit"] in claims.SCALE else 3


def parting_of(labels: Mapping[str, Any] | None, truth: Mapping[str, Any] | None) -> str:
    """How the verdicts of both judges go together; empty where one is missing."""
    if not labels or not truth:
        return ""
    words = (labels["verdict"], truth["verdict"])
    if words[0] == words[1]:
        return "neither decides" if words[0] == "undecided" else "agree"
    if "undecided" in words:
        return "only the truth decides" if words[0] == "undecided" else "only labels decide"
    return "part"


def _waits(claim: claims.Claim) -> str:
    return "; ".join([*claim.commands, *filter(None, [claim.needs])])
