"""Weights as training tools write them are read; what holds none is named in one line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from workbench.cli import app
from workbench.encoders._open_clip import build, find_description, fitting_model
from workbench.encoders.towers import Towers

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, torch.Tensor]]:
    """A JSON configuration and weights that fit it."""
    file = tmp_path_factory.mktemp("tiny") / "tiny.json"
    file.write_text(json.dumps(TINY))
    torch.manual_seed(0)
    return str(file), build(find_description(str(file)), "").state_dict()


def prefixed(weights: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {prefix + name: value for name, value in weights.items()}


WRAPPED = {
    "plain": lambda w: w,
    "state_dict": lambda w: {"state_dict": w, "epoch": 3, "optimizer": {"lr": 0.1}},
    "model": lambda w: {"model": w, "epoch": 1},
    "data parallel": lambda w: {"state_dict": prefixed(w, "module.")},
    "compiled": lambda w: prefixed(w, "_orig_mod."),
    "both": lambda w: {"model": prefixed(w, "module._orig_mod.")},
    "lightning": lambda w: {"state_dict": prefixed(w, "model.") | {"loss.scale": torch.ones(())}},
    "half": lambda w: {n: v.half() if v.is_floating_point() else v for n, v in w.items()},
    "scale of one number": lambda w: w | {"logit_scale": w["logit_scale"].reshape(1)},
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_weights_are_read_through_what_training_tools_write_around_them(kind, tiny, tmp_path: Path):
    model, weights = tiny
    torch.save(WRAPPED[kind](weights), tmp_path / "w.pt")
    found = build(find_description(model), str(tmp_path / "w.pt")).state_dict()
    for name, value in weights.items():
        torch.testing.assert_close(found[name], value, atol=1e-3 if kind == "half" else 0, rtol=0)


def test_a_file_of_safetensors_and_one_without_a_known_ending_are_read(tiny, tmp_path: Path):
    model, weights = tiny
    save_file(weights, tmp_path / "w.safetensors")
    torch.save(weights, tmp_path / "epoch_5")
    for name in ("w.safetensors", "epoch_5"):
        found = build(find_description(model), str(tmp_path / name)).state_dict()
        assert torch.equal(found["visual.proj"], weights["visual.proj"])


NONE = {
    "lfs.safetensors": (b"version https://git-lfs.github.com/spec/v1\nsize 1\n", "a Git LFS pointer"),
    "page.pt": (b"<!DOCTYPE html><html></html>", "a web page"),
    "empty.pt": (b"", "it is empty"),
    "text.pt": (b"these are no weights at all", "holds no weights"),
    "cut.safetensors": (b"\x10\x00\x00\x00\x00\x00\x00\x00{}", "holds no weights"),
}


def refused(model: str, file: Path) -> str:
    """The one line with which the terminal refuses weights."""
    ended = CliRunner().invoke(app, ["doctor", "--model", model, "--pretrained", str(file)])
    assert ended.exit_code == 2, ended.output
    (line,) = ended.output.splitlines()
    assert str(file) in line
    return line


@pytest.mark.parametrize("name", NONE)
def test_what_holds_no_weights_is_one_line_with_its_name(name, tiny, tmp_path: Path):
    content, said = NONE[name]
    (tmp_path / name).write_bytes(content)
    assert said in refused(tiny[0], tmp_path / name)


MISSHAPEN = {
    "foreign": (lambda w: {"state_dict": w, "args": argparse.Namespace(margin=0.2)}, "argparse.Namespace"),
    "nan": (lambda w: w | {"visual.proj": w["visual.proj"] * float("nan")}, "not finite"),
    "infinite": (lambda w: w | {"visual.proj": w["visual.proj"] / 0}, "not finite"),
    "lacking": (
        lambda w: {n: v for n, v in w.items() if n != "visual.proj"},
        "it lacks visual.proj (1 name)",
    ),
    "more": (lambda w: w | {"visual.extra": torch.ones(2)}, "it has visual.extra (1 name)"),
    "shape": (lambda w: w | {"visual.proj": torch.ones(32, 8)}, "of another shape is visual.proj"),
    "no tensors": (lambda w: {"state_dict": {"epoch": 3}}, "holds no weights, but epoch"),
    "a tensor": (lambda w: w["visual.proj"], "holds no weights, but Tensor"),
    "another model": (lambda w: {"layer.weight": torch.ones(2)}, "weights of another model"),
}


@pytest.mark.parametrize("kind", MISSHAPEN)
def test_weights_that_do_not_fit_are_one_line_with_the_files_name(kind, tiny, tmp_path: Path):
    change, said = MISSHAPEN[kind]
    torch.save(change(tiny[1]), tmp_path / f"{kind}.pt")
    assert said in refused(tiny[0], tmp_path / f"{kind}.pt")


class Archive(torch.nn.Module):
    """Stands for a file of OpenAI: weights and the numbers beside them, as TorchScript."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name, value in weights.items():
            *path, last = name.split(".")
            place: torch.nn.Module = self
            for part in path:
                if not hasattr(place, part):
                    place.add_module(part, torch.nn.Module())
                place = getattr(place, part)
            place.register_buffer(last, value.half() if value.is_floating_point() else value)
        self.register_buffer("input_resolution", torch.tensor(32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_an_archive_of_torchscript_is_read_and_takes_quickgelu_whatever_the_name(tiny, tmp_path: Path):
    model, weights = tiny
    torch.jit.save(torch.jit.script(Archive(weights)), tmp_path / "clip.pt")
    torch.save({**weights, "input_resolution": torch.tensor(32)}, tmp_path / "plain.pt")
    for name in ("clip.pt", "plain.pt"):
        file = str(tmp_path / name)
        assert fitting_model("ViT-B-32", file) == fitting_model("ViT-B/32", file) == "ViT-B-32-quickgelu"
        assert fitting_model("ViT-B-32-quickgelu", file) == "ViT-B-32-quickgelu"
        with pytest.raises(ValueError, match='write "quick_gelu": true into'):
            Towers(model=model, pretrained=file)
        quick = tmp_path / "quick.json"
        quick.write_text(json.dumps(TINY | {"quick_gelu": True}))
        network = Towers(model=str(quick), pretrained=file).network
        assert "QuickGELU" in repr(network)
        torch.testing.assert_close(
            network.visual.proj, weights["visual.proj"], atol=1e-3, rtol=0, check_dtype=False
        )
    torch.save(weights, tmp_path / "other.pt")
    assert fitting_model("ViT-B-32", str(tmp_path / "other.pt")) == "ViT-B-32"


def test_the_two_position_tables_of_long_clip_are_read_as_its_encoder_adds_them(tmp_path: Path):
    # 20 positions of the first table and the others of the second, each under a mask of zeros and ones
    long = TINY | {"text_cfg": TINY["text_cfg"] | {"context_length": 248}}
    file = tmp_path / "long.json"
    file.write_text(json.dumps(long))
    weights = build(find_description(str(file)), "").state_dict()
    first, second = torch.randn(2, 248, 16)
    mask = (torch.arange(248) < 20)[:, None]
    torch.save(
        {**weights, "positional_embedding": first, "positional_embedding_res": second}, tmp_path / "l.pt"
    )
    network = build(find_description(str(file)), str(tmp_path / "l.pt"))
    torch.testing.assert_close(network.positional_embedding.detach(), first * mask + second * ~mask)
    assert "text positions of l.pt beyond 20 are those of positional_embedding_res" in network.notes
    file.write_text(json.dumps(TINY))
    with pytest.raises(ValueError, match="holds 248 text positions, and the model has 77; give a JSON"):
        build(find_description(str(file)), str(tmp_path / "l.pt"))
