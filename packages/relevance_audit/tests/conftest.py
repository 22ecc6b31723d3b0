import numpy as np
import pytest
from PIL import Image

from workbench.records import Judgements, Split


def opener(row: int) -> Image.Image:
    return Image.new("RGB", (8, 6), (40 * row, 90, 120))


@pytest.fixture
def split() -> Split:
    """Three images with two captions each; the first caption of the second image is true of the first image
    as well."""
    images, captions = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([0, 1, 2, 3, 4, 5, 2])
    exact = Judgements("exact", "toy truth", (3, 6), images, captions, np.ones(7, dtype=np.float32))
    texts = ("one dog", "a <b>dog</b>", "a dog", "two dogs", "a cat", "no dog")
    ids = ("a0", "a1", "b0", "b1", "c0", "c1")
    own = np.array([0, 0, 1, 1, 2, 2])
    return Split("toy/test", ("a", "b", "c"), texts, ids, own, opener, judgements={"exact": exact})


@pytest.fixture
def scores() -> np.ndarray:
    """Caption b0 finds image a before its own; caption c1 finds image b before its own."""
    return np.array(
        [[0.9, 0.8, 0.7, -0.1, 0.0, 0.1], [0.3, 0.2, 0.6, 0.8, 0.1, 0.6], [0.1, -0.2, 0.0, 0.2, 0.9, 0.5]]
    )


@pytest.fixture
def rng():
    return np.random.default_rng(7)
