import pandas as pd
import pytest

from workbench.plots import comparison

SEEDS = pd.DataFrame(
    {
        "mean": [0.9, 0.6, 0.1], "low": [0.88, 0.4, float("nan")], "high": [0.92, 0.8, float("nan")], "start": 0.55,
        "seeds": [3, 3, 1], "verdict": ["above", "undecided", ""],
    },
    index=["b", "a <i>", "c"],
)  # fmt: skip


def test_every_objective_is_a_dot_with_its_interval_against_the_starting_point():
    fig = comparison.over_seeds(SEEDS, title="t", x="mAP@R")
    dots = {trace.y[0]: trace for trace in fig.data}
    assert set(dots) == {"b", "a &lt;i&gt;", "c"}
    assert dots["b"].x[0] == 0.9
    assert dots["b"].error_x.array[0] == pytest.approx(0.02)
    assert dots["a &lt;i&gt;"].error_x.arrayminus[0] == pytest.approx(0.2)
    assert dots["c"].error_x.array[0] == 0.0
    assert fig.layout.shapes[0].x0 == 0.55
    assert list(fig.layout.yaxis.categoryarray) == ["c", "a &lt;i&gt;", "b"]


def test_verdicts_differ_in_shape_as_well_as_in_colour():
    symbols = [symbol for name, (_, _, symbol) in comparison.VERDICTS.items() if name]
    assert len(set(symbols)) == len(symbols)


def test_without_a_starting_point_no_line_is_drawn():
    fig = comparison.over_seeds(SEEDS.assign(start=float("nan")), title="t", x="x")
    assert len(fig.layout.shapes) == 0


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="no objective"):
        comparison.over_seeds(SEEDS.iloc[:0], title="t", x="x")
