"""The figure of the developers' page on speed: ``python -m tools.scaling`` draws it."""

from __future__ import annotations

import plotly.graph_objects as go

from tools.benchmarks.recorded import read
from tools.finding import save_figure
from tools.numbers import ROOT
from workbench.formatting import format_number
from workbench.views.plots.theme import CATEGORIES, SYMBOLS


def draw() -> go.Figure:
    """Seconds of every measured part by its size, both as multiples of the smallest."""
    figure = go.Figure()
    for number, (name, of) in enumerate(read("scaling")["parts"].items()):
        x, y = ([value / of[key][0] for value in of[key]] for key in ("sizes", "seconds"))
        look = {
            "color": CATEGORIES[number % len(CATEGORIES)],
            "symbol": SYMBOLS[number % len(SYMBOLS)],
            "size": 9,
        }
        power = format_number(of["power"], 2)
        figure.add_scatter(x=x, y=y, name=f"{name}: power {power}", marker=look, mode="lines+markers")
    for power in (1, 2):
        figure.add_scatter(
            x=[1, 4], y=[1, 4**power], mode="lines", line={"color": "#888888", "dash": "dot"},
            name=f"power {power}, for comparison",
        )  # fmt: skip
    axis = {"type": "log", "tickvals": [1, 2, 4, 8, 16]}
    return figure.update_layout(
        title="Time by size, as multiples of the smallest size", width=1000, height=520,
        xaxis=axis | {"title": "size"}, yaxis=axis | {"title": "time"}, paper_bgcolor="white",
        template="plotly_white",
    )  # fmt: skip


if __name__ == "__main__":
    save_figure(draw(), ROOT / "docs" / "developers" / "scaling.png")
