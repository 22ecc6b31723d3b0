"""Clusters of the embedding space as slices: a plant that no field explains, and equal models."""

import numpy as np
import pytest
from slice_search.clusters import cluster_slices
from slice_search.page import write_page
from slice_search.report import find_slices
from slice_search.search import search_slices
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.data.images import raise_no_image
from workbench.records import Split
from workbench.runs.result import Result

IMAGES, EACH = 400, 5
OWN = np.repeat(np.arange(IMAGES), EACH)


def space(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Vectors of queries around those of their images, which lie in eight groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 8, IMAGES)
    images = rng.normal(size=(8, 16))[group] + 0.4 * rng.normal(size=(IMAGES, 16))
    return images[OWN] + 0.3 * rng.normal(size=(IMAGES * EACH, 16)), group[OWN], rng


def findings(vectors: np.ndarray, values: np.ndarray):
    candidates, tested = cluster_slices(vectors, values, OWN, minimum=10)
    return search_slices(np.where(tested, values, np.nan), OWN, candidates, worse=-1), tested


def test_a_group_of_images_that_no_field_names_is_found() -> None:
    found = 0
    for seed in range(5):
        vectors, group, rng = space(seed)
        planted = group == 3
        values = (rng.random(len(OWN)) < np.where(planted, 0.2, 0.6)).astype(float)
        report, tested = findings(vectors, values)
        assert report.slices
        mask = report.slices[0].mask & tested
        overlap = (mask & planted).sum() / (mask | planted & tested).sum()
        found += overlap >= 0.6
        assert report.slices[0].queries == mask.sum()
    assert found == 5


def test_part_of_a_group_is_found_by_its_errors() -> None:
    vectors, group, rng = space(11)
    side = vectors[:, 0] > np.median(vectors[group == 2][:, 0])
    planted = (group == 2) & side
    values = (rng.random(len(OWN)) < np.where(planted, 0.1, 0.7)).astype(float)
    report, _ = findings(vectors, values)
    inside = report.slices[0].mask
    assert (inside & planted).sum() / inside.sum() > 0.6


def test_of_equal_models_nothing_is_reported() -> None:
    reported = 0
    for seed in range(40):
        vectors, _, rng = space(seed)
        ease = np.clip(rng.normal(0.5, 0.2, IMAGES), 0, 1)[OWN]
        values = (rng.random(len(OWN)) < ease).astype(float)
        reported += bool(findings(vectors, values)[0].slices)
    # at most 5 % are expected; six of forty have a chance below 1 % then
    assert reported < 6


def two_models() -> list[Result]:
    """Two models on images of four kinds that only captions name; the second one fails on one kind."""
    rng = np.random.default_rng(4)
    kinds = np.arange(200) % 4
    images = 2 * rng.normal(size=(4, 16))[kinds] + rng.normal(size=(200, 16))
    own = np.repeat(np.arange(200), 2)
    texts = images[own] + 0.2 * rng.normal(size=(400, 16))
    damaged = texts + 3 * rng.normal(size=(400, 16)) * (kinds[own] == 1)[:, None]
    words = ("castle", "river", "train", "horse")
    captions = tuple(f"a {words[kind]} of caption {number}" for number, kind in enumerate(kinds[own]))
    names = tuple(map(str, range(400)))
    split = Split("kinds", names[:200], captions, names, own, raise_no_image)
    runs = []
    for name, vectors in (("first", texts), ("second", damaged)):
        runs.append(wb.evaluate(images=images, texts=vectors, data=split, name=name, rounds=0))
    return runs


def test_a_cluster_is_described_by_its_words_and_saved_under_a_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = two_models()
    report = find_slices(*runs, clusters=4)
    assert "river" in report.describe(report.findings.slices[0])
    assert "half of the images" in report.summary()
    assert "workbench explore" not in write_page(report)  # no label tells another command what a cluster is
    folders = [str(run.save(tmp_path / run.name).parent) for run in runs]
    done = CliRunner().invoke(app, ["slices", *folders, "--clusters", "4", "--save", "mine"])
    assert done.exit_code == 0, done.output
    assert 'where "slice:mine-1=yes"' in done.output
    listed = wb.errors(*folders, where="slice:mine-1=yes")
    asked = listed[listed["direction"] == "t2i"]
    assert len(asked)
    assert asked["query"].str.contains("river").mean() > 0.9


def test_clusters_need_vectors_and_no_fields() -> None:
    run = two_models()[0]
    with pytest.raises(ValueError, match="no fields"):
        find_slices(run, by=["words"], clusters=4)
    scores = wb.evaluate(
        scores=np.eye(3), data=run.split.restrict(np.arange(3), np.arange(0, 6, 2)), rounds=0
    )
    with pytest.raises(ValueError, match="no vectors"):
        find_slices(scores, clusters=2)
