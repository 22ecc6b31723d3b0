"""What the ledger says, as Markdown: two pages of ``docs/`` and sentences of the README."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from paper_tables import claims
from paper_tables.claims import smallest_effects
from paper_tables.claims_page import Asked, lines_by_question, unjudged_claims
from paper_tables.claims_told import (
    MEANS,
    PARTINGS,
    SIGNS,
    contrast_of,
    effect_of,
    parting_of_judges,
    reason_of,
    seeds_of,
    verdict_of,
)
from paper_tables.health import HEALTHY, LEAST_STEPS
from paper_tables.judging import ALPHA
from workbench import assets
from workbench.formatting import format_count, format_number

JUDGES = {
    "labels": "annotated pairs",
    "truth": "the truth",
    "no training": "no training",
    "neither": "no judge",
}
TOLD = {
    "labels": "By annotated pairs",
    "truth": "By the truth",
    "no training": "Without training",
    "neither": "Without a judge",
}
HELD, FAILED = ("replicated",), ("refuted", "equivalent")
OPEN = ("undecided", "void")
# what a row says, for whoever has read no paper and no other page
LEGEND = (
    f"Verdicts. {' '.join(f'{SIGNS[word]} {word}: {meaning}.' for word, meaning in MEANS.items())}",
    "Data. The synthetic scenes are drawn, and what is true of each is known. Flickr8k and HierarCaps "
    "are photographs.",
    "Contrast. The first arm minus the second, or one arm by itself. The second comes first where a paper "
    "claims less. Arms that are whole objectives, or one without a part of its own, are recorded "
    "comparisons that were made before the claims were written down. The others were trained for the ledger. "
    "Descriptiveness has two readings: the printed formula, and the sum of normalised TF-IDF (`l2_sum`).",
    "Judge. By annotated pairs only the image counts that the caption was written for. By the truth every "
    "image counts that the caption is true of. Without a judge stand times and the shape of a space.",
    "Effect. It is positive where it goes the paper's way. Points of 600 are those of RSUM, the sum of six "
    "recalls in percent, or of six NCS. Brackets hold Student's 95 % interval for other seeds, and for other "
    "test images too where a row keeps values by image. Where nothing was trained they are over groups of "
    "images.",
    f"Why. A verdict needs a p value below {ALPHA} by Holm's rule within a family: all claims of a paper "
    "with the same data and judge. Recorded ones are a family of their own. Brackets are for one row alone, "
    "and may exclude zero where the verdict does not.",
    f"Health. Every arm has gone {format_number(100 * HEALTHY, 0)} % of VSE++'s way from chance in RSUM, "
    "with the same data and budget, else its row is void. A row has arms of equal steps, "
    f"{LEAST_STEPS} at least, or does not stand here.",
    "`workbench claims show D9` tells one claim, with the commands that make its arms. "
    "`workbench claims run D9` states what it costs, and tries it again.",
)
POWERS = ("replicated", "equivalent", "false")
# what no reader should conclude, whatever the rows say
LIMITS = (
    "The data are small: at most 2,000 drawn scenes, or 3,000 photographs. A paper has tens of thousands.",
    "Photographs have frozen features of one small network. No image encoder was trained on them.",
    "Every arm has one budget of minutes on a CPU core, and a recipe searched for whole objectives. A part "
    "left out has no recipe of its own.",
    "Refuted and equivalent mean at this size. They say nothing about the paper's own tables.",
    "Claims were chosen because two cores can try them, and each has one reading of ours. A verdict is of "
    "this reading. The same recorded runs answer several claims, so that their verdicts are not independent.",
    "A seed changes starting weights and the order of batches, alike for both arms. Training images stay the "
    "same, so no bracket holds for other training data.",
    "Student's interval takes differences between seeds for normal. A test of their signs alone has no p "
    "value below 0.25 with three seeds, and none below 0.06 with five; every row says how many seeds agree.",
    "Recorded rows have as many seeds as the comparison had; no rule said beforehand when to stop. Questions "
    "that are stated today wait for all their seeds.",
)


def pages(ledger: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return name of a file -> its text: which claims held, and where the judges part and what not to
    conclude.
    """
    verdicts, earlier = lines_by_question(claims.current(ledger)), claims.history(ledger)
    texts = {
        "claims.md": _verdict_sections(verdicts, earlier),
        "claims_limits.md": _parting_sections(verdicts, ledger, earlier),
    }
    return {name: "\n".join(lines_of_page) + "\n" for name, lines_of_page in texts.items()}


def limits_text(ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a reader should not conclude; ``power`` says what the seeds can find."""
    lines = claims.current(ledger)
    counts = Counter(
        _seed_count(judges)
        for judges in lines_by_question(lines).values()
        if _first_line(judges)["judge"] != "no training"
    )
    sizes = ", ".join(
        f"{format_count(rows, 'row')} with {format_count(seeds, 'seed')}"
        for seeds, rows in sorted(counts.items())
    )
    return [
        *LIMITS,
        f"Undecided is no evidence against a claim. Seeds are few: {sizes}.",
        _stated(lines),
        _describe_images(lines),
        _describe_voids(lines),
        _describe_limits(lines),
        _describe_rates(lines),
        _expected_false_verdicts(lines),
        _count_dropped(ledger),
    ]


def _describe_images(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return how many intervals hold the scatter of test images."""
    trained = [line for line in lines if line.get("seeds")]
    count = sum("images" in line for line in trained)
    return (
        f"Of {format_count(len(trained), 'row')} from training, {count} keep values by image. Brackets "
        "of the others hold other seeds alone, and are too narrow for other test images."
    )


def _describe_voids(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return how many rows are void, and what that depends on."""
    trained = [line for line in lines if line.get("seeds")]
    void = sum(line["verdict"] == "void" for line in trained)
    return (
        f"Of {format_count(len(trained), 'row')} from training, {void} are void and say nothing for or "
        "against a claim. They take no part in Holm's rule. Whether an arm has learnt is judged by its own "
        "RSUM by annotated pairs, after training."
    )


def _describe_limits(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return where the smallest effects of interest come from, and how many rows held are below theirs."""
    below = 0
    for line in lines:
        below += line["verdict"] == "replicated" and max(-line["low"], line["high"]) < line["smallest"]
    usual = smallest_effects()
    return (
        f"Limits below which an effect does not matter are ours and come from no paper: "
        f"{format_number(usual['sum'], 0)} points of 600, {format_number(usual['share'], 1)} percentage "
        f"points, {format_number(usual['correlation'], 2)} of a correlation. With another limit a row may be "
        f"equivalent or undecided. Replicated says the sign alone: {format_count(below, 'replicated row')} "
        "lie wholly below their limit."
    )


def _describe_rates(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return for how many verdicts another learning rate was tried."""
    decided = [line for line in lines if line.get("seeds") and line["verdict"] in (*HELD, *FAILED)]
    tried = sum(bool(line.get("rates")) for line in decided)
    count = format_count(len(decided), "verdict")
    return f"Of {count} from training, {tried} were tried at half and twice the learning rate as well."


def _stated(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return how many questions were stated before their results."""
    trained = [line for line in lines if line.get("seeds")]
    stated = sum("asked" in line for line in trained)
    return (
        f"Of {format_count(len(trained), 'row')} from training, {stated} were stated with their arms, "
        "smallest effect and number of seeds in a commit before the results. Of the others, claims were "
        "chosen and limits set by people who had seen similar numbers."
    )


def _expected_false_verdicts(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return how many false verdicts are to be expected at most."""
    families = {claims.family_of(line) for line in lines}
    expected = format_number(ALPHA * len(families), 1)
    return (
        f"Holm's rule holds within a family, and there are {len(families)}. At most {expected} of them are "
        "expected to hold a false verdict."
    )


def _count_dropped(ledger: Sequence[Mapping[str, Any]]) -> str:
    """Return how many answers count no longer."""
    dropped = len(claims.latest_lines(ledger)) - len(claims.current(ledger))
    return (
        f"{format_count(dropped, 'earlier answer')} are left out: arms had fewer than {LEAST_STEPS} steps, "
        "or unequal ones, or the question is asked otherwise today. `claims run` asks again."
    )


def central_sentences(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the README's sentences on the papers' claims."""
    waiting = len(unjudged_claims(lines_by_question(lines)))
    text = (
        f"{_tally_sentence(lines, waiting)} [Every claim](docs/claims.md) has its effect and "
        "interval. Data and budgets are small, so no verdict [applies](docs/claims_limits.md) to a paper's "
        "own setting."
    )
    return "\n".join(textwrap.wrap(text, 165))


def _tally_sentence(lines: Sequence[Mapping[str, Any]], waiting: int) -> str:
    """Return how many claims were tried, how many of them held and did not, over all data and judges that
    decide.
    """
    decided: dict[str, set[bool]] = {line["claim"]: set() for line in lines}
    for line in lines:
        if line["verdict"] not in OPEN:
            decided[line["claim"]].add(line["verdict"] in HELD)
    counts = Counter(map(frozenset, decided.values()))
    always, failed, both, never = (
        counts[frozenset(outcomes)] for outcomes in ([True], [False], [True, False], [])
    )
    every = len(claims.load_claims())
    return (
        f"Of {format_count(every, 'claim')} of the five papers, {every - waiting} were tried. {always} held "
        f"in every conclusive test, {failed} in none and {both} in some; for {never} no test was conclusive."
    )


def _seed_count(judges: Mapping[str, Mapping[str, Any]]) -> int:
    return len(_first_line(judges)["values"]["more"])


def _first_line(judges: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(iter(judges.values()))


def _verdict_sections(verdicts: Asked, earlier: Mapping[tuple[Any, ...], Sequence[str]]) -> list[str]:
    """Return which claims held, which did not, and which wait."""
    every = list(chain.from_iterable(judges.values() for judges in verdicts.values()))
    counts = Counter((line["judge"], line["verdict"]) for line in every)
    tallies = []
    for judge in JUDGES:
        tally = [f"{counts[judge, word]} {word}" for word in SIGNS if counts[judge, word]]
        tallies.append(f"- {TOLD[judge]}: {', '.join(tally)}.")
    waiting = unjudged_claims(verdicts)
    known = claims.load_claims()
    judged = f"{len(known) - len(waiting)} of {format_count(len(known), 'claim')}"
    about = (
        f"`workbench claims report` writes this page from the ledger. It judges "
        f"{judged}, in {format_count(len(verdicts), 'row')}. A row is a claim on one data set with one "
        "contrast. [Where annotated pairs and truth disagree](claims_limits.md) says what not to conclude."
    )
    figure = "![Effects of every claim, from chance to the best that can be reached](claims.png)"
    lines = [
        "# What became of the papers' claims",
        "",
        figure,
        "",
        *textwrap.wrap(about, 130),
        "",
        *tallies,
        "",
    ]
    for heading, words in (("held", HELD), ("did not hold", FAILED), ("are undecided", OPEN)):
        chosen = {}
        for key, judges in verdicts.items():
            if any(line["verdict"] in words for line in judges.values()):
                chosen[key] = judges
        lines += [f"## Claims that {heading}", "", *_verdict_table(chosen, words, earlier), ""]
    rows = []
    for claim in waiting:
        commands = ", ".join(f"`{command}`" for command in claim.commands)
        rows.append((claim.id, claim.says, claim.needs or commands))
    lines += ["## Not yet judged", "", *_table_lines(("claim", "says", "made by or waits for"), rows), ""]
    return [*lines, "## How to read a row", "", *(f"- {sentence}" for sentence in LEGEND)]


def _parting_sections(
    verdicts: Asked, ledger: Sequence[Mapping[str, Any]], earlier: Mapping[tuple[Any, ...], Sequence[str]]
) -> list[str]:
    """Return where the judges part, how much the seeds can find, and what not to conclude."""
    partings = {
        key: parting_of_judges(judges.get("labels"), judges.get("truth")) for key, judges in verdicts.items()
    }
    counts = Counter(word for word in partings.values() if word)
    about = (
        "`workbench claims report` writes this page from the ledger. The synthetic scenes are drawn, so the "
        "truth of each caption is known for every image. By annotated pairs only the image counts that "
        f"it was written for. Both judge {format_count(counts.total(), 'row')} of [the claims](claims.md):"
    )
    lines = ["# Where annotated pairs and truth disagree", "", *textwrap.wrap(about, 130), ""]
    lines += [f"- {meaning}: {counts[word]}" for word, meaning in PARTINGS.items()]
    for heading, word in (
        ("They decide differently", "disagree"),
        ("One decides, the other does not", "only"),
    ):
        parted = {key: verdicts[key] for key, parting in partings.items() if word in parting}
        lines += ["", f"## {heading}", "", *_verdict_table(parted, earlier=earlier)]
    every = list(chain.from_iterable(judges.values() for judges in verdicts.values()))
    lines += ["", "## What the seeds can find", "", *_power_table()]
    sentences = filter(None, [*limits_text(ledger), power_text(every)])
    lines += ["", "## What a reader should not conclude", "", *(f"- {sentence}" for sentence in sentences)]
    return lines


def power_text(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return what 3, 5 and 10 seeds find, by the spread that is nearest to that of the ledger."""
    values = [line["values"] for line in lines if line["unit"] == "sum" and "less" in line["values"]]
    spreads = [np.std(np.subtract(value["more"], value["less"]), ddof=1) for value in values]
    if not spreads:
        return ""
    table, middle = assets.read_recorded("claims_power"), float(np.median(spreads))
    nearest = min(table.spread.unique(), key=lambda spread: abs(spread - middle))
    rows = table[(table.spread == nearest) & (table.key == "replicated")]
    shares = ", ".join(
        f"{format_number(100 * row.value, 0)} % with {row.seeds} seeds" for row in rows.itertuples()
    )
    return (
        f"In half of the rows with RSUM, its difference varies from seed to seed with a standard deviation "
        f"above {format_number(middle, 1)} points. In simulations where it is {format_number(nearest, 0)}, a "
        f"true difference of {format_number(rows.effect.iloc[0], 0)} points is found replicated in {shares}."
    )


def _power_table() -> list[str]:
    """Return the recorded simulation of the judging as a table, in words before it."""
    table = assets.read_recorded("claims_power")
    first = table.iloc[0]
    effect, smallest = (format_number(first[name], 0) for name in ("effect", "smallest"))
    about = (
        f"Papers of {first.claims} claims were simulated, {format_count(first.families)} a row, and judged "
        f"as here. A third of the claims have an effect of {effect} points, a third none. A third have "
        f"{smallest} points with the other sign; {smallest} is the smallest effect of interest. The spread "
        "is the standard deviation of a difference between seeds, in points. "
        "`python -m tools.benchmarks.bench_claims_power` makes the table."
    )
    wide = table.pivot_table(index=["spread", "seeds"], columns="key", values="value").reset_index()
    rows = []
    for _, row in wide.iterrows():
        shares = (f"{format_number(100 * row[key], 1)} %" for key in POWERS)
        rows.append((format_number(row["spread"], 0), format_number(row["seeds"], 0), *shares))
    replicated = f"an effect of {effect} is replicated"
    heads = ("spread", "seeds", replicated, "no effect is equivalent", "a paper has a false verdict")
    return [*textwrap.wrap(about, 130), "", *_table_lines(heads, rows)]


def _verdict_table(
    verdicts: Asked,
    words: Sequence[str] = tuple(SIGNS),
    earlier: Mapping[tuple[Any, ...], Sequence[str]] | None = None,
) -> list[str]:
    """Return a row for each judge's verdict that is one of these words, with what the question was answered
    before.
    """
    rows = []
    for key, judges in verdicts.items():
        about = (key[0], claims.find_claim(key[0]).says, claims.DATA[key[1]])
        for line in judges.values():
            if line["verdict"] in words:
                before = (earlier or {}).get(tuple(line[name] for name in claims.QUESTION), ())
                rows.append((*about, *_verdict_cells(line), _asked_before(before)))
    heads = (
        "claim",
        "says",
        "data",
        "contrast",
        "judge",
        "verdict",
        "effect and 95 % interval",
        "why",
        "of",
        "asked",
    )
    return _table_lines(heads, rows)


def _asked_before(answers: Sequence[str]) -> str:
    """Return how often a question was asked, and what it was answered before."""
    return f"{len(answers) + 1} times, before: {', '.join(answers)}" if answers else "once"


def _verdict_cells(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a judge's verdict in the columns of ``_verdict_table``."""
    verdict = (JUDGES[line["judge"]], verdict_of(line), effect_of(line), reason_of(line))
    return (contrast_of(line), *verdict, seeds_of(line))


def _table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)]
