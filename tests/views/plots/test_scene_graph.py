from __future__ import annotations

import html.parser
import json

import nbformat
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from workbench.execution import report
from workbench.records import SceneGraph
from workbench.views.plots import graph_layout as layout
from workbench.views.plots import scene_graph as plots
from workbench.views.plots.theme import escape

GRAPH = SceneGraph(
    ("man", "red hat", "dog", "snow"),
    ((0, "two"), (2, "brown"), (2, "wet"), (3, "deep")),
    ((0, "in", 1), (0, "throw to", 2), (2, "run through", 3), (2, "look at", 0), (0, "watch", 3)),
)
IMAGE = Image.new("RGB", (40, 30), (90, 120, 30))


def luminance(colour):
    """Relative luminance of ``#rrggbb`` (WCAG 2.1)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def edges(box):
    (x, y), w, h = box.centre, box.width / 2, layout.BOX / 2
    return x - w, x + w, y - h, y + h


def apart(one, other):
    a, b = edges(one), edges(other)
    return a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]


# By hand: a word of three letters is 3 * 7.3 + 22 = 43.9 pixels wide.
def test_objects_stand_in_a_row_attributes_above_and_a_relation_below_between_its_ends():
    drawing = layout.place_graph(SceneGraph(("man", "dog"), ((1, "wet"),), ((0, "pet", 1),)))
    man, dog, wet, pet = drawing.boxes
    assert (man.width, wet.width) == (pytest.approx(43.9), pytest.approx(43.9))
    # the relation needs 43.9 and 16 for its two ends: 59.9; the boxes alone need (43.9 + 43.9) / 2 + 28 =
    # 71.9
    assert dog.centre[0] - man.centre[0] == pytest.approx(71.9)
    assert (man.centre[1], dog.centre[1], wet.centre) == (0, 0, (dog.centre[0], layout.ROW))
    assert pet.centre == (pytest.approx((man.centre[0] + dog.centre[0]) / 2), -layout.ROW - 12)
    assert [(box.kind, box.about) for box in drawing.boxes] == [
        ("object", ""), ("object", "wet"), ("attribute", "of dog"), ("relation", "man → dog"),
    ]  # fmt: skip
    assert drawing.arrows == ((dog.centre[0], -layout.BOX / 2 - 6),)
    assert drawing.left_out == 0


def test_a_long_relation_runs_below_the_short_ones_inside_it():
    boxes = [box for box in layout.place_graph(GRAPH).boxes if box.kind == "relation"]
    heights = {box.label: box.centre[1] for box in boxes}
    assert (
        heights["in"] == heights["run through"] > heights["throw to"] > heights["look at"] > heights["watch"]
    )


def test_a_great_graph_is_cut_and_says_by_how_much():
    graph = SceneGraph(("dog",) * 300, ((0, "wet"),) * 20, tuple((0, "see", i) for i in range(1, 300)))
    drawing = layout.place_graph(graph, limit=12)
    # 12 objects, 8 attributes, 11 relations are drawn of 300 + 20 + 299
    assert drawing.left_out == 619 - 31
    notes = [note.text for note in plots.draw(graph).layout.annotations]
    assert "588 more not drawn" in notes


def test_kinds_differ_in_symbol_colour_and_lightness_and_their_words_can_be_read():
    looks = list(plots.LOOK.values())
    assert len({symbol for _, _, symbol in looks}) == len({colour for colour, _, _ in looks}) == 3
    for colour, ink, _ in looks:
        low, high = sorted((luminance(colour), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_the_legend_names_the_kinds_that_are_there():
    names = [
        trace.name
        for trace in plots.draw(SceneGraph(("dog",), ((0, "wet"),))).data
        if trace.showlegend is not False
    ]
    assert names == ["object", "attribute"]


def test_a_figure_is_as_wide_as_its_graph_and_no_axis_scales_it():
    fig = plots.draw(GRAPH, caption="word " * 400)
    (low, high), (bottom, top) = fig.layout.xaxis.range, fig.layout.yaxis.range
    margin = fig.layout.margin
    assert fig.layout.width - margin.l - margin.r == pytest.approx(high - low, abs=1)
    assert fig.layout.height - margin.t - margin.b == pytest.approx(top - bottom, abs=1)
    assert fig.layout.annotations[0].text.count("<br>") == 2


def test_an_image_is_matched_with_the_caption_and_with_each_object_and_its_attributes():
    fig = plots.composition(GRAPH, IMAGE, "Two men ...", title="t")
    texts = [note.text for note in fig.layout.annotations]
    assert texts == ["Two men ...", "two man", "red hat", "brown wet dog", "deep snow"]
    assert fig.layout.images[0].source.startswith("data:image/png;base64,")
    assert sum(shape.type == "rect" for shape in fig.layout.shapes) == 5


def test_two_captions_share_what_both_say():
    left = SceneGraph(("man", "dog"), ((1, "wet"),), ((0, "pet", 1),))
    right = SceneGraph(("man", "cat"), (), ((0, "pet", 1),))
    fig = plots.statement_comparison(left, right, names=("a", "b"), score=0.25)
    places = {(trace.x[0], trace.y[0]): trace.hovertext[0] for trace in fig.data}
    assert places == {
        (0, 0): "object: dog", (0, 1): "attribute: dog | wet", (0, 2): "relation: man | pet | dog",
        (1, 0): "object: man", (2, 0): "object: cat", (2, 1): "relation: man | pet | cat",
    }  # fmt: skip
    assert [trace.marker.symbol for trace in fig.data[:3]] == ["square", "circle", "hexagon2"]
    assert fig.layout.title.text == "Two captions compared: tuple F1 0.25"
    heads = [note.text for note in fig.layout.annotations]
    assert heads == [
        "<b>only in the first (3)</b>",
        "<b>in both (1)</b>",
        "<b>only in the second (2)</b>",
        "first: a<br>second: b",
    ]


def test_statistics_count_captions():
    graphs = [
        SceneGraph(("dog", "dog"), ((0, "wet"),)),
        SceneGraph(("cat",)),
        SceneGraph(("dog", "cat"), (), ((0, "see", 1),)),
    ]
    objects, attributes, _ = plots.graph_sizes(graphs).data
    # one, two and two objects; one, none and no attribute
    assert objects.y.tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert attributes.y.tolist() == pytest.approx([2 / 3, 1 / 3])
    bars = plots.most_frequent_words(graphs, k=2)
    assert [list(bar.x) for bar in bars.data] == [[2, 2], [1], [1]]
    assert bars.layout.yaxis.ticktext == ("cat", "dog")


def test_agreement_shows_three_figures_a_part_and_the_bar_of_each():
    figures = {"objects": (0.9, 0.8, 0.85), "attributes": (0.5, 0.5, 0.5), "relations": (0.1, 0.2, 0.13)}
    fig = plots.agreement(figures, {"objects": 0.85, "relations": 0.7}, title="t")
    assert [list(bar.y) for bar in fig.data] == [[90, 50, 10], [80, 50, 20], [85, 50, 13]]
    assert [(line.x0, line.y0) for line in fig.layout.shapes] == [(-0.42, 85), (1.58, 70)]


# Any graph: nothing overlaps, everything is inside.
NAMES = st.text(st.characters(codec="utf-8"), max_size=30)


@st.composite
def any_graph(draw, words=NAMES):
    objects = tuple(draw(st.lists(words, max_size=7)))
    nodes = st.integers(0, len(objects) - 1) if objects else st.nothing()
    attributes = draw(st.lists(st.tuples(nodes, words), max_size=6)) if objects else []
    relations = draw(st.lists(st.tuples(nodes, words, nodes), max_size=8)) if objects else []
    return SceneGraph(objects, tuple(attributes), tuple(relations))


# Things without names, and several relations of a thing to itself, one of them long.
SEVERAL_LOOPS = SceneGraph(("", ""), (), ((0, "000", 0), (1, "000000000000", 1), (1, "", 1), (1, "", 1)))
# One very long name, the same relation twice and both ways.
LONG_NAME = SceneGraph(
    ("a" * 200, "b"), ((0, "c" * 200),), ((0, "on", 1), (0, "on", 1), (1, "d" * 200, 0), (0, "d" * 200, 0))
)


@example(SEVERAL_LOOPS)
@example(LONG_NAME)
@given(any_graph())
def test_no_boxes_of_a_row_touch_and_all_lie_inside_the_edges(graph):
    drawing = layout.place_graph(graph)
    boxes = drawing.boxes
    assert all(apart(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    for box in boxes:
        left, right, low, high = edges(box)
        assert drawing.left <= left < right <= drawing.right
        assert drawing.bottom <= low < high <= drawing.top


# Hostile text.
HOSTILE = [
    "<script>alert(1)</script>", "</script><!--<script>", "<img src=x onerror=alert(1)>",
    "a <b>dog</b> & a $cat$", "&lt;b&gt;",
    "<a href='javascript:alert(1)'>dog</a>", "\u202egod a\u202c", "كلب يركض في الماء", "😀 a dog 😀",
    "\x00\x01\x1b[31m\x7f", "",
    "dog " * 10_000, "a" * 10_000, "line\nbreak\u2028and\ttab", "\ud800", "%{x}<extra>", "<sub>1</sub>",
]  # fmt: skip
ALLOWED = ("<br>", "<b>", "</b>", "<extra></extra>")


def graph_of(text):
    return SceneGraph((text, "dog"), ((0, text), (1, text)), ((0, text, 1), (1, "see", 0)))


def figures_of(text):
    graph = graph_of(text)
    yield plots.draw(graph, caption=text, title=text)
    yield plots.composition(graph, IMAGE, text, title=text)
    yield plots.statement_comparison(graph, SceneGraph(("dog",)), names=(text, text), score=0.5)
    yield plots.graph_sizes([graph])
    yield plots.most_frequent_words([graph])


def strings(value):
    """All texts in the figure's JSON, keys apart; sources of images are left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("source", "path", "template"):
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


class Tags(html.parser.HTMLParser):
    """The tags of a page, with what scripts hold."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def check(text):
    for fig in figures_of(text):
        made = json.loads(fig.to_json())
        for found in strings(made):
            left = found
            for tag in ALLOWED:
                left = left.replace(tag, "")
            assert "<" not in left
            assert not any(ord(sign) < 32 or sign in "\x7f\u202e\ud800" for sign in left)
        page = report.figure_div(made, "figure-1")
        page.encode()
        parser = Tags()
        parser.feed(page)
        parser.close()
        assert parser.tags == ["div", "script"]
        assert fig.layout.height < 2000


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_passes_into_a_figure_as_markup(text):
    check(text)


@given(st.text(st.sampled_from("<>&$'\"/!-=;%{}abscript \n\x00\u202eك😀"), max_size=40))
def test_no_mixture_of_signs_passes_into_a_figure_as_markup(text):
    check(text)


@given(st.text(max_size=60))
def test_escaped_text_has_no_markup_no_mathematics_and_no_control(text):
    made = escape(text)
    assert not set("<>\"'$\n\x00\u202e") & set(made)


def test_a_table_of_captions_in_a_report_holds_no_markup_of_theirs():
    texts = [text for text in HOSTILE if "\ud800" not in text]
    pages = []
    for several in (texts, ["dog"] * len(texts)):
        table = pd.DataFrame(
            {"caption": several, "words": [" | ".join(text.split()[:9]) for text in several]}
        )
        output = nbformat.v4.new_output(
            "execute_result", data={"text/html": table._repr_html_(), "text/plain": "table"}
        )
        pages.append(Tags())
        pages[-1].feed(
            report.to_html(
                nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("table", outputs=[output])]), "t"
            )
        )
    assert pages[0].tags == pages[1].tags
