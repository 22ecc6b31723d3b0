import io

import numpy as np
import pytest
from PIL import Image

from workbench.records import Split
from workbench.views.explorer.thumbnails import SIDE, Thumbnails

SIZES = [(640, 480), (100, 900), (12, 9), (300, 300)]


class Opener:
    """Images of one colour; row 3 cannot be read; counts what is opened."""

    def __init__(self) -> None:
        self.opened: list[int] = []

    def __call__(self, row):
        self.opened.append(row)
        if row == 3:
            raise OSError("image file is truncated (12 bytes not processed) \u202e")
        return Image.new("RGB", SIZES[row], (40 * row, 90, 200))


def split_of(opener, ids=("a/b", "../c", "كلب", "d")):
    names = tuple(f"t{row}" for row in range(4))
    return Split("toy/test", ids, ("a caption",) * 4, names, np.arange(4), opener)


def opened(blob):
    return Image.open(io.BytesIO(blob))


def test_a_thumbnail_keeps_its_proportions_and_is_never_enlarged():
    thumbnails = Thumbnails(split_of(Opener()))
    blobs = [thumbnails.thumbnail(row) for row in range(3)]
    assert [opened(blob).size for blob in blobs] == [(224, 168), (25, 224), (12, 9)]
    colour = np.array(opened(blobs[1]).convert("RGB"))[80, 9]
    assert np.abs(colour.astype(int) - [40, 90, 200]).max() <= 4


def test_an_image_is_opened_once_until_it_leaves_the_memory_and_sent_once_to_a_page():
    opener = Opener()
    thumbnails = Thumbnails(split_of(opener), most=1)
    assert thumbnails.new_to("a page", ["0"])[0] == ["0"]
    assert thumbnails.new_to("a page", ["0"]) == ([], [])
    assert thumbnails.new_to("another page", ["0"])[0] == ["0"]
    assert opener.opened == [0]
    thumbnails.new_to("a page", ["1"])
    thumbnails.thumbnail(0)
    assert opener.opened == [0, 1, 0]


def test_an_image_that_cannot_be_read_shows_the_reason():
    card = opened(Thumbnails(split_of(Opener())).thumbnail(3))
    assert card.size == (SIDE, SIDE * 3 // 4)
    # dark letters on light grey
    assert np.array(card.convert("L")).min() < 90


@pytest.mark.parametrize("row", [-1, 4])
def test_an_image_that_the_split_has_not_is_refused(row):
    with pytest.raises(IndexError, match=f"no image number {row}"):
        Thumbnails(split_of(Opener())).large_thumbnail(row)
