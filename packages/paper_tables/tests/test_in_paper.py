"""Tables in the settings of their papers, before anything starts: what is planned, what it takes, what is
missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machine_bench import forecast
from typer.testing import CliRunner

from workbench import encoders
from workbench.cli import app
from workbench.execution import grid, library
from workbench.io import read_options
from workbench.runs.spellings import name_of, options_of

FILES = {
    path.stem: path
    for path in library.list_files("grid")
    if "table" in (described := grid.read_grid(path)) and described["table"].get("paper")
}
# settings that the papers print, which no arm of the small form may change
PRINTED = ("epochs", "batch_size", "captions_per_image", "lr", "optimizer", "warmup_epochs", "schedule")
KNOWN = {"flickr30k": 29_000, "coco": 113_287}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data, no weights, and no time to measure."""
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("paper_tables.needs.try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr(forecast, "_operations_per_second", lambda: 1e12)
    monkeypatch.setattr(forecast, "_photograph_seconds", lambda: 0.01)
    monkeypatch.setattr(forecast, "_loss_seconds", lambda objective, images: 0.001)


def test_every_table_has_the_settings_of_its_paper() -> None:
    assert len(FILES) == 31
    assert all("paper" in grid.read_grid(path) for path in FILES.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_dry_run_of_a_table_says_what_it_takes_and_all_that_is_missing(name: str) -> None:
    result = CliRunner().invoke(
        app, ["grid", "03_train", str(FILES[name]), "--paper", "--dry-run", "-p", "seed", "0", "--json"]
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    _, _, arms = grid.plan_file("03_train", FILES[name], {"seed": "0"}, paper=True, dry=True)
    described = grid.prepare_grid(grid.read_grid(FILES[name]), {"seed": 0}, name, paper=True)
    assert [arm["arm"] for arm in answer["arms"]] == list(dict.fromkeys(grid.row_labels(described).values()))
    needed = set()
    for arm, values in zip(answer["arms"], arms.values(), strict=True):
        settings = values["config"]
        assert values["train_images"] == 0
        assert (arm["hours"] > 0) == (arm["steps"] > 0) == (settings["epochs"] > 0)
        assert 1e6 < arm["weights"] < 5e8
        # all captions, once an epoch, two at a time from five taking three rounds
        images = KNOWN[name_of(values["data"])] * options_of(values["data"]).get("share", 1)
        rounds = 3 if settings["epochs"] and settings["captions_per_image"] == 2 else 5
        size = settings.get("batch_size", 128)
        assert arm["steps"] == pytest.approx(settings["epochs"] * rounds * images / size, rel=0.02)
        options = json.dumps(settings)
        needed |= {name_of(values["data"])} | {
            word
            for word in ("openai", "laion2b_s34b_b79k", "bert-base-uncased", "glove.6B.300d.txt")
            if word in options
        }
        beside = described["table"].get("evaluate") or {}
        names = {entry["data"] for entry in beside.get(name_of(values["data"]), beside.get("others", []))}
        needed |= names - {"eccv_caption"}  # its judgements come with a package, its photographs are COCO's
    missing = " ".join(answer["missing"])
    assert [word for word in needed if word not in missing] == []
    assert all(remedy_of(line) for line in answer["missing"])
    heads = ("coco:", "flickr30k:", "cxc:", "hierarcaps:", "eccv_caption:", "weights", "text encoder", "word")
    assert all(line.startswith(heads) for line in answer["missing"])


def test_what_an_extra_brings_is_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.data.eccv_caption.find_spec", lambda name: None)
    result = CliRunner().invoke(
        app, ["grid", "03_train", "aahr_table3", "--paper", "--dry-run", "-p", "seed=0", "--json"]
    )
    assert result.exit_code == 0, result.output
    missing = json.loads(result.stdout)["missing"]
    for head in ("coco:", "weights laion2b_s34b_b79k", "text encoder bert-base-uncased"):
        assert [line for line in missing if line.startswith(head)], head
    assert all("pip install" in line for line in missing if "eccv_caption" in line)


def remedy_of(line: str) -> bool:
    return "https://" in line or "hf download" in line


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("sam")])
def test_no_arm_of_the_small_form_changes_a_printed_setting(name: str) -> None:
    described = grid.prepare_grid(grid.read_grid(FILES[name]), {"seed": 0}, name, paper=True)
    _, _, arms = grid.plan_file("03_train", FILES[name], {"seed": "0"}, paper=True, dry=True)
    for label, arm in described["arms"].items():
        preset = arm.get("preset", described["fixed"].get("preset")).format(data=described["fixed"]["data"])
        preset_values = read_options(library.find_file(preset, "configuration"))
        settings = arms[f"{label}, seed=0" if f"{label}, seed=0" in arms else label]["config"]
        assert {field: settings.get(field) for field in PRINTED} == {
            field: preset_values.get(field) for field in PRINTED
        }, label


def test_without_what_it_needs_a_table_is_refused_with_one_list() -> None:
    result = CliRunner().invoke(app, ["grid", "03_train", "ditm_table2_cxc", "--paper"])
    assert result.exit_code == 2
    heads = [line.removeprefix("workbench: ").split(":")[0] for line in result.output.strip().splitlines()]
    assert heads == ["coco", "weights openai of ViT-B-32", "cxc"]


def test_a_grid_without_a_paper_is_forecast_and_refused_in_its_paper() -> None:
    result = CliRunner().invoke(
        app, ["grid", "03_train", "comparison_scenes", "--dry-run", "-p", "train_images", "64"]
    )
    assert result.exit_code == 0, result.output
    assert "Missing" not in result.output
    assert "GFLOP/s" in result.output
    result = CliRunner().invoke(app, ["grid", "03_train", "comparison_scenes", "--paper"])
    assert (result.exit_code, "leave out --paper" in result.output) == (2, True)


def test_towers_that_are_no_plain_transformers_are_made_and_counted() -> None:
    both, text = forecast._tower_loads("scenes")
    assert both.weights == sum(weight.numel() for weight in encoders.load("towers").parameters())
    assert (text.weights, text.work) == (0, both.work / 2)
