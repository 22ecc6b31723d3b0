"""What the ledger says, as a page to filter and search; ``claims_words`` says the same in Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from paper_tables import claims, claims_figure, claims_told
from paper_tables.claims_told import Line, verdict_with_effect
from paper_tables.judging import ALPHA
from workbench.english import join_words
from workbench.formatting import format_count
from workbench.views.pages import fill_template

TEMPLATE, SCRIPT = (Path(__file__).with_name(name) for name in ("claims.html.j2", "claims_filters.js"))
JUDGES = {"labels": "by annotated pairs", "truth": "by the truth", "neither": "by other measures"}
Asked = dict[tuple[str, str, str], dict[str, Line]]


def write(
    lines: Sequence[Line],
    notes: Sequence[str] = (),
    power: str = "",
    earlier: Mapping[tuple[Any, ...], Sequence[str]] | None = None,
) -> str:
    """Return the page.

    Args:
        lines: of the ledger that count.
        notes: what not to conclude.
        power: says what so many seeds find.
        earlier: what each question was answered before, from ``claims.history``.
    """
    verdicts = lines_by_question(lines)
    places = dict.fromkeys(claims.DATA[key[1]] for key in verdicts)
    words = {"judges": JUDGES, "signs": claims_told.SIGNS, "means": claims_told.MEANS, "level": ALPHA}
    choices = {"partings": list(claims_told.PARTINGS), "papers": list(claims.PAPERS.values())}
    rows = [_row_values(judges, earlier or {}) for judges in verdicts.values()]
    table = {
        "rows": rows,
        "tallies": _tallies(verdicts),
        "found": _count_judged(verdicts),
        "waiting": unjudged_claims(verdicts),
        "effects": claims_figure.figure_values(
            sorted(lines, key=lambda line: list(claims.load_claims()).index(line["claim"]))
        ),
    }
    script = Markup(SCRIPT.read_text(encoding="utf-8"))
    title = "What became of five papers' claims"
    about = {
        "title": title,
        "matters": _describe_thresholds(),
        "notes": notes,
        "power": power,
        "script": script,
    }
    return fill_template(TEMPLATE, **about, **table, places=list(places), **words, **choices)


def page_columns(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return a row a claim, data set and contrast, as texts by column: what both judges say."""
    table: dict[str, list[str]] = {}
    for judges in lines_by_question(lines).values():
        for head, text in _claim_texts(judges).items():
            table.setdefault(head, []).append(text)
    return table


def tally_columns(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return, as texts by column, how often each verdict was given, a row a paper and judge; all papers come
    first.
    """
    words = list(claims_told.SIGNS)
    table: dict[str, list[str]] = {head: [] for head in ("paper", "judged", *words)}
    for paper, by_judge in _tallies(lines_by_question(lines)).items():
        for judge, counts in by_judge.items():
            if not counts:
                continue
            table["paper"].append(paper)
            table["judged"].append(JUDGES[judge])
            for word in words:
                table[word].append(str(counts[word]))
    return table


def _claim_texts(judges: Mapping[str, Line]) -> dict[str, str]:
    """Return what ``columns`` says of one claim, data set and contrast."""
    line = next(iter(judges.values()))
    labels, truth = judges.get("labels"), judges.get("truth")
    claim = claims.find_claim(line["claim"])
    first = verdict_with_effect(labels or judges.get("neither"))
    arms = f"{claims.DATA[line['data']]}: {claims_told.contrast_of(line)}"
    cells = {"claim": claim.id, "what it says; data and arms": f"{claim.says} {arms}"}
    cells |= {"by annotated pairs, or by other measures": first, JUDGES["truth"]: verdict_with_effect(truth)}
    return cells


def lines_by_question(lines: Sequence[Line]) -> Asked:
    """Return (claim, data, contrast) -> one of ``JUDGES`` -> line, in the order of the claims."""
    order, verdicts = list(claims.load_claims()), Asked()
    for line in sorted(lines, key=lambda line: order.index(line["claim"])):
        judge = line["judge"] if line["judge"] in JUDGES else "neither"
        verdicts.setdefault((line["claim"], line["data"], line["contrast"]), {})[judge] = line
    return verdicts


def unjudged_claims(verdicts: Asked) -> list[claims.Claim]:
    """Return claims of which the ledger says nothing yet."""
    names = {key[0] for key in verdicts}
    return [claim for name, claim in claims.load_claims().items() if name not in names]


def _count_judged(verdicts: Asked) -> tuple[str, str]:
    """Return how many claims were judged; and in how many rows, on which data, and how many held by each
    judge.
    """
    places = Counter(claims.DATA[key[1]] for key in verdicts)
    where = join_words([f"{place} {rows}" for place, rows in places.most_common()])
    by_judge = [
        f"{word.capitalize()}, {_count_replicated(judge, verdicts)}" for judge, word in JUDGES.items()
    ]
    judged, every = (
        len(claims.load_claims()) - len(unjudged_claims(verdicts)),
        format_count(len(claims.load_claims()), "claim"),
    )
    papers = join_words(list(claims.PAPERS.values()))
    rows = (
        f"A claim has a row for each data set and pair of arms, {format_count(len(verdicts), 'row')} in all"
    )
    return (f"{judged} of {every} of {papers} were judged.", f"{rows}: {where}. {' '.join(by_judge)}")


def _count_replicated(judge: str, verdicts: Asked) -> str:
    """Return how many rows a judge calls replicated, and of how many claims these are."""
    by_claim = [(key[0], judges[judge]["verdict"]) for key, judges in verdicts.items() if judge in judges]
    replicated = [name for name, verdict in by_claim if verdict == "replicated"]
    rows = format_count(len(by_claim), "row")
    every = format_count(len({name for name, _ in by_claim}), "claim")
    return f"{len(replicated)} of {rows} are replicated, in {len(set(replicated))} of {every}."


def _describe_thresholds() -> str:
    """Return from what size on an effect matters, by unit."""
    usual = claims.smallest_effects()
    return join_words(
        [f"{usual[unit]} {claims_told.UNITS[unit]}" for unit in ("sum", "share", "correlation")]
    )


def _count_verdicts(judge: str, rows: Iterable[Mapping[str, Line]]) -> Counter[str]:
    """Return the verdict -> rows with it."""
    counts = Counter(judges[judge]["verdict"] for judges in rows if judge in judges)
    return Counter({word: counts[word] for word in claims_told.SIGNS if counts[word]})


def _tallies(verdicts: Asked) -> dict[str, dict[str, Counter[str]]]:
    """Return paper -> judge -> verdict -> rows; all papers come first."""
    rows_of_paper = {"all": list(verdicts.values())}
    for letter, paper in claims.PAPERS.items():
        rows_of_paper[paper] = [judges for key, judges in verdicts.items() if key[0][0] == letter]
    tallies = {}
    for paper, rows in rows_of_paper.items():
        if rows:
            tallies[paper] = {judge: _count_verdicts(judge, rows) for judge in JUDGES}
    return tallies


def _row_values(
    judges: Mapping[str, Line], earlier: Mapping[tuple[Any, ...], Sequence[str]]
) -> dict[str, Any]:
    """Return what the template shows of a row."""
    line = next(iter(judges.values()))
    claim, printed = claims.find_claim(line["claim"]), claims_told.printed_of(line)
    trained = "budget" in line
    recorded = [] if trained or line["judge"] == "no training" else ["recorded"]
    unit = claims_told.UNITS[line["unit"]] if printed else ""
    by: dict[str, Any] = dict.fromkeys(JUDGES)
    for judge, verdict in judges.items():
        before = earlier.get(tuple(verdict[name] for name in claims.QUESTION), ())
        by[judge] = _verdict_values(verdict) | {"before": list(before)}
    row = {"claim": claim, "place": claims.DATA[line["data"]], "by": by}
    row["arms"] = ", ".join([claims_told.contrast_of(line), *recorded, claims_told.seeds_of(line)])
    row |= {"printed": printed, "unit": unit, "trained": trained}
    row["together"] = claims_told.parting_of_judges(judges.get("labels"), judges.get("truth"))
    return {**row, "commands": claims_told.commands_of(line), "folders": claims_told.folders_of(line)}


def _verdict_values(line: Line) -> dict[str, Any]:
    """Return what the template shows of a verdict."""
    effect, unit = claims_told.interval_of(line), claims_told.unit_of(line)
    shown = {"verdict": line["verdict"], "effect": effect, "unit": unit, "metric": line["metric"]}
    shown |= {"reason": claims_told.reason_of(line), "matters": claims_told.threshold_of(line)}
    return {**shown, "seeds": claims_told.values_by_seed(line)}
