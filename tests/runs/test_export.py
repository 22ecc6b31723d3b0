"""A run's model in the form of another library answers there as it does here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from typer.testing import CliRunner

import workbench as wb
from tests.runs.test_models import home  # noqa: F401 - a fixture
from workbench.cli import app
from workbench.runs.export import export

TEXTS = ["a dog", "Two red cars, in the snow!", "a cat's tail"]
SMALL = {"train_images": 32, "val_images": 16, "test_images": 16, "batch_size": 16, "epochs": 1}
TOWERS = {"image_encoder": "towers", "text_encoder": "towers"}


@pytest.fixture(scope="module")
def photos() -> list[Image.Image]:
    noise = np.random.default_rng(0).integers(0, 255, (2, 40, 50, 3), dtype=np.uint8)
    return [Image.fromarray(one) for one in noise]


@pytest.fixture(scope="module")
def run(tmp_path_factory, home: Path) -> Path:  # noqa: F811
    """A run that trained two towers of open_clip."""
    folder = tmp_path_factory.mktemp("exported") / "run"
    options = {"model": str(home / "tiny.json"), "pretrained": str(home / "plain.safetensors")}
    towers = {"image_encoder": {"name": "towers", **options}, "text_encoder": "towers"}
    config = wb.Config(objective="infonce", **SMALL, **towers)
    wb.train(config, folder=folder, progress=False).save(folder)
    return folder


@pytest.fixture(scope="module")
def looked(tmp_path_factory, home: Path) -> Path:  # noqa: F811
    """A run that evaluated a model of transformers."""
    folder = tmp_path_factory.mktemp("looked") / "run"
    wb.evaluate(home / "clip", {"name": "scenes", "size": 16}).save(folder)
    return folder


def ours(run: Path, photos: list[Image.Image]) -> tuple[np.ndarray, np.ndarray]:
    model = wb.open_model(run, device="cpu")
    return model.embed_images(photos).mean.numpy(), model.embed_texts(TEXTS).mean.numpy()


def alike(found, expected, within=1e-4) -> bool:
    return all(np.abs(np.asarray(a) - b).max() < within for a, b in zip(found, expected, strict=True))


def test_open_clip_reads_what_was_trained(run: Path, photos, tmp_path: Path):
    said = CliRunner().invoke(app, ["export", str(run), "--to", "open_clip", "--out", str(tmp_path / "out")])
    assert said.exit_code == 0, said.output
    name = f"local-dir:{tmp_path / 'out'}"
    model, _, prepare = open_clip.create_model_and_transforms(name)
    ids = open_clip.get_tokenizer(name)(TEXTS)
    images = torch.stack(list(map(prepare, photos)))
    model.eval()
    with torch.no_grad():
        found = model.encode_image(images, normalize=True), model.encode_text(ids, normalize=True)
    assert alike(found, ours(run, photos))


@pytest.mark.parametrize("which", ["run", "looked"])
def test_transformers_reads_what_open_clip_or_it_built(which: str, photos, tmp_path: Path, request):
    import transformers

    run = request.getfixturevalue(which)
    folder = export(run, "transformers", tmp_path / "out")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    read = transformers.AutoProcessor.from_pretrained(folder)
    given = read(text=TEXTS, images=photos, padding=True, truncation=True, max_length=20, return_tensors="pt")
    with torch.no_grad():
        made = model(**given)
    expected = ours(run, photos)
    assert alike([made.text_embeds], expected[1:])
    # transformers rounds the pixels of an image that it makes smaller in another way than Pillow
    assert alike([made.image_embeds], expected[:1], within=1e-3)
    small = [one.crop((0, 0, 32, 32)) for one in photos]
    assert alike(ours(folder, small), ours(run, small))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["run", "looked"])
def test_onnx_gives_the_vectors_of_the_run(which: str, photos, tmp_path: Path, request):
    runtime = pytest.importorskip("onnxruntime", reason="the extra `test` is not installed")
    run = request.getfixturevalue(which)
    folder = export(run, "onnx", tmp_path / "out")
    model = wb.open_model(run, device="cpu")
    if which == "run":
        towers = model.pair.image
        images = {"pixels": torch.stack(list(map(towers.transform, photos))).float().numpy()}
        texts = {"ids": open_clip.get_tokenizer("tiny")(TEXTS).numpy()}
    else:
        read = model.subject.processor
        images = dict(read(images=photos, return_tensors="np"))
        texts = dict(
            read(text=TEXTS, padding="max_length", truncation=True, max_length=20, return_tensors="np")
        )
    found = [
        runtime.InferenceSession(folder / f"{side}.onnx").run(None, given)[0]
        for side, given in (("image", images), ("text", texts))
    ]
    assert alike(found, ours(run, photos))


def test_the_card_says_data_objective_numbers_and_licence(run: Path, tmp_path: Path):
    text = (export(run, "open_clip", tmp_path / "out", licence="cc-by-4.0") / "README.md").read_text()
    value = wb.open_runs([str(run)])[0].text_table().loc["rsum", "value"]
    for word in ("trained on scenes with the objective infonce", f"| rsum | {value} |", "license: cc-by-4.0"):
        assert word in text


def test_what_cannot_go_out_says_what_can(run: Path, looked: Path, tmp_path: Path):
    config = wb.Config(objective="vsepp", **SMALL)
    wb.train(config, folder=tmp_path / "frozen", progress=False).save(tmp_path / "frozen")
    for folder, to in (
        (tmp_path / "frozen", "open_clip"),
        (tmp_path / "frozen", "onnx"),
        (looked, "open_clip"),
    ):
        with pytest.raises(ValueError, match=r"cannot go to .* two open_clip towers"):
            export(folder, to, tmp_path / "out")
    with pytest.raises(KeyError, match="no form"):
        export(run, "tensorflow", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    export(run, "open_clip", tmp_path / "out")
    with pytest.raises(FileExistsError, match="name another folder"):
        export(run, "open_clip", tmp_path / "out")


def test_a_model_that_cleans_captions_otherwise_than_clip_is_no_clip_of_transformers(tmp_path: Path):
    small = {"layers": 1, "width": 64, "heads": 1, "tokenizer_kwargs": {"clean": "canonicalize"}}
    image = {"layers": 1, "width": 64, "patch_size": 16, "image_size": 32}
    (tmp_path / "m.json").write_text(json.dumps({"embed_dim": 64, "text_cfg": small, "vision_cfg": image}))
    model = wb.open_model(tmp_path / "m.json", random_weights=True, device="cpu")
    model.pair.image.export(tmp_path / "local")
    with pytest.raises(ValueError, match="another tokenizer than CLIP"):
        export(str(tmp_path / "local"), "transformers", tmp_path / "out")


def test_adapters_are_merged_into_what_goes_out(tmp_path: Path, home: Path, photos):  # noqa: F811
    options = {"model": str(home / "tiny.json"), "pretrained": str(home / "plain.safetensors")}
    lora = {"rank": 2, "sides": "text"}
    towers = {"image_encoder": {"name": "towers", **options, "lora": lora}, "text_encoder": "towers"}
    config = wb.Config(objective="infonce", **{**SMALL, "lr": 0.01, "swa_from": 1}, **towers)
    wb.train(config, folder=tmp_path / "run", progress=False).save(tmp_path / "run")
    place = export(tmp_path / "run", "open_clip", tmp_path / "out")
    assert not [name for name in load_file(place / "open_clip_model.safetensors") if "lora" in name]
    expected = ours(tmp_path / "run", photos)
    assert alike(ours(place, photos), expected, within=1e-5)
    before = wb.open_model(options["model"], options["pretrained"], device="cpu").embed_texts(TEXTS).mean
    assert np.abs(before.numpy() - expected[1]).max() > 1e-3


def test_a_model_of_transformers_is_trained_here_and_goes_back_with_its_adapters_merged(
    tmp_path: Path,
    home: Path,  # noqa: F811
    photos,
):
    import transformers

    encoder = {"name": "transformers", "model": str(home / "clip"), "lora": {"rank": 2}}
    config = wb.Config(objective="infonce", image_encoder=encoder, **{**SMALL, "lr": 0.01, "swa_from": 1})
    result = wb.train(config, folder=tmp_path / "run", progress=False)
    assert result.config["text_encoder"] == {"name": "transformers"}
    result.save(tmp_path / "run")
    place = export(tmp_path / "run", "transformers", tmp_path / "out")
    assert not [name for name in load_file(place / "model.safetensors") if "lora" in name]
    model = transformers.AutoModel.from_pretrained(place).eval()
    given = transformers.AutoProcessor.from_pretrained(place)(
        text=TEXTS, images=photos, padding=True, truncation=True, max_length=20, return_tensors="pt"
    )
    with torch.no_grad():
        out = model(**given)
    assert alike((out.image_embeds, out.text_embeds), ours(tmp_path / "run", photos), within=1e-5)
    assert alike(ours(place, photos), ours(tmp_path / "run", photos), within=1e-5)
    before = wb.open_model(home / "clip", device="cpu").embed_texts(TEXTS).mean
    assert np.abs(before.numpy() - out.text_embeds.numpy()).max() > 1e-3
