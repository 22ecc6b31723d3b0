from __future__ import annotations

import numpy as np
import pytest

from workbench.views.plots import descriptiveness as plots
from workbench.views.plots.hierarchy import boxes_by_level
from workbench.views.plots.theme import LEVELS

LEVEL = np.array([1, 2, 1, 2])
PANELS = {"printed": np.array([1.0, 0.0, 0.8, 0.2]), "l2_sum": np.array([0.0, 0.6, 0.2, 1.0])}


def luminance(colour):
    """Relative luminance of ``rgb(...)`` or ``#rrggbb`` (WCAG 2.1)."""
    parts = (
        [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        if colour[0] == "#"
        else [int(part) for part in colour[4:-1].split(",")]
    )
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in parts)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_bar_is_made_of_its_words_end_to_end_from_top_to_bottom():
    fig = plots.word_bars(["a dog", "dog"], [[("a", 0.5), ("dog", 1.5)], [("dog", 2.0)]], title="t", x="x")
    (bars,) = fig.data
    assert list(zip(bars.base, bars.x, bars.y, bars.hovertext, strict=True)) == [
        (0.0, 0.5, 0, "a: 0.500"),
        (0.5, 1.5, 0, "dog: 1.500"),
        (0.0, 2.0, 1, "dog: 2.000"),
    ]
    assert fig.layout.yaxis.ticktext == ("a dog", "dog")
    assert fig.layout.yaxis.autorange == "reversed"


def test_a_word_that_does_not_fit_its_segment_is_left_to_the_hover_text():
    fig = plots.word_bars(["x"], [[("photographer", 0.1), ("dog", 9.9)]], title="t", x="x")
    assert list(fig.data[0].text) == ["", "dog"]


def test_captions_without_words_have_no_bars():
    assert len(plots.word_bars(["...", ""], [[], []], title="t", x="x").data[0].x) == 0


def test_a_long_caption_is_cut_with_a_mark_and_no_markup_gets_through():
    fig = plots.word_bars(["word " * 60, '<b>$x$ "q"'], [[], [("b", 0.0)]], title="t", x="x")
    assert fig.layout.yaxis.ticktext[0].count("<br>") == 2
    assert fig.layout.yaxis.ticktext[0].endswith("…")
    assert fig.layout.yaxis.ticktext[1] == "&lt;b&gt;&#36;x&#36; &#34;q&#34;"


@pytest.mark.parametrize("share", np.linspace(0, 1, 11))
def test_words_can_be_read_on_every_shade(share):
    lights = sorted(luminance(colour) for colour in plots._segment_colours(share))
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 3.9


def test_each_scorer_has_a_panel_and_each_split_one_outline_and_one_entry_of_the_legend():
    panel_figure = {name: {"pool": values, "test": values + 1} for name, values in PANELS.items()}
    fig = plots.distributions(panel_figure, title="t", x="x", bins=4)
    assert [(line.name, line.xaxis, line.showlegend) for line in fig.data] == [
        ("pool", "x", True), ("test", "x", True), ("pool", "x2", False), ("test", "x2", False),
    ]  # fmt: skip
    assert [sum(line.y) for line in fig.data] == pytest.approx([1, 1, 1, 1])
    assert [note.text for note in fig.layout.annotations] == ["printed", "l2_sum"]


def test_all_panels_may_share_the_edges_of_their_bins():
    fig = plots.distributions(
        {"a": {"own": np.array([0.1, 1.9])}, "b": {"own": np.array([1.2])}}, title="t", x="x", items="pairs",
        bins=np.array([0.0, 1.0, 2.0]),
    )  # fmt: skip
    assert [(list(line.x), list(line.y)) for line in fig.data] == [
        ([0.0, 1.0, 2.0], [0.5, 0.5, 0.0]), ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    ]  # fmt: skip
    assert fig.layout.yaxis.title.text == "share of the pairs"


def test_each_scorer_has_one_box_a_level_coloured_from_generic_to_specific():
    fig = boxes_by_level(PANELS, LEVEL, title="t", y="y")
    assert [(box.x[0], box.median[0], box.xaxis) for box in fig.data] == [
        ("1", 0.9, "x"), ("2", 0.1, "x"), ("1", 0.1, "x2"), ("2", 0.8, "x2"),
    ]  # fmt: skip
    assert [box.line.color for box in fig.data[:2]] == [LEVELS[0], LEVELS[-1]]


def test_the_line_by_length_is_the_median_and_the_band_its_quantiles():
    values = {"l2_sum": np.array([0.0, 1.0, 2.0, 7.0])}
    low, high, median = plots.medians_by_length(values, np.array([3, 3, 3, 5]), title="t", y="y").data
    assert (median.x.tolist(), median.y.tolist()) == ([3, 5], [1.0, 7.0])
    assert (low.y[0], high.y[0]) == pytest.approx((0.1, 1.9))
    assert high.fill == "tonexty"
