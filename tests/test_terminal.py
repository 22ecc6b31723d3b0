"""What the terminal prints, word by word: `show`, `ls`, `diff`, `list`, `explain` and every help at 80
columns.

``WORKBENCH_SNAPSHOTS=write pytest tests/test_terminal.py`` writes the files again; read what has changed
before you commit it.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from tests.test_cli import VERBS, call
from workbench.io import write_json
from workbench.runs import by_query
from workbench.runs import store as runs

FOLDER = Path(__file__).parent / "snapshots"
IDS, OWN = tuple(f"i{row}" for row in range(20)), np.arange(20)
NUMBERS = ("i2t/R@1", "t2i/R@1", "exact:t2i/map_at_r")
SPLIT = {"name": "scenes/test", "images": 20, "captions": 20}


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs with values by query: the second finds 16 of 20 where the first finds 6."""
    for name, objective, seed, found in (
        ("20260101-100000-0000aaaa", "vsepp", 0, 6),
        ("20260102-113000-0000bbbb", "ditm", 1, 16),
    ):
        folder, share = tmp_path / "runs" / "03_train" / name, found / 20
        params = {
            "data": "scenes",
            "objective": objective,
            "seed": seed,
            "epochs": 3,
            "config": {"lr": 0.002},
        }
        write_json(folder / runs.PARAMS, params)
        ends = {"low": share - 0.2, "high": share + 0.2, "queries": 20, "gallery": 20}
        contracts = {key: {**ends, "hit": "the own one among the first"} for key in NUMBERS}
        contracts["rsum"] = {"low": 6 * share - 0.5, "high": 6 * share + 0.5, "queries": 40, "face": "sum"}
        results = {
            "objective": objective, "seed": seed, "dataset": "scenes", "split": SPLIT, "contracts": contracts,
            "metrics": {"rsum": 6 * share, **dict.fromkeys(NUMBERS, share), "i2t/medr": 2.0},
        }  # fmt: skip
        runs.write_results(folder, results)
        hits = (np.arange(20) < found).astype(float)
        by_query.ByQuery(IDS, IDS, OWN, dict.fromkeys(NUMBERS, hits)).write(folder)
        write_json(folder / runs.ENV, {"device": "cpu", "seconds": 61.4 * found})
        runs.write_status(folder, "ok")
    return tmp_path / "runs"


def held(name: str, text: str) -> None:
    """The text is that of the file, or becomes it where files are written."""
    file = FOLDER / f"{name}.txt"
    if os.environ.get("WORKBENCH_SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ls", "ls"),
        ("show", "show aaaa"),
        ("show_all", "show bbbb --all"),
        ("diff", "diff aaaa bbbb"),
        ("diff_same", "diff aaaa aaaa"),
    ],
)
def test_runs_are_told_word_by_word(name: str, words: str, root: Path) -> None:
    printed = call(*words.split(), "--root", root)
    assert printed.exit_code == 0, printed.output
    held(name, printed.output.replace(str(root), "ROOT"))


@pytest.mark.parametrize("words", ["list objectives", "list text", "explain vsepp", "explain exact:t2i/R@1"])
def test_registries_are_told_word_by_word(words: str) -> None:
    printed = call(*words.split())
    assert printed.exit_code == 0, printed.output
    assert max(map(len, printed.output.splitlines())) <= 82
    held(words.replace(" ", "_").replace(":", "_").replace("/", "_").replace("@", "_"), printed.output)


def test_every_help_is_told_word_by_word_at_80_columns() -> None:
    pages = [call(*words, "--help").output for words in ((), *((verb,) for verb in VERBS))]
    assert max(len(line) for page in pages for line in page.splitlines()) <= 80
    held("help", "\n".join(pages))


def test_a_run_with_a_name_has_its_time_and_numbers_without_a_metric_are_no_percentages(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "runs" / "06_retrieval_explorer" / "mine"
    label = "vsepp: t2i rank of the annotated image"
    metrics = {label: 212, "mean/objects": 2.049}
    runs.write_results(folder, {"metrics": metrics, "contracts": {label: {"face": "rank"}}})
    write_json(folder / runs.ENV, {"seconds": 60})
    ended = datetime(2026, 1, 2, 11, 31).timestamp()
    os.utime(runs.write_status(folder, "ok"), (ended, ended))
    listed = call("ls", "--root", folder.parents[1]).output
    assert "2026-01-02 11:30  0:01:00  mine" in listed
    assert "mean/objects 2.049" in listed
    shown = call("show", "mine", "--root", folder.parents[1]).output
    assert [line.split()[-2:] for line in shown.splitlines()[-3:-1]] == [
        ["mean/objects", "2.049"],
        ["212", "rank"],
    ]


def test_runs_with_names_are_listed_by_when_they_began_also_below_a_part_of_the_root(tmp_path: Path) -> None:
    for name, minute in (("a", 30), ("b", 10), ("c", 20)):
        ended = datetime(2026, 1, 2, 11, minute).timestamp()
        os.utime(runs.write_status(tmp_path / "runs" / "tour" / name, "ok"), (ended, ended))
    for root in (tmp_path / "runs", tmp_path / "runs" / "tour"):
        listed = call("ls", "--root", root).output.split()
        assert [word for word in listed if word in ("a", "b", "c")] == ["b", "c", "a"]
        assert runs.find("last", root).id == "a"


def test_runs_that_cannot_be_held_against_each_other_are_told_as_such(root: Path) -> None:
    other = root / "07_compare" / "mine"
    runs.write_results(other, {"metrics": {"moved": 1.0}})
    runs.write_status(other, "ok")
    assert "no metric in common" in call("diff", "aaaa", "mine", "--root", root).output
    runs.write_results(other, {"metrics": {"rsum": 1.0}, "split": {"name": "flickr8k/test", "images": 1000}})
    said = call("diff", "aaaa", "mine", "--root", root).output
    assert "measured on other data: scenes/test (20 images) and flickr8k/test (1,000 images)" in said
