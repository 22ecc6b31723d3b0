from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records import MetricKey

WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9_ ]{0,10}[a-z]", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("rsum", MetricKey("rsum")),
        ("t2i/R@1", MetricKey("R", "t2i", k=1)),
        ("exact:i2t/map_at_r", MetricKey("map_at_r", "i2t", "exact")),
        ("exact:t2i/own@1[most specific]", MetricKey("own", "t2i", "exact", 1, "most specific")),
        ("rsum[5 folds]", MetricKey("rsum", folds=5)),
        ("cxc:i2i/R@10[x][5 folds]", MetricKey("R", "i2i", "cxc", 10, "x", 5)),
    ],
)
def test_a_key_is_written_as_it_is_read(text: str, key: MetricKey):
    assert (str(key), MetricKey.parse(text)) == (text, key)


@given(
    WORDS,
    st.sampled_from(["", "i2t", "t2i"]),
    WORDS,
    st.none() | st.integers(1, 99),
    st.just("") | WORDS,
    st.integers(1, 9),
)
def test_every_key_is_read_back(metric, direction, judgements, k, subset, folds):
    key = MetricKey(metric, direction, judgements, k, subset, folds)
    assert MetricKey.parse(str(key)) == key


@pytest.mark.parametrize("text", ["", "t2i/", "R@0", "R@x", "x2y/R@1", "a:b:c", "R@1[", "t2i/R@1]", "a/b/c"])
def test_what_is_no_key_is_refused_with_the_form(text: str):
    with pytest.raises(ValueError, match="the form is"):
        MetricKey.parse(text)


@pytest.mark.parametrize(
    "bad", [{"metric": "a@1"}, {"metric": "R", "k": 0}, {"metric": "R", "subset": "5 folds"}]
)
def test_a_part_that_could_not_be_read_back_is_refused(bad):
    with pytest.raises(ValueError, match="a key has the form"):
        MetricKey(**bad)


def test_an_unknown_direction_is_refused():
    with pytest.raises(ValueError, match="no direction 'i2x'; known: i2t, t2i"):
        MetricKey("R", "i2x")
