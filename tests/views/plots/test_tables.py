import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records import Measurement, MetricKey
from workbench.views.plots.tables import LONGEST, listing, numbers, printed_table


def body(page):
    """The page without its style, on one line."""
    return page.partition("</style>")[2].replace("\n", "")


def test_the_title_counts_all_rows_and_says_how_many_are_shown():
    made = body(listing({"a": ["x", "y", "z"], "b": ["1", "2", "3"]}, title="t", most=2))
    assert "<caption>t: 3, the first 2 shown</caption>" in made
    assert re.findall(r"<td[^>]*>(\w)</td>", made) == ["x", "1", "y", "2"]


def test_a_long_text_is_cut_with_a_mark():
    made = body(listing({"a": ["word " * 10_000]}, title="t"))
    assert made.endswith(" …</td></tr></table>")
    assert len(made) < LONGEST + 300


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="zip"):
        listing({"a": ["x"], "b": []}, title="t")


@given(st.text(max_size=80))
def test_no_text_is_markup(text):
    plain = body(listing({"h": ["x"]}, title="h"))
    made = body(listing({f"{text}": [text]}, title=text))
    assert made.count("<") == plain.count("<")
    assert made.count(">") == plain.count(">")
    assert made.count('"') == plain.count('"')
    assert not set("$\x00\u202e\ud800\n") & set(made)


COLUMNS = {
    "paper": ["measured here", "DITM, table I", "DITM, table I"],
    "group": ["", "ViT-B/32", "ViT-B/32"],
    "method": ["my <run>", "DAA", "DITM"],
    "rsum": ["400.0", "419.9", "460.3"],
    "beside": ["", "", "a & b"],
}


def test_rows_stand_under_the_heading_of_their_paper_and_group():
    page = body(printed_table(COLUMNS, title="MS-COCO 5K"))
    assert page.count("<tbody>") == 2
    assert '<th scope="rowgroup" colspan="3">DITM, table I, ViT-B/32</th>' in page
    assert (
        page.index("DAA")
        < page.index("<td>419.9</td>")
        < page.index("DITM</th>")
        < page.index("<td>460.3</td>")
    )


def test_it_says_whether_the_rows_compare():
    assert "Measured alike" in printed_table(COLUMNS, title="t")
    page = printed_table(COLUMNS, title="t", reason="yours is smaller")
    assert "do not compare: yours is smaller." in page
    assert "Measured alike" not in page


def test_texts_of_papers_are_escaped():
    page = body(printed_table(COLUMNS, title="<t>"))
    assert "my &lt;run&gt;" in page
    assert "a &amp; b" in page
    assert "<b>&lt;t&gt;</b>" in page


def test_numbers_of_runs_stand_side_by_side_each_with_its_interval_and_its_contract():
    measured = Measurement(
        MetricKey.parse("t2i/R@1"), 0.5, 0.4, 0.625, queries=5000, gallery=1000, hit="a <hit>"
    )
    rsum = ("rsum", {"value": 4.1, "low": None, "high": None})
    made = body(numbers({"one": [measured, rsum], "two": [rsum]}, title="scenes"))
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", made)
    assert cells[:8] == [
        "t2i/R@1",
        "50.0 (40.0 to 62.5)",
        "",
        "percent",
        "",
        "5,000",
        "1,000",
        "a &lt;hit&gt;",
    ]
    assert cells[8:12] == ["rsum", "410.0", "410.0", "of 600"]
