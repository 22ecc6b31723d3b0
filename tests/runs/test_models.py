"""Every way to name a model gives one that embeds images and texts; a misshapen one is one line."""

from __future__ import annotations

import json
import re
import shutil
import time
import warnings
from pathlib import Path

import huggingface_hub as hub
import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.runs.models import open_model
from workbench.runs.preview import preview_model

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "head_width": 32, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 1},
}


class Held(torch.nn.Module):
    """What a traced tower holds: weights, and the mask of its text tower."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name, value in {**weights, "attn_mask": torch.full((77, 77), -torch.inf)}.items():
            place: torch.nn.Module = self
            for part in name.split(".")[:-1]:
                place = place._modules.setdefault(part, torch.nn.Module())
            place.register_buffer(name.split(".")[-1], value)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return given


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with one tiny model in every form that people have them in."""
    folder = tmp_path_factory.mktemp("models")
    config = folder / "tiny.json"
    config.write_text(json.dumps(TINY), encoding="utf-8")
    open_clip.add_model_config(config)
    torch.manual_seed(0)
    weights = open_clip.create_model("tiny").state_dict()
    save_file(weights, folder / "plain.safetensors")
    wrapped = {
        "state_dict": {f"module._orig_mod.{name}": value for name, value in weights.items()},
        "epoch": 3,
    }
    torch.save(wrapped, folder / "wrapped.pt")
    torch.save({"model": weights}, folder / "model.pt")
    torch.save({"optimizer": {"state": {}}, "ema_net": weights, "best": torch.zeros(())}, folder / "ema.pt")
    torch.save(dict(enumerate(weights.values())), folder / "numbered.pt")
    torch.save({name: one[:3] if one.ndim > 1 else one for name, one in weights.items()}, folder / "cut.pt")
    (folder / "zeros.pt").write_bytes(bytes(4000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated, and models are still handed on in it
        torch.jit.save(torch.jit.script(Held(weights)), folder / "script.pt")
    (folder / "quick.json").write_text(json.dumps({**TINY, "quick_gelu": True}))
    local = folder / "local"
    local.mkdir()
    (local / "open_clip_config.json").write_text(json.dumps({"model_cfg": TINY, "preprocess_cfg": {}}))
    save_file(weights, local / "open_clip_model.safetensors")
    _transformers(folder / "clip")
    return folder


def _transformers(folder: Path) -> None:
    import transformers

    words = {"<|startoftext|>": 0, "<|endoftext|>": 1, **{chr(97 + n): n + 2 for n in range(26)}}
    words |= {f"{chr(97 + n)}</w>": n + 28 for n in range(26)}
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(words))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    side = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = side | {
        "vocab_size": len(words),
        "max_position_embeddings": 20,
        "eos_token_id": 1,
        "bos_token_id": 0,
    }
    vision = side | {"image_size": 32, "patch_size": 16}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    torch.manual_seed(1)
    transformers.CLIPModel(config).save_pretrained(folder)
    size = {"shortest_edge": 32}
    images = transformers.CLIPImageProcessor(size=size, crop_size={"height": 32, "width": 32})
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)


def _sentences(folder: Path, clip: Path) -> None:
    """The model of transformers as sentence-transformers keeps one."""
    import sentence_transformers as library

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its modules have moved
        from sentence_transformers.models import CLIPModel
    library.SentenceTransformer(modules=[CLIPModel(str(clip))], device="cpu").save(str(folder))


def test_a_folder_of_sentence_transformers_is_read_as_it_encodes(home: Path):
    _sentences(home / "sentences", home / "clip")
    opened, texts = open_model(home / "sentences", device="cpu"), ["a dog", "two cars"]
    images = [Image.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    own = opened.subject.model
    for found, given in ((opened.embed_texts(texts), texts), (opened.embed_images(images), images)):
        expected = torch.nn.functional.normalize(torch.as_tensor(own.encode(given)), dim=1)
        assert torch.allclose(found.mean, expected, atol=1e-5)


class Mine:
    """The object that everybody writes."""

    def encode_image(self, images):
        return np.stack([np.asarray(one.resize((2, 2)), dtype=np.float32).ravel() + 1 for one in images])

    def encode_text(self, texts):
        return np.stack([np.arange(12, dtype=np.float32) + len(text) for text in texts])


WAYS = {
    "a shipped model": ("scenes", "scenes"),
    "a name with its weights": ("scenes:scenes", ""),
    "an open_clip name without weights": ("tiny", ""),
    "a JSON configuration and a file": ("HOME/tiny.json", "HOME/plain.safetensors"),
    "a name and a wrapped checkpoint": ("tiny", "HOME/wrapped.pt"),
    "a name and weights below `model`": ("tiny", "HOME/model.pt"),
    "an archive of TorchScript": ("HOME/quick.json", "HOME/script.pt"),
    "a folder of open_clip": ("HOME/local", ""),
    "a folder of transformers": ("HOME/clip", ""),
    "an object": (Mine(), ""),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_embeds_images_and_texts_whatever_names_it(way: str, home: Path):
    model, pretrained = WAYS[way]
    model = model.replace("HOME", str(home)) if isinstance(model, str) else model
    file = pretrained.replace("HOME", str(home))
    opened = open_model(model, file, device="cpu", random_weights=True)
    images = [Image.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    image, text = opened.embed_images(images), opened.embed_texts(["a dog", "", "two red cars in the snow"])
    assert len(image) == 2
    assert len(text) == 3
    assert torch.allclose(image.mean.norm(dim=1), torch.ones(2), atol=1e-4)
    assert opened.scores(image, text).shape == (2, 3)


@pytest.mark.parametrize("file", ["plain.safetensors", "wrapped.pt", "model.pt", "ema.pt"])
def test_wrappings_do_not_change_a_weight(file: str, home: Path):
    images = [Image.new("RGB", (40, 30), "red")]
    plain = open_model("tiny", str(home / "plain.safetensors")).embed_images(images).mean
    assert torch.equal(open_model("tiny", str(home / file)).embed_images(images).mean, plain)
    assert torch.allclose(open_model(home / "local").embed_images(images).mean, plain, atol=1e-5)


@pytest.mark.parametrize("model", ["ViT-B-32", "HOME/tiny.json", "scenes"])
def test_a_model_without_weights_is_refused_unless_random_ones_are_asked_for(model: str, home: Path):
    place, photos = model.replace("HOME", str(home)), home / "photos"
    photos.mkdir(exist_ok=True)
    Image.new("RGB", (8, 8)).save(photos / "a.png")
    with pytest.raises(ValueError, match="comes without weights"):
        open_model(place)
    for verb in (["evaluate", "--data", "scenes"], ["explore", "--images", photos], ["doctor"]):
        ended = CliRunner().invoke(app, [*map(str, verb), "--model", place])
        assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
        assert "comes without weights" in ended.stderr


def test_random_weights_are_named_in_every_output_and_are_the_same_again(home: Path, tmp_path: Path):
    words = ["evaluate", "--model", str(home / "tiny.json"), "--random-weights", "--data", "scenes"]
    run = str(tmp_path / "run")
    first = CliRunner().invoke(app, [*words, "-p", "data.size=16", "--rounds", "0", "--out", run])
    assert first.exit_code == 0, first.stderr
    assert first.stdout.splitlines()[0].startswith("tiny, random weights from seed 0")
    model = open_model(home / "tiny.json", random_weights=True, device="cpu")
    torch.manual_seed(7)
    kept = open_model(run, device="cpu")
    texts = ["a dog", "two cars"]
    assert torch.equal(kept.embed_texts(texts).mean, model.embed_texts(texts).mean)
    assert kept.name == model.name == "tiny, random weights"
    split = wb.load_data("scenes", split="test", size=16)
    called = wb.evaluate(model, split, name="mine", rounds=0)
    assert str(called).startswith("mine, random weights on ")
    assert called.split.notes[0] == model.notes[0]
    assert preview_model(kept, split, name="mine").name == "mine, random weights"


def test_drawing_weights_leaves_other_random_numbers_as_they_are(home: Path):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    open_model("tiny", random_weights=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_is_called_after_its_name_and_its_file(home: Path):
    assert open_model("tiny", str(home / "plain.safetensors")).name == "tiny:plain"


def test_a_finished_run_is_a_model(tmp_path: Path):
    small = {"train_images": 32, "val_images": 16, "test_images": 16, "batch_size": 16, "epochs": 1}
    result = wb.train(wb.Config(objective="infonce", **small), folder=tmp_path / "run", progress=False)
    result.save(tmp_path / "run")
    opened = wb.open_model(tmp_path / "run")
    assert torch.allclose(opened.embed_texts(["a dog"]).mean, result.model.embed_texts(["a dog"]).mean)
    again = wb.evaluate(opened, result.split)
    assert again["rsum"] == pytest.approx(result["rsum"], abs=1e-6)


def _misshapen(home: Path) -> None:
    """Folders and files that are nearly models."""
    if (home / "bare").is_dir():
        return
    weights = load_file(home / "plain.safetensors")
    (home / "half.safetensors").write_bytes((home / "plain.safetensors").read_bytes()[:3000])
    torch.save({"student": weights, "teacher": weights}, home / "two.pt")
    (home / "odd.json").write_text(json.dumps({**TINY, "foo": 1}))
    wide = TINY["text_cfg"] | {"context_length": 20, "width": 32}
    (home / "wide.json").write_text(json.dumps({**TINY, "text_cfg": wide}))
    for name, change in {
        "bare": None,
        "local_nan": {"visual.proj": weights["visual.proj"] * float("nan")},
        "local_other": {"visual.proj": weights["visual.proj"][:, :3].contiguous()},
    }.items():
        shutil.copytree(home / "local", home / name)
        (home / name / "open_clip_model.safetensors").unlink()
        if change:
            save_file(weights | change, home / name / "open_clip_model.safetensors")
    held = load_file(home / "clip" / "model.safetensors")
    for name, some in {
        "clip_part": {name: one for name, one in held.items() if name.startswith("text_model")},
        "clip_ddp": {f"module.{name}": one for name, one in held.items()},
    }.items():
        shutil.copytree(home / "clip", home / name)
        save_file(some, home / name / "model.safetensors", {"format": "pt"})
    shutil.copytree(home / "clip", home / "clip_lfs")
    (home / "clip_lfs" / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1")
    shutil.copytree(
        home / "clip", home / "clip_mute", ignore=shutil.ignore_patterns("token*", "vocab*", "me*")
    )


def test_half_of_the_precision_is_resized_to_another_resolution(home: Path):
    weights = load_file(home / "plain.safetensors")
    torch.save({name: one.half() for name, one in weights.items()}, home / "fp16.pt")
    (home / "large.json").write_text(
        json.dumps({**TINY, "vision_cfg": TINY["vision_cfg"] | {"image_size": 64}})
    )
    images = [Image.new("RGB", (40, 30), "red")]
    large = [open_model(home / "large.json", str(home / file)) for file in ("fp16.pt", "plain.safetensors")]
    half, full = (one.embed_images(images).mean for one in large)
    assert torch.allclose(half, full, atol=1e-2)


def test_a_bare_network_is_told_to_be_wrapped(home: Path):
    with pytest.raises(TypeError, match=r"CLIP.encode_image\(\) fails on a list of Image: .*; wrap it in an"):
        wb.evaluate(open_clip.create_model("tiny"), wb.load_data("scenes", size=8))


@pytest.mark.parametrize(
    ("model", "pretrained", "kind", "message"),
    [
        ("ViT-B-33", "", KeyError, "no model 'ViT-B-33'; did you mean"),
        ("ViT-B-33:openai", "", KeyError, "no model 'ViT-B-33:openai'; did you mean"),
        ("RN50:openai", "yfcc15m", ValueError, "the weights openai, and pretrained is 'yfcc15m'"),
        ("./nowhere", "", FileNotFoundError, "there is no folder ./nowhere"),
        ("tiny", "HOME/lfs.safetensors", ValueError, r"lfs.safetensors holds no weights: it is a Git LFS"),
        ("tiny", "HOME/page.pt", ValueError, r"page.pt holds no weights: it is a web page"),
        ("tiny", "HOME/empty.pt", ValueError, r"empty.pt holds no weights: it is empty"),
        ("tiny", "HOME/nan.safetensors", ValueError, r"nan.safetensors.* not finite"),
        ("tiny", "HOME/none.pt", FileNotFoundError, "none.pt"),
        ("tiny", "HOME/numbered.pt", ValueError, "numbered.pt holds the weights of another model: it lacks"),
        ("tiny", "HOME/cut.pt", ValueError, "cut.pt holds the weights of another model"),
        ("tiny", "HOME/zeros.pt", ValueError, "zeros.pt holds no weights: it is cut off, or no file"),
        (
            "HOME/wide.json",
            "HOME/plain.safetensors",
            ValueError,
            "plain.safetensors holds the weights of another",
        ),
        ("tiny", "HOME/half.safetensors", ValueError, "half.safetensors holds no weights: it is cut off"),
        (
            "tiny",
            "HOME/two.pt",
            ValueError,
            "two.pt holds no weights, but student, teacher; save one",
        ),
        ("tiny", "HOME/void", ValueError, "no pretrained tag .*, and no file of this name; it has no tags"),
        ("HOME/odd.json", "", ValueError, "odd.json describes no model that open_clip builds"),
        ("HOME/bare", "", FileNotFoundError, "bare holds no weights"),
        ("HOME/local_nan", "", ValueError, "local_nan/open_clip_model.safetensors.* not finite"),
        ("HOME/local_other", "", ValueError, "local_other/.*safetensors holds the weights of another model"),
        (
            "HOME/clip_lfs",
            "",
            ValueError,
            "clip_lfs/model.safetensors holds no part of a model: it is a Git LFS",
        ),
        ("HOME/clip_part", "", ValueError, "clip_part lacks 26 weights, .* first; save the model"),
        ("HOME/clip_ddp", "", ValueError, "clip_ddp lacks 46 weights"),
        ("HOME/clip_mute", "", ValueError, "clip_mute holds a tokenizer without words; save the model"),
        ("HOME/void", "", FileNotFoundError, "void holds no model"),
        ("HOME/plain.safetensors", "", ValueError, "is a file; name the model that it belongs to"),
        ("HOME/clip", "x.pt", ValueError, "holds its own weights"),
        (object(), "", TypeError, "has no encode_image"),
    ],
)
def test_what_is_no_model_is_one_line(model, pretrained, kind, message, home: Path):
    (home / "lfs.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    )
    (home / "page.pt").write_text("<!DOCTYPE html><html></html>")
    (home / "empty.pt").write_bytes(b"")
    (home / "void").mkdir(exist_ok=True)
    _misshapen(home)
    broken = {name: one * float("nan") for name, one in open_clip.create_model("tiny").state_dict().items()}
    save_file(broken, home / "nan.safetensors")
    model = model.replace("HOME", str(home)) if isinstance(model, str) else model
    pretrained = pretrained.replace("HOME", str(home))
    with pytest.raises(kind, match=message) as raised:
        open_model(model, pretrained, random_weights=True)
    assert "\n" not in str(raised.value.args[0])
    if isinstance(model, str):
        words = [
            "evaluate",
            "--model",
            model,
            "--pretrained",
            pretrained,
            "--random-weights",
            "--data",
            "scenes",
            "--device",
            "cpu",
        ]
        ended = CliRunner().invoke(app, words)
        assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
        assert re.search(message, ended.stderr)


def test_a_device_that_is_given_with_an_opened_model_is_taken(home: Path):
    opened = open_model("tiny", device="cpu", random_weights=True)
    assert open_model(opened) is opened
    with pytest.raises(ValueError, match="device is 'gpu'"):
        open_model(opened, device="gpu")


HUB = [
    "a/clip",
    "sentence-transformers/clip",
    "hf-hub:a/clip",
    "ViT-B-32:laion2b_s34b_b79k",
    "roberta-ViT-B-32",
]


@pytest.mark.parametrize("name", HUB)
def test_a_name_of_the_hub_without_network_is_one_line_at_once(name: str, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    began = time.perf_counter()
    with pytest.raises(FileNotFoundError, match=f"{name} is not on this machine, and the hub"):
        open_model(name, device="cpu", random_weights=True)
    assert time.perf_counter() - began < 20
    assert not hub.constants.HF_HUB_OFFLINE


def test_a_name_of_the_hub_without_network_is_taken_from_its_cache(home: Path, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--a--clip"
    shutil.copytree(home / "clip", place / "snapshots" / "0")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0")
    found = open_model("a/clip", device="cpu").embed_texts(["a dog"]).mean
    assert torch.equal(found, open_model(home / "clip", device="cpu").embed_texts(["a dog"]).mean)
