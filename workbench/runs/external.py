"""A model that was made elsewhere, opened on a folder of pictures: nothing is trained, no run is needed."""

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import normalize

from workbench.data.images import below, read_image
from workbench.formatting import format_number
from workbench.records import Array, Embedding, Split, require
from workbench.runs.build import build
from workbench.runs.config import Config
from workbench.runs.resolve import resolve
from workbench.runs.result import Contents, OpenRun

AT_ONCE = 64
TRIED = 8
# what a model is tried on where nobody names pictures
COLOURS = ("black", "blue", "brown", "green", "orange", "red", "white", "yellow")


class Encodes(Protocol):
    """What a model of one's own must offer."""

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """``(N, D)`` tensor or array for pictures in RGB, of any size."""

    def encode_text(self, texts: Sequence[str]) -> Any:
        """``(N, D)`` tensor or array for texts, the empty one among them."""


class Outside:
    """A model of one's own that answers as a trained one does; its score is the cosine.

    Args:
        encoder: any object with ``encode_image`` and ``encode_text``.

    Raises:
        TypeError: it lacks one of them.
    """

    def __init__(self, encoder: Encodes) -> None:
        for name in ("encode_image", "encode_text"):
            said = f"{type(encoder).__name__} has no {name}(); a model has encode_image and encode_text"
            require(callable(getattr(encoder, name, None)), said, TypeError)
        self.encoder = encoder
        self.makers: dict[str, Any] = {}

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Loose images as unit vectors; ``features`` is not read."""
        return self._embedded("encode_image", images)

    def embed_texts(self, captions: Sequence[str]) -> Embedding:
        """Loose texts as unit vectors."""
        return self._embedded("encode_text", captions)

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """``(I, T)`` cosines."""
        return (image.mean @ text.mean.T).numpy()

    @torch.no_grad()
    def _embedded(self, name: str, given: Sequence[Any]) -> Embedding:
        encode, parts = getattr(self.encoder, name), []
        for start in range(0, len(given), AT_ONCE):
            part = list(given[start : start + AT_ONCE])
            made = torch.as_tensor(encode(part)).detach().float().cpu()
            said = f"{name}() of {len(part)} gave shape {tuple(made.shape)}; ({len(part)}, D) is needed"
            require(made.ndim == 2 and len(made) == len(part), said)
            require(bool(made.isfinite().all()), f"{name}() gave numbers that are not finite")
            parts.append(normalize(made, dim=1))
        return Embedding(torch.cat(parts))


def opened(model: str | Encodes, pretrained: str = "") -> Any:
    """A model that can be asked.

    Args:
        model: an open_clip name or the path of a JSON configuration, or an object with ``encode_image`` and
            ``encode_text``.
        pretrained: of an open_clip model: a tag or the path of a checkpoint; ``""`` = random weights.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: no such model or weights, or no encoder.
    """
    if not isinstance(model, str):
        return Outside(model)
    options = {"model": model, "pretrained": pretrained}
    towers: dict[str, Any] = {"image_encoder": "towers", "text_encoder": "towers", "image_options": options}
    config = Config(data="folder", objective="infonce", **towers)
    made = build(resolve(config), ())
    for module in (made.pair, made.objective):
        module.eval()
    return made


def of_folder(folder: str | Path, images: int = 0) -> Split:
    """The pictures of a folder and of those inside it, by path; the caption of a picture is its file's name.

    Args:
        folder: where they lie.
        images: the first so many; 0 = all.

    Raises:
        ValueError: no folder is named.
        FileNotFoundError: there is no such folder, or no picture in it.
    """
    root, files = Path(folder), below(folder)[: images or None]
    ids = tuple(path.relative_to(root).as_posix() for path in files)
    names = tuple(" ".join(path.stem.replace("_", " ").split()) or path.name for path in files)
    return Split(
        root.name, ids, names, tuple(f"{name}#0" for name in ids), np.arange(len(files)),
        lambda row: read_image(files[row], ids[row]), notes=("captions are the names of the files",),
    )  # fmt: skip


def open_model(
    model: str | Encodes, images: Split | str | Path, *, pretrained: str = "", name: str = ""
) -> OpenRun:
    """A model on pictures of one's own, as a run is opened; pictures and names are embedded at the first
    question.

    Args:
        model: see ``opened``.
        images: a folder of pictures, or a split.
        pretrained: see ``opened``.
        name: of the column; ``""`` = the model's own.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: as ``opened`` and ``of_folder`` raise them.
    """
    split, made = images if isinstance(images, Split) else of_folder(images), opened(model, pretrained)
    called = name or (model if isinstance(model, str) else type(model).__name__)

    @cache
    def load() -> Contents:
        rows = range(len(split.image_ids))
        parts = [
            made.embed_images([split.open_image(row) for row in rows[start : start + AT_ONCE]]).mean
            for start in range(0, len(rows), AT_ONCE)
        ]
        return Contents(made, Embedding(torch.cat(parts)), made.embed_texts(split.captions))

    return OpenRun(called, split, load)


def _plain() -> Split:
    """Pictures of one colour each."""
    captions = tuple(f"a {colour} picture" for colour in COLOURS)
    return Split(
        "plain colours", COLOURS, captions, tuple(f"{colour}#0" for colour in COLOURS),
        np.arange(len(COLOURS)), lambda row: Image.new("RGB", (64, 64), COLOURS[row]),
    )  # fmt: skip


def check(model: str | Encodes, images: Split | str | Path = "", *, pretrained: str = "") -> dict[str, str]:
    """A dry check of a model on a few pictures: what it gives, in words, before a folder is embedded.

    Args:
        model: see ``opened``.
        images: a folder of pictures, or a split; ``""`` = plain colours.
        pretrained: see ``opened``.

    Returns:
        What was looked at and what was found: the shapes of both sides, whether different pictures and texts
        differ, the shape of the scores, and the time an image and a text take.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: as ``open_model`` raises them; also where images
        and texts have different widths, or all images or all texts the same vector.
    """
    split = images if isinstance(images, Split) else of_folder(images, TRIED) if images else _plain()
    rows = range(min(TRIED, len(split.image_ids)))
    texts = ["", *(split.captions[row] for row in rows), "a dog", "a red car in the snow"]
    made, said = opened(model, pretrained), {}
    began = time.perf_counter()
    image = made.embed_images([split.open_image(row) for row in rows]).mean
    between = time.perf_counter()
    text = made.embed_texts(texts).mean
    end = time.perf_counter()
    wide = f"images have {image.shape[1]} dimensions and texts {text.shape[1]}; both sides need the same"
    require(image.shape[1] == text.shape[1], wide)
    for side, vectors in (("images", image), ("texts", text)):
        same = len(vectors) > 1 and torch.allclose(vectors, vectors[:1].expand_as(vectors), atol=1e-6)
        require(not same, f"all {side} have the same vector")
        said[side] = f"{tuple(vectors.shape)}, length {format_number(float(vectors.norm(dim=1).mean()), 3)}"
    shape = made.scores(Embedding(image), Embedding(text)).shape
    said["scores"] = f"{shape[0]} images by {shape[1]} texts; both directions can be ranked"
    said["an image"] = f"{format_number(1000 * (between - began) / len(rows), 1)} ms, its file read"
    said["a text"] = f"{format_number(1000 * (end - between) / len(texts), 1)} ms"
    return said
