"""The explorer on Flickr8k: real photographs, captions and ratings. The vectors are stand-ins: no model is
shipped for them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from tests.views.explorer.toys import toy_space
from workbench import data
from workbench.views.explorer import Explorer, Question, Term
from workbench.views.explorer.thumbnails import SIDE

pytestmark = pytest.mark.real_data


def test_two_runs_answer_side_by_side_with_photographs_and_ratings(real_data: Path, tmp_path: Path):
    split = data.load("flickr8k", split="test").first(60)
    explorer = Explorer([toy_space(split, f"run {seed}", seed) for seed in range(2)], k=5)
    caption = Term("caption", 7, name=split.captions[7])
    answer = explorer.ask(Question((caption,), k=60, shown=frozenset({"graph", "way", "words"})))
    assert answer.grades == "human"
    marks = {item.row: item.mark for item in answer.items}
    assert [row for row, mark in marks.items() if mark == "own"] == [split.own[7]]
    assert answer.panels["graph"]["edits"][0]["sentence"] == split.captions[7]
    assert len(answer.panels["way"]["steps"]) == 22
    _, blobs = explorer.thumbnails.new_to("page", answer.keys[:6])
    assert all(max(Image.open(io.BytesIO(blob)).size) == SIDE for blob in blobs)
    explorer.ask(Question((caption,), k=5))
    assert explorer.to_html(tmp_path / "page.html").stat().st_size < 500_000
