"""Vectors that several data sets share: each image and each text is encoded once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmark_sets import vector_cache
from benchmark_sets.vector_cache import identify, image_keys, with_cached_vectors
from PIL import Image

import workbench as wb
from workbench.records import Embedding
from workbench.runs.encoder_model import EncoderModel


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


class Colours:
    """Vectors of images are their mean colour, those of texts their letters; it counts what it encodes."""

    identity = "colours 1"
    seen = 0

    def encode_image(self, images):
        self.seen += len(images)
        return np.array([np.asarray(image).mean(axis=(0, 1)) + 1 for image in images])

    def encode_text(self, texts):
        self.seen += len(texts)
        return np.array([[len(text), text.count("e") + 1, text.count("r")] for text in texts], float)


def photos(folder, *colours, name="photos"):
    (folder / name).mkdir()
    lines = ["file_name,caption"]
    for number, colour in enumerate(colours):
        Image.new("RGB", (8, 8), colour).save(folder / name / f"{number}.png")
        lines += [f"{number}.png,a {colour} square", f"{number}.png,a picture"]
    (folder / name / "captions.csv").write_text("\n".join(lines))
    return wb.load_data(str(folder / name))


def test_a_second_data_set_with_the_same_images_encodes_what_is_new_alone(folder):
    first = photos(folder, "red", "green", "blue")
    second = photos(folder, "blue", "white", "red", name="others")
    subject = Colours()
    model, vectors = with_cached_vectors(wb.open_model(subject))
    plain = wb.open_model(Colours())
    for split in (first, second, first):
        for side, expected in zip(model.embed(model.source(split)), plain.embed(plain.source(split))):
            torch.testing.assert_close(side.mean, expected.mean)
    assert vectors.encoded == {"image": 4, "text": 5 + 2}
    assert subject.seen == 11
    again, counted = with_cached_vectors(wb.open_model(Colours()))
    again.embed(again.source(second))
    assert counted.encoded == {"image": 0, "text": 0}
    assert counted.rate("image") is None


def test_an_object_that_cannot_be_told_from_another_encodes_everything(folder):
    class Unknown(Colours):
        identity = ""

    split = photos(folder, "red", "green")
    model, vectors = with_cached_vectors(wb.open_model(Unknown()))
    for _ in range(2):
        model.embed(model.source(split))
    assert vectors.encoded == {"image": 4, "text": 8}


def test_weights_preprocessing_and_prompts_each_make_another_model(monkeypatch):
    model = wb.open_model("scenes", "scenes", device="cpu")
    assert isinstance(model, EncoderModel)
    known = identify(model)
    assert known == identify(wb.open_model("scenes", "scenes", device="cpu"))
    transform = model.pair.image.transform
    darker = property(lambda self: lambda image: transform(image) // 2)
    monkeypatch.setattr(type(model.pair.image), "transform", darker)
    assert identify(model) != known
    monkeypatch.undo()
    with torch.no_grad():
        next(model.pair.parameters()).view(-1)[0] += 1e-4
    assert identify(model) != known
    colours = wb.open_model(Colours())
    prompted = wb.open_model(Colours(), prompts={"t2i": "find "})
    assert identify(colours)
    assert identify(prompted) != identify(colours)


def test_images_are_known_by_their_content_and_cut_ones_by_their_pixels(folder):
    first, second = photos(folder, "red", "green"), photos(folder, "green", name="others")
    assert image_keys(first)[1] == image_keys(second)[0]
    drawn = replace(first, stamp=None)
    keys = image_keys(drawn)
    assert len(set(keys)) == 2
    assert all(key.startswith("pixels (8, 8)") for key in keys)


def test_several_vectors_an_item_come_back_with_their_mask_and_are_compared_as_such(folder):
    class Parts(Colours):
        identity = "parts 1"

        def _parts(self, seeds, size):
            drawn = [np.random.default_rng(seed).normal(size=(size, 4)) for seed in seeds]
            parts = torch.nn.functional.normalize(torch.tensor(np.array(drawn)), dim=-1).float()
            mask = torch.ones(len(seeds), size, dtype=torch.bool)
            mask[:, -1] = False
            return Embedding(parts[:, 0], parts=parts, mask=mask)

        def encode_image(self, images):
            return self._parts([image.getpixel((0, 0)) for image in images], 3)

        def encode_text(self, texts):
            return self._parts([list(text.encode()) for text in texts], 5)

    split = photos(folder, "red", "green")
    plain = wb.evaluate(wb.open_model(Parts()), split, rounds=0)
    for _ in range(2):
        model, _ = with_cached_vectors(wb.open_model(Parts()))
        cached = wb.evaluate(model, split, rounds=0)
        assert {key: cached[key] for key in cached} == {key: plain[key] for key in plain}
        np.testing.assert_allclose(cached.scores, plain.scores, atol=1e-6)


def test_an_opened_run_is_measured_as_the_run_that_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = {"name": "scenes", "size": 64}
    wb.train(
        wb.Config(objective="infonce", data=data, epochs=0, metrics=("ndcg",), val_images=16, test_images=16),
        folder="runs/mine",
        progress=False,
    )
    named = wb.evaluate("runs/mine", data, rounds=0)
    opened = wb.evaluate(wb.open_model("runs/mine"), data, rounds=0)
    assert opened.run == named.run
    assert {key: opened[key] for key in opened} == {key: named[key] for key in named}
    assert vector_cache.identify(wb.open_model("runs/mine"))
