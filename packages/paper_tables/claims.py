"""The claims of the five papers as data, and the ledger of what was found about them.

A line of the ledger is one question: a claim, the data, the contrast, and the judge that answers. Lines are
added, never changed; of one question the last line counts. Each holds its values by seed (or by group of
images), from which its verdict follows by ``judging``. A line of trained runs says with how many threads they
were computed. Lines from before that was kept were given it once: their values come out with one thread.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from paper_tables import health
from paper_tables.judging import Evidence, Verdict, judge
from workbench import data, metrics
from workbench.execution.grid import read_grid
from workbench.execution.library import find_file
from workbench.formatting import RANGES, format_number
from workbench.io import read_options
from workbench.records import require
from workbench.records.measurement import unit_of

FILE = Path(__file__).parent / "claims.yaml"
LEDGER = Path(__file__).parent / "assets" / "ledger.jsonl"
PAPERS = {"D": "DITM", "C": "CORA", "I": "DIAS", "S": "SAM", "A": "AAHR"}
DATA = {"W": "synthetic scenes", "F": "Flickr8k", "H": "HierarCaps", "K": "COCO captions of HierarCaps"}
PLACES = {"W": "scenes", "F": "flickr8k", "H": "hierarcaps", "K": "coco"}  # as commands call them
QUESTION = ("claim", "data", "contrast", "judge")
SCALE = {"sum": 100.0, "share": 100.0}  # points, as the papers print them
# over which objectives gain, and which says how far an arm of a recorded comparison can come
BASELINE = "vsepp"
# images of the test split of recorded comparisons
RECORDED_IMAGES = 1000
ENOUGH = 0.8  # correlation from which two metrics "rise together"
# threads of the processor that computed the recorded tables, as their grids say
RECORDED_THREADS = 1
# tables of values by seed, by the data that they were measured on
TABLES = {"W": ("comparison_scenes", "components_scenes", "judge_orders"), "F": ("objectives_flickr8k",)}
# tables of further arms
FURTHER = {"W": ("released_scenes",)}


@dataclass(frozen=True)
class Claim:
    """A claim of a paper; its fields are those of ``claims.yaml``, whose head explains them."""

    id: str
    place: str
    says: str
    metric: str | list[str]
    expected: str
    data: str
    smallest: float
    unit: str
    truth: list[str]
    tables: list[str] = field(default_factory=list)
    arms: dict[str, list[list[str]]] = field(default_factory=dict)
    recorded: list[list[str]] = field(default_factory=list)
    text: str | None = None
    models: str = ""
    judge: str = "labels"
    bound: float | None = None
    learns: bool = True
    printed: float | dict[str, float] | None = None
    remark: str = ""

    @property
    def paper(self) -> str:
        """The paper, by the first letter of the id."""
        return PAPERS[self.id[0]]

    @property
    def keys(self) -> dict[str, list[str]]:
        """The numbers that are averaged, by the judge that they ask."""
        truth = {"truth": self.truth} if self.truth and self.judge == "labels" else {}
        return {self.judge: self.own, **truth}

    @property
    def own(self) -> list[str]:
        """The claim's own numbers, in its unit."""
        return [self.metric] if isinstance(self.metric, str) else self.metric

    @property
    def contrasts(self) -> list[list[tuple[str, str]]]:
        """Grids and labels of the arms of each contrast: the first, by itself or minus the second; of four,
        the difference of the first two minus that of the others.
        """
        contrasts = []
        for name, several in self.arms.items():
            contrasts += [_places(name, arms) for arms in several]
        return contrasts

    def printed_for(self, contrast: str, who: str) -> float | None:
        """Return the paper's effect for a contrast, where the paper has one by the claim's own number.

        Args:
            contrast: labels of the arms, with bars between them.
            who: the judge; another number than the claim's own has none.
        """
        if who == "truth" and self.judge != "truth":
            return None
        return self.printed.get(contrast) if isinstance(self.printed, dict) else self.printed

    @property
    def commands(self) -> list[str]:
        """What trains its arms and judges it."""
        return [f"workbench claims run {self.id} --data {PLACES[where]}" for where in self.data if self.arms]

    def about(self) -> list[str]:
        """Return lines that tell it: what it says, its arms, and the command that makes them."""
        sign = {"+": "more", "-": "less", "0": "no difference"}[self.expected]
        values = self.printed.values() if isinstance(self.printed, dict) else [self.printed]
        numbers = [format_number(value, 1) for value in values if value is not None]
        printed = f", {', '.join(numbers)} printed" if numbers else ""
        lines = [f"{self.id}  {self.paper}, {self.place}: {self.says}"]
        lines.append(f"  metric: {', '.join(self.own)}; expected: {sign}{printed}")
        lines.append(f"  data: {', '.join(DATA[place] for place in self.data)}")
        lines += [] if self.text is None else ["  no training"]
        for arms in self.contrasts:
            lines.append(f"  arms: {' minus '.join(label for _, label in arms)}")
        lines += [f"  recorded: {more} minus {less}" for more, less in self.recorded]
        lines += [f"  command: {command}" for command in self.commands]
        return [*lines, f"  {self.remark}"] if self.remark else lines


def _places(grid: str, arms: Iterable[str]) -> list[tuple[str, str]]:
    return [_place(grid, arm) for arm in arms]


def _place(grid: str, arm: str) -> tuple[str, str]:
    """Return grid and label of an arm."""
    label, _, other = arm.partition(" @")
    return other or grid, label


@cache
def _read_claims() -> dict[str, Any]:
    return read_options(FILE)


@cache
def load_claims() -> dict[str, Claim]:
    """Return all claims by their id."""
    read, known = _read_claims(), {}
    for name, row in read["claims"].items():
        row = dict(row)
        first = row["metric"] if isinstance(row["metric"], str) else row["metric"][0]
        unit = row.pop("unit", unit_of(first))
        usual = {"truth": read["truth"], "smallest": read["smallest"].get(unit, 0.2)}
        known[name] = Claim(id=name, unit=unit, **{**usual, **row})
    return known


def smallest_effects() -> dict[str, float]:
    """Return from what size on an effect matters, by unit, where a claim says nothing else."""
    return dict(_read_claims()["smallest"])


def arm_words() -> dict[str, str]:
    """Return how an arm is said, by its label, where that is a code of its paper."""
    return dict(_read_claims()["words"])


def budget_of_data(where: str) -> dict[str, Any]:
    """Return values that lie below those of every grid on this data."""
    return dict(_read_claims()["budgets"][where])


def budget_of_arm(where: str, arm: tuple[str, str]) -> dict[str, Any]:
    """Return values that lie below those of an arm on this data: local matching has more epochs.

    Args:
        where: a key of ``DATA``.
        arm: grid and label.
    """
    budget, longer = budget_of_data(where), _read_claims()["longer"]
    grid, label = arm
    factor = longer.get(f"{label} @{grid}", longer.get(grid, 1))
    return {**budget, "epochs": budget["epochs"] * factor} if factor != 1 else budget


def recipe_of_grid(name: str) -> dict[str, Any]:
    """Return values that lie over those that a grid fixes."""
    return dict(_read_claims()["recipes"].get(name, {}))


def most_warmup_epochs() -> int:
    """Return how many warm-up epochs an arm has at most."""
    return int(_read_claims()["warmup"])


def planned_seeds(claim: Claim, where: str) -> int:
    """Return how many seeds a question of a claim is stated with."""
    return int(_read_claims()["seeds"][where])


def reference_label(label: str) -> str | None:
    """Return the label of an arm's reference within its grid; ``None`` = the reference of all."""
    references: dict[str, str] = _read_claims()["references"]
    return references.get(label)


def options(objective: str) -> dict[str, Any]:
    """Return options that lie below those of every grid for an objective."""
    return dict(every_option().get(objective, {}))


def every_option() -> dict[str, Any]:
    """Return options that lie below those of every grid, by objective."""
    return dict(_read_claims()["options"])


def find_claim(name: str) -> Claim:
    """Return a claim by its id.

    Raises:
        KeyError: there is no such claim.
    """
    require(name in load_claims(), f"no claim {name!r}; there are {', '.join(load_claims())}", KeyError)
    return load_claims()[name]


def read_ledger(path: Path = LEDGER) -> list[dict[str, Any]]:
    """Return every line that was ever written, the oldest first."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def latest_lines(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the last line of each question."""
    return list({question_of_line(line): dict(line) for line in lines}.values())


def current(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the last line of each question that is asked today, if its arms have enough steps, and equal;
    a number such as a time asks for no steps. Arms that were trained for the ledger answer stated questions.
    """
    known = load_claims()
    return [
        line
        for line in latest_lines(filter(_is_open, lines))
        if health.has_long_equal_arms(line) or not known[line["claim"]].learns
    ]


def _is_open(line: Mapping[str, Any]) -> bool:
    """Return whether a line answers a question of its claim as it is asked today."""
    claim = load_claims().get(line["claim"])
    if claim is None or line["judge"] not in ("no training", *claim.keys):
        return False
    # another number is another question
    if line["metric"] != claim.keys.get(line["judge"], claim.own):
        return False
    if line["judge"] == "no training" or (claim.models and "budget" not in line):
        return True
    if "budget" not in line:
        return line["contrast"] in [" | ".join(arms) for arms in claim.recorded]
    hashes = [
        question_hash(claim, line["data"], arms)
        for arms in claim.contrasts
        if line["contrast"] == contrast_name(arms)
    ]
    return line.get("asked") in hashes


def is_stated(line: Mapping[str, Any]) -> bool:
    """Return whether the question of a line was stated before it was answered, or the line is exploratory."""
    return "asked" in line


def question_hash(claim: Claim, where: str, arms: Sequence[tuple[str, str]]) -> str:
    """Return the hash of what a contrast of a claim asks on some data, 16 hex digits."""
    question: dict[str, Any] = {
        "claim": [claim.id, claim.keys, claim.expected, claim.smallest, claim.unit, claim.bound],
        "arms": [_arm_values(where, grid, label) for grid, label in arms],
        "seeds": planned_seeds(claim, where),
    }
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _arm_values(where: str, grid: str, label: str) -> dict[str, Any]:
    """Return what an arm is trained with: the budget, and what lies over it."""
    described = _read_named_grid(grid)
    values = {"fixed": described.get("fixed"), "arm": described["arms"][label]}
    values |= {"budget": budget_of_arm(where, (grid, label)), "options": every_option()}
    return values | {"recipe": recipe_of_grid(grid), "warmup": most_warmup_epochs()}


@cache
def _read_named_grid(name: str) -> Mapping[str, Any]:
    return read_grid(find_file(name, "grid"))


def contrast_name(arms: Sequence[tuple[str, str]]) -> str:
    """Return the name of a contrast: the labels of its arms, each with the name of its grid."""
    return " | ".join(label for _, label in arms)


def history(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[str]]:
    """Return what each question was answered before its last answer: verdict and day, the oldest first, and
    whether its arms, budget or limits were others.

    A line that repeats the values and the verdict of the one before it is no further answer.
    """
    answers: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        earlier = answers.setdefault(question_of_line(line), [])
        if not earlier or _answer_of_line(line) != _answer_of_line(earlier[-1]):
            earlier.append(line)
    words = {}
    for question, several in answers.items():
        words[question] = [_earlier_words(line, several[-1]) for line in several[:-1]]
    return words


def _earlier_words(line: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    otherwise = ", asked otherwise" if line.get("asked") != last.get("asked") else ""
    return f"{line['verdict']} ({line['day']}{otherwise})"


def _answer_of_line(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["verdict"], line["values"]


def question_of_line(line: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a line answers: its claim, data, contrast and judge, in the order of ``QUESTION``."""
    return tuple(line[name] for name in QUESTION)


def judge_lines(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return lines with the verdicts that follow from their values: one family a paper, data, judge and
    budget.
    """
    judged_lines = [_with_printed(line) for line in lines]
    shares = health.shares(judged_lines, BASELINE)
    families: dict[Any, list[tuple[dict[str, Any], Evidence]]] = {}
    for line, share in zip(judged_lines, shares, strict=True):
        families.setdefault(family_of(line), []).append((line, evidence_of_line(line, share)))
    for family, members in families.items():
        verdicts = judge([asked for _, asked in members], count_questions(family))
        for (line, _), verdict in zip(members, verdicts, strict=True):
            line |= rounded_verdict(verdict)
    return judged_lines


def family_of(line: Mapping[str, Any]) -> tuple[str, str, str, bool]:
    """Return what lines share whose verdicts are corrected together."""
    return PAPERS[line["claim"][0]], line["data"], line["judge"], is_stated(line)


def count_questions(family: tuple[str, str, str, bool]) -> int:
    """Return how many questions of a family are stated, answered or not; 0 where none are stated."""
    paper, where, who, stated = family
    asking = [
        claim
        for claim in load_claims().values()
        if claim.paper == paper and where in claim.data and who in claim.keys
    ]
    return sum(len(claim.contrasts) for claim in asking) if stated else 0


def _with_printed(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with the paper's effect as it is known today."""
    return {**line, "printed": find_claim(line["claim"]).printed_for(line["contrast"], line["judge"])}


def rounded_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values, four digits behind the point."""
    numbers = {name: round(getattr(verdict, name), 4) for name in ("effect", "low", "high")}
    p = None if np.isnan(verdict.p_holm) else round(verdict.p_holm, 4)
    return {"verdict": verdict.word, **numbers, "p_holm": p}


def evidence_of_line(line: Mapping[str, Any], share: float | None = None) -> Evidence:
    """Return what a line knows, for ``judge``.

    Args:
        line: of the ledger.
        share: which share of the reference's way from chance its worst arm has gone, see ``health.shares``.
    """
    values = {name: np.array(numbers, dtype=float) for name, numbers in line["values"].items()}
    require("more" in values, f"a line of the ledger has no values of the first arm: {line['claim']}")
    apart = values["more"] - values.get("less", np.zeros(1))
    sign = -1 if line["expected"] == "-" else 1
    other_rates = []
    for rate in line.get("rates", {}).values():
        other_rates.append(sign * np.subtract(rate["more"], rate["less"]))
    arms = tuple(float(numbers.mean()) for numbers in values.values())
    return Evidence(
        sign * apart,
        line["smallest"],
        no_effect=line["expected"] == "0",
        arms=arms,
        best=best_of(line) if len(arms) > 1 else float("inf"),
        health=share,
        other_rates=tuple(other_rates),
        images=tuple(line.get("images", (0.0, 0.0, 1))),
    )


def best_of(line: Mapping[str, Any]) -> float:
    """Return what the number of a line can reach: of RSUM on the synthetic scenes what a model that knows the
    truth alone can, else the end of its range.
    """
    if line["metric"] == ["rsum"] and line["data"] == "W":
        return attainable_sum(line.get("budget", {}).get("test_images", RECORDED_IMAGES))
    return float(RANGES.get(line["unit"], (0, np.inf))[1] * SCALE.get(line["unit"], 1.0))


@cache
def attainable_sum(images: int) -> float:
    """Return RSUM of somebody who knows the truth of so many synthetic scenes and not the annotated pairs."""
    split = data.load("scenes", split="test").first(images)
    scores = np.zeros((images, len(split.own)), dtype=np.float32)  # which no attainable number reads
    evidence = metrics.Evidence(scores, split.judgements["exact"], split.own)
    return 100 * metrics.evaluate(evidence, ["rsum_top"], rounds=0)[0].value


def record_lines(new: Iterable[Mapping[str, Any]], day: str, path: Path = LEDGER) -> int:
    """Append what is new to the ledger: new values, or a verdict that other claims of the paper change.

    Returns:
        Lines added.
    """
    before = read_ledger(path)
    known = {question_of_line(line): line for line in latest_lines(before)}
    added = []
    for line in judge_lines(current([*before, *new])):
        fresh = json.loads(json.dumps({**line, "day": day}))
        old = known.get(question_of_line(line), {})
        added += [] if {**old, "day": day} == fresh else [fresh]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in added)
    return len(added)


def line_of(
    claim: Claim, where: str, contrast: str, who: str, values: Mapping[str, Any], **about: Any
) -> dict[str, Any]:
    """Return a line without its verdict; ``values`` are those of the first arm, ``more``, and of the
    other.
    """
    question: dict[str, Any] = {"claim": claim.id, "data": where, "contrast": contrast, "judge": who}
    question |= {"metric": claim.keys.get(who, claim.own)}
    expected = {"expected": claim.expected, "unit": claim.unit, "smallest": claim.smallest}
    rounded = {}
    for name, numbers in values.items():
        rounded[name] = [round(float(number), 4) for number in numbers]
    return {
        **question,
        **expected,
        "printed": claim.printed_for(contrast, who),
        "chance": None,
        "values": rounded,
        **about,
    }


def line_of_arms(
    claim: Claim, where: str, contrast: str, who: str, values: Mapping[str, Any], **about: Any
) -> dict[str, Any]:
    """Return the same for numbers as they are stored, in the unit of the judge's own number."""
    keys = claim.keys[who]
    points = {name: np.asarray(numbers) * scale_of(claim, keys) for name, numbers in values.items()}
    unit = unit_of(keys[0])
    own = (
        {}
        if keys == claim.own
        else {"unit": unit, "smallest": _read_claims()["smallest"][unit], "printed": None}
    )
    return line_of(claim, where, contrast, who, points, **about) | own


def scale_of(claim: Claim, keys: Sequence[str]) -> float:
    """Return what a stored number is multiplied by to be one of the ledger's."""
    return SCALE.get(claim.unit if keys == claim.own else unit_of(keys[0]), 1.0)
