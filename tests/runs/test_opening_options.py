"""Vectors that are cut, and code that lies beside a model and is executed where it is trusted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from torch.nn.functional import normalize
from typer.testing import CliRunner

import workbench as wb
from tests.runs.test_adapters import APART, CAPTIONS, saved, sentences
from workbench.cli import app
from workbench.runs.models import open_model

CODE = """
from transformers import CLIPConfig, CLIPModel

class OwnConfig(CLIPConfig):
    model_type = "own_clip"

class OwnModel(CLIPModel):
    config_class = OwnConfig

    def get_text_features(self, **inputs):
        return -super().get_text_features(**inputs).pooler_output
"""


class Nested:
    """Four numbers an item, of which the first two say what matters."""

    name = "nested"
    width = 4

    def encode_image(self, images):
        return [self._numbers(np.asarray(image).mean()) for image in images]

    def encode_text(self, texts):
        return np.stack([self._numbers(len(text)) for text in texts])

    def _numbers(self, seed):
        return np.random.default_rng(int(1000 * seed)).standard_normal(self.width)


class Scoring(Nested):
    """The same with scores of its own."""

    def scores(self, image, text):
        return image.mean @ text.mean.T


class Several(Nested):
    """Several vectors an item."""

    def _numbers(self, seed):
        return np.random.default_rng(int(1000 * seed)).standard_normal((3, 4))


@pytest.fixture(scope="module")
def data():
    return wb.load_data("scenes", split="test", size=8)


def test_cut_vectors_give_the_cosines_of_their_first_numbers(data):
    whole, cut = (wb.evaluate(open_model(Nested(), truncate_dim=width), data, rounds=0) for width in (0, 2))
    numbers = [
        Nested().encode_image([data.open_image(row) for row in range(8)]),
        Nested().encode_text(data.captions),
    ]
    image, text = (np.stack(side)[:, :2] for side in numbers)
    image, text = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (image, text))
    np.testing.assert_allclose(cut.scores, image @ text.T, atol=1e-6)
    assert (whole.image.mean.shape[1], cut.image.mean.shape[1]) == (4, 2)
    assert cut.config["truncate_dim"] == 2
    full = wb.evaluate(open_model(Nested(), truncate_dim=4), data, rounds=0)
    np.testing.assert_array_equal(full.scores, whole.scores)


@pytest.mark.parametrize(
    ("model", "width", "what"),
    [
        (Nested(), 5, "gives 4 numbers; give at most so many"),
        (Nested(), -1, "truncate_dim is -1"),
        (Scoring(), 2, "makes its scores itself"),
        (Several(), 2, "more than one vector an item"),
        ("scenes:scenes", 2, "scenes is no model of transformers"),
    ],
)
def test_what_cannot_be_cut_says_why(data, model, width, what):
    with pytest.raises(ValueError, match=what):
        wb.evaluate(open_model(model, truncate_dim=width), data)


@pytest.mark.filterwarnings("ignore")
def test_evaluate_opens_a_model_as_open_model_does(data):
    result = wb.evaluate(Nested(), data, truncate_dim=2, trust_remote_code=True, rounds=0)
    assert result.config["truncate_dim"] == 2
    np.testing.assert_array_equal(
        result.scores, wb.evaluate(open_model(Nested(), truncate_dim=2), data, rounds=0).scores
    )
    with pytest.raises(ValueError, match="truncate_dim=2 belongs to a model"):
        wb.evaluate(scores=result.scores, data=data, truncate_dim=2)


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_sentence_transformers_is_cut_as_by_its_library_and_opened_so_again(tmp_path, monkeypatch):
    clip = saved(tmp_path / "clip", APART["CLIP"][0])
    folder = sentences(tmp_path / "both", clip, images=True)
    library = open_model(folder, device="cpu").subject.model
    expected = normalize(library.encode(CAPTIONS, truncate_dim=8, convert_to_tensor=True), dim=1)
    cut = open_model(folder, device="cpu", truncate_dim=8).embed_texts(CAPTIONS).mean
    torch.testing.assert_close(cut, expected, atol=1e-6, rtol=0)
    monkeypatch.chdir(tmp_path)
    words = [
        "--model",
        str(folder),
        "--truncate-dim",
        "8",
        "--data",
        "scenes",
        "-p",
        "data.size=8",
        "--out",
        "run",
    ]
    ended = CliRunner().invoke(app, ["evaluate", *words, "--device", "cpu"])
    assert ended.exit_code == 0, ended.output
    (opened,) = wb.open_runs(["run"])
    assert opened.model.embed_texts(["a red dog"]).mean.shape == (1, 8)


def with_code(folder: Path) -> Path:
    """A dual encoder whose class lies beside it."""
    saved(folder, APART["CLIP"][0])
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own_clip", "architectures": ["OwnModel"]}
    config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(CODE)
    processor = transformers.AutoTokenizer.from_pretrained(folder, config=transformers.BertConfig())
    images = transformers.CLIPImageProcessor.from_pretrained(folder)
    transformers.CLIPProcessor(images, processor).save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
def test_code_beside_a_model_is_executed_where_it_is_trusted_and_the_run_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, plain = with_code(tmp_path / "own"), saved(tmp_path / "clip", APART["CLIP"][0])
    monkeypatch.chdir(tmp_path)
    words = ["evaluate", "--model", str(folder), "--data", "scenes", "-p", "data.size=8", "--device", "cpu"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "--trust-remote-code" in refused.stderr
    ended = CliRunner().invoke(app, [*words, "--trust-remote-code", "--out", "run"])
    assert ended.exit_code == 0, ended.output
    assert json.loads(Path("run/run.json").read_text())["trust_remote_code"] is True
    (opened,) = wb.open_runs(["run"])
    expected = -open_model(plain, device="cpu").embed_texts(CAPTIONS).mean
    torch.testing.assert_close(opened.model.embed_texts(CAPTIONS).mean, expected, atol=1e-5, rtol=0)
