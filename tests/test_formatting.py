from __future__ import annotations

import math

import pytest

from workbench.formatting import (
    UNITS,
    display_value,
    format_count,
    format_interval,
    format_number,
    format_value,
    unit_heading,
)


def test_a_share_is_shown_in_percent_and_rsum_of_600():
    assert (format_value(0.5), format_value(4.127, "sum")) == ("50.0", "412.7")
    assert (unit_heading("share"), unit_heading("sum")) == ("percent", "of 600")


def test_what_is_shown_and_what_is_drawn_are_one_number():
    assert all(
        float(format_value(0.5, unit)) == pytest.approx(display_value(0.5, unit), abs=0.5) for unit in UNITS
    )


def test_a_missing_value_is_a_dash():
    assert format_value(None) == format_value(math.nan) == format_interval(None, None, None) == "–"


def test_a_value_without_an_interval_stands_alone():
    assert format_interval(0.5, None, None) == "50.0"
    assert format_interval(0.01, -0.002, 0.03, sign=True) == "+1.0 (-0.2 to +3.0)"


def test_nothing_is_shown_as_minus_zero():
    assert format_value(-0.0001) == format_number(-0.04, 1) == "0.0"


def test_things_are_counted_in_singular_and_plural():
    assert [format_count(n, "query") for n in (0, 1, 2)] == ["0 queries", "1 query", "2 queries"]
