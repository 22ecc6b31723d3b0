"""One look for all figures: readable on light and dark pages, and by people who do not tell red from green.

The background is transparent and the ink is a grey that contrasts with white and with black alike, at least
4.5 to 1. Categories use the palette of M. Okabe and K. Ito (Color universal design, 2008); levels use steps
of one ramp from light to dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from workbench.views.pages import data_uri as data_uri
from workbench.views.pages import escape as escape

INK = "#767676"
GRID = "rgba(128, 128, 128, 0.25)"
CATEGORIES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
# from generic to specific; each differs from its neighbours in lightness as well as in hue
LEVELS = ("#E6A817", "#3FA37C", "#2F7AB0", "#7B4F9E")
TEMPLATE: Any = go.layout.Template(
    layout={
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "title": {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": 1,
            "yanchor": "top",
            "pad": {"t": 14},
            "font": {"size": 16},
        },
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "colorway": CATEGORIES,
        "xaxis": {
            "gridcolor": GRID,
            "zerolinecolor": GRID,
            "linecolor": INK,
            "ticks": "outside",
            "automargin": True,
        },
        "yaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": INK, "automargin": True},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "modebar": {"bgcolor": "rgba(0, 0, 0, 0)", "color": INK, "activecolor": CATEGORIES[0]},
        "margin": {"l": 60, "r": 20, "t": 80, "b": 50},
    }
)


def figure(title: str, x: str = "", y: str = "", *, height: int = 380, width: int | None = None) -> go.Figure:
    """An empty figure in the common look.

    Args:
        title: what the figure shows; escaped.
        x: name of the horizontal axis, with its unit.
        y: name of the vertical axis, with its unit.
        height: in pixels.
        width: in pixels; ``None`` = as wide as the page.
    """
    layout = {"title": {"text": escape(title)}, "xaxis": {"title": escape(x)}, "yaxis": {"title": escape(y)}}
    return go.Figure(layout={**layout, "template": TEMPLATE, "height": height, "width": width})


def panels(
    names: Sequence[str], title: str, x: str, y: str, *, shared: bool = True, spacing: float = 0.04
) -> go.Figure:
    """An empty figure with one panel a name, side by side.

    Args:
        names: headings of the panels; escaped.
        title: what the figure shows.
        x: name of the horizontal axes, written once below the middle one.
        y: name of the vertical axes, written once at the left.
        shared: whether the vertical axes are the same.
        spacing: between panels, as a share of the width.
    """
    titles = [escape(name) for name in names]
    fig = figure(title).set_subplots(
        1, len(names), subplot_titles=titles, horizontal_spacing=spacing, shared_yaxes=shared
    )
    fig.update_annotations(font={"size": 13, "color": INK}).update_layout(
        legend={"y": -0.3, "yanchor": "top"}
    )
    fig.update_xaxes(title=escape(x), col=(len(names) + 1) // 2)
    return fig.update_yaxes(title=escape(y), col=1)
