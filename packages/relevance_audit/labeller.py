"""The view in which candidates are labelled: one at a time, by keyboard or button, each label on the disk
before the next.
"""

import os
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pandas as pd
import traitlets
from PIL import Image

from relevance_audit.false_negatives import COLUMNS
from relevance_audit.labels import LABELS, Labels
from workbench.formatting import format_number
from workbench.records import Split, require
from workbench.views.pages import data_uri, fill_template
from workbench.views.photographs import image_or_card

HERE = Path(__file__).parent
# by direction: how the candidate was found, and where the query's own match stands
FOUND = {
    "t2i": ("the caption is the query, this image has rank", "its own image has rank"),
    "i2t": ("the image is the query, this caption has rank", "the first of its own captions has rank"),
}
SHEET = 12
DONE = "every candidate has a label"


def candidate_card(
    split: Split, row: "pd.Series[Any]", label: str = "", *, grades: bool = True
) -> dict[str, Any]:
    """Return one candidate of the table from ``candidates`` as people see it.

    Args:
        split: whose images and captions are shown.
        row: of the table.
        label: what a person, or the truth, has answered; empty = nothing yet.
        grades: whether to tell what other judgements say.

    Returns:
        ``image``, the image that was found, or that is the query; ``own_image``, the image that the
        ``caption`` was written for; ``own_captions``, the texts that were written for the image; ``facts``,
        names and values such as place, score and grades; and the ``label``.
    """
    image, caption = int(row["image_row"]), int(row["caption_row"])
    rank, first = FOUND[row["direction"]]
    known = "the query has no match" if pd.isna(row["own_rank"]) else f"{first} {int(row['own_rank'])}"
    facts = [["found", f"{rank} {row['rank']}; {known}"], ["score", format_number(row["score"], 3)]]
    for name in [name for name in row.index if name not in COLUMNS] if grades else []:
        verdict = "right" if name in str(row["right_by"]).split(", ") else "wrong"
        graded = "not judged" if pd.isna(row[name]) else f"{format_number(row[name], 2)}, {verdict}"
        facts.append([str(name), graded])
    opened = [_open_image(split, row, facts) for row in (image, int(split.own[caption]))]
    captions = [split.captions[other] for other in np.flatnonzero(split.own == image)]
    images = {"image": opened[0], "own_image": opened[1]}
    texts = {"caption": split.captions[caption], "own_captions": captions}
    return {**images, **texts, "facts": facts, "label": label}


def _open_image(split: Split, row: int, facts: list[list[str]]) -> Image.Image:
    """Return an image, or a grey one and why it cannot be read: texts can be judged by texts."""
    try:
        return image_or_card(split, row)
    except (OSError, ValueError) as error:
        facts.append([f"image {split.image_ids[row]}", f"cannot be read: {error}"])
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
        require(not table.empty, "no candidate to label; loosen the filters of `select`, or raise `k`")
        super().__init__()
        self.split, self.labels = split, labels
        self.grades = grades
        self.table = table.drop_duplicates(["image", "caption"]).reset_index(drop=True)
        self.pairs = list(zip(self.table["image"], self.table["caption"], strict=True))
        self.position = self._next_unlabelled(0)
        self.on_msg(lambda _, message, __: self.answer(message))
        self._show_candidate("")

    def answer(self, message: dict[str, Any]) -> None:
        """Do what a key or button asks for; what cannot be saved is said on the screen. ``message``: ``{"do":
        "label" | "undo" | "move" | "open", "at": position that was on the screen, ...}``.
        """
        at, do = int(message.get("at", self.position)), message["do"]
        status = ""
        try:
            if do == "label":
                status = self._save_label(at, message["label"])
            elif do == "undo":
                status = self._undo_label()
            elif do == "move":
                self.position = min(max(at + int(message["by"]), 0), len(self.pairs) - 1)
            elif do == "open":
                self.position = self._next_unlabelled(at + 1)
                status = "" if self._label_counts()["open"] else DONE
        except OSError as error:
            status = f"not saved: {error}"
        self._show_candidate(status)

    def _save_label(self, at: int, label: str) -> str:
        if self.labels.label_of(*self.pairs[at]) != label:
            self.labels.add(*self.pairs[at], label)
        self.position = self._next_unlabelled(at)
        return f"saved: {label}" if self._label_counts()["open"] else f"saved: {label}; {DONE}"

    def _undo_label(self) -> str:
        if (last := self.labels.undo()) is None:
            return "nothing to undo"
        if last.pair in self.pairs:
            self.position = self.pairs.index(last.pair)
        return f"undone: {last.label}"

    def _next_unlabelled(self, start: int) -> int:
        """Return the first candidate without a label from here on, round the end; where all have one, the
        next.
        """
        known, size = self.labels.own_labels(), len(self.pairs)
        order = [(start + step) % size for step in range(size)]
        return next((at for at in order if self.pairs[at] not in known), min(start, size - 1))

    def _label_counts(self) -> dict[str, int]:
        known = self.labels.own_labels()
        labels = [known.get(pair, "open") for pair in self.pairs]
        return {name: labels.count(name) for name in (*LABELS, "open")}

    def _show_candidate(self, status: str) -> None:
        pair, row = self.pairs[self.position], self.table.iloc[self.position]
        view = candidate_card(self.split, row, self.labels.label_of(*pair), grades=self.grades)
        view |= {"image": data_uri(view["image"], 320), "own_image": data_uri(view["own_image"], 96)}
        view |= {"at": self.position, "total": len(self.pairs), "image_id": pair[0]}
        view |= {"counts": self._label_counts(), "status": status, "annotator": self.labels.annotator}
        self.view = view

    def sheet(self, most: int = SHEET) -> str:
        """Return the static page: the first candidates with their settled labels, as HTML on its own."""
        settled, total = self.labels.settled_labels(), len(self.pairs)
        cards = [
            candidate_card(self.split, self.table.iloc[at], settled.get(pair, ""), grades=self.grades)
            for at, pair in enumerate(self.pairs[:most])
        ]
        some = "" if len(cards) == total else f", {len(cards)} of {total}"
        return fill_template(
            HERE / "audit.html.j2", cards=cards, title=f"Candidates for false negatives{some}"
        )

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        page = {"text/html": self.sheet(), "text/plain": f"{len(self.pairs)} candidates"}
        live = None if os.environ.get("WORKBENCH_BATCH") else super()._repr_mimebundle_(**options)
        return (page, {}) if live is None else ({**live[0], **page}, live[1])
