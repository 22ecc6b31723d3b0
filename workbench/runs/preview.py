"""A look at a model before anything is measured: on images of one's own, or dry, on a few images."""

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from workbench.data.images import folder_split, images_below
from workbench.data.opening import NoDataError, loader_at
from workbench.formatting import format_number
from workbench.io import resolve_input
from workbench.records import Embedding, Split, require
from workbench.runs.model import Model
from workbench.runs.models import open_model
from workbench.runs.own import Encodes
from workbench.runs.pairs import PairScorer
from workbench.runs.result import Result
from workbench.runs.scoring import require_one_width

# images on which a model is tried; solid colours if none are given
TRIED = 8
COLOURS = ("black", "blue", "brown", "green", "orange", "red", "white", "yellow")


def preview_model(model: Model, images: Any, *, name: str = "") -> Result:
    """Show a model images of one's own, as the explorer takes it: embedded at the first question, and not
    measured.

    Args:
        model: from ``open_model``.
        images: a split, or a folder; images without captions are called by the names of their files.
        name: of the column; empty = the model's own.

    Raises:
        FileNotFoundError, ValueError: there is no such folder, or no image in it.
    """
    split = images if isinstance(images, Split) else split_of_images(images)
    return Result(model.title(name), split, cache(lambda: (model, *model.embed(model.source(split)))))


def _solid_colour_split() -> Split:
    """Return images of one colour each."""
    captions = tuple(f"a {colour} image" for colour in COLOURS)
    ids = tuple(f"{colour}#0" for colour in COLOURS)
    rows = np.arange(len(COLOURS))
    return Split(
        "plain colours", COLOURS, captions, ids, rows, lambda row: Image.new("RGB", (64, 64), COLOURS[row])
    )


def split_of_images(folder: str | Path, most: int = 0) -> Split:
    """Read the images of a folder with the captions that lie there, else with the names of their files.

    Args:
        folder: of images.
        most: the first so many; 0 = all.

    Raises:
        FileNotFoundError, ValueError: there is no such folder, or what lies there cannot be read.
    """
    images_below(folder)  # refuses a place without images
    try:
        split: Split = loader_at(resolve_input(folder))(split="all", check_images=False)
    except NoDataError:
        return folder_split(folder, most)
    return split.first(most) if most else split


def check_model(
    model: str | Encodes | PairScorer,
    images: Split | str | Path = "",
    *,
    pretrained: str = "",
    random_weights: bool = False,
) -> dict[str, str]:
    """Check a model on a few images: what it gives, in words, before a folder is embedded.

    Args:
        model: see ``open_model``.
        images: a folder of images, or a split; ``""`` = solid colours.
        pretrained: see ``open_model``.
        random_weights: see there.

    Returns:
        What was looked at and what came out: the shapes of both sides, whether different images and texts
        differ, the shape of the scores, and the time an image and a text take.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: as ``open_model`` raises them; also where images
        and texts have different widths, or all images or all texts the same vector.
    """
    if isinstance(images, Split):
        split = images
    else:
        split = split_of_images(images, TRIED) if images else _solid_colour_split()
    rows = range(min(TRIED, len(split.image_ids)))
    texts = ["", *(split.captions[row] for row in rows), "a dog", "a red car in the snow"]
    opened = open_model(model, pretrained, random_weights=random_weights)
    lines = {"weights": "; ".join(opened.notes)} if opened.notes else {}
    began = time.perf_counter()
    image = opened.embed_images([split.open_image(row) for row in rows])
    between = time.perf_counter()
    text = opened.embed_texts(texts)
    end = time.perf_counter()
    require_one_width(image, text)
    lines |= {"images": _describe_vectors(image, "images"), "texts": _describe_vectors(text, "texts")}
    shape = opened.scores(image, text).shape
    lines["scores"] = f"{shape[0]} images by {shape[1]} texts; both directions can be ranked"
    lines["an image"] = f"{format_number(1000 * (between - began) / len(rows), 1)} ms, its file read"
    lines["a text"] = f"{format_number(1000 * (end - between) / len(texts), 1)} ms"
    return lines


def _describe_vectors(side: Embedding, name: str) -> str:
    """Describe the vectors of a side.

    Raises:
        ValueError: all are the same.
    """
    vectors = side.mean
    if not vectors.shape[1]:
        return "no vectors, since pairs are scored"
    same = len(vectors) > 1 and torch.allclose(vectors, vectors[:1].expand_as(vectors), atol=1e-6)
    require(not same, f"all {name} have the same vector")
    return f"{tuple(vectors.shape)}, length {format_number(float(vectors.norm(dim=1).mean()), 3)}"
