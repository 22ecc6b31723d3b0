"""What was retrieved: a sheet of queries with their best items, as a page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.records import Rows
from workbench.views.plots.theme import data_uri, escape

Matrix = NDArray[Any]
# the class twice: a notebook page aligns all cells to the right by a rule of two classes
STYLE = """<style>
.sheet { border-collapse: collapse; font: 13px system-ui, sans-serif; color: inherit; background: transparent; }
.sheet caption { text-align: left; font-size: 16px; padding: 4px 0 8px; color: inherit; }
table.sheet.sheet td, table.sheet.sheet th { border-top: 1px solid rgba(128, 128, 128, .4); padding: 8px; }
table.sheet.sheet td, table.sheet.sheet th { text-align: left; vertical-align: top; }
table.sheet.sheet td, table.sheet.sheet th { max-width: 13em; background: transparent; font-weight: normal; white-space: normal; }
.sheet th b { display: block; }
.sheet img { display: block; margin-bottom: 4px; border-radius: 4px; border: 3px solid transparent; }
.sheet .own img { border-color: #0072B2; } .sheet .true img { border-color: #E69F00; border-style: dashed; }
.sheet small { display: block; opacity: .8; }
</style>"""
MARKS = {"own": "&#10003; its own", "true": "&#9675; truly described", "": "&#10007; wrong"}


def best_median_worst(ranks: Matrix) -> list[tuple[str, int]]:
    """The queries with the best, the median and the worst rank of a relevant item; equal ranks in the order
    of their rows.

    Args:
        ranks: ``(queries,)`` 1 = top, NaN = the query does not count.

    Returns:
        Pairs of a name and a query row.

    Raises:
        ValueError: no query counts.

    >>> best_median_worst(np.array([3.0, np.nan, 1.0, 7.0]))
    [('best', 2), ('median', 0), ('worst', 3)]
    """
    order = np.argsort(ranks, kind="stable")[: int(np.count_nonzero(~np.isnan(ranks)))]
    if not len(order):
        raise ValueError("no query has a relevant item, so that none is best or worst")
    return [("best", int(order[0])), ("median", int(order[(len(order) - 1) // 2])), ("worst", int(order[-1]))]


def sheet(
    scores: Matrix,
    ranks: Matrix,
    captions: Sequence[str],
    open_image: Callable[[int], Image.Image],
    own: Rows,
    *,
    direction: Literal["i2t", "t2i"] = "t2i",
    true: Matrix | None = None,
    k: int = 5,
) -> str:
    """Three queries, the best, the median and the worst, each with its ``k`` best items.

    Args:
        scores: ``(I, T)``, larger = more alike.
        ranks: ``(queries,)`` rank of the best relevant item, ``(I,)`` or ``(T,)`` by direction.
        captions: ``(T,)`` texts.
        open_image: row -> picture.
        own: ``(T,)`` row of each caption's image.
        direction: image to text or text to image.
        true: ``(I, T)`` denser truth, to tell truly described items from wrong ones; ``None`` = only its own
            counts.
        k: items shown a query; among equal scores the lower row first.

    Returns:
        HTML, with thumbnails inside it and all texts escaped.
    """
    asked_text = direction == "t2i"
    body = []
    for name, query in best_median_worst(ranks):
        line = scores[:, query] if asked_text else scores[query]
        cells = []
        for item in np.argsort(-line, kind="stable")[:k].tolist():
            image, caption = (item, query) if asked_text else (query, item)
            truly = true is not None and bool(true[image, caption])
            mark = "own" if own[caption] == image else "true" if truly else ""
            shown = _picture(open_image, image) if asked_text else escape(captions[caption])
            cells.append(f'<td class="{mark}">{shown}<small>{MARKS[mark]}, {line[item]:.3f}</small></td>')
        asked = escape(captions[query]) if asked_text else _picture(open_image, query)
        body.append(
            f'<tr><th scope="row"><b>{name}: rank {ranks[query]:.0f}</b>{asked}</th>{"".join(cells)}</tr>'
        )
    title = "Captions and the images they find" if asked_text else "Images and the captions they find"
    return f'{STYLE}<table class="sheet"><caption>{title}</caption>{"".join(body)}</table>'


def _picture(open_image: Callable[[int], Image.Image], row: int) -> str:
    return f'<img alt="image {row}" src="{data_uri(open_image(row))}">'
