"""The view in which candidates are labelled: one at a time, by keyboard or button, each label on the disk
before the next.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pandas as pd
import traitlets
from PIL import Image

from workbench.records import Split
from workbench.views.audit.candidates import COLUMNS
from workbench.views.audit.labels import LABELS, Labels
from workbench.views.plots.audit import Card, sheet
from workbench.views.plots.theme import data_uri

HERE = Path(__file__).parent
ASKED = {
    "t2i": "the caption asks, the image is found at place {}",
    "i2t": "the image asks, the caption is found at place {}",
}
SHEET = 12


def card(split: Split, row: pd.Series[Any], label: str = "", *, grades: bool = True) -> Card:
    """One candidate as people see it.

    Args:
        split: holds the picture and the texts.
        row: of the table from ``candidates``.
        label: what was said of it.
        grades: whether to tell what other judgements say.
    """
    image, caption = int(row["image_row"]), int(row["caption_row"])
    first = (
        "nothing else is relevant"
        if pd.isna(row["own_rank"])
        else f"the first of its own at place {row['own_rank']:.0f}"
    )
    facts = [
        ("found", f"{ASKED[row['direction']].format(row['rank'])}; {first}"),
        ("score", f"{row['score']:.3f}"),
    ]
    said = str(row["right_by"]).split(", ")
    for name in [name for name in row.index if name not in COLUMNS] if grades else []:
        known = (
            "not judged" if pd.isna(row[name]) else f"{row[name]:.3g}, {'right' if name in said else 'wrong'}"
        )
        facts.append((str(name), known))
    own = tuple(split.captions[other] for other in np.flatnonzero(split.own == image))
    pictures = [_opened(split, row, facts) for row in (image, int(split.own[caption]))]
    return Card(pictures[0], pictures[1], split.captions[caption], own, tuple(facts), label)


def _opened(split: Split, row: int, facts: list[tuple[str, str]]) -> Image.Image:
    """A picture, or a grey one and why it cannot be read: texts can be judged by texts."""
    try:
        return split.open_image(row)
    except (OSError, ValueError) as error:
        facts.append((f"image {split.image_ids[row]}", f"cannot be read: {error}"))
        return Image.new("RGB", (96, 96), (128, 128, 128))


class Labeller(anywidget.AnyWidget):
    """Browse candidates and label them: keys 1 valid, 2 invalid, 3 unsure, U undo, arrows to move, N the next
    without a label.

    A batch run, and a page without a kernel, show a static sheet of the first candidates instead.

    Args:
        split: whose images and captions are shown.
        table: from ``candidates`` or ``select``; a pair that occurs in both directions is asked once.
        labels: the file that labels go to.
        grades: whether to show what other judgements say, which is quick to read and hard to disagree with.

    Raises:
        ValueError: there is no candidate.
    """

    _esm = (HERE / "labeller.js").read_text(encoding="utf-8")
    _css = (HERE / "labeller.css").read_text(encoding="utf-8")
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, split: Split, table: pd.DataFrame, labels: Labels, *, grades: bool = True) -> None:
        if table.empty:
            raise ValueError(
                "there is no candidate to label; loosen the filters of `select`, or look at more places"
            )
        super().__init__()
        self.split, self.labels, self.grades = split, labels, grades
        self.table = table.drop_duplicates(["image", "caption"]).reset_index(drop=True)
        self.pairs = list(zip(self.table["image"], self.table["caption"], strict=True))
        self.position = self._next_open(0)
        self.on_msg(lambda _, message, __: self.answer(message))
        self._show("")

    def answer(self, message: dict[str, Any]) -> None:
        """Do what a key or button asks for; what cannot be saved is said on the screen.

        Args:
            message: ``{"do": "label" | "undo" | "move" | "open", "at": position that was on the screen,
                ...}``.
        """
        at, do = int(message.get("at", self.position)), message["do"]
        try:
            said = {"label": self._label, "undo": self._undo, "move": self._move, "open": self._open}[do](
                at, message
            )
        except OSError as error:
            said = f"not saved: {error}"
        self._show(said)

    def _label(self, at: int, message: dict[str, Any]) -> str:
        label, (image, caption) = message["label"], self.pairs[at]
        if self.labels.of(image, caption) != label:
            self.labels.give(image, caption, label)
        self.position = self._next_open(at)
        return f"saved: {label}" if self._counts()["open"] else f"saved: {label}; every candidate has a label"

    def _undo(self, at: int, _: dict[str, Any]) -> str:
        last = self.labels.undo()
        if last is None:
            return "nothing to undo"
        if last.pair in self.pairs:
            self.position = self.pairs.index(last.pair)
        return f"taken back: {last.label}"

    def _move(self, at: int, message: dict[str, Any]) -> str:
        self.position = min(max(at + int(message["by"]), 0), len(self.pairs) - 1)
        return ""

    def _open(self, at: int, _: dict[str, Any]) -> str:
        self.position = self._next_open(at + 1)
        return "" if self._counts()["open"] else "every candidate has a label"

    def _next_open(self, start: int) -> int:
        """The first candidate without a label from here on, round the end; where all have one, the next."""
        known, size = self.labels.mine(), len(self.pairs)
        order = [(start + step) % size for step in range(size)]
        return next((at for at in order if self.pairs[at] not in known), min(start, size - 1))

    def _counts(self) -> dict[str, int]:
        known = self.labels.mine()
        said = [known.get(pair, "open") for pair in self.pairs]
        return {name: said.count(name) for name in (*LABELS, "open")}

    def _card(self, position: int) -> Card:
        return card(
            self.split, self.table.iloc[position], self.labels.of(*self.pairs[position]), grades=self.grades
        )

    def _show(self, status: str) -> None:
        shown = self._card(self.position)
        self.view = {
            "at": self.position, "total": len(self.pairs), "image": data_uri(shown.image, 320), "caption": shown.caption,
            "own_image": data_uri(shown.own_image, 96), "own_captions": list(shown.own_captions),
            "image_id": self.pairs[self.position][0], "facts": [list(fact) for fact in shown.facts], "label": shown.label,
            "counts": self._counts(), "status": status, "annotator": self.labels.annotator,
        }  # fmt: skip

    def sheet(self, most: int = SHEET) -> str:
        """The static twin: the first candidates with their settled labels, as HTML that needs nothing else.

        Args:
            most: how many are shown.
        """
        settled = self.labels.settled()
        cards = [
            replace(self._card(at), label=settled.get(pair, "")) for at, pair in enumerate(self.pairs[:most])
        ]
        return sheet(cards, total=len(self.pairs))

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        twin = {"text/html": self.sheet(), "text/plain": f"{len(self.pairs)} candidates"}
        live = None if os.environ.get("WORKBENCH_BATCH") else super()._repr_mimebundle_(**options)
        return (twin, {}) if live is None else ({**live[0], **twin}, live[1])
