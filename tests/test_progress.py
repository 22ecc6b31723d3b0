"""Long work says what it does: bars where somebody watches, a line now and then where nobody does."""

from __future__ import annotations

import re
import sys
import time

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tools.silence import AT_MOST, measure
from workbench import progress
from workbench.cli import app
from workbench.cli.base import echo
from workbench.data import load
from workbench.encoders import backbones
from workbench.progress import Task, media
from workbench.progress.media import Bars, Lines, Report, State
from workbench.runs.models import open_model

LINE = re.compile(r"(.+): ([\d,]+) of ([\d,]+) (\w+), .*")


@pytest.fixture(autouse=True)
def unwatched(monkeypatch):
    """Nobody watches stderr, and lines come as often as they do for a user."""
    monkeypatch.setattr(progress.media, "LINE_SECONDS", 20.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.setenv(progress.BATCH, "1")


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by hand."""
    now = [0.0]
    monkeypatch.setattr(media, "clock", lambda: now[0])
    return now


@pytest.fixture
def looked_at(monkeypatch, capsys):
    """Looks at the tasks without a thread, whenever one is updated, with a clock that goes on by itself."""
    seconds = iter(range(0, 10**6, 7))
    monkeypatch.setattr(media, "clock", lambda: float(next(seconds)))
    monkeypatch.setattr(Lines, "threaded", False)

    def lines() -> list[tuple[str, ...]]:
        matches = [LINE.fullmatch(line) for line in capsys.readouterr().err.splitlines()]
        return [match.groups() for match in matches if match]

    return lines


def test_a_line_comes_at_least_every_half_minute_and_one_at_the_end(looked_at):
    with Task("backbone on photos", 4500, "images") as task:
        for _ in range(45):
            task.update(100)
    lines = looked_at()
    assert len(lines) > 3
    assert lines[-1][:4] == ("backbone on photos", "4,500", "4,500", "images")


def test_a_step_that_takes_minutes_is_no_silence(monkeypatch, capsys):
    monkeypatch.setattr(progress.media, "LINE_SECONDS", 0.1)
    monkeypatch.setattr(Lines, "every", 0.02)
    with Task("one long step"):
        time.sleep(0.5)
    assert capsys.readouterr().err.count("one long step") > 1


def test_work_that_is_done_at_once_says_nothing(capsys):
    with Task("short", 2, "images") as task:
        task.update(2)
    assert capsys.readouterr().err == ""


def test_a_line_says_how_much_is_done_and_how_long_the_rest_takes():
    line = State("", "training", 30, 400, "steps", 150, first=50, detail="loss 0.43").line()
    assert line == "training: 150 of 400 steps, loss 0.43, 30 s, about 75 s left"


def test_the_time_that_is_left_is_not_said_of_parts_that_take_unlike_long():
    assert "left" not in State("", "03_train", 30, 18, "cells", 9, even=False).line()


def test_the_verb_is_named_where_nothing_else_is_done(clock, capsys):
    lines = Lines()
    clock[0] = 21
    lines.show([State("a", "workbench evaluate", 21, background=True), State("b", "photos", 3)])
    clock[0] = 42
    lines.show([State("a", "workbench evaluate", 42, background=True)])
    assert capsys.readouterr().err.splitlines() == ["photos: 3 s", "workbench evaluate: 42 s"]


def test_features_of_images_are_extracted_with_lines(tmp_path, looked_at):
    split = load("scenes", split="test", size=8)
    backbones.extract(split, "scenes_backbone", cache=tmp_path, batch_size=1)
    assert ("8", "8", "images") in {line[1:4] for line in looked_at()}


class Slow:
    """A model of one's own."""

    def encode_image(self, images: list[Image.Image]) -> np.ndarray:
        return np.ones((len(images), 2), np.float32)

    encode_text = encode_image


def test_a_model_of_ones_own_embeds_with_lines(looked_at, monkeypatch):
    monkeypatch.setattr("workbench.runs.own.AT_ONCE", 1)
    open_model(Slow()).embed_texts([f"a dog {number}" for number in range(9)])
    assert ("encoding with Slow", "9", "9", "captions") in {line[:4] for line in looked_at()}


def test_nothing_is_shown_within_a_choice_against_it(monkeypatch, capsys):
    monkeypatch.setattr(progress.media, "LINE_SECONDS", 0.0)
    with progress.showing(shown=False), Task("work", 2, "images") as task:
        task.update()
        progress.note("epoch 1")
    assert capsys.readouterr().err == ""
    assert progress.is_shown()


@pytest.mark.parametrize(("words", "shown"), [(["--json"], False), (["--quiet"], False), ([], True)])
def test_json_and_quiet_turn_progress_off_for_the_verb_alone(words, shown, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr("workbench.runs.store.list_runs", lambda *_: seen.append(progress.is_shown()) or [])
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["ls", *words])
    assert seen == [shown]
    assert progress.is_shown()


def test_the_tasks_of_a_kernel_are_read_by_whoever_runs_it(tmp_path, monkeypatch):
    file = tmp_path / "progress.json"
    monkeypatch.setenv(progress.REPORT, str(file))
    with Task("training", 4, "steps") as task:
        task.update()
        progress._display.refresh()
        (state,) = media.read_states(file)
        assert (state.what, state.count, state.total) == ("training", 1, 4)
    assert media.read_states(file) == []


def test_a_report_that_is_cut_off_is_no_error(tmp_path):
    file = tmp_path / "progress.json"
    Report(str(file)).show([State("a", "training", 3)])
    file.write_text(file.read_text()[:9])
    assert media.read_states(file) == []
    assert media.read_states(tmp_path / "nothing.json") == []


def test_bars_make_room_for_what_is_printed(monkeypatch, capfd):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    bars = Bars(threaded=False)
    bars.show([State("a", "training", 3, 4, "steps", 1, detail="loss 0.4")])
    with bars.aside():
        echo("epoch 1", err=True)
    bars.show([])
    written = capfd.readouterr().err
    assert "training:  25%" in written
    assert "loss 0.4" in written
    assert re.search(r"\r +\repoch 1\n", written)


def test_a_bar_of_a_notebook_goes_when_its_task_ends(monkeypatch, capfd):
    from tqdm.notebook import tqdm

    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr("tqdm.auto.tqdm", tqdm)
    bars = Bars(threaded=False)
    bars.show([State("a", "opening", 3, 2, "runs", 1)])
    (row,) = bars.rows.values()
    closed = list[bool]()
    monkeypatch.setattr(row, "disp", lambda *given, close=False, **options: closed.append(close))
    bars.show([])
    assert closed[-1:] == [True]


SCRIPT = """
import time
from workbench.progress import Task
with Task("one long step"):
    time.sleep(3)
"""


def test_a_long_step_moves_a_bar_on_a_terminal():
    silence = measure([sys.executable, "-c", SCRIPT], terminal=True)
    assert silence.exit_code == 0
    assert silence.output.count("one long step") > 2


@pytest.mark.slow
@pytest.mark.parametrize("place", AT_MOST)
def test_no_verb_is_silent_for_long(place, tmp_path):
    for words in (
        ["data", "scenes"],
        ["evaluate", "--model", "scenes:scenes", "--data", "scenes", "-p", "data.size=40"],
    ):
        command = [sys.executable, "-m", "workbench", *words]
        silence = measure(command, terminal=place == "terminal", folder=tmp_path)
        assert silence.exit_code == 0, silence.output
        assert silence.seconds <= AT_MOST[place], silence.before
