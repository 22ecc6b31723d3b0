"""Runs opened again: the same scores as in training, one split for all, names that tell them apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.experiment import Config, open_runs, run

SMALL = Config(train_images=32, val_images=16, test_images=24, epochs=1, batch_size=16, device="cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    made = {}
    for name, config in {
        "vsepp": replace(SMALL, objective="vsepp"),
        "infonce": SMALL,
        "again": replace(SMALL, seed=1),
        "short": replace(SMALL, test_images=12),
    }.items():
        folder = root / name
        folder.mkdir()
        made[name] = folder, run(config, folder=folder, progress=False)
        made[name][1].save(folder)
    return made


def test_a_run_opens_with_the_scores_that_it_had(folders):
    folder, result = folders["vsepp"]
    (space,) = open_runs([str(folder)])
    np.testing.assert_allclose(space.scores, result.scores, atol=1e-6)
    assert (space.name, space.folder, space.config["objective"]) == ("vsepp", folder, "vsepp")


def test_runs_share_one_split_and_have_names_of_their_own(folders):
    spaces = open_runs([str(folders[name][0]) for name in ("vsepp", "infonce", "again")])
    assert [space.name for space in spaces] == ["vsepp", "infonce infonce", "infonce again"]
    assert all(space.split is spaces[0].split for space in spaces)


def test_a_part_of_the_images_takes_the_rows_of_these(folders):
    folder, result = folders["infonce"]
    (space,) = open_runs([str(folder)], images=10)
    captions = np.flatnonzero(np.isin(result.split.caption_ids, space.split.caption_ids))
    np.testing.assert_allclose(space.scores, result.scores[:10, captions], atol=1e-6)
    assert len(space.split.image_ids) == 10


def test_without_embeddings_on_disk_the_model_embeds(folders):
    folder, result = folders["again"]
    (folder / "embeddings" / "image.npy").unlink()
    (space,) = open_runs([str(folder)])
    np.testing.assert_allclose(space.scores, result.scores, atol=1e-5)


def test_no_name_is_the_shipped_encoder():
    (space,) = open_runs(images=8)
    assert (space.name, space.folder, space.scores.shape[0]) == ("pre-trained", None, 8)


def test_runs_of_different_images_are_refused(folders):
    with pytest.raises(ValueError, match="infonce and infonce were measured on different images or captions"):
        open_runs([str(folders["infonce"][0]), str(folders["short"][0])])


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing_here"):
        open_runs(["nothing_here"], root=str(tmp_path))
