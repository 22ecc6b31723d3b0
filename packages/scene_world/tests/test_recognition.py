"""The recognition backbone of the synthetic scenes: its questions, its answers, the shipped weights."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scene_world import placements, recognition
from scene_world.placement import Scene, Thing
from scene_world.vocabulary import BACKDROPS

from tools.scene_world.pretrain_backbone import ANSWERS, accuracy, answers, learn, make, targets
from workbench import assets, data
from workbench.encoders.backbones import extract, load

MOST_BYTES = 3_000_000
SCORED = 60


def thing(noun, row, size, box, colour="red", pattern="plain", **more):
    return Thing(noun, colour, pattern, size, row=row, box=box, **more)


# Cells are 83 thousandths wide, their middles lie at 42, 125, 208, 292, 375, 458, 542, 625, ...
CAT = thing("cat", "front", "small", (300, 700, 474, 905), count=1, colour="blue", pattern="striped")
BUS = thing("bus", "ground", "large", (250, 600, 595, 815), count=1)
BALLS = thing("ball", "air", "small", (600, 40, 967, 220), count=2, colour="green")
SCENE = Scene("beach", 0, (CAT, BUS, BALLS), ((0, "in front of", 1),))


def words(scene, question):
    """Answers in words, by row and column."""
    return np.array(ANSWERS[question])[targets(scene)[list(ANSWERS).index(question)]]


def test_each_cell_is_named_after_what_covers_its_middle_and_is_drawn_last():
    nouns = words(SCENE, "noun")
    # the bus is 345 wide and 345 * 100 // 160 = 215 high: columns 3 to 6, rows 7 to 9 (middles 625 to 792)
    # the cat is 205 * 85 // 100 = 174 wide and 205 high: columns 4 and 5, rows 8 to 10 (middles 708 to 875)
    assert nouns[7, 2:8].tolist() == ["", "bus", "bus", "bus", "bus", ""]
    assert nouns[9, 2:8].tolist() == ["", "bus", "cat", "cat", "bus", ""]
    assert nouns[10, 2:8].tolist() == ["", "", "cat", "cat", "", ""]
    # two balls of 180, the second 180 * 104 // 100 = 187 further: columns 7, 8 and 9 to 11, rows 0 to 2
    assert nouns[2, 6:].tolist() == ["", "ball", "ball", "ball", "ball", "ball"]
    assert (nouns != "").sum() == 3 * 4 + 2 + 3 * 5


def test_the_looks_of_a_cell_are_those_of_its_thing():
    looks = {"colour": ("blue", "red"), "size": ("small", "large"), "pattern": ("striped", "plain")}
    for question, (of_cat, of_bus) in looks.items():
        answers = words(SCENE, question)
        assert (answers[9, 4], answers[9, 3], answers[5, 5]) == (of_cat, of_bus, "")
    assert (words(SCENE, "backdrop") == "beach").all()


def test_what_is_inside_another_thing_is_named_where_it_looks_out():
    boat = thing("boat", "ground", "large", (300, 620, 645, 866), count=1)
    dog = thing("dog", "inside", "small", (370, 620, 575, 825), count=1)
    nouns = words(Scene("beach", 0, (dog, boat), ((0, "in", 1),)), "noun")
    # 70 percent of 205 are 143: the dog shows down to 763, the row below (792) is the boat's
    assert nouns[7:10, 5].tolist() == ["dog", "dog", "boat"]


def test_relations_are_not_read():
    for scene in [SCENE, *placements("val", range(40))]:
        alone = replace(scene, links=(), things=tuple(replace(t, column=0) for t in scene.things))
        np.testing.assert_array_equal(targets(alone), targets(scene))


def test_layouts_are_those_of_the_split():
    graphs = data.load("scenes", split="val", size=5, seed=3).image_graphs
    for graph, scene in zip(graphs, placements("val", range(5), seed=3), strict=True):
        assert graph.objects == (*(t.noun for t in scene.things), scene.backdrop)


@pytest.fixture(scope="module")
def shipped():
    return load("scenes_backbone")


def test_the_shipped_weights_are_small_and_carry_their_record():
    folder = assets.path("scenes_backbone")
    assert (folder / "model.safetensors").stat().st_size <= MOST_BYTES
    recorded = json.loads((folder / "recognition.json").read_text(encoding="utf-8"))
    assert set(recorded["accuracy"]) == {*ANSWERS, "nothing"}


def test_the_readme_of_the_weights_states_what_was_recorded():
    folder = assets.path("scenes_backbone")
    recorded = json.loads((folder / "recognition.json").read_text(encoding="utf-8"))
    text = (folder / "README.md").read_text(encoding="utf-8")
    for name, share in recorded["accuracy"].items():
        assert f"| {name} | {100 * share:.1f} % |" in text
    assert f"{recorded['steps']:,} batches of {recorded['size']} scenes" in text


def test_the_recorded_accuracy_is_found_again_on_a_few_test_scenes(shipped):
    """The standard error of a share over the cells of 60 scenes is below .02; chance is 1 in 34 for nouns."""
    folder = assets.path("scenes_backbone")
    recorded = json.loads((folder / "recognition.json").read_text(encoding="utf-8"))["accuracy"]
    measured = accuracy(shipped, SCORED)
    assert measured == pytest.approx(recorded, abs=0.08)
    assert measured["noun"] > 0.8


def test_features_are_a_grid_of_36_cells_with_their_places_last(shipped, tmp_path):
    split = data.load("scenes", split="test", size=6)
    features = extract(split, "scenes_backbone", cache=tmp_path, batch_size=4)
    assert (features.shape, features.dtype) == ((6, 36, 192), np.float16)
    place = np.asarray(features[:, 6 * 2 + 5, 180:])  # row 2, column 5
    np.testing.assert_array_equal(place, np.tile(np.eye(6)[[2, 5]].reshape(12), (6, 1)))
    again = extract(split, "scenes_backbone", cache=tmp_path / "again", batch_size=3)
    np.testing.assert_allclose(again, features, rtol=0, atol=2e-3 * float(np.abs(features).max()))


def test_an_image_that_is_no_scene_has_features_too(shipped):
    assert shipped.features(torch.zeros(2, 3, 192, 192, dtype=torch.uint8)).shape == (2, 36, 192)


def test_the_answers_about_a_cell_lie_where_the_cell_lies(shipped):
    with torch.inference_mode():
        features = torch.zeros(1, 36, 192)
        empty = answers(shipped.network, features)
        features[0, 6 * 2 + 5, :180] = 1
        changed = [
            (a != b).any(1)[0].nonzero().tolist()
            for a, b in zip(answers(shipped.network, features), empty, strict=True)
        ]
    assert changed == [[[4, 10], [4, 11], [5, 10], [5, 11]]] * len(ANSWERS)
    assert [a.shape[1] for a in empty] == [len(BACKDROPS), 35, 9, 3, 4]


def test_training_is_the_same_twice():
    first, second = (learn(steps=3, size=2, lr=1e-3).state_dict() for _ in range(2))
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=0, atol=0)


@pytest.mark.slow
def test_the_command_writes_weights_and_what_they_know(tmp_path, monkeypatch):
    monkeypatch.setitem(make.__globals__["COUNTS"], "test", 20)
    make(tmp_path, steps=40, size=16, lr=3e-3)
    recorded = json.loads((tmp_path / "recognition.json").read_text(encoding="utf-8"))
    assert (recorded["steps"], recorded["test_scenes"]) == (40, 20)
    assert recognition.backbone(tmp_path / "model.safetensors").features is not None
    # 8 backdrops: chance is .125; an untrained network names one of them
    assert recorded["accuracy"]["backdrop"] > 0.5
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.safetensors", "recognition.json"]
