"""What is shown of an image: its photograph, or a card with its captions where data come as region features
and the photographs are not there.
"""

import textwrap

import numpy as np
from PIL import Image, ImageDraw

from workbench.records import Array, NoImageError, Split

# of a card, in pixels; letters of a line, and the most regions that are drawn
WIDTH = 320
HEIGHT = 240
LINE = 14
LETTERS = 50
REGIONS = 36
PAPER = "#f2f2f2"
INK = "#333333"
FRAME = "#0072b2"


def image_or_card(split: Split, row: int) -> Image.Image:
    """Return the photograph of an image, or its card.

    Args:
        split: opens the photographs.
        row: of the image.

    Raises:
        FileNotFoundError: there is no photograph, and no region features that would do without.
        ValueError: the photograph cannot be read.
    """
    try:
        return split.open_image(row)
    except FileNotFoundError as error:
        if split.regions is None and not isinstance(error, NoImageError):
            raise
    boxes = split.open_boxes(row) if split.open_boxes else None
    captions = [split.captions[caption] for caption in np.flatnonzero(split.own == row)]
    return caption_card(captions, boxes)


def caption_card(captions: list[str], boxes: Array | None = None) -> Image.Image:
    """Return a card in the place of a photograph: the frames of the regions, where they are known, and the
    captions.

    Args:
        captions: as many as there is room for are written; letters that the drawing font lacks become
            question marks.
        boxes: ``(K, 4)`` left, top, right, bottom as shares of width and height; the first 36 are drawn.
    """
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(image)
    top = 6
    pen.text((8, top), "no photograph", fill=FRAME)
    top += LINE
    if boxes is not None:
        room = HEIGHT // 2
        scale = [WIDTH - 17, room - 1, WIDTH - 17, room - 1]
        frames = np.clip(boxes[:REGIONS], 0, 1) * scale + [8, top, 8, top]
        corners = np.sort(frames.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
        for corner in corners.tolist():
            pen.rectangle(tuple(corner), outline=FRAME)
        top += room + 4
    lines: list[str] = []
    for caption in captions:
        lines += textwrap.wrap(f"- {caption}", LETTERS)
    text = "\n".join(lines[: (HEIGHT - top) // LINE]).encode("ascii", "replace").decode()
    pen.multiline_text((8, top), text, fill=INK, spacing=2)
    return image
