"""Trains what the comparison of objectives lacks: two ways of training, five seeds, every epoch measured.

``python -m tools.comparison FOLDER`` trains one arm after another into FOLDER, one file an arm, until none is
left. Several processes may share a folder, and one that is killed loses the arm that it was training. Each
computes with one thread, as all recorded tables do.

An arm keeps, epoch by epoch, the numbers that choose an epoch on the validation split, and the numbers of the
test split, some of them by image, so that one training serves every selection. First, a recipe is searched
for each objective and way of training with one seed that no comparison uses: the learning rate at half, once
and twice that of the objective's recipe, with ``EPOCHS[0]`` epochs; and with ``EPOCHS[1]`` where the curve
still rises (``chosen``).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from paper_tables.probes import mean_of_captions

from workbench import objectives
from workbench.io import only_writer, replacing
from workbench.metrics.registry import all_metrics
from workbench.records import Split, Values
from workbench.runs.build import prepare
from workbench.runs.config import Config
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.environment import code_hash
from workbench.runs.measure import calibrate, evaluate_split
from workbench.runs.resolve import resolve
from workbench.runs.scoring import score_split
from workbench.training import computing_threads, deterministic_algorithms, fit
from workbench.training.batches import Source
from workbench.training.loop import NonFiniteLossError

# the first are trained before the others, so that whatever is there is balanced
FIRST = ("infonce", "vsepp", "siglip", "cora", "ditm", "three_ranks")
REST = ("rince", "daa", "sam", "dias", "aahr", "hrem", "pcme", "pcmepp")
WAYS = ("own", "exact")
SEEDS, SEARCH_SEED = range(5), 100
FACTORS, EPOCHS = (1.0, 0.5, 2.0), (6, 12)
LABELS, I2T, T2I = "rsum", "exact:i2t/map_at_r", "exact:t2i/map_at_r"
# from what on a curve still rises: RSUM of 6, and the mean of two mAP@R
RISES = {"labels": 0.03, "truth": 0.01}
BY = {"own": "labels", "exact": "truth"}
CHOOSING = ("rsum", "map_at_r")
METRICS = ("R", "rsum", "map_at_r", "r_precision", "within_map_at_r")
# numbers that are kept by image
BY_IMAGE = (LABELS, I2T, T2I, "i2t/R@1", "t2i/R@1", "exact:i2t/within_map_at_r")
# seconds between two looks for work, while other processes train the rest
WAIT = 60
Numbers = dict[str, float]
# of a model on the validation split, and on the test split, there with values that are kept
MeasureVal = Callable[[TrainedModel, Source], Numbers]
MeasureTest = Callable[[TrainedModel, Source], tuple[Numbers, Values]]


class Training(Protocol):
    """What a runner trains: an arm with a name, of which its file is made."""

    @property
    def name(self) -> str:
        """Return what it is called."""
        ...


@dataclass(frozen=True)
class Arm:
    """One training: an objective, what counts as positive, and how long and how fast it learns.

    Args:
        factor: of the learning rate in the objective's recipe.
        epochs: 0 = what the search chose.
    """

    objective: str
    positives: str
    seed: int
    factor: float = 1.0
    epochs: int = 0

    @property
    def name(self) -> str:
        """How it is called."""
        searched = f"_x{self.factor:g}_{self.epochs}" if self.seed == SEARCH_SEED else ""
        return f"{self.objective}_{self.positives}_{self.seed}{searched}"

    def file(self, folder: Path) -> Path:
        """What the arm keeps, once it was trained."""
        return folder / f"{self.name}.npz"

    def config(self) -> Config:
        """Its configuration."""
        return Config(
            objective=self.objective,
            positives=self.positives,
            seed=self.seed,
            epochs=self.epochs,
            lr=self.factor * objectives.member(self.objective).recipe["lr"],
            train_images=2000,
            threads=1,
            device="cpu",
            # every epoch is measured, and both numbers choose one afterwards
            select=LABELS,
        )


def chooser(val: Numbers) -> dict[str, float]:
    """The numbers that choose an epoch: RSUM by annotated pairs, and the mean mAP@R of both directions by the
    truth.
    """
    return {"labels": val[LABELS], "truth": (val[I2T] + val[T2I]) / 2}


def measured(model: TrainedModel, source: Source, names: Sequence[str]) -> tuple[Numbers, dict[str, Values]]:
    """Every number of these metrics on a split, and some of them by image."""
    split = source.split
    judgements = {name: split.judgements[name] for name in ("own", "exact")}
    image, text = model.embed(source)
    table = [row() for name, row in all_metrics().items() if name in names]
    measurements, values = evaluate_split(
        score_split(model, image, text), replace(split, judgements=judgements), table=table, rounds=0
    )
    numbers = {m.label: m.value for m in measurements}
    return numbers, {key: by_image(split, values[key]) for key in BY_IMAGE if key in values}


def by_image(split: Split, values: Values) -> Values:
    """``(images,)`` values of which the mean is the number: captions are averaged within their image."""
    images, captions = len(split.image_ids), len(split.captions)
    if len(values) == images:
        return values
    of_images = mean_of_captions(split.own, values[-captions:])
    return values[:images] + of_images if len(values) > captions else of_images


def train(
    config: Config, measure_val: MeasureVal, measure_test: MeasureTest | None
) -> tuple[list[dict[str, Any]], list[Values]]:
    """Train one arm, and measure it after each epoch.

    Args:
        config: complete.
        measure_val: numbers of the validation split, ``rsum`` among them.
        measure_test: numbers of the test split and values that are kept; ``None`` = it is not looked at.

    Returns:
        Of each epoch its numbers on both splits, ``val`` and ``test``, and ``seconds`` so far; and of each
        its values on the test split.
    """
    began = time.perf_counter()
    ready = prepare(config, progress=False)
    model, history, every = ready.model, list[dict[str, Any]](), list[Values]()

    def validate() -> Numbers:
        calibrate(model, ready.val)
        epoch: dict[str, Any] = {"val": measure_val(model, ready.val), "test": {}}
        if measure_test:
            epoch["test"], values = measure_test(model, ready.test)
            every.append(values)
        history.append(epoch | {"seconds": round(time.perf_counter() - began, 1)})
        return {LABELS: epoch["val"][LABELS]}

    with deterministic_algorithms(True), computing_threads(1):
        torch.set_rng_state(ready.random_state)
        assert ready.train is not None
        fit(model.pair, model.objective, ready.train, validate, ready.config, progress=False)
    return history, every


def save_training(
    file: Path,
    config: Config,
    facts: Mapping[str, Any],
    measure_val: MeasureVal,
    measure_test: MeasureTest | None,
) -> None:
    """Train into a file, written whole or not at all; what breaks off says why and has no history."""
    config = resolve(config)
    about = {**facts, "config": config.as_dict(), "code": code_hash()[:16], "torch": torch.__version__}
    every: list[Values] = []
    try:
        about["history"], every = train(config, measure_val, measure_test)
    except NonFiniteLossError as error:
        about |= {"history": [], "error": str(error)}
    # keys or sides first, then epochs
    values = np.stack(every, axis=1) if every else np.zeros((0, 0, 0))
    with replacing(file) as path:
        np.savez_compressed(path, facts=json.dumps(about), values=values.astype(np.float16))


def train_while_open(
    open_trainings: Callable[[], Sequence[Training]],
    run: Callable[[Any], None],
    done: Callable[[Any], bool],
    folder: Path,
) -> None:
    """Train until nothing is open; what another process trains is left to it."""
    while trainings := open_trainings():
        for training in trainings:
            try:
                with only_writer(folder / "locks", training.name):
                    # another process may have ended it since
                    if not done(training):
                        run(training)
                break
            except BlockingIOError:
                continue
        else:
            time.sleep(WAIT)


def run(arm: Arm, folder: Path) -> None:
    """Train one arm into its file."""

    def measure_val(model: TrainedModel, source: Source) -> Numbers:
        return measured(model, source, CHOOSING)[0]

    def measure_test(model: TrainedModel, source: Source) -> tuple[Numbers, Values]:
        numbers, values = measured(model, source, METRICS)
        return numbers, np.stack([values[key] for key in BY_IMAGE])

    tested = None if arm.seed == SEARCH_SEED else measure_test
    facts = {**asdict(arm), "keys": BY_IMAGE}
    save_training(arm.file(folder), arm.config(), facts, measure_val, tested)


def facts_of(folder: Path, arm: Arm) -> dict[str, Any] | None:
    """What an arm's file says of it, without the values by image; ``None`` where there is no file yet."""
    if not arm.file(folder).is_file():
        return None
    with np.load(arm.file(folder)) as file:
        facts: dict[str, Any] = json.loads(str(file["facts"]))
    return facts


def values_of(folder: Path, arm: Arm) -> Values:
    """The ``(keys, epochs, images)`` values in an arm's file, see ``BY_IMAGE``."""
    with np.load(arm.file(folder)) as file:
        return file["values"].astype(np.float64)


def best(facts: Mapping[str, Any], by: str) -> tuple[int, float]:
    """The epoch that a number chooses on the validation split, and that number; a training that broke off has
    none.
    """
    values = [chooser(epoch["val"])[by] for epoch in facts["history"]]
    return (int(np.argmax(values)), max(values)) if values else (0, -np.inf)


def search(objective: str, positives: str) -> list[Arm]:
    """The first arms of a search, at every learning rate."""
    return [Arm(objective, positives, SEARCH_SEED, factor, EPOCHS[0]) for factor in FACTORS]


def chosen(folder: Path, objective: str, positives: str) -> tuple[list[Arm], Arm | None]:
    """What a search still lacks, and the recipe that it chose once nothing is lacking.

    With annotated pairs the learning rate with the best RSUM is chosen, with every true pair the one with the
    best mean mAP@R: by the validation split. The longer training is chosen where it betters RSUM or mAP@R by
    what ``RISES`` says.
    """
    arms = search(objective, positives)
    results = {arm: facts_of(folder, arm) for arm in arms}
    lacking = [arm for arm, facts in results.items() if facts is None]
    if lacking:
        return lacking, None
    by = BY[positives]
    short = max(arms, key=lambda arm: best(results[arm] or {}, by)[1])
    long = replace(short, epochs=EPOCHS[1])
    longer = facts_of(folder, long)
    if longer is None:
        return [long], None
    rises = [
        best(longer, name)[1] - best(results[short] or {}, name)[1] > margin for name, margin in RISES.items()
    ]
    return [], long if any(rises) else short


def open_arms(folder: Path) -> Iterator[Arm]:
    """Arms that are not there and can be trained, in their order: the search of the first objectives, each
    seed of all of these, and then the same for the others.
    """
    for names in (FIRST, REST):
        recipes: dict[tuple[str, str], Arm] = {}
        for objective, positives in product(names, WAYS):
            lacking, recipe = chosen(folder, objective, positives)
            yield from lacking
            if recipe:
                recipes[objective, positives] = recipe
        for seed, recipe in product(SEEDS, recipes.values()):
            arm = replace(recipe, seed=seed)
            if not arm.file(folder).is_file():
                yield arm


def main(place: str) -> None:
    """Train until every arm is there."""
    folder = Path(place)
    train_while_open(
        lambda: [*open_arms(folder)],
        lambda arm: run(arm, folder),
        lambda arm: arm.file(folder).is_file(),
        folder,
    )


if __name__ == "__main__":
    main(sys.argv[1])
