"""One text names the queries behind a number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.views.explorer.toys import hand_space
from workbench.records import Field
from workbench.runs.result import Result
from workbench.runs.selection import Selection, selection_of


def runs() -> list[Result]:
    """A run that is right everywhere, and one that is wrong on the captions of the first two images."""
    first = hand_space([[1.0, 0.0], [0.0, 1.0], [0.6, -0.8]])
    languages = Field.from_cells("language", ["de", "fr", "de"])
    split = replace(first.split, fields={"language": languages})
    image, text = first.image, first.text
    swapped = image.take(np.array([1, 0, 2]))
    right = replace(first, name="my run", split=split)
    return [right, Result("other", split, lambda: (first.model, swapped, text))]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2]),
        ("t2i/R@1", [0, 1, 2]),
        ("rsum", [0, 1, 2]),
        ("language=de", [0, 2]),
        ("t2i/R@5[language=de]; wrong in other", [0]),
        ("t2i/R@1[mean over language]; right in my run; wrong in other", [0, 1]),
        ("i2t/R@1[within language=de]; right in other", [2]),
    ],
)
def test_a_text_selects_queries(text: str, rows: list[int]) -> None:
    selection = Selection.parse(text)
    assert selection.rows(runs()).tolist() == rows
    assert Selection.parse(str(selection)) == selection


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("language=xx", ValueError, "no query"),
        ("colour=red", ValueError, "colour"),
        ("t2i/R@1; wrong in third", KeyError, "third"),
        ("exact:t2i/R@1", KeyError, "exact"),
        ("t2t/R@1", ValueError, "t2t"),
        ("a/b/c", ValueError, "name of a number"),
    ],
)
def test_what_selects_nothing_is_named(text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Selection.parse(text).rows(runs())


def test_a_number_of_a_table_has_queries_unless_it_has_a_gallery_of_its_own() -> None:
    assert str(selection_of("t2i/R@1[words>9]")) == "t2i/R@1[words>9]"
    assert selection_of("i2t/R@1[5 folds]") is None
    assert selection_of("t2t/R@1") is None
    assert selection_of("i2t/counterfactual_accuracy[things]") is None


def test_the_end_of_an_address_is_one_word() -> None:
    assert Selection.parse("language=de").fragment == "#select=t2i%2FR%401%5Blanguage%3Dde%5D"
