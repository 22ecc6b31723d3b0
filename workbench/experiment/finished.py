"""Finished runs, opened again: the model, the split it was measured on, and the embeddings that lie in the
run folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from workbench.experiment import runs
from workbench.experiment.model import Model
from workbench.experiment.result import CONFIG
from workbench.experiment.running import Config, load_model, load_split
from workbench.experiment.space import Space
from workbench.records import Embedding, Split

SHIPPED = "pre-trained"


def open_runs(
    names: Sequence[str] = (), *, root: str = "runs", images: int = 0, device: str = "cpu"
) -> list[Space]:
    """Open several runs to look at them side by side.

    Args:
        names: run folders, or run ids below ``root``; ``""`` is the shipped encoder of the embedded world,
            and no name at all is that one alone.
        root: where runs lie.
        images: the first so many images of the test split; 0 = all that the run was measured on.
        device: where the weights go.

    Returns:
        One space a run, named by its objective, and by its run id as well where an objective comes twice.
        Runs of one data set share one split.

    Raises:
        FileNotFoundError: no such run, or one without a checkpoint.
        ValueError: the runs were measured on different images or captions.
    """
    opened = [_open(name, root, images, device) for name in names or ("",)]
    first = opened[0].split
    for space in opened[1:]:
        if (space.split.image_ids, space.split.caption_ids) != (first.image_ids, first.caption_ids):
            raise ValueError(
                f"{opened[0].name} and {space.name} were measured on different images or captions; "
                "open runs of one data set, with the same number of images"
            )
    twice = {name for name, count in Counter(space.name for space in opened).items() if count > 1}
    return [
        replace(space, split=first, name=_unique(space, number, twice))
        for number, space in enumerate(opened, 1)
    ]


def _unique(space: Space, number: int, twice: set[str]) -> str:
    if space.name not in twice:
        return space.name
    return f"{space.name} {number if space.folder is None else space.folder.name}"


def _open(name: str, root: str, images: int, device: str) -> Space:
    folder = runs.find(name, root).folder if name else None
    model = load_model(folder or "", device=device)
    config = Config.read(folder / CONFIG) if folder else Config()
    if images:
        config = config.replace(test_images=images)
    split = load_split(config, "test")
    image, text = (folder and _saved(folder, model, split)) or model.embed(
        model.source(split, every_signal=False)
    )
    return Space(config.objective if folder else SHIPPED, model, split, image, text, folder, config.as_dict())


def _saved(folder: Path, model: Model, split: Split) -> tuple[Embedding, Embedding] | None:
    """The embeddings that the run kept; ``None`` where they lack an item, or something that the objective's
    scores read.
    """
    if model.objective.reads:
        return None
    image, text = _of_side(folder, "image", split.image_ids), _of_side(folder, "text", split.caption_ids)
    return (image, text) if image and text else None


def _of_side(folder: Path, side: str, ids: Sequence[str]) -> Embedding | None:
    table, vectors = folder / "embeddings" / f"{side}_ids.parquet", folder / "embeddings" / f"{side}.npy"
    if not (table.is_file() and vectors.is_file()):
        return None
    row = {one: number for number, one in enumerate(pd.read_parquet(table)["id"])}
    if not row.keys() >= set(ids):
        return None
    return Embedding(torch.from_numpy(np.load(vectors)[[row[one] for one in ids]]))
