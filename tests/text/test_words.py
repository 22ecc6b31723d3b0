from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import text as oracle
from workbench.text.signal import Ragged, offsets
from workbench.text.words import words


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A dog's T-shirt.", ["a", "dog's", "t", "shirt"]),
        ("two_words, 3 signs!", ["two", "words", "3", "signs"]),
        ("the girls' team 'quoted'", ["the", "girls", "team", "quoted"]),
        ("It\u2019s Caf\u00e9 cafe\u0301", ["it's", "caf\u00e9", "caf\u00e9"]),
        ("  ... ", []),
    ],
)
def test_words_are_lower_cased_runs_of_letters_and_digits(caption, expected):
    assert words(caption) == expected


@given(st.text("ab Z9'’_-.", max_size=40))
def test_words_are_those_of_a_walk_over_the_characters(caption):
    assert words(caption) == oracle.tokens(caption)


def test_rows_of_different_length_are_padded_to_the_longest_of_the_batch_only():
    values, mask = Ragged.from_rows([[5, 6], [], [7, 8, 9], [4]]).pad(np.array([3, 0, 1]))
    assert values.tolist() == [[4, 0], [5, 6], [0, 0]]
    assert mask.tolist() == [[True, False], [True, True], [False, False]]


def test_no_rows_give_an_empty_batch():
    values, mask = Ragged(np.zeros((4, 3)), offsets([4])).pad(np.array([], dtype=int))
    assert (values.shape, mask.shape) == ((0, 0, 3), (0, 0))
