"""Figures of maps."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from workbench.views.plots import embedding_map as plots

POINTS = np.random.default_rng(0).normal(size=(6, 2))
KIND = ["image", "image", "caption", "caption", "caption", "caption"]
TEXT = ["one\ntwo", "<b>x</b>", "a <script>alert(1)</script> & $x$", "dog", "ship " * 80, "tree"]


def one_map(points, marks, *, title):
    return plots.side_by_side({title: points}, {title: marks}, title=title)


def marks(values, name="level"):
    return plots.Marks(KIND, TEXT, values, name)


def test_each_category_has_a_colour_and_a_shape_of_its_own():
    fig = one_map(POINTS, marks([np.nan, np.nan, 1, 2, 3, 4]), title="map")
    named = {trace.name: trace.marker for trace in fig.data}
    assert list(named) == ["image", "level 1", "level 2", "level 3", "level 4"]
    assert len({marker.color for marker in named.values()}) == 5
    assert len({marker.symbol for marker in named.values()}) == 5
    assert named["image"].symbol == "circle"


def test_images_are_dots_within_a_category_that_holds_both():
    fig = one_map(POINTS, marks(["a", "b", "a", "b", "a", "b"], "cluster"), title="map")
    assert [(trace.name, trace.marker.symbol, trace.showlegend) for trace in fig.data] == [
        ("a", "triangle-up", True), ("a", "circle", False), ("b", "square", True), ("b", "circle", False),
    ]  # fmt: skip


def test_real_numbers_get_a_scale_and_missing_ones_are_hollow():
    fig = one_map(POINTS, marks([np.nan, np.nan, 0.1, 0.2, 0.3, 0.5], "descriptiveness"), title="map")
    hollow, scaled = fig.data
    assert (hollow.name, hollow.marker.color) == ("image", "rgba(0, 0, 0, 0)")
    assert fig.layout.coloraxis.colorbar.title.text == "descriptiveness"
    assert list(scaled.marker.color) == [0.1, 0.2, 0.3, 0.5]


def test_side_by_side_shares_looks_and_explains_them_once():
    of = {"one": marks(["a", "b", "a", "b", "a", "b"]), "<i>two</i>": marks(["b", "b", "c", "c", "c", "c"])}
    fig = plots.side_by_side(
        dict.fromkeys(of, POINTS), of, title="maps", thumbnails={0: Image.new("RGB", (9, 9))}
    )
    colour = {}
    for trace in fig.data:
        colour.setdefault(trace.name, set()).add(trace.marker.color)
    assert {name: len(colours) for name, colours in colour.items()} == {"a": 1, "b": 1, "c": 1}
    assert [(trace.name, trace.xaxis) for trace in fig.data if trace.showlegend] == [
        ("a", "x"), ("b", "x"), ("c", "x2"),
    ]  # fmt: skip
    assert "&lt;i&gt;two&lt;/i&gt;" in [note.text for note in fig.layout.annotations]
    assert len(fig.layout.images) == 2
    assert (fig.layout.yaxis.scaleanchor, fig.layout.yaxis2.scaleanchor) == ("x", "x2")


def test_captions_are_shown_as_text():
    fig = one_map(POINTS, marks(["<b>k</b>"] * 6, "<u>name</u>"), title="<h1>map</h1>")
    whole = fig.to_json()
    for markup in ("<script", "<b>", "<u>", "<h1>", "$x$", "\\u003cscript"):
        assert markup not in whole
    assert all(len(hover) < 600 for hover in fig.data[0].hovertext)


def test_the_way_of_each_moved_item_is_a_line_from_its_first_to_its_second_place():
    second = POINTS + 1
    fig = plots.moves_between(
        POINTS,
        second,
        marks(KIND, "kind"),
        [3, 0],
        title="moved",
        names=("one", "two"),
        thumbnails={0: Image.new("RGB", (9, 9))},
    )
    lines = next(trace for trace in fig.data if trace.mode == "lines")
    np.testing.assert_allclose(lines.x[:2], [POINTS[3, 0], second[3, 0]])
    assert np.isnan(lines.x[2])
    assert [trace.name for trace in fig.data if trace.showlegend] == ["all others", "one", "two"]


@pytest.mark.parametrize(("size", "kind"), [(6, "scatter"), (6000, "scattergl")])
def test_large_maps_are_drawn_by_webgl(size, kind):
    many = plots.Marks(["image"] * size, ["x"] * size, ["image"] * size, "kind")
    assert {trace.type for trace in one_map(np.zeros((size, 2)), many, title="map").data} == {kind}


def test_large_maps_have_one_shape_a_trace():
    kind = ["image"] * 1000 + ["caption"] * 5000
    fig = one_map(np.zeros((6000, 2)), plots.Marks(kind, kind, np.linspace(0, 1, 6000), "gap"), title="map")
    assert [(trace.marker.symbol, len(trace.x)) for trace in fig.data] == [
        ("triangle-up", 5000), ("circle", 1000),
    ]  # fmt: skip
    assert fig.data[1].marker.color[-1] == pytest.approx(999 / 5999)


def test_gap_and_hubs_have_one_line_a_run_and_kind():
    pair = np.array([0.1, 0.2, 0.3]), np.array([-0.1, 0.0])
    assert len(plots.gap_profiles({"one": pair, "two": pair}).data) == 4
    fig = plots.hubness(
        {"one": (np.array([0, 3, 1]), np.array([2, 2])), "two": (np.array([1, 1, 1]), np.array([2, 2]))}, k=3
    )
    assert [list(trace.y) for trace in fig.data][:2] == [[3, 1, 0], [2, 2]]
