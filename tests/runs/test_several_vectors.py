"""Several vectors an item at the front door: of objects, of arrays and of files, saved and opened again."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.objectives.parts.attention import scorer_of
from workbench.objectives.parts.maxsim import MaxSim
from workbench.records import Embedding, Split
from workbench.runs.vector_files import read_vectors
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.notes import note_sentences
from workbench.views.explorer.questions import Question, Term
from workbench.views.maps.space_map import map_runs

OWN = np.array([0, 0, 1, 2, 3, 3])
COUNTS = [3, 1, 2, 3, 2, 1]


def arrays(seed=0):
    """Four images of five vectors, and six texts of one to three."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, 5, 8)), [rng.standard_normal((count, 8)) for count in COUNTS]


def padded(rows):
    out = np.full((len(rows), max(map(len, rows)), rows[0].shape[1]), np.nan)
    for row, vectors in enumerate(rows):
        out[row, : len(vectors)] = vectors
    return out


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def maxsim(images, texts):
    """The mean over a text's vectors of the best of the image's."""
    return np.array([[(unit(text) @ unit(image).T).max(1).mean() for text in texts] for image in images])


def masks(counts):
    return np.arange(max(counts)) < np.array(counts)[:, None]


@pytest.fixture(scope="module")
def split():
    from PIL import Image

    ids = tuple("abcd")
    texts = tuple(f"text {number}" for number in range(6))
    shades = [Image.new("RGB", (4, 4), (40 * row, 0, 0)) for row in range(4)]
    return Split("shades", ids, texts, texts, OWN, lambda row: shades[row])


class Tokens:
    """Gives the arrays of the images and texts that it knows by their shade and number."""

    name = "tokens"

    def encode_image(self, images):
        return arrays()[0][[np.asarray(image)[0, 0, 0] // 40 for image in images]]

    def encode_text(self, texts):
        return [arrays()[1][int(text.split()[1])] for text in texts]


class Masked(Tokens):
    """The same as embeddings with masks."""

    def encode_text(self, texts):
        rows = [int(text.split()[1]) for text in texts]
        parts = torch.tensor(padded(arrays()[1]))[rows]
        return Embedding.from_parts(parts, torch.tensor(masks(COUNTS))[rows])


class Itself(Tokens):
    """Scores its own parts: the worst match."""

    def scores(self, image, text):
        table = torch.einsum("ipd,tqd->itpq", image.parts, text.parts)
        return table.masked_fill(~text.mask[None, :, None], torch.inf).amin((2, 3))


@pytest.mark.parametrize("model", [Tokens(), Masked()], ids=["ragged", "masked"])
def test_an_object_that_gives_several_vectors_is_scored_by_maxsim(split, model):
    result = wb.evaluate(model, split, rounds=0)
    np.testing.assert_allclose(result.scores, maxsim(*arrays()), atol=1e-6)
    assert result.config["scoring"]["scorer"] == {"name": "maxsim", "query": "text", "reduction": "mean"}
    assert "scored by several vectors an item: maxsim (query text, reduction mean)" in result.split.notes
    assert not any(m.key.metric == "modality_gap" for m in result.measurements)


def test_scores_of_its_own_go_before_maxsim(split):
    result = wb.evaluate(Itself(), split, rounds=0)
    images, texts = arrays()
    expected = [[(image @ text.T).min() for text in texts] for image in images]
    np.testing.assert_allclose(result.scores, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Itself makes its scores itself; leave scorer out"):
        wb.evaluate(type("Itself", (Itself,), {"name": "Itself"})(), split, scoring={"scorer": "maxsim"})


@pytest.mark.parametrize("form", ["cross", "chan", "scan_t2i", {"name": "maxsim", "query": "both"}])
def test_any_scorer_of_the_registry_compares_them(split, form):
    result = wb.evaluate(Tokens(), split, rounds=0, scoring={"scorer": form})
    sides = result.image.in_float32(torch.device("cpu")), result.text
    np.testing.assert_allclose(result.scores, scorer_of(form).scores(*sides), atol=1e-6)


@pytest.mark.parametrize("kind", ["arrays", "mask", "lengths", "both in one", "tensors"])
def test_vectors_of_every_form_are_scored_as_the_object_is(tmp_path, kind):
    images, texts = arrays()
    sources = {
        "arrays": (images, texts),
        "mask": (images, {"texts": padded(texts), "mask": masks(COUNTS)}),
        "lengths": (images, {"text_vectors": padded(texts), "lengths": np.array(COUNTS)}),
        "both in one": (tmp_path / "both.npz", tmp_path / "both.npz"),
        "tensors": (torch.tensor(images), [torch.tensor(text) for text in texts]),
    }
    both = {"images": images, "texts": np.nan_to_num(padded(texts)), "text_mask": masks(COUNTS)}
    np.savez(tmp_path / "both.npz", **both)
    image, text = sources[kind]
    result = wb.evaluate(images=image, texts=text, own=OWN, rounds=0)
    np.testing.assert_allclose(result.scores, maxsim(images, texts), atol=1e-6)


def test_one_vector_on_one_side_is_allowed_and_one_on_both_is_the_cosine():
    images, texts = arrays()
    single = np.stack([text[0] for text in texts])
    result = wb.evaluate(images=images, texts=single, own=OWN, rounds=0)
    np.testing.assert_allclose(result.scores, maxsim(images, single[:, None]), atol=1e-6)
    cosine = wb.evaluate(images=images[:, 0], texts=single, own=OWN, rounds=0)
    several = wb.evaluate(images=images[:, :1], texts=single[:, None], own=OWN, rounds=0)
    np.testing.assert_allclose(several.scores, cosine.scores, atol=1e-6)
    with pytest.raises(ValueError, match="one vector each, of which maxsim would make the cosine"):
        wb.evaluate(images=images[:, 0], texts=single, own=OWN, scoring={"scorer": "maxsim"})


@pytest.mark.parametrize("source", ["object", "vectors"])
def test_a_result_is_saved_opened_compared_and_asked_as_any_other(split, tmp_path, source):
    scoring = {"scorer": {"name": "maxsim", "query": "both", "reduction": "sum"}}
    if source == "object":
        result = wb.evaluate(Tokens(), split, rounds=20, scoring=scoring)
    else:
        images, texts = arrays()
        result = wb.evaluate(images=images, texts=texts, data=split, rounds=20, scoring=scoring)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    np.testing.assert_array_equal(opened.scores, result.scores)
    assert opened.model.scorer == MaxSim("maxsim", "both", "sum")
    assert dict(wb.evaluate(opened, rounds=0)) == dict(result)
    other = wb.evaluate(opened, rounds=0, scoring={"scorer": "chan"})
    np.testing.assert_allclose(other.scores, scorer_of("chan").scores(result.image, result.text), atol=1e-6)
    assert "rsum" in wb.compare(opened, other).text_table().index
    answered = Engine([opened]).scores(Question((Term("caption", 2),), "images"))[0]
    np.testing.assert_allclose(answered, result.scores[:, 2], atol=1e-6)


def test_damaged_vectors_of_a_run_are_refused(split, tmp_path):
    wb.evaluate(Tokens(), split, rounds=0).save(tmp_path / "run")
    file = tmp_path / "run" / "embeddings" / "text_parts.npy"
    np.save(file, np.load(file)[:-1])
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    with pytest.raises(ValueError, match=r"text_parts\.npy"):
        opened.image  # noqa: B018


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.ones((2, 3, 4, 5)), r"shape \(2, 3, 4, 5\); \(N, D\), or \(N, P, D\)"),
        ([np.ones((2, 4)), np.ones((2, 3))], r"row 1 has the shape \(2, 3\); \(P, 4\) is needed"),
        ([np.ones((2, 4)), np.ones((0, 4))], r"row 1 has the shape \(0, 4\)"),
        ([np.ones((2, 4)), np.zeros((2, 4))], "row 1 is not finite, or has no direction"),
        (
            {"images": np.ones((2, 3, 4)), "mask": np.ones((2, 4), bool)},
            r"mask has the shape \(2, 4\); a mask",
        ),
        ({"images": np.ones((2, 3, 4)), "mask": np.zeros((2, 3), bool)}, "one vector of each item at least"),
        ({"images": np.ones((2, 3, 4)), "lengths": [1, 4]}, "each length is 1 to 3"),
        ({"images": np.ones((2, 3, 4)), "mask": np.ones((2, 3)) > 0, "lengths": [1, 2]}, "and not both"),
    ],
)
def test_a_misshapen_source_is_refused_by_its_row_or_field(source, message):
    with pytest.raises(ValueError, match=message):
        read_vectors(source, "image")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.ones((4, 2, 3, 4)), r"\(4, D\) is needed, or \(4, P, D\) for several vectors an item"),
        (np.ones((3, 2, 4)), "encode_image.. of 4 gave 3 times several vectors"),
        ([np.ones((2, 4)), np.ones((2, 5)), np.ones((1, 4)), np.ones((1, 4))], r"shape \(2, 5\) for row 1"),
        ([np.ones((2, 4))] * 3 + [np.full((1, 4), np.nan)], "not finite for row 3"),
        (np.ones((4, 2, 4)) * np.array([1, 0])[:, None], "zeros, which are padding.*for row 0"),
    ],
)
def test_a_misshapen_output_of_an_object_is_refused_by_its_row(split, output, message):
    class Wrong(Tokens):
        def encode_image(self, images):
            return output

    with pytest.raises(ValueError, match=message):
        wb.evaluate(Wrong(), split)


def test_both_sides_need_vectors_of_one_width():
    with pytest.raises(ValueError, match="images have 8 dimensions and texts 7"):
        wb.evaluate(images=arrays()[0], texts=[text[:, :7] for text in arrays()[1]], own=OWN)


def test_the_command_takes_the_form_with_its_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    images, texts = rng.standard_normal((8, 5, 8)), rng.standard_normal((40, 3, 8))
    np.savez(tmp_path / "vectors.npz", images=images, texts=texts)
    words = ["evaluate", "--images", "vectors.npz", "--data", "scenes", "-p", "data.size=8", "--rounds", "0"]
    scorer = json.dumps({"name": "maxsim", "query": "image"})
    done = CliRunner().invoke(app, [*words, "--scorer", scorer])
    assert done.exit_code == 0, done.output
    (run,) = wb.open_runs(["last"])
    expected = maxsim(texts, images).T
    np.testing.assert_allclose(run.scores, expected, atol=1e-6)
    for scorer, message in (("maxim", "did you mean maxsim"), ("{", "is not JSON")):
        done = CliRunner().invoke(app, [*words, "--scorer", scorer])
        assert (done.exit_code, message in done.stderr) == (2, True), done.output


def test_tokens_of_an_open_clip_tower_are_compared_as_filip_does():
    data = wb.load_data("scenes", split="test", size=6)
    result = wb.evaluate("scenes:scenes", data, rounds=0, scoring={"scorer": "maxsim"})
    model = wb.open_model("scenes:scenes").pair
    assert result.image.parts.shape[2] == model.image.embed_dim
    images = [parts.numpy() for parts in result.image.parts]
    texts = [parts[mask].numpy() for parts, mask in zip(result.text.parts, result.text.mask, strict=True)]
    np.testing.assert_allclose(result.scores, maxsim(images, texts), atol=1e-5)
    assert result["rsum"] != wb.evaluate("scenes:scenes", data, rounds=0)["rsum"]


def test_a_sum_of_queries_says_that_means_are_compared_and_hubs_are_those_of_the_scores(split):
    result = wb.evaluate(Tokens(), split, rounds=0)
    engine = Engine([result])
    alone = engine.answer(Question((Term("caption", 2),), "images"))
    summed = engine.answer(Question((Term("caption", 2), Term("caption", 4)), "images"))
    assert "their mean or pooled" not in note_sentences(alone.facts)
    assert f"{result.name}: several vectors an item" in note_sentences(summed.facts)
    (space,) = map_runs([result], k=1)
    assert space.name == f"{result.name} (means of several vectors)"
    best = np.bincount(result.scores.argmax(0), minlength=4)
    assert space.items["hubness"][:4].tolist() == best.tolist()


@pytest.mark.parametrize("source", ["object", "vectors"])
def test_several_vectors_are_ranked_again_by_another_scorer(split, tmp_path, source):
    images, texts = arrays()
    what = {"model": Tokens()} if source == "object" else {"images": images, "texts": texts}
    first = wb.evaluate(data=split, rounds=0, **what)
    again = wb.evaluate(data=split, rounds=0, rerank=2, reranker="chan", **what)
    expected = scorer_of("chan").scores(first.image, first.text).numpy()
    best = np.argsort(-first.scores, axis=0)[:2]
    for caption in range(6):
        rows = best[:, caption]
        np.testing.assert_allclose(again.scores_of("t2i")[rows, caption], expected[rows, caption], atol=1e-5)
    again.save(tmp_path / "run")
    (opened,) = wb.open_runs([tmp_path / "run"])
    np.testing.assert_array_equal(opened.scores_of("t2i"), again.scores_of("t2i"))
    answered = Engine([opened]).scores(Question((Term("caption", 2),), "images"))[0]
    np.testing.assert_allclose(answered, again.scores_of("t2i")[:, 2], atol=1e-6)
