import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from workbench.views.plots.retrieval import best_median_worst, sheet

SCORES = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.7], [0.3, 0.4, 0.6]])
RANKS = np.array([1.0, 2.0, 3.0])
OWN = np.array([0, 2, 0])
CAPTIONS = ("a <script>", "two & three", "it's $x$")


def picture(row):
    return Image.new("RGB", (400, 200), (row, 0, 0))


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


def test_captions_are_shown_with_their_best_images_and_what_each_is():
    true = np.zeros((3, 3), bool)
    true[1, 1] = True
    page = sheet(SCORES, RANKS, CAPTIONS, picture, OWN, true=true, k=2)
    # caption 0: image 0 is its own; caption 1: image 1 is truly described, image 2 its own; caption 2: 1 and
    # 2 are wrong
    assert marks(page) == ["own", "", "true", "own", "", ""]
    assert "best: rank 1" in page
    assert "worst: rank 3" in page
    assert re.findall(r'alt="image (\d)"', page) == ["0", "2", "1", "2", "1", "2"]


def test_images_are_shown_with_their_best_captions():
    page = sheet(SCORES, RANKS, CAPTIONS, picture, OWN, direction="i2t", k=1)
    assert marks(page) == ["own", "", ""]
    assert page.count("<img") == 3


def test_captions_are_escaped():
    page = sheet(SCORES, RANKS, CAPTIONS, picture, OWN)
    assert "<script" not in page
    assert "a &lt;script&gt;" in page
    assert "two &amp; three" in page
    assert "it&#x27;s &#36;x&#36;" in page


def test_thumbnails_are_small_pictures_inside_the_page():
    page = sheet(SCORES, RANKS, CAPTIONS, picture, OWN, k=1)
    sources = re.findall(r'src="([^"]+)"', page)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    with Image.open(io.BytesIO(base64.b64decode(sources[0].partition(",")[2]))) as thumbnail:
        assert thumbnail.size == (112, 56)
    assert "http" not in page
