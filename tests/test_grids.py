"""Every published ablation table is a grid file of paper_tables, and every arm of it, and every preset,
can be built."""

from __future__ import annotations

import inspect
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paper_tables import layout as layouts
from paper_tables import published, table
from paper_tables.claims_told import TITLES
from paper_tables.figures import FIGURES

from tests.stand_ins import bottom_up, flickr8k, offline
from tools.benchmarks import bench_arms
from workbench import assets, data, text
from workbench.cli import describe
from workbench.execution import library, notebook, parameters
from workbench.execution.grid import expand, plan, prepare_grid, read_grid
from workbench.io import read_options
from workbench.runs import Config, spellings
from workbench.runs import build as running
from workbench.runs.build import build, with_widths
from workbench.runs.resolve import resolve
from workbench.runs.train import train
from workbench.training import Settings

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
GRIDS = {path.stem: path for place in library.source_folders() for path in sorted(place.glob("grids/*.yaml"))}
PRESETS = {path.stem: path for path in sorted((NOTEBOOKS / "configs").glob("*.yaml"))}
# Published tables and how many arms each has; those of CORA, Table 3 are three questions and three files.
TABLES = {
    "ditm_table4": 3, "ditm_table5": 7, "dias_table3": 6, "dias_table4": 8, "sam_table4": 6, "sam_table5": 12,
    "aahr_table4": 10, "aahr_table5": 4, "cora_table3_layers": 6, "cora_table3_structure": 4,
    "cora_table3_losses": 4,
}  # fmt: skip


def arms(name: str, **changes: object) -> dict[str, Config]:
    """The configuration of every arm as the notebook builds it from the parameters that are planned."""
    planned = plan("03_train", read_grid(GRIDS[name]), changes)
    return {label: resolve(Config(**spellings.fields(fields))) for label, fields in planned.items()}


@pytest.fixture(scope="module")
def world():
    """A tiny split of the synthetic scenes that has region features as well."""
    split = data.load("scenes", split="train", size=12)
    return replace(split, regions=np.zeros((12, 4, 8), dtype=np.float32))


@pytest.fixture(scope="module")
def stand():
    """Models of arms that have been built."""
    return set()


def built(config: Config, world):
    """The model of a configuration on the tiny world, with what its objective reads there."""
    known = inspect.signature(data.member("scenes")).parameters
    options = {name: value for name, value in config.data.options.items() if name in known}
    config = with_widths(resolve(config.replace(data={"name": "scenes", **options})), world)
    model = build(config, world.captions)
    running.training_relevance(model.objective, world)
    return model


@pytest.mark.parametrize("name", TABLES)
def test_every_published_ablation_has_its_arms(name):
    assert len(arms(name)) == TABLES[name]


def test_every_arm_of_every_ablation_is_recorded_away_from_chance():
    found = assets.read_recorded("ablation_arms")
    there = {(row.grid, row.data, row.arm) for row in found.itertuples()}
    named = bench_arms.names()
    assert there == {
        (name, place, arm)
        for name in named
        for place in bench_arms.DATA
        for arm in expand(layouts.over_seeds(read_grid(GRIDS[name]), {"seed": 0}))
    }
    assert len(there) == len(found)
    assert (found.rsum > bench_arms.TIMES * found.chance).all()
    # the model before training is near chance, or nothing would be said
    assert (found.untrained < 2 * found.chance).all()


@pytest.mark.parametrize("name", [name for name in GRIDS if "table" in read_grid(GRIDS[name])])
def test_every_table_finds_its_rows_among_the_printed_ones(name):
    """Its rows are checked when it is read: each is printed, or said not to be."""
    layout = layouts.read(read_grid(GRIDS[name]), name)
    values = [cells for part in layout.parts for cells in part.values.values()]
    assert bool(values) != layout.number.startswith("Fig")
    unstated = {("HierarCaps", "DITM protocol")}
    assert {part.on for part in layout.parts} <= published.PROTOCOLS.keys() | unstated


IN_PAPER = [name for name in GRIDS if {"table", "paper"} <= read_grid(GRIDS[name]).keys()]


@pytest.mark.parametrize("name", IN_PAPER)
def test_no_objective_of_the_registry_is_printed_only(name):
    """In the settings of its paper each printed row of an objective that can be trained here has an arm."""
    layout = layouts.read(prepare_grid(read_grid(GRIDS[name]), {}, name, paper=True), name)
    printed = {row for part in layout.parts for row in part.values}
    without = sorted(printed - {*layout.rows.values()})
    assert [row for row in without if re.split(r"[ ,*(\[]", row)[0] in TITLES.values()] == []


def test_no_remark_on_a_table_calls_an_objective_of_the_registry_printed_only():
    remarks = [one["remark"] for one in table.list_tables()]
    said = [re.search(r"(?:.*; )?(.*) (?:is|are) printed only", remark) for remark in remarks]
    names = {word for one in said if one for word in re.split(", | and ", one[1].partition(" but ")[0])}
    assert "NAAF" in names
    assert names & {*TITLES.values()} == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GRIDS if "table" in read_grid(GRIDS[name])])
def test_every_table_can_be_made_on_photographs_by_encoders_that_fit(name):
    """On frozen features, or on the region features that the data bring."""
    for config in arms(name, data="flickr8k").values():
        assert config.features == "efficientnet_lite0"
        assert config.lr >= 1e-4
        assert "minilm-package" in str({**config.text_encoder.options, **config.image_encoder.options})
    for config in arms(name, data={"name": "coco", "source": "precomp"}).values():
        assert config.features == ""
        assert config.image_encoder.name in ("regions", "multigrain")


@pytest.mark.parametrize(
    "given",
    [{"start": "scenes"}, {"image_encoder": "towers"},
     {"features": "scenes_backbone", "image_encoder": "regions", "text_encoder": "graph"},
     {"features": "efficientnet_lite0", "image_encoder": "regions",
      "text_encoder": {"name": "graph", "concepts": {"kind": "towers", "name": "scenes"}}}],
)  # fmt: skip
def test_an_encoder_of_the_embedded_world_is_refused_on_photographs(given):
    with pytest.raises(
        ValueError, match=r"arm 'CORA': data='flickr8k', and .*has only seen the synthetic scenes"
    ):
        arms("cora_table4", data="flickr8k", **given)


def test_what_an_arm_chooses_stands():
    given = {"image_encoder": "regions", "text_encoder": "sequence", "features": "timm:resnet18/random"}
    (config, *_) = arms("ditm_table4", data="flickr8k", **given).values()
    assert (config.features, config.text_encoder.options) == ("timm:resnet18/random", {})
    assert resolve(Config(objective="cora")).features == "scenes_backbone"
    assert resolve(Config(data="flickr8k", start="scenes")).features == ""


LISTED = {one["table"]: one for one in table.list_tables()}


def test_the_five_papers_have_so_many_tables_and_figures():
    # Tables I to V, 1 to 4, 1 to 5, 1 to 5 and 1 to 6, CORA's third in three parts; 5, 2, 3, 2 and 5 figures
    tables, figures = ([name for name in LISTED if ("Fig." in name) == figure] for figure in (False, True))
    assert (len(tables), len(figures)) == (5 + (4 + 2) + 5 + 5 + 6, 5 + 2 + 3 + 2 + 5)
    assert all(one["command"] and "not yet" not in one["remark"] for one in LISTED.values())
    printed = {
        (paper, number) for paper, number in published.load()[["paper", "table"]].itertuples(index=False)
    }
    assert {f"{paper} Table {number}" for paper, number in printed} == {
        name.partition(",")[0] for name in tables
    }


@pytest.mark.parametrize("name", LISTED)
def test_the_command_of_a_table_is_one_that_the_program_takes(name):
    program, verb, *words = LISTED[name]["command"].split()
    assert program == "workbench"
    if verb == "grid":
        layout = layouts.read(read_grid(library.find_file(words[1], "grid")))
        kind = layout.number if layout.number.startswith("Fig") else f"Table {layout.number}"
        assert name.partition(",")[0] == f"{layout.paper} {kind}"
    elif verb == "figure":
        assert (words[0] in FIGURES, set(words[1:])) == (True, {"RUN"})
    else:
        assert verb == "run"
        path, values = library.find_file(words[0]), {}
        if words[1:2] == ["-f"]:
            values = read_options(library.find_file(words[2], "parameter file"))
        elif words[1:2] == ["-p"]:
            values = dict(word.split("=") for word in words[2::2])
            assert (set(words[1::2]), values.pop("runs", "RUNS")) == ({"-p"}, "RUNS")
        assert notebook.check_parameters(path, values).keys() == parameters.read_parameters(path).keys() - {
            "out"
        }


@pytest.mark.parametrize("name", GRIDS)
def test_every_arm_of_a_grid_is_another_experiment(name):
    found = arms(name)
    assert len({repr(config) for config in found.values()}) >= len(found) - 1, (
        "two arms may share the paper's own setting"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_every_arm_of_a_grid_can_be_built(name, world, stand):
    """Those of other seeds, sizes and rates are one model, and those that grids share."""
    for label, config in arms(name).items():
        fields = ("image_encoder", "text_encoder", "features", "start", "scorer", "rerank", "reranker")
        made_of = [getattr(config, field) for field in (*fields, "objective")]
        model = f"{config.data.name} {made_of!r}"
        if model not in stand:
            assert built(config, world).objective.terms, label
        stand.add(model)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_built(name, world, tmp_path):
    config = offline(Config.read(PRESETS[name]), tmp_path)
    assert built(config, world).objective.terms


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_trains_from_files_in_the_true_format(name, tmp_path):
    given = Config.read(PRESETS[name])
    config, place = offline(given, tmp_path), tmp_path / "data"
    options = flickr8k(place) if given.data.name == "flickr8k" else bottom_up(place, given.data.name)
    options |= {"source": given.data.options.get("source", "photographs")} if "source" in options else {}
    trained = config.replace(
        data={"name": given.data.name, **options}, epochs=1, step_epochs=(1,), clusters=4,
        clusters_per_batch=2, swa_from=0,
        batch_size=2 if given.captions_per_image == 5 else 4, device="cpu",
    )  # fmt: skip
    (start, epoch) = train(trained, progress=False).history
    assert epoch["steps"] >= 3 > start["steps"] == 0
    assert np.isfinite(epoch["loss"])


@pytest.mark.parametrize("name", PRESETS)
def test_every_value_of_a_preset_says_where_it_is_from(name):
    found = describe.value_sources(PRESETS[name])
    assert [field for field, source in found.items() if not source] == []
    said = [line for line in PRESETS[name].read_text().splitlines() if line.startswith("# From ")]
    names = [one for line in said for one in line.partition(": ")[2].split(", ")]
    assert len(set(names)) == len(names)
    fields = [f"{field}.name." if field in spellings.MEMBERS else f"{field}." for field in found]
    assert [one for one in names if not any(field.startswith(f"{one}.") for field in fields)] == []
    assert all(
        line.startswith(("# From the paper", "# From the released code", "# From us")) for line in said
    )
    page = describe.explain(name)
    assert all(f"From {source}:" in page for source in found.values())
    assert max(map(len, page)) <= 82


def test_the_presets_of_a_paper_hold_its_settings():
    # the table of settings in which DITM compares its baselines, and those of DIAS and AAHR by data set
    shared = {"optimizer": "adamp", "lr": 5e-4, "weight_decay": 1e-4, "epochs": 25,
              "image_backbone_lr": 0.01, "text_backbone_lr": 0.1, "layer_decay": 0.7, "clip_norm": 2.0,
              "warmup_epochs": 2, "ramp_epochs": 1, "step_epochs": (15,)}  # fmt: skip
    table = ("ditm", "vsepp", "infonce", "clip_sam", "clip_daa", "pcme", "pcmepp")
    configs = {name: Config.read(PRESETS[name]) for name in PRESETS}
    for name in table:
        training = configs[name]
        assert {field: getattr(training, field) for field in shared} == shared, name
        # every objective has as many captions a step
        assert training.batch_size * training.captions_per_image == 128
        options = configs[name].image_encoder.options
        assert (options["model"], options["pretrained"], options["head"]) == ("ViT-B-32", "openai", "tokens")
        assert configs[name].data.name == "coco"
    for data_set, batch, cutoff, prototypes in (("flickr30k", 128, 1.7, 384), ("coco", 256, 1.9, 768)):
        for words in ("gru", "bert"):
            dias = configs[f"butd_dias_{words}_{data_set}"]
            training, options = dias, dias.objective.options
            assert (training.batch_size, training.epochs, options["cutoff"]) == (batch, 30, cutoff)
            assert (training.optimizer, training.lr, options["scorer"]) == ("adam", 5e-4, "cross")
            assert (training.schedule, training.epoch_factor) == ("exponential", 0.9)
            assert options["weights"] == {"dim": 10, "inter": 0.05, "intra": 0.1}
        for words in ("gru", "released_gru", "bert"):
            cora = configs[f"butd_cora_{words}_{data_set}"]
            training = cora
            assert (training.batch_size, training.epochs, training.step_epochs) == (128, 55, (15,))
            assert (training.optimizer, training.lr, training.weight_decay) == ("adamw", 5e-4, 1e-4)
            assert (training.ramp_epochs, training.clip_norm) == (1, 0)
            assert cora.objective.options == {
                "hard": 4, "contrastive": 1, "specificity": 11, "margin": 0.35, "tau": 0.01,
            }  # fmt: skip
            both, glove = (words == "gru", "glove" in cora.text_encoder.options.get("pretrained", ""))
            assert both == glove == ("bidirectional" in cora.text_encoder.options["concepts"])
        training = configs[f"butd_vsepp_bert_{data_set}"]
        assert (training.batch_size, training.epochs, training.warmup_epochs) == (128, 25, 1)
        assert (training.lr, training.weight_decay, training.text_backbone_lr) == (5e-4, 1e-4, 0.1)
        for words in ("gru", "bert"):
            hrem = configs[f"butd_hrem_{words}_{data_set}"]
            training, options = hrem, hrem.objective.options
            assert (training.batch_size, training.epochs, training.step_epochs) == (batch, 30, (15, 25))
            assert (training.optimizer, training.lr, training.weight_decay) == ("adamw", 5e-4, 1e-4)
            assert (options["margin"], options["cutoff"], options["after"]) == (0.2, cutoff, 8000)
            assert ("features" in hrem.text_encoder.options) == (words == "bert")
        aahr = configs[f"butd_aahr_bert_{data_set}"]
        assert aahr.objective.options["alignment"]["prototypes"] == prototypes
        released = configs[f"butd_aahr_released_bert_{data_set}"]
        fields = Settings.model_fields
        assert [getattr(aahr, name) for name in fields] == [getattr(released, name) for name in fields]
        assert (aahr.batch_size, aahr.text_backbone_lr) == (batch, 0.1)
        assert (aahr.epochs, aahr.step_epochs) == (40, (15, 25))
        options = released.objective.options
        assert (options["variant"], options["cutoff"], options["pga"]) == ("released", cutoff, 0.2)
        assert options["alignment"] == {"prototypes": prototypes, "tau": 0.1, "epsilon": 0.1, "after": 2200}
        assert (options["contrast"]["bank"], options["contrast"]["tau"]) == (2048, 0.07)
        assert (options["graph"]["alpha"], options["graph"]["after"]) == (
            {"flickr30k": 1.0, "coco": 1.5}[data_set],
            8000,
        )
        assert released.image_encoder.options["fusion"] == {"variant": "released", "maps": 8, "padding": True}


RECORDED = [name for name, path in GRIDS.items() if "record" in read_grid(path)]


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_grid_says_how_many_threads_compute_it(name):
    planned = plan("03_train", read_grid(GRIDS[name]), {})
    assert {values["config"]["threads"] for values in planned.values()} == {1}


def test_presets_are_those_that_were_read_against_the_papers():
    """Each value was read beside its paper when it last changed. ``WORKBENCH_SNAPSHOTS=write`` writes the
    file again, for whoever has read a new value.
    """
    file = Path(__file__).with_name("presets.json")
    found = {name: resolve(Config.read(path)).as_dict() for name, path in PRESETS.items()}
    if os.environ.get("WORKBENCH_SNAPSHOTS") == "write":
        rows = (f"{json.dumps(name)}: {json.dumps(of)}" for name, of in found.items())
        file.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    assert json.loads(json.dumps(found)) == json.loads(file.read_text(encoding="utf-8"))


def test_the_names_of_the_relevances_are_in_the_registry():
    assert {"cider", "tfidf"} <= set(text.names())


def test_what_an_arm_does_not_say_follows_its_data_as_in_a_single_run(tmp_path):
    grid = {
        "arms": {
            "a": {"objective": "vsepp"},
            "b": {"objective": "vsepp", "captions_per_image": 3},
        }
    }
    (tmp_path / "photos").mkdir()
    planned = plan("03_train", grid, {"data": str(tmp_path / "photos")})
    assert [one["config"] for one in planned.values()] == [{}, {"captions_per_image": 3}]
