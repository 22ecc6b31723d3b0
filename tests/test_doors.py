"""Every public function refuses an argument that it does not take by its own name, with the near one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import workbench as wb

EYE = np.eye(3)
FRAME = pd.DataFrame({"image": ["a.png", "b.png"], "caption": ["red", "blue"]})
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "load_data of a table": (lambda: wb.load_data(FRAME, rot="x"), "the table has no option 'rot'.* root?"),
    "load_data of a name": (
        lambda: wb.load_data("scenes", sizes=3),
        "'scenes' has no option 'sizes'.* size?",
    ),
    "load_data of nothing": (lambda: wb.load_data(), r"load_data\(\): missing a required argument: 'data'"),
    "open_model": (lambda: wb.open_model("scenes", pretraind="x"), "open_model.* pretrained?"),
    "evaluate": (lambda: wb.evaluate(images=EYE, texts=EYE, metric=["ndcg"]), "evaluate.* metrics?"),
    "train": (lambda: wb.train(wb.Config(), folders="x"), r"train\(\) takes no 'folders'; .* folder?"),
    "train of fields": (lambda: wb.train(objective="ditm"), r"train\(Config\(objective='ditm'\)\)"),
    "train of a mapping": (lambda: wb.train({"objectiv": "ditm"}), "no field 'objectiv'.* objective"),
    "compare": (lambda: wb.compare(key=["rsum"]), "compare.* keys?"),
    "errors": (lambda: wb.errors("x", judgement="own"), "errors.* judgements?"),
    "explore": (lambda: wb.explore("x", image="photos"), "explore.* images?"),
    "Explorer": (lambda: wb.Explorer([], grade="x"), "Explorer.* grades?"),
    "open_runs": (lambda: wb.open_runs(roots="x"), "open_runs.* root?"),
    "load_model": (lambda: wb.load_model(foldr="x"), "load_model.* folder?"),
    "prepare": (lambda: wb.runs.prepare(wb.Config(), progres=True), "prepare.* progress?"),
    "use_device": (lambda: wb.use_device(precison="x"), "use_device.* precision?"),
    "Config": (lambda: wb.Config(objectiv="ditm"), "no field 'objectiv'.* objective"),
}


class Encoder:
    def encode_image(self, images):
        return np.ones((len(images), 2))

    def encode_text(self, texts):
        return np.ones((len(texts), 2))


class Scorer:
    def __init__(self, shape=None):
        self.shape = shape

    def scores(self, images, texts):
        return np.ones(self.shape or (len(images), len(texts)))


class Swapped(Encoder):
    def scores(self, image):
        return image


def scenes() -> wb.Split:
    return wb.load_data("scenes", split="test", size=4)


MISTAKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "one text of the encoder": (lambda: wb.open_model("scenes", "scenes").embed_texts("a dog"), "a list"),
    "one text of an object": (lambda: wb.open_model(Encoder()).embed_texts("a dog"), "a list, .'a dog'."),
    "one text of a pair scorer": (lambda: wb.open_model(Scorer()).embed_texts("a dog"), "a list"),
    "one image": (lambda: wb.open_model(Encoder()).embed_images(Image.new("RGB", (4, 4))), "a list"),
    "one path": (lambda: wb.open_model(Scorer()).embed_images("a.png"), "a list"),
    "compare models": (lambda: wb.compare(Encoder(), Scorer()), "Encoder is no result; evaluate"),
    "compare a list of models": (lambda: wb.compare([Encoder()]), "Encoder is no result; evaluate"),
    "errors of models": (lambda: wb.errors(Encoder(), Scorer()), "Encoder is no result; evaluate"),
    "curves of a model": (lambda: wb.curves(Encoder()), "Encoder is no result; evaluate"),
    "numbers of a model": (lambda: wb.numbers(Encoder()), "Encoder is no result; evaluate"),
    "sheet of a model": (lambda: wb.sheet(Encoder()), "Encoder is no result; evaluate"),
    "first answers of a model": (lambda: wb.first_answers(Encoder()), "Encoder is no result; evaluate"),
    "differences of a model": (lambda: wb.differences(Encoder()), "compare"),
    "verdicts of a model": (lambda: wb.verdicts(Encoder()), "compare"),
    "explore data": (lambda: wb.explore(scenes()), "Split is no result; evaluate"),
    "open a result as a run": (lambda: wb.open_runs([EYE]), "ndarray is no name of a run"),
    "Explorer of a model": (lambda: wb.Explorer([Encoder()]), "Encoder is no result; evaluate"),
    "prepare a name": (lambda: wb.prepare("vsepp"), "objective='vsepp'"),
    "prepare a mapping": (lambda: wb.prepare({"objectiv": "ditm"}), "no field 'objectiv'.* objective"),
    "train a name": (lambda: wb.train("vsepp"), "objective='vsepp'"),
    "train an object": (lambda: wb.train(Encoder()), "Encoder is no configuration"),
    "a class": (lambda: wb.open_model(Encoder), r"Encoder is a class; .* Encoder\(\)"),
    "a class that scores": (lambda: wb.evaluate(Scorer, scenes()), r"give an object, Scorer\(\)"),
    "a matrix": (lambda: wb.evaluate(EYE, scenes()), "images= and texts="),
    "a function": (lambda: wb.evaluate(lambda images, texts: EYE, scenes()), r"score\(images, texts\)"),
    "data before the model": (lambda: wb.evaluate(scenes(), Encoder()), "model comes first"),
    "data alone as a model": (lambda: wb.evaluate(scenes(), "scenes"), "model comes first"),
    "scores without texts": (lambda: wb.evaluate(Swapped(), scenes()), "image.mean and text.mean"),
}


@pytest.mark.parametrize("name", MISTAKEN)
def test_what_is_mistaken_for_something_else_is_refused_with_what_to_give(name: str):
    call, message = MISTAKEN[name]
    with pytest.raises(TypeError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("shape", [(20, 4), (20,), (4, 20, 1)])
def test_scores_of_another_shape_are_told_the_shape_that_is_needed(shape: tuple[int, ...]):
    with pytest.raises(ValueError, match=r"\(1, 1\) is needed, \(I, T\)"):
        wb.evaluate(Scorer(shape), scenes())


def test_one_name_of_a_run_is_a_list_with_one_entry(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no run 'rl'"):
        wb.open_runs("rl", root=str(tmp_path))


def test_a_field_is_not_set_and_the_way_to_another_value_is_named():
    config = wb.Config()
    for section in (config, config.objective):
        with pytest.raises(AttributeError, match="replace") as raised:
            section.name = "vsepp"
        assert "\n" not in str(raised.value)


def test_an_object_is_explored_on_images_as_an_opened_model_is():
    assert wb.explore(Scorer(), images=scenes()).runs[0].name == "Scorer"


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_that_is_not_taken_is_refused_with_the_near_one(name: str):
    call, message = WRONG[name]
    with pytest.raises(TypeError, match=message) as raised:
        call()
    assert not any(inner in str(raised.value) for inner in ("held", "run()", "__init__", "use()"))


def test_the_images_of_a_table_lie_in_its_root(tmp_path: Path):
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (4, 4), colour).save(tmp_path / name)
    by_root, by_images = wb.load_data(FRAME, root=tmp_path), wb.load_data(FRAME, images=tmp_path)
    assert by_root.stamps().tolist() == by_images.stamps().tolist()
    with pytest.raises(ValueError, match="are one; give one of them"):
        wb.load_data(FRAME, root=tmp_path, images=tmp_path)
