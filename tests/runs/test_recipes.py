"""With its own defaults every objective learns the embedded world from random heads, and what learns nothing
is found out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from workbench import assets, objectives
from workbench.execution import grid, library
from workbench.records import Split
from workbench.runs import Config, prepare
from workbench.runs import build as running
from workbench.runs.measure import measure
from workbench.runs.resolve import resolve
from workbench.runs.spellings import fields
from workbench.runs.train import train

KEY = "exact:t2i/map_at_r"
LEAST = 0.1
# standard deviations over seeds
SCATTER = 4
# of different kinds, and quick
RECORDED = ("infonce", "ditm")
FEW = {"train_images": 400, "val_images": 100, "test_images": 300}
# where the steps of so few are not enough: a graph over the batch, distributions, clusters, a learnt bias
MORE = {
    "hrem": FEW | {"train_images": 1000},
    "siglip": FEW | {"train_images": 1000},
    "pcmepp": FEW | {"train_images": 700},
    "cora": FEW | {"train_images": 700},
}


def measured(name: str, **changes: object) -> tuple[dict[str, float], dict[str, float]]:
    """The numbers on the test split of a model before and after a run with the defaults of its objective."""
    ready = prepare(Config(objective=name, device="cpu", **changes), progress=False)
    before = measure(ready.model, ready.test.split, *ready.model.embed(ready.test), rounds=0)[0]
    after = train(ready, progress=False).measurements
    first, last = ({one.label: one.value for one in several} for several in (before, after))
    return first, last


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in objectives.names() if name not in RECORDED])
def test_every_objective_gains_ten_points_over_its_own_epoch_0_with_its_defaults(name):
    start, trained = measured(name, **MORE.get(name, FEW))
    assert trained[KEY] - start[KEY] >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_a_run_of_the_recorded_comparison_is_found_again(name):
    """Another processor adds in another order; training carries that as far as two seeds lie apart."""
    start, trained = measured(name, select="rsum")
    assert trained[KEY] - start[KEY] >= LEAST
    table = assets.read_recorded("comparison_scenes").query("objective == @name and positives == 'own'")
    table = table[table.key != "seconds"]
    recorded, scatter = table[table.seed == 0].set_index("key").value, table.groupby("key").value.std()
    assert len(recorded) == 11
    for key, value in recorded.items():
        assert trained[key] == pytest.approx(value, abs=SCATTER * scatter[key] + 0.005), key


@pytest.mark.slow
@pytest.mark.parametrize("name", ["infonce", "vsepp"])
def test_an_optimiser_that_does_nothing_gains_nothing(name, monkeypatch):
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_, **__: None)
    sizes = {"train_images": 64, "val_images": 50, "test_images": 300}
    # running statistics of the towers move with the batches that they see, and nothing else does
    before, after = measured(name, epochs=1, **sizes)
    assert abs(after[KEY] - before[KEY]) < LEAST / 10


def test_the_defaults_of_train_and_of_its_notebook_are_those_of_the_comparison_but_for_what_selects():
    arms = grid.plan("03_train", grid.read_grid(library.find_file("comparison_scenes", "grid")))
    # these are younger than the recorded comparison
    for name in set(objectives.names()) - {"hrem", "rince", "three_ranks"}:
        values = arms[f"objective={name}, seed=0, positives=own"]
        assert resolve(Config(objective=name, select="rsum")) == resolve(
            Config(**fields(values) | {"threads": 0})
        )


def warmed(images: int, **given: object) -> int:
    """Steps of the warm-up with so many training images of five captions each."""
    config, own = resolve(Config(**given)), np.repeat(np.arange(images), 5)
    names = tuple(map(str, range(len(own))))
    split = Split("s/train", names[:images], names, names, own, lambda _: Image.new("RGB", (1, 1)))
    changed, notes = running._with_warm_up(config, split, asked="lr_warmup_steps" in given)
    assert bool(notes) == (changed != config)
    return changed.lr_warmup_steps


@pytest.mark.parametrize("name", objectives.names())
def test_a_warm_up_is_at_most_a_quarter_of_a_run_and_stays_at_the_recorded_sizes(name):
    recipe = objectives.member(name).recipe["lr_warmup_steps"]
    assert warmed(2000, objective=name) == recipe
    # one batch of all images for every two captions, or for every 128 where an epoch goes over captions
    rounds, epochs = (2 if name == "cora" else 3), objectives.member(name).recipe["epochs"]
    assert warmed(64, objective=name) == rounds * epochs // 4
    assert warmed(64, objective=name, lr_warmup_steps=30) == 30


def test_an_objective_that_states_no_recipe_has_that_of_infonce():
    class Mine(objectives.Objective):
        """Nothing of its own."""

    assert Mine.recipe == objectives.member("infonce").recipe
    assert Mine.recipe["captions_per_image"] == 2


@pytest.mark.parametrize(
    ("given", "select"),
    [
        ({}, "exact:t2i/map_at_r"),
        ({"positives": "exact"}, "exact:t2i/map_at_r"),
        ({"select": "rsum"}, "rsum"),
        # counterfactuals are false of their images, and nothing else is known of them
        ({"data": {"name": "scenes", "texts": "swaps"}}, "rsum"),
        ({"data": "flickr8k"}, "rsum"),
    ],
)
def test_where_the_data_know_the_truth_it_chooses_the_epoch(given, select):
    assert resolve(Config(**given)).select == select


def test_counterfactuals_have_no_true_pairs_to_train_with():
    with pytest.raises(ValueError, match="positives='exact' names judgements"):
        resolve(Config(positives="exact", data={"name": "scenes", "texts": "swaps"}))
