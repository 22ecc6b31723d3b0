"""Runs without a network: a text is the sum of its words' random vectors, an image the sum of its
captions."""

from __future__ import annotations

import zlib

import numpy as np
import scene_world as scenes
import torch
from PIL import Image

from workbench.records import Embedding, Split
from workbench.runs.model import Model
from workbench.runs.result import Result

WIDTH = 24


class ToyModel(Model):
    """Answers as a trained model does. ``seed`` chooses the words' vectors."""

    def __init__(self, seed: int) -> None:
        self.seed, self.makers, self.asked = seed, {}, 0

    def vector(self, text):
        words = ["", *text.lower().replace(".", " ").replace(",", " ").split()]
        seeds = [zlib.crc32(f"{self.seed} {word}".encode()) for word in words]
        total = np.sum([np.random.default_rng(seed).normal(size=WIDTH) for seed in seeds], axis=0)
        return total / np.linalg.norm(total)

    def embed_texts(self, captions):
        self.asked += 1
        return Embedding(torch.tensor(np.array([self.vector(one) for one in captions]), dtype=torch.float32))

    def embed_images(self, images, *, features=""):
        return Embedding(
            torch.tensor(np.array([self.vector(f"{one.size}") for one in images]), dtype=torch.float32)
        )


class Cosine(Model):
    """Scores vectors, and encodes nothing."""

    def __init__(self) -> None:
        self.makers = {}


def toy_space(split, name="one", seed=0):
    model = ToyModel(seed)
    text = model.embed_texts(split.captions)
    sums = torch.zeros(len(split.image_ids), WIDTH).index_add_(0, torch.tensor(split.own), text.mean)
    image = Embedding(sums / sums.norm(dim=1, keepdim=True))
    return Result(name, split, lambda: (model, image, text))


def toy_spaces(images=30, runs=2):
    split = scenes.load("test", size=images, image_size=64)
    return [toy_space(split, f"run {seed}", seed) for seed in range(runs)]


def hand_space(vectors, captions=None, own=None):
    """Images at the given vectors, each with one caption at the same place; ``scores`` are cosines."""
    mean = torch.tensor(vectors, dtype=torch.float32)
    captions = captions or tuple(f"caption {row}" for row in range(len(mean)))
    own = np.arange(len(mean)) if own is None else np.array(own)
    ids = tuple(f"image-{row}" for row in range(len(mean)))
    split = Split(
        "hand", ids, captions, tuple(map(str, range(len(captions)))), own, lambda _: Image.new("RGB", (8, 8))
    )
    model, embedded = Cosine(), (Embedding(mean), Embedding(mean[torch.tensor(own)]))
    return Result("hand", split, lambda: (model, *embedded))
