"""Figures of one experiment."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.views.plots.training import curves, first_answers

ROW = {"triplet": 0.5, "ditm": 0.25, "loss": 0.75, "seconds": 1.0}


def test_curves_show_every_term_their_sum_and_the_validation() -> None:
    rows = [{"epoch": epoch, "val/rsum": rsum, **ROW} for epoch, rsum in ((1.0, 2.0), (2.0, 3.0), (3.0, 1.0))]
    fig = curves(rows, kept=[2])
    assert [trace.name for trace in fig.data] == [
        "triplet",
        "ditm",
        "loss, their sum",
        "validation RSUM",
        "kept",
    ]
    assert list(fig.data[3].y) == [200.0, 300.0, 100.0]
    assert (fig.data[4].x[0], fig.data[4].y[0]) == (2.0, 300.0)


def test_a_single_term_is_its_own_sum() -> None:
    rows = [
        {"epoch": epoch, "nce": 0.5, "loss": 0.5, "val/rsum": 2.0, "seconds": 1.0} for epoch in (1.0, 2.0)
    ]
    assert [trace.name for trace in curves(rows).data] == ["nce", "validation RSUM", "kept"]


START = {"epoch": 0.0, "steps": 0.0, "val/rsum": 0.5, "val/exact:t2i/map_at_r": 0.04, "seconds": 0.2}
FIRST = {"epoch": 1.0, "steps": 9.0, "val/rsum": 2.0, "val/exact:t2i/map_at_r": 0.03, **ROW}


def test_one_epoch_is_a_line_from_the_start_and_bars_of_its_terms() -> None:
    fig = curves([START, FIRST], kept=[1])
    assert [(trace.type, trace.name, len(trace.x)) for trace in fig.data] == [
        ("bar", "triplet", 1), ("bar", "ditm", 1), ("scatter", "validation RSUM", 2), ("scatter", "kept", 1),
    ]  # fmt: skip


def test_what_chose_the_epoch_has_a_panel_of_its_own_and_its_ring() -> None:
    fig = curves([START, FIRST], select="exact:t2i/map_at_r", kept=[0])
    panel = [trace for trace in fig.data if trace.xaxis == "x3"]
    assert [(trace.name, list(trace.x)) for trace in panel] == [
        ("validation mAP@R, text to image, by the truth", [0.0, 1.0]), ("kept", [0.0]),
    ]  # fmt: skip
    assert [trace.name for trace in fig.data if trace.xaxis == "x2"] == ["validation RSUM"]


def test_no_epoch_has_no_curves() -> None:
    with pytest.raises(ValueError, match="epochs=0"):
        curves([])


def test_first_answers_add_up_to_one() -> None:
    fig = first_answers({"t2i": 0.6, "i2t": 0.7}, {"t2i": 0.9, "i2t": 0.95})
    # own 0.6, another true one 0.9 - 0.6, wrong 1 - 0.9
    assert [trace.x[0] for trace in fig.data] == pytest.approx([60, 30, 10])
    assert np.sum([trace.x for trace in fig.data], axis=0) == pytest.approx([100, 100])
