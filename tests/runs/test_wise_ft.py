"""Weights between those before training and those after it (WiSE-FT)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import workbench as wb
from tests.runs.test_models import home  # noqa: F401 - a fixture
from workbench.cli import app
from workbench.runs.models import load_model
from workbench.runs.rescoring import weights_between
from workbench.training import checkpoint

SMALL = {"train_images": 32, "val_images": 16, "test_images": 16, "batch_size": 16, "epochs": 1, "lr": 0.01}
TEXTS = ["a dog", "Two red cars, in the snow!", "a cat's tail"]


def trained(folder: Path, encoder: dict) -> Path:
    config = wb.Config(objective="infonce", image_encoder=encoder, text_encoder=encoder["name"], **SMALL)
    wb.train(config, folder=folder, progress=False).save(folder)
    return folder


@pytest.fixture(scope="module")
def before(home: Path) -> dict:  # noqa: F811
    weights = {"model": str(home / "tiny.json"), "pretrained": str(home / "plain.safetensors")}
    return {"name": "towers", **weights}


@pytest.fixture(scope="module", params=["all weights", "adapters"])
def run(request, tmp_path_factory, before) -> Path:
    lora = {"lora": {"rank": 2}} if request.param == "adapters" else {}
    return trained(tmp_path_factory.mktemp("tuned") / "run", {**before, **lora})


def test_at_0_and_1_it_is_the_model_before_and_the_model_after_to_the_last_bit(run: Path, before):
    after = load_model(run)
    first = wb.open_model(before["model"], before["pretrained"], device="cpu")
    for share, other in ((0.0, first), (1.0, after)):
        model = weights_between(after, share)
        assert torch.equal(model.embed_texts(TEXTS).mean, other.embed_texts(TEXTS).mean)
    assert not torch.equal(first.embed_texts(TEXTS).mean, after.embed_texts(TEXTS).mean)


def test_in_between_every_weight_is_the_mean(run: Path):
    after = load_model(run)
    sides = [
        weights_between(after, share).pair.image.merge_adapters().state_dict() for share in (0.0, 0.25, 1.0)
    ]
    for name, value in sides[1].items():
        mean = 0.75 * sides[0][name] + 0.25 * sides[2][name] if value.is_floating_point() else value
        torch.testing.assert_close(value, mean.nan_to_num(neginf=-torch.inf), atol=1e-6, rtol=1e-5)


def test_the_model_that_was_opened_keeps_its_weights(run: Path):
    model = load_model(run)
    weights = checkpoint.copy_weights(model.pair, model.objective)
    weights_between(model, 0.0)
    now = checkpoint.copy_weights(model.pair, model.objective)
    assert all(torch.equal(now[name], value) for name, value in weights.items())


def test_a_saved_evaluation_says_the_share_and_is_opened_with_it(run: Path, tmp_path: Path):
    place = tmp_path / "half"
    said = CliRunner().invoke(app, ["evaluate", str(run), "--wise-ft", "0.5", "--out", str(place)])
    assert said.exit_code == 0, said.output
    opened = wb.open_runs(str(place))[0]
    assert opened.run.scoring == {"wise_ft": 0.5}
    expected = weights_between(load_model(run), 0.5)
    assert torch.equal(opened.model.embed_texts(TEXTS).mean, expected.embed_texts(TEXTS).mean)
    again = wb.evaluate(str(place))
    np.testing.assert_array_equal(again.scores, opened.scores)


def test_a_head_that_began_at_random_and_a_share_above_1_are_refused(tmp_path: Path, run: Path, before):
    heads = trained(tmp_path / "heads", {**before, "head": "tokens", "embed_dim": 8})
    for folder, share, message in ((heads, 0.5, "image_head"), (run, 1.5, "wise_ft")):
        said = CliRunner().invoke(app, ["evaluate", str(folder), "--wise-ft", str(share)])
        assert said.exit_code == 2
        assert message in said.output
        assert len(said.output.strip().splitlines()) == 1
