"""Figures of one experiment."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from workbench.views.plots.training import curves, example, first_answers

ROW = {"triplet": 0.5, "ditm": 0.25, "loss": 0.75, "seconds": 1.0}


def test_curves_show_every_term_their_sum_and_the_validation() -> None:
    rows = [{"epoch": epoch, "val/rsum": rsum, **ROW} for epoch, rsum in ((1.0, 2.0), (2.0, 3.0), (3.0, 1.0))]
    fig = curves(rows)
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
    fig = curves([{"epoch": 1.0, "nce": 0.5, "loss": 0.5, "val/rsum": 2.0, "seconds": 1.0}])
    assert [trace.name for trace in fig.data] == ["nce", "validation RSUM", "kept"]


def test_no_epoch_has_no_curves() -> None:
    with pytest.raises(ValueError, match="epochs=0"):
        curves([])


def test_first_answers_add_up_to_one() -> None:
    fig = first_answers({"t2i": 0.6, "i2t": 0.7}, {"t2i": 0.9, "i2t": 0.95})
    # own 0.6, another true one 0.9 - 0.6, wrong 1 - 0.9
    assert [trace.x[0] for trace in fig.data] == pytest.approx([60, 30, 10])
    assert np.sum([trace.x for trace in fig.data], axis=0) == pytest.approx([100, 100])


def test_an_example_orders_captions_by_their_value_and_escapes_them() -> None:
    fig = example(Image.new("RGB", (8, 8)), ["<b> $5", "plain"], np.array([0.9, 0.1]), title="t", x="v")
    assert list(fig.data[0].y) == ["plain", "&lt;b&gt; &#36;5"]
    assert list(fig.data[0].x) == [0.1, 0.9]
    assert len(fig.layout.images) == 1
