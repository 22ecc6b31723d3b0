"""What the ledger says, as Markdown: two pages of ``docs/`` and sentences of the README."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from paper_tables import asked, claims
from paper_tables.claims import smallest_effects
from paper_tables.claims_page import (
    FAILED,
    HELD,
    OPEN,
    Asked,
    lines_by_question,
    place_in_list,
    tally_sentence,
    waiting_claims,
)
from paper_tables.claims_told import (
    EXPLORATORY,
    KINDS,
    MEANS,
    PARTINGS,
    SIGNS,
    STATED,
    contrast_of,
    effect_of,
    kind_of,
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
# what a row says, for whoever has read no paper and no other page
LEGEND = (
    f"Verdicts. {' '.join(f'{SIGNS[word]} {word}: {meaning}.' for word, meaning in MEANS.items())}",
    "Data. The synthetic scenes are drawn, and what is true of each is known. Flickr8k and HierarCaps "
    "are photographs.",
    "Contrast. The first arm minus the second, or one arm by itself. The second comes first where a paper "
    "claims less. Exploratory arms are those of recorded comparisons: whole objectives, and each without a "
    "part of its own. Descriptiveness has two readings: the printed formula, and the sum of normalised "
    "TF-IDF (`l2_sum`).",
    "Judge. By annotated pairs only the image counts that the caption was written for. By the truth every "
    "image counts that the caption is true of. Without a judge stand times and the shape of a space.",
    "Effect. It is positive where it goes the paper's way. Points of 600 are those of RSUM, the sum of six "
    "recalls in percent, or of six NCS. Brackets hold Student's 95 % interval for other seeds, and for other "
    "test images too where a row keeps values by image. Where nothing was trained they are over groups of "
    "images.",
    f"Why. A verdict needs a p value below {ALPHA} by Holm's rule within a family: all stated questions of a "
    "paper with the same data and judge, tried or not. Exploratory rows are a family of their own. Brackets "
    "are for one row alone, and may exclude zero where the verdict does not.",
    f"Health. Every arm has gone {format_number(100 * HEALTHY, 0)} % of VSE++'s way from chance in RSUM, "
    "with the same data and budget, else its row is void. A row has arms of equal steps, "
    f"{LEAST_STEPS} at least, or does not stand here.",
    "`workbench claims show D9` tells one claim, with the commands that make its arms. "
    "`workbench claims run D9` states what it costs, and tries it again.",
)
POWERS = ("replicated", "equivalent", "false")
# share of the best value from which on arms made a row void, before the rule was changed
FORMER_CEILING = 0.95
# what no reader should conclude, whatever the rows say
LIMITS = (
    "Data are small and few: one world of drawn scenes, 2,000 at most, and one set of photographs, 3,000 at "
    "most, with frozen features of one small network. A paper has tens of thousands.",
    "Refuted and equivalent mean at this size. They say nothing about the paper's own tables.",
    "Claims were chosen because two cores can try them, and each has one reading of ours. A verdict is of "
    "this reading.",
    "Each run keeps its epoch with the highest RSUM by annotated pairs on validation images, where the truth "
    "judges as well.",
    "A seed changes starting weights and the order of batches, alike for both arms. Training images stay the "
    "same, so no bracket holds for other training data.",
    "Student's interval takes differences between seeds for normal. A test of their signs alone has no p "
    "value below 0.25 with three seeds, 0.06 with five and 0.002 with ten; every row says how many seeds "
    "agree.",
    "Groups of images share the texts that descriptiveness and CIDEr are fitted on, and objectives are no "
    "random sample. Brackets over either say little about other texts or objectives.",
)


def pages(ledger: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return name of a file -> its text: which claims held, and where the judges part and what not to
    conclude.
    """
    lines, earlier = claims.current(ledger), claims.history(ledger)
    texts = {
        "claims.md": _verdict_sections(lines, earlier),
        "claims_limits.md": _parting_sections(lines_by_question(lines), ledger, earlier),
    }
    return {name: "\n".join(lines_of_page) + "\n" for name, lines_of_page in texts.items()}


def limits_text(ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a reader should not conclude; ``power`` says what the seeds can find."""
    lines = claims.current(ledger)
    trained = [line for line in lines if line.get("seeds")]
    return [
        *LIMITS,
        _stated(lines, ledger),
        _describe_recipes(trained),
        _describe_shared_arms(trained),
        _describe_images(trained),
        _describe_voids(trained),
        _describe_limits(lines),
        _expected_false_verdicts(lines),
        _describe_seeds(trained),
        _former_answers(lines, ledger),
    ]


def _describe_seeds(trained: Sequence[Mapping[str, Any]]) -> str:
    """Return how many seeds rows have."""
    counts = Counter(len(_first_line(judges)["seeds"]) for judges in lines_by_question(trained).values())
    sizes = []
    for seeds, rows in sorted(counts.items()):
        sizes.append(f"{format_count(rows, 'row')} with {format_count(seeds, 'seed')}")
    return f"Undecided is no evidence against a claim. Seeds are few: {', '.join(sizes)}."


def _describe_images(trained: Sequence[Mapping[str, Any]]) -> str:
    """Return how many intervals hold the scatter of test images."""
    count = sum("images" in line for line in trained)
    return (
        f"Of {format_count(len(trained), 'verdict')} from training, {count} keep values by image: their "
        "brackets add both variances, with Satterthwaite's degrees of freedom. Brackets of the others hold "
        "other seeds alone, and are too narrow for other test images. None holds for a gallery of another "
        "size."
    )


def _describe_voids(trained: Sequence[Mapping[str, Any]]) -> str:
    """Return how many verdicts are void, and what that depends on."""
    void, near = 0, 0
    for line in trained:
        evidence = claims.evidence_of_line(line)
        void += line["verdict"] == "void"
        near += line["verdict"] != "void" and min(evidence.arms) > FORMER_CEILING * evidence.best
    every, further = format_count(len(trained), "verdict"), format_count(near, "further verdict")
    learnt, former = (format_number(100 * share, 0) for share in (HEALTHY, FORMER_CEILING))
    return (
        f"Of {every} from training, {void} are void. Whether an arm has learnt is judged by its own RSUM by "
        "annotated pairs, after training: a part without which nothing is learnt leaves a void row, and no "
        f"replicated one. The limit of {learnt} % is ours. Until half of the seeds of D1, D2, D9 and S3 were "
        f"seen, arms that all had {former} % of the best value made a row void as well; without that change "
        f"{further} would be void."
    )


def _describe_limits(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return where the smallest effects of interest come from, and how many rows held are below theirs."""
    below = 0
    for line in lines:
        below += line["verdict"] == "replicated" and max(-line["low"], line["high"]) < line["smallest"]
    usual = smallest_effects()
    points, share = format_number(usual["sum"], 0), format_number(usual["share"], 1)
    correlation = format_number(usual["correlation"], 2)
    return (
        f"Limits below which an effect does not matter are ours and come from no paper: {points} points of "
        f"600, {share} percentage points, {correlation} of a correlation. With another limit a row may be "
        f"equivalent or undecided. Replicated says the sign alone: {format_count(below, 'replicated row')} "
        "lie wholly below their limit."
    )


def _describe_recipes(trained: Sequence[Mapping[str, Any]]) -> str:
    """Return what recipes arms have, and for how many verdicts another learning rate was tried."""
    decided = [line for line in trained if line["verdict"] in (*HELD, *FAILED)]
    tried = sum(bool(line.get("rates")) for line in decided)
    return (
        "Every arm has one budget of minutes on a CPU core, and a recipe searched for whole objectives. A "
        f"part left out has no recipe of its own. Of {format_count(len(decided), 'conclusive verdict')} from "
        f"training, {tried} were tried at half and twice the learning rate as well, with one seed."
    )


def _describe_shared_arms(trained: Sequence[Mapping[str, Any]]) -> str:
    """Return how many rows share an arm with another one."""
    contrasts = [key[1:] for key in lines_by_question(trained)]
    counts: Counter[tuple[str, str]] = Counter()
    for where, contrast in set(contrasts):
        counts.update((where, arm) for arm in contrast.split(" | "))
    shared = 0
    for where, contrast in set(contrasts):
        shared += any(counts[where, arm] > 1 for arm in contrast.split(" | "))
    return (
        f"Of {format_count(len(set(contrasts)), 'contrast')} of trained arms, {shared} share an arm and its "
        "seeds with another, and both judges read the same runs. Holm's rule holds all the same, but "
        "verdicts go together: their counts are no counts of independent results."
    )


def _stated(lines: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]]) -> str:
    """Return how many questions were stated before their results, how many of these are answered, and what
    was known when they were stated.
    """
    answered = {line["asked"]: line for line in lines if claims.is_stated(line)}
    today = {row["hash"] for row in asked.untried(claims.load_claims().values(), [])}
    changed = set(asked.stated()["hash"]) - today
    late = len(changed & {line.get("asked") for line in ledger})
    before = {(line["claim"], line["data"]) for line in ledger if line.get("asked") not in today}
    seen = sum((line["claim"], line["data"]) in before for line in answered.values())
    others = sum(not claims.is_stated(line) for line in lines)
    questions, exploratory = format_count(len(today), "question"), format_count(others, "verdict")
    return (
        f"Of {questions} that were stated in `assets/asked.tsv` with arms, smallest effect and number of "
        f"seeds, in a commit before the results, {len(answered)} are answered, each with all its seeds. "
        f"Which come first is our choice. To {seen} there was an earlier answer on the same data, with other "
        f"arms or another budget. {len(changed)} earlier statements were changed, {late} of them after an "
        f"answer. {exploratory} are exploratory: {EXPLORATORY}, and no rule said when to stop."
    )


def _expected_false_verdicts(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return how many false verdicts are to be expected at most."""
    families = {claims.family_of(line) for line in lines}
    sizes = [claims.count_questions(family) for family in families if family[-1]]
    largest = f", the largest {format_count(max(sizes), 'question')}" if sizes else ""
    return (
        f"Holm's rule holds within a family; {len(families)} have rows{largest}. At most "
        f"{format_number(ALPHA * len(families), 1)} of them are expected to hold a false verdict. It counts "
        "stated questions that are void or not tried yet, so that no choice of what to try first makes "
        "it milder."
    )


def _former_answers(lines: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]]) -> str:
    """Return what was answered to questions that are asked no more, or otherwise, by claim."""
    counting = set(map(claims.question_of_line, lines))
    former = [line for line in claims.latest_lines(ledger) if claims.question_of_line(line) not in counting]
    decided = sorted((line for line in former if line["verdict"] not in OPEN), key=place_in_list)
    counts = Counter((line["claim"], line["verdict"]) for line in decided)
    texts = [f"{name} {word} ({count})" for (name, word), count in counts.items()]
    return (
        f"Asked before, otherwise: {format_count(len(former), 'answer')} count no longer, because arms had "
        f"fewer than {LEAST_STEPS} steps, or unequal ones, or the question was not stated as it is today. "
        f"{len(former) - len(decided)} were undecided or void. The others were {', '.join(texts)}."
    )


def central_sentences(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the README's sentences on the papers' claims."""
    text = (
        f"{tally_sentence(lines)} [Every claim](docs/claims.md) has its effect and "
        "interval. Data and budgets are small, so no verdict [applies](docs/claims_limits.md) to a paper's "
        "own setting."
    )
    return "\n".join(textwrap.wrap(text, 165))


def _first_line(judges: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(iter(judges.values()))


def _verdict_sections(
    lines: Sequence[Mapping[str, Any]], earlier: Mapping[tuple[Any, ...], Sequence[str]]
) -> list[str]:
    """Return what stated questions and exploratory rows say, and which questions wait."""
    verdicts = lines_by_question(lines)
    about = (
        f"`workbench claims report` writes this page from the ledger. {tally_sentence(lines)} A row is a "
        "claim on one data set with one contrast. [Where annotated pairs and truth "
        "disagree](claims_limits.md) says what not to conclude."
    )
    figure = "![Effects of every claim, from chance to the best that can be reached](claims.png)"
    text = ["# What became of the papers' claims", "", figure, "", *textwrap.wrap(about, 130), ""]
    for kind, meaning in zip(KINDS, (STATED, EXPLORATORY), strict=True):
        rows = {key: judges for key, judges in verdicts.items() if kind_of(_first_line(judges)) == kind}
        text += [f"## {kind.capitalize()}", "", f"{meaning[0].upper()}{meaning[1:]}.", ""]
        if rows:
            text += [*_tallies(rows), "", *_verdict_table(rows, earlier, by_verdict=True), ""]
        else:
            text += ["No such test has all its seeds yet.", ""]
    waiting = [(claim.id, claim.says, left) for claim, left in waiting_claims(lines)]
    text += ["## Not yet tried", "", *_table_lines(("claim", "says", "waits"), waiting), ""]
    return [*text, "## How to read a row", "", *(f"- {sentence}" for sentence in LEGEND)]


def _tallies(verdicts: Asked) -> list[str]:
    """Return how often each verdict was given, a line a judge."""
    every = chain.from_iterable(judges.values() for judges in verdicts.values())
    counts = Counter((line["judge"], line["verdict"]) for line in every)
    tallies = []
    for judge in JUDGES:
        tally = [f"{counts[judge, word]} {word}" for word in SIGNS if counts[judge, word]]
        tallies += [f"- {TOLD[judge]}: {', '.join(tally)}."] if tally else []
    return tallies


def _parting_sections(
    verdicts: Asked, ledger: Sequence[Mapping[str, Any]], earlier: Mapping[tuple[Any, ...], Sequence[str]]
) -> list[str]:
    """Return where the judges part, how much the seeds can find, and what not to conclude."""
    partings, counts = {}, Counter[tuple[str, str]]()
    for key, judges in verdicts.items():
        partings[key] = parting_of_judges(judges.get("labels"), judges.get("truth"))
        if partings[key]:
            counts[partings[key], kind_of(_first_line(judges))] += 1
    about = (
        "`workbench claims report` writes this page from the ledger. The synthetic scenes are drawn, so the "
        "truth of each caption is known for every image. By annotated pairs only the image counts that "
        f"it was written for. Both judge {format_count(counts.total(), 'row')} of [the claims](claims.md):"
    )
    lines = ["# Where annotated pairs and truth disagree", "", *textwrap.wrap(about, 130), ""]
    for word, meaning in PARTINGS.items():
        by_kind = [f"{counts[word, kind]} {kind}" for kind in KINDS]
        lines.append(f"- {meaning}: {', '.join(by_kind)}")
    for heading, word in (
        ("They decide differently", "disagree"),
        ("One decides, the other does not", "only"),
    ):
        parted = {key: verdicts[key] for key, parting in partings.items() if word in parting}
        lines += ["", f"## {heading}", "", *_verdict_table(parted, earlier)]
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
    first = rows.iloc[0]
    near, effect = (format_number(value, 0) for value in (nearest, first.effect))
    return (
        "In half of the rows with RSUM, its difference varies from seed to seed with a standard deviation "
        f"above {format_number(middle, 1)} points. In simulations of {first.claims} claims where it is "
        f"{near}, a true difference of {effect} points is found replicated in {shares}."
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
    verdicts: Asked, earlier: Mapping[tuple[Any, ...], Sequence[str]], *, by_verdict: bool = False
) -> list[str]:
    """Return a row for each judge's verdict, with what the question was answered before.

    Args:
        verdicts: by question.
        earlier: from ``claims.history``.
        by_verdict: those that held come first and open ones last.
    """
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
    lines = list(chain.from_iterable(judges.values() for judges in verdicts.values()))
    if by_verdict:
        lines.sort(key=lambda line: (*HELD, *FAILED, *OPEN).index(line["verdict"]))
    rows = []
    for line in lines:
        about = (line["claim"], claims.find_claim(line["claim"]).says, claims.DATA[line["data"]])
        asked_before = _asked_before(line, earlier.get(claims.question_of_line(line), ()))
        rows.append((*about, *_verdict_cells(line), asked_before))
    return _table_lines(heads, rows)


def _asked_before(line: Mapping[str, Any], answers: Sequence[str]) -> str:
    """Return the kind of a question, how often it was asked, and what it was answered before."""
    often = f"{len(answers) + 1} times, before: {', '.join(answers)}" if answers else "once"
    return f"{kind_of(line)}, {often}"


def _verdict_cells(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a judge's verdict in the columns of ``_verdict_table``."""
    verdict = (JUDGES[line["judge"]], verdict_of(line), effect_of(line), reason_of(line))
    return (contrast_of(line), *verdict, seeds_of(line))


def _table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)]
