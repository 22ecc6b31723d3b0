"""What an experiment says of itself before it is trained."""

from __future__ import annotations

from workbench.runs import Config, prepare

SMALL = {"train_images": 16, "val_images": 8, "test_images": 10, "device": "cpu"}


def test_a_prepared_experiment_names_its_splits_and_the_settings_that_are_not_the_defaults() -> None:
    ready = prepare(Config(objective="vsepp", **SMALL), progress=False)
    splits = ready.splits()
    assert list(splits) == ["scenes/train", "scenes/val", "scenes/test"]
    assert splits.loc["images"].tolist() == [16, 8, 10]
    changed = ready.changed()["value"]
    assert changed["train_images"] == 16
    assert "seed" not in changed
    # each option has a row of its own, so that none is cut
    assert not [value for value in changed if isinstance(value, dict)]


def test_without_training_there_is_no_training_split() -> None:
    ready = prepare(Config(objective="vsepp", **SMALL, epochs=0), progress=False)
    assert list(ready.splits()) == ["scenes/val", "scenes/test"]
