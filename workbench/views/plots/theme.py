"""One look for all figures: readable on light and dark pages, and by people who do not tell red from green.

The background is transparent and the ink is a grey that contrasts with white and with black alike, at least
4.5 to 1. Categories use the palette of M. Okabe and K. Ito (Color universal design, 2008); levels use steps
of one ramp from light to dark.
"""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from workbench.formatting import display_value, format_interval
from workbench.views.pages import data_uri, escape, join_lines

__all__ = ["data_uri", "escape", "join_lines"]

LETTERS = 16  # in a line of a name
INK = "#767676"
GRID = "rgba(128, 128, 128, 0.25)"
CATEGORIES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
# the mark differs as well as the colour
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star", "x")
# from generic to specific; each differs from its neighbours in lightness as well as in hue
LEVELS = ("#E6A817", "#3FA37C", "#2F7AB0", "#7B4F9E")
TITLE = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yanchor": "top", "pad": {"t": 14, "l": 8}}
AXIS = {
    "gridcolor": GRID,
    "zerolinecolor": GRID,
    "linecolor": INK,
    "automargin": True,
    "title": {"font": {"size": 13}},
}
CLEAR = "rgba(0, 0, 0, 0)"
LAYOUT = {
    "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
    "title": {**TITLE, "font": {"size": 16}},
    "paper_bgcolor": CLEAR,
    "plot_bgcolor": CLEAR,
    "colorway": CATEGORIES,
    "xaxis": {**AXIS, "ticks": "outside"},
    "yaxis": {**AXIS, "ticklabelstandoff": 6},
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "modebar": {"bgcolor": CLEAR, "color": INK, "activecolor": CATEGORIES[0]},
    "margin": {"l": 60, "r": 20, "t": 80, "b": 50},
}
TEMPLATE: Any = go.layout.Template(layout=LAYOUT)


def figure(title: str, x: str = "", y: str = "", *, height: int = 380, width: int | None = None) -> go.Figure:
    """Return an empty figure in the common look; ``x`` and ``y`` name the axes, with their unit, ``height``
    and ``width`` are in pixels (``None`` = as wide as the page).
    """
    layout = {
        "title": {"text": escape(title)},
        "xaxis": {"title": escape(x)},
        "yaxis": {"title": escape(y)},
        "template": TEMPLATE,
        "height": height,
        "width": width,
    }
    return go.Figure(layout=layout)


def panel_figure(
    names: Sequence[str], title: str, x: str, y: str, *, shared: bool = True, spacing: float = 0.04
) -> go.Figure:
    """Return an empty figure with one panel a name, side by side.

    Args:
        names: headings of the panels; escaped.
        title: what the figure shows.
        x: name of the horizontal axes, written once below the middle one.
        y: name of the vertical axes, written once at the left.
        shared: whether the vertical axes are the same.
        spacing: between panels, as a share of the width.
    """
    heads = [escape(name) for name in names]
    fig = figure(title)
    fig.set_subplots(1, len(names), subplot_titles=heads, horizontal_spacing=spacing, shared_yaxes=shared)
    fig.update_layout(legend={"y": -0.3, "yanchor": "top"})
    fig.update_yaxes(title=escape(y), col=1)
    fig.update_annotations(font={"size": 13, "color": INK})
    return fig.update_xaxes(title=escape(x), col=(len(names) + 1) // 2)


def break_name(name: str) -> str:
    """Return a name, escaped, in lines that leave a narrow page room for the plot."""
    return "<br>".join(map(escape, textwrap.wrap(name, LETTERS)))


def axis_values(values: ArrayLike, unit: str = "share") -> list[float]:
    """Return stored values as an axis shows them, e.g. in percent; what is not known (``None``, NaN) stays a
    gap.

    >>> axis_values([0.5, None])
    [50.0, nan]
    """
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    return [display_value(number, unit) for number in numbers.tolist()]


def named_rows(table: pd.DataFrame) -> Iterable[Any]:
    """Return the rows of a table as named tuples, whose fields may hold anything."""
    return table.itertuples()


def legend_entry(fig: go.Figure, name: str, column: int | None = None, row: int = 1) -> dict[str, Any]:
    """Return what a trace needs to stand once in the legend, however many panels draw it: its name, escaped,
    and its panel; a trace without a name is not in the legend.
    """
    shown = {"", *(trace.legendgroup for trace in fig.data)}
    panel = {} if column is None else {"row": row, "col": column}
    return {"name": escape(name), "legendgroup": name, "showlegend": name not in shown, **panel}


def draw_dots(fig: go.Figure, table: pd.DataFrame, colour: str, symbol: str = "circle", **place: Any) -> None:
    """Draw named values with their intervals from left to right; an interval that is not known is not drawn.

    Args:
        fig: with names on the vertical axis.
        table: ``run``, ``value``, ``low``, ``high`` and ``about``, which ends the hover text, of one unit
            ``face``; nothing is drawn of an empty one.
        colour: of dots and intervals.
        symbol: of the dots.
        place: from ``legend_entry``.
    """
    if table.empty:
        return
    unit = table["face"].iloc[0]
    texts = []
    for row in named_rows(table):
        interval = format_interval(row.value, row.low, row.high, unit)
        texts.append(escape(f"{row.run}: {interval}{row.about}"))
    names = [escape(run) for run in table["run"]]
    bars = error_bars(table["value"], table["low"], table["high"], colour, unit, width=5)
    look = {"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}}
    fig.add_scatter(
        x=axis_values(table["value"], unit),
        y=names,
        mode="markers",
        error_x=bars,
        marker=look,
        hovertext=texts,
        hoverinfo="text",
        **place,
    )


def error_bars(
    value: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, unit: str = "share", **look: Any
) -> dict[str, Any]:
    """Return error bars from values to the ends of their intervals, all as they are stored; an interval that
    is not known (``None``, NaN) is not drawn.
    """
    middle, below, above = (np.array(axis_values(part, unit)) for part in (value, low, high))
    return {
        "type": "data",
        "color": colour,
        "thickness": 2,
        "array": np.nan_to_num(above - middle).tolist(),
        "arrayminus": np.nan_to_num(middle - below).tolist(),
        **look,
    }


def draw_steps(
    fig: go.Figure, values: NDArray[Any], edges: NDArray[Any], line: dict[str, Any], **look: Any
) -> None:
    """Draw the outline of a histogram: the share of the values in each bin between ``edges``, in percent."""
    shares = np.histogram(values, edges)[0] / max(1, len(values))
    heights = np.append(shares, 0.0)
    fig.add_scatter(x=edges, y=heights, mode="lines", line={"width": 2, "shape": "hv", **line}, **look)


def add_image(fig: go.Figure, image: Image.Image, side: int = 224, **place: Any) -> None:
    """Draw an image, a thumbnail of ``side`` pixels, by default at the left of the page, half way up."""
    page = {"xref": "paper", "yref": "paper", "x": 0, "y": 0.5, "sizey": 1, "yanchor": "middle"}
    fig.add_layout_image({"source": data_uri(image, side), "sizing": "contain", **page, **place})


def wrap(text: str, letters: int, most: int | None = None) -> list[str]:
    """Return a text in lines of so many letters, at most so many of them; what is left out is marked."""
    return textwrap.wrap(text, letters, max_lines=most, placeholder=" …")


def level_colour(level: int, levels: Sequence[int]) -> str:
    """Colour of a level: the ramp from generic to specific, stretched over the levels there are."""
    place = sorted(levels).index(level)
    return LEVELS[round(place * (len(LEVELS) - 1) / max(1, len(levels) - 1))]
