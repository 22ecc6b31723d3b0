"""What a training did, in sentences."""

from __future__ import annotations

from dataclasses import replace

from workbench.records import Measurement, MetricKey
from workbench.runs.history import training_summary

ROW = {"triplet": 0.5, "ditm": 0.25, "loss": 0.75, "seconds": 1.0}
START = {"epoch": 0.0, "steps": 0.0, "val/rsum": 0.5, "val/exact:t2i/map_at_r": 0.04, "seconds": 0.2}
FIRST = {"epoch": 1.0, "steps": 9.0, "val/rsum": 2.0, "val/exact:t2i/map_at_r": 0.03, **ROW}


def test_a_sentence_says_which_epoch_is_kept_and_by_what() -> None:
    assert training_summary([START, FIRST], select="rsum", kept=[1]) == (
        "The weights are those of epoch 1 of 1, the best by validation rsum (200.0 of 600; 50.0 of 600 "
        "before training); 9 steps in 1 s."
    )
    assert training_summary([START, FIRST], select="exact:t2i/map_at_r", kept=[0]) == (
        "No epoch was better than the starting point by validation exact:t2i/map_at_r (4.0 percent), so the "
        "weights are those of epoch 0, the untrained model; 9 steps in 1 s. "
        "Validation rsum would keep epoch 1."
    )
    assert "the mean of those of epochs 1 to 2 of 2" in training_summary(
        [START, FIRST, {**FIRST, "epoch": 2.0}], select="rsum", kept=[1, 2]
    )
    assert "starting point" in training_summary([], select="rsum", kept=[])
    low = Measurement(MetricKey("rsum"), 0.5, 0.3, 0.7, face="sum", chance=0.6)
    told = training_summary([START, FIRST], select="rsum", kept=[1], measurements=[low])
    assert told.endswith("Not above chance: rsum is 50.0 (30.0 to 70.0) of 600, and a random order has 60.0.")
    high = replace(low, low=0.61)
    assert "chance" not in training_summary([START, FIRST], select="rsum", kept=[1], measurements=[high])
