import numpy as np
from numpy.testing import assert_allclose
from PIL import Image

from workbench.records import Measurement, MetricKey
from workbench.views.plots import hierarchy
from workbench.views.plots.theme import LEVELS, level_colour

LEVEL = np.array([1, 1, 1, 1, 4, 4])
VALUES = np.array([0.0, 0.0, 1.0, 2.0, 1.0, 2.0])


def test_each_level_has_a_histogram_whose_shares_sum_to_one_and_a_line_at_its_median():
    fig = hierarchy.histogram_by_level({"one": VALUES}, LEVEL, title="t", x="x", bins=4)
    assert [trace.name for trace in fig.data] == ["level 1, generic", "level 4, specific"]
    # bins of half a unit from 0 to 2, and the closing 0 of the outline
    assert fig.data[0].y.tolist() == [0.5, 0.0, 0.25, 0.25, 0.0]
    assert_allclose([sum(trace.y) for trace in fig.data], 1.0)
    assert [shape.x0 for shape in fig.layout.shapes] == [0.5, 1.5]


def test_a_box_stands_for_each_level():
    fig = hierarchy.boxes_by_level({"one": VALUES}, LEVEL, title="t", y="y")
    assert [trace.median for trace in fig.data] == [(0.5,), (1.5,)]
    assert [list(trace.x) for trace in fig.data] == [["1"], ["4"]]


def test_recall_bars_carry_their_intervals():
    found = [
        Measurement(MetricKey("hierarcaps_radius_R"), 0.7),
        Measurement(MetricKey("hierarcaps_radius_R_level", k=1), 0.5, 0.4, 0.65),
        Measurement(MetricKey("hierarcaps_radius_R_level", k=2), 0.8, 0.7, 0.9),
        Measurement(MetricKey("hierarcaps_traversal_R_level", k=1), 0.3),
    ]
    fig = hierarchy.recall_by_level({"a": found, "<b>": found[:2]})
    assert [note.text for note in fig.layout.annotations] == ["radius", "traversal"]
    radius, other, traversal = fig.data
    assert (radius.name, list(radius.x), list(radius.y)) == ("a", ["1", "2"], [50.0, 80.0])
    assert_allclose(radius.error_y.array, [15, 10])
    assert_allclose(radius.error_y.arrayminus, [10, 10])
    assert (other.name, list(other.x), list(other.y), other.xaxis) == ("&lt;b&gt;", ["1"], [50.0], "x")
    assert (list(traversal.y), list(traversal.error_y.array), traversal.xaxis) == ([30.0], [0.0], "x2")


def test_the_way_to_the_root_lists_its_texts_ends_at_the_root_and_fills_the_dots_of_its_own_chain():
    texts = ["a white rabbit", "a car", "an ear", "animal"]
    way = hierarchy.Path(Image.new("RGB", (300, 200)), texts, [4, 0, 0, 1], [True, False, True, True])
    fig = hierarchy.traversal([way, hierarchy.Path(None, ["plant"], [1], [True])])
    assert [text.strip() for text in fig.data[0].text] == [*texts, "root: the empty text"]
    assert fig.data[0].marker.color[:4] == (LEVELS[3], hierarchy.CLEAR, hierarchy.CLEAR, LEVELS[0])
    assert fig.data[0].marker.symbol == ("circle", "circle", "diamond", "circle", "square")
    assert len(fig.layout.images) == 1
    assert fig.layout.images[0].source.startswith("data:image/png;base64,")
    assert max(fig.data[1].y) < min(fig.data[0].y)


def test_runs_stand_side_by_side_under_common_bins_and_below_their_image():
    two = {"a": VALUES, "b": VALUES + 2}
    fig = hierarchy.histogram_by_level(two, LEVEL, title="t", x="x", bins=4)
    assert [(trace.xaxis, trace.showlegend) for trace in fig.data] == [
        ("x", True), ("x", True), ("x2", False), ("x2", False),
    ]  # fmt: skip
    assert [trace.x.tolist() for trace in fig.data] == [[0.0, 1.0, 2.0, 3.0, 4.0]] * 4
    assert [(shape.x0, shape.xref) for shape in fig.layout.shapes] == [
        (0.5, "x"), (1.5, "x"), (2.5, "x2"), (3.5, "x2"),
    ]  # fmt: skip
    ways = [hierarchy.Path(None, ["plant"], [1], [True], run) for run in ("one", "<i>")]
    assert [note.text for note in hierarchy.traversal(ways).layout.annotations] == [
        "<b>one</b>", "<b>&lt;i&gt;</b>",
    ]  # fmt: skip


def test_texts_cannot_bring_markup_or_mathematics_into_a_figure():
    fig = hierarchy.traversal([hierarchy.Path(None, ["<a href='x'>y</a> $z$"], [0], [False])])
    assert fig.data[0].text[0].strip() == "&lt;a href=&#x27;x&#x27;&gt;y&lt;/a&gt; &#36;z&#36;"


def test_a_long_text_is_wrapped_and_gets_room():
    fig = hierarchy.traversal([hierarchy.Path(None, ["word " * 40, "short"], [0, 0], [False, False])])
    assert fig.data[0].text[0].count("<br>") == 2
    gaps = -np.diff(fig.data[0].y)
    assert gaps[0] > gaps[1] > 0


def test_the_colours_of_the_levels_stretch_over_as_many_levels_as_there_are():
    assert [level_colour(level, (1, 2, 3, 4)) for level in (1, 2, 3, 4)] == list(LEVELS)
    assert [level_colour(level, (0, 7)) for level in (0, 7)] == [LEVELS[0], LEVELS[3]]
    assert level_colour(2, (2,)) == LEVELS[0]


def test_shares_by_value_stand_at_the_means_of_groups_of_equal_size_with_wilson_intervals():
    answered = {
        "own": np.array([False, False, True, False]),
        "exact <b>": np.array([True, True, True, False]),
    }
    fig = hierarchy.share_by_value(
        answered, np.array([0.4, 0.2, 0.8, 1.0]), title="t", x="x", y="y", groups=2
    )
    assert [trace.name for trace in fig.data] == ["annotated pairs", "exact &lt;b&gt;"]
    assert_allclose(fig.data[0].x, [0.3, 0.9])
    assert_allclose(fig.data[0].y, [0, 50])
    assert_allclose(fig.data[1].y, [100, 50])
    # Wilson, 0 of 2: from 0 to z^2 / (2 + z^2) = 3.8416 / 5.8416; 1 of 2: 0.5 -+ z sqrt(1/8 + z^2/16) / (1 +
    # z^2/2), z = 1.96
    assert_allclose(fig.data[0].error_y.array[0], 65.7628, atol=1e-3)
    assert_allclose(fig.data[0].error_y.arrayminus, [0.0, 40.5471], atol=1e-3)


def test_equal_values_stay_in_one_group():
    fig = hierarchy.share_by_value(
        {"own": np.ones(4)}, np.array([1.0, 1.0, 1.0, 2.0]), title="t", x="x", y="y", groups=4
    )
    assert fig.data[0].hovertext == (
        "annotated pairs: 100.0 % of 3 captions",
        "annotated pairs: 100.0 % of 1 caption",
    )
    assert len(set(fig.data[0].x)) == len(fig.data[0].x)
