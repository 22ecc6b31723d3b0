"""Maps of a space as figures: points in the colours and shapes of what is known of them, beside pictures of a
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
    entry,
    escape,
    figure,
    level_colour,
    lines,
    panels,
    wrapped,
)

Looks = Mapping[str, tuple[str, str]]
SHAPES = ("triangle-up", "square", "diamond", "cross", "x", "star", "pentagon", "hexagram")
# Beyond so many points a figure is drawn by WebGL, of which a page can hold a few figures only.
MANY, HIDDEN, MARGIN = 5000, {"visible": False}, {"l": 10, "r": 10, "b": 10, "t": 90}
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
    def numeric(self) -> bool:
        """Whether the values are a scale and not categories: a fraction among them, or more than eight
        numbers.
        """
        values = np.asarray(self.values)
        if not np.issubdtype(values.dtype, np.number):
            return False
        known = values[~np.isnan(values.astype(float))]
        return len(np.unique(known)) > len(SHAPES) or bool((known % 1).any())

    def categories(self) -> list[str]:
        """The values as names; missing ones are ``""``."""
        return ["" if one != one else one if isinstance(one, str) else str(int(one)) for one in self.values]

    def about(self, row: int) -> str:
        """The hover text of a point."""
        about, value = [self.kind[row], *wrapped(self.text[row], 60, 3)], self.values[row]
        if value == value:
            shown = value if isinstance(value, str) else format_number(value, 3 * bool(value % 1))
            about.append(f"{self.name}: {shown}")
        return lines([line for line in about if line])


def common_looks(marks: Sequence[Marks]) -> Looks:
    """Colour and shape of each category of all panels; a missing value is none."""
    known = {value for one in marks if not one.numeric for value in one.values if value == value}
    if known and not any(isinstance(value, str) for value in known):
        levels = sorted(int(value) for value in known)
        return {
            str(one): (level_colour(one, levels), SHAPES[i % len(SHAPES)]) for i, one in enumerate(levels)
        }
    # "image" first, and so in the first colour, as everywhere
    names = sorted(map(str, known), key=lambda name: (name != "image", name))
    return {
        name: (colour, "circle" if name == "image" else shape)
        for name, colour, shape in zip(names, cycle(CATEGORIES), cycle(SHAPES))
    }


def common_ends(marks: Sequence[Marks]) -> tuple[float, float]:
    """Ends of the common scale; a hundredth at the upper end is cut, so that single hubs leave colours for
    the others.
    """
    numbers = [value for one in marks if one.numeric for value in one.values] or [0.0]
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

    def categories(self, looks: Looks) -> None:
        """Draw all points, each category in its own look, the rarer ones on top; hollow where the value is
        missing. The legend keeps the order of the looks.
        """
        names = np.array(self.marks.categories())
        self._unknown(names == "")
        for name in sorted(looks, key=lambda one: -int(np.sum(names == one))):
            called, (colour, shape) = f"{self.marks.name} {name}" if name.isdigit() else name, looks[name]
            rank = 1000 + list(looks).index(name)
            self.put(np.flatnonzero(names == name), {"color": colour}, called, shape, legendrank=rank)

    def scale(self, ends: tuple[float, float]) -> None:
        """Draw all points in colours of a scale; hollow where the value is missing."""
        values = np.asarray(self.marks.values, dtype=float)
        self._unknown(np.isnan(values))
        self.put(np.flatnonzero(~np.isnan(values)), {"color": values, "coloraxis": "coloraxis"})
        self.fig.update_layout(coloraxis={
            "colorscale": RAMP, "cmin": ends[0], "cmax": ends[1],
            "colorbar": {"title": {"text": escape(self.marks.name)}, "thickness": 12, "len": 0.8,
                         "outlinewidth": 0, "x": 1},
        })  # fmt: skip

    def put(
        self, rows: Rows, look: Mapping[str, Any], name: str = "", shape: str = SHAPES[0], **trace: Any
    ) -> None:
        """Draw some points: captions in their shape, and images as dots on top, a trace each, since WebGL
        draws points of mixed shapes slowly. Without a ``name`` they are not in the legend.
        """
        draw = self.fig.add_scattergl if len(self.points) > MANY else self.fig.add_scatter
        is_image = np.array([self.marks.kind[row] == "image" for row in rows.tolist()], dtype=bool)
        for part, symbol, size in ((rows[~is_image], shape, 6), (rows[is_image], "circle", 8)):
            if len(part):
                own = {key: of[part] if isinstance(of, np.ndarray) else of for key, of in look.items()}
                draw(
                    x=self.points[part, 0], y=self.points[part, 1], mode="markers", hoverinfo="text",
                    marker={"size": size, "opacity": 0.8, "line": {"width": 0}, "symbol": symbol, **own},
                    hovertext=[self.marks.about(row) for row in part.tolist()],
                    **entry(self.fig, name, self.column), **trace,
                )  # fmt: skip

    def pictures(self, pictures: Mapping[int, Image.Image]) -> None:
        """Draw thumbnails beside the points of a few rows, and keep both axes to one scale."""
        axis, side = self.column or "", float(np.ptp(self.points, axis=0).max()) * 0.09
        images = [
            {"source": data_uri(image, 64), "x": x, "y": y, "sizex": side, "sizey": side, "xref": f"x{axis}",
             "yref": f"y{axis}", "xanchor": "center", "yanchor": "bottom"}
            for image, (x, y) in zip(pictures.values(), self.points[list(pictures)].astype(float).tolist())
        ]  # fmt: skip
        self.fig.update_layout({
            "images": [*self.fig.layout.images, *images],
            f"yaxis{axis}": {"scaleanchor": f"x{axis}", **HIDDEN},
        })  # fmt: skip

    def _unknown(self, missing: Array) -> None:
        rows = np.flatnonzero(missing)
        kinds = {self.marks.kind[row] for row in rows.tolist()}
        self.put(rows, HOLLOW, "image" if kinds == {"image"} else "unknown")


def side_by_side(
    maps: Mapping[str, Array],
    marks: Mapping[str, Marks],
    *,
    title: str,
    pictures: Mapping[int, Image.Image] | None = None,
    height: int = 460,
) -> go.Figure:
    """One panel a map of the same items.

    Args:
        maps: name -> ``(N, 2)`` places.
        marks: name -> what is known of the points there; categories of one name share colour and legend.
        title: what the figure shows.
        pictures: thumbnails of a few rows, drawn in each panel beside their points.
        height: in pixels.
    """
    several = len(maps) > 1
    fig = panels(list(maps), title, "", "", shared=False) if several else figure(title)
    looks, ends = common_looks(list(marks.values())), common_ends(list(marks.values()))
    for column, (name, points) in enumerate(maps.items(), 1):
        panel = Panel(fig, points, marks[name], column if several else None)
        if marks[name].numeric:
            panel.scale(ends)
        else:
            panel.categories(looks)
        panel.pictures(pictures or {})
    return fig.update_xaxes(**HIDDEN).update_layout(
        height=height, hovermode="closest", margin=MARGIN,
        legend={"y": -0.02, "yanchor": "top", "itemsizing": "constant"},
    )  # fmt: skip


def moved(
    first: Array,
    second: Array,
    marks: Marks,
    rows: Sequence[int],
    *,
    title: str,
    names: tuple[str, str],
    pictures: Mapping[int, Image.Image] | None = None,
) -> go.Figure:
    """Where items lay on one map and lie on another that was laid on it; all others are faint.

    Args:
        first: ``(N, 2)`` places on the first map.
        second: ``(N, 2)`` places on the second, aligned with the first.
        marks: kind and hover text of the points.
        rows: the items whose way is drawn.
        title: what the figure shows.
        names: of the two maps.
        pictures: thumbnails of a few rows, drawn at their new places.
    """
    fig, chosen = figure(title, height=560), np.asarray(rows)
    old, new = Panel(fig, first, marks), Panel(fig, second, marks)
    new.put(np.arange(len(second)), {"color": INK, "opacity": 0.18, "size": 5}, "all others")
    x, y = np.stack([first[chosen], second[chosen], np.full((len(chosen), 2), np.nan)], 1).reshape(-1, 2).T
    fig.add_scatter(
        x=x, y=y, mode="lines", line={"color": INK, "width": 1.5}, hoverinfo="skip", showlegend=False
    )
    old.put(chosen, {**HOLLOW, "size": 9, "line": {"color": CATEGORIES[0], "width": 2}}, names[0])
    new.put(chosen, {"color": CATEGORIES[3], "size": 10}, names[1])
    new.pictures(pictures or {})
    return fig.update_xaxes(**HIDDEN).update_layout(hovermode="closest", margin=MARGIN)


def along_gap(by_run: Mapping[str, tuple[Array, Array]]) -> go.Figure:
    """One panel a run: places ``(I,)`` of the images and ``(T,)`` of the captions along the line from the
    captions' centre to that of the images; 0 = half way.
    """
    gaps = [f"{format_number(of[0].mean() - of[1].mean(), 2)} for {run}" for run, of in by_run.items()]
    edges = np.histogram_bin_edges(np.concatenate([*chain.from_iterable(by_run.values())]), 40)
    return distributions(
        {run: {"images": images, "captions": captions} for run, (images, captions) in by_run.items()},
        title=f"Along the modality gap: {', '.join(gaps)}", x="place along the gap, 0 = half way", of="kind",
        bins=edges,
    )  # fmt: skip


def hubness(by_run: Mapping[str, tuple[Array, Array]], *, k: int) -> go.Figure:
    """In how many result lists of length ``k`` each item stands, the most frequent first: the steeper the
    start, the stronger the hubs. ``by_run``: run -> counts ``(I,)`` of the images and ``(T,)`` of the
    captions.
    """
    most = ", ".join(f"{max(map(max, of))} for {run}" for run, of in by_run.items())
    fig = panels(
        ("images, in the lists of captions", "captions, in the lists of images"),
        f"Hubs, lists that hold the most frequent item: {most}", "",
        f"lists of {k} that hold the item", shared=False, spacing=0.1,
    )  # fmt: skip
    dashes = cycle(("solid", "dash", "dot"))
    for (run, pair), colour, dash in zip(by_run.items(), cycle(CATEGORIES), dashes):
        for column, counts in enumerate(pair, 1):
            fig.add_scatter(
                x=np.arange(1, len(counts) + 1) / len(counts), y=-np.sort(-np.asarray(counts)), mode="lines",
                line={"color": colour, "dash": dash, "width": 2}, **entry(fig, run, column),
            )  # fmt: skip
    return fig.update_xaxes(tickformat=".0%", title="share of the items").update_yaxes(rangemode="tozero")
