"""The workflows of ``.github`` can be read, and every command, extra, marker and notebook in them exists."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
import yaml

from workbench import tour
from workbench.cli import app

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERBS = typer.main.get_command(app).commands
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def lines(job: dict) -> list[str]:
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


def check(line: str) -> None:
    """Refuse a command that this repository does not have."""
    command, *words = shlex.split(line)
    name = command.removeprefix(".venv/bin/")
    if name == "workbench":
        options = {option for one in VERBS[words[0]].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= options, line
    elif name == "pip":
        extras = re.findall(r"\[(.*?)\]", words[-1])
        assert set(",".join(extras).split(",")) - {""} <= set(PROJECT["project"]["optional-dependencies"])
    elif name == "pytest":
        markers = [one.partition(":")[0] for one in PROJECT["tool"]["pytest"]["ini_options"]["markers"]]
        assert words in ([], *(["-m", marker] for marker in markers)), line
    elif name == "python3":
        assert words == ["-m", "venv", ".venv"], line
    else:
        assert os.access(ROOT / name, os.X_OK), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_read_and_its_commands_exist(path):
    found = yaml.safe_load(path.read_text())
    # YAML reads the key `on` as true
    assert found.keys() <= {"name", True, "permissions", "concurrency", "jobs"}
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        assert job["timeout-minutes"] <= 90
        assert all(
            re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/a@v1")) for step in job["steps"]
        )
        for line in lines(job):
            check(line)


def test_a_command_that_is_not_there_is_noticed():
    for wrong in (
        "workbench tuor",
        "workbench tour --rot x",
        "pip install -e .[tset]",
        "pytest -m gup",
        "./run",
    ):
        with pytest.raises((AssertionError, KeyError)):
            check(wrong)


def test_all_notebooks_are_run_every_week_and_what_comes_out_is_kept():
    found = yaml.safe_load((ROOT / ".github" / "workflows" / "notebooks.yml").read_text())
    assert found[True]["schedule"]
    job = found["jobs"]["rerun"]
    assert ".venv/bin/workbench tour --root runs" in lines(job)
    rest = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} - {
        stop.notebook for stop in tour.STOPS
    }
    assert {f".venv/bin/workbench run {name} --root runs" for name in rest} <= set(lines(job))
    assert {"runs/**/notebook.ipynb", "runs/**/*.html"} <= set(job["steps"][-1]["with"]["path"].split())


def test_a_gpu_is_chosen_by_its_label():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]["gpu"]
    assert "gpu" in job["runs-on"]
    assert "labels.*.name, 'gpu'" in job["if"]
