from __future__ import annotations

import json
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from workbench.cli import app
from workbench.data.images import folder_split
from workbench.encoders._open_clip import build, find_description
from workbench.runs.models import open_model
from workbench.runs.preview import check_model, preview_model
from workbench.views.explorer import Explorer, explore

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
TINY = {
    "embed_dim": 20,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 24, "head_width": 8, "patch_size": 8},
    "text_cfg": {"context_length": 12, "width": 16, "heads": 2, "layers": 1},
}


class ByColour:
    """Three dimensions: how red, green and blue an image is, or which of these words a text holds."""

    def encode_image(self, images):
        return np.array([np.asarray(image).mean(axis=(0, 1)) for image in images])

    def encode_text(self, texts):
        return torch.tensor([[0.1 + (name in text.split()) for name in COLOURS] for text in texts])


class Wide(ByColour):
    """Texts have one dimension more than images."""

    def encode_text(self, texts):
        return torch.ones(len(texts), 4).cumsum(0)


class Same(ByColour):
    """All images look alike to it."""

    def encode_image(self, images):
        return np.ones((len(images), 3))


class Flat(ByColour):
    """Gives one number an image."""

    def encode_image(self, images):
        return np.ones(len(images))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an image of each colour, one of them deeper, and a file that is none."""
    (tmp_path / "images" / "deep").mkdir(parents=True)
    for name, colour in COLOURS.items():
        place = tmp_path / "images" / ("deep" if name == "blue" else "") / f"a_{name} thing.png"
        Image.new("RGB", (20, 10), colour).save(place)
    (tmp_path / "images" / "notes.txt").write_text("no image")
    return tmp_path / "images"


def test_an_object_with_two_methods_is_asked_in_one_line_by_hand(folder: Path):
    explorer = explore(open_model(ByColour()), images=folder, k=2)
    found = explorer.query(text="something red")
    assert found[0]["id"] == "a_red thing.png"
    # (1.1, 0.1, 0.1) at length 1 with (1, 0, 0)
    assert found[0]["similarity"] == pytest.approx(1.1 / np.sqrt(1.1**2 + 0.02), abs=1e-5)
    assert found[0]["caption"] == "a red thing"
    assert explorer.query(image=Image.new("RGB", (4, 4), "blue"), k=1)[0]["id"] == "deep/a_blue thing.png#0"
    assert explorer.config["runs"] == ["ByColour"]


@pytest.fixture
def untrained(tmp_path: Path) -> tuple[str, str]:
    """Configuration and weights of an untrained open_clip model, as files."""
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    network = build(find_description(str(tmp_path / "tiny.json")), "")
    torch.save(network.state_dict(), tmp_path / "tiny.pt")
    return str(tmp_path / "tiny.json"), str(tmp_path / "tiny.pt")


def test_an_untrained_open_clip_model_is_opened_from_its_file(folder: Path, untrained: tuple[str, str]):
    model, weights = untrained
    run, again = (preview_model(open_model(model, weights), folder) for _ in range(2))
    assert run.image.mean.shape == run.text.mean.shape == (3, 20)
    assert torch.equal(run.image.mean, again.image.mean), "the weights are those of the file"
    own = run.model.embed_images([run.split.open_image(1)]).mean
    assert torch.allclose(own[0], run.image.mean[1], atol=1e-6)
    explorer = Explorer([run], k=3)
    assert len(explorer.query(text="a dog")) == 3


def test_a_dry_check_says_shapes_lengths_directions_and_time(folder: Path):
    said = check_model(ByColour(), folder)
    assert said["images"] == "(3, 3), length 1.000"
    assert said["texts"] == "(6, 3), length 1.000"
    assert said["scores"].startswith("3 images by 6 texts")
    assert "ms" in said["an image"]


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        (Wide(), ValueError, "images have 3 dimensions and texts 4"),
        (Same(), ValueError, "all images have the same vector"),
        (Flat(), ValueError, r"encode_image\(\) of 3 gave shape \(3,\)"),
        (object(), TypeError, "object has no encode_image"),
    ],
)
def test_what_a_model_lacks_is_named(folder: Path, model: object, kind: type[Exception], said: str):
    with pytest.raises(kind, match=said):
        check_model(model, folder)


def test_captions_that_lie_in_the_folder_are_read_by_the_door(folder: Path):
    assert preview_model(open_model(ByColour()), folder).split.captions[0] == "a green thing"
    rows = [f"a_{name} thing.png,something {name}" for name in COLOURS if name != "blue"]
    (folder / "metadata.csv").write_text("\n".join(["file_name,text", *rows]))
    split = preview_model(open_model(ByColour()), folder).split
    assert split.captions == tuple(f"something {name}" for name in COLOURS if name != "blue")
    (folder / "metadata.csv").write_text("file_name,text\nlost.png,something lost")
    with pytest.raises(FileNotFoundError, match=r"lost\.png"):
        preview_model(open_model(ByColour()), folder).image  # noqa: B018


def test_a_folder_without_images_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="holds no image"):
        folder_split(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        preview_model(open_model(ByColour()), tmp_path / "nowhere")


def one_command(untrained: tuple[str, str], images: Path, root: Path) -> Explorer:
    """What the cell of the notebook makes that ``workbench explore`` writes."""
    model, weights = untrained
    own = ["--model", model, "--pretrained", weights, "--images", str(images)]
    checked = CliRunner().invoke(app, ["doctor", *own])
    assert checked.exit_code == 0, checked.output
    assert [line.split("  ")[0] for line in checked.output.splitlines()][:3] == ["images", "texts", "scores"]
    written = CliRunner().invoke(app, ["explore", *own, "--prepare", "--root", str(root), "--json"])
    assert written.exit_code == 0, written.output
    book = nbformat.read(json.loads(written.output)["notebook"], 4)
    made: dict[str, Explorer] = {}
    (code,) = (cell.source for cell in book.cells if "wb.explore(" in cell.source)
    exec(code.replace("explorer.show()", ""), made)
    return made["explorer"]


def test_one_command_checks_a_model_and_one_writes_the_notebook_that_explores_it(
    folder: Path, untrained: tuple[str, str], tmp_path: Path
):
    explorer = one_command(untrained, folder, tmp_path / "runs")
    assert len(explorer.query(text="a dog", k=3)) == 3
    dry = CliRunner().invoke(app, ["doctor", "--model", untrained[0], "--random-weights"]).output.splitlines()
    assert [line.split()[:2] for line in dry[:2]] == [["weights", "random"], ["images", "(8,"]]


@pytest.mark.slow
@pytest.mark.real_data
def test_photographs_are_explored_with_an_untrained_model(
    real_data: Path, untrained: tuple[str, str], tmp_path: Path
):
    (tmp_path / "photographs").mkdir()
    photographs = sorted((real_data / "flickr8k" / "images").glob("*.jpg"))[:40]
    for file in photographs:
        (tmp_path / "photographs" / file.name).symlink_to(file)
    explorer = one_command(untrained, tmp_path / "photographs", tmp_path / "runs")
    found = explorer.query(text="a dog in the snow", k=40)
    assert sorted(one["id"] for one in found) == [file.name for file in photographs]
