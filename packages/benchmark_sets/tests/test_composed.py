"""Composed queries: what is true by a program of its own, CIRR and FashionIQ in their layouts, a model."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from benchmark_sets import composed
from benchmark_sets.composed_scenes import load_scenes
from PIL import Image
from scene_world import placements
from scene_world.placement import graph_of
from scene_world.vocabulary import BACKDROPS, COLOURS
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
    (gallery,) = load_scenes(None, size=6)
    # the gallery as this program draws it up: three backdrops, and two other colours of each thing
    graphs = []
    for scene in placements("test", range(6)):
        first = list(BACKDROPS).index(scene.backdrop)
        for step in range(3):
            backdrop = list(BACKDROPS)[(first + step) % len(BACKDROPS)]
            graphs.append(graph_of(replace(scene, backdrop=backdrop)))
            for place, thing in enumerate(scene.things):
                for more in (1, 2):
                    colour = list(COLOURS)[(list(COLOURS).index(thing.colour) + more) % len(COLOURS)]
                    things = list(scene.things)
                    things[place] = replace(thing, colour=colour)
                    painted = replace(scene, things=tuple(things), backdrop=backdrop)
                    graphs.append(graph_of(painted))
    assert len(gallery.split.image_ids) == len(graphs)
    assert {query.kind for query in gallery.queries} == {"backdrop", "colour"}
    for query in gallery.queries:
        wanted = change(graphs[query.reference], query.text)
        counted = [image for image, graph in enumerate(graphs) if holds(wanted, graph)]
        assert list(query.targets) == counted
        assert counted
        assert query.reference not in counted


def change(graph, text):
    """The graph of a reference with what a text asks for, read from the text."""
    objects, attributes, relations = list(graph.objects), list(graph.attributes), list(graph.relations)
    if ", but the " in text:
        noun, colour = text.partition(", but the ")[2].split(" is ")
        node = objects.index(noun)
        attributes = [(n, a) for n, a in attributes if n != node or a not in COLOURS] + [(node, colour)]
    else:
        backdrop = next(name for name, (_, words) in BACKDROPS.items() if text.endswith(words[0]))
        place = next(n for n, name in enumerate(objects) if name in BACKDROPS)
        objects[place] = backdrop
        where = BACKDROPS[backdrop][0]
        relations = [(a, where if b == place else r, b) for a, r, b in relations]
    return replace(graph, objects=tuple(objects), attributes=tuple(attributes), relations=tuple(relations))


class Sums:
    """An image is its scene plus its backdrop, each a direction, and, if colours are seen, which of the near
    scenes it is. A text is the backdrop that it names."""

    def __init__(self, ids, *, sees_colours):
        self.ids, self.sees = iter(ids), sees_colours
        self.backdrops = list(BACKDROPS)

    def encode_image(self, images):
        out = np.zeros((len(images), 60))
        for row in range(len(images)):
            scene, near, backdrop = next(self.ids).split("-")
            out[row, 8 + int(scene)] = out[row, self.backdrops.index(backdrop)] = 1
            if self.sees:
                out[row, 30 + int(near)] = 1
        return out

    def encode_text(self, texts):
        out = np.full((len(texts), 60), 1e-9)
        for row, text in enumerate(texts):
            for place, (_, words) in enumerate(BACKDROPS.values()):
                out[row, place] += text.endswith(words[0])
        return out


def test_near_scenes_tell_a_model_that_sees_colours_from_one_that_does_not():
    (gallery,) = load_scenes(None, size=6)
    shares = {}
    for sees in (True, False):
        model = wb.open_model(Sums(gallery.split.image_ids, sees_colours=sees))
        numbers = {m.label: m for m in composed.evaluate_composed(model, [gallery], rounds=20)}
        shares[sees] = numbers
        # the image alone is as near to every backdrop, and the text alone to every scene before it
        assert numbers["R@1[image, backdrop]"].value == 0
        assert numbers["R@1[text, backdrop]"].value == 0
    assert shares[True]["R@1[sum, backdrop]"].value == 1
    # equal scores count against the model
    assert shares[False]["R@1[sum, backdrop]"].value == 0
    assert shares[True]["R@1[sum]"].chance < 0.05
    assert shares[True]["R@1[sum]"].unit.startswith("reference images")


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
    assert both["R@10[sum, shirt]"] == each[1]["R@10[sum]"]


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
