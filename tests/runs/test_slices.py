"""Slices of queries by fields: every query is in one of them."""

import numpy as np
import pytest

from workbench.records import Field, Split
from workbench.runs.slices import is_value_slice, slices_of

OWN = np.array([0, 0, 1, 1, 2, 2])
WORDS = [3, 4, 5, 6, 7, 20]


def split() -> Split:
    texts = tuple("abcdef")
    fields = {
        "language": Field.from_cells("language", ["de", "en", "de", "de", None, "en"]),
        "words": Field.from_cells("words", WORDS),
        "long": Field.from_cells("long", range(6)),
        "place": Field.from_cells("place", ["sea", "town", "sea"], owner="image"),
        "negation": Field.from_cells("negation", [True, False, False, False, None, None]),
        "url": Field("url", np.array([f"u{n}" for n in range(6)], dtype=object), kind="text"),
    }
    return Split("x", tuple("012"), texts, texts, OWN, lambda row: None, fields=fields)


def rows(by: str, direction: str = "t2i") -> dict[str, list[int]]:
    return {label: np.flatnonzero(mask).tolist() for label, mask in slices_of(split(), by, direction).items()}


def test_a_category_has_a_slice_a_value_and_one_for_what_is_missing():
    assert rows("language") == {"language=de": [0, 2, 3], "language=en": [1, 5], "language=(missing)": [4]}


def test_an_image_query_has_what_its_captions_share():
    expected = {"language=de": [1], "language=en": [2], "language=(several)": [0]}
    assert rows("language", "i2t") == expected
    assert rows("words:4,7", "i2t") == {"words<=4": [0], "4<words<=7": [1], "words>7": [2]}
    assert rows("has:negation", "i2t") == {"negation=yes": [0], "negation=no": [1], "negation=(missing)": [2]}


def test_a_text_query_has_the_fields_of_its_image():
    assert rows("place") == {"place=sea": [0, 1, 4, 5], "place=town": [2, 3]}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("median", {"words<=5": [0, 1, 2], "words>5": [3, 4, 5]}),
        ("thirds", {"words<=4": [0, 1], "4<words<=6": [2, 3], "words>6": [4, 5]}),
        (">5", {"words>5": [3, 4, 5], "words<=5": [0, 1, 2]}),
        (">=5", {"words>=5": [2, 3, 4, 5], "words<5": [0, 1]}),
        ("3.5, 10", {"words<=3.5": [0], "3.5<words<=10": [1, 2, 3, 4], "words>10": [5]}),
    ],
)
def test_numbers_are_cut_by_shares_and_by_what_is_typed(rule, expected):
    assert rows(f"words:{rule}") == expected


def test_few_numbers_are_slices_of_their_own_in_order():
    assert list(rows("words")) == [f"words={number}" for number in WORDS]


def test_two_fields_are_crossed_and_no_slice_is_empty():
    assert rows("language*place") == {
        "language=de, place=sea": [0],
        "language=de, place=town": [2, 3],
        "language=en, place=sea": [1, 5],
        "language=(missing), place=sea": [4],
    }


@pytest.mark.parametrize("direction", ["t2i", "i2t"])
@pytest.mark.parametrize(
    "by",
    ["language", "words", "words:quartiles", "words:>5", "has:negation", "has:url", "language*words:median"],
)
def test_each_query_is_in_one_slice(by, direction):
    masks = np.array(list(slices_of(split(), by, direction).values()))
    assert (masks.sum(axis=0) == 1).all()


def test_what_is_missing_is_no_value():
    assert [is_value_slice(label) for label in rows("language*place")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("by", "kind", "words"),
    [
        ("languag", KeyError, "did you mean language"),
        ("words:quarters", ValueError, "did you mean quartiles"),
        ("place:median", ValueError, "place has no numbers"),
    ],
)
def test_what_cannot_cut_is_refused_with_a_remedy(by, kind, words):
    with pytest.raises(kind, match=words):
        rows(by)


def test_a_field_of_too_many_values_is_refused():
    whole = split()
    texts = tuple(map(str, range(101)))
    field = Field("url", np.array(texts, dtype=object), kind="text")
    wide = Split("x", texts, texts, texts, np.arange(101), whole.open_image, fields={"url": field})
    with pytest.raises(ValueError, match="101 values, and at most 100"):
        slices_of(wide, "url", "t2i")
