"""Long work that nobody watches says a line now and then; work that is watched has a bar."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from workbench import progress
from workbench.cli import app
from workbench.data import load
from workbench.encoders import backbones
from workbench.runs.models import open_model

LINE = re.compile(r"(.+): ([\d,]+) of ([\d,]+) (\w+), (\d+) s")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that goes seven seconds further whenever somebody looks; nobody watches stderr."""
    seconds = iter(range(0, 10**6, 7))
    monkeypatch.setattr(progress, "clock", lambda: float(next(seconds)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.setenv("WORKBENCH_BATCH", "1")
    # a command with --json that ran before in this process turned them off
    monkeypatch.setitem(progress._choice, "lines", True)


def said(capsys) -> list[tuple[str, ...]]:
    found = [LINE.fullmatch(line) for line in capsys.readouterr().err.splitlines()]
    return [match.groups() for match in found if match]


def test_a_line_comes_at_least_every_half_minute_and_one_at_the_end(capsys):
    with progress.bar(4500, "backbone on photos", " images") as shown:
        for _ in range(45):
            shown.update(100)
    lines = said(capsys)
    seconds = [0, *(int(line[-1]) for line in lines)]
    assert max(np.diff(seconds)) <= 30
    assert len(lines) > 3
    assert lines[-1][:4] == ("backbone on photos", "4,500", "4,500", "images")


def test_work_that_is_done_at_once_says_nothing(capsys):
    with progress.bar(2, "short", " images") as shown:
        shown.update(2)
    assert said(capsys) == []


@pytest.mark.parametrize("silent", [{"progress": False}, {"lines": False}])
def test_work_that_is_to_be_silent_says_nothing(silent, capsys):
    with progress.bar(100, "work", " images", **silent) as shown:
        for _ in range(100):
            shown.update()
    assert capsys.readouterr().err == ""


def test_features_of_images_are_extracted_with_lines(tmp_path, capsys):
    split = load("scenes", split="test", size=8)
    backbones.extract(split, "scenes_backbone", cache=tmp_path, batch_size=1)
    assert ("8", "8", "images") in {line[1:4] for line in said(capsys)}


class Slow:
    """A model of one's own."""

    def encode_image(self, images: list[Image.Image]) -> np.ndarray:
        return np.ones((len(images), 2), np.float32)

    encode_text = encode_image


def test_a_model_of_ones_own_embeds_with_lines(capsys, monkeypatch):
    monkeypatch.setattr("workbench.runs.model.AT_ONCE", 1)
    open_model(Slow()).embed_texts([f"a dog {number}" for number in range(9)])
    assert ("Slow", "9", "9", "captions") in {line[:4] for line in said(capsys)}


@pytest.mark.parametrize(("words", "lines"), [(("--json",), False), ((), True)])
def test_a_verb_that_prints_json_says_no_lines(words, lines, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["ls", *words])
    assert isinstance(progress.bar(9, "work", " images"), progress.Lines) is lines
