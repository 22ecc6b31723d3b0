"""Objects that score otherwise than by the cosine: by their vectors, by parts, or pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.records import Embedding
from workbench.runs import store
from workbench.runs.kinds import Evaluation, read_kind
from workbench.runs.preview import check_model

OWN = [0, 1, 2, 2]
IMAGES, TEXTS = ("red", "green", "blue"), ("a red thing", "a green thing", "a blue thing", "something blue")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Images of one colour each, with captions that name it."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("photos")
    for name in IMAGES:
        Image.new("RGB", (8, 8), name).save(folder / f"{name}.png")
    rows = [f"{IMAGES[own]}.png,{text}" for own, text in zip(OWN, TEXTS, strict=True)]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]))
    return wb.load_data(folder)


def colours(images):
    return torch.tensor([np.asarray(image).reshape(-1, 3).mean(0).tolist() for image in images])


def words(texts):
    return torch.tensor([[float(name in text) for name in IMAGES] for text in texts]) + 0.1


class ByColour:
    """Vectors of any length, compared by the cosine."""

    def encode_image(self, images):
        return colours(images)

    def encode_text(self, texts):
        return words(texts)


class Farthest(ByColour):
    """The same vectors, scored by their distance: the farthest first."""

    def scores(self, image, text):
        return torch.cdist(image.mean, 300 * text.mean)


class Parts(ByColour):
    """An image is three parts; a text is scored by the best of them."""

    def encode_image(self, images):
        mean = colours(images)
        return Embedding(mean, parts=torch.diag_embed(mean), mask=torch.ones(len(mean), 3, dtype=torch.bool))

    def scores(self, image, text):
        return torch.einsum("ipd,td->ipt", image.parts, text.mean).amax(1).numpy()


class Pairs:
    """Reads images and texts together."""

    name = "pairs"

    def scores(self, images, texts):
        return (colours(images) @ words(texts).T).tolist()


class Transposed(Pairs):
    """Gives a row a text."""

    def scores(self, images, texts):
        return (words(texts) @ colours(images).T).numpy()


@pytest.mark.parametrize(
    ("model", "expected"),
    [(ByColour(), 1.0), (Parts(), 1.0), (Pairs(), 1.0), (Farthest(), 0.0)],
    ids=lambda model: type(model).__name__,
)
def test_an_object_is_measured_by_its_own_scores(photos, model, expected):
    result = wb.evaluate(model, photos, rounds=0)
    assert result["t2i/R@1"] == expected
    rows = result.split.own
    best = result.scores.argmax(axis=0)
    assert ((best == rows).mean() == 1) == (expected == 1)


def test_scores_of_pairs_are_those_of_one_matrix_in_blocks_of_any_size(photos, monkeypatch):
    whole = wb.evaluate(Pairs(), photos, rounds=0).scores
    monkeypatch.setattr("workbench.runs.pairs.AT_ONCE", 2)
    monkeypatch.setattr("workbench.runs.pairs.TEXTS_AT_ONCE", 3)
    np.testing.assert_array_equal(wb.evaluate(Pairs(), photos, rounds=0).scores, whole)
    for module in ("model", "result"):
        monkeypatch.setattr(f"workbench.runs.{module}.WHOLE", 0)
    lazy = wb.evaluate(Pairs(), photos, rounds=0)
    np.testing.assert_array_equal(lazy.any_scores().rows(), whole)


def test_a_pair_scorer_is_saved_compared_and_explored_as_any_model(photos, tmp_path):
    pairs, vectors = (wb.evaluate(model, photos, rounds=20) for model in (Pairs(), ByColour()))
    pairs.save(tmp_path / "pairs")
    assert not (tmp_path / "pairs" / "embeddings" / "image.npy").exists()
    kind = read_kind(tmp_path / "pairs")
    assert isinstance(kind, Evaluation)
    assert (kind.name, kind.model, store.read(tmp_path / "pairs").kind) == ("pairs", "", "evaluation")
    (opened,) = wb.open_runs([str(tmp_path / "pairs")])
    assert dict(opened) == dict(pairs)
    assert wb.compare(opened, vectors).text_table().loc["rsum", "ByColour - pairs"].endswith("pairs")
    assert wb.explore(pairs).query(text="a green thing")[0]["id"] == "green.png"
    assert check_model(Pairs())["images"].startswith("no vectors")


def test_several_models_are_one_whose_scores_are_the_mean(photos):
    both = wb.evaluate([Pairs(), ByColour()], photos, rounds=0)
    parts = [wb.evaluate(model, photos, rounds=0).scores for model in (Pairs(), ByColour())]
    np.testing.assert_allclose(both.scores, np.mean(parts, axis=0), rtol=1e-6)
    assert both.name == "mean of pairs, ByColour"


def test_a_list_of_models_opens_as_one_that_is_measured_asked_and_explored(photos):
    model = wb.open_model([Pairs(), wb.open_model("scenes", "scenes"), ByColour()])
    listed = wb.evaluate([Pairs(), "scenes:scenes", ByColour()], photos, rounds=0)
    np.testing.assert_array_equal(wb.evaluate(model, photos, rounds=0).scores, listed.scores)
    images = model.embed_images([photos.open_image(row) for row in range(3)])
    assert model.scores(images, model.embed_texts(["red", "a blue thing"])).shape == (3, 2)
    assert len(model.embed_images_of(model.source(photos))) == 3
    assert (
        wb.explore([Pairs(), ByColour()], images=photos).query(text="a green thing")[0]["id"] == "green.png"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wb.open_model([]), "at least one model"),
        (lambda: wb.open_model([Pairs()], "openai"), "pretrained belongs to one model"),
    ],
)
def test_a_list_that_is_no_model_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_scores_of_another_shape_and_objects_without_a_method_are_refused_by_name(photos):
    with pytest.raises(ValueError, match=r"scores\(\) of 3 images and 4 texts gave shape \(4, 3\)"):
        wb.evaluate(Transposed(), photos)
    with pytest.raises(TypeError, match="object has no encode_image"):
        wb.open_model(object())


def test_an_object_that_follows_the_protocol_is_a_model(photos):
    model: wb.ModelProtocol = wb.open_model("scenes:scenes")
    wanted = wb.evaluate(model, photos, rounds=0)

    class Same:
        name = "same"
        embed_images, embed_texts, scores = model.embed_images, model.embed_texts, model.scores

    result = wb.evaluate(Same(), photos, rounds=0)
    assert result.name == "same"
    assert dict(result) == pytest.approx(dict(wanted))


def test_an_object_is_named_by_its_module_in_the_command_and_opened_again(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_pairs.py").write_text("from tests.runs.test_own_scores import Pairs\n")
    words = ["evaluate", "--model", "my_pairs:Pairs", "--data", "scenes", "-p", "data.size=8"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    (run,) = store.list_runs()
    assert run.params["model"] == "my_pairs:Pairs"
    (opened,) = wb.open_runs([str(run.folder)])
    assert opened.model.scores(opened.image, opened.text).shape == (8, 40)
    assert wb.evaluate(run.folder, rounds=0)["rsum"] == opened["rsum"]
    with pytest.raises(KeyError, match="no 'Pair'; did you mean Pairs"):
        wb.open_model("my_pairs:Pair")


@pytest.mark.parametrize("scorer", [Farthest, Pairs], ids=["by vectors", "by pairs"])
def test_scores_of_an_object_without_a_name_are_those_of_its_saved_run(photos, tmp_path, scorer):
    class Nameless(scorer):
        pass

    result = wb.evaluate(Nameless(), photos, rounds=0)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    np.testing.assert_array_equal(opened.scores, result.scores)
    again = wb.evaluate(opened, rounds=0)
    assert [one.value for one in again.measurements] == [one.value for one in result.measurements]
