"""What runs cost, as the run measured it and as it is measured now; distances between images and captions."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from paper_tables import costs, distances

from workbench.training import checkpoint


class Model:
    """Counts what it embeds."""

    def __init__(self):
        self.images, self.captions = 0, 0

    def source(self, split, *, every_signal):
        return split

    def embed_images_of(self, source):
        self.images += len(source.image_ids)

    def embed_texts(self, captions):
        self.captions += len(captions)

    def scores(self, image, text):
        return np.zeros((2, 1))


class Split:
    def __init__(self, images):
        self.image_ids, self.captions = ("i",) * images, ("c",) * 5 * images

    def first(self, images):
        return Split(min(images, len(self.image_ids)))


def space(folder=None, images=20):
    return SimpleNamespace(name="a", model=Model(), split=Split(images), folder=folder, image=None)


def trained(folder, clock, steps):
    history = [
        {"epoch": float(epoch), "loss": 1.0, "val/rsum": 2.0, "seconds": seconds}
        for epoch, seconds in enumerate(clock, 1)
    ]
    checkpoint.write(folder / checkpoint.LAST, {"x": torch.zeros(1)}, {"history": history, "step": steps})
    return folder


def test_a_step_is_the_time_of_training_over_its_steps(tmp_path):
    found = costs.costs([space(trained(tmp_path, [3.0, 6.0], 12))]).loc["a"]
    assert found["step"] == 500.0  # 6 s over 12 steps
    assert found["image"] >= 0
    assert found["caption"] >= 0


def test_epoch_0_is_no_part_of_a_step(tmp_path):
    rows = [{"epoch": 0.0, "seconds": 2.0}, {"epoch": 1.0, "seconds": 8.0}]
    checkpoint.write(tmp_path / checkpoint.LAST, {"x": torch.zeros(1)}, {"history": rows, "step": 12})
    assert costs.costs([space(tmp_path)]).loc["a", "step"] == 500.0  # 6 s over 12 steps


def test_a_model_without_a_run_and_a_resumed_run_have_no_step(tmp_path):
    resumed = costs.costs([space(trained(tmp_path, [6.0, 2.0], 12))])["step"]
    assert math.isnan(resumed["a"])
    assert math.isnan(costs.costs([space()])["step"]["a"])


def test_so_many_items_are_embedded_so_often():
    one = space()
    costs.costs([one], items=8, repeats=2)
    # each caption of the batch is also asked alone
    assert (one.model.images, one.model.captions) == (16, 16 + 8)


def test_a_retrieval_lasts_as_long_as_its_median_caption(monkeypatch):
    clock = iter([3.0, 1.0, 8.0])
    monkeypatch.setattr(costs.timeit, "repeat", lambda *_, **__: [6.0])
    monkeypatch.setattr(costs.timeit, "timeit", lambda *_, **__: next(clock))
    found = costs.costs([space()], items=3).loc["a"]
    assert (found["image"], found["caption"], found["retrieval"]) == (2000.0, 2000.0, 3000.0)


def test_distances_stand_by_kind_of_pair_with_the_first_caption_of_an_image():
    image = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    text = torch.tensor([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0]])
    split = SimpleNamespace(own=np.array([0, 0, 1]))
    run = SimpleNamespace(image=SimpleNamespace(mean=image), text=SimpleNamespace(mean=text), split=split)
    found = {kind: values.round(6).tolist() for kind, values in distances.distances(run).items()}
    # right angles are the square root of 2 apart; caption 1 is the second of image 0 and does not count
    assert found == {
        "an image and its caption": [1.414214, 0.0],
        "an image and another's caption": [1.414214, 0.0],
        "two images": [1.414214],
        "two captions": [0.0],
    }


def test_distances_have_a_panel_a_run_and_common_bins_from_0_to_2():
    apart = {"two images": np.array([0.5, 1.5]), "two captions": np.array([1.999])}
    fig = distances.histograms({"<b>": apart, "b": apart}, images=1000)
    assert [note.text for note in fig.layout.annotations] == ["&lt;b&gt;", "b"]
    first, second = fig.data[:2]
    assert (first.name, first.y[20], first.y[60], sum(first.y)) == ("two images", 0.5, 0.5, 1.0)
    assert (second.y[79], len(second.x), second.x[-1]) == (1.0, 81, 2.0)
    assert "1,000 images" in fig.layout.title.text


def test_speed_leaves_out_a_cost_that_nobody_knows():
    table = pd.DataFrame(
        {"value": [2.0], "low": [1.5], "high": [3.0], "step": [float("nan")], "image": [7.0]}, index=["a"]
    )
    (point,) = costs.draw_speed(table, {"step": "a step", "image": "an image"}, y="rsum").data
    assert (point.x[0], point.y[0], point.error_y.array[0], point.error_y.arrayminus[0]) == (
        7.0,
        200.0,
        100.0,
        50.0,
    )
    four = table.assign(step=1.0, caption=2.0, retrieval=3.0)
    points = costs.draw_speed(
        four, {name: name for name in ("step", "image", "caption", "retrieval")}, y="rsum"
    )
    drawn = [(point.x[0], point.xaxis) for point in points.data]
    assert drawn == [(1.0, "x"), (7.0, "x2"), (2.0, "x3"), (3.0, "x4")]
    assert points.layout.xaxis3.domain == points.layout.xaxis.domain
    with pytest.raises(ValueError, match="no cost is known"):
        costs.draw_speed(table, {"step": "a step"}, y="rsum")
