import pytest

from workbench.views.plots.printed import STYLE, printed

COLUMNS = {
    "paper": ["measured here", "DITM, table I", "DITM, table I"],
    "group": ["", "ViT-B/32", "ViT-B/32"],
    "method": ["my <run>", "DAA", "DITM"],
    "rsum": ["400.0", "419.9", "460.3"],
    "beside": ["", "", "a & b"],
}


def test_rows_stand_under_the_heading_of_their_paper_and_group():
    page = printed(COLUMNS, title="MS-COCO 5K").removeprefix(STYLE)
    assert page.count("<tbody>") == 2
    assert '<th scope="rowgroup" colspan="3">DITM, table I, ViT-B/32</th>' in page
    assert (
        page.index("DAA")
        < page.index("<td>419.9</td>")
        < page.index("DITM</th>")
        < page.index("<td>460.3</td>")
    )


def test_it_says_whether_the_rows_compare():
    assert "Measured alike" in printed(COLUMNS, title="t")
    page = printed(COLUMNS, title="t", reason="yours is smaller")
    assert "\N{WARNING SIGN} Not comparable: yours is smaller." in page
    assert "Measured alike" not in page


def test_texts_are_escaped():
    page = printed(COLUMNS, title="<t>").removeprefix(STYLE)
    assert "my &lt;run&gt;" in page
    assert "a &amp; b" in page
    assert "<b>&lt;t&gt;</b>" in page


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        printed(COLUMNS | {"rsum": ["1"]}, title="t")
