"""Run folders without a notebook: train into one, measure its model again, open several to look at them."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from workbench import metrics
from workbench.io import ChecksumError, only_writer, write_json
from workbench.metrics import hierarchy
from workbench.records import Embedding, Measurement, Split, require
from workbench.runs import store as runs
from workbench.runs.build import (
    Prepared,
    kept_config,
    load_model,
    load_split,
    load_target,
    made_from,
    run,
)
from workbench.runs.config import Config
from workbench.runs.environment import environment
from workbench.runs.evaluate import ensemble, evaluate, measure
from workbench.runs.model import Model
from workbench.runs.resolve import resolve
from workbench.runs.result import Contents, OpenRun
from workbench.runs.store import verify_files
from workbench.runs.target import Target
from workbench.training import checkpoint
from workbench.training.processes import leads

# a name says no more settings than these
MOST_DIFFER = 2


def train(ready: Prepared, *, out: Path | str = "", resume: bool = False, progress: bool = True) -> Path:
    """Run an experiment and leave a run folder.

    Args:
        ready: what ``prepare`` made of the configuration.
        out: the run folder; empty makes ``runs/train/<run id>``.
        resume: go on from the checkpoint in ``out``.
        progress: show a bar where somebody watches.

    Returns:
        The run folder.

    Raises:
        FileExistsError: ``out`` holds a checkpoint and ``resume`` was not asked for.
        FileNotFoundError: ``resume`` was asked for and there is no checkpoint.
        ValueError: several processes were started (``torchrun``) and no folder was named, or the checkpoint
            was made from something else.
        BlockingIOError: another process writes into the folder.
    """
    check_folder(out, resume)
    if not leads():
        run(ready, folder=out, progress=False)
        return Path(out)
    folder = Path(out) if str(out) else runs.new_run("train", ready.config.as_dict())
    with only_writer(folder):
        # while this process waited or prepared, another may have written here
        check_folder(out, resume)
        # refused before anything is written, so that the run stays as it was
        checkpoint.TrainingPosition(folder, made_from(ready)).last()
        write_json(folder / runs.PARAMS, ready.config.as_dict())
        return _train(ready, folder, progress)


def _train(ready: Prepared, folder: Path, progress: bool) -> Path:
    """Train and save, and say in the folder how it ended."""
    began, status = time.perf_counter(), "interrupted"
    try:
        run(ready, folder=folder, progress=progress).save(folder)
        status = "ok"
    except Exception:
        status = "failed:train"
        raise
    finally:
        seconds = round(time.perf_counter() - began, 2)
        write_json(folder / runs.ENV, {**environment(ready.config.training.seed), "seconds": seconds})
        runs.write_status(folder, status)
    return folder


def check_folder(out: Path | str, resume: bool) -> None:
    """Refuse to train over an earlier run by accident, or to resume what is not there.

    Raises:
        FileExistsError, FileNotFoundError, ValueError: as for ``train``.
    """
    require(
        str(out) or int(os.environ.get("WORLD_SIZE", "1")) <= 1,
        "several processes write one run; name its folder with --out",
    )
    there = bool(str(out)) and (Path(out) / checkpoint.LAST).is_file()
    require(
        not there or resume,
        f"{out} holds a checkpoint; say --resume to go on from it, or choose another folder",
        FileExistsError,
    )
    require(
        not resume or there,
        f"nothing to resume in {str(out) or 'no folder'}; name the run folder with --out",
        FileNotFoundError,
    )


def evaluate_run(
    *folders: Path | str, split: str = "test", target: Target | None = None
) -> list[Measurement]:
    """Measure the model of a finished run again, on any split of its data or on other data; of several runs,
    the mean of their scores. Nothing is stored.

    Args:
        folders: the run folders.
        split: ``train``, ``val`` or ``test``, of the runs' own data.
        target: other data.

    Raises:
        FileNotFoundError: a folder holds no checkpoint.
        ValueError: the runs read different images or captions, or cannot read the other data.
    """
    configs = [kept_config(Path(folder)) for folder in folders]
    splits = [load_target(one, target) if target else load_split(one, split) for one in configs]
    pairs = zip(map(load_model, folders), splits, strict=True)
    members = [(model, model.source(one, every_signal=False)) for model, one in pairs]
    wanted = configs[0].objective
    required, optional = ((), wanted.metrics) if target else (wanted.metrics, ())
    asked: dict[str, Any] = {"metrics": required, "optional": optional, "judge": wanted.judge}
    return measure(ensemble(members), splits[0], **asked)[0]


def evaluate_on(folder: Path | str, target: Target) -> OpenRun:
    """Measure the model of a finished run on other data, and keep what came out beside the run, in the folder
    ``evaluations`` and there under the name of the target.

    Captions that form chains are measured by HierarCaps' protocols as well, with the empty text as the root.
    A metric that the run asks for and the other data cannot be measured by is named in ``notes``.

    Args:
        folder: the run folder.
        target: the other data.

    Raises:
        FileNotFoundError: the folder holds no checkpoint, or the data are not there.
        ValueError: the model cannot read the data, see ``load_target``.
    """
    config = kept_config(Path(folder))
    model, split = load_model(folder), load_target(config, target)
    source = model.source(split, every_signal=False)
    wanted = config.objective
    measurements, values, *embedded = evaluate(model, source, optional=wanted.metrics, judge=wanted.judge)
    measurements += _in_chains(model, split, *embedded)
    known = {m.key.metric for m in measurements}
    left = [name for name in wanted.metrics if metrics.load(name).name not in known]
    notes = (f"not measured, since {split.name} has no judgements for it: {', '.join(left)}",) if left else ()
    one = OpenRun(
        wanted.name, replace(split, notes=(*split.notes, *notes)), partial(Contents, model, *embedded),
        Path(folder), config.as_dict(), measurements, values=values, target=target,
    )  # fmt: skip
    one.save_beside(folder)
    return one


def _in_chains(model: Model, split: Split, image: Embedding, text: Embedding) -> list[Measurement]:
    if split.level is None or split.chain is None:
        return []
    root = model.embed_texts([""]).mean[0]
    return hierarchy.hierarchy_scores(
        hierarchy.Chains.of(split, image.mean.numpy(), text.mean.numpy(), root.numpy())
    )


def open_runs(
    names: Sequence[str] = (),
    *,
    root: str = "runs",
    images: int = 0,
    device: str = "cpu",
    on: Mapping[str, Any] | None = None,
    features: str = "",
) -> list[OpenRun]:
    """Open several runs to look at them side by side.

    Args:
        names: run folders, or run ids below ``root``; ``""`` is the shipped encoder of the embedded world,
            and no name at all is that one alone.
        root: where runs lie.
        images: the first so many images of the test split; 0 = all that the run was measured on.
        device: where the weights go.
        on: other data to open the runs on, as ``Target.of`` reads it, e.g. ``{"data": "cxc"}``; none = their
            own test split.
        features: the frozen backbone whose features they read there; empty = each its own.

    Returns:
        One opened run each, named by its objective; where an objective comes twice, also by the one or two
        settings in which its runs differ, else by its run id. Runs of one data set share one split.

    Raises:
        FileNotFoundError: no such run; one without a checkpoint raises it when its model is asked for.
        ValueError: the runs were measured on different images or captions, or cannot read the other data.
    """
    target = Target.of(on) if on else None
    opened = [_open(name, root, images, device, target, features) for name in names or ("",)]
    first = opened[0].split
    for one in opened[1:]:
        require(
            (one.split.image_ids, one.split.caption_ids) == (first.image_ids, first.caption_ids),
            f"{opened[0].name} and {one.name} were measured on different images or captions; "
            "open runs of one data set, with the same number of images",
        )
    return [replace(one, split=first, name=name) for one, name in zip(opened, _names(opened), strict=True)]


def _names(opened: Sequence[OpenRun]) -> list[str]:
    """Names that tell open runs apart: where an objective comes twice, with the few settings in which its
    runs differ, else with the run id.
    """
    made = []
    for number, one in enumerate(opened, 1):
        alike = [other.config for other in opened if other.name == one.name]
        differ = [field for field in one.config if any(c.get(field) != one.config[field] for c in alike)]
        same = sum(all(config.get(field) == one.config[field] for field in differ) for config in alike)
        if len(alike) == 1:
            ending = ""
        elif same == 1 and len(differ) <= MOST_DIFFER:
            ending = "".join(f", {field}={one.config[field]}" for field in differ)
        else:
            ending = f" {one.folder.name if one.folder else number}"
        made.append(one.name + ending)
    return made


def _open(name: str, root: str, images: int, device: str, target: Target | None, features: str) -> OpenRun:
    found = runs.find(name, root) if name else None
    config = kept_config(found.folder) if found else resolve(Config(start="scenes"))
    config = config.replace(test_images=images) if images else config
    config = config.replace(features=features) if features else config
    if target:
        split = load_target(config, replace(target, images=images or target.images))
    else:
        split = load_split(config, "test")
    folder, title = (found.folder, config.objective.name) if found else (None, "pre-trained")
    load = cache(lambda: _contents(folder, split, device, own=target is None))
    one = OpenRun(title, split, load, folder, config.as_dict(), target=target)
    if found is None:
        return one
    one = replace(one, history=found.results.get("history", ()))
    place = found.folder / runs.EVALUATIONS / target.name if target else found.folder
    results = found.evaluations.get(target.name, {}) if target else found.results
    kept = runs.ByQuery.read(place)
    # of a part of the images, other numbers are true
    if kept is None or (kept.image_ids, kept.caption_ids) != (split.image_ids, split.caption_ids):
        return one
    measured = [Measurement.of(contract) for contract in results.get("contracts", {}).values()]
    return replace(one, measurements=measured, values=kept.values)


def _contents(folder: Path | None, split: Split, device: str, own: bool = True) -> Contents:
    """The model, and the embeddings that the run kept of its own data; where they lack an item, or something
    that the objective's scores read, the split is embedded.
    """
    model, kept = load_model(folder or "", device=device), []
    if folder and own and not model.objective.inputs:
        sides = (("image", split.image_ids), ("text", split.caption_ids))
        kept = [found for side, ids in sides if (found := _of_side(model, folder, side, ids))]
    return Contents(
        model, *(kept if len(kept) == 2 else model.embed(model.source(split, every_signal=False)))
    )


def _of_side(model: Model, folder: Path, side: str, ids: Sequence[str]) -> Embedding | None:
    table, vectors = (folder / "embeddings" / f"{side}{end}" for end in ("_ids.parquet", ".npy"))
    if not (table.is_file() and vectors.is_file()):
        return None
    verify_files(folder, table, vectors)
    known, found = pd.Index(pd.read_parquet(table)["id"]), np.load(vectors)
    shape = (len(known), model.pair.image.embed_dim)
    require(
        found.shape == shape and np.isfinite(found).all(),
        f"{vectors} holds {found.shape} numbers, expected {shape}, all finite; delete it, the model embeds",
        ChecksumError,
    )
    rows = known.get_indexer(pd.Index(ids))
    return Embedding(torch.from_numpy(found[rows])) if (rows >= 0).all() else None
