"""What arms of a grid need, looked for before anything runs: data, and time and memory of this device."""

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any

from workbench.records import require
from workbench.runs import spellings


def check_encoders(values: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise if an arm has encoders that do not fit its data; those that nobody chose follow the data.

    Args:
        values: parameters of the arm.
        known: the notebook's parameters.

    Raises:
        ValueError: the message says what to give.
    """
    data = spellings.name_of(values.get("data", known["data"].default if "data" in known else "scenes"))
    if not {"data", spellings.REST} <= known.keys() or data == "scenes":
        return
    from workbench.runs import Config
    from workbench.runs.resolve import check_fit, resolve

    check_fit(resolve(Config(**spellings.fields(values))))


def missing_data(arms: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return data that are not there, a line for each split that says where they come from.

    Args:
        arms: parameters of a notebook.

    Raises:
        ValueError: data that have no training split, or cannot be read.
    """
    from workbench import data
    from workbench.data.reading import SPLITS
    from workbench.runs.build import load_split
    from workbench.runs.config import Config

    lacking, seen = list[str](), set[str]()
    for arm in arms:
        fields = spellings.fields(arm)
        chosen, pixels = fields.get("data") or "scenes", reads_pixels(fields)
        name, key = spellings.name_of(chosen), json.dumps([chosen, pixels], default=str)
        if name == "scenes" or key in seen:
            continue
        seen.add(key)
        splits = data.member(name).splits
        require(
            not splits or "train" in splits,
            f"{name} has no training split: train on other data, and `workbench evaluate RUN --data {name}`",
        )
        for part in SPLITS:
            try:
                found = load_split(Config(data=chosen), part)
                if pixels:
                    found.open_image(0)
            except FileNotFoundError as error:
                source = "" if "https://" in str(error) else f"; data_cards/{name}.md says where to get it"
                lacking.append(f"{error}{source}")
    return lacking


def reads_pixels(fields: Mapping[str, Any]) -> bool:
    """Return whether an arm's images are photographs, whatever else it reads of them."""
    encoder = spellings.mapping_of(fields.get("image_encoder"))
    return "towers" in (encoder.get("name"), encoder.get("guide"), encoder.get("base"))


def forecast(
    arms: Mapping[str, Mapping[str, Any]], rows: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what arms will take on this device, as rows and as lines; nothing is run.

    Args:
        arms: parameters by label.
        rows: label -> the same without the seed.

    Raises:
        LookupError: no package is installed that can tell.
    """
    entries = list(entry_points(group="workbench.forecast"))
    require(entries, "no forecast is installed; the package machine_bench has one", LookupError)
    found: tuple[list[dict[str, Any]], list[str]] = entries[0].load()(arms, rows)
    return found
