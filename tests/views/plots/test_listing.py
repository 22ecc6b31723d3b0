from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.views.plots.listing import LONGEST, STYLE, listing


def test_the_title_counts_all_rows_and_says_how_many_are_shown():
    made = listing({"a": ["x", "y", "z"], "b": ["1", "2", "3"]}, title="t", most=2)
    assert "<caption>t: 3, the first 2 shown</caption>" in made
    assert made.endswith("<tr><td>x</td><td>1</td></tr><tr><td>y</td><td>2</td></tr></table>")


def test_a_long_text_is_cut_with_a_mark():
    made = listing({"a": ["word " * 10_000]}, title="t")
    assert made.endswith(" …</td></tr></table>")
    assert len(made) < len(STYLE) + LONGEST + 200


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="zip"):
        listing({"a": ["x"], "b": []}, title="t")


@settings(deadline=None)
@given(st.text(max_size=80))
def test_no_text_is_markup(text):
    plain = listing({"h": ["x"]}, title="h").removeprefix(STYLE)
    made = listing({f"{text}": [text]}, title=text).removeprefix(STYLE)
    assert made.count("<") == plain.count("<")
    assert made.count(">") == plain.count(">")
    assert made.count('"') == plain.count('"')
    assert not set("$\x00\u202e\ud800\n") & set(made)
