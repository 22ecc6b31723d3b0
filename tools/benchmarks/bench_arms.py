"""Every arm of the papers' ablations, trained away from chance: ``python -m tools.benchmarks.bench_arms``.

Grids named behind the command are trained alone; without a name, all are.

Each arm of each grid with a ``table`` whose arms share something is trained on the embedded world and on
Flickr8k, which ``WORKBENCH_DATA`` names, with one seed and one small budget; of its recipe the steps in which
the rate rises and the epochs of summed hinges are cut to the budget. Where RSUM on the test images is less
than ``TIMES`` that of an order drawn at random, the arm is trained again with twice as many epochs, ``MOST``
at most, and then with ``MOST_IMAGES``. What two grids train alike is trained once. Beside RSUM stands the one
before training, on the same images. A line is written as soon as its arm is measured, and a second call goes
on where the first ended.
Tables that hold objectives against one another are not among them: ``comparison_scenes`` and
``objectives_flickr8k`` train every objective.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import product
from math import comb
from typing import Any

import torch

from workbench import assets
from workbench.execution import grid
from workbench.execution.library import find_file, source_folders
from workbench.formatting import format_number
from workbench.records import Split
from workbench.runs import Config, prepare, spellings
from workbench.runs import build as running
from workbench.runs.measure import calibrate, validate
from workbench.runs.resolve import resolve
from workbench.training import computing_threads, fit

DATA, SEED, GALLERY, CAPTIONS = ("scenes", "flickr8k"), 0, 100, 5
BUDGET = {"val_images": 20, "test_images": GALLERY, "device": "cpu", "seed": SEED}
# training images to begin with, unless an arm is a share of them, and at most; epochs likewise
IMAGES, MOST_IMAGES, EPOCHS, MOST, TIMES = 100, 1000, 2, 16, 3
# of the recipe or the grid, at most
BATCH, AT_MOST = {"batch_size": 32}, {"lr_warmup_steps": 10, "warmup_epochs": 1}
# CORA's text encoder leaves chance in the embedded world only after so many steps, slowly begun
SLOW = {"train_images": 300, "epochs": 4}
PLACE = assets.path("results") / "ablation_arms.tsv"
HEADS = ("grid", "arm", "data", "seed", "train_images", "epochs", "rsum", "chance", "untrained", "seconds")


def chance(images: int = GALLERY, captions: int = CAPTIONS) -> float:
    """RSUM, in [0, 6], that an order drawn at random has on average.

    Args:
        images: in the gallery.
        captions: of each image.

    >>> round(chance(10, 1), 9)  # 1, 5 and 10 of 10, both ways
    3.2
    """
    pool, ks = images * captions, (1, 5, 10)
    missed = [comb(pool - captions, k) / comb(pool, k) for k in ks]
    return sum(k / images + 1 - none for k, none in zip(ks, missed, strict=True))


def names() -> list[str]:
    """The grids that are a paper's ablation."""
    found = {
        path.stem: grid.read_grid(path)
        for path in sorted(path for place in source_folders() for path in place.glob("grids/*.yaml"))
    }
    return [name for name, described in found.items() if {"table", "fixed"} <= described.keys()]


def arms(name: str, data: str) -> dict[str, Config]:
    """The configurations of a grid's arms with the small budget, by label."""
    described, slow = grid.read_grid(find_file(name, "grid")), name.startswith("cora") and data == "scenes"
    fixed = {"train_images": IMAGES, **(described.get("fixed") or {})}
    given = {
        **BUDGET,
        "epochs": EPOCHS,
        **({"data": data} if data != "scenes" else {}),
        **(SLOW if slow else {}),
    }
    planned = grid.plan("03_train", {**described, "fixed": fixed}, given)
    found = {label: resolve(Config(**spellings.fields(fields))) for label, fields in planned.items()}
    most = BATCH if slow else BATCH | AT_MOST
    return {
        label: one.replace(**{field: min(one.as_dict()[field], value) for field, value in most.items()})
        for label, one in found.items()
    }


def trained(config: Config) -> tuple[float, float]:
    """RSUM of the test images before and after training, by one thread as the table was recorded."""
    with computing_threads(1):
        return _trained(config)


def _trained(config: Config) -> tuple[float, float]:
    ready = prepare(config, progress=False)
    model, rsum = ready.model, partial(validate, ready.model, ready.test, "rsum")
    before, chooses = rsum(), partial(validate, model, ready.val, "rsum")
    fit(model.pair, model.objective, ready.train, chooses, ready.config, progress=False)
    calibrate(model, ready.val)
    return before["rsum"], rsum()["rsum"]


@cache
def measured(said: str) -> dict[str, Any]:
    """Figures of one configuration, given as JSON."""
    config, start = Config(**json.loads(said)), time.process_time()
    untrained, rsum = trained(config)
    while rsum < TIMES * chance() and ((epochs := config.epochs) < MOST or config.train_images < MOST_IMAGES):
        longer = {"epochs": 2 * epochs} if epochs < MOST else {"train_images": MOST_IMAGES}
        config = config.replace(**longer)
        untrained, rsum = trained(config)
    found = {"rsum": rsum, "chance": chance(), "untrained": untrained}
    return {
        "train_images": config.train_images,
        "epochs": config.epochs,
        **{name: format_number(value, 4) for name, value in found.items()},
        "seconds": format_number(time.process_time() - start, 1),
    }


def lines(grids: Iterable[str]) -> Iterator[str]:
    """The lines of these grids that are not there yet."""
    there = {
        tuple(row) for row in assets.read_recorded(PLACE)[["grid", "arm", "data"]].itertuples(index=False)
    }
    for name, data in product(grids, DATA):
        for label, config in arms(name, data).items():
            if (name, label, data) not in there:
                about = {"grid": name, "arm": label, "data": data, "seed": SEED}
                found = about | measured(json.dumps(config.as_dict(), sort_keys=True))
                yield "\t".join(str(found[head]) for head in HEADS)


def once(load: Callable[..., Split]) -> Callable[..., Split]:
    """A loader of splits that reads each of them once; every arm begins with the same random numbers."""
    made: dict[tuple[object, ...], Split] = {}

    def split(config: Config, name: str, *, progress: bool) -> Split:
        options = json.dumps(config.data.options, sort_keys=True)
        images = getattr(config.data, f"{name}_images")
        key = (config.data.name, options, config.features, name, images)
        with torch.random.fork_rng(devices=[]):
            made[key] = made.get(key) or load(config, name, progress=progress)
        return made[key]

    return split


def main() -> None:
    """Train what is not recorded yet."""
    running.load_split = once(running.load_split)
    if not PLACE.exists():
        PLACE.write_text("# python -m tools.benchmarks.bench_arms\n" + "\t".join(HEADS) + "\n")
    for line in lines(sys.argv[1:] or names()):
        with PLACE.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
