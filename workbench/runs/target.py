"""What a model is measured on beside its own test split, as names and options."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench import data
from workbench.io import parse_json, read_options
from workbench.records import require
from workbench.registry import Count, check_options, check_value, make, merge

FILES = (".json", ".yaml", ".yml")


@dataclass(frozen=True)
class Target:
    """What a run is measured on beside its own test split.

    Args:
        data: a name of the data shelf, or a path.
        data_options: its options.
        split: one that the data set has; empty = ``test``, and of a path the part that ``data.load`` takes.
        images: the first so many images; 0 = all.

    Raises:
        KeyError: no such data set. TypeError, ValueError: an option that it does not take, or a split that it
            does not have; the message lists those that there are.
    """

    data: str
    data_options: dict[str, Any] = field(default_factory=dict)
    split: str = ""
    images: Count = 0

    def __post_init__(self) -> None:
        if not self.split and data.path_of(self.data) is None:
            object.__setattr__(self, "split", "test")
        check_value("images", self.images, Count)
        loader, what = data.member(self.data), f"data {self.data!r}"
        require("split" not in self.data_options, f"{what}: give split beside data_options and not in them")
        check_options(what, loader, self.data_options, "data_options")
        check_options(what, loader, {"split": self.split})

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Target":
        """From names and values.

        Raises:
            ValueError: ``data`` is missing. TypeError: another field; else as the class.
        """
        require("data" in given, f"name the data set to measure on, as data; got {', '.join(given) or '{}'}")
        return make("a data set to measure on", cls, given)

    @classmethod
    def read(cls, text: str, options: Mapping[str, Any], split: str = "") -> "Target":
        """From a line of a terminal.

        Args:
            text: a name of the data shelf, a JSON or YAML file of the fields, or the fields as JSON.
            options: laid over the ``data_options``.
            split: goes before that of the file.

        Raises:
            FileNotFoundError, ValueError: a file or JSON that cannot be read; else as ``of``.
        """
        values = {"data": text}
        if text.startswith("{"):
            values = parse_json(text, f"--data {text!r:.60}", "is not JSON")
        elif Path(text).suffix in FILES:
            values = read_options(text)
        given = {"data_options": dict(options), **({"split": split} if split else {})}
        return cls.of(merge(values, given))

    @property
    def name(self) -> str:
        """Data and split, and what tells the options apart where there are any: ``"cxc-test"``, the name of
        the folder that keeps what was measured.
        """
        more = {"data_options": self.data_options, "images": self.images}
        text = json.dumps(more, sort_keys=True, default=str)
        ending = f"-{hashlib.sha256(text.encode()).hexdigest()[:8]}" if any(more.values()) else ""
        return re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (self.data, self.split)))) + ending
