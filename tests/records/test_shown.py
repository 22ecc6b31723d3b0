from __future__ import annotations

import math

import pytest

from workbench.formatting import UNITS, count, fixed, heading, scaled, shown, with_interval


def test_a_share_is_shown_in_percent_and_rsum_of_600():
    assert (shown(0.5), shown(4.127, "sum")) == ("50.0", "412.7")
    assert (heading("share"), heading("sum")) == ("percent", "of 600")


def test_what_is_shown_and_what_is_drawn_are_one_number():
    assert all(float(shown(0.5, unit)) == pytest.approx(scaled(0.5, unit), abs=0.5) for unit in UNITS)


def test_a_missing_value_is_a_dash():
    assert shown(None) == shown(math.nan) == with_interval(None, None, None) == "–"


def test_a_value_without_an_interval_stands_alone():
    assert with_interval(0.5, None, None) == "50.0"
    assert with_interval(0.01, -0.002, 0.03, sign=True) == "+1.0 (-0.2 to +3.0)"


def test_nothing_is_shown_as_minus_zero():
    assert shown(-0.0001) == fixed(-0.04, 1) == "0.0"


def test_things_are_counted_in_singular_and_plural():
    assert [count(n, "query") for n in (0, 1, 2)] == ["0 queries", "1 query", "2 queries"]
