import io
import threading

import numpy as np
import pytest
from PIL import Image

from workbench.records import Split
from workbench.views.explorer.pictures import SIDE, Thumbnails, placeholder

SIZES = [(640, 480), (100, 900), (12, 9), (300, 300)]


class Opener:
    """Pictures of one colour; row 3 cannot be read; counts what is opened."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        self.threads: set[int] = set()

    def __call__(self, row):
        self.opened.append(row)
        self.threads.add(threading.get_ident())
        if row == 3:
            raise OSError("image file is truncated (12 bytes not processed) \u202e")
        return Image.new("RGB", SIZES[row], (40 * row, 90, 200))


def split_of(opener, ids=("a/b", "../c", "كلب", "d")):
    names = tuple(f"t{row}" for row in range(4))
    return Split("toy/test", ids, ("a caption",) * 4, names, np.arange(4), opener)


def opened(blob):
    return Image.open(io.BytesIO(blob))


def test_a_thumbnail_keeps_its_proportions_and_is_never_enlarged():
    found = Thumbnails(split_of(Opener()), side=160).get([0, 1, 2])
    assert [opened(found[row]).size for row in range(3)] == [(160, 120), (18, 160), (12, 9)]
    colour = np.array(opened(found[1]).convert("RGB"))[80, 9]
    assert np.abs(colour.astype(int) - [40, 90, 200]).max() <= 4


def test_an_image_is_opened_once_however_often_it_is_asked():
    opener = Opener()
    thumbnails = Thumbnails(split_of(opener))
    first = thumbnails.get([2, 0, 2])
    assert thumbnails.get([0, 2]) == first
    assert sorted(opener.opened) == [0, 2]


def test_what_was_not_used_for_long_leaves_the_memory():
    opener = Opener()
    thumbnails = Thumbnails(split_of(opener), memory=1)
    thumbnails.get([0, 1])
    thumbnails.get([1])
    thumbnails.get([0])
    assert sorted(opener.opened) == [0, 0, 1]


def test_an_image_that_cannot_be_read_shows_the_reason():
    thumbnails = Thumbnails(split_of(Opener()))
    picture = opened(thumbnails.get([3])[3])
    assert picture.size == (SIDE, SIDE * 3 // 4)
    assert thumbnails.failed[3].startswith("OSError: image file is truncated")
    # dark letters on light grey
    assert np.array(placeholder(thumbnails.failed[3]).convert("L")).min() < 90


@pytest.mark.parametrize("row", [-1, 4])
def test_an_image_that_the_split_has_not_is_refused(row):
    with pytest.raises(IndexError, match=f"no image number {row}"):
        Thumbnails(split_of(Opener())).get([row])
