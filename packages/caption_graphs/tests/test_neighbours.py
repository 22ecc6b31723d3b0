"""How often words of captions stand next to each other: what is counted, and what is shipped."""

import numpy as np
import pytest
from caption_graphs import spelling
from caption_graphs.vocabulary import ASSETS
from safetensors.numpy import load_file

from tools.caption_graphs import annotations, neighbours

MOST_BYTES = 4e5


@pytest.mark.real_data
def test_the_shipped_counts_are_those_of_the_captions(real_data, tmp_path):
    neighbours.make(tmp_path / "counts", real_data)
    tables = load_file(tmp_path / "counts")
    shipped = load_file(ASSETS / "neighbours.safetensors")
    assert tables.keys() == shipped.keys()
    assert all(np.array_equal(tables[name], shipped[name]) for name in tables)
    assert (ASSETS / "neighbours.safetensors").stat().st_size < MOST_BYTES


@pytest.mark.real_data
def test_no_caption_of_an_image_for_measuring_is_counted(real_data, monkeypatch):
    read = []
    alone = spelling.corrected_alone
    monkeypatch.setattr(spelling, "corrected_alone", lambda text: read.append(text) or alone(text))
    neighbours.counted(real_data)
    image_key, known = annotations.image_keys(real_data), {}
    for source, file in annotations.TEXTS.items():
        for name, text in annotations.texts(real_data / file, source).items():
            known.setdefault(text, set()).add(image_key(source, name))
    rows = [row for row in annotations.records() if row["part"] in annotations.MEASURING]
    measured = {image_key(row["source"], row["id"]) for row in rows}
    assert all(known[text] - measured for text in set(read))
