"""What a notebook shows of one result or of several."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import workbench as wb
from tests.runs import test_compare as toys
from workbench.records import Measurement, MetricKey

split, spaces = toys.split, toys.spaces
START = {"epoch": 0.0, "steps": 0.0, "val/rsum": 0.5, "seconds": 0.2}
FIRST = {"epoch": 1.0, "steps": 9.0, "val/rsum": 2.0, "nce": 0.5, "loss": 0.5, "seconds": 1.0}


def measured(run: Any) -> Any:
    keys = [MetricKey("own", "t2i", "exact", k=1), MetricKey("true", "t2i", "exact", k=1), MetricKey("rsum")]
    return replace(run, measurements=[Measurement(key, 0.5, 0.4, 0.6, queries=9) for key in keys])


@pytest.fixture
def trained(spaces: list[Any]) -> Any:
    return replace(measured(spaces[0]), history=[START, FIRST])


def rows(page: Any) -> list[str]:
    """The first cell of each row."""
    return re.findall(r"<tr><td[^>]*>([^<]*)</td>", page.data)


def test_numbers_are_those_to_look_at_first_or_all(trained: Any) -> None:
    assert rows(wb.numbers(trained)) == ["rsum"]
    assert rows(wb.numbers(trained, every=True)) == ["exact:t2i/own@1", "exact:t2i/true@1", "rsum"]


def test_numbers_of_a_comparison_have_a_column_a_run(spaces: list[Any]) -> None:
    compared = wb.compare(*spaces, keys=["rsum", "t2i/R@1"])
    page = wb.numbers(compared)
    assert rows(page) == ["rsum", "t2i/R@1"]
    assert re.findall(r"<th[^>]*>([^<]*)</th>", page.data)[:3] == ["number", "good", "bad"]


def test_curves_are_those_of_one_run_or_of_several_and_name_who_was_not_trained(
    trained: Any, spaces: list[Any]
) -> None:
    assert wb.curves(trained).layout.title.text.startswith("Training: ")
    other = replace(trained, name="other")
    title = wb.curves(trained, other, replace(spaces[1], name="a <b>")).layout.title.text
    assert title.startswith("Learning curves: good")
    assert title.endswith("not trained here: a &lt;b&gt;")
    assert not wb.curves(*spaces).data
    assert not wb.curves(spaces[0]).data


def test_first_answers_are_drawn_where_the_data_know_the_truth(trained: Any, spaces: list[Any]) -> None:
    assert len(wb.first_answers(trained).data) == 3
    fig = wb.first_answers(spaces[0])
    assert not fig.data
    assert "do not say" in fig.layout.title.text


def test_differences_and_verdicts_are_those_from_the_first_run(spaces: list[Any]) -> None:
    compared = wb.compare(*spaces, keys=["rsum"])
    assert "Difference from good" in wb.differences(compared).layout.title.text
    assert rows(wb.verdicts(compared)) == ["rsum"]
    with pytest.raises(ValueError, match="no second run"):
        wb.differences(wb.compare(spaces[0], keys=["rsum"]))


def test_a_sheet_shows_the_queries_asked_for_and_those_that_tell_most(spaces: list[Any]) -> None:
    alone = wb.sheet(spaces[0]).data
    assert all(f"<b>{why}</b>" in alone or why in alone for why in ("best", "median", "worst"))
    several = wb.sheet(*spaces, queries=["3.jpg#1"], count=2, k=3).data
    assert several.count("the runs differ: ranks") == 2
    assert several.index("asked for") < several.index("the runs differ")
    chosen = wb.sheet(spaces[0], queries=["3.jpg"], direction="i2t", count=0).data
    assert "asked for" in chosen
    assert "median" not in chosen
    with pytest.raises(KeyError, match=r"3\.jpg#9"):
        wb.sheet(*spaces, queries=["3.jpg#9"])


def test_a_word_that_a_view_does_not_take_is_named_with_the_near_one(spaces: list[Any]) -> None:
    with pytest.raises(TypeError, match="did you mean queries"):
        wb.sheet(*spaces, query=["3.jpg"])
