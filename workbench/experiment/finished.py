"""Finished runs, opened again: the model, the split it was measured on, and the embeddings that lie in the
run folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from workbench.experiment import runs
from workbench.experiment.config import Config
from workbench.experiment.opened import Contents, OpenRun
from workbench.experiment.running import load_model, load_split
from workbench.records import Embedding, Measurement, Split

SHIPPED = "pre-trained"


def open_runs(
    names: Sequence[str] = (), *, root: str = "runs", images: int = 0, device: str = "cpu"
) -> list[OpenRun]:
    """Open several runs to look at them side by side.

    Args:
        names: run folders, or run ids below ``root``; ``""`` is the shipped encoder of the embedded world,
            and no name at all is that one alone.
        root: where runs lie.
        images: the first so many images of the test split; 0 = all that the run was measured on.
        device: where the weights go.

    Returns:
        One opened run each, named by its objective, and by its run id as well where an objective comes twice.
        Runs of one data set share one split.

    Raises:
        FileNotFoundError: no such run; one without a checkpoint raises it when its model is asked for.
        ValueError: the runs were measured on different images or captions.
    """
    opened = [_open(name, root, images, device) for name in names or ("",)]
    first = opened[0].split
    for one in opened[1:]:
        if (one.split.image_ids, one.split.caption_ids) != (first.image_ids, first.caption_ids):
            raise ValueError(
                f"{opened[0].name} and {one.name} were measured on different images or captions; "
                "open runs of one data set, with the same number of images"
            )
    twice = {name for name, number in Counter(one.name for one in opened).items() if number > 1}
    endings = [one.folder.name if one.folder else str(number) for number, one in enumerate(opened, 1)]
    names = [f"{one.name} {end}" if one.name in twice else one.name for one, end in zip(opened, endings)]
    return [replace(one, split=first, name=name) for one, name in zip(opened, names, strict=True)]


def _open(name: str, root: str, images: int, device: str) -> OpenRun:
    if not name:
        config = Config(test_images=images)
        split = load_split(config, "test")
        load = cache(lambda: _contents(None, split, device))
        return OpenRun(SHIPPED, split, load, config=config.as_dict())
    run = runs.find(name, root)
    if not (run.folder / runs.CONFIG).is_file():
        raise FileNotFoundError(f"{run.folder} keeps no model; open the folder of a finished training run")
    config = Config.read(run.folder / runs.CONFIG)
    config = config.replace(test_images=images) if images else config
    split, kept = load_split(config, "test"), runs.ByQuery.read(run.folder)
    load = cache(lambda: _contents(run.folder, split, device))
    history = run.results.get("history", ())
    one = OpenRun(config.objective, split, load, run.folder, config.as_dict(), history=history)
    # of a part of the images, other numbers are true
    if kept is None or (kept.image_ids, kept.caption_ids) != (split.image_ids, split.caption_ids):
        return one
    measured = [Measurement.of(contract) for contract in run.results.get("contracts", {}).values()]
    return replace(one, measurements=measured, values=kept.values)


def _contents(folder: Path | None, split: Split, device: str) -> Contents:
    """The model, and the embeddings that the run kept; where they lack an item, or something that the
    objective's scores read, the split is embedded.
    """
    model, kept = load_model(folder or "", device=device), []
    if folder and not model.objective.reads:
        sides = (("image", split.image_ids), ("text", split.caption_ids))
        kept = [found for side, ids in sides if (found := _of_side(folder, side, ids))]
    return Contents(
        model, *(kept if len(kept) == 2 else model.embed(model.source(split, every_signal=False)))
    )


def _of_side(folder: Path, side: str, ids: Sequence[str]) -> Embedding | None:
    table, vectors = folder / "embeddings" / f"{side}_ids.parquet", folder / "embeddings" / f"{side}.npy"
    if not (table.is_file() and vectors.is_file()):
        return None
    rows = pd.Index(pd.read_parquet(table)["id"]).get_indexer(pd.Index(ids))
    return Embedding(torch.from_numpy(np.load(vectors)[rows])) if (rows >= 0).all() else None
