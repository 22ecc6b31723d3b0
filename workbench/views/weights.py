"""How much each region of an image and each word of its captions counts in an embedding, after AAHR's Fig. 8.

Runs whose encoders weigh their parts can say it: the guided pooling of ``multigrain``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, cast

import numpy as np
import torch
from PIL import Image, ImageDraw

from workbench.encoders import backbones
from workbench.formatting import format_value
from workbench.records import Array
from workbench.runs.model import Model
from workbench.runs.result import OpenRun
from workbench.training import batches
from workbench.views.pages import page, scaled

# what stays visible of a region that counts least, and how strongly a word that counts most is shaded
DARK, SHADE = 0.25, 0.6
SIDE, FRAMES, FRAME, PAPER = 320, 3, "#E69F00", "#c8c8c8"


@dataclass(frozen=True)
class PartWeights:
    """One image and its captions under one run.

    Args:
        image: id.
        picture: what the regions are regions of; grey paper where there is no photograph.
        regions: ``(K,)`` weights, which sum to 1.
        boxes: ``(K, 4)`` left, top, right, bottom as shares of width and height; ``None`` = not known.
        frames: whether the boxes are a detector's, and not the cells of a grid.
        captions: words of each caption with their weights, which sum to 1; signs of the encoder in brackets.
    """

    image: str
    picture: Image.Image
    regions: Array
    boxes: Array | None
    frames: bool
    captions: Sequence[Sequence[tuple[str, float]]]


@torch.no_grad()
def of_run(run: OpenRun, images: Sequence[int]) -> list[PartWeights]:
    """What counts in some images of a run's split and in their captions.

    Args:
        run: an open run.
        images: image rows.

    Returns:
        One an image; none where an encoder of the run does not weigh its parts.
    """
    model, split = cast(Model, run.model), run.split
    pair = getattr(model, "pair", None)
    if pair is None or not all(getattr(side, "weighs", False) for side in (pair.image, pair.text)):
        return []
    source, weighing = model.source(split, every_signal=False), pair.eval()
    found = []
    for row in images:
        own = np.flatnonzero(split.own == row)
        given = batches.to(source.of_images(np.array([row])), model.device)
        regions = weighing.image.weights("image", given)[0][0].float().cpu().numpy()
        words, real = weighing.text.weights("text", batches.to(source.of_captions(own), model.device))
        of_words = [one[seen].tolist() for one, seen in zip(words.float().cpu(), real.cpu(), strict=True)]
        try:
            texts = model.spelt([split.captions[caption] for caption in own.tolist()])
        except NotImplementedError:  # what the encoder reads are no words
            texts = [[f"part {n + 1}" for n in range(len(one))] for one in of_words]
        # an encoder that reads a sign of its own at the front may give it no part
        captions = [
            list(zip(said[-len(one) :], one, strict=True)) for said, one in zip(texts, of_words, strict=True)
        ]
        seen, boxes = _seen(run, int(row), len(regions))
        frames = split.open_boxes is not None and boxes is not None and not run.config["features"]
        found.append(PartWeights(split.image_ids[row], seen, regions, boxes, frames, captions))
    return found


def _seen(run: OpenRun, row: int, regions: int) -> tuple[Image.Image, Array | None]:
    """The picture that an encoder has regions of, and where they lie in it, if that is known."""
    split, features, model = run.split, run.config["features"], cast(Model, run.model)
    image: Any = model.pair.image
    grid = bool(features) or image.base.image.image_input == "pixels"
    boxes = split.open_boxes(row) if split.open_boxes and not grid else None
    try:
        picture = split.open_image(row)
    except FileNotFoundError:
        return Image.new("RGB", (SIDE, 3 * SIDE // 4), PAPER), boxes
    side = isqrt(regions)
    if not grid or side**2 != regions:
        return picture, boxes
    prepare = backbones.load(features).preparation if features else image.transform
    places = np.stack(np.divmod(np.arange(regions), side)[::-1], axis=1) / side
    return Image.fromarray(prepare(picture).permute(1, 2, 0).numpy()), np.hstack([places, places + 1 / side])


def shares(weights: Array) -> Array:
    """``(n,)`` weights from 0 for the least to 1 for the greatest; all 1 where they are equal.

    >>> shares(np.array([0.2, 0.5, 0.3])).round(2).tolist()
    [0.0, 1.0, 0.33]
    """
    spread = float(np.ptp(weights))
    return (weights - weights.min()) / spread if spread > 0 else np.ones_like(weights)


def lit(picture: Image.Image, weights: Array, boxes: Array, *, frames: bool) -> Image.Image:
    """The picture, dark where the regions count least and as it is where they count most.

    Args:
        picture: any size.
        weights: ``(K,)`` of the regions.
        boxes: ``(K, 4)`` as shares of width and height; where boxes overlap, the greater weight is seen.
        frames: also draw the boxes of the three regions that count most.
    """
    small = scaled(picture, SIDE)
    edges = np.clip(boxes, 0, 1) * np.tile(small.size, 2)
    light = np.zeros(small.size[::-1])
    for (left, top, right, bottom), share in zip(np.rint(edges).astype(int), shares(weights), strict=True):
        part = light[top:bottom, left:right]
        np.maximum(part, share, out=part)
    pixels = np.asarray(small) * (DARK + (1 - DARK) * light[..., None])
    made = Image.fromarray(np.rint(pixels).astype(np.uint8))
    for box in edges[np.argsort(-weights, kind="stable")[: FRAMES * frames]].tolist():
        ImageDraw.Draw(made).rectangle(tuple(box), outline=FRAME, width=2)
    return made


def sheet(runs: Mapping[str, Sequence[PartWeights]], *, title: str) -> str:
    """Pictures in which regions are as bright as they count, and captions in which words are shaded so.

    Args:
        runs: name -> from ``of_run``; a run that weighs nothing is named as such.
        title: what is shown.

    Returns:
        HTML with the pictures inside it and all texts escaped.
    """
    blocks = [_block(name, one) for name, several in runs.items() for one in several]
    silent = [name for name, several in runs.items() if not several]
    return page("views/weights.html.j2", title=title, blocks=blocks, silent=silent, side=SIDE)


def _block(run: str, one: PartWeights) -> dict[str, Any]:
    drawn = one.picture if one.boxes is None else lit(one.picture, one.regions, one.boxes, frames=one.frames)
    captions = [
        [(word, format_value(weight), SHADE * share) for (word, weight), share
         in zip(said, shares(np.array([weight for _, weight in said])), strict=True)]
        for said in one.captions
    ]  # fmt: skip
    best = np.argsort(-one.regions, kind="stable")[:FRAMES]
    return {
        "run": run, "image": one.image, "picture": drawn, "captions": captions, "regions": len(one.regions),
        "ends": (format_value(one.regions.min()), format_value(one.regions.max())),
        "equal": format_value(1 / len(one.regions)),
        "placed": one.boxes is not None,
        "best": [f"region {row + 1}: {format_value(one.regions[row])} %" for row in best.tolist()],
    }  # fmt: skip
