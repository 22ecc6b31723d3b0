"""One choice of a device, which everything that encodes follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import nbformat
import numpy as np
import pytest
import torch
import typer
from accelerate import Accelerator
from torch import nn
from torch.utils._pytree import tree_leaves
from typer.testing import CliRunner

from tests.runs.test_vectors import GUIDED
from workbench import data, devices, encoders, text
from workbench.cli import app
from workbench.encoders import backbones
from workbench.encoders.base import Pair
from workbench.objectives.base import Objective
from workbench.runs import Config, open_runs, prepare
from workbench.runs.models import open_model
from workbench.runs.train import train
from workbench.tour import stops_on
from workbench.training import processes
from workbench.training.settings import Settings

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


@pytest.fixture(autouse=True)
def _no_choice():
    devices.use()
    yield
    devices.use()


def test_without_a_gpu_auto_is_the_cpu_and_with_one_the_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.find_device() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.find_device() == torch.device("cuda")
    assert devices.find_device("cpu") == torch.device("cpu")


def test_what_is_chosen_holds_until_something_else_is():
    devices.use("cpu:0")
    assert devices.find_device() == torch.device("cpu:0")
    assert devices.find_device("cpu") == torch.device("cpu")
    devices.use()
    assert devices.find_device().type in ("cpu", "cuda")


@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("gpu", "auto", "device is 'gpu'; use auto, cpu, cuda or cuda:1"),
        ("cuda:7", "auto", "device='cuda:7', but PyTorch sees no such GPU; use device='auto' or 'cpu'"),
        ("cpu", "fp8", "precision is 'fp8'; it is one of auto, float32, bf16, fp16"),
        ("cpu", "bf16", "precision='bf16' is for a GPU"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_and_changes_nothing(device, precision, message):
    with pytest.raises(ValueError, match=message):
        devices.use(device, precision)
    assert devices.find_device().type in ("cpu", "cuda")


@pytest.mark.parametrize("device", ["meta", "vulkan", "hpu", "fpga", "privateuseone"])
def test_a_device_that_pytorch_knows_and_the_machine_lacks_is_refused_by_name(device):
    with pytest.raises(ValueError, match=f"device='{device}'.*use device='auto' or 'cpu'"):
        devices.find_device(device)


def test_half_precision_is_for_gpus():
    assert type(devices.in_precision(torch.device("cpu"))).__name__ == "nullcontext"


# what a lookup finds: the CPU by its number, which PyTorch tells from the CPU that tensors are made on
THERE = torch.device("cpu", 0)


@dataclass
class Asked:
    """The devices that were looked up, what was moved to ``THERE``, and what encoders were given.

    Args:
        names: of the devices that were looked up.
        modules: that were moved there as a whole.
        tensors: shape and type of those that were moved there, apart from weights.
        encoded: device of an encoder's weights, and devices of the batch that it encodes, one a call.
    """

    names: list[str] = field(default_factory=list)
    modules: list[nn.Module] = field(default_factory=list)
    tensors: list[tuple[torch.Size, torch.dtype]] = field(default_factory=list)
    encoded: list[tuple[torch.device, set[torch.device]]] = field(default_factory=list)

    def clear(self) -> None:
        """Forget all."""
        for one in vars(self).values():
            one.clear()

    def require_there(self) -> None:
        """Every lookup was of the device asked for, and all that was encoded lay there with its encoder."""
        assert set(self.names) == {"cuda"}
        assert self.encoded
        assert all((weights, batch) == (THERE, {THERE}) for weights, batch in self.encoded)


@pytest.fixture
def asked(monkeypatch) -> Asked:
    """All devices that are looked up are ``THERE``; tensors stay on the CPU and say where they were moved."""
    seen = Asked()

    def find(device: str = "") -> torch.device:
        seen.names.append(device or devices._choice["device"])
        return THERE

    monkeypatch.setattr(devices, "find_device", find)
    # Accelerate looks up the device that it trains on by itself
    monkeypatch.setattr(Accelerator, "device", property(lambda one: THERE))
    pretend_places(monkeypatch, seen)
    for encoder in map(encoders.member, encoders.names()):
        for side in ("encode_images", "encode_texts"):
            monkeypatch.setattr(encoder, side, noting(getattr(encoder, side), seen))
    devices.use("cuda")
    seen.clear()
    return seen


def pretend_places(monkeypatch, seen: Asked) -> None:
    """Tensors name the device that they, or the module whose weights they are, were moved to last."""
    move, move_all, real = torch.Tensor.to, nn.Module.to, torch.Tensor.device

    def named(args, options) -> torch.device | None:
        return next((one for one in (*args, *options.values()) if isinstance(one, torch.device)), None)

    def to(self, *args, **options):
        made, device = move(self, *args, **options), named(args, options)
        if device is not None:
            made.place = device
        if device == THERE:
            seen.tensors.append((made.shape, made.dtype))
        return made

    def all_to(self, *args, **options):
        before, device = len(seen.tensors), named(args, options)
        move_all(self, *args, **options)
        del seen.tensors[before:]
        for one in (*self.parameters(), *self.buffers()) if device is not None else ():
            one.place = device
        if device == THERE:
            seen.modules.append(self)
        return self

    monkeypatch.setattr(torch.Tensor, "to", to)
    monkeypatch.setattr(nn.Module, "to", all_to)
    place = property(lambda one: getattr(one, "place", None) or real.__get__(one))
    monkeypatch.setattr(torch.Tensor, "device", place)


def noting(encode, seen: Asked):
    """The side of an encoder, which notes where its weights and its batches lie."""

    def noted(self, batch):
        given = [one for one in tree_leaves([batch.inputs, batch.signals]) if isinstance(one, torch.Tensor)]
        seen.encoded.append((next(self.parameters()).device, {one.device for one in given}))
        return encode(self, batch)

    return noted


def test_an_opened_run_and_its_embeddings_are_made_on_the_device(asked):
    run = open_runs(images=4)[0]
    assert len(run.image) == 4
    asked.require_there()
    assert run.model.pair in asked.modules


class Own(nn.Module):
    """A model of one's own that notes where its weights are when it is asked."""

    def __init__(self):
        super().__init__()
        self.linear, self.places = nn.Linear(2, 2), []

    def encode_image(self, given):
        self.places.append(self.linear.weight.device)
        return torch.ones(len(given), 2)

    encode_text = encode_image


def test_a_model_of_ones_own_is_moved_to_the_device(asked):
    own = Own()
    open_model(own).embed_texts(["a dog"])
    assert own.places == [THERE]
    assert asked.names == ["cuda"]


def test_frozen_features_of_images_are_made_on_the_device(asked, tmp_path):
    split = data.load("scenes", split="test", size=4)
    backbones.extract(split, "scenes_backbone", cache=tmp_path, progress=False)
    assert_moved_with_pixels(asked, 4)
    backbones.image_features([split.open_image(0)], "scenes_backbone")
    assert_moved_with_pixels(asked, 1)


def assert_moved_with_pixels(asked: Asked, images: int) -> None:
    """One network and the pixels of so many images were moved to the device; both are then forgotten."""
    assert asked.names == ["cuda"]
    assert len(asked.modules) == 1
    assert [(shape[0], kind) for shape, kind in asked.tensors] == [(images, torch.uint8)]
    asked.clear()


def test_vectors_of_a_frozen_encoder_are_made_on_the_device_and_it_goes_home(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    guide = prepare(Config(**GUIDED | {"device": "cuda"}), progress=False).model.pair.image.guide
    asked.require_there()
    assert next(guide.parameters()).device == torch.device("cpu")


def test_a_judge_that_encodes_sentences_does_it_on_the_device(asked):
    text.load("sentence").transform(["a dog"], np.array([0]))
    assert asked.names == ["cuda"]
    assert len(asked.modules) == 1


SMALL = {
    "objective": "vsepp", "train_images": 16, "val_images": 8, "test_images": 8, "batch_size": 8, "epochs": 1,
}  # fmt: skip


# the verbs that encode; RUN is a run of SMALL, trained on the CPU
VERBS = (
    "evaluate --model scenes:scenes --data scenes -p data.size=8 --split test --device cuda --root runs",
    "evaluate RUN --device cuda",
    "explore RUN --page answers.html --ask dog --device cuda",
    "train --out runs/new -p device=cuda " + " ".join(f"-p {name}={one}" for name, one in SMALL.items()),
)


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words.partition(" --device")[0][:20])
def test_a_verb_that_encodes_does_it_on_the_device(words, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "RUN" in words:
        train(prepare(Config(**SMALL, device="cpu"), progress=False), folder="runs/made")
    devices._choice.update(device="auto")
    asked.clear()
    done = CliRunner().invoke(app, words.replace("RUN", "runs/made").split())
    assert done.exit_code == 0, done.output
    asked.require_there()
    assert any(isinstance(one, Objective | Pair) for one in asked.modules)


# every verb that takes a device, with one that holds no numbers
ELSEWHERE = (
    "evaluate --model scenes:scenes --data scenes --device meta",
    "explore --page answers.html --ask dog --device meta",
    "explore --prepare --device meta",
    "tour --device meta",
    "train -p device=meta",
    "run 04_embedding_map -p device=meta",
    "run 08_relevance -p device=meta",
    "grid 04_embedding_map several.yaml -p device=meta",
)


@pytest.mark.parametrize("words", ELSEWHERE)
def test_a_verb_refuses_a_device_in_one_line_and_writes_nothing(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("several.yaml").write_text("grid: {seed: [0, 1]}")
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2, done.output
    assert len(done.output.splitlines()) == 1
    assert "device" in done.output
    assert "meta" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["several.yaml"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_training_leaves_a_gpu_to_accelerate_and_nothing_else(device, monkeypatch):
    given = {}
    monkeypatch.setattr(devices, "find_device", torch.device)
    monkeypatch.setattr(processes, "Accelerator", lambda **options: given.update(options))
    processes.make_accelerator(Settings(device=device), None)
    assert given["cpu"] is (device == "cpu")


@pytest.mark.parametrize("verb", ["run", "grid", "table"])
def test_what_runs_notebooks_hands_the_device_to_them(verb):
    assert any("--parameter" in option.opts for option in typer.main.get_command(app).commands[verb].params)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_chooses_its_device_before_anything_else(path):
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert {"device: str", "precision: str"} <= {
        line.partition(" =")[0] for line in cells[1].source.splitlines()
    }
    assert cells[2].source.startswith("wb.use_device(device, precision)\n")


def test_the_tour_gives_every_notebook_its_device():
    assert {stop.parameters["device"] for stop in stops_on("cuda", "bf16")} == {"cuda"}
    assert {stop.parameters["precision"] for stop in stops_on("cuda", "bf16")} == {"bf16"}


def test_what_trains_and_what_encodes_call_a_precision_the_same():
    assert set(get_args(Settings.model_fields["precision"].annotation)) <= set(devices.PRECISIONS)


def test_auto_follows_the_choice_of_the_process_in_training_too(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert devices.find_device("auto").type == "cuda"
    devices.use("cpu", "float32")
    assert {devices.find_device(name).type for name in ("", "auto")} == {"cpu"}
    assert [devices.precision_of(name) for name in ("", "auto", "bf16")] == ["float32", "float32", "bf16"]
    assert processes.make_accelerator(Settings(), None).device.type == "cpu"
    devices.use("auto")
    assert devices.find_device().type == "cuda"
