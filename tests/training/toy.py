"""A data set and a pair of encoders so small that a whole run takes a moment; run as a program it trains
until it is killed."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from workbench.encoders.base import Encoder, Pair, ParameterGroup
from workbench.objectives.vsepp import MEMBER as VSEPP
from workbench.records import Embedding, Split
from workbench.training import Settings, checkpoint, fit, seed_everything
from workbench.training.batches import Source

IMAGES, EACH, WIDTH = 24, 2, 8


class Bag:
    """A signal of fixed random vectors."""

    name = "bag"

    def __init__(self, values):
        self.values = values

    def take(self, rows):
        return self.values[rows]

    def __len__(self):
        return len(self.values)


class ImageTower(Encoder):
    """A backbone and a head over fixed vectors, with dropout, so that a resumed run must also resume its
    randomness."""

    image_input = "pixels"
    embed_dim = WIDTH

    def __init__(self):
        super().__init__()
        self.backbone, self.head, self.dropout = (
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH),
            nn.Dropout(0.3),
        )

    def encode_images(self, batch):
        pixels = batch.inputs["pixels"]
        hidden = self.dropout(self.backbone(pixels.mean(1) if pixels.ndim == 3 else pixels).relu())
        return Embedding(nn.functional.normalize(self.head(hidden), dim=1))

    def groups(self):
        return [
            ParameterGroup("image_backbone", dict(self.backbone.named_parameters()), depth=1),
            ParameterGroup("head", dict(self.head.named_parameters())),
        ]


class Words(Encoder):
    """A linear map of the caption's bag."""

    encodes_text = True
    embed_dim = WIDTH

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(WIDTH, WIDTH)

    def encode_texts(self, batch):
        return Embedding(nn.functional.normalize(self.head(batch.signals["bag"]), dim=1))


def source() -> Source:
    generator = torch.Generator().manual_seed(5)
    pixels = torch.randn(IMAGES, WIDTH, generator=generator)
    own = np.repeat(np.arange(IMAGES), EACH)
    ids, captions = [f"i{n}" for n in range(IMAGES)], [f"c{n}" for n in range(len(own))]
    split = Split(
        "toy/train", tuple(ids), tuple(captions), tuple(captions), own, lambda row: Image.new("RGB", (1, 1))
    )
    noise = torch.randn(len(own), WIDTH, generator=generator) * 0.3
    return Source(split, {"pixels": lambda rows: pixels[rows]}, {"bag": Bag(pixels[own] + noise)})


def grid_source() -> Source:
    """The same with three regions an image, whose mean is its vector."""
    plain = source()
    shift = torch.tensor([-1.0, 0.0, 1.0])[:, None]
    return replace(plain, inputs={"pixels": lambda rows: plain.inputs["pixels"](rows)[:, None] + shift})


def train(
    folder: Path | None, objective=None, die_at: int = 0, rsum=None, of=None, made_from=None, **changes
):
    """Train the toy; with ``die_at`` the process kills itself before that step, with no chance to tidy up."""
    values = {
        "epochs": 4,
        "batch_size": 6,
        "captions_per_image": 2,
        "warmup_epochs": 1,
        "device": "cpu",
        "checkpoint_every": 1,
    }
    settings = Settings(**(values | changes))
    seed_everything(settings.seed)
    pair, objective = Pair(ImageTower(), Words()), objective or VSEPP()
    steps = 0

    def validate() -> dict[str, float]:
        moved = (pair.image.head.weight.detach() - before.to(pair.image.head.weight)).abs().sum()
        return {"rsum": rsum() if rsum else float(moved)}

    def count(*_) -> None:
        nonlocal steps
        steps += 1
        if steps == die_at:
            os.kill(os.getpid(), 9)

    objective.register_forward_pre_hook(count)
    before = pair.image.head.weight.detach().clone()
    made_from = settings.model_dump(mode="json") | (made_from or {})
    position = checkpoint.TrainingPosition(folder, made_from) if folder else None
    history = fit(pair, objective, of or source(), validate, settings, position=position, progress=False)
    # Every test of training rests on this: two runs in which nothing was learnt also agree bit for bit.
    assert not settings.epochs or not torch.equal(before, pair.image.head.weight.cpu()), (
        "training changed nothing"
    )
    return pair, history


if __name__ == "__main__":
    train(Path(sys.argv[1]), die_at=int(sys.argv[2]))
