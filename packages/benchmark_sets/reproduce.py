"""Published numbers, measured again: within the tolerance, outside, or not run, and why that may be.

``published.tsv`` holds a number a row: model and weights, data, the number as this library calls it, the
printed value, its decimals, the tolerance, and where it is printed. Values are in percent, but for counts of
the data alone, which need no model.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np

import workbench as wb
from workbench.formatting import format_count, format_number, format_some
from workbench.io import read_text, validate, write_json, write_text
from workbench.records import Judgements, MetricKey, Split, require
from workbench.registry import did_you_mean
from workbench.runs.environment import environment

FILE = Path(__file__).parent / "published.tsv"
# what stands in the way of a run on this machine
MISSING = (OSError, LookupError, ImportError)
TOO_LOW = (
    "all numbers are lower: preprocessing of images (size, mean, resampling) or the tokenizer (lower case, "
    "padding, length) differs from that of the weights"
)
Status = Literal["within", "outside", "not run"]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Published:
    """One printed number.

    Args:
        model: architecture and weights, ``"ViT-B-32:openai"``; empty = a count of the data alone.
        data: name of the data set.
        number: its key, as ``workbench show`` prints it.
        value: as printed, in percent or as a count.
        decimals: of the printed value.
        tolerance: by which another machine may differ, in the same unit.
        source: address of the page that prints it.
        place: table, row and column there.
    """

    model: str
    data: str
    number: str
    value: float
    decimals: int
    tolerance: float
    source: str
    place: str


@dataclass(frozen=True)
class Outcome:
    """What became of a printed number.

    Args:
        published: the number.
        status: whether it was reproduced.
        measured: the value here, in the unit of the printed one; ``None`` = it was not measured.
        reason: why it may lie outside, or why it was not run.
    """

    published: Published
    status: Status
    measured: float | None = None
    reason: str = ""


def read_published(file: Path | str = FILE) -> list[Published]:
    """Read a table of published numbers.

    Raises:
        ValueError: a row is malformed, its key is none, or a number occurs twice; the message names the row.
    """
    rows = list(csv.DictReader(read_text(file).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    published, seen = [], set()
    for number, row in enumerate(rows, start=1):
        where = f"{Path(file).name} row {number}"
        read: Published = validate(row, Published, where, "is malformed")
        MetricKey.parse(read.number)
        name = (read.model, read.data, read.number, read.source)
        require(name not in seen, f"{where}: {read.number} of {read.model} on {read.data} occurs twice")
        require(read.source and read.place, f"{where} does not say where the number is printed")
        seen.add(name)
        published.append(read)
    require(published, f"{Path(file).name} holds no number")
    return published


def choose(published: Sequence[Published], name: str) -> list[Published]:
    """Return the numbers of a model or a data set.

    Args:
        published: all of them.
        name: of a model, of its architecture, or of a data set; empty = every number.

    Raises:
        LookupError: there is none; the message lists the near names.
    """
    known: dict[str, list[Published]] = {}
    for row in published:
        for key in {row.model, row.model.partition(":")[0], row.data}:
            known.setdefault(key, []).append(row)
    if name and name not in known:
        raise LookupError(
            f"no published number of {name!r}; {did_you_mean(name, sorted(filter(None, known)))}"
        )
    return known[name] if name else list(published)


def reproduce(
    published: Iterable[Published],
    *,
    weights: Mapping[str, str] | None = None,
    roots: Mapping[str, str] | None = None,
    say: Say = lambda line: None,
) -> list[Outcome]:
    """Measure published numbers where model and data are there.

    Args:
        published: the numbers.
        weights: by the name of a model, a file of its weights, a folder or ``my_module:MyModel`` that stands
            for it; others are opened by their names.
        roots: by the name of a data set, the folder of its files; others lie below ``WORKBENCH_DATA``.
        say: is told what is measured.

    Returns:
        An outcome each, in the order of the table.
    """
    rows = list(published)
    groups: dict[tuple[str, str], list[Published]] = {}
    for row in rows:
        groups.setdefault((row.data, row.model), []).append(row)
    outcomes: dict[Published, Outcome] = {}
    for (data, model), group in sorted(groups.items()):
        say(f"{model or 'the data alone'} on {data}: {format_count(len(group), 'number')}")
        for outcome in _measure_group(data, model, group, weights or {}, roots or {}):
            outcomes[outcome.published] = outcome
    return [outcomes[row] for row in rows]


def _measure_group(
    data: str, model: str, group: Sequence[Published], weights: Mapping[str, str], roots: Mapping[str, str]
) -> list[Outcome]:
    """Measure the numbers of one model on one data set."""
    options = {"root": roots[data]} if data in roots else {}
    try:
        if not model:
            split = _load_counted(data, options)
            return _judge(group, _counts_of(split), split)
        split = wb.load_data(data, split="test", **options)
    except MISSING as error:
        return _not_run(group, error)
    try:
        opened = _open(model, weights.get(model, ""))
    except MISSING as error:
        return _not_run(group, error, f"; say where its weights are by --weights {model}=PLACE")
    result = wb.evaluate(opened, split, rounds=0)
    numbers = {label: 100 * result[label] for label in result}
    return _judge(group, numbers, result.split)


def _not_run(group: Sequence[Published], error: Exception, remedy: str = "") -> list[Outcome]:
    message = error.args[0] if isinstance(error, KeyError) else error
    return [Outcome(row, "not run", reason=f"{message}{remedy}") for row in group]


def _load_counted(data: str, options: Mapping[str, Any]) -> Split:
    """Load data that are only counted: without images, where the data can be read without them."""
    texts = {"source": "captions"} if wb.data.member(data).takes("source") else {}
    return wb.load_data(data, split="test", **{**options, **texts})


def _open(model: str, place: str) -> Any:
    """Open a model by its name, or what stands for it."""
    if not place:
        return wb.open_model(model)
    if Path(place).is_file():
        return wb.open_model(model.partition(":")[0], pretrained=place)
    return wb.open_model(place)


def _counts_of(split: Split) -> dict[str, float]:
    """Count queries and positives of each direction by all judgements of a split."""
    counts: dict[str, float] = {}
    for name, judged in split.judgements.items():
        for way in ("i2t", "t2i"):
            queries = _queries(judged, way)
            side = judged.images if way == "i2t" else judged.captions
            relevant = judged.grades >= judged.relevant_from
            positives = np.isin(side[relevant], queries).sum()
            lost = judged.missing_captions
            if way == "i2t" and lost is not None:
                positives += np.isin(lost, queries).sum()
            counts[str(MetricKey("positives", way, name))] = float(positives)
            counts[str(MetricKey("queries", way, name))] = float(len(queries))
    return counts


def _queries(judged: Judgements, way: str) -> Any:
    """Return the rows that are asked in a direction."""
    asked = judged.image_queries if way == "i2t" else judged.caption_queries
    return np.arange(judged.shape[way == "t2i"]) if asked is None else asked


def _judge(group: Sequence[Published], numbers: Mapping[str, float], split: Split) -> list[Outcome]:
    """Compare what was measured with what is printed."""
    outcomes = []
    for row in group:
        if row.number not in numbers:
            reason = f"{split.name} gives no {row.number}; {did_you_mean(row.number, list(numbers))}"
            outcomes.append(Outcome(row, "not run", reason=reason))
            continue
        measured = numbers[row.number]
        # half a unit of the last decimal is what printing rounds away
        room = row.tolerance + 0.5 * 10**-row.decimals * (row.tolerance > 0)
        status: Status = "within" if abs(measured - row.value) <= room + 1e-9 else "outside"
        outcomes.append(Outcome(row, status, measured))
    why = _why_outside(outcomes, split)
    judged = []
    for outcome in outcomes:
        judged.append(replace(outcome, reason=why) if outcome.status == "outside" else outcome)
    return judged


def _why_outside(outcomes: Sequence[Outcome], split: Split) -> str:
    """Explain what a difference of this form comes from, as a rule."""
    differences = {}
    for outcome in outcomes:
        if outcome.measured is not None:
            differences[outcome.published.number] = outcome.measured - outcome.published.value
    outside = [outcome.published.number for outcome in outcomes if outcome.status == "outside"]
    if not outside:
        return ""
    lower = all(differences[number] < 0 for number in differences)
    ways = {MetricKey.parse(number).direction for number in outside}
    measured_ways = {MetricKey.parse(number).direction for number in differences}
    if lower:
        cause = TOO_LOW
    elif len(ways) < len(measured_ways):
        one_way = ", ".join(sorted(ways))
        cause = f"only {one_way} lies outside: how several captions an image, folds or ties are counted"
    else:
        cause = "numbers lie on both sides: other images or captions than the published split"
    cut = [note for note in split.notes if "cut at" in note]
    size = f"{format_count(len(split.image_ids), 'image')}, {format_count(len(split.captions), 'caption')}"
    return "; ".join([cause, f"measured on {size}", *cut])


def write_outcomes(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write ``reproduced.json`` and ``reproduced.md``, a table that documentation can show.

    Args:
        outcomes: of ``reproduce``.
        folder: where they are written; it is made if need be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = [asdict(outcome) for outcome in outcomes]
    today, machine = date.today().isoformat(), environment()
    content = {"date": today, "environment": machine, "outcomes": records}
    where = f"Measured on {today}, on {_machine_class(machine)}."
    lines = [summary(outcomes), where, "", *_markdown(outcomes)]
    table = write_text(folder / "reproduced.md", "\n".join(lines) + "\n")
    return [write_json(folder / "reproduced.json", content), table]


def _machine_class(machine: Mapping[str, Any]) -> str:
    """Say with what the numbers were computed."""
    device = machine["device"] or "cpu"
    return format_count(machine["cpus"], "CPU core") if device == "cpu" else str(device)


def _markdown(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| model | data | number | printed | here | outcome | printed in |"
    yield "|---|---|---|---|---|---|---|"
    for outcome in outcomes:
        row = outcome.published
        source = f"[{row.place}]({row.source})" if row.source.startswith("http") else row.place
        cells = [
            row.model or "the data alone",
            row.data,
            row.number,
            *_values(outcome),
            outcome.status,
            source,
        ]
        yield f"| {' | '.join(cells)} |"
    for reason in dict.fromkeys(outcome.reason for outcome in outcomes if outcome.reason):
        yield ""
        numbers = [outcome.published.number for outcome in outcomes if outcome.reason == reason]
        yield f"- {format_some(numbers)}: {reason}"
    commands = commands_of(outcomes)
    if commands:
        yield from ("", "What was not run is measured by these commands, where weights and data are:", "")
        yield from (f"- `{command}`" for command in commands)


def commands_of(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a command for each model, or data set that is only counted, of which a number was not run."""
    missing: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        row = outcome.published
        if outcome.status == "not run":
            missing.setdefault(row.model or row.data, {})[row.data] = None
    commands = []
    for name, sets in missing.items():
        words = ["workbench reproduce", name, *(f"--data {data}=FOLDER" for data in sets)]
        words += [] if name in sets else [f"--weights {name}=FILE"]
        commands.append(" ".join(words))
    return commands


def _values(outcome: Outcome) -> tuple[str, str]:
    decimals = outcome.published.decimals
    here = "" if outcome.measured is None else format_number(outcome.measured, decimals)
    return format_number(outcome.published.value, decimals), here


def summary(outcomes: Sequence[Outcome]) -> str:
    """Count the outcomes in a sentence."""
    kinds: tuple[Status, ...] = ("within", "outside", "not run")
    counts = Counter(outcome.status for outcome in outcomes)
    words = [f"{format_count(counts[kind])} {kind}" for kind in kinds]
    many = format_count(len(outcomes), "published number")
    return f"{many}: {', '.join(words)}."


def lines_of(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return the outcomes as cells with a heading, for a terminal."""
    rows: list[tuple[str, ...]] = [("model", "data", "number", "printed", "here", "outcome")]
    for outcome in outcomes:
        row = outcome.published
        rows.append((row.model or "-", row.data, row.number, *_values(outcome), outcome.status))
    return rows
