"""Objects that encode by side and direction; prompts; scores in spaces of their own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.records import Split
from workbench.runs.ways import TwoWays
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Question, Term

OWN = np.array([0, 0, 1, 2, 3, 3])
SEED = {("query", "i2t"): 1, ("item", "t2i"): 2, ("item", "i2t"): 3, ("query", "t2i"): 4}


@pytest.fixture(scope="module")
def split():
    from PIL import Image

    texts = tuple(f"text {number}" for number in range(6))
    shades = [Image.new("RGB", (4, 4), (40 * row, 0, 0)) for row in range(4)]
    return Split("shades", tuple("abcd"), texts, texts, OWN, lambda row: shades[row])


def shade(image):
    return np.asarray(image)[0, 0, 0] // 40


def numbers(count, seed):
    return np.random.default_rng(seed).standard_normal((count, 8))


def cosines(first, second):
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)]
    return unit[0] @ unit[1].T


class BySide:
    """Other vectors for each side and direction."""

    name = "by side"

    def encode_image(self, images, *, side, direction):
        return numbers(4, SEED[side, direction])[[shade(image) for image in images]]

    def encode_text(self, texts, *, side, direction):
        return numbers(6, SEED[side, direction])[[int(text[-1]) for text in texts]]


class Prompted:
    """Vectors of texts by their words, with whatever stands before them."""

    name = "prompted"

    def encode_image(self, images):
        return numbers(4, 1)[[shade(image) for image in images]]

    def encode_text(self, texts):
        return np.stack([numbers(1, len(text) + 10 * int(text[-1]))[0] for text in texts])


class TakesPrompt(Prompted):
    """The same, which is given its prompt."""

    def encode_text(self, texts, prompt):
        return super().encode_text([prompt + text for text in texts])


class Lorentz:
    """MERU: vectors of a hyperboloid of curvature -1, scored by their negative distance."""

    name = "meru"

    def encode_image(self, images):
        return numbers(4, 1)[[shade(image) for image in images]]

    def encode_text(self, texts):
        return numbers(6, 2)[[int(text[-1]) for text in texts]]

    def scores(self, image, text):
        times = [(1 + side.mean.square().sum(1)).sqrt() for side in (image, text)]
        return -torch.acosh((times[0][:, None] * times[1] - image.mean @ text.mean.T).clamp(min=1))


def test_items_are_encoded_for_the_side_and_direction_in_which_they_are_seen(split):
    result = wb.evaluate(BySide(), split, rounds=0)
    i2t, t2i = cosines(numbers(4, 1), numbers(6, 3)), cosines(numbers(6, 4), numbers(4, 2))
    scores = result.any_scores()
    np.testing.assert_allclose(scores.rows(), i2t, atol=1e-6)
    np.testing.assert_allclose(scores.T.rows(), t2i, atol=1e-6)
    best = i2t.argmax(1)
    assert result["i2t/R@1"] == np.mean([OWN[best[row]] == row for row in range(4)])
    assert result["t2i/R@1"] == np.mean(t2i.argmax(1) == OWN)
    engine = Engine([result])
    answered = engine.scores(Question((Term("caption", 2),), "images"))[0]
    np.testing.assert_allclose(answered, t2i[2], atol=1e-6)
    answered = engine.scores(Question((Term("image", 3),), "captions"))[0]
    np.testing.assert_allclose(answered, i2t[3], atol=1e-6)


def test_a_result_by_direction_is_saved_opened_and_compared(split, tmp_path):
    result = wb.evaluate(BySide(), split, rounds=20)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    assert isinstance(opened.image, TwoWays)
    for turn in (lambda scores: scores, lambda scores: scores.T):
        np.testing.assert_array_equal(turn(opened.any_scores()).rows(), turn(result.any_scores()).rows())
    other = wb.evaluate(Prompted(), split, rounds=20)
    assert "rsum" in wb.compare(opened, other).text_table().index


class Directed:
    """Vectors by the content of an item and by the direction."""

    def encode_image(self, images, *, direction):
        seeds = [int(1000 * np.asarray(image).mean()) for image in images]
        return [numbers(1, seed + len(direction) + (direction == "t2i"))[0] for seed in seeds]

    def encode_text(self, texts):
        return [numbers(1, len(text))[0] for text in texts]


class Distance(Directed):
    """Scores of its own, which are not the cosine."""

    def encode_image(self, images):
        return super().encode_image(images, direction="i2t")

    def scores(self, image, text):
        return -torch.cdist(image.mean, text.mean)


class ByWords(Distance):
    """Vectors by the length of the text, scored by the cosine."""

    scores = None


class Brightness:
    """Scores pairs."""

    def score(self, images, texts):
        pairs = zip(images, texts, strict=True)
        return [np.asarray(image).mean() % 7 - len(text) % 5 for image, text in pairs]


@pytest.mark.parametrize("first", [Directed(), Distance()], ids=lambda model: type(model).__name__)
def test_a_first_stage_without_a_name_scores_as_it_did_when_its_run_is_opened(first, tmp_path):
    data = {"name": "scenes", "size": 4}
    result = wb.evaluate(first, data, rerank=2, reranker="tests.runs.test_instructions:Brightness", rounds=0)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    for turn in (lambda scores: scores, lambda scores: scores.T):
        before, after = (turn(which.any_scores()).rows() for which in (result, opened))
        np.testing.assert_allclose(after, before, atol=1e-5)


@pytest.mark.parametrize("model", [Prompted(), TakesPrompt()], ids=["before the text", "given"])
def test_a_prompt_is_read_with_the_queries_of_its_direction_alone(split, model):
    prompts = {"t2i": "Find an image of: "}
    result = wb.evaluate(model, split, prompts=prompts, rounds=0)
    plain = Prompted().encode_text(split.captions)
    asked = Prompted().encode_text([prompts["t2i"] + text for text in split.captions])
    scores = result.any_scores()
    np.testing.assert_allclose(scores.rows(), cosines(numbers(4, 1), plain), atol=1e-6)
    np.testing.assert_allclose(scores.T.rows(), cosines(asked, numbers(4, 1)), atol=1e-6)
    assert result.config["prompts"] == prompts


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        (
            {"i2t": "Find a caption"},
            "takes no prompt, which i2t gives to images; leave i2t out",
        ),
        ({"t2j": "x"}, "prompts: no direction 't2j'; did you mean t2i"),
    ],
)
def test_a_prompt_that_nobody_reads_is_refused(split, prompts, message):
    with pytest.raises(ValueError, match=message):
        wb.evaluate(Prompted(), split, prompts=prompts)


def test_prompts_stand_before_texts_of_open_clip_models_too():
    data = wb.load_data("scenes", split="test", size=4)
    result = wb.evaluate("scenes:scenes", data, prompts={"t2i": "a picture of "}, rounds=0)
    plain = wb.evaluate("scenes:scenes", data, rounds=0)
    scores = result.any_scores()
    np.testing.assert_allclose(scores.rows(), plain.scores, atol=1e-5)
    assert np.abs(scores.T.rows().T - plain.scores).max() > 1e-3


def test_the_lorentz_distance_of_an_object_is_what_ranks(split):
    result = wb.evaluate(Lorentz(), split, rounds=0)
    x, y = numbers(4, 1)[:, None], numbers(6, 2)[None]
    inner = (x * y).sum(2) - np.sqrt(1 + (x**2).sum(2)) * np.sqrt(1 + (y**2).sum(2))
    expected = -np.arccosh(-inner)
    np.testing.assert_allclose(result.scores, expected, atol=1e-5)
    assert result["t2i/R@1"] == np.mean(expected.argmax(0) == OWN)
    # products of these vectors are no cosines, so that nothing is said of the space
    assert not any(m.key.metric in ("modality_gap", "alignment") for m in result.measurements)
    answered = Engine([result]).scores(Question((Term("caption", 2),), "images"))[0]
    np.testing.assert_allclose(answered, expected[:, 2], atol=1e-5)


def test_an_object_whose_scores_are_nan_is_named(split):
    class Broken(Lorentz):
        def scores(self, image, text):
            return super().scores(image, text) * float("nan")

    with pytest.raises(ValueError, match=r"meru\.scores\(\) gave NaN for 24 pairs of 24"):
        wb.evaluate(Broken(), split, rounds=0)


def test_a_second_stage_is_asked_with_the_prompt_of_each_direction(split):
    prompts = {"t2i": "Find an image of: "}
    second = wb.open_model(TakesPrompt(), prompts=prompts)
    staged = wb.evaluate(BySide(), split, rerank=6, reranker=second, rounds=0)
    alone = wb.evaluate(second, split, rounds=0)
    for turn in (lambda scores: scores, lambda scores: scores.T):
        np.testing.assert_allclose(*(turn(which.any_scores()).rows() for which in (staged, alone)), atol=1e-6)
    engine = Engine([staged])
    for term, seeks in ((Term("text", "text 2"), "images"), (Term("caption", 2), "images")):
        answered = engine.scores(Question((term,), seeks))[0]
        np.testing.assert_allclose(answered, alone.any_scores().T.rows()[2], atol=1e-6)


@pytest.mark.parametrize(
    ("reranker", "options"),
    [
        ("tests.runs.test_instructions:ByWords", {"prompts": {"t2i": "find "}}),
        ("tests.runs.test_instructions:ByWords", {"truncate_dim": 3}),
        ("scenes:scenes", {}),
        ("scenes:scenes", {"prompts": {"t2i": "find "}}),
    ],
)
def test_a_second_stage_is_opened_again_as_it_was(reranker, options, tmp_path):
    second = wb.open_model(reranker, **options)
    result = wb.evaluate(Distance(), {"name": "scenes", "size": 4}, rerank=2, reranker=second, rounds=0)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    for turn in (lambda scores: scores, lambda scores: scores.T):
        before, after = (turn(which.any_scores()).rows() for which in (result, opened))
        np.testing.assert_allclose(after, before, atol=1e-5)
    assert opened.model.second.origin == second.origin


def test_a_run_that_is_re_ranked_re_ranks_others_by_its_second_stage(split):
    staged = wb.evaluate(BySide(), split, rerank=2, reranker=Lorentz(), rounds=0)
    expected = wb.evaluate(Prompted(), split, rerank=3, reranker=Lorentz(), rounds=0)
    result = wb.evaluate(Prompted(), split, rerank=3, reranker=staged.model, rounds=0)
    np.testing.assert_array_equal(result.any_scores().rows(), expected.any_scores().rows())
    assert result.model.second is staged.model.second
