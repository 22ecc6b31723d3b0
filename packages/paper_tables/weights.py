"""How much each region of an image and each word of its captions counts in an embedding, after AAHR's Fig. 8.

Runs whose encoders weigh their parts have such weights: the guided pooling of ``multigrain``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from PIL import Image, ImageDraw

from workbench.encoders import backbones
from workbench.formatting import format_value
from workbench.records import Array, Rows
from workbench.runs.encoder_model import EncoderModel
from workbench.runs.result import Result
from workbench.training import batches
from workbench.views.pages import fill_template, scale

TEMPLATE = Path(__file__).with_name("weights.html.j2")
# what stays visible of a region that counts least, and how strongly a word that counts most is shaded
DARK, SHADE = 0.25, 0.6
# width of an image; how many regions are framed, and in which colour; what stands for a missing photograph
SIDE = 320
FRAMES, FRAME = 3, "#E69F00"
PAPER = "#c8c8c8"
Words = list[tuple[str, float]]


@dataclass(frozen=True)
class PartWeights:
    """One image and its captions under one run.

    Args:
        image: id.
        photo: what the regions are regions of; grey paper where there is no photograph.
        regions: ``(K,)`` weights, which sum to 1.
        boxes: ``(K, 4)`` left, top, right, bottom as shares of width and height; ``None`` = not known.
        frames: whether the boxes are a detector's, and not the cells of a grid.
        captions: words of each caption with their weights, which sum to 1; signs of the encoder in brackets.
    """

    image: str
    photo: Image.Image
    regions: Array
    boxes: Array | None
    frames: bool
    captions: Sequence[Sequence[tuple[str, float]]]


@torch.no_grad()
def weights_of_run(run: Result, images: Sequence[int]) -> list[PartWeights]:
    """Read the weights of some images of a run's split and of their captions.

    Args:
        run: an open run.
        images: image rows.

    Returns:
        One an image; none where an encoder of the run does not weigh its parts.
    """
    pair = getattr(run.model, "pair", None)
    if pair is None or not all(getattr(side, "weighs", False) for side in (pair.image, pair.text)):
        return []
    model = cast(EncoderModel, run.model)
    source, weighing = model.source(run.split, every_signal=False), pair.eval()
    rows = []
    for image in images:
        captions = np.flatnonzero(run.split.own == image)
        batch = batches.move_batch(source.image_batch(np.array([image])), model.device)
        regions = weighing.image.weights("image", batch)[0][0].float().cpu().numpy()
        batch = batches.move_batch(source.caption_batch(captions), model.device)
        words, real = weighing.text.weights("text", batch)
        weights = [line[there].tolist() for line, there in zip(words.float().cpu(), real.cpu(), strict=True)]
        rows.append(_weights_of_image(run, int(image), regions, _words_with_weights(run, captions, weights)))
    return rows


def _weights_of_image(run: Result, row: int, regions: Array, captions: Sequence[Words]) -> PartWeights:
    photo, boxes = _seen_image(run, row, len(regions))
    detected = run.split.open_boxes is not None and not cast(EncoderModel, run.model).features
    frames = detected and boxes is not None
    return PartWeights(run.split.image_ids[row], photo, regions, boxes, frames, captions)


def _words_with_weights(run: Result, captions: Rows, weights: Sequence[Sequence[float]]) -> list[Words]:
    """Return the words of captions with their weights; parts that are no words are numbered."""
    try:
        texts = cast(EncoderModel, run.model).token_texts(
            [run.split.captions[row] for row in captions.tolist()]
        )
    except NotImplementedError:
        texts = [_number_parts(len(line)) for line in weights]
    # an encoder that reads a sign of its own at the front may give it no part
    return [list(zip(words[-len(line) :], line)) for words, line in zip(texts, weights, strict=True)]


def _number_parts(parts: int) -> list[str]:
    return [f"part {number}" for number in range(1, parts + 1)]


def _seen_image(run: Result, row: int, regions: int) -> tuple[Image.Image, Array | None]:
    """Return the image that an encoder has regions of, and where they lie in it, if that is known."""
    split, model = run.split, cast(EncoderModel, run.model)
    features = model.features
    image: Any = model.pair.image
    grid = bool(features) or image.base.image.image_input == "pixels"
    boxes = split.open_boxes(row) if split.open_boxes and not grid else None
    try:
        photo = split.open_image(row)
    except FileNotFoundError:
        return Image.new("RGB", (SIDE, 3 * SIDE // 4), PAPER), boxes
    side = isqrt(regions)
    if not grid or side**2 != regions:
        return photo, boxes
    prepare = backbones.load(features).preparation if features else image.transform
    places = np.stack(np.divmod(np.arange(regions), side)[::-1], axis=1) / side
    cells = np.hstack([places, places + 1 / side])
    return Image.fromarray(prepare(photo).permute(1, 2, 0).numpy()), cells


def scaled_shares(weights: Array) -> Array:
    """Scale ``(n,)`` weights from 0 for the least to 1 for the greatest; all are 1 where they are equal.

    >>> scaled_shares(np.array([0.2, 0.5, 0.3])).round(2).tolist()
    [0.0, 1.0, 0.33]
    """
    spread = float(np.ptp(weights))
    return (weights - weights.min()) / spread if spread > 0 else np.ones_like(weights)


def darken_image(photo: Image.Image, weights: Array, boxes: Array, *, frames: bool) -> Image.Image:
    """Darken an image where its regions count least; it stays as it is where they count most.

    Args:
        photo: any size.
        weights: ``(K,)`` of the regions.
        boxes: ``(K, 4)`` as shares of width and height; where boxes overlap, the greater weight is seen.
        frames: also draw the boxes of the three regions that count most.
    """
    small = scale(photo, SIDE)
    edges = np.clip(boxes, 0, 1) * np.tile(small.size, 2)
    light = np.zeros(small.size[::-1])
    for (left, top, right, bottom), share in zip(
        np.rint(edges).astype(int), scaled_shares(weights), strict=True
    ):
        part = light[top:bottom, left:right]
        np.maximum(part, share, out=part)
    pixels = np.asarray(small) * (DARK + (1 - DARK) * light[..., None])
    image = Image.fromarray(np.rint(pixels).astype(np.uint8))
    if frames:
        pen = ImageDraw.Draw(image)
        for box in edges[np.argsort(-weights, kind="stable")[:FRAMES]].tolist():
            pen.rectangle(tuple(box), outline=FRAME, width=2)
    return image


def weight_sheet(runs: Mapping[str, Sequence[PartWeights]], *, title: str) -> str:
    """Show images whose regions are as bright as they count, and captions whose words are shaded likewise.

    Args:
        runs: name -> from ``weights_of_run``; a run that weighs nothing is named as such.
        title: what is shown.

    Returns:
        HTML with the images inside it and all texts escaped.
    """
    blocks = []
    for name, rows in runs.items():
        blocks += [_image_block(name, row) for row in rows]
    silent = [name for name, rows in runs.items() if not rows]
    return fill_template(TEMPLATE, title=title, blocks=blocks, silent=silent, side=SIDE)


def _image_block(run: str, row: PartWeights) -> dict[str, Any]:
    """Return what the template shows of one image."""
    drawn, weights = row.photo, row.regions
    if row.boxes is not None:
        drawn = darken_image(row.photo, weights, row.boxes, frames=row.frames)
    by_weight = np.argsort(-weights, kind="stable").tolist()
    best = [f"region {region + 1}: {format_value(weights[region])} %" for region in by_weight[:FRAMES]]
    numbers = {
        "regions": len(weights),
        "ends": (format_value(weights.min()), format_value(weights.max())),
        "equal": format_value(1 / len(weights)),
        "best": best,
    }
    captions = [_shade_words(words) for words in row.captions]
    about = {"run": run, "image": row.image, "photo": drawn, "placed": row.boxes is not None}
    return about | numbers | {"captions": captions}


def _shade_words(words: Sequence[tuple[str, float]]) -> list[tuple[str, str, float]]:
    """Return each word with its weight as text and its shade."""
    shades = SHADE * scaled_shares(np.array([weight for _, weight in words]))
    return [(word, format_value(weight), float(shade)) for (word, weight), shade in zip(words, shades)]
