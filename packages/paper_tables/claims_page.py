"""What the ledger says: a page to sort and search, and the same in words (``docs/claims.md``)."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
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
JUDGES = {"labels": "binary labels", "truth": "the truth", "no training": "no training"}
TOLD = {"labels": "By binary labels", "truth": "By the truth", "no training": "Without training"}
UNITS = {"sum": "points of 600", "share": "percent points", "correlation": "correlation", "number": ""}
NAMES = ("claim", "says", "data", "by labels", "by the truth", "printed", "labels and truth")
INTRO = (
    "A row is one claim of a paper on one data set. An effect is the mean difference of two arms with the "
    "same seed. It is positive where it has the paper's sign. Brackets hold Student's 95 % interval. Holm's "
    "rule runs over the claims of a paper. The embedded world knows which pairs are true; binary labels know "
    "one image a caption. "
)
# what no reader should conclude, whatever the rows say
LIMITS = (
    "The data are small: at most 2,000 drawn scenes, or 3,000 photographs. A paper has tens of thousands.",
    "Photographs have frozen features of one small network. No image encoder was trained on them.",
    "Every arm has one budget of minutes on a CPU core, and a recipe searched for whole objectives. A part "
    "left out has no recipe of its own.",
    "One seed was trained again at half and twice the learning rate, or none. A verdict may turn there.",
    "Refuted means refuted at this size. It says nothing about the paper's own tables.",
    "Undecided is no evidence against a claim. Most parts have three seeds.",
)


def write(lines: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The page and the Markdown, from the lines of the ledger that count."""
    asked = _questions(lines)
    legend = " ".join(f"{SIGNS[word]} {word}: {told}." for word, told in MEANS.items())
    waiting = [one for name, one in claims.load().items() if name not in {key[0] for key in asked}]
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
            "names": ("claim", "paper", "says", "where", "made by or waits for"),
            "rows": [[one.id, one.paper, one.says, one.place, _waits(one)] for one in waiting],
        },
    ]
    html = page(
        "views/pages/table.html.j2", title="Claims of five papers", intro=INTRO + legend, sortable=True,
        tables=tables, links={}, notes=LIMITS, script=Markup(""), figure=Markup(""),
    )  # fmt: skip
    return html, _markdown(asked, waiting)


def columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """A row a claim, data set and contrast, as texts by column: what both judges say."""
    asked = _questions(lines)
    texts = [
        (key[0], claims.find(key[0]).says, f"{claims.DATA[key[1]]}: {_contrast(key, judges)}", *(
            f"{_word(line)}, {_effect(line)}" if line else ""
            for line in (judges.get("labels") or judges.get("no training"), judges.get("truth"))
        ))
        for key, judges in asked.items()
    ]  # fmt: skip
    heads = ("claim", "says", "data and arms", "by labels, or without training", "by the truth")
    return {head: [row[n] for row in texts] for n, head in enumerate(heads)}


Asked = dict[tuple[str, str, str], dict[str, Mapping[str, Any]]]


def _questions(lines: Sequence[Mapping[str, Any]]) -> Asked:
    """(claim, data, contrast) -> judge -> line, in the order of the claims."""
    order, asked = list(claims.load()), Asked()
    for line in sorted(lines, key=lambda one: order.index(one["claim"])):
        asked.setdefault((line["claim"], line["data"], line["contrast"]), {})[line["judge"]] = line
    return asked


def _count(asked: Asked) -> str:
    return f"{format_count(len({key[0] for key in asked}), 'claim')}, {format_count(len(asked), 'row')}"


def _row(key: tuple[str, str, str], judges: Mapping[str, Mapping[str, Any]]) -> list[str | Cell]:
    claim, first = claims.find(key[0]), judges.get("labels") or judges.get("no training")
    truth = judges.get("truth")
    printed = (
        "" if first is None or first["printed"] is None else format_number(first["printed"], _digits(first))
    )
    contrast = f"{_contrast(key, judges)}, {_seeds(first or truth or {})}"
    return [
        Cell(claim.id, note=f"{claim.paper}, {claim.place}"),
        Cell(claim.says, note=f"{contrast}. {claim.remark}"),
        claims.DATA[key[1]],
        _cell(first),
        _cell(truth),
        printed,
        _parting(first, truth),
    ]


def _contrast(key: tuple[str, str, str], judges: Mapping[str, Mapping[str, Any]]) -> str:
    """The arms, and how many images they have where ``claims run`` trained them."""
    images = next(iter(judges.values())).get("budget", {}).get("train_images")
    return key[2].replace(" | ", " minus ") + (f", {format_count(images, 'image')}" if images else "")


def _cell(line: Mapping[str, Any] | None) -> str | Cell:
    return Cell(_word(line), note=_effect(line)) if line else ""


def _seeds(line: Mapping[str, Any]) -> str:
    count = len(line["values"]["more"])
    return format_count(count, "group" if line["judge"] == "no training" else "seed")


def _word(line: Mapping[str, Any]) -> str:
    return f"{SIGNS[line['verdict']]} {line['verdict']}"


def _effect(line: Mapping[str, Any]) -> str:
    """The effect with its interval, positive where it has the paper's sign."""
    mean, low, high = (format_number(line[name], _digits(line)) for name in ("effect", "low", "high"))
    return f"{mean} ({low} to {high}) {UNITS[line['unit']]}".rstrip()


def _digits(line: Mapping[str, Any]) -> int:
    return 1 if line["unit"] in claims.SCALE else 3


def _parting(labels: Mapping[str, Any] | None, truth: Mapping[str, Any] | None) -> str:
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


def _markdown(asked: Asked, waiting: Sequence[claims.Claim]) -> str:
    """Which claims held, which did not, where the judges part, and what not to conclude."""
    every = [line for judges in asked.values() for line in judges.values()]
    counts = Counter((line["judge"], line["verdict"]) for line in every)
    told = [
        f"- {TOLD[judge]}: "
        + ", ".join(f"{counts[judge, word]} {word}" for word in SIGNS if counts[judge, word]) + "."
        for judge in JUDGES
    ]  # fmt: skip
    lines = ["# What became of the papers' claims", "", *textwrap.wrap(
        f"`workbench claims report` writes this page from the ledger. It judges "
        f"{len(claims.load()) - len(waiting)} of {format_count(len(claims.load()), 'claim')}, in "
        f"{format_count(len(asked), 'row')}. A row is a claim on one data set with one contrast.",
        130,
    ), "", *told, ""]  # fmt: skip
    for heading, words in (("held", ("replicated",)), ("did not hold", ("refuted", "equivalent"))):
        lines += [f"## Claims that {heading}", "", *_listed(asked, words), ""]
    for heading, word in (
        ("Where labels and truth part", "part"),
        ("Where one of them decides alone", "only"),
    ):
        parted = {
            key: of
            for key, of in asked.items()
            if _parting(of.get("labels"), of.get("truth")).startswith(word)
        }
        lines += [f"## {heading}", "", *_table(parted), ""]
    lines += ["## What a reader should not conclude", "", *(f"- {one}" for one in LIMITS), ""]
    lines += ["## Not yet judged", "", *_rows(("claim", "says", "made by or waits for"), [
        (one.id, one.says, ", ".join(f"`{grid}`" for grid in one.arms) + f" {one.needs}".rstrip())
        for one in waiting
    ])]  # fmt: skip
    return "\n".join(lines) + "\n"


def _listed(asked: Asked, words: Sequence[str]) -> list[str]:
    return _table(
        {key: of for key, of in asked.items() if any(line["verdict"] in words for line in of.values())}, words
    )


def _table(asked: Asked, words: Sequence[str] = tuple(SIGNS)) -> list[str]:
    """A row for each judge's verdict that is one of these words."""
    rows = [
        (key[0], claims.find(key[0]).says, claims.DATA[key[1]], _contrast(key, judges),
         JUDGES[who], _word(line), _effect(line))
        for key, judges in asked.items() for who, line in judges.items() if line["verdict"] in words
    ]  # fmt: skip
    return _rows(("claim", "says", "data", "contrast", "judge", "verdict", "effect and 95 % interval"), rows)


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)]
