"""``run`` trains and evaluates one experiment; ``train`` does so into a run folder, without a notebook."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workbench.io import only_writer, write_json
from workbench.progress import choice
from workbench.records import require
from workbench.registry import door, merge
from workbench.runs import store as runs
from workbench.runs.about import ABOUT, About, add_about, read_about
from workbench.runs.build import Prepared, prepare
from workbench.runs.config import FIELDS, Config
from workbench.runs.environment import code_hash, environment
from workbench.runs.measure import calibrate, measure, validate
from workbench.runs.model import Model
from workbench.runs.resolve import chooser
from workbench.runs.result import OpenRun
from workbench.training import checkpoint, computing_threads, deterministic_algorithms, fit
from workbench.training.loop import History
from workbench.training.processes import rank
from workbench.training.settings import changed


@door("train", "settings stand in the configuration: train(Config(objective='ditm'))")
def run(
    experiment: Config | Mapping[str, Any] | Prepared,
    *,
    folder: str | Path | None = None,
    name: str = "",
    tags: Sequence[str] = (),
    note: str = "",
    progress: bool = True,
) -> OpenRun:
    """Load, build, train, evaluate.

    Args:
        experiment: the configuration, its fields by name, or what ``prepare`` made of it.
        folder: where checkpoints go; an unfinished run that lies there is resumed if it was made from
            the same. ``None`` keeps everything in memory.
        name: how tables call the run; empty = the name that its folder has, else its objective.
        tags: words by which lists are filtered.
        note: any text.
        progress: show a bar where somebody can see it.

    Returns:
        The opened run, evaluated on the test split with the weights of the best validation epoch.

    Raises:
        FileNotFoundError, ImportError, ValueError: as ``prepare``.
        ValueError: what lies in the folder was made from something else; the message names what differs.
        BlockingIOError: another process writes into the folder.
    """
    with choice(shown=progress):
        return _run(experiment, folder, About(name, tags, note))


def _run(
    experiment: Config | Mapping[str, Any] | Prepared, folder: str | Path | None, about: About
) -> OpenRun:
    """See ``run``."""
    experiment = Config(**experiment) if isinstance(experiment, Mapping) else experiment
    ready = experiment if isinstance(experiment, Prepared) else prepare(experiment)
    config, model, history = ready.config, ready.model, []
    settings, metrics = config.training, config.objective.metrics
    position = checkpoint.TrainingPosition(Path(folder), made_from(ready)) if folder else None
    # with another number of threads the rest of a run would add in another order than its beginning
    threads = settings.threads or (position.threads if position else 0)
    with deterministic_algorithms(settings.deterministic), computing_threads(threads):
        if ready.train is not None:
            torch.set_rng_state(ready.random_state)
            with only_writer(folder) if folder and not rank() else nullcontext():
                history = _finished(position, model) or fit(
                    model.pair, model.objective, ready.train,
                    partial(validate, model, ready.val, settings.select, metrics), settings,
                    smaller=chooser(settings.select, metrics).smaller_is_better, position=position,
                )  # fmt: skip
        calibrate(model, ready.val)
        image, text = model.embed(ready.test)
        measurements, values, best = measure(
            model, ready.test.split, image, text, metrics=metrics, judge=config.objective.judge
        )
        threads = torch.get_num_threads()
    about = read_about(Path(folder)).merged(about) if folder else about
    name = about.name or config.objective.name
    return OpenRun(
        name, ready.test.split, lambda: (model, image, text), None, config.as_dict(),
        measurements, history, values, best=best, threads=threads, about=about,
    )  # fmt: skip


def _finished(position: checkpoint.TrainingPosition | None, model: Model) -> History:
    """The history of a run that ended before, whose weights the model then gets; else nothing."""
    if position is None or not position.finished:
        return []
    saved, weights = position.last(), position.folder / runs.MODEL
    require(
        weights.is_file(),
        f"{position.folder} ended, and its {runs.MODEL} is not there; train in a new folder",
        FileNotFoundError,
    )
    checkpoint.load_weights(model.pair, model.objective, checkpoint.read(weights)[0])
    return list(saved[1]["history"]) if saved else []


def made_from(ready: Prepared) -> dict[str, Any]:
    """What a run is made from, as JSON values: every field of its configuration, its splits and the code."""
    sources = {"train": ready.train, "val": ready.val, "test": ready.test}
    splits = {name: source.split.identity() for name, source in sources.items() if source}
    return {**ready.config.as_dict(), "split": splits, "code": code_hash()[:16]}


def train(
    ready: Prepared,
    *,
    out: Path | str = "",
    resume: bool = False,
    about: About | None = None,
    progress: bool = True,
) -> Path:
    """Run an experiment and leave a run folder.

    Args:
        ready: what ``prepare`` made of the configuration.
        out: the run folder; empty makes ``runs/train/<run id>``.
        resume: go on from the checkpoint in ``out``; a run that was killed before its first one begins anew.
        about: name, tags and note of the run, over those that it has.
        progress: show a bar where somebody watches.

    Returns:
        The run folder.

    Raises:
        FileExistsError: ``out`` holds a checkpoint and ``resume`` was not asked for.
        FileNotFoundError: ``resume`` was asked for and ``out`` holds no run that trains.
        ValueError: several processes were started (``torchrun``) and no folder was named, or the checkpoint
            was made from something else.
        BlockingIOError: another process writes into the folder.
    """
    check_folder(out, resume)
    if rank():
        run(ready, folder=out, progress=False)
        return Path(out)
    folder = Path(out) if str(out) else runs.new_run("train", ready.config.as_dict())
    with only_writer(folder):
        # while this process waited or prepared, another may have written here
        check_folder(out, resume)
        # refused before anything is written, so that the run stays as it was
        checkpoint.TrainingPosition(folder, made_from(ready)).last()
        add_about(folder, about or About())
        write_json(folder / runs.GIVEN, ready.given)
        write_json(folder / runs.PARAMS, ready.config.as_dict())
        began, status, threads = time.perf_counter(), "interrupted", ready.config.training.threads
        try:
            opened = run(ready, folder=folder, progress=progress)
            threads = opened.threads
            opened.save(folder)
            status = "ok"
        except Exception:
            status = "failed:train"
            raise
        finally:
            seconds = round(time.perf_counter() - began, 2)
            machine = environment(ready.config.training.seed, threads)
            write_json(folder / runs.ENV, {**machine, "seconds": seconds})
            runs.write_status(folder, status)
    return folder


def check_folder(out: Path | str, resume: bool) -> None:
    """Refuse to train over an earlier run by accident, or to resume what is not there, as ``train`` does."""
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
        not resume or there or _begun(out),
        f"nothing to resume in {str(out) or 'no folder'}; name the run folder with --out",
        FileNotFoundError,
    )


def _begun(out: Path | str) -> bool:
    """Whether a training was killed in a folder before its first checkpoint, maybe before its first file."""
    if not str(out) or not Path(out).is_dir():
        return False
    names = {path.name for path in Path(out).iterdir()}
    visible = {name for name in names if not name.startswith(".")}
    return visible <= {ABOUT, runs.GIVEN, runs.PARAMS, runs.ENV, runs.STATUS}


def resumed(out: Path | str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the run in a folder, from which it goes on.

    Args:
        out: the run folder.
        typed: fields that were given once more; each must be as it was, unless a run may change it.

    Returns:
        The fields that the run was given, with the typed ones over them.

    Raises:
        FileNotFoundError: the folder holds no fields, and none are typed.
        ValueError: the folder holds a run of another kind, or a field was another; the message names it.
    """
    earlier = runs.load(Path(out) / runs.PARAMS)
    begun = (Path(out) / runs.GIVEN).is_file()
    require(
        earlier or begun or typed,
        f"{out} holds no fields of a run; give them again, or leave out --resume to train with the defaults",
        FileNotFoundError,
    )
    require(
        earlier.keys() <= FIELDS.keys(),
        f"{out} holds no run of `workbench train`; the command that made it goes on with it",
    )
    differ = changed(earlier, merge(earlier, typed)) if earlier else {}
    require(
        not differ,
        f"{out} was made with other settings ({'; '.join(differ.values())}); choose a new folder or leave "
        "them out",
    )
    return merge(runs.load(Path(out) / runs.GIVEN) if begun else earlier, typed)
