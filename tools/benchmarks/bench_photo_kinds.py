"""Whether a reader agrees with the judge by captions about what wrong answers lack, on photographs:
``python -m tools.benchmarks.bench_photo_kinds``.

200 captions of Flickr8k's test split are drawn by a seed. The wrong answer of each is the image whose other
captions are nearest by TF-IDF, since such answers are near misses. With ``sheets FOLDER`` the pairs are
written as contact sheets of ten, without what the judge says. A reader notes for each pair the kinds of
statements that the photograph lacks of the caption. The labels are an asset of ``slice_search``.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont
from slice_search.kinds import PHOTOGRAPHS, PHOTOGRAPHS_LABELS, reader_agreement
from slice_search.statements import StatedByCaptions

import workbench as wb
from workbench.io import write_recorded
from workbench.records import Rows, Split
from workbench.text.tfidf import Tfidf

SEED, PAIRS, COLUMNS, ROWS = 8, 200, 5, 2
WIDTH, LINES = 250, 90
DIGITS = 3


def wrong_answers(split: Split) -> tuple[Rows, Rows]:
    """Return ``(200,)`` image rows and caption rows: a caption, and the nearest other image by captions."""
    captions = np.random.default_rng(SEED).choice(len(split.captions), PAIRS, replace=False)
    learnt = Tfidf().fit(split.captions, split.own)
    near = learnt.compare(split.captions, split.captions, split.own, len(split.image_ids))
    every = np.arange(len(split.image_ids))
    images = []
    for caption in captions.tolist():
        likeness = near.take(every, np.array([caption]))[:, 0]
        likeness[split.own[caption]] = -1
        images.append(int(likeness.argmax()))
    return np.array(images), captions


def write_sheets(split: Split, folder: Path) -> None:
    """Write contact sheets of ten pairs, each a photograph and the caption that it was an answer to."""
    images, captions = wrong_answers(split)
    font = ImageFont.load_default(15)
    size = COLUMNS * ROWS
    for first in range(0, PAIRS, size):
        sheet = Image.new("RGB", (COLUMNS * WIDTH, ROWS * (224 + LINES)), "white")
        draw = ImageDraw.Draw(sheet)
        for place in range(size):
            left, top = place % COLUMNS * WIDTH, place // COLUMNS * (224 + LINES)
            number = first + place
            photograph = split.open_image(int(images[number])).convert("RGB").resize((224, 224))
            sheet.paste(photograph, (left, top))
            text = f"{number}: {split.captions[captions[number]]}"
            draw.multiline_text((left, top + 226), textwrap.fill(text, 33), "black", font)
        sheet.save(folder / f"{first // size:02d}.png")


def main(words: list[str]) -> None:
    """Write sheets, or hold the judge against the labels and record what comes out."""
    split = wb.load_data("flickr8k", split="test")
    if words[:1] == ["sheets"]:
        write_sheets(split, Path(words[1]))
        return
    labels = pd.read_csv(PHOTOGRAPHS_LABELS, sep="\t", skiprows=1)
    image_rows = {name: row for row, name in enumerate(split.image_ids)}
    caption_rows = {name: row for row, name in enumerate(split.caption_ids)}
    images = labels["image"].map(image_rows).to_numpy()
    captions = labels["caption"].map(caption_rows).to_numpy()
    table = reader_agreement(
        StatedByCaptions(split.captions, split.own), images, captions, labels["lacking"].tolist()
    )
    write_recorded(PHOTOGRAPHS, table.round(DIGITS), "python -m tools.benchmarks.bench_photo_kinds")
    sys.stdout.write(f"{table.to_string()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
