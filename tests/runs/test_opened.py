"""Runs opened again: the same scores as in training, one split for all, names that tell them apart."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from workbench.formatting import RANGES
from workbench.metrics import load
from workbench.metrics.intervals import Draws, percentile_interval
from workbench.records.measurement import CERTAIN, WILSON
from workbench.runs import Config, by_query, compare, open_runs
from workbench.runs import store as runs
from workbench.runs.about import About, write_about
from workbench.runs.train import train

SMALL = Config(
    start="scenes", train_images=16, val_images=8, test_images=16, epochs=0, batch_size=16, device="cpu"
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One trained run and a copy of it, one of another objective, and one of fewer images."""
    root, made = tmp_path_factory.mktemp("runs"), {}
    configs = {
        "vsepp": SMALL.replace(objective="vsepp"),
        "infonce": SMALL.replace(epochs=1),
        "short": SMALL.replace(test_images=12),
    }
    for name, config in configs.items():
        folder = root / name
        folder.mkdir()
        made[name] = folder, train(config, folder=folder, progress=False)
        made[name][1].save(folder)
    return made | {"again": (shutil.copytree(root / "infonce", root / "again"), made["infonce"][1])}


def test_a_run_opens_with_the_scores_that_it_had(folders):
    folder, result = folders["vsepp"]
    (space,) = open_runs([str(folder)])
    np.testing.assert_allclose(space.scores, result.scores, atol=1e-6)
    assert (space.name, space.folder, space.config["objective"]["name"]) == ("vsepp", folder, "vsepp")


def test_rankings_hold_the_best_of_every_query_in_some_bytes_a_row(folders):
    result = folders["vsepp"][1]
    table, split = result.rankings(10), result.split
    asked = table[(table["direction"] == "t2i") & (table["query_id"] == split.caption_ids[7])]
    order = np.argsort(-result.scores[:, 7], kind="stable")[:10]
    assert asked["item_id"].tolist() == [split.image_ids[row] for row in order]
    assert asked["rank"].tolist() == list(range(1, 11))
    np.testing.assert_array_equal(asked["score"], result.scores[order, 7])
    np.testing.assert_array_equal(asked["grade"], (split.own[7] == order).astype(float))
    # three codes of one byte each (96 ids), rank, score and grade of four
    assert table.memory_usage(index=False).sum() - 3 * table["query_id"].cat.categories.nbytes <= 20 * len(
        table
    )


def test_runs_share_one_split_and_have_names_of_their_own(folders):
    spaces = open_runs([str(folders[name][0]) for name in ("vsepp", "infonce", "again")])
    assert [space.name for space in spaces] == ["vsepp", "infonce infonce", "infonce again"]
    assert all(space.split is spaces[0].split for space in spaces)


def test_a_run_with_a_name_is_called_by_it(folders, tmp_path):
    named = shutil.copytree(folders["infonce"][0], tmp_path / "named")
    write_about(named, About("InfoNCE"))
    spaces = open_runs([str(folders["infonce"][0]), str(named)])
    assert [space.name for space in spaces] == ["infonce", "InfoNCE"]


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
    assert (space.name, space.folder, space.scores.shape[0]) == ("shipped encoder", None, 8)


def test_runs_of_different_images_are_refused(folders):
    with pytest.raises(ValueError, match="infonce and infonce were measured on different images or captions"):
        open_runs([str(folders["infonce"][0]), str(folders["short"][0])])


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing_here"):
        open_runs(["nothing_here"], root=str(tmp_path))


def test_what_was_measured_is_read_as_it_was_and_of_a_part_of_the_images_nothing(folders):
    folder, result = folders["infonce"]
    (whole,), (part,) = open_runs([str(folder)]), open_runs([str(folder)], images=10)
    assert {m.label: m for m in whole.measurements} == {m.label: m for m in result.measurements}
    assert whole.table().sort_index().equals(result.table().sort_index())
    assert whole["rsum"] == result["rsum"]
    assert whole.values.keys() == result.values.keys()
    for key, values in result.values.items():
        np.testing.assert_array_equal(whole.values[key], values)
    assert [row["loss"] for row in whole.history[1:]] == [row["loss"] for row in result.history[1:]]
    assert (len(part.measurements), len(part.values)) == (0, 0)


def test_the_intervals_of_a_run_follow_from_the_values_that_it_keeps(folders):
    """A subset or another interval later needs no model."""
    kept = by_query.ByQuery.read(folders["infonce"][0])
    draws = Draws(kept.own, len(kept.image_ids))
    for m in folders["infonce"][1].measurements:
        if m.label in kept.values:
            row = load(m.key.metric)
            value, resampled = row.aggregate(kept.values[m.label], m.key.direction, draws)
            ends = percentile_interval(resampled)
            if m.interval == CERTAIN:
                ends = None, None
            if m.interval == WILSON:
                # of five relevant captions one place holds a fifth
                most = 0.2 * m.key.k if m.label.startswith("i2t/recall") else RANGES[m.face][1]
                ends = draws.wilson(kept.values[m.label], m.key.direction, min(most, RANGES[m.face][1]))
            assert (value, *ends) == (m.value, m.low, m.high), m.label


def test_runs_are_compared_without_their_checkpoints(folders, tmp_path):
    names = ("vsepp", "infonce")
    before = compare.table(open_runs([str(folders[name][0]) for name in names]))
    bare = [shutil.copytree(folders[name][0], tmp_path / name) for name in names]
    for folder in bare:
        (folder / runs.MODEL).unlink()
        shutil.rmtree(folder / "embeddings")
    opened = open_runs([str(folder) for folder in bare])
    after = compare.table(opened)
    assert after[0].equals(before[0])
    assert after[1].equals(before[1])
    first, second = (runs.read(folder) for folder in bare)
    told = by_query.paired_differences_of(first, second, compare.first_keys(opened[0].split.judgements))
    assert [(one.label, one.value, one.low, one.high, one.mark) for one in told] == list(
        before[1][["key", "value", "low", "high", "mark"]].itertuples(index=False, name=None)
    )
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors missing"):
        _ = opened[0].model


def test_runs_of_other_images_or_without_values_are_not_held_against_each_other(folders, tmp_path):
    one, short = (runs.read(folders[name][0]) for name in ("infonce", "short"))
    assert by_query.paired_differences_of(one, short, ["rsum"]) == []
    assert by_query.paired_differences_of(one, runs.read(runs.new_run("nb", {}, tmp_path)), ["rsum"]) == []
    again = runs.read(folders["again"][0])
    assert [found.value for found in by_query.paired_differences_of(one, again, ["rsum"])] == [0.0]


def test_runs_of_one_objective_are_told_apart_by_the_settings_in_which_they_differ(tmp_path):
    small = Config(
        start="scenes", train_images=8, val_images=8, test_images=8, epochs=1, batch_size=8, device="cpu"
    )
    for name, changes in {
        "a": {},
        "b": {"positives": "exact"},
        "c": {"lr": 1e-4, "epochs": 0, "seed": 3},
    }.items():
        train(small.replace(**changes), progress=False).save(tmp_path / name)
    names = [one.name for one in open_runs([str(tmp_path / name) for name in "ab"])]
    assert names == ["infonce, positives=own", "infonce, positives=exact"]
    # more settings than a name can say
    names = [one.name for one in open_runs([str(tmp_path / name) for name in "abc"])]
    assert names == ["infonce a", "infonce b", "infonce c"]
