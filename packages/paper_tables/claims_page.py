"""What the ledger says, as a page to filter and search; ``claims_words`` says the same in Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from markupsafe import Markup

from paper_tables import asked, claims, claims_figure, claims_told
from paper_tables.claims_told import Line, verdict_with_effect
from paper_tables.judging import ALPHA
from workbench.english import join_words
from workbench.formatting import format_count
from workbench.views.pages import fill_template

TEMPLATE, SCRIPT = (Path(__file__).with_name(name) for name in ("claims.html.j2", "claims_filters.js"))
HELD, FAILED = ("replicated",), ("refuted", "equivalent")
OPEN = ("undecided", "void")
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
    words |= {"exploratory": claims_told.EXPLORATORY, "kinds": claims_told.KINDS}
    choices = {"partings": list(claims_told.PARTINGS), "papers": list(claims.PAPERS.values())}
    rows = [_row_values(judges, earlier or {}) for judges in verdicts.values()]
    table = {
        "rows": rows,
        "tallies": _tallies(verdicts),
        "finding": tally_sentence(lines),
        "waiting": waiting_claims(lines),
        "effects": claims_figure.figure_values(
            sorted(sorted(lines, key=place_in_list), key=claims.is_stated, reverse=True)
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
    """Return, as texts by column, how often each verdict was given, a row a paper, kind and judge; all papers
    come first.
    """
    words = list(claims_told.SIGNS)
    table: dict[str, list[str]] = {head: [] for head in ("paper", "kind", "judged", *words)}
    for (paper, kind), by_judge in _tallies(lines_by_question(lines)).items():
        for judge, counts in by_judge.items():
            if not counts:
                continue
            table["paper"].append(paper)
            table["kind"].append(kind)
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
    cells |= {"kind": claims_told.kind_of(line)}
    cells |= {"by annotated pairs, or by other measures": first, JUDGES["truth"]: verdict_with_effect(truth)}
    return cells


def lines_by_question(lines: Sequence[Line]) -> Asked:
    """Return (claim, data, contrast) -> one of ``JUDGES`` -> line, in the order of the claims; of one claim
    stated questions come first.
    """
    verdicts = Asked()
    for line in sorted(sorted(lines, key=claims.is_stated, reverse=True), key=place_in_list):
        judge = line["judge"] if line["judge"] in JUDGES else "neither"
        verdicts.setdefault((line["claim"], line["data"], line["contrast"]), {})[judge] = line
    return verdicts


def place_in_list(line: Line) -> int:
    """Return the place of a line's claim in the list of all."""
    return list(claims.load_claims()).index(line["claim"])


def waiting_claims(lines: Sequence[Line]) -> list[tuple[claims.Claim, str]]:
    """Return claims with a question that is not tried yet, and which questions these are."""
    waiting = []
    for claim in claims.load_claims().values():
        left = asked.describe_untried(claim, lines)
        if left:
            texts = [f"{claims.DATA[where]}: {text}" for where, text in left.items()]
            waiting.append((claim, "; ".join(texts)))
    return waiting


def tally_sentence(lines: Sequence[Line]) -> str:
    """Return how many claims were tried, how many of them held and did not, over all data and judges that
    decide: in tests that were stated beforehand, and in the others.
    """
    stated = [line for line in lines if claims.is_stated(line)]
    others = [line for line in lines if not claims.is_stated(line)]
    every = format_count(len(claims.load_claims()), "claim")
    first = _count_outcomes(stated, "in tests that were stated beforehand")
    second = _count_outcomes(others, "in exploratory tests, which nobody stated beforehand")
    papers = join_words(list(claims.PAPERS.values()))
    return f"Of {every} of the papers on {papers}, {first}. {second.capitalize()}."


def _count_outcomes(lines: Sequence[Line], where: str) -> str:
    """Return how many claims some lines try, and how many held."""
    decided: dict[str, set[bool]] = {line["claim"]: set() for line in lines}
    for line in lines:
        if line["verdict"] not in OPEN:
            decided[line["claim"]].add(line["verdict"] in HELD)
    if not decided:
        return f"none was tried yet {where}"
    counts = Counter(map(frozenset, decided.values()))
    always, failed, both, never = (
        counts[frozenset(outcomes)] for outcomes in ([True], [False], [True, False], [])
    )
    return (
        f"{len(decided)} were tried {where}: {always} held in every conclusive test, {failed} in none and "
        f"{both} in some; for {never} no test was conclusive"
    )


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


def _tallies(verdicts: Asked) -> dict[tuple[str, str], dict[str, Counter[str]]]:
    """Return paper and kind -> judge -> verdict -> rows; all papers come first."""
    tallies = {}
    for paper, kind in product(("all", *claims.PAPERS.values()), claims_told.KINDS):
        rows = [
            judges
            for key, judges in verdicts.items()
            if paper in ("all", claims.PAPERS[key[0][0]]) and _kind_of_row(judges) == kind
        ]
        if rows:
            tallies[paper, kind] = {judge: _count_verdicts(judge, rows) for judge in JUDGES}
    return tallies


def _kind_of_row(judges: Mapping[str, Line]) -> str:
    return claims_told.kind_of(next(iter(judges.values())))


def _row_values(
    judges: Mapping[str, Line], earlier: Mapping[tuple[Any, ...], Sequence[str]]
) -> dict[str, Any]:
    """Return what the template shows of a row."""
    line = next(iter(judges.values()))
    claim, printed = claims.find_claim(line["claim"]), claims_told.printed_of(line)
    trained, kind = "budget" in line, claims_told.kind_of(line)
    unit = claims_told.UNITS[line["unit"]] if printed else ""
    by: dict[str, Any] = dict.fromkeys(JUDGES)
    for judge, verdict in judges.items():
        before = earlier.get(tuple(verdict[name] for name in claims.QUESTION), ())
        by[judge] = _verdict_values(verdict) | {"before": list(before)}
    row = {"claim": claim, "place": claims.DATA[line["data"]], "by": by}
    row["arms"] = ", ".join([claims_told.contrast_of(line), claims_told.seeds_of(line), kind])
    row |= {"kind": kind, "printed": printed, "unit": unit, "trained": trained}
    row["together"] = claims_told.parting_of_judges(judges.get("labels"), judges.get("truth"))
    return {**row, "commands": claims_told.commands_of(line), "folders": claims_told.folders_of(line)}


def _verdict_values(line: Line) -> dict[str, Any]:
    """Return what the template shows of a verdict."""
    effect, unit = claims_told.interval_of(line), claims_told.unit_of(line)
    shown = {"verdict": line["verdict"], "effect": effect, "unit": unit, "metric": line["metric"]}
    shown |= {"reason": claims_told.reason_of(line), "matters": claims_told.threshold_of(line)}
    return {**shown, "seeds": claims_told.values_by_seed(line)}
