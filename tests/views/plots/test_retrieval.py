import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from workbench.records import Judgements, Split
from workbench.views.plots.retrieval import best_median_worst, sheet

CAPTIONS = ("a <script>alert(1)</script>", "two & three", "it's $x$")
OWN = np.array([0, 1, 2])
GOOD = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.7], [0.3, 0.4, 0.6]])
GRADES = np.array([[1.0, 1.0, 0.5], [0.25, 1.0, 0.0], [1.0, 0.0, 1.0]])


@pytest.fixture
def split():
    judged = {"own": Judgements.from_own(OWN, 3)}
    ids = ("a.jpg", 'b".jpg', "c.jpg")
    return Split(
        "toy/test",
        ids,
        CAPTIONS,
        ("0", "1", "2"),
        OWN,
        lambda row: Image.new("RGB", (300, 200)),
        judgements=judged,
    )


def grade(images, captions):
    return GRADES[np.ix_(images, captions)]


def marks(page):
    return re.findall(r'<td class="(\w*)">', page)


def test_the_best_the_median_and_the_worst_query_are_chosen_by_rank():
    assert best_median_worst(np.array([5.0, 2.0, np.nan, 9.0, 4.0, 1.0])) == [
        ("best", 5),
        ("median", 4),
        ("worst", 3),
    ]
    assert best_median_worst(np.ones(3)) == [("best", 0), ("median", 1), ("worst", 2)]


def test_where_no_query_counts_there_is_nothing_to_choose():
    with pytest.raises(ValueError, match="no query"):
        best_median_worst(np.full(2, np.nan))


def test_every_query_has_a_line_for_each_run_with_the_rank_of_its_own_item(split):
    runs = {"one": GOOD, "two": -GOOD}
    page = sheet(runs, [("asked for", 0), ("differs", 1)], split, k=2)
    assert page.count('scope="rowgroup"') == 2
    assert re.findall(r"<b>(\w+)</b>annotated item at rank (\d)", page) == [
        ("one", "1"),
        ("two", "3"),
        ("one", "1"),
        ("two", "3"),
    ]
    assert "toy/test: 3 images, 3 captions" in page


def test_colour_and_sign_say_what_an_item_is(split):
    page = sheet({"one": GOOD}, [("", 0)], split, grade=grade, k=3)
    # caption 0 prefers images 0, 2, 1: its own, one of which it is true, one of which a quarter of it holds
    assert marks(page) == ["own", "true", ""]
    # a line ends between what is said, never within it
    for said in (
        ("\N{CHECK MARK} annotated", "score 0.900"),
        ("\N{WHITE CIRCLE} true", "score 0.300"),
        ("✕ wrong", "25.0 % true", "score 0.200"),
    ):
        assert f"<small>{', '.join(f'<span>{part}</span>' for part in said)}</small>" in page


def test_images_ask_for_captions(split):
    page = sheet({"one": GOOD}, [("", 0)], split, direction="i2t", grade=grade, k=3)
    # image 0 prefers captions 0, 2, 1: its own, one that holds by half, one that is true
    assert marks(page) == ["own", "partly", "true"]
    assert page.count("<img") == 1


def test_without_grades_an_item_is_its_own_or_anothers(split):
    page = sheet({"one": GOOD}, [("", 0)], split, k=3)
    assert marks(page) == ["own", "", ""]
    assert "another&#x27;s" in page


def test_the_border_of_an_item_is_as_wide_as_its_phi(split):
    def phi(images, captions):
        return 2 * grade(images, captions)

    page = sheet({"one": GOOD}, [("", 0)], split, phi=phi, k=3)
    # phi of images 0, 2 and 1 with caption 0 is 2, 2 and 0.5, a quarter of the best
    assert re.findall(r"border: ([\d.]+)px solid rgba\(0, 114, 178, ([\d.]+)\)", page) == [
        ("8.0", "1.00"), ("8.0", "1.00"), ("3.5", "0.36"),
    ]  # fmt: skip
    assert "another&#x27;s</span>, <span>phi 0.50</span>, <span>score 0.200" in page
    nothing = sheet({"one": GOOD}, [("", 0)], split, phi=lambda i, c: np.zeros((3, 1)))
    assert nothing.count("border: 2.0px solid rgba(0, 114, 178, 0.15)") == 3


def test_what_is_said_of_a_caption_stands_below_it(split):
    said = ["says 0.1", "says <b>", "says 0.9"]
    one = {"one": GOOD}
    assert re.findall(r"<small>(says[^<]*)", sheet(one, [("", 1)], split, notes=said, k=3)) == [
        "says &lt;b&gt;"
    ]
    found = sheet(one, [("", 0)], split, direction="i2t", notes=said, k=3)
    # image 0 prefers captions 0, 2, 1
    assert re.findall(r"<small>(says[^<]*)", found) == ["says 0.1", "says 0.9", "says &lt;b&gt;"]


def test_equal_scores_show_the_lower_row_first(split):
    page = sheet({"one": np.zeros((3, 3))}, [("", 2)], split, k=3)
    assert marks(page) == ["", "", "own"]


def test_texts_and_names_are_escaped(split):
    page = sheet({"<b>run": GOOD}, [("<i>why", 0)], split, direction="t2i", k=3)
    page += sheet({"x": GOOD}, [("", 0)], split, direction="i2t", k=3)
    assert "<script" not in page
    assert "<b>run" not in page.replace("<b>&lt;b&gt;run", "")
    assert "&lt;i&gt;why" in page
    assert "it&#x27;s &#36;x&#36;" in page
    assert 'alt="image b&#34;.jpg"' in page


def test_where_the_runs_agree_on_everything_the_page_says_so(split):
    assert "the same rank to every query" in sheet({"one": GOOD}, [], split)


def test_thumbnails_are_small_images_inside_the_page(split):
    page = sheet({"one": GOOD}, [("", 0)], split, k=1)
    sources = re.findall(r'src="([^"]+)"', page)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    with Image.open(io.BytesIO(base64.b64decode(sources[0].partition(",")[2]))) as thumbnail:
        assert thumbnail.size == (112, 75)
    assert "http" not in page
