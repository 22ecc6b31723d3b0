"""Whether captions that are false of their images teach a model to bind words to things: ``python -m
tools.benchmarks.bench_negatives [ROOT]``, where ``ROOT`` keeps the runs (default ``runs/negatives``), so that
a measurement that was stopped goes on.

InfoNCE on the synthetic scenes, from random heads, with annotated pairs: alone, and with a counterfactual
caption beside each caption. The text encoder reads the order of words. Counterfactuals are those of
``bench_counterfactual``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from workbench import assets
from workbench.io import write_recorded
from workbench.runs import Config, Target
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate
from workbench.runs.train import train

SEEDS = 5
IMAGES = 1000
ARMS = {"annotated pairs alone": "", "counterfactual captions too": "counterfactuals"}
IMAGE = {"name": "regions", "embed_dim": 128, "hidden_dim": 128, "pooling": "max"}
TEXT = {"name": "sequence", "word_dim": 64, "embed_dim": 128, "layer": "gru", "pooling": "max"}
COUNTERFACTUALS = Target(data={"name": "scenes", "texts": "swaps"}, images=500)
BESIDE = ("rsum", "exact:i2t/map_at_r")


def configuration(negatives: str, seed: int, images: int = IMAGES) -> Config:
    """The training of one arm and seed."""
    return Config(
        objective="infonce",
        features="scenes_backbone",
        image_encoder=IMAGE,
        text_encoder=TEXT,
        negatives=negatives,
        train_images=images,
        val_images=200,
        test_images=500,
        epochs=6,
        lr=4e-3,
        lr_warmup_steps=30,
        captions_per_image=2,
        seed=seed,
        threads=1,
        select="rsum",
        device="cpu",
    )


def numbers(folder: Path, config: Config) -> dict[str, float]:
    """Accuracy on counterfactuals and what is beside it, of a run that is trained where it is not there."""
    if not (folder / runs.RESULTS).is_file():
        train(config, folder=folder, progress=False).save(folder)
    result = evaluate(folder, COUNTERFACTUALS, rounds=0)
    values = {m.label: m.value for m in result.measurements if "counterfactual_accuracy" in m.label}
    return values | {key: runs.read(folder).results["metrics"][key] for key in BESIDE}


def main(root: str = "runs/negatives") -> None:
    """Train and measure every arm and seed, and record the numbers."""
    rows = []
    for seed in range(SEEDS):
        for label, negatives in ARMS.items():
            folder = Path(root) / f"{negatives or 'none'}-{seed}"
            values = numbers(folder, configuration(negatives, seed))
            arm = {"objective": label, "seed": seed}
            rows += [arm | {"key": key, "value": float(f"{value:.6g}")} for key, value in values.items()]
            sys.stdout.write(f"{label}, seed {seed}: {values}\n")
            sys.stdout.flush()
    file = assets.path("results") / "negatives_scenes.tsv"
    write_recorded(file, pd.DataFrame(rows), "python -m tools.benchmarks.bench_negatives")


if __name__ == "__main__":
    main(*sys.argv[1:])
