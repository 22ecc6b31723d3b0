import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from workbench.records import Measurement, MetricKey
from workbench.views.plots import relevance
from workbench.views.plots.theme import CATEGORIES, INK

SIDES = ("i2t", "t2i")


def test_recall_falls_with_m_below_what_is_possible_and_binary_recall_is_flat():
    recall = {"<b>": {side: np.array([0.9, 0.4]) for side in SIDES}}
    hits = {"<b>": {side: np.array([0.9, 0.95]) for side in SIDES}}
    fig = relevance.recall_by_m(
        [1, 20], recall, {"<b>": dict.fromkeys(SIDES, 0.7)}, {"i2t": np.array([1.0, 0.5])}, hits=hits, k=10
    )
    by_name = {(trace.name, trace.xaxis): list(trace.y) for trace in fig.data}
    assert by_name["&lt;b&gt;, R@10", "x2"] == [70.0, 70.0]
    assert by_name["&lt;b&gt;, Semantic Recall", "x"] == [90.0, 40.0]
    assert by_name["most that is possible", "x"] == [100.0, 50.0]
    assert by_name["&lt;b&gt;, one of the m best", "x2"] == [90.0, 95.0]
    assert ("share of the m best by phi that are true", "x2") not in by_name
    left = relevance.recall_by_m([1, 20], recall, {}, {}, hits=hits, k=10, about=" without ground truth")
    assert {trace.name for trace in left.data} == {
        "&lt;b&gt;, Semantic Recall", "&lt;b&gt;, one of the m best", "most that is possible",
    }  # fmt: skip
    assert left.layout.title.text == "Recall at 10 without ground truth"


def test_labels_are_rings_and_truth_dots_joined_by_lines():
    own = pd.DataFrame({"a": [0.2, 0.4], "b": [0.3, 0.5]}, index=["i2t/R@1", "t2i/R@1"])
    fig = relevance.labels_against_truth(own, own + 0.1)
    first = [trace for trace in fig.data if trace.xaxis == "x" and trace.legendgroup == "a"]
    assert list(first[0].x[:2]) == [20.0, pytest.approx(30.0)]
    assert np.isnan(first[0].x[2])
    assert (first[1].marker.symbol, list(first[1].x)) == ("circle-open", [20.0])
    assert (first[2].marker.symbol, list(first[2].x)) == ("circle", [pytest.approx(30.0)])
    assert sum(bool(trace.showlegend) for trace in fig.data) == 2


def test_the_truth_is_drawn_in_ink_and_each_metric_with_its_interval():
    table = pd.DataFrame(
        {"tau": [1.0, 0.2], "low": [0.5, -0.4], "high": [1.0, 0.6]}, index=["i2t/truth", "i2t/R@1"]
    )
    fig = relevance.agreement(table, truth="truth")
    assert [trace.marker.color for trace in fig.data] == [INK, CATEGORIES[5]]
    assert [list(trace.y) for trace in fig.data] == [["truth"], ["R@1"]]
    assert_allclose([fig.data[1].error_x.array[0], fig.data[1].error_x.arrayminus[0]], [0.4, 0.6])


def test_a_metric_that_is_sure_of_the_opposite_is_orange():
    rows = [
        ("truth", "a", "b", 0.1, -0.1, 0.3),
        ("R@1", "a", "b", -0.2, -0.3, -0.1),
        ("truth", "b", "c", 0, 0, 0),
        ("R@1", "b", "c", 1, 0, 2),
    ]
    pairs = pd.DataFrame(rows, columns=["key", "better", "worse", "difference", "low", "high"])
    fig = relevance.differences(pairs.assign(key="t2i/" + pairs.key), truth="truth")
    assert [trace.marker.color for trace in fig.data] == [INK, CATEGORIES[3], INK, CATEGORIES[5]]
    assert [note.text for note in fig.layout.annotations[:2]] == ["a<br>less b", "b<br>less c"]
    assert "text to image" in fig.layout.title.text


def test_a_correlation_that_is_not_defined_leaves_a_gap():
    binary = [
        Measurement(MetricKey("pearson"), 0.7, 0.6, 0.8),
        Measurement(MetricKey("pearson", subset="without own"), np.nan),
    ]
    fig = relevance.correlations(
        {"binary": binary, "<i>": [Measurement(MetricKey("pearson"), 0.5, 0.4, 0.6)]}, title="t"
    )
    assert [trace.name for trace in fig.data] == ["all pairs", "without own pairs"]
    assert list(fig.data[0].y) == ["binary", "&lt;i&gt;"]
    assert_allclose(fig.data[0].error_x.array, 0.1)
    assert np.isnan(fig.data[1].x[0])


def test_two_verdicts_place_each_model_by_both_and_draw_the_list_for_all_queries() -> None:
    points = pd.DataFrame(
        {"group": ["labels", "truth"], "x": [4.5, 3.0], "x_low": [4.4, 2.9], "x_high": [4.6, 3.2]}
        | {"y": [0.2, 0.7], "y_low": [0.15, None], "y_high": [0.25, None]},
        index=["A", "B"],
    )
    fig = relevance.two_verdicts(points, title="t", x="RSUM", y="found", line=0.3)
    assert [(trace.x[0], trace.y[0], trace.text[0]) for trace in fig.data] == [(450, 20, "A"), (300, 70, "B")]
    assert fig.data[0].error_x.array[0] == pytest.approx(10)
    assert fig.layout.shapes[0].y0 == 30
    assert fig.layout.xaxis.range == (0, 600)
