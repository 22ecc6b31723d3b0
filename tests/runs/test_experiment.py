"""One experiment from end to end, small: what it leaves, what it refuses, and that it says the same twice."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from tests import tiny_bert
from tests.data import fixtures
from workbench.encoders.words import TextBackbone
from workbench.runs import Config, load_model, load_split, measure, prepare
from workbench.runs.kinds import Training
from workbench.runs.train import train

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 8},
    "text_cfg": {
        "context_length": 16,
        "vocab_size": 400,
        "width": 16,
        "heads": 2,
        "layers": 1,
        "pool_type": "eos",
        "eos_id": 3,
    },
}
SMALL = {
    "train_images": 12,
    "val_images": 6,
    "test_images": 8,
    "epochs": 1,
    "batch_size": 4,
    "captions_per_image": 2,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny.json"
    path.write_text(json.dumps(TINY))

    def config(**changes) -> Config:
        image = {"name": "towers", "model": str(path), "pretrained": ""}
        towers = {"image_encoder": image, "text_encoder": "towers"}
        return Config(**(SMALL | towers | changes))

    return config


@pytest.mark.parametrize("objective", ["vsepp", "infonce", "ditm", "ditm+0.5*dias.dim"])
def test_every_objective_runs_and_its_curves_add_up(tiny, objective):
    result = train(tiny(objective=objective), progress=False)
    start, row = result.history
    assert start.keys() == {"epoch", "steps", "val/rsum", "val/exact:t2i/map_at_r", "seconds"}
    assert [(one["epoch"], one["steps"]) for one in result.history] == [(0, 0), (1, 9)]
    terms = [v for k, v in row.items() if "/" not in k and k not in ("loss", "epoch", "steps", "seconds")]
    assert row["loss"] == pytest.approx(sum(terms), rel=1e-5)
    assert {"i2t/R@1", "t2i/R@1", "rsum", "exact:t2i/map_at_r"} <= {m.label for m in result.measurements}


def test_the_same_seed_gives_the_same_results_file_and_the_saved_model_the_same_scores(tiny, tmp_path):
    results = [train(tiny(objective="ditm"), progress=False) for _ in range(2)]
    paths = [result.save(tmp_path / str(n)) for n, result in enumerate(results)]
    assert paths[0].read_text() == paths[1].read_text()
    assert results[1].save(tmp_path / "0") == paths[0]
    other = replace(results[0], run=Training({**results[0].config, "seed": 5}))
    with pytest.raises(FileExistsError, match="seed was 0, is 5"):
        other.save(tmp_path / "0")
    loaded = load_model(tmp_path / "0")
    again = loaded.embed(loaded.source(results[0].split, every_signal=False))
    np.testing.assert_array_equal(loaded.scores(*again), results[0].scores)
    rankings = pd.read_parquet(tmp_path / "0" / "rankings.parquet")
    assert set(rankings.direction) == {"i2t", "t2i"}
    assert rankings[rankings.direction == "t2i"].groupby("query_id").size().eq(8).all()
    assert np.load(tmp_path / "0" / "embeddings" / "text.npy").shape == (40, 16)


def test_a_run_is_resumed_from_its_folder(tiny, tmp_path):
    straight = train(tiny(), progress=False)
    train(tiny(), folder=tmp_path, progress=False)
    resumed = train(tiny(), folder=tmp_path, progress=False)
    assert resumed.as_dict() == straight.as_dict()


@pytest.mark.parametrize(
    ("changes", "tower"),
    [
        ({"text_backbone_lr": 0.0}, "the text tower"),
        ({"image_encoder": {"freeze_image": True}}, "the image tower"),
    ],
)
def test_a_frozen_tower_without_weights_is_refused_unless_that_is_asked_for(tiny, changes, tower):
    options = {**tiny().as_dict()["image_encoder"], **changes.get("image_encoder", {})}
    changes = {**changes, "image_encoder": options}
    with pytest.raises(ValueError, match=f"{tower} would stay at random weights"):
        prepare(tiny(**changes), progress=False)
    ready = prepare(tiny(**changes, random_weights=True), progress=False)
    assert ready.test.split.notes[0] == f"random weights that nothing trains: {tower}"


def test_an_untrained_experiment_measures_the_starting_point(tiny):
    assert train(tiny(epochs=0), progress=False).history == []


def test_the_root_of_a_hierarchy_can_be_embedded(tiny, tmp_path):
    train(tiny(epochs=0), progress=False).save(tmp_path)
    root = load_model(tmp_path).embed_texts([""])
    assert root.mean.norm().item() == pytest.approx(1, abs=1e-5)


def test_an_objective_that_needs_two_captions_says_how_to_give_them(tiny):
    with pytest.raises(ValueError, match="'ditm' needs 2 captions an image; set captions_per_image=2"):
        train(tiny(objective="ditm", captions_per_image=1), progress=False)


def test_an_encoder_that_needs_regions_says_how_to_give_them(tiny):
    with pytest.raises(ValueError, match="reads region features and scenes/train has none; set features="):
        train(tiny(image_encoder="regions"), progress=False)


def test_a_folder_without_a_checkpoint_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"config\.json, text\.json, model\.safetensors missing"):
        load_model(tmp_path)


def test_any_validation_number_may_choose_the_epoch_and_rsum_stays(tiny, tmp_path):
    select = "exact:t2i/map_at_r"
    result = train(tiny(select=select, epochs=2), progress=False)
    assert all({"val/rsum", f"val/{select}"} <= row.keys() for row in result.history)
    chosen = [row[f"val/{select}"] for row in result.history]
    assert result.kept_epochs == [chosen.index(max(chosen))]
    written = json.loads(result.save(tmp_path).read_text())
    assert (written["select"], written["kept"], written["steps"]) == (select, result.kept_epochs, 18)
    assert json.loads((tmp_path / "config.json").read_text())["select"] == select
    # the number is that of an evaluation of the same model, and it is what the run's own test split would say
    source = result.model.source(result.split, every_signal=False)
    found = measure.validate(result.model, source, select)
    assert found == pytest.approx({key: result[key] for key in ("rsum", select)})


@pytest.mark.parametrize("select", ["exact:t2i/true@1[most specific]", "t2i/medr", "graded:t2i/kendall_tau"])
def test_subsets_ranks_and_grades_may_choose_too(tiny, select):
    result = train(tiny(select=select), progress=False)
    values = [row[f"val/{select}"] for row in result.history]
    best = min(values) if select == "t2i/medr" else max(values)
    assert result.kept_epochs == [values.index(best)]


def test_a_number_that_validation_does_not_have_is_refused_before_the_first_step(tiny, monkeypatch):
    monkeypatch.setattr("torch.optim.AdamW.step", lambda *_, **__: pytest.fail("a step was made"))
    with pytest.raises(
        ValueError, match=r"no number 'exakt.*did you mean exact:t2i/map_at_r, exact:i2t/map_at_r"
    ):
        train(tiny(select="exakt:t2i/map_at_r"), progress=False)


def test_an_optimiser_that_does_nothing_keeps_epoch_0(tiny, monkeypatch):
    monkeypatch.setattr("torch.optim.AdamW.step", lambda *_, **__: None)
    result = train(tiny(), progress=False)
    assert result.kept_epochs == [0]
    assert result.history[0]["val/rsum"] == result.history[1]["val/rsum"]


def test_a_share_reduces_the_training_split_and_leaves_the_others_whole(tiny, tmp_path):
    fixtures.coco(tmp_path)
    options = {"root": str(tmp_path), "complete": False, "share": 0.34}
    config = tiny(data={"name": "coco", **options}, train_images=0, val_images=0, test_images=0, seed=1)
    splits = {name: load_split(config, name, progress=False) for name in ("train", "val", "test")}
    assert {name: len(split.image_ids) for name, split in splits.items()} == {"train": 1, "val": 1, "test": 2}
    assert splits["train"].notes == ("1 of 3 images, drawn with seed 1",)


@pytest.mark.parametrize("data", ["coco", "scenes"])
def test_each_seed_of_a_run_takes_another_share_of_the_same_images(tiny, tmp_path, data):
    fixtures.coco(tmp_path)
    options = {"coco": {"root": str(tmp_path), "complete": False, "share": 0.34}, "scenes": {"share": 0.1}}[
        data
    ]
    sizes = {"train_images": 0 if data == "coco" else 20}

    def drawn(seed, **more):
        made = tiny(data={"name": data, **options | more}, seed=seed, **sizes)
        return load_split(made, "train", progress=False)

    by_seed = [drawn(seed).image_ids for seed in range(8)]
    assert by_seed[3] == drawn(3).image_ids == drawn(0, share_seed=3).image_ids
    assert len(set(by_seed)) > 2
    whole = drawn(0, share=1.0)
    assert all(set(ids) < set(whole.image_ids) for ids in by_seed)
    one = drawn(3)
    place = whole.image_ids.index(one.image_ids[0])
    assert [one.captions[row] for row in np.flatnonzero(one.own == 0)] == [
        whole.captions[row] for row in np.flatnonzero(whole.own == place)
    ]


@pytest.mark.parametrize("encoder", ["sequence", "graph"])
def test_a_bert_trains_with_the_rest_and_its_run_is_read_again(tiny, tmp_path, encoder):
    (tmp_path / "bert").mkdir()
    bert = str(tiny_bert.make(tmp_path / "bert", seed=0, layers=2))
    words = {"backbone": "trained", "word_dim": 8}
    options = {"features": bert, **words, "embed_dim": 16, "layer": "linear"}
    if encoder == "graph":
        concepts = {"kind": "features", "name": bert, **words}
        options = {"concepts": concepts, "embed_dim": 16, "structure": {"heads": 2}}
    # the weights of the last epoch, whatever validation says of them
    rates = {"lr": 1e-3, "text_backbone_lr": 0.1, "text_backbone_decay": 0.01, "swa_from": 1}
    result = train(
        tiny(objective="vsepp", text_encoder={"name": encoder, **options}, **rates), progress=False
    )
    start = TextBackbone(bert, 8, weights=True).state_dict()
    text = result.model.pair.text
    moved = (text.reader if encoder == "graph" else text).backbone.state_dict()
    assert not torch.equal(moved["network.embeddings.word_embeddings.weight"],
                           start["network.embeddings.word_embeddings.weight"])  # fmt: skip
    result.save(tmp_path)
    again = load_model(tmp_path)
    scores = again.scores(*again.embed(again.source(result.split, every_signal=False)))
    np.testing.assert_allclose(scores, result.scores, atol=1e-6)
