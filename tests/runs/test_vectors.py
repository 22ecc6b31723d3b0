"""Vectors of a frozen encoder: made once, the same as those of a step, and refused when damaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.damage import KINDS, damage
from workbench import objectives
from workbench.cli import app
from workbench.encoders.towers import Towers
from workbench.io import cache_folder
from workbench.runs import Config, load_model, vectors
from workbench.runs.build import prepare
from workbench.runs.evaluate import evaluate
from workbench.runs.train import train

GUIDED = {
    "image_encoder": {
        "name": "multigrain",
        "base": "regions",
        "base_options": {"embed_dim": 16, "hidden_dim": 16},
        "text_base": "sequence",
        "text_base_options": {"features": "minilm-package", "word_dim": 384, "embed_dim": 16},
        "guide": "towers",
    },
    "text_encoder": "multigrain",
    "features": "scenes_backbone",
    "objective": "vsepp",
    "train_images": 12,
    "val_images": 6,
    "test_images": 8,
    "epochs": 2,
    "batch_size": 4,
    "captions_per_image": 2,
    "device": "cpu",
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def counted(monkeypatch):
    """How many images and captions frozen encoders have read."""
    asked = {"images": 0, "texts": 0}

    def counting(side, real):
        def read(self, batch):
            made = real(self, batch)
            asked[side] += len(made)
            return made

        return read

    for side in asked:
        method = f"encode_{side}"
        monkeypatch.setattr(Towers, method, counting(side, getattr(Towers, method)))
    return asked


def test_vectors_that_come_with_the_batch_are_those_of_the_guide():
    ready = prepare(Config(**GUIDED), progress=False)
    model, train = ready.model, ready.train
    plain = model.source(train.split)
    assert (set(plain.inputs), set(train.inputs)) == ({"regions", "pixels"}, {"regions", "vectors"})
    rows = np.arange(7)
    image, text = model.pair.image.eval(), model.pair.text.eval()
    torch.testing.assert_close(
        image.encode_images(train.image_batch(rows)).mean, image.encode_images(plain.image_batch(rows)).mean
    )
    torch.testing.assert_close(
        text.encode_texts(train.caption_batch(rows)).mean, text.encode_texts(plain.caption_batch(rows)).mean
    )


def test_a_run_and_the_next_ask_the_frozen_encoder_once(counted, tmp_path):
    result = train(Config(**GUIDED), progress=False)
    sizes = {"images": 12 + 6 + 8, "texts": 0}
    assert counted["images"] == sizes["images"]
    captions = counted["texts"]
    result.save(tmp_path / "run")
    train(Config(**GUIDED | {"objective": "infonce"}), progress=False)
    assert counted == {"images": sizes["images"], "texts": captions}
    # a saved model asks its own guide, and scores as it was measured
    again = load_model(tmp_path / "run")
    made = again.embed(again.source(result.split, every_signal=False))
    np.testing.assert_allclose(again.scores(*made), result.scores, atol=1e-5)


def test_other_weights_other_images_and_other_captions_have_other_vectors():
    ready = prepare(Config(**GUIDED), progress=False)
    model, pair, split = ready.model, ready.model.pair, ready.test.split

    def files():
        return {file.name for file in cache_folder().glob("vectors-*.npy")}

    def made(of):
        before = files()
        vectors.with_frozen_vectors(model.source(of, every_signal=False), pair, model.reads)
        return sorted(name.split("-")[1] for name in files() - before)

    assert made(split) == []
    assert made(replace(split, captions=("a dog", *split.captions[1:]))) == ["text"]
    ids = ("another", *split.image_ids[1:])
    assert made(replace(split, image_ids=ids)) == ["image"]
    with torch.no_grad():
        next(pair.image.guide.parameters()).view(-1)[0] += 1
    assert made(split) == ["image", "text"]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_vectors_are_made_again(kind):
    before = prepare(Config(**GUIDED), progress=False).test.inputs["vectors"](np.arange(8)).clone()
    for file in cache_folder().glob("vectors-image-*.npy"):
        damage(file, kind)
    with pytest.warns(UserWarning, match=r"vectors-image.*it is made again"):
        after = prepare(Config(**GUIDED), progress=False).test.inputs["vectors"](np.arange(8))
    assert torch.equal(before, after)


def test_mixed_images_are_read_by_the_guide_itself(monkeypatch):
    monkeypatch.setattr(objectives.member("vsepp"), "soft_labels", True)
    ready = prepare(Config(**GUIDED | {"mix": 0.5}), progress=False)
    assert (set(ready.train.inputs), set(ready.val.inputs)) == ({"regions", "pixels"}, {"regions", "vectors"})


def test_a_result_answers_as_a_mapping_of_labels_to_values():
    result = evaluate(images=np.eye(3), texts=np.eye(3), own=[0, 1, 2], rounds=0)
    assert "rsum" in result
    assert "rsumm" not in result
    assert 0 not in result
    assert list(result) == result.keys() == [m.label for m in result.measurements]
    assert dict(result)["t2i/R@1"] == result["t2i/R@1"] == 1.0
    with pytest.raises(KeyError, match=r"rsumm.*did you mean rsum"):
        result["rsumm"]


def test_vectors_of_every_type_are_compared_in_float32_and_the_page_of_evaluate_says_so():
    # in float64 the two directions differ; in float32 they are one, and a tie counts against the model
    images = np.array([[1.0, 0.0], [1.0, 1e-12]])
    for kind in ("float32", "float64"):
        assert evaluate(images=images.astype(kind), texts=images, own=[0, 1], rounds=0)["t2i/R@1"] == 0.0
    page = CliRunner().invoke(app, ["evaluate", "--help"]).output
    assert "float32" in page
    assert "float32" in (evaluate.__doc__ or "")
