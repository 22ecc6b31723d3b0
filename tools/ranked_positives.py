"""Trains what ranked positives still lack: the ablation of three ranks on the scenes, and photographs.

``python -m tools.ranked_positives FOLDER`` trains one arm after another into FOLDER, one file an arm, as
``tools.comparison`` does: several processes may share a folder, and one that is killed loses the arm that it
was training. Seeds come outermost, so that whatever is there is balanced. ``python -m tools.ranked_positives
FOLDER --table`` prints what is there.

On the scenes three ranks are changed in one thing at a time: weight, scales, negatives, number of ranks.
On photographs (all training images of Flickr8k, frozen features) each loss is trained with random batches,
with batches of neighbours, and with eight times as many negatives. Other right pairs are those that the
sentence judge scores from a threshold. The crowd of Flickr8k judges, by Pearson's correlation of scores and
ratings, over all pairs and without annotated ones, beside RSUM. The sentence judge has read captions of that
kind; the crowd has not seen it.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tools.comparison import (
    BY_IMAGE,
    CHOOSING,
    I2T,
    LABELS,
    METRICS,
    T2I,
    Numbers,
    measured,
    save_training,
    train_while_open,
)
from workbench import assets
from workbench.execution import grid, library
from workbench.formatting import format_count, format_number, format_value
from workbench.metrics.blocks import by_rows
from workbench.metrics.correlation import pearson
from workbench.metrics.registry import all_metrics
from workbench.objectives import member
from workbench.records import Array, Values
from workbench.registry import merge
from workbench.runs.config import Config
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.measure import evaluate_split
from workbench.runs.scoring import score_split
from workbench.training.batches import Source

SEEDS = range(5)
SCENES, PHOTOGRAPHS = "scenes", "photographs"
# of 14.3, at which scales start
HALF, TWICE = 7.15, 28.6
THREE = {"name": "three_ranks", "weight": 0.6}
# what differs from three ranks with weight .6, by the name of the arm
ABLATION: dict[str, dict[str, Any]] = {
    "three ranks, weight 0.6": {},
    "weight 0 (two ranks)": {"weight": 0.0},
    "weight 0.3": {"weight": 0.3},
    "weight 1": {"weight": 1.0},
    "weight 2": {"weight": 2.0},
    "half the first scale": {"scales": [HALF, 14.3]},
    "half the second scale": {"scales": [14.3, HALF]},
    "twice both scales": {"scales": [TWICE, TWICE]},
    "own against other right pairs alone": {"rivals": "right"},
    "half true pairs left out": {"ranks": {"relevance": "graded", "thresholds": [1.0], "false_below": 0.5}},
}
# objectives of other numbers of ranks
RANKS: dict[str, dict[str, Any]] = {
    "RINCE, three ranks": {"name": "rince"},
    "RINCE, four ranks": {
        "name": "rince",
        "ranks": {"relevance": "graded", "thresholds": [1.0, 0.5]},
    },
}
ON_SCENES: dict[str, Any] = {"data": "scenes", "positives": "exact", "train_images": 2000, "epochs": 6}


def _judged(*thresholds: float) -> dict[str, Any]:
    return {"ranks": {"relevance": "sentence", "thresholds": list(thresholds)}}


LOSSES: dict[str, dict[str, Any]] = {
    "InfoNCE": {"name": "infonce"},
    "three ranks, from .65": {"name": "three_ranks", "weight": 1.0, **_judged(0.65)},
    "two ranks, from .65": {"name": "three_ranks", "weight": 0.0, **_judged(0.65)},
    "RINCE, from .65": {"name": "rince", **_judged(0.65)},
    "three ranks, from .55": {"name": "three_ranks", "weight": 1.0, **_judged(0.55)},
    "three ranks, from .75": {"name": "three_ranks", "weight": 1.0, **_judged(0.75)},
    "RINCE, five ranks from .8, .7, .6, .5": {"name": "rince", **_judged(0.8, 0.7, 0.6, 0.5)},
}
BATCHES: dict[str, dict[str, Any]] = {
    "random": {},
    "neighbours": {"sampler": "clusters", "clusters": 60, "clusters_per_batch": 4},
    "eight times as many negatives": {"batch_size": 1024},
}
# as in the grid objectives_flickr8k, but for all training images and six epochs
ON_PHOTOGRAPHS: dict[str, Any] = {
    "data": "flickr8k",
    "train_images": 0,
    "val_images": 500,
    "epochs": 6,
    "lr": 0.001,
    "features": "efficientnet_lite0",
    "image_encoder": {"name": "regions", "embed_dim": 256, "pooling": "mean", "region_dropout": 0.2},
    "text_encoder": {
        "name": "sequence",
        "features": "minilm-package",
        "word_dim": 384,
        "embed_dim": 256,
        "layer": "mlp",
        "pooling": "mean",
        "word_dropout": 0.1,
    },
    "warmup_epochs": 1,
    "captions_per_image": 2,
    "weight_decay": 0.01,
    "lr_warmup_steps": 20,
}
# recorded runs of InfoNCE, and training images of an arm
RECORDED = {SCENES: ("comparison_scenes", 2000), PHOTOGRAPHS: ("objectives_flickr8k", 6000)}
# numbers of the crowd, and what they are called in a table
CROWD, CROWD_WITHOUT = "crowd", "crowd[without own]"
HEADS = {
    SCENES: {LABELS: "RSUM, of 600", I2T: "mAP@R i2t, %", T2I: "mAP@R t2i, %"},
    PHOTOGRAPHS: {LABELS: "RSUM, of 600", CROWD: "Pearson, all pairs", CROWD_WITHOUT: "without annotated"},
}


@dataclass(frozen=True)
class Arm:
    """One training of one part, by the names of what differs."""

    part: str
    loss: str
    batches: str
    seed: int

    @property
    def name(self) -> str:
        """Return what it is called, as its file is."""
        words = "-".join([self.part, self.loss, self.batches, str(self.seed)])
        return "".join(sign if sign.isalnum() or sign in ".-" else "_" for sign in words)

    def file(self, folder: Path) -> Path:
        """Return where its training is kept."""
        return folder / f"{self.name}.npz"

    def config(self) -> Config:
        """Return its configuration."""
        if self.part == SCENES:
            objective = RANKS.get(self.loss) or merge(THREE, ABLATION.get(self.loss, {}))
            values: dict[str, Any] = {**ON_SCENES, "objective": objective}
        else:
            values = {**ON_PHOTOGRAPHS, **BATCHES[self.batches], "objective": LOSSES[self.loss]}
        return Config(**values, seed=self.seed, threads=1, device="cpu", select=LABELS)


def arms() -> Iterator[Arm]:
    """Yield every arm, seeds outermost: two seeds of the scenes and of photographs, then the others."""
    first, second = SEEDS[:2], SEEDS[2:]
    for seeds in (first, second):
        yield from (Arm(SCENES, loss, "random", seed) for seed, loss in product(seeds, (*ABLATION, *RANKS)))
        for seed, batches, loss in product(seeds, BATCHES, LOSSES):
            yield Arm(PHOTOGRAPHS, loss, batches, seed)


def describe_cost() -> str:
    """Say how long all arms take, by recorded seconds of InfoNCE for an image and epoch."""
    every = list(arms())
    sentences = [f"`python -m tools.ranked_positives FOLDER` trains {format_count(len(every))} arms."]
    for part, (name, images) in RECORDED.items():
        rows = assets.read_recorded(name).query("objective == 'infonce' and key == 'seconds'")
        fixed = grid.read_grid(library.find_file(name, "grid"))["fixed"]
        epochs = fixed.get("epochs", member("infonce").recipe["epochs"])
        pace = float(rows.value.mean()) / (fixed["train_images"] * epochs)
        first = next(arm.config() for arm in every if arm.part == part)
        count = sum(arm.part == part for arm in every)
        hours = count * pace * images * first.epochs / 3600
        sentences.append(
            f"{format_count(count)} of them, on {part}, take about {format_number(hours, 0)} hours of a core."
        )
    sentences.append(
        "Both are counted by recorded runs of InfoNCE; more ranks and larger batches take longer."
    )
    return "\n".join(textwrap.wrap(" ".join(sentences), 130))


def measure_scenes(model: TrainedModel, source: Source) -> tuple[Numbers, Values]:
    """Return every number of the test split of the scenes, and values by image."""
    numbers, values = measured(model, source, METRICS)
    return numbers, np.stack([values[key] for key in BY_IMAGE])


def measure_photographs(model: TrainedModel, source: Source) -> tuple[Numbers, Values]:
    """Return RSUM and agreement with the crowd, and the scores of the pairs that the crowd has judged."""
    image, text = model.embed(source)
    scores, split = score_split(model, image, text), source.split
    crowd = split.judgements["human"]
    own = replace(split, judgements={"own": split.judgements["own"]})
    table = [row() for name, row in all_metrics().items() if name in ("R", "rsum")]
    measurements, _ = evaluate_split(scores, own, table=table, rounds=0)
    at_pairs = by_rows(scores).rows()[crowd.images, crowd.captions]
    annotated = split.own[crowd.captions] == crowd.images
    numbers = {m.label: m.value for m in measurements}
    numbers[CROWD] = pearson(at_pairs, crowd.grades)
    numbers[CROWD_WITHOUT] = pearson(at_pairs[~annotated], crowd.grades[~annotated])
    return numbers, np.asarray(at_pairs, dtype=np.float64)[None]


def measure_val(model: TrainedModel, source: Source) -> Numbers:
    """Return RSUM of the validation split, and mAP@R where the truth is known."""
    if "exact" in source.split.judgements:
        return measured(model, source, CHOOSING)[0]
    image, text = model.embed(source)
    table = [row() for name, row in all_metrics().items() if name == "rsum"]
    measurements, _ = evaluate_split(score_split(model, image, text), source.split, table=table, rounds=0)
    return {m.label: m.value for m in measurements}


def run(arm: Arm, folder: Path) -> None:
    """Train one arm into its file."""
    measure = measure_scenes if arm.part == SCENES else measure_photographs
    facts = {"part": arm.part, "loss": arm.loss, "batches": arm.batches, "seed": arm.seed}
    save_training(arm.file(folder), arm.config(), facts, measure_val, measure)


def numbers_of(folder: Path, arm: Arm) -> Numbers | None:
    """Return an arm's numbers on the test split, of the epoch with the best RSUM on validation images."""
    if not arm.file(folder).is_file():
        return None
    with np.load(arm.file(folder)) as file:
        history = json.loads(str(file["facts"]))["history"]
    if not history:
        return None
    chosen = max(history, key=lambda epoch: epoch["val"][LABELS])
    return dict(chosen["test"])


def table(folder: Path, part: str) -> list[str]:
    """Return the means over the seeds that are there, with the range, and how many there are."""
    heads = HEADS[part]
    names = ("batches", "loss", "seeds", *heads.values())
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for batches, loss in dict.fromkeys((arm.batches, arm.loss) for arm in arms() if arm.part == part):
        found = [numbers_of(folder, Arm(part, loss, batches, seed)) for seed in SEEDS]
        there = [numbers for numbers in found if numbers]
        if there:
            cells = [_cell(np.array([numbers[key] for numbers in there]), key) for key in heads]
            lines.append(f"| {' | '.join([batches, loss, str(len(there)), *cells])} |")
    return lines


def _cell(values: Array, key: str) -> str:
    """Return the mean of a number over seeds, and its range."""
    mean, low, high = (_shown(float(value), key) for value in (values.mean(), values.min(), values.max()))
    return f"{mean} ({low} to {high})" if len(values) > 1 else mean


def _shown(value: float, key: str) -> str:
    if key in (CROWD, CROWD_WITHOUT):
        return format_number(value, 3)
    return format_value(value, "sum" if key == LABELS else "share")


def main(words: Sequence[str] | None = None) -> None:
    """Train until every arm is there, or print what is."""
    parser = argparse.ArgumentParser(description="Train ranked positives, or print what is there.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", action="store_true", help="print what is there, train nothing")
    options = parser.parse_args(words)
    folder = options.folder
    if options.table:
        left = sum(not arm.file(folder).is_file() for arm in arms())
        for part in HEADS:
            print("\n".join([*table(folder, part), ""]))
        print(f"{format_count(left, 'training')} left")
        return
    train_while_open(
        lambda: [arm for arm in arms() if not arm.file(folder).is_file()],
        lambda arm: run(arm, folder),
        lambda arm: arm.file(folder).is_file(),
        folder,
    )


if __name__ == "__main__":
    main()
