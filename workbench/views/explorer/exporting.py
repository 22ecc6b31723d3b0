"""Answers as tables: for a file, for a selection, for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from workbench.records import Split
from workbench.views.explorer.answers import Answer, Item, image_row
from workbench.views.explorer.engine import Engine


def table(answer: Answer) -> pd.DataFrame:
    """One line for each run and item: query, run, rank, id, score, grade, mark, captions, and where the item
    is pinned.
    """
    items = {item.row: item for item in answer.items}
    lines = []
    for run, name in enumerate(answer.runs):
        shown = dict.fromkeys([*answer.columns[run], *answer.pins])
        for item in (items[row] for row in shown):
            told = {
                "query": answer.query.label,
                "seeks": answer.query.seeks,
                "run": name,
                "rank": item.ranks[run],
                "id": item.id,
            }
            graded = {
                "score": item.scores[run],
                "grade": item.grade,
                "mark": item.mark,
                "pinned": item.row in answer.pins,
            }
            lines.append({**told, **graded, "captions": " | ".join(item.captions)})
    columns = ["query", "seeks", "run", "rank", "id", "score", "grade", "mark", "pinned", "captions"]
    return pd.DataFrame(lines, columns=columns).astype({"rank": "Int64"})


def selection(engine: Engine, answer: Answer | None, rows: Sequence[int]) -> pd.DataFrame:
    """The selected images, with score and rank under every run where the last question sought images."""
    split = engine.split
    captions = [" | ".join(engine.gallery.captions("images", row)) for row in rows]
    made = pd.DataFrame(
        {"row": list(rows), "id": [split.image_ids[row] for row in rows], "captions": captions}
    )
    if answer is None or answer.query.seeks != "images":
        return made
    items = {item.row: item for item in answer.items}
    for run, name in enumerate(answer.runs):
        made[f"score {name}"] = [items[row].scores[run] if row in items else None for row in rows]
        made[f"rank {name}"] = pd.array(
            [items[row].ranks[run] if row in items else None for row in rows], dtype="Int64"
        )
    return made


def described(item: Item, run: int, split: Split) -> dict[str, Any]:
    """An item as a program reads it: ``id``, ``caption``, ``image``, ``similarity``, ``grade``."""
    image = split.open_image(image_row(item.thumbnail)) if item.thumbnail else None
    told = {"id": item.id, "caption": item.captions[0] if item.captions else "", "image": image}
    return {**told, "similarity": item.scores[run], "grade": item.grade}
