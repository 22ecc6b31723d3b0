"""Classification: by hand, against scikit-learn, as recall, and the folders that it reads."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from benchmark_sets.classes import read_labelled, read_templates
from benchmark_sets.classification import class_vectors, classify, measure, probe
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, top_k_accuracy_score
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.records import Judgements

COLOURS = {"red": (200, 20, 20), "green": (20, 200, 20), "dark_blue": (20, 20, 120)}


class Colours:
    """Images are their mean colour, texts the colour that they name; a template adds a little of its own."""

    def encode_image(self, images):
        return np.array([np.asarray(image).mean(axis=(0, 1)) for image in images])

    def encode_text(self, texts):
        rows = []
        for text in texts:
            name = next(name for name in COLOURS if name.replace("_", " ") in text)
            rows.append(np.array(COLOURS[name]) + 10 * len(text.replace(name, "")))
        return np.array(rows, dtype=float)


def draw(place, part="", each=6):
    """A folder a class of plain images with noise, some of which look like another class."""
    rng = np.random.default_rng(len(part))
    for name, colour in COLOURS.items():
        folder = place / part / name
        folder.mkdir(parents=True)
        for n in range(each):
            pixels = np.clip(np.array(colour) + rng.normal(0, 60, 3) + np.zeros((8, 8, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{n}.png")
    return place


def test_each_image_has_the_class_of_the_nearest_text(tmp_path):
    data = read_labelled(draw(tmp_path), "test")
    assert data.classes == ("dark blue", "green", "red")
    model = wb.open_model(Colours())
    found = classify(model, data, ("a photo of a {}.",), rounds=100)
    images = Colours().encode_image([data.split.open_image(n) for n in range(18)])
    texts = Colours().encode_text([f"a photo of a {name}." for name in data.classes])
    cosines = (images / np.linalg.norm(images, axis=1, keepdims=True)) @ (
        texts / np.linalg.norm(texts, axis=1, keepdims=True)
    ).T
    assert found.chosen.tolist() == cosines.argmax(axis=1).tolist()
    numbers = {m.label: m for m in found.measurements}
    assert numbers["i2t/top@1"].value == pytest.approx((cosines.argmax(axis=1) == data.labels).mean())
    assert numbers["i2t/top@1"].chance == pytest.approx(1 / 3)
    assert numbers["i2t/top@1"].low < numbers["i2t/top@1"].value <= numbers["i2t/top@1"].high
    assert numbers["i2t/top@1"].unit == "images"


def test_numbers_are_those_of_scikit_learn_and_top_1_is_recall(tmp_path):
    data = read_labelled(draw(tmp_path), "test")
    rng = np.random.default_rng(0)
    data.labels = np.arange(18) % 12
    data.classes = tuple(map(str, range(12)))
    scores = rng.normal(size=(18, 12))
    scores[np.arange(18), data.labels] += 1.5
    numbers = {m.label: m.value for m in measure("m", scores, data, rounds=0).measurements}
    for k in (1, 5):
        expected = top_k_accuracy_score(data.labels, scores, k=k, labels=np.arange(12))
        assert numbers[f"i2t/top@{k}"] == pytest.approx(expected)
    balanced = balanced_accuracy_score(data.labels, scores.argmax(axis=1))
    assert numbers["i2t/mean_per_class"] == pytest.approx(balanced)
    right = Judgements("own", "class", scores.shape, np.arange(18), data.labels, np.ones(18))
    recall = evaluate(Evidence(scores, right, np.arange(12)), ["R"], rounds=0)
    assert numbers["i2t/top@1"] == pytest.approx(next(m.value for m in recall if m.label == "i2t/R@1"))


def test_several_templates_are_the_mean_of_their_unit_vectors():
    model, templates = wb.open_model(Colours()), ("a {}", "a photo of one {} thing")
    vectors = class_vectors(model, ["red", "green"], templates)
    each = [Colours().encode_text([template.format("red")])[0] for template in templates]
    mean = np.mean([vector / np.linalg.norm(vector) for vector in each], axis=0)
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), atol=1e-6)


class Digits:
    """Vectors of images are their pixels."""

    def encode_image(self, images):
        return np.array([np.asarray(image.convert("L")).ravel() / 255 for image in images])

    def encode_text(self, texts):
        return np.ones((len(texts), 64))


def write_digits(place, part, rows):
    digits = load_digits()
    for row in rows:
        folder = place / part / str(digits.target[row])
        folder.mkdir(parents=True, exist_ok=True)
        pixels = (digits.images[row] * 255 / 16).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{row:04d}.png")


def test_a_probe_has_the_accuracy_of_scikit_learn_with_the_strength_that_validation_chose(tmp_path):
    parts = {"train": range(200), "val": range(200, 260), "test": range(260, 360)}
    for part, rows in parts.items():
        write_digits(tmp_path, part, rows)
    model = wb.open_model(Digits())
    data = {part: read_labelled(tmp_path, part) for part in parts}
    found = probe(model, data["train"], data["test"], data["val"], rounds=0)
    vectors = {part: model.embed_images_of(model.source(data[part].split)).mean.numpy() for part in parts}
    best = (-1.0, 0.0)
    for c in np.logspace(-3, 3, 13):
        fitted = LogisticRegression(C=c, max_iter=2000).fit(vectors["train"], data["train"].labels)
        share = fitted.score(vectors["val"], data["val"].labels)
        if share > best[0]:
            best = (share, fitted.score(vectors["test"], data["test"].labels))
    assert found.measurements[0].label == "i2t/probe_top@1"
    assert found.measurements[0].value == pytest.approx(best[1])
    assert found.measurements[0].value > 0.8


def test_what_datasets_writes_is_read_by_its_column_of_labels(tmp_path):
    datasets = pytest.importorskip("datasets")
    images = [Image.new("RGB", (8, 8), colour) for colour in COLOURS.values()]
    features = {"img": datasets.Image(), "label": datasets.ClassLabel(names=list(COLOURS))}
    written = datasets.Dataset.from_dict(
        {"img": images, "label": [0, 1, 2]}, features=datasets.Features(features)
    )
    datasets.DatasetDict({"test": written}).save_to_disk(tmp_path / "d")
    data = read_labelled(tmp_path / "d", "test")
    assert data.classes == ("red", "green", "dark blue")
    assert data.labels.tolist() == [0, 1, 2]
    assert data.split.open_image(1).getpixel((0, 0)) == (20, 200, 20)
    with pytest.raises(FileNotFoundError, match="has no part 'train'; there is test"):
        read_labelled(tmp_path / "d", "train")
    with pytest.raises(ValueError, match="name the column of class labels; there is label"):
        read_labelled(tmp_path / "d", "test", column="labels")


@pytest.mark.parametrize(
    ("prepare", "classes", "message"),
    [
        (lambda place: (place / "a").mkdir(), (), "holds 1 folders of classes"),
        (lambda place: [(place / name).mkdir() for name in "ab"], (), "holds no image"),
        (draw, ("x", "y"), "holds 3 classes, and 2 names are given"),
    ],
)
def test_a_folder_that_cannot_be_read_is_named(prepare, classes, message, tmp_path):
    prepare(tmp_path)
    with pytest.raises(ValueError, match=message):
        read_labelled(tmp_path, "test", classes)


def test_templates_come_by_name_or_from_a_file_whose_lines_have_a_place_for_the_class(tmp_path):
    assert len(read_templates("seven")) == 7
    file = tmp_path / "templates.txt"
    file.write_text("a {}\na thing\n")
    with pytest.raises(ValueError, match=re.escape("line 2: 'a thing' has no {} for the class")):
        read_templates(str(file))
    with pytest.raises(FileNotFoundError, match="neither one of name, photo, seven nor a file"):
        read_templates("eighty")


GREY = """
import numpy as np

class Grey:
    def encode_image(self, images):
        return np.array([[np.asarray(image).mean(), 1.0] for image in images])
    def encode_text(self, texts):
        return np.array([[len(text), 1.0] for text in texts])
"""


def test_the_command_holds_each_model_against_the_first_and_writes_what_was_chosen(tmp_path, monkeypatch):
    (tmp_path / "grey_model.py").write_text(GREY)
    monkeypatch.chdir(tmp_path)
    split = wb.load_data("scenes", split="test", size=24)
    for row, graph in enumerate(split.image_graphs):
        for part in ("train", "val", "test"):
            folder = tmp_path / "d" / part / graph.objects[-1]
            folder.mkdir(parents=True, exist_ok=True)
            split.open_image(row).save(folder / f"{row}.png")
    words = ["classify", str(tmp_path / "d"), "--templates", "name", "--probe"]
    words += ["--model", "scenes:scenes", "--model", "grey_model:Grey"]
    done = CliRunner().invoke(app, [*words, "--root", str(tmp_path), "--rounds", "50"])
    assert done.exit_code == 0, done.output
    assert "i2t/top@1: grey_model:Grey - scenes:scenes is " in done.output
    assert "i2t/probe_top@1" in done.output
    assert "linear probe with C =" in done.output
    written = json.loads((tmp_path / "classify" / "d_test.json").read_text())
    assert len(written["chosen"]["1. scenes:scenes, texts"]) == 24
    assert [difference["run"] for difference in written["differences"]] == ["grey_model:Grey"] * 4


def test_a_class_of_which_nothing_can_be_held_back_is_named(tmp_path):
    draw(tmp_path, "test")
    data = read_labelled(draw(tmp_path, "train", each=1), "train")
    with pytest.raises(ValueError, match="has one image alone of dark blue, green, red; give val/"):
        probe(wb.open_model(Colours()), data, read_labelled(tmp_path, "test"))
