"""Labels of slices, read back into the queries that they are made of."""

import numpy as np
import pytest

from tests.runs.test_slices import split
from workbench.runs.conditions import read_label, slice_masks
from workbench.runs.slices import slices_of
from workbench.runs.ways import WAYS


@pytest.mark.parametrize(
    "by",
    [
        *("language", "words", "words:median", "words:thirds", "words:>5", "words:<5"),
        *("has:negation", "has:url", "negation", "place", "language*words:median", "long:median*place"),
    ],
)
def test_every_label_of_a_table_gives_back_its_slice(by):
    data = split()
    for way in WAYS:
        for label, mask in slices_of(data, by, way).items():
            assert slice_masks(data, label)[way].tolist() == mask.tolist(), label


def test_a_word_is_a_condition_on_captions_and_on_the_images_they_belong_to():
    masks = slice_masks(split(), "word=c")
    assert {way: np.flatnonzero(mask).tolist() for way, mask in masks.items()} == {"t2i": [2], "i2t": [1]}


def test_commas_and_signs_of_equality_may_be_part_of_a_value():
    ((condition,),) = read_label("place=Bern, Switzerland", ["place"])
    assert condition.tests == (("=", "Bern, Switzerland"),)
    assert [each.field for (each,) in read_label("a=b=c, a<=3", ["a"])] == ["a", "a"]


def test_one_of_several_conditions_holds_and_commas_bind_less():
    data = split()
    masks = [slice_masks(data, label)["t2i"] for label in ("words<4", "words>5", "language=de")]
    joined = slice_masks(data, "words<4 or words>5, language=de")["t2i"]
    assert joined.tolist() == ((masks[0] | masks[1]) & masks[2]).tolist()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("langage=de", "language"),
        ("language", "condition"),
        ("language>3", "no numbers"),
        ("words>99", "median"),
    ],
)
def test_a_label_of_nothing_is_refused_in_words_that_help(label, message):
    with pytest.raises(ValueError, match=message):
        slice_masks(split(), label)
