"""A whole map of a space without a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from workbench.records import Embedding
from workbench.runs.own import SavedVectors
from workbench.views.maps import coordinates, space_map
from workbench.views.maps.space_map import map_runs, metrics, space_change


@pytest.fixture
def stand_in(monkeypatch):
    """Two dimensions of the vectors instead of a slow method."""
    monkeypatch.setitem(coordinates.METHODS, "tsne", lambda vectors, settings, start: vectors[:, :2])


def test_items_are_images_and_then_captions(space):
    found = space_map.items_of(space.split)
    assert found["kind"].tolist() == ["image"] * 12 + ["caption"] * 24
    assert found["id"].tolist() == [*space.split.image_ids, *space.split.caption_ids]
    assert found["image"].tolist() == [*range(12), *np.repeat(range(12), 2)]
    assert found["level"].isna().sum() == found["descriptiveness"].isna().sum() == 12
    assert found["text"][0] == "\n".join(space.split.captions[:2])
    assert found["descriptiveness"].min() == 0


def test_the_name_of_a_cluster_is_what_its_captions_say_and_others_do_not():
    cluster, kind = (
        np.array([0, 0, 0, 1, 1, 2]),
        ["image", "caption", "caption", "caption", "caption", "image"],
    )
    texts = ["", "there is the dog", "there is a dog", "a ship", "the ship", ""]
    assert space_map.cluster_names(cluster, kind, texts, each=1) == ["1: dog", "2: ship", "3"]


def test_clusters_do_not_tell_images_from_captions():
    # two themes, and captions far away from images: centred by kind, the themes are the clusters
    theme = np.repeat(np.eye(3)[:2], 10, axis=0)
    found = space_map.clusters_of(theme, theme + np.array([0, 0, 9]), 2, seed=0)
    assert (found[:20] == found[20:]).all()
    assert len(set(found[:10])) == len(set(found[10:20])) == 1
    assert found[0] != found[10]


def part(space, captions):
    """The first image of a space with these of its captions."""
    names = {"captions": ("a dog",) * len(captions), "caption_ids": tuple(map(str, range(len(captions))))}
    nothing = {"level": None, "chain": None}
    split = replace(space.split.first(1), own=np.zeros(len(captions), dtype=np.int64), **names, **nothing)
    image, text = space.image.mean[:1], space.text.mean[captions]
    return replace(
        space, split=split, load=lambda: (SavedVectors(), Embedding(image), Embedding(text)), folder=None
    )


def test_one_image_with_its_captions_has_a_map(space):
    (drawn,) = map_runs([part(space, [0, 1, 1])])
    assert drawn.points.shape == (4, 2)
    assert drawn.items["cluster"].nunique() == 3, "two captions have one vector"
    assert drawn.neighbours.shape == (4, 3)
    with pytest.raises(ValueError, match="four points, got 2"):
        map_runs([part(space, [0])])


def test_the_exemplar_of_a_cluster_is_its_middle_image():
    # images 0, 1, 2 of cluster "a" at 0, 20 and 90 degrees: their mean points to about 35, nearest to 20;
    # captions do not count
    angles = np.radians([0, 20, 90, 180, 35])
    found = pd.DataFrame({"kind": ["image"] * 4 + ["caption"], "cluster": ["a", "a", "a", "b", "a"]})
    assert space_map.exemplars(np.stack([np.cos(angles), np.sin(angles)], axis=1), found).tolist() == [1, 3]


def test_a_map_of_one_kind_holds_its_items_alone(space, stand_in):
    (one,) = map_runs([space], k=3, clusters=2)
    points, marks = one.map_of_kind("caption")
    np.testing.assert_array_equal(points, one.vectors[12:, :2])
    assert marks.kind == ["caption"] * 24
    assert (list(marks.text), list(marks.values)) == (
        list(space.split.captions),
        one.items["cluster"].tolist()[12:],
    )
    assert len(one.map_of_kind("image", "hubness")[0]) == 12


def test_a_run_that_only_turned_its_space_has_moved_nothing(space, stand_in):
    turned = torch.from_numpy(
        np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0].astype(np.float32)
    )
    vectors = [replace(one, mean=one.mean @ turned) for one in (space.image, space.text)]
    other = space.with_embeddings("turned", *vectors)
    first, second = map_runs([space, other], k=5, clusters=3)
    found = space_change(first, second)
    assert found["neighbours_kept"] == 1
    assert found["moved"] == pytest.approx(0, abs=1e-5)
    np.testing.assert_allclose(second.items["moved"], 0, atol=1e-5)
    assert metrics([first, second])["neighbours_kept[toy to turned]"] == 1
    assert metrics([first, second])["gap[turned]"] == pytest.approx(first.gap.distance, rel=1e-5)


def test_the_one_item_that_another_run_moves_is_told_even_where_spaces_have_other_widths(space, stand_in):
    text = space.text.mean.clone()
    text[7] = -text[7]
    wider = [torch.nn.functional.pad(one, (0, 3)) for one in (space.image.mean, text)]
    sides = [replace(one, mean=mean) for one, mean in zip((space.image, space.text), wider, strict=True)]
    first, second = map_runs([space, space.with_embeddings("wider", *sides)], k=5, clusters=3)
    assert int(second.items["moved"].argmax()) == int(first.items["moved"].argmax()) == 12 + 7


def test_a_colour_of_which_nothing_is_known_is_refused_by_name(space, stand_in):
    (found,) = map_runs([replace(space, split=replace(space.split, level=None, chain=None))], k=5, clusters=3)
    assert found.marks("hubness").is_numeric
    with pytest.raises(ValueError, match=r"the map of toy has no colour 'level'; .*kind"):
        found.marks("level")


def test_maps_of_two_runs_share_items_and_are_kept_with_their_runs(space, tmp_path, stand_in):
    other = replace(space, name="other", folder=tmp_path / "other")
    first, second = map_runs([space, other], k=5, clusters=3)
    assert (first.name, second.name) == ("toy", "other")
    assert (first.items["id"] == second.items["id"]).all()
    assert {"cluster", "hubness", "gap"} <= set(first.items)
    assert (tmp_path / "run" / "maps" / "tsne.parquet").is_file()
    assert (tmp_path / "other" / "maps" / "tsne.parquet").is_file()
    assert first.neighbours.shape == (36, 5)
    assert first.items["hubness"][:12].sum() == 24 * 5
    facts = first.facts()
    assert facts["gap_auc"] > 0.8
    assert 0 < facts["trustworthiness"] <= 1
    assert facts["chance"] == pytest.approx(5 / 35)


def test_a_run_without_vectors_has_no_map(space):
    image, text = (Embedding(torch.empty(len(side), 0)) for side in (space.image, space.text))
    with pytest.raises(ValueError, match=r"pairs .* no vectors"):
        map_runs([space.with_embeddings("pairs", image, text)])
