"""What was retrieved: the same queries under every run, as a sheet that needs nothing but itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from workbench.formatting import format_count, format_number, format_value
from workbench.metrics.ranks import rank
from workbench.records import Array, Rows, Split, require
from workbench.views.pages import fill_template
from workbench.views.photographs import image_or_card

Grade = Callable[[Rows, Rows], Array]
MARKS = {"own": "✓ annotated", "true": "○ true", "partly": "◐ partly", "": "✕ wrong"}
TITLES = {"t2i": "Captions and the images they find", "i2t": "Images and the captions they find"}


def best_median_worst(ranks: Array) -> list[tuple[str, int]]:
    """Return the queries with the best, the median and the worst rank of a relevant item; equal ranks in the
    order of their rows.

    Args:
        ranks: ``(queries,)`` 1 = top, NaN = the query does not count.

    Returns:
        Pairs of a name and a query row.

    Raises:
        ValueError: no query counts.

    >>> best_median_worst(np.array([3.0, np.nan, 1.0, 7.0]))
    [('best', 2), ('median', 0), ('worst', 3)]
    """
    order = np.argsort(ranks, kind="stable")[: np.count_nonzero(~np.isnan(ranks))].tolist()
    require(order, "no query has a relevant item, so that none is best or worst")
    return [("best", order[0]), ("median", order[(len(order) - 1) // 2]), ("worst", order[-1])]


def sheet(
    runs: Mapping[str, Array],
    queries: Sequence[tuple[str, int]],
    split: Split,
    *,
    direction: Literal["i2t", "t2i"] = "t2i",
    grade: Grade | None = None,
    phi: Grade | None = None,
    notes: Sequence[str] = (),
    k: int = 5,
) -> str:
    """Return each query with a line for every run: the rank of its own item (its best one where there are
    several), and the ``k`` best items with thumbnails or texts.

    Colour, line and sign of an item all say what it is: its own; another one that is true, by a grade of at
    least 1; one that is true in part, by a grade of at least one half; or none of these.

    Args:
        runs: name -> scores ``(I, T)``, larger = more alike.
        queries: why a query is shown, and its row.
        split: images, captions, and which belong together.
        direction: image to text or text to image.
        grade: ``(n,)`` image rows and ``(m,)`` caption rows -> ``(n, m)`` grades in [0, 1]; ``None`` =
            nothing but "its own".
        phi: graded relevance of at least 0, given like ``grade``: the border of an item is as wide and strong
            as its phi, the widest that of the best item of the gallery (SAM, Fig. 1).
        notes: ``(T,)`` what stands below a caption, e.g. how descriptive it is (DITM, Fig. 6).
        k: items shown; among equal scores the lower row first.

    Returns:
        HTML, with thumbnails inside it and all texts escaped.
    """
    sizes = f"{format_count(len(split.image_ids), 'image')}, {format_count(len(split.captions), 'caption')}"
    blocks = []
    for why, query in queries:
        results = []
        for name, scores in runs.items():
            result = _query_line(scores, query, split, direction, grade, phi, notes, k)
            results.append({"run": name, **result})
        blocks.append(
            {"why": why, "query": _item_values(split, query, direction[0], notes), "lines": results}
        )
    title = f"{TITLES[direction]} ({split.name}: {sizes})"
    return fill_template("views/plots/retrieval.html.j2", title=title, blocks=blocks, k=k)


def _query_line(
    scores: Array,
    query: int,
    split: Split,
    direction: str,
    grade: Grade | None,
    phi: Grade | None,
    notes: Sequence[str],
    k: int,
) -> dict[str, Any]:
    """Return the rank of a query's own item, and the best items: what each is, what is said below it, and its
    phi as a share of the best.
    """
    line = scores[:, query] if direction == "t2i" else scores[query]
    queries = np.array([query])
    order = np.argsort(-line, kind="stable")

    def pairs(items: Rows) -> tuple[Rows, Rows]:
        return (items, queries) if direction == "t2i" else (queries, items)

    def graded(by: Grade | None, items: Rows) -> Array:
        return np.zeros(len(items)) if by is None else np.asarray(by(*pairs(items))).ravel()

    images, captions = pairs(order)
    own = split.own[captions] == images
    phis = graded(phi, order)
    items = []
    for place, value in enumerate(graded(grade, order[:k]).tolist()):
        item = int(order[place])
        kind = "own" if own[place] else _kind_of_item(value)
        note = MARKS[kind]
        if kind in ("partly", ""):
            note = "✕ another's" if grade is None else f"{note}, {format_value(value)} % true"
        share = None
        if phi is not None:
            note += f", phi {format_number(phis[place], 2)}"
            share = float(phis[place] / (phis.max() or 1))
        note += f", score {format_number(line[item], 3)}"
        shown = _item_values(split, item, direction[-1], notes)
        items.append({"shown": shown, "kind": kind, "note": note, "share": share})
    return {"rank": format_number(rank(line[None, order], own[None]).first[0], 0), "items": items}


def _kind_of_item(grade: float) -> str:
    """Return what an item that is not the query's own is, by its grade."""
    if grade >= 1:
        return "true"
    return "partly" if grade >= 0.5 else ""


def _item_values(split: Split, row: int, kind: str, notes: Sequence[str]) -> dict[str, Any]:
    """Return what a page shows of an image (``"i"``) or a caption (``"t"``)."""
    if kind == "t":
        return {"image": None, "text": split.captions[row], "note": notes[row] if len(notes) else ""}
    return {"image": image_or_card(split, row), "text": f"image {split.image_ids[row]}", "note": ""}
