"""Published numbers: the table, what is within and outside, and what is not run."""

from __future__ import annotations

import csv

import pytest
from benchmark_sets import reproduce as published
from typer.testing import CliRunner

import workbench as wb
from tests.data.fixtures import write_karpathy_test
from workbench import data
from workbench.cli import app
from workbench.records import MetricKey

MODEL = "scenes:scenes"
HEAD = ("model", "data", "number", "value", "decimals", "tolerance", "source", "place")
BROKEN = """
from PIL import ImageOps
import workbench as wb

class Upside:
    \"\"\"The shipped encoder with a preprocessing that is wrong on purpose: colours are inverted.\"\"\"
    def __init__(self):
        self.model = wb.open_model("scenes:scenes")
    def encode_image(self, images):
        return self.model.embed_images([ImageOps.invert(image) for image in images]).mean
    def encode_text(self, texts):
        return self.model.embed_texts(texts).mean
"""


def write_table(file, rows):
    with file.open("w", newline="") as opened:
        csv.writer(opened, delimiter="\t").writerows([HEAD, *rows])
    return str(file)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """A few synthetic scenes in the layout of Urban1k, and what the shipped model measures on them."""
    place = tmp_path_factory.mktemp("urban1k")
    split = wb.load_data("scenes", split="test", size=30, levels=(4,))
    for folder in ("image", "caption"):
        (place / folder).mkdir()
    for row, caption in enumerate(split.captions):
        split.open_image(row).save(place / "image" / f"{row}.jpg", quality=95)
        (place / "caption" / f"{row}.txt").write_text(caption)
    result = wb.evaluate(MODEL, {"name": "urban1k", "root": str(place)}, rounds=0)
    rows = []
    for number in ("i2t/R@1", "t2i/R@1", "t2i/R@5"):
        rows.append(
            (MODEL, "urban1k", number, f"{100 * result[number]:.2f}", 2, 0.1, "https://x.org", "here")
        )
    return place, rows


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def test_at_least_forty_numbers_say_where_they_are_printed():
    rows = published.read_published()
    assert len(rows) >= 40
    for row in rows:
        assert row.data in data.names()
        assert MetricKey.parse(row.number)
        assert row.place
        assert row.tolerance < 1
        assert round(row.value, row.decimals) == row.value
    assert {"sugarcrepe", "winoground", "hierarcaps", "cxc", "eccv_caption"} <= {row.data for row in rows}


def test_numbers_of_a_model_or_of_a_data_set_are_chosen():
    rows = published.read_published()
    assert {row.data for row in published.choose(rows, "winoground")} == {"winoground"}
    assert {row.model for row in published.choose(rows, "ViT-L-14")} == {"ViT-L-14:openai"}
    with pytest.raises(LookupError, match="winogroun"):
        published.choose(rows, "winogroun")


def test_what_is_measured_again_is_within_and_is_written(scenes, tmp_path):
    place, rows = scenes
    table = write_table(tmp_path / "table.tsv", rows)
    done = run("--table", table, "--data", f"urban1k={place}", "--root", tmp_path)
    assert done.exit_code == 0, done.output
    assert "3 published numbers: 3 within, 0 outside, 0 not run." in done.output
    assert "https://x.org" in (tmp_path / "reproduce" / "reproduced.md").read_text()


def test_a_broken_preprocessing_is_outside_and_says_why(scenes, tmp_path, monkeypatch):
    place, rows = scenes
    (tmp_path / "upside.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path / "table.tsv", rows)
    words = ("--table", table, "--data", f"urban1k={place}", "--weights", f"{MODEL}=upside:Upside")
    done = run(*words, "--root", tmp_path)
    assert done.exit_code == 1, done.output
    assert "3 outside" in done.output
    assert "all numbers are lower: preprocessing" in done.output


def test_what_is_missing_is_told_and_nothing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    done = run("winoground", "--root", tmp_path)
    assert done.exit_code == 3
    assert "3 not run" in done.output
    assert "Get examples.jsonl from https://huggingface.co/datasets/facebook/winoground" in done.output
    page = (tmp_path / "reproduce" / "reproduced.md").read_text()
    command = "workbench reproduce ViT-B-32:openai --data winoground=FOLDER --weights ViT-B-32:openai=FILE"
    assert f"- `{command}`" in page


@pytest.mark.real_data
def test_counts_of_eccv_caption_are_the_published_ones_and_need_no_images(real_data, tmp_path):
    write_karpathy_test(real_data, tmp_path)
    done = run("eccv_caption", "--data", f"eccv_caption={tmp_path}", "--root", tmp_path)
    assert done.exit_code == 0, done.output
    assert "21 published numbers: 4 within, 0 outside, 17 not run." in done.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((3, "many"), "row 1 is malformed: value"),
        ((2, "R@@1"), "is not the name of a number"),
        ((6, ""), "row 1 does not say where the number is printed"),
    ],
)
def test_a_row_that_is_malformed_is_named(change, message, scenes, tmp_path):
    row = list(scenes[1][0])
    row[change[0]] = change[1]
    table = write_table(tmp_path / "table.tsv", [row])
    done = run("--table", table, "--dry-run")
    assert done.exit_code == 2
    assert message in done.output


def test_a_number_outside_in_one_direction_alone_points_to_how_it_is_counted(scenes, tmp_path):
    place, rows = scenes
    other = [list(row) for row in rows]
    other[0][3] = f"{float(other[0][3]) - 20:.2f}"
    table = write_table(tmp_path / "table.tsv", other)
    done = run("--table", table, "--data", f"urban1k={place}", "--root", tmp_path)
    assert done.exit_code == 1
    assert "only i2t lies outside" in done.output
