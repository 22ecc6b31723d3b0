"""Counts which words of captions stand next to each other: ``python -m tools.caption_graphs.neighbours``.

By these counts a word that is right by itself is found to be a slip where it stands, "a brow and white dog"
(``packages/caption_graphs/spelling.py``). No caption of an image that is annotated for measuring is counted.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from caption_graphs import spelling
from safetensors.numpy import save_file

from tools.caption_graphs.annotations import MEASURING, TEXTS, image_keys, records, texts
from workbench.io import replacing

LEAST = 2  # what stands once may be a slip


def counted(root: Path) -> Counter[int]:
    """How often each word stands in captions that differ, and each two next to each other; ``""`` is the edge
    of a caption. Words and pairs are given by ``spelling.word_number``.

    Raises:
        FileNotFoundError: a file of captions is absent.
    """
    image_key = image_keys(root)
    kept = {image_key(row["source"], row["id"]) for row in records() if row["part"] in MEASURING}
    captions = {
        tuple(spelling.corrected_alone(text))
        for source, file in TEXTS.items()
        for name, text in texts(root / file, source).items()
        if image_key(source, name) not in kept
    }
    alone = Counter((word,) for words in captions for word in words)
    beside = Counter(pair for words in captions for pair in zip(("", *words), (*words, ""), strict=True))
    found = Counter[int]()
    for words, count in (alone | beside).items():
        if count >= LEAST:
            found[spelling.word_number(*words)] += count
    return found


def make(
    out: Annotated[Path, typer.Option(help="File for the counts.")],
    root: Annotated[
        Path, typer.Option(help="Folder of the captions, see WORKBENCH_DATA.", envvar="WORKBENCH_DATA")
    ],
) -> None:
    """Count the words of all captions that are not for measuring, and which stand next to each other."""
    found = counted(root)
    numbers = np.array(sorted(found), dtype=np.uint32)
    counts = np.array([found[one] for one in numbers.tolist()], dtype=np.uint32)
    with replacing(out) as file:
        save_file({"numbers": numbers, "counts": counts}, file)


if __name__ == "__main__":
    typer.run(make)
