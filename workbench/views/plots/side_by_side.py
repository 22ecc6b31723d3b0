"""The same queries under every run, as a sheet that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows, Split
from workbench.views.plots.theme import data_uri, escape

Matrix = NDArray[Any]
Grade = Callable[[Rows, Rows], Matrix]
# the class twice: a notebook page aligns all cells to the right by a rule of two classes
STYLE = """<style>
.answers { border-collapse: collapse; font: 13px/1.35 system-ui, sans-serif; color: inherit; background: transparent; }
.answers caption { font-size: 16px; padding: 4px 0 8px; text-align: left; color: inherit; }
table.answers.answers td, table.answers.answers th { padding: 6px 8px; vertical-align: top; text-align: left; }
table.answers.answers td, table.answers.answers th { background: transparent; white-space: normal; font-weight: normal; }
table.answers.answers td, table.answers.answers th { overflow-wrap: anywhere; }
table.answers.answers tbody th[scope=rowgroup] { border-top: 2px solid rgba(128, 128, 128, .7); padding-top: 12px; }
table.answers.answers td { width: 9.5em; min-width: 7em; max-width: 11em; } .answers th b { display: block; }
.answers div { border: 3px solid rgba(128, 128, 128, .35); border-radius: 5px; padding: 3px; }
.answers img { display: block; border-radius: 3px; max-width: 100%; } .answers th img { margin: 4px 0; }
.answers .own div { border-color: #0072B2; } .answers .true div { border: 3px dashed #E69F00; }
.answers .partly div { border: 3px dotted #009E73; } .answers small { display: block; opacity: .85; }
</style>"""
MARKS = {
    "own": "\N{CHECK MARK} its own",
    "true": "\N{WHITE CIRCLE} true",
    "partly": "\N{CIRCLE WITH LEFT HALF BLACK} partly",
}
PARTLY = 0.5
TITLES = {"t2i": "Captions and the images they find", "i2t": "Images and the captions they find"}


@dataclass(frozen=True)
class Answers:
    """What one run answers.

    Args:
        scores: ``(I, T)``, larger = more alike.
        ranks: ``(queries,)`` rank of each query's own item (its best one where there are several), 1 = first.
    """

    scores: Matrix
    ranks: Matrix


def sheet(
    runs: Mapping[str, Answers],
    queries: Sequence[tuple[str, int]],
    split: Split,
    *,
    direction: Literal["i2t", "t2i"] = "t2i",
    grade: Grade | None = None,
    k: int = 5,
) -> str:
    """Each query with a line for every run: the rank of its own item, and the ``k`` best items with
    thumbnails or texts.

    Colour, line and sign of an item all say what it is: its own; another one that is true, by a grade of at
    least 1; one that is true in part, by a grade of at least one half; or none of these.

    Args:
        runs: name -> answers.
        queries: why a query is shown, and its row.
        split: images, captions, and which belong together.
        direction: image to text or text to image.
        grade: ``(n,)`` image rows and ``(m,)`` caption rows -> ``(n, m)`` grades in [0, 1]; ``None`` =
            nothing but "its own".
        k: items shown; among equal scores the lower row first.

    Returns:
        HTML, with thumbnails inside it and all texts escaped.
    """
    title = f"{TITLES[direction]} ({escape(split.name)}: {len(split.image_ids)} images, {len(split.captions)} captions)"
    body = []
    for why, query in queries:
        asked = escape(split.captions[query]) if direction == "t2i" else _picture(split, query)
        head = f'<tr><th scope="rowgroup" colspan="{k + 1}"><b>{escape(why)}</b>{asked}</th></tr>'
        lines = [_line(name, answers, query, split, direction, grade, k) for name, answers in runs.items()]
        body.append(f"<tbody>{head}{''.join(lines)}</tbody>")
    if not body:
        return f'{STYLE}<p class="answers">{title}: the runs give the same rank to every query.</p>'
    return f'{STYLE}<table class="answers"><caption>{title}</caption>{"".join(body)}</table>'


def _line(
    name: str, answers: Answers, query: int, split: Split, direction: str, grade: Grade | None, k: int
) -> str:
    by_text = direction == "t2i"
    line = answers.scores[:, query] if by_text else answers.scores[query]
    items = np.argsort(-line, kind="stable")[:k]
    one = np.array([query])
    pairs = (items, one) if by_text else (one, items)
    grades = np.zeros(len(items)) if grade is None else np.asarray(grade(*pairs)).ravel()
    cells = []
    for item, value in zip(items.tolist(), grades.tolist(), strict=True):
        image, caption = (item, query) if by_text else (query, item)
        kind = (
            "own"
            if split.own[caption] == image
            else "true"
            if value >= 1
            else "partly"
            if value >= PARTLY
            else ""
        )
        shown = _picture(split, image) if by_text else escape(split.captions[caption])
        cells.append(
            f'<td class="{kind}"><div>{shown}<small>{_said(kind, value, grade)}, {line[item]:.3f}</small></div></td>'
        )
    return f'<tr><th scope="row"><b>{escape(name)}</b>own item at rank {answers.ranks[query]:.0f}</th>{"".join(cells)}</tr>'


def _said(kind: str, value: float, grade: Grade | None) -> str:
    if kind in ("own", "true"):
        return MARKS[kind]
    if grade is None:
        return "\N{MULTIPLICATION X} another\N{RIGHT SINGLE QUOTATION MARK}s"
    return f"{MARKS['partly'] if kind else chr(0x2715) + ' wrong'}, {value:.0%} holds"


def _picture(split: Split, row: int) -> str:
    return f'<img alt="image {escape(split.image_ids[row])}" src="{data_uri(split.open_image(row))}">'
