"""What a model is measured on beside its own test split, as names and options."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from workbench import data as datasets
from workbench.data.cards import is_card
from workbench.io import parse_json, read_options
from workbench.records import require
from workbench.registry import Count, check_options
from workbench.runs.config import DataConfig, check_fields, init_section
from workbench.runs.spellings import merge_layers, name_of
from workbench.training.settings import Section

FILES = (".json", ".yaml", ".yml")


class Target(Section):
    """What a run is measured on beside its own test split.

    Args:
        data: a data set, its name alone or with its options, ``{"name": "hierarcaps", "texts": "captions"}``.
        split: one that the data set has; empty = ``test``, and of a path the part that ``data.load`` takes.
        images: the first so many images; 0 = all.

    Raises:
        KeyError: no such data set. TypeError, ValueError: an option that it does not take, or a split that it
            does not have; the message lists those that there are.
    """

    data: DataConfig
    split: str = ""
    images: Count = 0

    def __init__(self, **values: Any) -> None:
        names = ", ".join(values) or "{}"
        require("data" in values, f"name the data set to measure on, as data; got {names}")
        check_fields("a data set to measure on", type(self), values)
        at_path = datasets.path_of(str(name_of(values["data"]))) is not None
        split = values.get("split") or ("" if at_path else "test")
        init_section("target", super().__init__, {**values, "split": split})
        name, options = self.data.name, self.data.options
        loader, what = datasets.member(name), f"data {name!r}"
        require("split" not in options, f"{what}: give split beside data and not in it")
        check_options(what, loader, options, "data")
        check_options(what, loader, {"split": self.split})

    @classmethod
    def read(cls, text: str, options: Mapping[str, Any], split: str = "") -> Self:
        """Read a line of a terminal.

        Args:
            text: a name of the data registry, a JSON or YAML file of the fields, a card of data, or the
                fields as JSON.
            options: merged over those of the data set.
            split: goes before that of the file.

        Raises:
            FileNotFoundError, ValueError: a file or JSON that cannot be read; else as the class.
        """
        values = {"data": text}
        if text.startswith("{"):
            values = parse_json(text, f"--data {text!r:.60}", "is not JSON")
        elif Path(text).suffix in FILES and not is_card(content := read_options(text)):
            values = content
        over: dict[str, Any] = {"data": dict(options)} if options else {}
        if split:
            over["split"] = split
        return cls(**merge_layers(values, over))

    @property
    def name(self) -> str:
        """Data and split, and what tells the options apart where there are any: ``"cxc-test"``, the name of
        the folder that keeps what was measured.
        """
        more = {"data": self.data.options, "images": self.images}
        text = json.dumps(more, sort_keys=True, default=str)
        ending = f"-{hashlib.sha256(text.encode()).hexdigest()[:8]}" if any(more.values()) else ""
        return re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (self.data.name, self.split)))) + ending
