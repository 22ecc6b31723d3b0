"""What runs cost, as the run measured it and as it is measured now."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch

from workbench.experiment import compare
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


class Split:
    def __init__(self, images):
        self.image_ids, self.captions = ("i",) * images, ("c",) * 5 * images

    def first(self, images):
        return Split(min(images, len(self.image_ids)))


def space(folder=None, images=20):
    return SimpleNamespace(name="a", model=Model(), split=Split(images), folder=folder)


def trained(folder, clock, steps):
    history = [
        {"epoch": float(epoch), "loss": 1.0, "val/rsum": 2.0, "seconds": seconds}
        for epoch, seconds in enumerate(clock, 1)
    ]
    checkpoint.write(folder / checkpoint.LAST, {"x": torch.zeros(1)}, {"history": history, "step": steps})
    return folder


def test_a_step_is_the_time_of_training_over_its_steps(tmp_path):
    found = compare.costs([space(trained(tmp_path, [3.0, 6.0], 12))]).loc["a"]
    assert found["step"] == 500.0  # 6 s over 12 steps
    assert found["image"] >= 0
    assert found["caption"] >= 0


def test_epoch_0_is_no_part_of_a_step(tmp_path):
    rows = [{"epoch": 0.0, "seconds": 2.0}, {"epoch": 1.0, "seconds": 8.0}]
    checkpoint.write(tmp_path / checkpoint.LAST, {"x": torch.zeros(1)}, {"history": rows, "step": 12})
    assert compare.costs([space(tmp_path)]).loc["a", "step"] == 500.0  # 6 s over 12 steps


def test_a_model_without_a_run_and_a_resumed_run_have_no_step(tmp_path):
    resumed = compare.costs([space(trained(tmp_path, [6.0, 2.0], 12))])["step"]
    assert math.isnan(resumed["a"])
    assert math.isnan(compare.costs([space()])["step"]["a"])


def test_so_many_items_are_embedded_so_often():
    one = space()
    compare.costs([one], items=8, repeats=2)
    assert (one.model.images, one.model.captions) == (16, 16)
