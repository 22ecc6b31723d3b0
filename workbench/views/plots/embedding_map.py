"""Maps of a space as figures: points in the colours and shapes of what is known of them, beside pictures of a
few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workbench.views.plots._map_drawing import HIDDEN, Marks, Panel, Points, common_ends, common_looks
from workbench.views.plots._theme import CATEGORIES, INK, escape, figure, panels

__all__ = ["Marks", "Points", "along_gap", "embedding_map", "hubness", "moved", "side_by_side"]


def embedding_map(
    points: Points,
    marks: Marks,
    *,
    title: str,
    pictures: Mapping[int, Image.Image] | None = None,
    height: int = 560,
) -> go.Figure:
    """One map.

    Args:
        points: ``(N, 2)`` places; the axes of a map have no unit and are left out.
        marks: what is known of the points.
        title: what the figure shows.
        pictures: thumbnails of a few rows, drawn beside their points.
        height: in pixels.
    """
    return side_by_side({title: points}, {title: marks}, title=title, pictures=pictures, height=height)


def side_by_side(
    maps: Mapping[str, Points],
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
    fig.update_layout(height=height, hovermode="closest", margin={"l": 10, "r": 10, "b": 10, "t": 90})
    fig.update_layout(legend={"y": -0.02, "yanchor": "top", "itemsizing": "constant"})
    return fig.update_xaxes(**HIDDEN)


def moved(
    first: Points,
    second: Points,
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
    gaps = np.full(len(chosen), np.nan)
    ways = np.stack([first[chosen], second[chosen], np.stack([gaps, gaps], 1)], axis=1).reshape(-1, 2)
    line = {"color": INK, "width": 1.5}
    fig.add_scatter(x=ways[:, 0], y=ways[:, 1], mode="lines", line=line, hoverinfo="skip", showlegend=False)
    hollow = {"color": "rgba(0, 0, 0, 0)", "size": 9, "line": {"color": CATEGORIES[0], "width": 2}}
    old.put(chosen, hollow, names[0])
    new.put(chosen, {"color": CATEGORIES[3], "size": 10}, names[1])
    new.pictures(pictures or {})
    fig.update_layout(hovermode="closest", margin={"l": 10, "r": 10, "b": 10, "t": 90})
    return fig.update_xaxes(**HIDDEN)


def along_gap(by_run: Mapping[str, tuple[Points, Points]], *, bins: int = 40) -> go.Figure:
    """One panel a run: where images and captions lie along the line from the captions' centre to that of the
    images.

    Args:
        by_run: run -> places ``(I,)`` of the images and ``(T,)`` of the captions; 0 = half way.
        bins: number of equal bins.
    """
    fig = panels(
        list(by_run), "Along the modality gap", "place along the gap, 0 = half way", "share of the kind"
    )
    edges = np.histogram_bin_edges(
        np.concatenate([values for pair in by_run.values() for values in pair]), bins
    )
    for column, pair in enumerate(by_run.values(), 1):
        for name, values, colour, dash in zip(
            ("images", "captions"), pair, CATEGORIES[:2], ("solid", "dash"), strict=True
        ):
            share = np.append(np.histogram(values, edges)[0] / len(values), 0.0)
            line = {"color": colour, "dash": dash, "shape": "hv", "width": 2}
            fig.add_scatter(
                x=edges,
                y=share,
                line=line,
                name=name,
                mode="lines",
                showlegend=column == 1,
                row=1,
                col=column,
            )
    return fig.update_yaxes(rangemode="tozero", tickformat=".0%")


def hubness(by_run: Mapping[str, tuple[Points, Points]], *, k: int) -> go.Figure:
    """In how many result lists each item stands, the most frequent first: the steeper the start, the stronger
    the hubs.

    Args:
        by_run: run -> counts ``(I,)`` of the images and ``(T,)`` of the captions.
        k: length of the lists.
    """
    fig = panels(("images, in the lists of captions", "captions, in the lists of images"), "Hubs", "share of the items",
                 f"lists of {k} that hold the item", shared=False, spacing=0.1)  # fmt: skip
    for (run, pair), colour, dash in zip(
        by_run.items(), cycle(CATEGORIES), cycle(("solid", "dash", "dot")), strict=False
    ):
        for column, counts in enumerate(pair, 1):
            line = {"color": colour, "dash": dash, "width": 2}
            place = {"showlegend": column == 1, "legendgroup": run, "row": 1, "col": column}
            x, y = np.arange(1, len(counts) + 1) / len(counts), -np.sort(-np.asarray(counts))
            fig.add_scatter(x=x, y=y, mode="lines", line=line, name=escape(run), **place)
    return fig.update_xaxes(tickformat=".0%", title="share of the items").update_yaxes(rangemode="tozero")
