"""The guides can be followed, and the site is built without a warning and has no broken link."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.execution import grid

ROOT = Path(__file__).parent.parent
GUIDES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "guides").glob("*.md")}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save this as\s`(\w+)\.py`")


@pytest.mark.parametrize("name", [name for name, text in GUIDES.items() if "```python" in text])
def test_the_python_of_a_guide_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [body for kind, body in BLOCK.findall(GUIDES[name]) if kind == "python"]
    saved = SAVED.search(" ".join(GUIDES[name].split("\n")))
    assert saved, "a guide says what its file is called"
    (tmp_path / f"{saved[1]}.py").write_text(blocks[0], encoding="utf-8")
    for script in [body for kind, body in BLOCK.findall(GUIDES[name]) if kind == "js"]:
        (tmp_path / f"{saved[1]}.js").write_text(script, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, saved[1], raising=False)
    names: dict[str, object] = {"__name__": name}
    for body in blocks:
        exec(compile(body, f"{name}.md", "exec"), names)


def test_the_page_on_python_has_every_public_name_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"`wb\.(\w+)", page))) == sorted(wb.__all__)
    monkeypatch.chdir(tmp_path)
    split = wb.load_data("scenes", split="test", size=64)
    for name, rows in (("images", len(split.image_ids)), ("texts", len(split.captions))):
        np.save(f"{name}.npy", np.random.default_rng(0).standard_normal((rows, 4), dtype=np.float32))
    ((_, body),) = BLOCK.findall(page)[:1]
    exec(compile(body, "python.md", "exec"), {})
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_encoder_of_the_guide_is_one_that_a_configuration_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench import encoders

    _, body = BLOCK.findall(GUIDES["encoder"])[0]
    (tmp_path / "my_average.py").write_text(body, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert encoders.load("my_average:Average", in_dim=4, embed_dim=3).embed_dim == 3


@pytest.mark.parametrize("name", GUIDES)
def test_the_commands_of_a_guide_are_ones_that_the_program_takes(name: str) -> None:
    group = typer.main.get_command(app)
    lines = [
        line for kind, body in BLOCK.findall(GUIDES[name]) if kind == "bash" for line in body.splitlines()
    ]
    for words in (shlex.split(line)[1:] for line in lines if line.startswith("workbench ")):
        with suppress(typer.Exit):  # an option that prints something and stops
            group.commands[words[0]].make_context(words[0], words[1:])


def test_the_guide_on_metrics_prints_by_its_command_what_it_measures_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = BLOCK.findall(GUIDES["metric"])
    (tmp_path / "my_metric.py").write_text(blocks[0][1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_metric", raising=False)
    names: dict[str, Any] = {}
    (script,) = (body for kind, body in blocks if kind == "python" and "wb.evaluate" in body)
    exec(compile(script, "metric.md", "exec"), names)
    (command,) = (body.splitlines()[0] for kind, body in blocks if kind == "bash")
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
    assert done.exit_code == 0, done.output
    (printed,) = json.loads(done.stdout)["results"]
    assert {row["key"]: row["value"] for row in printed["numbers"]} == names["result"].as_dict()["metrics"]
    assert "i2t/mrr" in printed["metrics"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("myst_parser") is None, reason="the extra `docs` is not installed")
def test_the_site_is_built_without_a_warning_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    # the contents of each page without every function and class, whose links are made from their names alone
    options = ["-q", "-W", "--keep-going", "-c", "docs", "-D", "toc_object_entries=0"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    broken = []
    for page in tmp_path.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#?:]+)"', page.read_text(encoding="utf-8")):
            if not (page.parent / link).exists() and not link.startswith("../tour/"):
                broken.append(f"{page.relative_to(tmp_path)}: {link}")
    assert broken == []
    pages = (path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html"))
    assert not [
        src for page in pages for src in re.findall(r'<(?:script|link|img)[^>]+"(https?:[^"]+)"', page)
    ]


def test_the_example_of_a_grid_is_one_that_the_program_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = CliRunner().invoke(app, ["grid", "--example"])
    assert printed.exit_code == 0, printed.output
    monkeypatch.chdir(tmp_path)
    Path("my_grid.yaml").write_text(printed.output, encoding="utf-8")
    done = CliRunner().invoke(app, ["grid", "03_train", "my_grid.yaml", "--dry-run", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["arms"]
    assert [row["arm"] for row in rows] == ["vsepp", "vsepp, small margin", "infonce"]
    keys = re.findall(r"^\| `(\w+)` \|", GUIDES["grid"], re.MULTILINE)
    assert set(keys) == set(grid.KEYS) - {"paper"}
