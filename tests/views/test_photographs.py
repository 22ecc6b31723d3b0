"""What is shown of an image: its photograph, or a card in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import ImageColor

from tests.data import fixtures
from workbench import data
from workbench.views import photographs
from workbench.views.photographs import caption_card, image_or_card


def pixels(image):
    return np.asarray(image)


def test_a_photograph_is_shown_where_there_is_one():
    split = data.load("scenes", split="test", size=2)
    assert pixels(image_or_card(split, 1)).tobytes() == pixels(split.open_image(1)).tobytes()


def test_regions_without_photographs_have_a_card_and_other_data_an_error(tmp_path):
    place = fixtures.bottom_up(tmp_path / "mine", images=8)
    split = data.load("folder", split="test", root=str(place), regions="butd")
    shown = image_or_card(split, 1)
    assert shown.size == (photographs.WIDTH, photographs.HEIGHT)
    captions = [caption for caption, row in zip(split.captions, split.own, strict=True) if row == 1]
    assert pixels(shown).tobytes() == pixels(caption_card(captions, split.open_boxes(1))).tobytes()
    with pytest.raises(FileNotFoundError, match="no image file"):
        image_or_card(replace(split, regions=None), 1)


def test_the_boxes_of_regions_are_framed_where_they_are():
    frame = np.array(ImageColor.getrgb(photographs.FRAME))
    plain, framed = (
        pixels(caption_card(["a dog"], boxes)) for boxes in (None, np.array([[0.5, 0.5, 1.0, 1.0]]))
    )
    # the word above the frames ends at row 20; they fill the next 120 rows
    inside = (framed[21:140] == frame).all(axis=2)
    assert not (plain[21:140] == frame).all(axis=2).any()
    rows, columns = np.nonzero(inside)
    assert (columns.min(), columns.max()) == pytest.approx((8 + 0.5 * 303, 8 + 303), abs=1)
    assert (rows.min() + 21, rows.max() + 21) == pytest.approx((20 + 0.5 * 119, 20 + 119), abs=1)


def test_letters_that_the_font_lacks_and_long_captions_do_no_harm():
    assert caption_card(["\u732b " * 400] * 9, np.full((50, 4), 2.0)).size == (320, 240)
