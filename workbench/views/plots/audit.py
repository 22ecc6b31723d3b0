"""Figures of the false-negative audit: a sheet of candidates, metrics before and after labels, false
negatives by batch size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from workbench.views.plots.theme import CATEGORIES, INK, data_uri, escape, panels

if TYPE_CHECKING:
    import pandas as pd
    from PIL import Image

# the class twice: a notebook page aligns all cells to the right by a rule of two classes
STYLE = """<style>
.audit-sheet { border-collapse: collapse; font: 13px system-ui, sans-serif; color: inherit; }
.audit-sheet caption { text-align: left; font-size: 16px; padding: 4px 0 8px; color: inherit; white-space: nowrap; }
table.audit-sheet.audit-sheet :is(td, th) { border-top: 1px solid rgba(128, 128, 128, .4); padding: 8px 14px 8px 0; }
table.audit-sheet.audit-sheet :is(td, th) { text-align: left; vertical-align: top; background: transparent; }
table.audit-sheet.audit-sheet td { white-space: normal; overflow-wrap: anywhere; max-width: 26em; }
.audit-sheet img { display: block; border-radius: 4px; } .audit-sheet q { display: block; font-size: 15px; margin-bottom: 6px; }
.audit-sheet ul { margin: 2px 0; padding-left: 1.2em; } .audit-sheet small { display: block; opacity: .8; }
</style>"""
# lines of runs that agree lie on one another: marks and dashes let the lower one be seen
LOOKS = (
    ("circle-open", "solid"),
    ("diamond-open", "dash"),
    ("square-open", "dot"),
    ("triangle-up-open", "dashdot"),
)
SHARES = {
    "pairs": "negative pairs",
    "t2i/any": "captions with at least one",
    "i2t/any": "images with at least one",
    "t2i/hardest": "hardest negative of a caption",
    "i2t/hardest": "hardest negative of an image",
}


@dataclass(frozen=True)
class Card:
    """A candidate as people see it.

    Args:
        image: the picture that was found, or that asked.
        own_image: the picture that the caption was written for.
        caption: the text in question.
        own_captions: the texts that were written for the picture.
        facts: names and values: place, score, grades.
        label: what was said of it; empty = nothing yet.
    """

    image: Image.Image
    own_image: Image.Image
    caption: str
    own_captions: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    label: str = ""


def sheet(
    cards: Sequence[Card], *, total: int | None = None, title: str = "Candidates for false negatives"
) -> str:
    """Candidates one below the other, as a page that needs nothing but itself.

    Args:
        cards: the candidates that are shown.
        total: how many there are; ``None`` = no more.
        title: what the sheet shows.

    Returns:
        HTML with thumbnails inside it and all texts escaped.
    """
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("image", "does this caption describe it?", "its own image", "grades")
    )
    more = "" if total in (None, len(cards)) else f", {len(cards)} of {total}"
    body = "".join(f"<tr>{_row(card)}</tr>" for card in cards)
    return f'{STYLE}<table class="audit-sheet"><caption>{escape(title)}{more}</caption><tr>{heads}</tr>{body}</table>'


def _row(card: Card) -> str:
    own = "".join(f"<li>{escape(text)}</li>" for text in card.own_captions)
    facts = "".join(f"<div>{escape(name)}: {escape(value)}</div>" for name, value in card.facts)
    said = f"<div><b>label: {escape(card.label)}</b></div>" if card.label else ""
    asked = f"<q>{escape(card.caption)}</q><small>the image's own captions:<ul>{own}</ul></small>"
    picture, first = data_uri(card.image, 144), data_uri(card.own_image, 80)
    return (
        f'<td><img alt="the candidate image" src="{picture}"></td><td>{asked}</td>'
        f'<td><img alt="the image that the caption was written for" src="{first}"></td><td>{facts}{said}</td>'
    )


def before_and_after(
    table: pd.DataFrame, *, names: tuple[str, str] = ("before", "after"), title: str
) -> go.Figure:
    """Each metric by two judgements: a hollow mark before, a filled one after, with their intervals; one
    panel a run.

    Args:
        table: from ``audit.recompute``; ``rsum`` and ``medr``, which do not lie in [0, 1], are left out.
        names: of the two judgements.
        title: what the figure shows.
    """
    shown = table[[not key.endswith(("medr", "rsum")) for key in table.index.get_level_values("key")]]
    runs = shown.index.get_level_values("run").unique().tolist()
    fig = panels(runs, title, "value", "", spacing=0.03)
    for column, run in enumerate(runs, 1):
        part = shown.loc[run]
        for name, symbol, colour in zip(names, ("circle-open", "circle"), (INK, CATEGORIES[0]), strict=True):
            value, low, high = (part[name, what].to_numpy() for what in ("value", "low", "high"))
            bars = {
                "type": "data",
                "array": high - value,
                "arrayminus": value - low,
                "color": colour,
                "thickness": 1.5,
                "width": 0,
            }
            fig.add_scatter(
                x=value, y=part.index.tolist(), error_x=bars, mode="markers", name=escape(name), legendgroup=name,
                marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2}}, showlegend=column == 1,
                hovertemplate=f"{escape(name)} %{{y}}: %{{x:.3f}}<extra></extra>", row=1, col=column,
            )  # fmt: skip
    fig.update_layout(
        height=200 + 24 * len(shown.index.unique(1)),
        legend={"y": 1.06, "yanchor": "bottom"},
        margin={"t": 100},
    )
    return fig.update_yaxes(autorange="reversed", type="category").update_xaxes(range=[-0.02, 1.02])


def shares_by_batch_size(tables: Mapping[str, pd.DataFrame], *, title: str) -> go.Figure:
    """Share of false negatives by batch size, one panel a key, one line a run, dashed where it is the
    expected value.

    Args:
        tables: run -> table from ``audit.false_negatives_in_batches``; a share that does not read the scores
            is drawn once.
        title: what the figure shows.
    """
    first = next(iter(tables.values()))
    keys = [key for key in SHARES if key in set(first["key"])]
    fig = panels([SHARES[key] for key in keys], title, "captions a batch", "share that is truly positive")
    for column, key in enumerate(keys, 1):
        drawn = tables if key.endswith("hardest") else {"all models": first}
        for number, (name, table) in enumerate(drawn.items()):
            part = table[table["key"] == key]
            _line(fig, column, part, name, None if name == "all models" else number)
    ticks = {
        "type": "log",
        "tickvals": sorted(set(first["size"])),
        "ticktext": [str(size) for size in sorted(set(first["size"]))],
    }
    return fig.update_xaxes(**ticks).update_yaxes(tickformat=".0%", rangemode="tozero")


def _line(fig: go.Figure, column: int, part: pd.DataFrame, name: str, number: int | None) -> None:
    colour = INK if number is None else CATEGORIES[number % len(CATEGORIES)]
    symbol, dash = ("circle", "solid") if number is None else LOOKS[number % len(LOOKS)]
    value = part["value"].to_numpy()
    low, high = (part[what].to_numpy(dtype=float) for what in ("low", "high"))
    bars: dict[str, Any] = {
        "type": "data",
        "array": high - value,
        "arrayminus": value - low,
        "color": colour,
        "thickness": 1.5,
    }
    seen = {trace.name for trace in fig.data}
    look = {
        "line": {"color": colour, "width": 2.5, "dash": dash},
        "marker": {"size": 8, "symbol": symbol},
        "legendgroup": name,
        "showlegend": escape(name) not in seen,
    }
    hover = f"{escape(name)}, %{{x}} captions: %{{y:.2%}}<extra></extra>"
    fig.add_scatter(
        x=part["size"],
        y=value,
        error_y=bars,
        name=escape(name),
        mode="lines+markers",
        hovertemplate=hover,
        row=1,
        col=column,
        **look,
    )
    if np.isfinite(part["expected"]).any():
        dotted = {"color": colour, "dash": "dot", "width": 1.5}
        expected = {"name": "expected", "legendgroup": "expected", "showlegend": "expected" not in seen}
        fig.add_scatter(
            x=part["size"],
            y=part["expected"],
            mode="lines",
            line=dotted,
            row=1,
            col=column,
            hoverinfo="skip",
            **expected,
        )
