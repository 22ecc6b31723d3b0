"""A whole map of a space without a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.maps import coordinates, items
from workbench.maps.space_map import map_spaces


def test_items_are_images_and_then_captions(space):
    found = items.table(space.split)
    assert found["kind"].tolist() == ["image"] * 12 + ["caption"] * 24
    assert found["id"].tolist() == [*space.split.image_ids, *space.split.caption_ids]
    assert found["image"].tolist() == [*range(12), *np.repeat(range(12), 2)]
    assert found["level"].isna().sum() == found["descriptiveness"].isna().sum() == 12
    assert found["text"][0] == "\n".join(space.split.captions[:2])
    assert found["descriptiveness"].min() == 0


def test_the_name_of_a_cluster_is_what_its_captions_say_and_others_do_not():
    cluster, kind = np.array([0, 0, 0, 1, 1, 2]), ["image", "caption", "caption", "caption", "caption", "image"]
    texts = ["", "a dog", "the dog", "a ship", "the ship", ""]
    assert items.cluster_names(cluster, kind, texts, each=1) == ["1: dog", "2: ship", "3"]


def test_clusters_do_not_tell_images_from_captions():
    # two themes, and captions far away from images: centred by kind, the themes are the clusters
    theme = np.repeat(np.eye(3)[:2], 10, axis=0)
    found = items.clusters(theme, theme + np.array([0, 0, 9]), 2, seed=0)
    assert (found[:20] == found[20:]).all()
    assert len(set(found[:10])) == len(set(found[10:20])) == 1
    assert found[0] != found[10]


def test_maps_of_two_runs_share_items_and_are_kept_with_their_runs(space, tmp_path, monkeypatch):
    monkeypatch.setattr(coordinates, "_tsne", lambda vectors, settings, start: vectors[:, :2])
    other = replace(space, name="other", folder=tmp_path / "other")
    first, second = map_spaces([space, other], k=5, clusters=3)
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
