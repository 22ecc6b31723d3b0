"""What the README says can be done, can be done."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import workbench
from tools.readme import read_steps
from workbench.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, body in BLOCKS if kind == "bash" for line in body.splitlines()]
FIRST_RUN = "python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/workbench tour"
TESTS = 'python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pytest'


def test_the_two_commands_of_a_newcomer_stand_there_word_for_word() -> None:
    assert COMMANDS.count(FIRST_RUN) == COMMANDS.count(TESTS) == 1


def test_the_check_installs_what_the_readme_installs() -> None:
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert '.venv/bin/pip install --quiet --disable-pip-version-check -e ".[test]"' in check
    assert ".venv/bin/pytest" in check


def test_it_is_short_and_its_code_blocks_have_a_language() -> None:
    assert len(README.splitlines()) <= 200
    assert {kind for kind, _ in BLOCKS} <= {"bash", "python"}


def test_files_that_it_names_are_there() -> None:
    names = re.findall(r"`([\w./]+(?:\.py|/))`", README)
    elsewhere = ("runs/", "photos/", "my_clip/", "flickr8k/", "hierarcaps/", "my_softmax.py")
    ours = [name for name in names if not name.startswith(elsewhere)]
    assert [
        name for name in ours if not (ROOT / name).exists() and not (ROOT / "workbench" / name).exists()
    ] == []
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


WORKBENCH = [line for line in COMMANDS if line.startswith("workbench ")]


@pytest.mark.parametrize("command", WORKBENCH)
def test_a_command_is_one_that_the_program_takes(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs that look are called; verbs that work for minutes are called up to the point where the work
    begins."""
    from workbench import runs as experiment
    from workbench.execution import grid, notebook
    from workbench.runs import store as runs

    begun: list[str] = []
    done = notebook.Outcome(ROOT, "ok", 0, 0.0)
    monkeypatch.setattr(notebook, "run_notebook", lambda *_, **__: begun.append("run") or done)
    monkeypatch.setattr(grid, "run_notebook", lambda *_, **__: begun.append("run") or done)
    monkeypatch.setattr(experiment, "prepare", lambda config, **_: config)
    monkeypatch.setattr(workbench, "train", lambda *_, **__: begun.append("train"), raising=False)
    monkeypatch.setattr(
        runs, "find", lambda *_: runs.Run(ROOT, "03_train", "x", "ok", {"objective": "ditm"}, {}, {})
    )
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)[1:]
    # what only the reader has
    if words[0] == "grid" or any(word.endswith(("photos/", ".npy", "RUN")) for word in words):
        typer.main.get_command(app).commands[words[0]].make_context(words[0], words[1:])
        return
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output


def test_the_python_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [body for kind, body in BLOCKS if kind == "python"]
    names: dict[str, object] = {"__name__": "readme"}
    for body in blocks:
        exec(compile(body, "README.md", "exec"), names)
    assert re.search(r"rsum +\d+\.\d .* of 600", capsys.readouterr().out)


def test_the_objective_to_add_is_a_file_outside_the_package_that_keeps_the_whole_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench import Config, train
    from workbench.objectives.contract import check_objective

    body = next(body for kind, body in BLOCKS if kind == "python" and "(Objective)" in body)
    (tmp_path / "my_softmax.py").write_text(body, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_softmax", raising=False)
    check_objective("my_softmax:Softmax", temperature=0.1)
    with pytest.raises(ValueError, match="temperature is 0; it should be greater than 0"):
        check_objective("my_softmax:Softmax", temperature=0)
    # and trains as its neighbour does: both begin from one recipe
    small = {"train_images": 96, "val_images": 40, "test_images": 40, "batch_size": 16, "device": "cpu"}
    mine, theirs = (
        train(Config(objective=name, **small), progress=False) for name in ("my_softmax:Softmax", "infonce")
    )
    chance = next(one for one in mine.measurements if one.label == "rsum").chance
    assert chance is not None
    assert mine["rsum"] > 3 * chance
    assert mine["rsum"] > 0.9 * theirs["rsum"]
    assert mine.kept_epochs != [0]


def test_the_check_of_a_base_install_does_every_block_and_every_command_in_order() -> None:
    steps = read_steps(README)
    commands = [step.text for step in steps if step.kind == "bash"]
    order = iter(commands)
    blocks = [part for line in COMMANDS for part in line.split(" && ")]
    assert all(part in order for part in blocks)
    spans = {" ".join(span.split()) for span in re.findall(r"`(workbench \S[^`]*)`", README)}
    assert spans <= set(commands)
    code = [step.text for step in steps if step.kind != "bash"]
    assert [
        body for kind, body in BLOCKS if kind == "python" and not any(body in text for text in code)
    ] == []


SAMPLE = """
```bash
workbench train -p objective=ditm -p data=photos/
```

One `workbench`, two `workbench
diff RUN RUN`. Save this as `mine.py`:

```python
x = 1
```

`-p objective=mine:X` or `"2*mine:X"`, `workbench.records.require(True)`.

```python
model = wb.open_model("a")  # or "b", "c"
```

`wb.compare(result)` shows.
"""


def test_the_check_saves_files_trains_objectives_of_a_sentence_and_reads_comments() -> None:
    steps = read_steps(SAMPLE)
    first, second, saved, call, alone, doubled, script = steps
    assert (first.kind, second.text, saved.kind) == ("bash", "workbench diff RUN RUN", "mine.py")
    assert call.text == "import workbench.records\nworkbench.records.require(True)"
    assert "objective=mine:X " in alone.text
    assert 'objective="2*mine:X" ' in doubled.text
    assert 'model = wb.open_model("b", "c")' in script.text.splitlines()
    assert script.text.endswith("wb.compare(result)")
