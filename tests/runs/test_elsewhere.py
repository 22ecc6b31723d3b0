"""A finished run on other data: what is measured and kept, how it is shown, and what is refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from paper_tables import beside as printed
from paper_tables import published
from typer.testing import CliRunner

from tests.data import fixtures
from workbench import data
from workbench.cli import app
from workbench.io import write_json
from workbench.runs import Config, Target, by_query, load_target, open_runs
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate
from workbench.runs.resolve import resolve
from workbench.runs.train import train
from workbench.views.pages import leaderboard

WORLD = Config(
    start="scenes", train_images=16, val_images=8, test_images=12, epochs=0, batch_size=16, device="cpu"
)
CHAINS = {"data": {"name": "scenes", "texts": "chains"}, "images": 6}


def finished(config, folder):
    train(config, progress=False).save(folder)
    write_json(folder / runs.PARAMS, {"objective": config.objective.name, "train_images": 16, "epochs": 0})
    runs.write_status(folder, "ok")
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A run of the synthetic scenes that reads pixels, without what was measured elsewhere."""
    root = tmp_path_factory.mktemp("runs")
    finished(WORLD, root / "03_train" / "20260101-000000-aaaa0000")
    return root


@pytest.fixture
def folder(root, tmp_path):
    """A copy of it."""
    place = tmp_path / "runs" / "03_train" / "20260101-000000-aaaa0000"
    return shutil.copytree(root / "03_train" / place.name, place)


def beside(folder, target):
    """A run measured on other data, and kept there."""
    result = evaluate(folder, target)
    result.save(folder / runs.EVALUATIONS / target.name)
    return result


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})


def test_a_target_is_a_name_a_file_or_its_fields_and_has_a_name_that_tells_options_apart(tmp_path):
    plain = Target.read("scenes", {}, "val")
    assert (plain, plain.name) == (Target(data="scenes", split="val"), "scenes-val")
    fields = {"data": {"name": "scenes", "texts": "chains"}, "split": "val"}
    (tmp_path / "on.json").write_text(json.dumps(fields))
    inline = Target.read(json.dumps(fields), {})
    assert inline == Target.read(str(tmp_path / "on.json"), {}) == Target(**fields)
    assert Target(**inline.model_dump()) == inline
    assert Target.read(json.dumps(fields), {"size": 8}, "test") == Target(
        data={"name": "scenes", "texts": "chains", "size": 8}, split="test"
    )
    names = {one.name for one in (plain, inline, Target(data="scenes", split="val", images=3))}
    assert len(names) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scene"], "no 'scene'; did you mean scenes"),
        (["{broken"], "is not JSON"),
        (["nowhere.json"], "no file nowhere.json"),
        (['{"split": "val"}'], "name the data set to measure on, as data; got split"),
        (['{"data": "scenes", "image": 3}'], "no field 'image'; did you mean images"),
        (["hierarcaps", "--split", "val"], "split is 'val'; choose one of test"),
        (["scenes", "-p", "data.txts", "chains"], "no option 'txts'; did you mean texts"),
        (["folder", "-p", "data.root", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line_with_the_near_names(folder, words, message):
    done = call("evaluate", folder, "--data", *words)
    assert (done.exit_code, message in done.output, len(done.output.splitlines())) == (2, True, 1), (
        done.output
    )
    assert not (folder / runs.EVALUATIONS).exists()


def test_options_without_other_data_are_refused(folder):
    assert "name these with --data" in call("evaluate", folder, "-p", "data.root", "x").output


def test_the_numbers_on_ones_own_test_images_are_those_of_the_run(folder):
    """The same images by the other door: reduction to what the run measured itself."""
    one = beside(folder, Target(data="scenes", images=12))
    assert one.as_dict()["metrics"] == runs.read(folder).results["metrics"]
    kept = runs.read(folder).evaluations[Target(data="scenes", images=12).name]
    assert kept["contracts"] == runs.read(folder).results["contracts"]
    ours, theirs = (
        by_query.ByQuery.read(folder / runs.EVALUATIONS / Target(data="scenes", images=12).name),
        by_query.ByQuery.read(folder),
    )
    assert ours.values.keys() == theirs.values.keys()
    for key, values in theirs.values.items():
        np.testing.assert_array_equal(ours.values[key], values)


def test_the_folder_of_an_evaluation_opens_the_run_on_its_data(folder, tmp_path):
    target = Target(data="scenes", images=6)
    measured = beside(folder, target)
    place = folder / runs.EVALUATIONS / target.name
    (opened,) = open_runs([str(place)])
    assert (opened.run, dict(opened)) == (measured.run, dict(measured))
    assert (len(opened.split.image_ids), opened.folder, opened.run.model) == (6, place, str(folder))
    listed = json.loads(call("errors", place, "--json").stdout)
    assert listed["queries"]["i2t"]["queries"] == 6
    assert "different images" in call("errors", folder, place).output
    assert call("explore", place, "--prepare", "--root", tmp_path / "runs").exit_code == 0
    (other,) = open_runs([str(place)], on={"data": "scenes", "images": 4})
    assert len(other.split.image_ids) == 4


def test_the_command_keeps_numbers_beside_the_run_and_leaves_its_own_as_they_are(folder, tmp_path):
    before = (folder / runs.RESULTS).read_bytes()
    place = fixtures.photographs(tmp_path / "mine")
    done = call("evaluate", folder, "--data", "folder", "-p", "data.root", place, "--split", "all", "--json")
    assert done.exit_code == 0, done.output
    (name,) = runs.read(folder).evaluations
    results = runs.read(folder).evaluations[name]
    assert name.startswith("folder-all-")
    assert (results["dataset"], results["training"]) == ("folder", "scenes")
    assert results["split"]["name"] == "mine/all"
    assert results["target"]["data"] == {"name": "folder", "root": str(place)}
    assert {row["key"]: row["value"] for row in json.loads(done.stdout)} == results["metrics"]
    assert results["contracts"]["t2i/R@1"]["gallery"] == 12
    assert "history" not in results
    kept = by_query.ByQuery.read(folder / runs.EVALUATIONS / name)
    assert len(kept.image_ids) == 12
    assert set(results["metrics"]) == set(kept.values)
    assert (folder / runs.RESULTS).read_bytes() == before


def test_ls_and_show_say_what_was_measured_where_below_the_run(folder):
    beside(folder, Target(**CHAINS))
    root = folder.parent.parent
    own, other = (line.split() for line in call("ls", "--root", root).output.splitlines()[1:])
    assert (own[2], own[5]) == ("20260101-000000-aaaa0000", "scenes")
    assert (other[0], other[1]) == (Target(**CHAINS).name, "evaluate")
    shown = call("show", folder).output
    assert "measured on scenes/test, trained on scenes" in shown
    assert shown.index("rsum") < shown.index("measured on") < shown.rindex("rsum")
    assert list(json.loads(call("show", folder, "--json").output)["evaluations"]) == [Target(**CHAINS).name]


def test_chains_are_measured_by_the_protocols_of_hierarcaps(folder):
    one = beside(folder, Target(**CHAINS))
    assert {"chains:d_corr_image", "chains:hierarcaps_radius_P", "rsum"} <= {
        m.label for m in one.measurements
    }


def test_the_leaderboard_holds_what_was_measured_elsewhere_apart(folder, tmp_path):
    place = fixtures.photographs(tmp_path / "mine")
    target = Target(data={"name": "folder", "root": str(place)}, split="all")
    beside(folder, target)
    trained = folder.with_name("20260101-000001-bbbb0000")
    write_json(trained / runs.PARAMS, {"epochs": 1})
    results = runs.read(folder).evaluations[target.name]
    own = {name: value for name, value in results.items() if name not in ("training", "target")}
    runs.write_results(trained, own)
    runs.write_status(trained, "ok")
    made = leaderboard.build(folder.parent.parent)
    page, rows = made.html.read_text(), pd.read_csv(made.csv)
    assert made.runs == 3
    assert page.count("<table ") == 3
    assert "folder, mine/all: 12 images, 24 captions, trained on scenes" in page
    assert dict(zip(rows["dataset"], rows["training"]))["scenes"] == "scenes"
    assert sorted(rows[rows.dataset == "folder"]["training"]) == ["folder", "scenes"]


def test_the_true_formats_of_the_field_are_measured_by_the_command(folder, tmp_path):
    options = fixtures.cxc(tmp_path / "given")
    target = json.dumps({"data": {"name": "cxc", **options}})
    done = call("evaluate", folder, "--data", target)
    assert done.exit_code == 0, done.output
    (results,) = runs.read(folder).evaluations.values()
    assert (results["dataset"], results["split"]["name"]) == ("cxc", "cxc/test")
    assert any(contract["judgements"] == "sits" for contract in results["contracts"].values()), results
    assert "measured on cxc/test, trained on scenes" in done.output
    kept = by_query.ByQuery.read(folder / runs.EVALUATIONS / Target(**json.loads(target)).name)
    images, captions = len(kept.image_ids), len(kept.caption_ids)
    assert len(kept.values["cxc:rsum"]) == 2 * (images + captions)
    assert len(kept.values["rsum"]) == images + captions


def test_several_runs_on_other_data_are_an_ensemble_that_is_not_stored(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    done = call("evaluate", folder, copy, "--data", json.dumps(CHAINS))
    assert done.exit_code == 0, done.output
    assert "nothing is stored" in done.output
    assert not runs.read(folder).evaluations
    one = beside(folder, Target(**CHAINS))
    again = json.loads(call("evaluate", folder, copy, "--data", json.dumps(CHAINS), "--json").output)
    assert {row["key"]: row["value"] for row in again}["rsum"] == pytest.approx(one["rsum"])


def test_open_runs_on_other_data_takes_what_was_kept_there(folder):
    (fresh,) = open_runs([str(folder)], on=CHAINS)
    assert (fresh.dataset, fresh.trained_on, len(fresh.measurements)) == ("scenes", "scenes", 0)
    one = beside(folder, Target(**CHAINS))
    (kept,) = open_runs([str(folder)], on=CHAINS)
    assert {m.label: m.value for m in kept.measurements} == {m.label: m.value for m in one.measurements}
    (part,) = open_runs([str(folder)], on=CHAINS, images=3)
    assert (len(part.split.image_ids), len(part.measurements)) == (3, 0)
    np.testing.assert_allclose(fresh.scores, one.scores, atol=1e-5)


def test_vectors_of_the_runs_own_images_are_not_taken_for_others_of_the_same_ids(folder):
    """The same scenes drawn on fewer pixels have the same ids."""
    small = {"data": {"name": "scenes", "image_size": 48}, "images": 12}
    (own,), (other,) = open_runs([str(folder)]), open_runs([str(folder)], on=small)
    assert own.split.image_ids == other.split.image_ids
    assert not np.allclose(own.scores, other.scores)


def test_a_run_trained_elsewhere_is_never_comparable_with_rows_of_the_target(folder):
    (one,) = open_runs([str(folder)], on={"data": "scenes", "images": 3})
    _, _, told = printed.table_with_printed([one], "MS-COCO 5K, full")
    assert told == published.explain_mismatch(
        "MS-COCO 5K", "full", data="scenes", images=3, captions=len(one.split.captions), training="scenes"
    )
    assert "the printed rows are measured on" in told


def regions(width, images=4):
    """A loader of a user's own with regions of a width."""
    split = data.load("scenes", split="test", size=images)
    object.__setattr__(split, "regions", np.zeros((images, 3, width), np.float32))
    return split


@pytest.fixture
def own_loader(tmp_path, monkeypatch):
    """Data sets with regions of eight and of sixteen numbers, as a user's own module has them."""
    source = "from tests.runs.test_elsewhere import regions\n"
    source += "def eight(*, split: str = 'train'):\n    return regions(8)\n"
    source += "def sixteen(*, split: str = 'train'):\n    return regions(16)\n"
    (tmp_path / "own_regions.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)


def reads_regions(features="", width=8):
    return Config(
        features=features, image_encoder={"name": "regions", "in_dim": width}, text_encoder="sequence"
    )


@pytest.mark.parametrize(
    ("config", "target", "message"),
    [
        (reads_regions("scenes_backbone"), "folder", "know the synthetic scenes alone, and 'folder' holds"),
        (reads_regions(), "own_regions:sixteen", "width 8 that came with its data, and .* of width 16"),
        (reads_regions(), "scenes", "scenes/test has none; name data with regions from the same detector"),
        (reads_regions("efficientnet_lite0"), "own_regions:eight", "leave out features"),
    ],
)  # fmt: skip
def test_what_the_model_cannot_read_is_refused_with_the_remedy(own_loader, config, target, message):
    with pytest.raises(ValueError, match=message):
        load_target(config, Target(data=target))


def test_regions_of_the_width_that_the_model_reads_are_taken(own_loader):
    assert load_target(reads_regions(), Target(data="own_regions:eight")).regions.shape == (4, 3, 8)


@pytest.mark.slow
@pytest.mark.real_data
def test_a_run_of_real_photographs_is_measured_on_one_s_own_on_hierarcaps_and_on_eccv(real_data, tmp_path):
    config = WORLD.replace(data={"name": "flickr8k", "root": str(real_data / "flickr8k")})
    folder = finished(config, tmp_path / "runs" / "03_train" / "20260101-000000-cccc0000")
    place, eccv = fixtures.photographs(tmp_path / "mine"), tmp_path / "eccv"
    for target in (
        {"data": {"name": "folder", "root": str(place)}, "split": "all"},
        {"data": {"name": "hierarcaps", "root": str(real_data / "hierarcaps")}, "images": 20},
        {"data": {"name": "eccv_caption", **fixtures.eccv_caption(eccv)}},
    ):
        done = call("evaluate", folder, "--data", json.dumps(target))
        assert done.exit_code == 0, done.output
        assert "trained on flickr8k" in done.output
    found = {one["dataset"]: one for one in runs.read(folder).evaluations.values()}
    assert "chains:d_corr_radius" in found["hierarcaps"]["metrics"]
    assert any(label.startswith("eccv:") for label in found["eccv_caption"]["metrics"])
    (one,) = open_runs([str(folder)], on={"data": {"name": "eccv_caption", **eccv_options(eccv)}})
    assert "trained on flickr8k" in printed.table_with_printed([one], "ECCV Caption")[2]


def eccv_options(place):
    return {"root": str(place), "complete": False}


@pytest.mark.parametrize(
    ("data", "options"),
    [("coco", {"source": "precomp"}), ("coco", {"source": "regions"}), ("folder", {"regions": "butd"})],
)
def test_encoders_that_fit_other_data_read_the_regions_that_come_with_them(data, options):
    made = resolve(Config(data={"name": data, **options}))
    assert (made.image_encoder.name, made.features) == ("regions", "")
