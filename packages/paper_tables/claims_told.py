"""A line of the ledger in words: verdict, effect, reason, arms, and what makes it again."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from paper_tables import claims
from paper_tables.health import HEALTHY
from paper_tables.judging import ALPHA
from workbench import assets
from workbench.english import join_words
from workbench.execution.grid import read_grid
from workbench.execution.library import find_file
from workbench.formatting import format_count, format_interval, format_number, format_p_value, unit_heading

Line = Mapping[str, Any]
SIGNS = {"replicated": "\u2714", "refuted": "\u2718", "equivalent": "=", "undecided": "?", "void": "\u2205"}
MEANS = {
    "replicated": "the effect goes the paper's way, beyond chance",
    "refuted": "it goes the other way, beyond chance",
    "equivalent": "it is smaller than the limit below which effects do not matter, beyond chance",
    "undecided": "the seeds allow more than one of these",
    "void": (
        f"an arm has gone less than {format_number(100 * HEALTHY, 0)} % of the reference arm's way from "
        "chance, or no effect of interest has room below the best value that can be reached"
    ),
}
UNITS = {unit: unit_heading(unit, difference=True) for unit in ("sum", "share", "correlation")} | {
    "number": ""
}
# how papers call the objectives, and the numbers
TITLES = {
    "aahr": "AAHR",
    "cora": "CORA",
    "daa": "DAA",
    "dias": "DIAS",
    "ditm": "DITM",
    "hrem": "HREM",
    "infonce": "InfoNCE",
    "pcme": "PCME",
    "pcmepp": "PCME++",
    "rince": "RINCE",
    "sam": "SAM",
    "siglip": "SigLIP",
    "three_ranks": "Three ranks",
    "vsepp": "VSE++",
}
METRICS = {
    "rsum": "RSUM",
    "map_at_r": "mAP@R",
    "ndcg": "nDCG",
    "R@1": "R@1",
    "ncs@10": "NCS@10",
    "ncs@10[without own]": "NCS@10 without annotated items",
    "nsum[without own]": "NCS without annotated items",
    "kendall_tau": "Kendall's tau",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "families": "silhouette",
    "named things": "weight of named things",
    "slope of time": "milliseconds a further thousand images",
    "true@1": "true@1",
    "attributes": "counterfactual accuracy",
    "order": "Kendall's tau with descriptiveness",
    "entities": "mAP@R by one entity",
    "above entities": "captions above their entities",
    "first epoch": "RSUM after one epoch",
    "reranked": "RSUM after re-ranking",
    "growth of share": "growth of Semantic Recall over its bound",
    "gap": "distance of centres",
    "share of 30": "Semantic Recall of 30 over its bound",
    "dimensions": "own dimension less others",
    "without_graph": "captions without a graph",
}
PARTINGS = {
    "disagree": "they decide differently",
    "agree": "they agree",
    "only the truth decides": "only the truth decides",
    "only annotated pairs decide": "only annotated pairs decide",
    "neither decides": "neither decides",
}
RUNS = "runs/claims"
STATED = "arms, limit and number of seeds stand in a commit before the results"
EXPLORATORY = "arms, limit and number of seeds were not stated before the results"
# rows of the ledger whose questions were stated before their results, and the others
KINDS = ("stated beforehand", "exploratory")


def verdict_of(line: Line) -> str:
    """Return the verdict, with its sign."""
    return f"{SIGNS[line['verdict']]} {line['verdict']}"


def kind_of(line: Line) -> str:
    """Return which of ``KINDS`` a row is."""
    return KINDS[0] if claims.is_stated(line) else KINDS[1]


def short_verdict(line: Line) -> str:
    """Return data, judge, verdict and kind."""
    judge = "" if line["judge"] == "no training" else f" {line['judge']}"
    return f"{line['data']}{judge}: {line['verdict']} ({kind_of(line)})"


def effect_of(line: Line) -> str:
    """Return the effect with its interval, positive where it goes the paper's way, and what it is counted
    in.
    """
    return f"{interval_of(line)} {unit_of(line)}"


def interval_of(line: Line) -> str:
    """Return the effect with its interval."""
    scale = claims.SCALE.get(line["unit"], 1.0)
    mean, low, high = (line[name] / scale for name in ("effect", "low", "high"))
    return format_interval(mean, low, high, line["unit"], sign=True)


def unit_of(line: Line) -> str:
    """Return the unit of an effect, and the name of its number where that is one of the field's."""
    last = re.split("[:/]", line["metric"][0])[-1]
    unit, name = UNITS[line["unit"]], METRICS.get(last, "")
    keys = line["metric"]
    both = "mean of both directions" if len({key.replace("t2i", "i2t") for key in keys}) < len(keys) else ""
    return ", ".join(filter(None, (unit, name, both))) or last.replace("_", " ")


def verdict_with_effect(line: Line | None) -> str:
    """Return a verdict with its effect; nothing where a judge does not decide."""
    return f"{verdict_of(line)}, {effect_of(line)}" if line else ""


def threshold_of(line: Line) -> str:
    """Return from what size on an effect matters."""
    return f"{line['smallest']} {UNITS[line['unit']]}".rstrip()


def reason_of(line: Line) -> str:
    """Return why it has its verdict."""
    low, high = line["low"], line["high"]
    small = line["smallest"]
    if line["verdict"] == "void":
        best = claims.evidence_of_line(line).is_at_best
        return "all arms are near the best value" if best else "an arm has not learnt"
    if low == high:
        return "all the same, so that there is no test"
    apart, within = low > 0 or high < 0, max(-low, high) < small
    holm = line["p_holm"] < ALPHA
    p, limit = f"Holm's p is {format_p_value(line['p_holm'])}", threshold_of(line)
    if holm and line["verdict"] == "undecided":
        return "turns around at another learning rate"
    if holm:
        return ", ".join([f"less than {limit}"] * within + _reasons_against(line, within))
    if apart:
        return f"brackets exclude zero, but {p}"
    ends = [f"{end}{small}" for end, far in (("-", -low), ("+", high)) if far >= small]
    return f"less than {limit}, but {p}" if within else f"brackets include {join_words(['zero', *ends])}"


def _reasons_against(line: Line, within: bool) -> list[str]:
    """Return what speaks against a claim, or that a larger effect was printed."""
    if line["verdict"] == "refuted":
        return ["no effect was claimed" if line["expected"] == "0" else "goes the other way"]
    larger = within and (line["printed"] or 0) > line["smallest"]
    return ["not seen at this size"] if larger else []


def printed_of(line: Line) -> str:
    """Return the paper's effect."""
    return "" if line["printed"] is None else _format_amount(line, line["printed"])


def seeds_of(line: Line) -> str:
    """Return how many seeds, groups of images or objectives it is the mean of, how many agree with its sign,
    and with how many threads they were computed.
    """
    values = [np.asarray(numbers) for numbers in line["values"].values()]
    differences = values[0] - values[1] if len(values) > 1 else values[0]
    count, agree = len(differences), int((np.sign(differences) == np.sign(differences.mean())).sum())
    unit = "group" if line["judge"] == "no training" else "seed"
    unit = "objective" if "seeds" not in line and line["judge"] != "no training" else unit
    of_images = " of images" if unit == "group" else ""
    threads = f", {format_count(line['threads'], 'thread')}" if "threads" in line else ""
    return f"{format_count(count, unit)}{of_images}, {agree} with this sign{threads}"


def contrast_of(line: Line) -> str:
    """Return what is subtracted from what, as papers call it, and how many images arms have that were trained
    for the ledger. Where the paper claims less, the second arm comes first.
    """
    claim, images = claims.find_claim(line["claim"]), _image_count(line)
    arms = [*_arm_names(line["contrast"]), *([] if claim.bound is None else [f"a bound of {claim.bound}"])]
    if claim.models == "spread":
        arms = [f"how far apart {join_words(arms)} are"]
    elif len(arms) > 2:
        arms = [f"({first} minus {second})" for first, second in zip(arms[::2], arms[1::2])]
    turned = line["expected"] == "-"
    parts = [" minus ".join(arms[:: -1 if turned else 1])]
    parts += ["sign turned"] * (turned and len(line["values"]) == 1)
    return ", ".join([*parts, *([images] if images else [])])


def _image_count(line: Line) -> str:
    """Return how many images its arms were trained on, as the runs say."""
    if line["judge"] == "no training":
        return ""
    if "budget" not in line:
        return format_count(_recorded_images(line["data"]), "image")
    counts = line["budget"]["images"]
    numbers = [format_count(count) for count in dict.fromkeys(counts)]
    unit = "image" if numbers == ["1"] else "images"
    return f"{join_words(numbers)} {unit}"


@cache
def _recorded_images(where: str) -> int:
    return int(read_grid(find_file(claims.TABLES[where][0], "grid"))["fixed"]["train_images"])


def _arm_names(contrast: str) -> list[str]:
    """Return the arms of a contrast in words."""
    known = claims.arm_words()
    names = [known.get(arm, arm).replace(" - ", " without ") for arm in contrast.split(" | ")]
    return [re.sub(r"[a-z]+", lambda word: TITLES.get(word[0], word[0]), name) for name in names]


def values_by_seed(line: Line) -> str:
    """Return the values behind an effect, with its sign."""
    turned, (more, *less) = line["expected"] == "-", line["values"].values()
    if not less:
        sign = -1 if turned else 1
        return ", ".join(_format_amount(line, sign * number) for number in more)
    pairs = zip(less[0], more) if turned else zip(more, less[0])
    return ", ".join(
        f"{_format_amount(line, first)} \u2212 {_format_amount(line, second)}" for first, second in pairs
    )


def parting_of_judges(labels: Line | None, truth: Line | None) -> str:
    """Return how the verdicts of both judges go together; empty where one is missing."""
    if not labels or not truth:
        return ""
    words = [labels["verdict"], truth["verdict"]]
    match [word not in ("undecided", "void") for word in words]:
        case [True, True]:
            return "agree" if words[0] == words[1] else "disagree"
        case [True, False]:
            return "only annotated pairs decide"
        case [False, True]:
            return "only the truth decides"
    return "neither decides"


def commands_of(line: Line) -> list[str]:
    """Return what makes it again, and judges it."""
    if line["judge"] == "no training":
        return ["workbench claims record"]
    if "budget" in line:
        command = f"workbench claims run {line['claim']} --data {line['budget']['data']}"
        return [f"{command} --seeds {len(line['seeds'])}" + (" --rates" if line["rates"] else "")]
    return [*folders_of(line), "workbench claims record"]


def folders_of(line: Line) -> dict[str, str]:
    """Return arm and seed -> its run; of a recorded comparison what made a table -> the table."""
    if "budget" in line:
        arms, run_ids = _arm_names(line["contrast"]), line["source"]["runs"]
        names = [f"{arm}, seed {seed}" for arm, seed in product(arms, line["seeds"])]
        return {name: f"{RUNS}/{run_id}" for name, run_id in zip(names, run_ids, strict=True)}
    return {} if line["judge"] == "no training" else {command: name for name, command in _tables(line)}


def _tables(line: Line) -> list[tuple[str, str]]:
    """Return the tables that hold an arm of a recorded comparison and its number, with what made each."""
    tables = []
    for name in (*claims.TABLES[line["data"]], *claims.FURTHER.get(line["data"], ())):
        rows, arms = assets.read_recorded(name), line["contrast"].split(" | ")
        compared = rows["arm" if "arm" in rows else "objective"].isin(arms).any() or len(arms) == 1
        if compared and set(line["metric"]) & set(rows["key"]):
            place = f"packages/paper_tables/assets/results/{name}.tsv"
            first = assets.path(f"results/{name}.tsv").read_text(encoding="utf-8").partition("\n")[0]
            command = f"# workbench grid 03_train {name} --record {place}"
            tables.append((place, (first if first.startswith("#") else command)[2:]))
    return tables


def _format_amount(line: Line, value: float) -> str:
    return format_number(value, 1 if line["unit"] in claims.SCALE else 3)
