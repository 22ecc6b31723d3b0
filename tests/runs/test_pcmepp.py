"""PCME++ as its authors publish it: the means and variances of both towers, and the closed-form distance."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from open_clip.transformer import Transformer
from PIL import Image
from safetensors.torch import save_file
from torch.nn.functional import normalize
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.runs.models import open_model

TEXT = {"context_length": 12, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 3}
IMAGE = {"image_size": 32, "layers": 3, "width": 32, "patch_size": 16, "head_width": 16}
TEXTS = ["a red dog", "two blue cats sleep and again a red dog runs and runs", ""]


def noise(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


IMAGES = [noise(32, 32), noise(40, 33)]


def released(folder: Path, *, without: str = "", layers: int = 2) -> dict[str, object]:
    """A folder as the authors' code saves it, and the parts that its weights are from."""
    torch.manual_seed(0)
    clip = open_clip.CLIP(8, IMAGE, TEXT)
    parts = {"clip": clip, "image": Transformer(32, layers, 2), "text": Transformer(16, layers, 2)}
    state = dict(clip.state_dict()) | {"shift": torch.ones(1), "negative_scale": torch.ones(1)}
    state.pop("attn_mask", None)
    for side, start in (("image", "visual."), ("text", "")):
        own = parts[side].state_dict()
        state |= {f"{start}uncertainty_transformer.{name}": value for name, value in own.items()}
    state["visual.uncertainty_proj"] = torch.randn(32, 8) / 4
    state["uncertainty_text_projection"] = torch.randn(16, 8) / 4
    parts["state"] = {name: value.contiguous() for name, value in state.items() if name != without}
    folder.mkdir(exist_ok=True)
    config = {
        "embed_dim": 8,
        "vision_cfg": IMAGE | {"unc_layers": layers},
        "text_cfg": TEXT | {"unc_layers": layers},
    }
    (folder / "config.json").write_text(json.dumps(config))
    save_file(parts["state"], folder / "model.safetensors")
    return parts


@torch.no_grad()
def by_blocks(parts: dict[str, object]) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Means and log variances of both sides, block by block."""
    clip, state = parts["clip"].eval(), parts["state"]
    prepare = open_clip.image_transform(32, is_train=False)
    ids = open_clip.SimpleTokenizer(context_length=12)(TEXTS)
    ends = [int(row.argmax()) for row in ids]
    start = {
        "image": clip.visual._embeds(torch.stack([prepare(image) for image in IMAGES])),
        "text": clip.token_embedding(ids) + clip.positional_embedding,
    }
    blocks = {"image": clip.visual.transformer.resblocks, "text": clip.transformer.resblocks}
    masks = {"image": None, "text": clip.attn_mask}
    out = {}
    for side in start:
        shared = blocks[side][0](start[side], attn_mask=masks[side])
        mean, spread = shared, shared
        for block, other in zip(blocks[side][1:], parts[side].resblocks, strict=True):
            mean, spread = block(mean, attn_mask=masks[side]), other(spread, attn_mask=masks[side])
        if side == "image":
            pooled = clip.visual.ln_post(mean[:, 0]) @ clip.visual.proj
            log_var = spread[:, 0] @ state["visual.uncertainty_proj"]
        else:
            rows = torch.arange(len(ids))
            pooled = clip.ln_final(mean)[rows, ends] @ clip.text_projection
            log_var = spread[rows, ends] @ state["uncertainty_text_projection"]
        out[side] = normalize(pooled, dim=1), log_var
    return out


def test_means_variances_and_distances_are_those_of_the_blocks(tmp_path):
    parts = released(tmp_path / "model")
    model, expected = open_model(tmp_path / "model", device="cpu"), by_blocks(parts)
    image, text = model.embed_images(IMAGES), model.embed_texts(TEXTS)
    for embedding, side in ((image, "image"), (text, "text")):
        torch.testing.assert_close(embedding.mean, expected[side][0], atol=1e-5, rtol=0)
        torch.testing.assert_close(embedding.log_var, expected[side][1], atol=1e-5, rtol=0)
    scores = model.scores(image, text)
    for row in range(len(IMAGES)):
        for column in range(len(TEXTS)):
            gap = (expected["image"][0][row] - expected["text"][0][column]).square().sum()
            spread = expected["image"][1][row].exp().sum() + expected["text"][1][column].exp().sum()
            assert scores[row, column] == pytest.approx(-float(gap + spread), abs=1e-4)


def test_a_run_of_it_keeps_what_its_scores_read(tmp_path):
    released(tmp_path / "model")
    data = wb.load_data("scenes", split="test", size=8)
    result = wb.evaluate(tmp_path / "model", data, rounds=0)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([tmp_path / "run"])
    np.testing.assert_array_equal(opened.scores, result.scores)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"without": "visual.uncertainty_proj"}, "lacks images.projection"),
        ({"layers": 3}, "3 of 3 blocks branch off"),
    ],
)
def test_a_misshapen_one_is_one_line(tmp_path, options, what):
    released(tmp_path / "model", **options)
    ended = CliRunner().invoke(app, ["evaluate", "--model", str(tmp_path / "model"), "--data", "scenes"])
    assert ended.exit_code == 2
    (line,) = ended.stderr.splitlines()
    assert what in line
