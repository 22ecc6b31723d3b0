"""Composed queries: what is true by a program of its own, CIRR and FashionIQ in their layouts, a model."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest
from benchmark_sets import composed
from PIL import Image
from scene_world import placements
from scene_world.placement import graph_of
from scene_world.vocabulary import BACKDROPS
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app


def holds(wanted, image):
    """Whether the nodes of one graph can be given different nodes of another so that all it says holds."""
    looks, ties = set(image.attributes), set(image.relations)
    for way in permutations(range(len(image.objects)), len(wanted.objects)):
        named = all(image.objects[node] == word for node, word in zip(way, wanted.objects))
        looked = all((way[n], a) in looks for n, a in wanted.attributes)
        if named and looked and all((way[s], r, way[o]) in ties for s, r, o in wanted.relations):
            return True
    return False


def test_what_is_true_of_a_query_is_what_a_program_counts():
    (gallery,) = composed.load_scenes(None, size=8)
    scenes = placements("test", range(8))
    assert len(gallery.split.image_ids) == 8 * len(BACKDROPS)
    assert len(gallery.queries) == 8 * (len(BACKDROPS) - 1)
    graphs = []
    for scene in scenes:
        graphs += [
            graph_of(type(scene)(name, scene.variant, scene.things, scene.links)) for name in BACKDROPS
        ]
    for query in gallery.queries:
        backdrop = next(name for name, (_, words) in BACKDROPS.items() if query.text.endswith(words[0]))
        row = 8 * (query.reference // 8) + list(BACKDROPS).index(backdrop)
        counted = [image for image, graph in enumerate(graphs) if holds(graphs[row], graph)]
        assert list(query.targets) == counted
        assert row in counted
        assert query.reference not in counted


class Sums:
    """An image is what stands in it plus its backdrop, each a direction; a text is the backdrop it names."""

    def __init__(self, ids):
        self.ids, self.backdrops = iter(ids), list(BACKDROPS)

    def encode_image(self, images):
        out = np.zeros((len(images), 40))
        for row in range(len(images)):
            thing, backdrop = next(self.ids).split("-")
            out[row, 8 + int(thing)] = out[row, self.backdrops.index(backdrop)] = 1
        return out

    def encode_text(self, texts):
        out = np.zeros((len(texts), 40))
        for row, text in enumerate(texts):
            ends = [text.endswith(words[0]) for _, words in BACKDROPS.values()]
            out[row, ends.index(True)] = 1
        return out


def test_a_model_that_binds_both_is_found_by_the_sum_and_by_neither_alone():
    (gallery,) = composed.load_scenes(None, size=6)
    model = wb.open_model(Sums(gallery.split.image_ids))
    numbers = {m.label: m for m in composed.evaluate_composed(model, [gallery], rounds=20)}
    assert numbers["R@1[sum]"].value == 1
    # the other images of the scene are equally near to its image, and those of the backdrop to the text
    assert numbers["R@1[image]"].value == 0
    assert numbers["R@1[text]"].value == 0
    assert numbers["R@1[sum]"].chance == pytest.approx(1 / 47, abs=0.01)
    assert numbers["R@1[sum]"].unit.startswith("reference images")


def write_cirr(root):
    ids = [f"dev-{n}-0-img{n % 2}" for n in range(8)]
    (root / "dev").mkdir(parents=True)
    for n, image in enumerate(ids):
        Image.new("RGB", (8, 8), (30 * n, 0, 0)).save(root / "dev" / f"{image}.png")
    for folder in ("captions", "image_splits"):
        (root / "cirr" / folder).mkdir(parents=True)
    rows = []
    for n in range(6):
        members = [ids[n], *[image for image in ids if image != ids[n]][:5]]
        row = {"pairid": n, "reference": ids[n], "target_hard": members[1], "target_soft": {members[1]: 1.0}}
        rows.append(row | {"caption": f"make it {n}", "img_set": {"id": n, "members": members}})
    (root / "cirr/captions/cap.rc2.val.json").write_text(json.dumps(rows))
    split = {image: f"./dev/{image}.png" for image in ids}
    (root / "cirr/image_splits/split.rc2.val.json").write_text(json.dumps(split))
    return root


def write_fashioniq(root):
    for folder in ("captions", "image_splits", "images"):
        (root / folder).mkdir(parents=True)
    for start, category in ((0, "dress"), (10, "shirt")):
        ids = [f"B{start + n:03d}" for n in range(6)]
        for n, image in enumerate(ids):
            Image.new("RGB", (8, 8), (0, 30 * n, start)).save(root / "images" / f"{image}.png")
        rows = []
        for n in range(6):
            rows.append(
                {"target": ids[(n + 1) % 6], "candidate": ids[n], "captions": ["is red.", "has no sleeves"]}
            )
        (root / "captions" / f"cap.{category}.val.json").write_text(json.dumps(rows))
        (root / "image_splits" / f"split.{category}.val.json").write_text(json.dumps(ids))
    return root


class Pixels:
    def encode_image(self, images):
        return np.array([np.asarray(image).mean(axis=(0, 1)) + 1 for image in images])

    def encode_text(self, texts):
        return np.ones((len(texts), 3))


def test_cirr_is_measured_without_the_reference_and_among_the_five_others_of_its_set(tmp_path):
    (gallery,) = composed.load("cirr", str(write_cirr(tmp_path)))
    assert all(len(query.candidates) == 5 for query in gallery.queries)
    assert all(query.reference not in query.candidates for query in gallery.queries)
    numbers = {m.label: m for m in composed.evaluate_composed(wb.open_model(Pixels()), [gallery], rounds=0)}
    assert {"R@50[sum]", "R_subset@1[sum]", "R_subset@3[text]"} <= set(numbers)
    assert numbers["R_subset@2[sum]"].chance == pytest.approx(2 / 5)
    assert numbers["R@50[sum]"].value == 1
    images = np.array([Pixels().encode_image([gallery.split.open_image(n)])[0] for n in range(8)])
    unit = images / np.linalg.norm(images, axis=1, keepdims=True)
    hits = []
    for query in gallery.queries:
        cosines = unit @ unit[query.reference]
        others = [n for n in range(8) if n not in (query.reference, query.targets[0])]
        hits.append(cosines[query.targets[0]] > cosines[others].max())
    assert numbers["R@1[image]"].value == pytest.approx(np.mean(hits))


def test_fashioniq_is_the_mean_over_its_categories(tmp_path):
    galleries = composed.load("fashioniq", str(write_fashioniq(tmp_path)))
    assert [gallery.category for gallery in galleries] == ["dress", "shirt"]
    assert galleries[0].queries[0].text == "is red and has no sleeves"
    model = wb.open_model(Pixels())
    both = {m.label: m.value for m in composed.evaluate_composed(model, galleries, rounds=0)}
    each = []
    for gallery in galleries:
        each.append({m.label: m.value for m in composed.evaluate_composed(model, [gallery], rounds=0)})
    assert both["R@10[sum]"] == pytest.approx(np.mean([numbers["R@10[sum]"] for numbers in each]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.pop("caption"), "row 1 is malformed: .*caption"),
        (lambda row: row.update(target_hard="dev-9"), "row 1: the split of images has no 'dev-9'"),
        (lambda row: row.update(img_set=7), "row 1 is malformed"),
    ],
)
def test_a_query_that_is_malformed_is_named(change, message, tmp_path):
    file = write_cirr(tmp_path) / "cirr/captions/cap.rc2.val.json"
    rows = json.loads(file.read_text())
    change(rows[0])
    file.write_text(json.dumps(rows))
    with pytest.raises(ValueError, match=message):
        composed.load("cirr", str(tmp_path))


def test_the_command_says_where_to_get_what_is_missing(tmp_path):
    done = CliRunner().invoke(
        app, ["compose", "fashioniq", "--model", "scenes:scenes", "--folder", str(tmp_path)]
    )
    assert done.exit_code == 2
    assert "https://github.com/XiaoxiaoGuo/fashion-iq" in done.output
