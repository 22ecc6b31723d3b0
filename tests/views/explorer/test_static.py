import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.views.explorer.toy_answers import HOSTILE, answer, hostile
from workbench.views.explorer import static

TAGS = {
    "style", "section", "h2", "h3", "div", "p", "table", "thead", "tbody", "tr", "th", "td", "img", "span",
    "br", "script",
}  # fmt: skip


class Elements(HTMLParser):
    """Tags and attributes as a browser without script reads them, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def data_of(page: str) -> dict:
    (found,) = re.findall(
        r'<script type="application/json" class="wbt-data">(.*?)</script>', page, flags=re.DOTALL
    )
    return json.loads(found)


def test_the_first_question_can_be_read_without_script():
    read = Elements(static.html([answer("a red dog"), answer("a cat", (3, 4, 5))]))
    text = " ".join(read.text[: [part.startswith('{"marks"') for part in read.text].index(True)])
    for expected in (
        "a red dog",
        "InfoNCE",
        "DITM",
        "1 (0.900)",
        "caption of image 2",
        "paired with the query in the data",
    ):
        assert expected in text
    assert "a cat" not in text
    assert all(attributes["alt"] is not None for tag, attributes in read.tags if tag == "img")


def test_each_image_is_there_once():
    answers = [answer("a red dog"), answer("a dog", (2, 1, 5))]
    page = static.html(answers)
    for key, url in {**answers[0].thumbnails, **answers[1].thumbnails}.items():
        assert page.count(url) == 1, key
    assert set(data_of(page)["thumbnails"]) == {"5"}


def test_everything_lies_in_the_page(tmp_path: Path):
    page = static.write(tmp_path / "page.html", [answer("a red dog")]).read_text(encoding="utf-8")
    addresses = [
        value
        for _, attributes in Elements(page).tags
        for name, value in attributes.items()
        if name in ("src", "href")
    ]
    assert all(value.startswith("data:image/jpeg;base64,") for value in addresses)
    assert "http" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_no_string_of_the_data_is_read_as_markup():
    page = static.html(hostile(), title=HOSTILE[0])
    read = Elements(page)
    assert [tag for tag, _ in read.tags].count("script") == 2
    assert {tag for tag, _ in read.tags} <= TAGS
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
    assert data_of(page)["answers"][1]["query"]["label"] == HOSTILE[1]


def test_a_page_is_written_whole(tmp_path: Path):
    path = static.write(tmp_path / "deep" / "static.html", hostile())
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(path.parent.iterdir()) == [path]


def test_no_answer_makes_no_page():
    with pytest.raises(ValueError, match="at least one answer"):
        static.html([])
