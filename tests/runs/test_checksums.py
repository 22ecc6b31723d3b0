"""Every kind of file that a run keeps and that is read back, damaged: refused by name."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from tests.damage import KINDS, damage
from tests.runs.test_experiment import SMALL, TINY
from workbench.assets import package_folders
from workbench.runs import Config, by_query, environment, load_model, open_runs
from workbench.runs import store as runs
from workbench.runs.environment import code_hash
from workbench.runs.store import CHECKSUMS
from workbench.runs.train import train


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    (folder / "tiny.json").write_text(json.dumps(TINY))
    image = {"name": "towers", "model": str(folder / "tiny.json"), "pretrained": ""}
    config = Config(**(SMALL | {"image_encoder": image, "text_encoder": "towers", "epochs": 0}))
    train(config, progress=False).save(folder / "run")
    return folder / "run"


def embeddings(folder):
    return open_runs([str(folder)])[0].image


READERS = {
    "embeddings/image.npy": embeddings,
    "embeddings/text_ids.parquet": embeddings,
    runs.VALUES: by_query.ByQuery.read,
    runs.RESULTS: runs.read,
    runs.MODEL: load_model,
    runs.CONFIG: load_model,
    runs.STATES: load_model,
    CHECKSUMS: load_model,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_by_name(saved, tmp_path, name, kind):
    folder = shutil.copytree(saved, tmp_path / "run")
    READERS[name](folder)
    if (name, kind) == (runs.STATES, "swap"):
        kind = "flip"  # it holds one maker
    damage(folder / name, kind)
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        READERS[name](folder)


def test_files_of_another_run_are_refused_and_runs_without_checksums_are_read(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "run")
    config = json.loads((folder / runs.CONFIG).read_text())
    (folder / runs.CONFIG).write_text(json.dumps(config | {"objective": {"name": "dias"}, "device": "auto"}))
    with pytest.raises(
        ValueError, match=r"is not the configuration of model\.safetensors: objective was infonce, is d"
    ):
        load_model(folder)
    (folder / runs.CONFIG).write_text(json.dumps(config | {"device": "auto"}))
    runs.publish(folder, runs.read(folder).results | {"more": 1})
    assert runs.read(folder).results["more"] == 1
    (folder / CHECKSUMS).unlink()
    np.save(folder / "embeddings" / "image.npy", np.full((8, 16), np.nan, dtype=np.float32))
    with pytest.raises(ValueError, match=r"image\.npy holds .*expected \(8, 16\), all finite; delete it"):
        embeddings(folder)
    np.save(folder / "embeddings" / "image.npy", np.eye(8, 16, dtype=np.float32))
    assert embeddings(folder).mean.shape == (8, 16)


def test_code_is_every_file_that_decides_a_number(tmp_path, monkeypatch):
    hashed = {
        package.name
        for package in package_folders(*(f"workbench.{registry}" for registry in environment.REGISTRIES))
    }
    assert hashed == {"benchmark_sets", "caption_graphs", "paper_tables", "relevance_audit", "scene_world"}
    monkeypatch.setattr(environment, "PACKAGE", tmp_path)
    (tmp_path / "views").mkdir()
    known = {code_hash()}
    for name in ("a.py", "a.json", "words.toml", "model.safetensors"):
        (tmp_path / name).write_text("1")
        known.add(code_hash())
    assert len(known) == 5
    for name in ("page.html.j2", "views/plot.py", "README.md"):
        (tmp_path / name).write_text("1")
        assert code_hash() in known
    (tmp_path / "a.json").rename(tmp_path / "b.json")
    assert code_hash() not in known
