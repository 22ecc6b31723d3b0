"""Small stand-ins, in the true formats, for what the papers' settings would have to fetch: encoders' weights,
word vectors, and data with region features."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import open_clip
import torch
from PIL import Image
from safetensors.torch import save_file

from tests import tiny_bert
from tests.data import fixtures
from tests.runs.test_experiment import TINY
from workbench import data
from workbench.runs import Config

# a CLIP with the tokenizer of the published ones
CLIP = {
    **TINY,
    "text_cfg": {**TINY["text_cfg"], "vocab_size": 49408, "context_length": 77, "pool_type": "argmax"},
}


def small(options, model, bert):
    """Encoder options with a small vision transformer and a small BERT in place of the weights that would
    have to be fetched."""
    inner = {
        name: small(value, model, bert) if isinstance(value, dict) else value
        for name, value in options.items()
    }
    clip = {"model": model, "pretrained": str(Path(model).with_suffix(".safetensors"))}
    fetched = clip if "model" in options else {}
    if str(options.get("pretrained")).endswith(".txt"):  # word vectors of the paper's width
        fetched = {"pretrained": str(Path(model).with_name("glove.txt"))}
    return (
        inner
        | fetched
        | (
            {("name" if "kind" in options else "features"): bert, "word_dim": 8}
            if "bert-base-uncased" in (options.get("features"), options.get("name"))
            else {}
        )
    )


def offline(config: Config, place) -> Config:
    """The configuration with a small CLIP, word vectors and a small BERT, all files made on the spot."""
    weights(place)
    bert = str(place / "bert")
    sides = {}
    for side in ("image_encoder", "text_encoder"):
        member = getattr(config, side)
        sides[side] = {"name": member.name, **small(member.options, str(place / "tiny.json"), bert)}
    return config.replace(**sides)


def bottom_up(place, name):
    """Eight training images, two of validation and two of test with captions, photographs and regions, as the
    field shares them."""
    numbers, parts = iter(range(31, 43)), {"train": 8, "val": 2, "test": 2}
    images = [
        (part, number := next(numbers), tuple(range(10 * number, 10 * number + 5)))
        for part, count in parts.items()
        for _ in range(count)
    ]
    fixtures.karpathy(place, f"dataset_{name}.json", images, coco=name == "coco")
    files = inspect.getmodule(data.member(name)).BENCHMARK.files
    for part in parts:
        fixtures.precomp(place, files[part], [one for one in images if one[0] == part])
    return {"root": str(place), "complete": False, "source": "precomp"}


def weights(place):
    """A CLIP as configuration and checkpoint, word vectors of GloVe's width, and a BERT."""
    (place / "tiny.json").write_text(json.dumps(CLIP))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        save_file(open_clip.CLIP(**CLIP).state_dict(), place / "tiny.safetensors")
    vectors = "".join(f"{word}{' 0.1' * 300}\n" for word in ("a", "the", "old", "one"))
    (place / "glove.txt").write_text(vectors)
    (place / "bert").mkdir()
    tiny_bert.make(place / "bert", seed=0)


def flickr8k(place):
    """Eight training images, two of validation and two of test, in the layout of Flickr8k."""
    (place / "images").mkdir(parents=True)
    lines, number = [], iter(range(31, 43))
    for part, count in {"train": 8, "dev": 2, "test": 2}.items():
        names = [f"{next(number)}.jpg" for _ in range(count)]
        (place / f"Flickr_8k.{part}Images.txt").write_text("".join(f"{name}\n" for name in names))
        for name in names:
            noise = np.random.default_rng(int(name[:2])).integers(0, 255, (10, 20, 3), dtype=np.uint8)
            Image.fromarray(noise).save(place / "images" / name)
            said = fixtures.sentences(int(name[:2]), 5)
            lines += [f"{name}#{row}\t{' '.join(text.split())}" for row, text in enumerate(said)]
    (place / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (place / "CrowdFlowerAnnotations.txt").write_text("")
    return {"root": str(place), "complete": False}
