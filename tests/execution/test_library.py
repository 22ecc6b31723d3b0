"""What comes with the package: found by name, laid out to be changed, and inside a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.execution import library

ROOT = Path(__file__).parents[2]


def test_a_name_is_found_among_what_comes_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert library.find_file("03_train", "notebook") == library.shipped_folder() / "03_train.ipynb"
    assert library.find_file("ditm_table4", "grid").read_text()
    assert library.find_file("flickr8k_ditm.yaml", "configuration").is_file()


def test_ones_own_copy_is_found_first_and_a_path_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    library.copy_shipped("notebooks")
    assert library.find_file("03_train", "notebook") == Path("notebooks/03_train.ipynb")
    (tmp_path / "03_train.ipynb").write_text("mine")
    assert library.find_file("03_train", "notebook").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "kind", "near"),
    [
        ("03_trane", "notebook", "03_train"),
        ("ditm_table", "grid", "ditm_table4"),
        ("flikr8k_ditm", "configuration", "flickr8k_ditm"),
    ],
)
def test_a_name_that_is_not_there_lists_the_near_ones(name: str, kind: str, near: str):
    with pytest.raises(FileNotFoundError, match=f"no {kind} '{name}'.*{near}"):
        library.find_file(name, kind)


def test_everything_is_laid_out_and_nothing_is_overwritten(tmp_path: Path):
    written = library.copy_shipped(tmp_path / "mine")
    assert {path.suffix for path in written} == {".ipynb", ".yaml"}
    assert len(written) == sum(
        path.suffix in (".ipynb", ".yaml")
        and path.parent.name in ("notebooks", "configs", "grids", "parameters")
        for place in library.source_folders()
        for path in place.rglob("*")
    )
    (tmp_path / "mine" / "01_descriptiveness.ipynb").unlink()
    with pytest.raises(FileExistsError, match="is there already; name another folder"):
        library.copy_shipped(tmp_path / "mine")
    assert not (tmp_path / "mine" / "01_descriptiveness.ipynb").exists()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine that has the wheel, and no repository."""
    place = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(place)], check=True
    )
    (wheel,) = place.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(place / "site"), str(wheel)], check=True)
    return {**os.environ, "PYTHONPATH": str(place / "site")}


def _call(installed: dict[str, str], folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=installed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_folder(installed: dict[str, str], tmp_path: Path):
    where = _call(installed, tmp_path, "-c", "import workbench; print(workbench.__file__)")
    assert where.startswith(installed["PYTHONPATH"])
    assert "objective" in _call(installed, tmp_path, "-m", "workbench", "params", "03_train")
    assert "04_embedding_map.ipynb" in _call(
        installed, tmp_path, "-m", "workbench", "notebooks", "mine", "--json"
    )
    first = "from workbench.tour import STOPS, tour; assert tour('runs', stops=STOPS[:1]).exit_code == 0"
    _call(installed, tmp_path, "-c", first)
    assert (tmp_path / "runs" / "tour" / "index.html").is_file()


@pytest.mark.slow
def test_the_wheel_runs_an_arm_of_a_grid(installed: dict[str, str], tmp_path: Path):
    sizes = {"train_images": 64, "val_images": 32, "test_images": 64, "batch_size": 32, "epochs": 1}
    (tmp_path / "one.yaml").write_text("arms: {vsepp: {objective: vsepp}}\n")
    given = [word for name, value in sizes.items() for word in ("-p", name, str(value))]
    said = _call(installed, tmp_path, "-m", "workbench", "grid", "03_train", "one.yaml", *given, "--json")
    assert '"status": "ok"' in said
    assert list((tmp_path / "runs" / "03_train").glob("*/results.json"))
