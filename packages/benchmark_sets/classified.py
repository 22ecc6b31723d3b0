"""Results of classifications: the parts that a probe learns from, tables, paired differences, files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_sets.classes import PARTS, Labelled, read_labelled
from benchmark_sets.classification import Classified, classify, probe
from benchmark_sets.written import write_records
from workbench.cli.output import align_columns, number_lines
from workbench.formatting import format_count, format_interval
from workbench.metrics.comparison import Difference, explain_widening, paired_differences, state_verdict
from workbench.metrics.intervals import Draws
from workbench.records import Measurement, require
from workbench.records.measurement import measurement_row, unit_of
from workbench.runs.models import open_model


def parts_of(place: str, classes: Sequence[str], column: str) -> tuple[Labelled, Labelled | None]:
    """Read the images that a probe learns from, and those on which it is checked.

    Args:
        place: see ``classes.read_labelled``.
        classes: likewise.
        column: likewise.

    Returns:
        The training images, and those for validation; ``None`` = there are none, and a part is held back.

    Raises:
        FileNotFoundError: there are no training images.
    """
    train = read_labelled(place, PARTS[0], classes, column)
    try:
        return train, read_labelled(place, PARTS[1], classes, column)
    except FileNotFoundError:
        return train, None


def classify_all(
    model: str,
    test: Labelled,
    templates: Sequence[str],
    parts: tuple[Labelled, Labelled | None] | None,
    rounds: int,
) -> list[Classified]:
    """Classify images by texts, and by a probe where there is something to learn from.

    Args:
        model: as ``open_model`` takes it; results are called by it, since two models of one architecture have
            one name.
        test: the images.
        templates: see ``classification.classify``.
        parts: see ``parts_of``; ``None`` = no probe.
        rounds: bootstrap rounds.
    """
    opened = open_model(model)
    results = [classify(opened, test, templates, rounds=rounds)]
    if parts is not None:
        results.append(probe(opened, parts[0], test, parts[1], rounds=rounds))
    return [replace(result, name=model) for result in results]


def differences_of(results: Sequence[Classified], images: int) -> list[Difference]:
    """Compare every result with the first one of its kind, image by image."""
    values: dict[str, dict[str, Any]] = {}
    for result in results:
        for key, by_image in result.values.items():
            values.setdefault(key, {})[result.name] = by_image
    several = {key: by_name for key, by_name in values.items() if len(by_name) > 1}
    draws = Draws(np.arange(images), images)
    return paired_differences(several, results[0].name, draws) if several else []


def lines(results: Sequence[Classified], data: Labelled, differences: Sequence[Difference]) -> list[str]:
    """Return a table of one model's numbers, or of several models and their differences from the first."""
    images, classes = len(data.split.image_ids), len(data.classes)
    title = f"{data.split.name}: {format_count(images, 'image')} of {format_count(classes, 'class')}"
    names = list(dict.fromkeys(result.name for result in results))
    notes: dict[str, None] = {}
    measured: list[Measurement] = []
    for result in results:
        notes |= dict.fromkeys(result.notes)
        measured += result.measurements
    if len(names) == 1:
        return [title, *number_lines(measured, every=True), *notes]
    rows: dict[str, list[str]] = {}
    for result in results:
        for number in result.measurements:
            row = measurement_row(number.label, number.as_dict())
            rows.setdefault(number.label, [number.label, row["chance"]]).append(row["value"])
    table = align_columns([["number", "chance", *names], *rows.values()])
    verdicts = []
    for difference in differences:
        unit = unit_of(difference.label, {"face": difference.face})
        value = format_interval(difference.value, difference.low, difference.high, unit, sign=True)
        verdict = state_verdict(difference.verdict, difference.against)
        verdicts.append(f"{difference.label}: {difference.run} - {difference.against} is {value}, {verdict}")
    return [title, *table, *verdicts, *filter(None, [explain_widening(len(differences))]), *notes]


def records(
    results: Sequence[Classified], data: Labelled, differences: Sequence[Difference]
) -> dict[str, Any]:
    """Return the results as JSON values."""
    out = []
    for result in results:
        numbers = [number.as_dict() for number in result.measurements]
        out.append({"model": result.name, "numbers": numbers, "notes": list(result.notes)})
    about = {"data": data.split.name, "images": len(data.split.image_ids), "classes": list(data.classes)}
    return {**about, "results": out, "differences": [difference.row() for difference in differences]}


def write(results: Sequence[Classified], data: Labelled, numbers: Mapping[str, Any], folder: Path) -> Path:
    """Write the numbers, and the class that each model chose for each image, as ``FOLDER/DATA.json``."""
    require(results, "nothing was classified")
    chosen: dict[str, dict[str, str]] = {}
    for number, result in enumerate(results):
        names = [data.classes[label] for label in result.chosen.tolist()]
        kind = "probe" if result.notes else "texts"
        chosen[f"{number + 1}. {result.name}, {kind}"] = dict(zip(data.split.image_ids, names, strict=True))
    name = re.sub(r"[^\w.-]+", "_", data.split.name)
    return write_records(folder, name, {**numbers, "chosen": chosen})
