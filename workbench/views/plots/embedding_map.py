"""Maps of a space as figures: points in the colours and shapes of what is known of them, beside images of a
few.

Images are dots. Captions have another shape, and another one for each category, so that no figure is read by
colour alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workbench.formatting import format_number
from workbench.records import Array, Rows
from workbench.views.plots.descriptiveness import distributions
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    LEVELS,
    data_uri,
    escape,
    figure,
    join_lines,
    legend_entry,
    level_colour,
    panel_figure,
    wrap,
)

Styles = Mapping[str, tuple[str, str]]
SHAPES = ("triangle-up", "square", "diamond", "cross", "x", "star", "pentagon", "hexagram")
# Beyond so many points a figure is drawn by WebGL, of which a page can hold a few figures only.
MANY = 5000
HIDDEN = {"visible": False}
MARGIN = {"l": 10, "r": 10, "b": 10, "t": 90}
RAMP = [[place / (len(LEVELS) - 1), colour] for place, colour in enumerate(LEVELS)]
HOLLOW = {"color": "rgba(0, 0, 0, 0)", "line": {"color": INK, "width": 1}}


@dataclass(frozen=True)
class Marks:
    """What is known of the points of a map.

    Args:
        kind: ``(N,)`` ``"image"`` or ``"caption"``.
        text: ``(N,)`` shown on hover; escaped.
        values: ``(N,)`` what the colour says: names or levels, which get a legend, or real numbers, which get
            a scale. A value may be missing.
        name: what the values are.
    """

    kind: Sequence[str]
    text: Sequence[str]
    values: Sequence[Any] | Array
    name: str

    @property
    def is_numeric(self) -> bool:
        """Whether the values are a scale and not categories: a fraction among them, or more than eight
        numbers.
        """
        values = np.asarray(self.values)
        if not np.issubdtype(values.dtype, np.number):
            return False
        known = values[~np.isnan(values.astype(float))]
        return len(np.unique(known)) > len(SHAPES) or bool((known % 1).any())

    def categories(self) -> list[str]:
        """Return the values as names; missing ones are ``""``."""
        return [_category_text(value) for value in self.values]

    def hover_text(self, row: int) -> str:
        """Return the hover text of a point."""
        about = [self.kind[row], *wrap(self.text[row], 60, 3)]
        value = self.values[row]
        if value == value:
            shown = value if isinstance(value, str) else format_number(value, 3 * bool(value % 1))
            about.append(f"{self.name}: {shown}")
        return join_lines([line for line in about if line])


def _category_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if value == value else ""


def category_styles(marks: Sequence[Marks]) -> Styles:
    """Colour and shape of each category of all panels; a missing value is none."""
    known: set[Any] = set()
    for of_panel in marks:
        if not of_panel.is_numeric:
            known |= {value for value in of_panel.values if value == value}
    if known and not any(isinstance(value, str) for value in known):
        levels = sorted(int(value) for value in known)
        shapes = zip(levels, cycle(SHAPES))
        return {str(level): (level_colour(level, levels), shape) for level, shape in shapes}
    # "image" first, and so in the first colour, as everywhere
    names = sorted(map(str, known), key=lambda name: (name != "image", name))
    looks = dict(zip(names, zip(cycle(CATEGORIES), cycle(SHAPES))))
    if "image" in looks:
        looks["image"] = (looks["image"][0], "circle")
    return looks


def scale_ends(marks: Sequence[Marks]) -> tuple[float, float]:
    """Return ends of the common scale; a hundredth at the upper end is cut, so that single hubs leave colours
    for the others.
    """
    numbers = list(chain.from_iterable(of_panel.values for of_panel in marks if of_panel.is_numeric)) or [0.0]
    return float(np.nanmin(numbers)), float(np.nanquantile(numbers, 0.99))


@dataclass(frozen=True)
class Panel:
    """One panel that is drawn into: ``(N, 2)`` places with what is known of them; ``column`` is ``None``
    where the figure has one panel only.
    """

    fig: go.Figure
    points: Array
    marks: Marks
    column: int | None = None

    def draw_categories(self, looks: Styles) -> None:
        """Draw all points, each category in its own look, the rarer ones on top; hollow where the value is
        missing. The legend keeps the order of the looks.
        """
        names = np.array(self.marks.categories())
        self._draw_unknown(names == "")
        for name in sorted(looks, key=lambda category: -int(np.sum(names == category))):
            label = f"{self.marks.name} {name}" if name.isdigit() else name
            colour, shape = looks[name]
            rank = 1000 + list(looks).index(name)
            self.draw_points(np.flatnonzero(names == name), {"color": colour}, label, shape, legendrank=rank)

    def draw_scale(self, ends: tuple[float, float]) -> None:
        """Draw all points in colours of a scale; hollow where the value is missing."""
        values = np.asarray(self.marks.values, dtype=float)
        self._draw_unknown(np.isnan(values))
        self.draw_points(np.flatnonzero(~np.isnan(values)), {"color": values, "coloraxis": "coloraxis"})
        title = {"text": escape(self.marks.name)}
        bar = {"title": title, "thickness": 12, "len": 0.8, "outlinewidth": 0, "x": 1}
        axis = {"colorscale": RAMP, "cmin": ends[0], "cmax": ends[1], "colorbar": bar}
        self.fig.update_layout(coloraxis=axis)

    def draw_points(
        self, rows: Rows, look: Mapping[str, Any], name: str = "", shape: str = SHAPES[0], **trace: Any
    ) -> None:
        """Draw some points: captions in their shape, and images as dots on top, a trace each, since WebGL
        draws points of mixed shapes slowly. Without a ``name`` they are not in the legend.
        """
        is_image = np.array([self.marks.kind[row] == "image" for row in rows.tolist()], dtype=bool)
        usual = {"opacity": 0.8, "line": {"width": 0}}
        self._draw_trace(rows[~is_image], {**usual, "size": 6, "symbol": shape, **look}, name, trace)
        self._draw_trace(rows[is_image], {**usual, "size": 8, "symbol": "circle", **look}, name, trace)

    def _draw_trace(self, rows: Rows, look: Mapping[str, Any], name: str, trace: Mapping[str, Any]) -> None:
        if not len(rows):
            return
        marker = dict(look)
        if isinstance(marker["color"], np.ndarray):
            marker["color"] = marker["color"][rows]
        draw = self.fig.add_scattergl if len(self.points) > MANY else self.fig.add_scatter
        x, y = self.points[rows].T
        texts = [self.marks.hover_text(row) for row in rows.tolist()]
        place = legend_entry(self.fig, name, self.column)
        draw(x=x, y=y, mode="markers", hoverinfo="text", marker=marker, hovertext=texts, **place, **trace)

    def draw_thumbnails(self, thumbnails: Mapping[int, Image.Image]) -> None:
        """Draw thumbnails beside the points of a few rows, and keep both axes to one scale."""
        axis = self.column or ""
        side = float(np.ptp(self.points, axis=0).max()) * 0.09
        places = self.points[list(thumbnails)].astype(float).tolist()
        on_axes = {"xref": f"x{axis}", "yref": f"y{axis}", "xanchor": "center", "yanchor": "bottom"}
        images = list(self.fig.layout.images)
        for image, (x, y) in zip(thumbnails.values(), places):
            source = data_uri(image, 64)
            images.append({"source": source, "x": x, "y": y, "sizex": side, "sizey": side, **on_axes})
        self.fig.update_layout({"images": images, f"yaxis{axis}": {"scaleanchor": f"x{axis}", **HIDDEN}})

    def _draw_unknown(self, missing: Array) -> None:
        rows = np.flatnonzero(missing)
        kinds = {self.marks.kind[row] for row in rows.tolist()}
        self.draw_points(rows, HOLLOW, "image" if kinds == {"image"} else "unknown")


def side_by_side(
    maps: Mapping[str, Array],
    marks: Mapping[str, Marks],
    *,
    title: str,
    thumbnails: Mapping[int, Image.Image] | None = None,
) -> go.Figure:
    """Draw one panel a map of the same items.

    Args:
        maps: name -> ``(N, 2)`` places.
        marks: name -> what is known of the points there; categories of one name share colour and legend.
        title: what the figure shows.
        thumbnails: thumbnails of a few rows, drawn in each panel beside their points.
    """
    split_up = len(maps) > 1
    fig = panel_figure(list(maps), title, "", "", shared=False) if split_up else figure(title)
    looks = category_styles(list(marks.values()))
    ends = scale_ends(list(marks.values()))
    for column, (name, points) in enumerate(maps.items(), 1):
        panel = Panel(fig, points, marks[name], column if split_up else None)
        if marks[name].is_numeric:
            panel.draw_scale(ends)
        else:
            panel.draw_categories(looks)
        panel.draw_thumbnails(thumbnails or {})
    legend = {"y": -0.02, "yanchor": "top", "itemsizing": "constant"}
    fig.update_layout(height=460, hovermode="closest", margin=MARGIN, legend=legend)
    return fig.update_xaxes(**HIDDEN)


def moves_between(
    first: Array,
    second: Array,
    marks: Marks,
    rows: Sequence[int],
    *,
    title: str,
    names: tuple[str, str],
    thumbnails: Mapping[int, Image.Image] | None = None,
) -> go.Figure:
    """Draw where items lay on one map and lie on another that was laid on it; all others are faint.

    Args:
        first: ``(N, 2)`` places on the first map.
        second: ``(N, 2)`` places on the second, aligned with the first.
        marks: kind and hover text of the points.
        rows: the items whose way is drawn.
        title: what the figure shows.
        names: of the two maps.
        thumbnails: thumbnails of a few rows, drawn at their new places.
    """
    fig = figure(title, height=560)
    chosen = np.asarray(rows)
    old = Panel(fig, first, marks)
    new = Panel(fig, second, marks)
    new.draw_points(np.arange(len(second)), {"color": INK, "opacity": 0.18, "size": 5}, "all others")
    gap = np.full((len(chosen), 2), np.nan)
    x, y = np.stack([first[chosen], second[chosen], gap], 1).reshape(-1, 2).T
    line = {"color": INK, "width": 1.5}
    fig.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)
    old.draw_points(chosen, {**HOLLOW, "size": 9, "line": {"color": CATEGORIES[0], "width": 2}}, names[0])
    new.draw_points(chosen, {"color": CATEGORIES[3], "size": 10}, names[1])
    new.draw_thumbnails(thumbnails or {})
    return fig.update_xaxes(**HIDDEN).update_layout(hovermode="closest", margin=MARGIN)


def gap_profiles(by_run: Mapping[str, tuple[Array, Array]]) -> go.Figure:
    """Draw one panel a run: places ``(I,)`` of the images and ``(T,)`` of the captions along the line from
    the captions' centre to that of the images; 0 = half way.
    """
    gaps = []
    parts = {}
    for run, (images, captions) in by_run.items():
        gaps.append(f"{format_number(images.mean() - captions.mean(), 2)} for {run}")
        parts[run] = {"images": images, "captions": captions}
    edges = np.histogram_bin_edges(np.concatenate([*chain.from_iterable(by_run.values())]), 40)
    title = f"Along the modality gap: {', '.join(gaps)}"
    return distributions(parts, title=title, x="place along the gap, 0 = half way", items="kind", bins=edges)


def hubness(by_run: Mapping[str, tuple[Array, Array]], *, k: int) -> go.Figure:
    """Draw in how many result lists of length ``k`` each item stands, the most frequent first: the steeper
    the start, the stronger the hubs. ``by_run``: run -> counts ``(I,)`` of the images and ``(T,)`` of the
    captions.
    """
    most = ", ".join(f"{max(map(max, pair))} for {run}" for run, pair in by_run.items())
    names = ("images, in the lists of captions", "captions, in the lists of images")
    title = f"Hubs, lists that hold the most frequent item: {most}"
    fig = panel_figure(names, title, "", f"lists of {k} that hold the item", shared=False, spacing=0.1)
    dashes = cycle(("solid", "dash", "dot"))
    for (run, pair), colour, dash in zip(by_run.items(), cycle(CATEGORIES), dashes):
        line = {"color": colour, "dash": dash, "width": 2}
        for column, counts in enumerate(pair, 1):
            share = np.arange(1, len(counts) + 1) / len(counts)
            falling = -np.sort(-np.asarray(counts))
            fig.add_scatter(x=share, y=falling, mode="lines", line=line, **legend_entry(fig, run, column))
    return fig.update_xaxes(tickformat=".0%", title="share of the items").update_yaxes(rangemode="tozero")
