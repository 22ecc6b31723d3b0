"""Training: one experiment, in memory or into a run folder."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workbench.io import only_writer, resolve_output, write_json
from workbench.progress import showing
from workbench.records import require
from workbench.registry import check_arguments, merge
from workbench.runs import store as runs
from workbench.runs.about import ABOUT, About, add_about, read_about
from workbench.runs.build import Experiment, prepare
from workbench.runs.config import Config
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.environment import code_hash, environment
from workbench.runs.kinds import Evaluation, Training, read_kind
from workbench.runs.measure import calibrate, measure, validate
from workbench.runs.resolve import choosing_metric
from workbench.runs.result import Result
from workbench.training import checkpoint, computing_threads, deterministic_algorithms, fit
from workbench.training.loop import History
from workbench.training.processes import process_rank
from workbench.training.settings import changed_settings


@check_arguments("train", "settings stand in the configuration: train(Config(objective='ditm'))")
def train(
    experiment: Config | Mapping[str, Any] | Experiment,
    *,
    folder: str | Path | None = None,
    name: str = "",
    tags: Sequence[str] = (),
    note: str = "",
    progress: bool = True,
) -> Result:
    """Train a model and evaluate it, in memory or into a run folder.

    Args:
        experiment: the configuration, its fields by name, or what ``prepare`` made of it.
        folder: of the run; an unfinished run that lies there is resumed if it was made from the same. In the
            folder of a notebook, which has parameters of its own, checkpoints are kept, and ``save`` of the
            result writes the rest. ``None`` keeps everything in memory.
        name: how tables call the run; empty = the name that its folder has, else its objective.
        tags: words by which lists are filtered.
        note: any text.
        progress: show a bar where somebody can see it.

    Returns:
        The result, evaluated on the test split with the weights of the best validation epoch.

    Raises:
        FileNotFoundError, ImportError, ValueError: as ``prepare``.
        ValueError: what lies in the folder was made from something else; the message names what differs.
        BlockingIOError: another process writes into the folder.
    """
    about = About(name, tags, note)
    with showing(shown=progress and not process_rank()):
        ready = experiment if isinstance(experiment, Experiment) else prepare(experiment)
        place = resolve_output(folder) if folder else None
        if place is None or process_rank() or _is_of_notebook(place):
            return _train_and_measure(ready, place, about)
        return _train_into(ready, place, about)


def _is_of_notebook(folder: Path) -> bool:
    """Return whether a folder has parameters that are no fields of a configuration."""
    return not runs.load(folder / runs.PARAMS).keys() <= Config.model_fields.keys()


def _train_into(ready: Experiment, folder: Path, about: About) -> Result:
    """Train into a folder, which is a whole run afterwards, however training ends."""
    kind = read_kind(folder)
    require(
        not isinstance(kind, Evaluation),
        f"{folder} holds an evaluation; choose another folder",
        FileExistsError,
    )
    with only_writer(folder):
        # raises before anything is written, so that a run of something else stays as it was
        checkpoint.TrainingPosition(folder, provenance(ready)).last()
        add_about(folder, about)
        write_json(folder / runs.GIVEN, ready.given)
        write_json(folder / runs.PARAMS, ready.config.as_dict())
        began = time.perf_counter()
        status, threads = "interrupted", ready.config.threads
        try:
            result = _train_and_measure(ready, folder, about)
            threads = result.threads
            result.save(folder)
            status = "ok"
        except Exception:
            status = "failed:train"
            raise
        finally:
            seconds = round(time.perf_counter() - began, 2)
            machine = environment(ready.config.seed, threads)
            write_json(folder / runs.ENV, {**machine, "seconds": seconds})
            runs.write_status(folder, status)
    return replace(result, folder=folder)


def _train_and_measure(ready: Experiment, folder: Path | None, about: About) -> Result:
    """Train and evaluate, with checkpoints in a folder if there is one."""
    config, model = ready.config, ready.model
    history: History = []
    position = checkpoint.TrainingPosition(folder, provenance(ready)) if folder else None
    # with another number of threads the rest of a run would add in another order than its beginning
    threads = config.threads or (position.threads if position else 0)
    with deterministic_algorithms(config.deterministic), computing_threads(threads):
        if ready.train is not None:
            torch.set_rng_state(ready.random_state)
            validated = partial(validate, model, ready.val, config.select, config.metrics)
            smaller = choosing_metric(config.select, config.metrics).smaller_is_better
            with only_writer(folder) if folder and not process_rank() else nullcontext():
                history = _finished_history(position, model) or fit(
                    model.pair,
                    model.objective,
                    ready.train,
                    validated,
                    config,
                    smaller=smaller,
                    position=position,
                )
        calibrate(model, ready.val)
        image, text = model.embed(ready.test)
        measurements, values, best = measure(
            model, ready.test.split, image, text, metrics=config.metrics, judge=config.judge
        )
        threads = torch.get_num_threads()
    about = read_about(folder).merge(about) if folder else about
    return Result(
        about.name or config.objective.name,
        ready.test.split,
        lambda: (model, image, text),
        run=Training(config.as_dict()),
        measurements=measurements,
        history=history,
        values=values,
        best=best,
        threads=threads,
        about=about,
    )


def _finished_history(position: checkpoint.TrainingPosition | None, model: TrainedModel) -> History:
    """Return the history of a run that ended before, whose weights the model then gets; else nothing."""
    if position is None or not position.is_finished:
        return []
    saved, weights = position.last(), position.folder / runs.MODEL
    require(
        weights.is_file(),
        f"{position.folder} ended, and its {runs.MODEL} is not there; train in a new folder",
        FileNotFoundError,
    )
    checkpoint.load_weights(model.pair, model.objective, checkpoint.read(weights)[0])
    return list(saved[1]["history"]) if saved else []


def provenance(ready: Experiment) -> dict[str, Any]:
    """Return what a run is made from, as JSON values: every field of its configuration, its splits and the
    code.
    """
    sources = {"train": ready.train, "val": ready.val, "test": ready.test}
    splits = {name: source.split.identity() for name, source in sources.items() if source}
    return {**ready.config.as_dict(), "split": splits, "code": code_hash()[:16]}


def check_folder(out: Path | str, resume: bool) -> None:
    """Raise if a command would train over an earlier run by accident, or resume what is not there.

    Args:
        out: the run folder that was named; empty = none.
        resume: whether to go on from the checkpoint there.

    Raises:
        FileExistsError: it holds a checkpoint, and nobody asked to resume.
        FileNotFoundError: it holds no run that trains.
        ValueError: several processes were started (``torchrun``) and no folder was named.
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
        not resume or there or _was_begun(out),
        f"nothing to resume in {str(out) or 'no folder'}; name the run folder with --out",
        FileNotFoundError,
    )


def _was_begun(out: Path | str) -> bool:
    """Return whether a training was killed in a folder before its first checkpoint, maybe before its first
    file.
    """
    if not str(out) or not Path(out).is_dir():
        return False
    names = {path.name for path in Path(out).iterdir()}
    visible = {name for name in names if not name.startswith(".")}
    return visible <= {ABOUT, runs.GIVEN, runs.PARAMS, runs.ENV, runs.STATUS}


def resumed_fields(out: Path | str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the run in a folder, from which it goes on.

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
        not _is_of_notebook(Path(out)),
        f"{out} holds no run of `workbench train`; the command that made it goes on with it",
    )
    differ = changed_settings(earlier, merge(earlier, typed)) if earlier else {}
    require(
        not differ,
        f"{out} was made with other settings ({'; '.join(differ.values())}); choose a new folder or leave "
        "them out",
    )
    return merge(runs.load(Path(out) / runs.GIVEN) if begun else earlier, typed)
