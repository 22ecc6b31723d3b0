import numpy as np
import pandas as pd
import pytest

from workbench.views.plots import comparison

SEEDS = pd.DataFrame(
    {
        "mean": [0.9, 0.6, 0.1], "low": [0.88, 0.4, float("nan")], "high": [0.92, 0.8, float("nan")],
        "seeds": [3, 3, 1],
    },
    index=["b", "a <i>", "c"],
)  # fmt: skip


def test_every_objective_is_a_dot_with_its_interval_against_lines():
    fig = comparison.over_seeds(SEEDS, title="t", x="mAP@R", lines={"starting point": 0.55})
    (dots,) = fig.data
    assert dots.y == ("b", "a &lt;i&gt;", "c")
    assert dots.x[0] == 90.0
    assert dots.error_x.array[0] == pytest.approx(2.0)
    assert dots.error_x.arrayminus[1] == pytest.approx(20.0)
    assert dots.error_x.array[2] == 0.0
    assert fig.layout.shapes[0].x0 == 55.0
    assert list(fig.layout.yaxis.categoryarray) == ["c", "a &lt;i&gt;", "b"]


def test_without_lines_none_is_drawn():
    fig = comparison.over_seeds(SEEDS, title="t", x="x")
    assert len(fig.layout.shapes) == 0


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="no objective"):
        comparison.over_seeds(SEEDS.iloc[:0], title="t", x="x")


CHOICES = pd.DataFrame(
    {
        "chosen": ["a", "a", "b", "c"], "tau": [1.0, 0.9, -0.2, 0.4], "truth": [0.7, 0.7, 0.6, 0.4],
        "lost": [0.0, 0.0, 0.1, 0.3], "among": 3,
    },
    index=["exact:i2t/map_at_r", "graded:i2t/ndcg", "t2i/R@1", "rsum"],
)  # fmt: skip


def test_what_each_number_would_choose_is_said_dearest_first():
    said = comparison.chosen(CHOICES, "exact:i2t/map_at_r")
    assert "chooses a: 70.0 percent." in said
    first = "`rsum` would choose c, with 40.0 percent: a loss of 30 "
    assert said.index(first) < said.index("`t2i/R@1` would choose b")
    assert "`graded:i2t/ndcg` orders the 3 ways of training most like the truth" in said
    assert "`t2i/R@1` orders them least like it (-0.200)" in said
    pairs = pd.DataFrame({"objective": ["a", "b"], "against": ["b", "c"], "apart": [False, False]})
    assert "70.0 percent. 1 other does not differ from it significantly." in comparison.chosen(
        CHOICES, "exact:i2t/map_at_r", pairs
    )
    same = comparison.chosen(CHOICES.assign(chosen="a", truth=0.7, lost=0.0), "exact:i2t/map_at_r")
    assert "Every other number chooses the same" in same
    columns = comparison.choosing(CHOICES)
    assert [column[-1] for column in columns.values()] == ["rsum", "c", "0.400", "40.0", "30.0"]


def test_pairs_told_apart_and_components_that_help_or_harm_are_said():
    pairs = pd.DataFrame({"apart": [True, False, True]})
    assert comparison.told_apart(pairs, "rsum").startswith("By `rsum`, 2 of 3 pairs")
    rows = pd.DataFrame(
        {
            "objective": ["a", "b", "c"],
            "component": ["x", "y", "z"],
            "difference": [0.1, -0.02, 0.0],
            "verdict": ["helps", "harms", "undecided"],
        }
    )
    assert comparison.helped(rows, "k") == (
        "By `k`, in percentage points: a's x (+10.0) helps. b's y (-2.0) harms. "
        "1 of 3 components is undecided."
    )
    assert "no component makes a significant difference" in comparison.helped(rows[2:], "k")


def test_a_table_over_seeds_has_a_row_an_objective_and_a_column_a_number():
    from workbench.metrics import seeds

    rows = [("b", 0, 0.2), ("b", 1, 0.4), ("a", 0, 0.5), ("a", 1, 0.7)]
    names = ["objective", "seed", "value"]
    made = [pd.DataFrame(rows, columns=names).assign(key=key) for key in ("t2i/R@1", "seconds")]
    both = pd.concat({"binary labels": seeds.seed_statistics(pd.concat(made))}, names=["positives"])
    found = comparison.by_objective(both, ["t2i/R@1", "seconds"])
    assert list(found) == ["positives", "objective", "t2i/R@1, percent", "seconds"]
    assert found["objective"] == ["a", "b"]
    assert found["t2i/R@1, percent"][0].startswith("60.0 (")
    assert found["seconds"] == ["1", "0"]


def test_a_table_of_components_has_signed_differences():
    row = {
        "objective": "a", "component": "x", "with": 0.5, "without": 0.4, "difference": 0.1, "low": 0.05,
        "high": 0.15, "p_holm": 0.01, "verdict": "helps",
    }  # fmt: skip
    assert [column[0] for column in comparison.component_rows(pd.DataFrame([row])).values()] == [
        "a", "x", "50.0", "40.0", "+10.0 (+5.0 to +15.0)", "helps",
    ]  # fmt: skip


DIFFERENCES = pd.DataFrame(
    {
        "key": ["rsum", "rsum", "t2i/R@1"], "run": ["a <i>", "b", "b"], "value": [0.2, -0.1, 0.0],
        "low": [0.1, -0.3, None], "high": [0.3, 0.1, None], "face": ["sum", "sum", "share"],
        "verdict": ["better", "undecided", "undecided"], "mark": ["▲", "?", "?"],
        "p_holm": [0.01, 0.4, 1.0], "wins": [9, 2, 0], "losses": [1, 4, 0],
    },
)  # fmt: skip


def test_differences_have_a_panel_for_each_number_and_tell_runs_apart_by_their_mark():
    fig = comparison.differences(DIFFERENCES, against="start")
    told, undecided, other = fig.data
    assert (list(told.y), told.marker.symbol, told.error_x.array[0]) == (
        ["a &lt;i&gt;"],
        "triangle-up",
        pytest.approx(10.0),
    )
    assert (list(undecided.y), undecided.marker.symbol, undecided.error_x.arrayminus[0]) == (
        ["b"],
        "circle-open",
        pytest.approx(20.0),
    )
    assert (other.xaxis, other.error_x.array[0]) == ("x2", 0.0)
    assert "▲ better than start; sign test: p (Holm) 0.010, better on 9, worse on 1" in told.hovertext[0]
    assert [shape.x0 for shape in fig.layout.shapes] == [0, 0]


def test_a_single_run_has_no_difference_to_draw():
    with pytest.raises(ValueError, match="no second run"):
        comparison.differences(DIFFERENCES.iloc[:0], against="a")


def test_learning_curves_are_in_one_unit_and_leave_out_what_was_not_trained():
    histories = {
        "a": [{"epoch": 1.0, "loss": 4.0, "val/rsum": 2.0}, {"epoch": 2.0, "loss": 1.0, "val/rsum": 3.0}],
        "start": [],
    }
    rsum, loss = comparison.learning_curves(histories).data
    assert (rsum.name, list(rsum.y)) == ("a", [200.0, 300.0])
    assert list(loss.y) == [1.0, 0.25]
    with pytest.raises(ValueError, match="none of the runs has been trained"):
        comparison.learning_curves({"start": []})


def test_learning_curves_begin_before_training_and_a_single_epoch_has_no_course_of_its_loss():
    start, first = {"epoch": 0.0, "val/rsum": 1.0}, {"epoch": 1.0, "loss": 4.0, "val/rsum": 2.0}
    (rsum,) = comparison.learning_curves({"a": [start, first]}).data
    assert (list(rsum.x), list(rsum.y)) == ([0.0, 1.0], [100.0, 200.0])
    _, loss = comparison.learning_curves({"a": [start, first, {**first, "epoch": 2.0, "loss": 1.0}]}).data
    assert (list(loss.x), list(loss.y)) == ([1.0, 2.0], [1.0, 0.25])


def test_distances_have_a_panel_a_run_and_common_bins_from_0_to_2():
    apart = {"two images": np.array([0.5, 1.5]), "two captions": np.array([1.999])}
    fig = comparison.distances({"<b>": apart, "b": apart}, images=1000)
    assert [note.text for note in fig.layout.annotations] == ["&lt;b&gt;", "b"]
    first, second = fig.data[:2]
    assert (first.name, first.y[20], first.y[60], sum(first.y)) == ("two images", 0.5, 0.5, 1.0)
    assert (second.y[79], len(second.x), second.x[-1]) == (1.0, 81, 2.0)
    assert "1,000 images" in fig.layout.title.text


def test_speed_leaves_out_a_cost_that_nobody_knows():
    table = pd.DataFrame(
        {"value": [2.0], "low": [1.5], "high": [3.0], "step": [float("nan")], "image": [7.0]}, index=["a"]
    )
    (point,) = comparison.speed(table, {"step": "a step", "image": "an image"}, y="rsum").data
    assert (point.x[0], point.y[0], point.error_y.array[0], point.error_y.arrayminus[0]) == (
        7.0,
        200.0,
        100.0,
        50.0,
    )
    four = table.assign(step=1.0, caption=2.0, retrieval=3.0)
    points = comparison.speed(
        four, {name: name for name in ("step", "image", "caption", "retrieval")}, y="rsum"
    )
    assert [(point.x[0], point.xaxis) for point in points.data] == [
        (1.0, "x"), (7.0, "x2"), (2.0, "x3"), (3.0, "x4"),
    ]  # fmt: skip
    assert points.layout.xaxis3.domain == points.layout.xaxis.domain
    with pytest.raises(ValueError, match="no cost is known"):
        comparison.speed(table, {"step": "a step"}, y="rsum")
