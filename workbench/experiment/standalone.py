"""Train and evaluate without a notebook: the same experiment, the same run folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

from workbench import experiment
from workbench.experiment import runs
from workbench.experiment.evaluation import ensemble, measure
from workbench.experiment.running import Prepared
from workbench.records import Measurement
from workbench.training import checkpoint


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
        ValueError: several processes were started (``torchrun``) and no folder was named.
    """
    check_folder(out, resume)
    if not leads():
        experiment.run(ready, folder=out, progress=False)
        return Path(out)
    folder = runs.folder("train", out, ready.config.as_dict())
    began = time.perf_counter()
    status = "killed"
    try:
        result = experiment.run(ready, folder=folder, progress=progress)
        result.save(folder)
        status = "ok"
    except Exception:
        status = "failed:train"
        raise
    finally:
        runs.write_json(
            folder / runs.ENV,
            {**runs.environment(ready.config.seed), "seconds": round(time.perf_counter() - began, 2)},
        )
        runs.write_status(folder, status)
    return folder


def leads() -> bool:
    """Whether this process writes the run folder: the only one, or the first of those that ``torchrun``
    started.
    """
    return os.environ.get("RANK", "0") == "0"


def check_folder(out: Path | str, resume: bool) -> None:
    """Refuse to train over an earlier run by accident, or to resume what is not there.

    Raises:
        FileExistsError, FileNotFoundError, ValueError: as for ``train``.
    """
    if not str(out) and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError("several processes write one run; name its folder with --out")
    there = bool(str(out)) and (Path(out) / checkpoint.LAST).is_file()
    if there and not resume:
        raise FileExistsError(
            f"{out} holds a checkpoint; say --resume to go on from it, or choose another folder"
        )
    if resume and not there:
        raise FileNotFoundError(
            f"nothing to resume in {str(out) or 'no folder'}; name the run folder with --out"
        )


def evaluate_run(*folders: Path | str, split: str = "test") -> list[Measurement]:
    """Measure the model of a finished run again, on any split of its data; of several runs, the mean of their
    scores.

    Args:
        folders: the run folders.
        split: ``train``, ``val`` or ``test``.

    Raises:
        FileNotFoundError: a folder holds no checkpoint.
        ValueError: the runs read different images or captions.
    """
    models = [experiment.load_model(folder) for folder in folders]
    configs = [experiment.Config.read(Path(folder) / "config.json") for folder in folders]
    splits = [experiment.load_split(config, split) for config in configs]
    members = [
        (model, model.source(one, every_signal=False)) for model, one in zip(models, splits, strict=True)
    ]
    return measure(ensemble(members), splits[0], metrics=configs[0].metrics)
