"""A report reads offline."""

from __future__ import annotations

import re

import nbformat
import plotly.graph_objects as go

from workbench.execution import report


def _book(figures: int) -> nbformat.NotebookNode:
    data = {
        report.PLOTLY: go.Figure(go.Scatter(y=[1, 2], text=["</script>", "b"])).to_plotly_json(),
        "text/plain": "Figure",
    }
    outputs = [nbformat.v4.new_output("display_data", data=data) for _ in range(figures)]
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell("figure", outputs=outputs)]
    return nbformat.v4.new_notebook(cells=cells)


def test_a_report_asks_no_other_place_for_anything() -> None:
    page = report.to_html(_book(0), "tiny")
    assert not re.findall(r'(?:src|href)="https?:', page)
    assert "cdn" not in page


def test_plotly_js_is_in_a_page_once_however_many_figures_it_has() -> None:
    none, one, three = (report.to_html(_book(n), "tiny") for n in (0, 1, 3))
    assert len(one) - len(none) > 1_000_000
    assert len(three) - len(one) < 100_000
    assert three.count("Plotly.newPlot(") - one.count("Plotly.newPlot(") == 2
    assert [f'id="figure-{n}"' in three for n in (1, 2, 3, 4)] == [True, True, True, False]


def test_text_in_a_figure_cannot_end_its_script() -> None:
    made = report.figure_div({"data": [{"text": "</script> <!--<script>"}], "layout": {}}, "a")
    assert made.count("</script>") == made.count("<script>") == 1
    assert "<!--" not in made


def test_figures_are_found_in_order_and_the_notebook_is_left_as_it_was() -> None:
    book = _book(2)
    report.to_html(book, "tiny")
    assert [list(figure) for figure in report.figures(book)] == [["data", "layout"]] * 2


def test_what_a_notebook_found_stands_above_it_and_brings_no_markup() -> None:
    page = report.to_html(_book(0), "tiny", "60 % <b>say</b> so.")
    assert page.index('<p class="found">60 % &lt;b&gt;say&lt;/b&gt; so.</p>') < page.index('id="Title"')
    assert 'class="found"' not in report.to_html(_book(0), "tiny")


def test_a_report_leads_to_the_pages_near_it_and_not_to_itself(tmp_path):
    page = tmp_path / "tour" / "06" / "notebook.html"
    page.parent.mkdir(parents=True)
    for path in (page.with_suffix(".ipynb"), page.with_name("explorer.html"), tmp_path / "tour/index.html"):
        path.touch()
    links = report.pages_near(page)
    assert [name for name, _ in links] == ["Tour", "Explorer", "Notebook"]
    made = report.to_html(_book(0), "tiny", links=links)
    assert '<a href="../index.html">Tour</a>' in made
    assert report.pages_near(tmp_path / "elsewhere" / "explorer.html") == []
