import pandas as pd
import pytest

from workbench.views.plots import comparison

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
