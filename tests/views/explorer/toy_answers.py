"""Answers made by hand, with every part that an answer may have."""

from __future__ import annotations

import base64
import io

from PIL import Image

from workbench.views.explorer.answers import Answer, Item, Query
from workbench.views.explorer.notes import Facts

RUNS = ("InfoNCE", "DITM")
HOSTILE = (
    "<script>window.owned = 1</script><img src=x onerror='window.owned = 1'>",
    "</script><script>window.owned = 1</script><!--<script>",
    "\"><svg onload=\"window.owned = 1\"> ' onfocus='window.owned = 1' autofocus='",
    "javascript:window.owned=1 $x^2$ {{window.owned=1}} ${window.owned=1}",
    "w" * 400,
    "كلب أبيض على العشب \u202e desrever",
    "a lone surrogate \ud800 and a NUL \x00 and \u2028 a line",
)


def thumbnail(number: int) -> str:
    """A data URL of an image of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (40, 30), (40 * number % 255, 120, 200 - 20 * number % 200)).save(file, format="JPEG")
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"


def item(row: int, ranks: tuple[int, int], *, caption: str = "", mark: str = "not") -> Item:
    """An image of the gallery."""
    captions = (caption or f"caption of image {row}", "another one")
    return Item(
        row,
        f"image-{row}.jpg",
        captions,
        str(row),
        {"own": 1.0, "not": 0.0}.get(mark),
        mark,
        None,
        (0.9, 0.8),
        ranks,
    )


def answer(
    label: str, rows: tuple[int, ...] = (0, 1, 2), *, caption: str = "", runs: tuple[str, ...] = RUNS
) -> Answer:
    """Two runs that find the same three images in opposite orders; with edits, a walk and the effect of
    words."""
    items = tuple(
        item(
            row,
            (place + 1, len(rows) - place),
            caption=caption and f"{caption} {row}",
            mark="not" if place else "own",
        )
        for place, row in enumerate(rows)
    )
    edits = [
        {"kind": kind, "label": caption or name, "sentence": words, "scores": scores, "ranks": ranks}
        for kind, name, words, scores, ranks in (
            ("asked", "as asked", label, (0.9, 0.8), (1, 3)),
            ("remade", "made from its graph", "a red dog", (0.85, 0.8), (1, 3)),
            ("drop", "without red", "a dog", (0.7, 0.9), (2, 1)),
        )
    ]
    way = [
        {"run": run, "walk": walk, "text": caption or f"step {walk}", "level": 2, "cosine": 0.5 + walk / 4,
         "image": f"image-{rows[run]}.jpg", "thumbnail": str(rows[run])}
        for run in range(2)
        for walk in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    words = [
        {"text": caption or "dog", "effects": (0.2, -0.1)},
        {"text": "red", "effects": (0.1, 0.3)},
    ]
    thumbnails = {str(row): thumbnail(row) for row in (*rows, 9)}
    panels = {
        "graph": {"graph": None, "edits": edits, "vocabulary": {}},
        "way": {"steps": way, "thumbnails": [step["thumbnail"] for step in way]},
        "words": {"words": words},
    }
    return Answer(
        Query(label, "images", label, "9"), runs, items, (rows, rows[::-1]), 50, 50, "exact", (), rows[0],
        panels, Facts(reading=caption or "a note"), thumbnails,
    )  # fmt: skip


def hostile() -> list[Answer]:
    """Answers in which every string is an attack or a nuisance."""
    return [answer(text, caption=text, runs=(f"{text} 1", f"{text} 2")) for text in HOSTILE]
