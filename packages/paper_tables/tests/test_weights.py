"""What counts in an image and in its captions: as bright, as shaded, and where a run does not say it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from paper_tables import weights
from PIL import Image

from workbench.runs import Config
from workbench.runs.train import train

WHITE = Image.new("RGB", (40, 20), "white")
HALVES = np.array([[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]])


def test_a_region_is_as_bright_as_it_counts_and_the_greater_of_two_is_seen():
    made = np.asarray(weights.darken_image(WHITE, np.array([0.2, 0.8]), HALVES, frames=False))
    # the least keeps a quarter of its light, the most all
    assert (made[:, :20] == 64).all()
    assert (made[:, 20:] == 255).all()
    whole = np.vstack([HALVES, [[0.0, 0.0, 1.0, 1.0]]])
    made = np.asarray(weights.darken_image(WHITE, np.array([0.1, 0.5, 0.3]), whole, frames=False))
    # half the spread: 1/4 + 3/4 * 1/2
    assert (made[:, :20] == 159).all()
    assert (made[:, 20:] == 255).all()


def test_frames_of_a_detector_stand_around_the_three_that_count_most():
    boxes = np.array([[0.0, 0.0, 0.2, 0.9], [0.2, 0.0, 0.4, 0.9], [0.4, 0.0, 0.6, 0.9], [0.6, 0.0, 0.9, 0.9]])
    made = weights.darken_image(WHITE, np.array([0.1, 0.4, 0.2, 0.3]), boxes, frames=True)
    frame = (230, 159, 0)
    assert [made.getpixel((x, 1)) == frame for x in (4, 12, 20, 30)] == [False, True, True, True]


def test_numbers_and_shades_stand_beside_the_image_and_a_run_without_weights_is_named():
    one = weights.PartWeights(
        "a <b>",
        WHITE,
        np.array([0.25, 0.75]),
        HALVES,
        False,
        [[("[start]", 0.2), ("<i>", 0.5), ("dog", 0.3)]],
    )
    page = weights.weight_sheet({"aahr": [one, replace(one, boxes=None)], "vsepp": []}, title="T")
    assert page.count("2 regions count 25.0 to") == 2
    assert page.count("where they lie is not known (region 2: 75.0 %, region 1: 25.0 %)") == 1
    shaded = re.findall(r'title="([\d.]+) %" style="background: rgba\(0, 114, 178, ([\d.]+)\)">(.*?)<', page)
    assert shaded[:3] == [("20.0", "0.00", "[start]"), ("50.0", "0.60", "&lt;i&gt;"), ("30.0", "0.20", "dog")]
    assert "Without weights of regions and words: vsepp." in page
    assert "image a &lt;b&gt;" in page


@pytest.fixture(scope="module")
def trained():
    few = {"train_images": 16, "val_images": 8, "test_images": 8, "epochs": 0, "device": "cpu"}
    return train(Config(objective="aahr", **few), progress=False)


def test_a_run_of_aahr_says_what_counts_in_each_cell_and_word(trained):
    (one,) = weights.weights_of_run(trained, [2])
    own = np.flatnonzero(trained.split.own == 2).tolist()
    assert one.image == trained.split.image_ids[2]
    assert len(one.captions) == len(own)
    assert one.regions.sum() == pytest.approx(1, abs=1e-5)
    for said in one.captions:
        assert (said[0][0], said[-1][0]) == ("[start]", "[end]")
        assert sum(weight for _, weight in said) == pytest.approx(1, abs=1e-5)
    # six rows of six cells of the backbone of the embedded world, row by row
    assert (one.boxes.shape, one.frames) == ((36, 4), False)
    corners = np.array([[0, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(one.boxes[[0, 1, 6]], np.hstack([corners, corners + 1]) / 6)


def test_boxes_come_with_region_features_and_paper_stands_in_for_a_photograph(trained):
    boxes = np.tile([0.1, 0.2, 0.3, 0.4], (36, 1))

    def gone(row):
        raise FileNotFoundError(row)

    split = replace(trained.split, open_boxes=lambda row: boxes, open_image=gone)
    model = replace(trained.model, features="")
    brought = replace(trained, split=split, load=lambda: (model, trained.image, trained.text))
    (one,) = weights.weights_of_run(brought, [0])
    assert (one.frames, one.boxes is boxes) == (True, True)
    assert one.photo.getpixel((5, 5)) == (200, 200, 200)


def test_parts_that_are_no_words_are_numbered(trained, monkeypatch):
    def none(self, captions):
        raise NotImplementedError

    monkeypatch.setattr(type(trained.model), "token_texts", none)
    (one,) = weights.weights_of_run(trained, [1])
    assert [word for word, _ in one.captions[0]][:2] == ["part 1", "part 2"]


def test_a_run_whose_encoders_pool_without_weights_says_nothing(trained):
    few = {"train_images": 16, "val_images": 8, "test_images": 8, "epochs": 0, "device": "cpu"}
    mean = {"image_encoder": {"fusion": {"pooling": "mean"}}}
    assert weights.weights_of_run(train(Config(objective="aahr", **few, **mean), progress=False), [0]) == []
    assert weights.weights_of_run(train(Config(objective="vsepp", **few), progress=False), [0]) == []
