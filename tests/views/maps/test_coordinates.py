"""Places are computed once, and made again only when something has changed; their values are never compared
across machines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from workbench.views.maps import coordinates
from workbench.views.maps.coordinates import Settings, places, procrustes

IDS = [f"x{i}" for i in range(40)]


@pytest.fixture
def vectors():
    """Two groups of twenty, far apart."""
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(6)[:2] * 4, 20, axis=0)
    made = centres + rng.normal(size=(40, 6)) * 0.3
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def computed(monkeypatch):
    """Counts how often places are computed; the method is a stand-in."""
    calls = []

    def stand_in(vectors, settings, start):
        calls.append(settings.method)
        return vectors[:, :2] + settings.seed

    monkeypatch.setitem(coordinates.METHODS, "tsne", stand_in)
    return calls


def test_groups_that_lie_apart_in_the_space_lie_apart_on_the_map(vectors):
    found = places(vectors, IDS, Settings(steps=400, neighbours=8))
    assert (found.shape, found.dtype) == ((40, 2), np.float32)
    within = np.linalg.norm(found - np.repeat([found[:20].mean(0), found[20:].mean(0)], 20, axis=0), axis=1)
    assert np.linalg.norm(found[:20].mean(0) - found[20:].mean(0)) > 2 * within.mean()


def test_the_same_seed_gives_the_same_places(vectors):
    settings = Settings(steps=400, neighbours=5)
    assert (
        coordinates.compute_places(vectors, settings) == coordinates.compute_places(vectors, settings)
    ).all()


def test_a_second_map_that_starts_from_the_first_is_nearer_to_it_than_one_that_does_not():
    vectors = np.random.default_rng(0).normal(size=(150, 5)).astype(np.float32)
    settings = Settings(steps=400, neighbours=15)
    first = coordinates.compute_places(vectors, settings, vectors[:, 3:])
    left = [
        procrustes(first, coordinates.compute_places(vectors, settings, start)).disparity
        for start in (first, None)
    ]
    assert left[0] < left[1]


def test_saved_places_are_read_and_not_computed_again(vectors, computed, tmp_path):
    first = places(vectors, IDS, Settings(), folder=tmp_path / "maps")
    again = places(vectors, IDS, Settings(), folder=tmp_path / "maps")
    assert computed == ["tsne"]
    assert (first == again).all()
    facts = pd.read_parquet(tmp_path / "maps" / "tsne.parquet").attrs
    assert (facts["method"], facts["seed"], facts["points"], facts["dimensions"]) == ("tsne", 0, 40, 6)
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == ["tsne.parquet"]


@pytest.mark.parametrize("change", ["seed", "vectors", "ids", "start"])
def test_whatever_changes_they_are_computed_again(vectors, computed, tmp_path, change):
    places(vectors, IDS, Settings(), folder=tmp_path)
    other = vectors[:, ::-1] if change == "vectors" else vectors
    ids = IDS[::-1] if change == "ids" else IDS
    start = np.ones((40, 2)) if change == "start" else None
    places(other, ids, Settings(seed=int(change == "seed")), folder=tmp_path, start=start)
    assert len(computed) == 2


def test_without_a_folder_nothing_is_kept(vectors, computed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places(vectors, IDS, Settings())
    places(vectors, IDS, Settings())
    assert len(computed) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_umap_keeps_groups_apart_as_well(vectors):
    found = coordinates.compute_places(vectors, Settings("umap", neighbours=8))
    near = np.linalg.norm(found[:, None] - found[None], axis=2) + np.diag(np.full(40, np.inf))
    assert ((near.argmin(axis=1) < 20) == (np.arange(40) < 20)).all()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"method": "tsn"}, "tsne"),
        ({"neighbours": 1}, "neighbours is 1; it should be greater than or equal to 2"),
        ({"steps": 250}, "steps is 250; it should be greater than or equal to 300"),
    ],
)
def test_wrong_settings_are_refused_by_name(wrong, says):
    with pytest.raises(ValueError, match=says):
        Settings(**wrong)


def test_three_points_make_no_map():
    with pytest.raises(ValueError, match="at least four points, got 3"):
        places(np.eye(3), IDS[:3], Settings())


@pytest.mark.parametrize("method", ["tsne", "umap"])
@pytest.mark.parametrize(("noise", "message"), [(0, "all vectors are equal"), (1e-7, "all vectors are equal"),
                                                (np.nan, "finite")])  # fmt: skip
def test_points_that_cannot_be_told_apart_have_no_map(method, noise, message):
    vectors = np.eye(1, 16, dtype=np.float32).repeat(40, axis=0)
    vectors += noise * np.random.default_rng(0).standard_normal(vectors.shape).astype(np.float32)
    with pytest.raises(ValueError, match=message):
        places(vectors, IDS, Settings(method))


def test_fewer_points_than_neighbours_have_a_map(vectors):
    assert np.isfinite(places(vectors[::10], IDS[::10], Settings(steps=300))).all()
