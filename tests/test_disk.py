"""What takes room on the disk is listed, and deleted when somebody says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from workbench.cli import app
from workbench.io import cached_file, cached_texts, only_writer
from workbench.runs import store as runs


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two features of one backbone, one database, and a file of somebody else."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("WORKBENCH_CACHE", str(folder))
    for key in ("0" * 24, "1" * 24):
        cached_file(folder / f"resnet-{key}.npy", lambda path: {"bytes": path.write_bytes(b"x" * 1000)})
    cached_texts(folder / f"sentence-{'2' * 16}.sqlite", ["a dog"], lambda texts: [b"1" for _ in texts])
    (folder / "notes.txt").write_text("mine")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "03_train" / "20260101-000000-0000aaaa"
    runs.write_results(folder, {"metrics": {"rsum": 2.5}})
    (folder / "model.safetensors").write_bytes(b"x" * 3_000_000)
    runs.write_status(folder, "ok")
    return folder


def test_the_cache_is_listed_by_kind_with_its_size(cache: Path):
    kinds = json.loads(call("cache", "--json").output)["kinds"]
    assert set(kinds) == {"resnet", "sentence"}
    # two arrays of 1,000 bytes, their checksums and their locks
    assert kinds["resnet"]["files"] == 6
    assert 2000 < kinds["resnet"]["bytes"] < 3000
    assert str(cache) in call("cache").output


def test_a_kind_of_the_cache_is_deleted_and_nothing_else(cache: Path):
    assert call("cache", "--clean", "resnet", "--yes").exit_code == 0
    assert not list(cache.glob("*resnet*"))
    assert (cache / "notes.txt").exists()
    assert len(list(cache.glob("*.sqlite"))) == 1


def test_all_of_the_cache_is_deleted_but_for_foreign_files(cache: Path):
    assert call("cache", "--clean", "all", "--yes").exit_code == 0
    assert [file.name for file in cache.iterdir()] == ["notes.txt"]
    assert call("cache").exit_code == 0


@pytest.mark.parametrize(
    ("words", "named"), [(("--clean", "resnt"), "resnet"), (("--clean", "resnet"), "--yes")]
)
def test_the_cache_stays_where_a_kind_is_misspelt_or_nobody_can_be_asked(cache: Path, words, named):
    result = call("cache", *words)
    assert result.exit_code == 2
    assert named in result.output
    assert len(list(cache.glob("*.npy"))) == 2


def test_an_empty_cache_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "none"))
    assert "0 B" in call("cache").output


def test_a_run_is_deleted(run: Path):
    assert call("rm", run.name, "--yes", "--root", run.parents[1]).exit_code == 0
    assert list(run.parent.iterdir()) == []


def test_a_run_stays_where_nobody_can_be_asked_and_where_another_process_writes(run: Path):
    assert "--yes" in call("rm", run).output
    with only_writer(run):
        words = [sys.executable, "-m", "workbench", "rm", str(run), "--yes"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert run.name in done.stderr
    assert (run / runs.STATUS).read_text().strip() == "ok"


def test_a_folder_that_is_no_run_is_not_deleted(tmp_path: Path):
    folder = tmp_path / "photos"
    folder.mkdir()
    assert call("rm", folder, "--yes").exit_code == 2
    assert folder.is_dir()


def test_runs_are_listed_with_their_size(run: Path):
    root = run.parents[1]
    assert "3.0 MB" in call("ls", "--size", "--root", root).output
    assert json.loads(call("ls", "--size", "--root", root, "--json").output)[0]["bytes"] > 3_000_000
    assert "3.0 MB" not in call("ls", "--root", root).output
