"""Slices of results: two models on data with a language and a category, the command, and the page."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from slice_search.kinds import error_kinds
from slice_search.page import kinds_table, write_page
from slice_search.panel import Slices
from slice_search.report import SliceReport, find_slices
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.views.explorer import Explorer, Question, Term

PHOTOS = 80
LANGUAGES = ("en", "de", "fr", "cs")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two models evaluated on a CSV of photographs; the second one does not read German."""
    root = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    rows = ["image,caption,language,category"]
    for number in range(PHOTOS):
        Image.new("RGB", (24, 24), tuple(rng.integers(0, 255, 3).tolist())).save(root / f"{number}.png")
        category = ("city", "nature")[number % 2]
        for language in LANGUAGES:
            rows.append(f"{number}.png,photo {number} in {language},{language},{category}")
    (root / "captions.csv").write_text("\n".join(rows) + "\n")
    image = rng.normal(size=(PHOTOS, 32))
    text = np.repeat(image, len(LANGUAGES), axis=0) + rng.normal(size=(PHOTOS * 4, 32)) * 0.5
    damaged = text.copy()
    damaged[1::4] = rng.normal(size=(PHOTOS, 32))
    written = []
    for name, vectors in (("first", text), ("second", damaged)):
        result = wb.evaluate(images=image, texts=vectors, data=str(root), name=name, rounds=0)
        result.save(root / "runs" / name)
        written.append(root / "runs" / name)
    return written


@pytest.fixture(scope="module")
def report(folders: list[Path]) -> SliceReport:
    return find_slices(*folders)


def test_the_language_that_the_second_model_does_not_read_is_found(report: SliceReport) -> None:
    assert [part.label for part in report.findings.slices] == ["language=de"]
    part = report.findings.slices[0]
    assert (part.queries, part.images) == (PHOTOS, PHOTOS)
    assert part.mean < -0.8
    assert report.queries(part)["query"].is_unique
    assert len(report.typical_queries(part)) == 3
    assert "language=de" in repr(report)


def test_one_model_alone_is_worse_there_too(folders: list[Path]) -> None:
    alone = find_slices(folders[1], by=["language", "category"])
    assert [part.label for part in alone.findings.slices] == ["language=de"]
    assert not find_slices(folders[0], by=["language"]).findings.slices


def test_the_other_direction_and_another_number(folders: list[Path]) -> None:
    other = find_slices(*folders, key="i2t/R@5", by=["category"])
    assert other.direction == "i2t"
    assert not other.findings.slices


def test_clusters_are_described_by_their_words(folders: list[Path]) -> None:
    report = find_slices(folders[1], by=["language"])
    (part,) = report.findings.slices
    assert report.describe(part) == "language=de"
    cluster = replace(part, conditions=("caption_cluster=cluster 1",))
    assert report.describe(cluster).startswith("caption_cluster=cluster 1 (de")


def test_the_panel_lists_slices_with_captions_to_ask(folders: list[Path]) -> None:
    explorer = Explorer(wb.open_runs(list(map(str, folders))), panels=[Slices])
    answer = explorer.ask(Question((Term("text", "photo 3 in de"),), shown=frozenset({"slices"})))
    (part,) = answer.panels["slices"]["slices"]
    assert part["label"] == "language=de"
    assert [query["text"].endswith("in de") for query in part["queries"]] == [True] * 3
    assert len(answer.panels["slices"]["thumbnails"]) == 3


def test_wrong_words_are_refused(folders: list[Path]) -> None:
    with pytest.raises(ValueError, match="one direction"):
        find_slices(*folders, key="rsum")
    with pytest.raises(KeyError, match="langage"):
        find_slices(*folders, by=["langage"])
    with pytest.raises(ValueError, match="two"):
        find_slices(*folders, folders[0])
    with pytest.raises(ValueError, match="70 images"):
        find_slices(*folders, by=["language", "category"], minimum=70, pairs=False, key="i2t/R@1")


def test_the_page_shows_bars_and_the_queries_behind_them(report: SliceReport) -> None:
    page = write_page(report)
    assert page.count('<svg class="bar"') == 1
    assert page.count("<blockquote") == 3
    assert page.count("data:image/png") == 9  # of each query the annotated image and two first answers
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_page_of_a_search_without_a_slice_says_so(folders: list[Path]) -> None:
    page = write_page(find_slices(folders[0], by=["category"]))
    assert "No slice differs" in page


def test_the_command_prints_slices_and_writes_the_page(folders: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "slices.html"
    words = ["slices", *map(str, folders), "--by", "language", "--page", str(page)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "language=de" in done.output
    assert page.is_file()
    # a run that was asked for by its folder is named by it
    assert f"workbench explore {folders[0]}" in html.unescape(page.read_text(encoding="utf-8"))
    answer = json.loads(CliRunner().invoke(app, [*words[:3], "--json"]).output)
    assert answer["slices"][0]["slice"] == "language=de"
    wrong = CliRunner().invoke(app, ["slices", str(folders[0]), "--by", "nothing"])
    assert wrong.exit_code == 2


def test_slices_of_the_page_lead_to_their_queries_on_the_page_of_the_explorer(
    folders: list[Path], tmp_path: Path
) -> None:
    page, explorer = tmp_path / "slices.html", tmp_path / "more" / "explorer.html"
    words = [
        "slices",
        *map(str, folders),
        "--by",
        "language",
        "--page",
        str(page),
        "--explorer",
        str(explorer),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    address = "more/explorer.html#select=t2i%2FR%401%5Blanguage%3Dde%5D"
    assert f'href="{address}"' in page.read_text(encoding="utf-8")
    assert "photo 3 in de" in explorer.read_text(encoding="utf-8")


def test_kinds_of_photographs_stand_next_to_how_often_their_judge_is_right(folders: list[Path]) -> None:
    kinds = error_kinds(wb.open_runs([str(folders[1])]))
    table = kinds_table(kinds)
    assert table["heads"][-2:] == ["the judge is right, scenes", "the judge is right, photographs"]
    assert "precision" in table["rows"][0][-1]
    assert "binding" not in [row[0] for row in table["rows"]]
    assert kinds.table["of"].iloc[0] >= PHOTOS * 0.8
