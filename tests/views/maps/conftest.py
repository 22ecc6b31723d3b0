"""A small space without a model: what maps read of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from workbench.records import Embedding, Split
from workbench.runs.own import SavedVectors
from workbench.runs.result import Result

HOSTILE = (
    "<b>dog</b> </script><script>document.title = 'owned'</script> <img src=x onerror=alert(1)> "
    '$x$ كلب &lt; "quoted"'
)
WORDS = ("dog", "cat", "ship", "tree", "house", "bird")


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture
def space(tmp_path):
    """Twelve images with two captions each, unit vectors in eight dimensions, kept in a run folder."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(36, 8)).astype(np.float32) + np.repeat(
        [[1.0], [0.0]], [12, 24], axis=0
    ).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    captions = [
        f"a {WORDS[i % 6]}" if j == 0 else f"a {WORDS[i % 6]} beside the {WORDS[i // 3]} number {i}"
        for i in range(12)
        for j in (0, 1)
    ]
    captions[5] = HOSTILE
    split = Split(
        "toy/test", tuple(f"i{i}" for i in range(12)), tuple(captions), tuple(f"c{i}" for i in range(24)),
        np.repeat(np.arange(12), 2), lambda row: Image.new("RGB", (20, 10), (row * 20, 90, 40)),
        level=np.tile([1, 2], 12), chain=np.repeat(np.arange(12), 2),
    )  # fmt: skip
    image, text = Embedding(torch.from_numpy(vectors[:12])), Embedding(torch.from_numpy(vectors[12:]))
    return Result("toy", split, lambda: (SavedVectors(), image, text), tmp_path / "run")
