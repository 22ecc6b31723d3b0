"""What arms of a grid need, looked for before anything runs: data, and time and memory of this device."""

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any

from workbench.records import require


def check_encoders(values: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse an arm whose encoders do not fit its data; those that nobody chose follow the data.

    Args:
        values: parameters of the arm, and fields of its settings.
        known: the notebook's parameters.

    Raises:
        ValueError: the message says what to give.
    """
    if not {"data", "settings"} <= known.keys() or values.get("data", known["data"].default) == "scenes":
        return
    from workbench.runs import Config
    from workbench.runs.resolve import check_fit, resolve

    fields = {name: value for name, value in values.items() if name != "settings"}
    check_fit(resolve(Config(**fields)))


def missing_data(arms: Iterable[Mapping[str, Any]]) -> list[str]:
    """Data that are not there, a line for each split that says where they come from.

    Args:
        arms: parameters of a notebook.

    Raises:
        ValueError: data that have no training split, or cannot be read.
    """
    from workbench import data
    from workbench.data.reading import SPLITS
    from workbench.runs.build import load_split
    from workbench.runs.config import Config, flat

    lacking, seen = list[str](), set[str]()
    for fields in (flat({**one, **one.get("settings", {})}) for one in arms):
        name, pixels = fields.get("data") or "scenes", reads_pixels(fields)
        given = {"data": name, "data_options": fields.get("data_options") or {}}
        if name == "scenes" or (key := json.dumps([given, pixels], default=str)) in seen:
            continue
        seen.add(key)
        splits = data.member(name).splits
        require(
            not splits or "train" in splits,
            f"{name} has no training split: train on other data, and `workbench evaluate RUN --data {name}`",
        )
        for part in SPLITS:
            try:
                found = load_split(Config(**given), part)
                if pixels:
                    found.open_image(0)
            except FileNotFoundError as error:
                source = "" if "https://" in str(error) else f"; data_cards/{name}.md says where to get it"
                lacking.append(f"{error}{source}")
    return lacking


def reads_pixels(fields: Mapping[str, Any]) -> bool:
    """Whether an arm's images are photographs, whatever else it reads of them."""
    options = fields.get("image_options") or {}
    return fields.get("image_encoder") == "towers" or "towers" in (options.get("guide"), options.get("base"))


def forecast(
    arms: Mapping[str, Mapping[str, Any]], rows: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """What arms will take on this device, as rows and as lines; nothing is run.

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
