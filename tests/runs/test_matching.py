"""Models of other libraries that read an image and a text together give their library's own scores."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from tests import tiny_matching as tiny
from workbench.cli import app
from workbench.records import Split
from workbench.runs.adapters.yes_no import YesNo
from workbench.runs.models import open_model
from workbench.runs.own import ObjectModel
from workbench.runs.pairs import PairModel
from workbench.runs.rerank import Reranked

TEXTS = ["a red dog", "two blue cats sleep and again a red dog", "a dog"]


def noise(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


IMAGES = [noise(40, 31), noise(33, 77), noise(32, 32)]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of each kind."""
    place = tmp_path_factory.mktemp("models")
    made = {"blip": tiny.blip(place / "blip"), "blip2": tiny.blip2(place / "blip2")}
    return made | {"answering": tiny.answering(place / "answering")}


def of_library(folder: Path, kind: str):
    """A model as its library opens it, and what prepares its inputs."""
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    return model, transformers.AutoProcessor.from_pretrained(folder)


def by_library(kind: str, folder: Path, prompt: str = "") -> np.ndarray:
    """Scores of all pairs as the library computes them, one at a time."""
    names = {"blip": "BlipForImageTextRetrieval", "blip2": "Blip2ForImageTextRetrieval"}
    model, processor = of_library(folder, names.get(kind, "LlavaForConditionalGeneration"))
    scores = np.empty((len(IMAGES), len(TEXTS)))
    for row, image in enumerate(IMAGES):
        for column, text in enumerate(TEXTS):
            words = f"<image> {prompt.replace('{text}', text)}" if prompt else text
            inputs = processor(images=image, text=words, return_tensors="pt")
            with torch.no_grad():
                if kind == "blip":
                    scores[row, column] = model(**inputs).itm_score[0, 1]
                elif kind == "blip2":
                    output = model(**inputs, use_image_text_matching_head=True)
                    scores[row, column] = output.logits_per_image[0, 1]
                else:
                    last = model(**inputs).logits[0, -1]
                    yes, no = (processor.tokenizer(word)["input_ids"][0] for word in ("yes", "no"))
                    scores[row, column] = last[yes] - last[no]
    return scores


@pytest.mark.parametrize("kind", ["blip", "blip2"])
def test_a_matching_head_gives_the_logit_of_its_library(folders, kind):
    model = open_model(str(folders[kind]), device="cpu")
    assert isinstance(model, PairModel)
    scores = model.scores(model.embed_images(IMAGES), model.embed_texts(TEXTS))
    np.testing.assert_allclose(scores, by_library(kind, folders[kind]), atol=1e-5)


@pytest.mark.parametrize("prompt", ["", "show {text} ?"])
def test_a_language_model_with_vision_is_asked_with_any_prompt(folders, prompt):
    folder = folders["answering"]
    model = open_model(YesNo(str(folder), prompt) if prompt else str(folder), device="cpu")
    scores = model.scores(model.embed_images(IMAGES), model.embed_texts(TEXTS))
    expected = by_library("answering", folder, prompt or model.subject.prompt)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@pytest.mark.parametrize("second", [False, True])
def test_a_question_is_asked_by_the_command_and_by_the_run_that_it_wrote(folders, tmp_path, second):
    folder, out, question = str(folders["answering"]), tmp_path / "run", "show {text} ?"
    stages = ["scenes:scenes", "--rerank", "2", "--reranker", folder] if second else [folder]
    prompts = ["--prompts", json.dumps({"question": question})]
    words = [*prompts, "--data", "scenes", "-p", "data.size=2", "--device", "cpu", "--out", str(out)]
    done = CliRunner().invoke(app, ["evaluate", "--model", *stages, *words])
    assert done.exit_code == 0, done.output
    (opened,) = wb.open_runs([str(out)])
    asked = opened.model.second if second else opened.model
    assert asked.subject.prompt == question
    rows, items = np.arange(3), np.arange(3)
    scores = asked.pair_scores(asked.embed_images(IMAGES), asked.embed_texts(TEXTS), rows, items)
    expected = np.diag(by_library("answering", folders["answering"], question))
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "prompts", "message"),
    [
        ("answering", {"question": "show"}, "has no {text}"),
        ("answering", {"t2i": "find "}, '"question"'),
        ("blip", {"question": "show {text} ?"}, "and others none"),
    ],
)
def test_a_prompt_that_no_pair_scorer_takes_is_refused_in_one_line(folders, kind, prompts, message):
    with pytest.raises(ValueError, match=message) as refused:
        open_model(str(folders[kind]), device="cpu", prompts=prompts)
    assert "\n" not in str(refused.value)


def test_a_cross_encoder_of_sentence_transformers_gives_its_own_scores(folders, tmp_path):
    sentences = pytest.importorskip("sentence_transformers")
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore

    modules = [Transformer(str(folders["answering"]), transformer_task="any-to-any"), LogitScore(3, 4)]
    whole = sentences.CrossEncoder(modules=modules, device="cpu")
    whole.save_pretrained(str(tmp_path / "cross"))
    model = open_model(str(tmp_path / "cross"), device="cpu")
    scores = model.scores(model.embed_images(IMAGES), model.embed_texts(TEXTS))
    pairs = [(text, image) for image in IMAGES for text in TEXTS]
    expected = whole.predict(pairs, activation_fn=torch.nn.Identity()).reshape(len(IMAGES), -1)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_the_contrastive_head_of_blip_is_the_first_stage_of_its_matching_head(folders):
    folder = folders["blip"]
    model, processor = of_library(folder, "BlipForImageTextRetrieval")
    inputs = processor(
        images=IMAGES, text=TEXTS, padding=True, truncation=True, max_length=12, return_tensors="pt"
    )
    with torch.no_grad():
        expected = model(**inputs, use_itm_head=False).itm_score
    result = wb.evaluate(str(folder), data(), rerank=1, device="cpu", rounds=0)
    staged = result.model
    assert isinstance(staged, Reranked)
    assert isinstance(staged.first, ObjectModel)
    first = staged.first.scores(staged.first.embed_images(IMAGES), staged.first.embed_texts(TEXTS))
    np.testing.assert_allclose(first, expected, atol=1e-5)
    named = wb.evaluate(str(folder), data(), rerank=1, reranker=str(folder), device="cpu", rounds=0)
    np.testing.assert_allclose(named.any_scores().rows(), result.any_scores().rows(), atol=1e-5)


def test_a_run_re_ranked_by_the_matching_head_of_its_own_model_is_opened_again(folders, tmp_path):
    scenes = {"name": "scenes", "size": 4}
    result = wb.evaluate(str(folders["blip"]), scenes, rerank=2, device="cpu", rounds=0)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    assert isinstance(opened.model.first, ObjectModel)
    np.testing.assert_allclose(opened.any_scores().rows(), result.any_scores().rows(), atol=1e-4)


def data() -> Split:
    ids = tuple(f"c{row}" for row in range(len(TEXTS)))
    names = tuple(f"i{row}" for row in range(len(IMAGES)))
    return Split("noise", names, tuple(TEXTS), ids, np.arange(len(TEXTS)), IMAGES.__getitem__)


def test_all_kinds_and_a_clip_stand_in_one_table(folders, tmp_path):
    results = [wb.evaluate("scenes:scenes", data(), device="cpu", rounds=20)]
    for folder in folders.values():
        results.append(wb.evaluate(str(folder), data(), device="cpu", rounds=20))
    clip = wb.evaluate("scenes:scenes", data(), rerank=2, reranker=str(folders["blip"]), rounds=20)
    table = wb.compare(*results, clip).text_table()
    assert {"blip", "blip2", "answering"} <= {name.split(",")[0] for name in table.columns}


def test_scores_of_a_saved_model_are_kept_for_the_same_weights_alone(folders, tmp_path):
    wb.evaluate(str(folders["blip"]), data(), device="cpu", rounds=0)
    (kept,) = (tmp_path / "cache").glob("pairs-*.sqlite")
    wb.evaluate(str(folders["blip"]), data(), device="cpu", rounds=0)
    assert list((tmp_path / "cache").glob("pairs-*.sqlite")) == [kept]
    wb.evaluate(YesNo(str(folders["answering"])), data(), device="cpu", rounds=0)
    wb.evaluate(YesNo(str(folders["answering"]), "show {text} ?"), data(), device="cpu", rounds=0)
    assert len(list((tmp_path / "cache").glob("pairs-*.sqlite"))) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda place: tiny.blip(place, "BlipForConditionalGeneration"), "takes no questions"),
        (lambda place: tiny.answering(place, template=""), "no chat template"),
        (lambda place: tiny.answering(place, answers=("aye", "nay")), "cannot tell yes and no apart"),
    ],
)
def test_a_model_that_answers_nothing_is_refused_in_one_line(make, message, tmp_path):
    with pytest.raises(ValueError, match=message) as refused:
        open_model(str(make(tmp_path)))
    assert "\n" not in str(refused.value)


def test_a_language_model_without_vision_is_refused_in_one_line(tmp_path):
    tiny.words_of_chat(tmp_path).save_pretrained(tmp_path)
    config = transformers.LlamaConfig(**tiny.SIZE, vocab_size=40, max_position_embeddings=64)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="encodes no images"):
        open_model(str(tmp_path))


def test_a_matching_head_whose_weights_do_not_fit_its_configuration_is_refused(folders, tmp_path):
    folder = tmp_path / "misfit"
    shutil.copytree(folders["blip"], folder)
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["hidden_size"] *= 2
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"other sizes than its config\.json") as refused:
        open_model(str(folder), device="cpu")
    assert "\n" not in str(refused.value)


def test_a_matching_head_that_lacks_weights_is_refused(folders, tmp_path):
    model = transformers.BlipForImageTextRetrieval.from_pretrained(folders["blip"])
    weights = {name: value for name, value in model.state_dict().items() if "itm_head" not in name}
    tiny.blip(tmp_path)
    model.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(ValueError, match=r"lacks 2 weights, itm_head\.bias first"):
        open_model(str(tmp_path))


def test_a_prompt_without_a_place_for_the_text_is_refused(folders):
    with pytest.raises(ValueError, match="where the text of a pair stands"):
        YesNo(str(folders["answering"]), "Is it a dog?")
