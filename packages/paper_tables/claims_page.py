"""What the ledger says, as a page to filter and search; ``claims_words`` says the same in Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from paper_tables import claims, claims_told
from paper_tables.claims_told import Line, told_of
from paper_tables.judging import ALPHA
from workbench.english import listed
from workbench.formatting import format_count
from workbench.views.pages import page

TEMPLATE, SCRIPT = (Path(__file__).with_name(name) for name in ("claims.html.j2", "claims_filters.js"))
JUDGES = {"labels": "by annotated pairs", "truth": "by the truth", "neither": "by other measures"}
Asked = dict[tuple[str, str, str], dict[str, Line]]


def write(lines: Sequence[Line], notes: Sequence[str] = (), power: str = "") -> str:
    """The page, from the lines of the ledger that count; ``power`` says what so many seeds find."""
    asked = questions(lines)
    return page(
        TEMPLATE, title="What became of five papers' claims", found=_found(asked),
        judges=JUDGES, signs=claims_told.SIGNS, means=claims_told.MEANS, matters=_matters(),
        level=ALPHA,
        tallies=_tallies(asked), rows=[_row(judges) for judges in asked.values()], notes=notes, power=power,
        partings=list(claims_told.PARTINGS),
        papers=list(claims.PAPERS.values()), places=list(dict.fromkeys(claims.DATA[key[1]] for key in asked)),
        waiting=unjudged(asked),
        script=Markup(SCRIPT.read_text(encoding="utf-8")),
    )  # fmt: skip


def columns(lines: Sequence[Line]) -> dict[str, list[str]]:
    """A row a claim, data set and contrast, as texts by column: what both judges say."""
    made = []
    for judges in questions(lines).values():
        line, labels, truth = next(iter(judges.values())), judges.get("labels"), judges.get("truth")
        claim, printed = claims.find(line["claim"]), claims_told.printed_of(line)
        first = told_of(labels or judges.get("neither")) + (f"; {printed} printed" if printed else "")
        made.append({
            "claim": claim.id,
            "says": claim.says,
            "data and arms": f"{claims.DATA[line['data']]}: {claims_told.contrast_of(line)}",
            "by annotated pairs, or by other measures": first,
            JUDGES["truth"]: told_of(truth),
            "together": claims_told.parting_of(labels, truth),
            "runs or tables": ", ".join(Path(of).name for of in claims_told.folders_of(line).values()),
        })  # fmt: skip
    return {head: [row[head] for row in made] for head in (made[0] if made else ())}


def questions(lines: Sequence[Line]) -> Asked:
    """(claim, data, contrast) -> one of ``JUDGES`` -> line, in the order of the claims."""
    order, asked = list(claims.load()), Asked()
    for line in sorted(lines, key=lambda one: order.index(one["claim"])):
        judge = line["judge"] if line["judge"] in JUDGES else "neither"
        asked.setdefault((line["claim"], line["data"], line["contrast"]), {})[judge] = line
    return asked


def unjudged(asked: Asked) -> list[claims.Claim]:
    """Claims of which the ledger says nothing yet."""
    return [one for name, one in claims.load().items() if name not in {key[0] for key in asked}]


def _found(asked: Asked) -> tuple[str, str]:
    """How many claims were judged; and in how many rows, on which data, and how many held by each judge."""
    places = Counter(claims.DATA[key[1]] for key in asked)
    where = listed([f"{place} {rows}" for place, rows in places.most_common()])
    held = [f"{told.capitalize()}, {_held(judge, asked)}" for judge, told in JUDGES.items()]
    judged, every = len(claims.load()) - len(unjudged(asked)), format_count(len(claims.load()), "claim")
    return (
        f"{judged} of {every} of {listed(list(claims.PAPERS.values()))} were judged.",
        f"A claim has a row for each data set and pair of arms, {format_count(len(asked), 'row')} in all: "
        f"{where}. {' '.join(held)}",
    )


def _held(judge: str, asked: Asked) -> str:
    """How many rows a judge calls replicated, and of how many claims these are."""
    found = [(key[0], of[judge]["verdict"]) for key, of in asked.items() if judge in of]
    held = [name for name, said in found if said == "replicated"]
    every = format_count(len({name for name, _ in found}), "claim")
    return f"{len(held)} of {format_count(len(found), 'row')} are replicated, in {len(set(held))} of {every}."


def _matters() -> str:
    """From what on an effect matters, by unit."""
    usual = claims.smallest()
    return listed([f"{usual[unit]} {claims_told.UNITS[unit]}" for unit in ("sum", "share", "correlation")])


def _counts(judge: str, rows: Iterable[Mapping[str, Line]]) -> Counter[str]:
    """Verdict -> rows with it."""
    found = Counter(judges[judge]["verdict"] for judges in rows if judge in judges)
    return Counter({word: found[word] for word in claims_told.SIGNS if found[word]})


def _tallies(asked: Asked) -> dict[str, dict[str, Counter[str]]]:
    """Paper -> judge -> verdict -> rows; all papers come first."""
    kept = {"all": list(asked.values())}
    kept |= {
        paper: [of for key, of in asked.items() if key[0][0] == letter]
        for letter, paper in claims.PAPERS.items()
    }
    return {paper: {judge: _counts(judge, rows) for judge in JUDGES} for paper, rows in kept.items() if rows}


def _row(judges: Mapping[str, Line]) -> dict[str, Any]:
    """What the template shows of a row."""
    line = next(iter(judges.values()))
    claim, printed, trained = claims.find(line["claim"]), claims_told.printed_of(line), "budget" in line
    recorded = [] if trained or line["judge"] == "no training" else ["recorded"]
    return {
        "claim": claim,
        "place": claims.DATA[line["data"]],
        "arms": ", ".join([claims_told.contrast_of(line), *recorded, claims_told.seeds_of(line)]),
        "by": {judge: _judged(judges[judge]) if judge in judges else None for judge in JUDGES},
        "printed": printed,
        "unit": claims_told.UNITS[claim.printed_in or line["unit"]] if printed else "",
        "together": claims_told.parting_of(judges.get("labels"), judges.get("truth")),
        "commands": claims_told.commands_of(line),
        "folders": claims_told.folders_of(line),
        "trained": trained,
    }


def _judged(line: Line) -> dict[str, Any]:
    """What the template shows of a verdict."""
    return {
        "verdict": line["verdict"],
        "effect": claims_told.interval_of(line),
        "unit": claims_told.unit_of(line),
        "reason": claims_told.reason_of(line),
        "metric": line["metric"],
        "matters": claims_told.threshold_of(line),
        "seeds": claims_told.by_seed(line),
    }
