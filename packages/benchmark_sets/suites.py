"""Several models on several benchmarks: each pair is a cell, a run folder of its own.

``suite`` measures the cells that are not there yet. A cell is there if its model, its data and the number of
bootstrap rounds are those that it was measured with; so a suite that was killed goes on, and ends as it would
have ended. What cannot be measured is said in its cell, and the others are measured.
"""

import inspect
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
from torch import nn

import workbench as wb
from benchmark_sets.cells import Entry, Loaded, leading_numbers, read_entry
from benchmark_sets.vector_cache import CachedVectors, with_cached_vectors
from workbench.execution import executors, grid
from workbench.execution.notebook import FAILED, OK, Outcome
from workbench.formatting import format_count, format_some
from workbench.io import content_stamp, json_value, resolve_output, write_json
from workbench.metrics.intervals import ROUNDS
from workbench.progress import Task
from workbench.records import require
from workbench.records.measurement import contracts_of, unit_of
from workbench.registry import did_you_mean
from workbench.runs import store
from workbench.runs.model import Model

CELL = "cell.json"
ABOUT = "suite.json"
# numbers of a model: its size and its speed
MODELS = "models"
BETWEEN = "--"
# what a model may be opened with, beside itself
HOW = ("pretrained", "random_weights", "prompts", "truncate_dim", "trust_remote_code")
Status = Literal["ok", "missing", "failed"]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Subject:
    """A model of a suite.

    Args:
        name: how tables call it.
        model: as ``open_model`` takes it.
        options: of ``open_model``.
    """

    name: str
    model: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the model as JSON values; an object by its name."""
        named = isinstance(self.model, str | Path)
        return {"model": str(self.model) if named else self.name, **self.options}


class Opened(NamedTuple):
    """A model of a suite that is open.

    Args:
        model: takes its vectors from the cache.
        vectors: counts what is encoded.
        known: what it is known by; empty = what it computes may have changed.
    """

    model: Model
    vectors: CachedVectors
    known: str


@dataclass(frozen=True)
class Cell:
    """One model on one benchmark.

    Args:
        model, benchmark: their names.
        tab: of the page, of ``cells.TABS``.
        status: ``"missing"`` = data are not there, ``"failed"`` = the model or the data cannot be read.
        folder: a run folder.
        error: why there are no numbers, in a line.
        made_from: what the numbers depend on, by name.
        seconds: that measuring took.
    """

    model: str
    benchmark: str
    tab: str
    status: Status
    folder: Path
    error: str = ""
    made_from: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def results(self) -> dict[str, Any]:
        """Return what ``results.json`` holds; nothing where there are no numbers."""
        return store.load(self.folder / store.RESULTS) if self.status == "ok" else {}

    def write(self) -> None:
        """Write the cell beside its numbers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / CELL, {**asdict(self), "folder": ""})


@dataclass(frozen=True)
class Suite:
    """Models on benchmarks.

    Args:
        folder: that holds the cells.
        cells: in the order of models and benchmarks.
        models: by name, ``parameters``, ``bytes``, ``images_per_second``, ``texts_per_second`` and
            ``random_weights``, as far as they are known, and ``encoded`` of the last call.
    """

    folder: Path
    cells: Sequence[Cell]
    models: Mapping[str, Mapping[str, Any]]

    def table(self, *, every: bool = True) -> pd.DataFrame:
        """Return a row for each number, and one for each cell without numbers.

        Args:
            every: all numbers, else the leading ones of each benchmark.
        """
        rows: list[dict[str, Any]] = []
        for cell in self.cells:
            about = {"model": cell.model, "benchmark": cell.benchmark, "tab": cell.tab, "status": cell.status}
            pairs = dict(contracts_of(cell.results()))
            for label in pairs if every else leading_numbers(list(pairs), cell.tab):
                rows.append(
                    {**about, "number": label, **_facts(label, pairs[label]), "folder": str(cell.folder)}
                )
            if not pairs:
                rows.append({**about, "error": cell.error, "folder": str(cell.folder)})
        columns = ["model", "benchmark", "tab", "status", "number", *FACTS, "error", "folder"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        table = self.table(every=False).drop(columns=["tab", "folder"]).dropna(axis=1, how="all")
        return "\n".join([table.to_string(index=False), *self.problems(), self.summary()])

    def summary(self) -> str:
        """Count the cells in a sentence."""
        done = sum(cell.status == "ok" for cell in self.cells)
        counts = format_count(len(self.models), "model"), format_count(done)
        benchmarks = format_count(len({cell.benchmark for cell in self.cells}), "benchmark")
        return f"{counts[0]} on {benchmarks}: {counts[1]} of {format_count(len(self.cells))} cells measured."

    def problems(self) -> list[str]:
        """Describe what could not be measured and why, a line a reason."""
        cells: dict[str, list[Cell]] = {}
        for cell in self.cells:
            if cell.error:
                cells.setdefault(cell.error, []).append(cell)
        lines = []
        for error, alike in cells.items():
            models = list(dict.fromkeys(cell.model for cell in alike))
            benchmarks = list(dict.fromkeys(cell.benchmark for cell in alike))
            lines.append(f"{format_some(models)} on {format_some(benchmarks)}: {error}")
        for name, about in self.models.items():
            lines += [f"{name} has random weights"] if about.get("random_weights") else []
        return lines


# of a number, in the table
FACTS = ("value", "low", "high", "chance", "face", "queries", "gallery", "unit")


def _facts(label: str, contract: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the table has of a number."""
    facts = {name: contract.get(name) for name in FACTS}
    return facts | {"face": unit_of(label, contract)}


def read_subjects(models: Sequence[Any]) -> list[Subject]:
    """Read the models of a suite.

    Args:
        models: whatever ``open_model`` opens, or mappings of ``model``, maybe ``name``, and options.

    Raises:
        ValueError: two models have one name. TypeError: an option that ``open_model`` does not take.
    """
    subjects = []
    for named in models:
        options = dict(named) if isinstance(named, Mapping) else {"model": named}
        require("model" in options, f"{options!r:.100} names no model; give model")
        model, name = options.pop("model"), str(options.pop("name", ""))
        for option in options:
            require(
                option in HOW,
                f"a model has no option {option!r}; {did_you_mean(option, list(HOW))}",
                TypeError,
            )
        subjects.append(Subject(name or _name_of(model, options), model, options))
    _require_names("models", [subject.name for subject in subjects])
    return subjects


def _name_of(model: Any, options: Mapping[str, Any]) -> str:
    """Return how a model is called that nobody has named."""
    if isinstance(model, str | Path):
        parts = [Path(str(model).rstrip("/")).name, Path(str(options.get("pretrained", ""))).stem]
        return ":".join(filter(None, parts))
    return str(getattr(model, "name", "") or type(model).__name__)


def _require_names(what: str, names: Sequence[str]) -> None:
    """Raise unless there are names, each of which is one folder."""
    require(names, f"a suite needs {what}; name one at least")
    folders: dict[str, str] = {}
    for name in names:
        other = folders.setdefault(_folder_name(name), name)
        require(names.count(name) == 1 and other == name, f"two {what} are called {name!r}; give them names")


def _folder_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).replace(BETWEEN, "-_")


def suite(  # noqa: PLR0913 - each option is one that a person gives by name
    models: Sequence[Any],
    benchmarks: Sequence[Any],
    folder: str | Path = "runs/suite",
    *,
    folders: Mapping[str, str] | None = None,
    rounds: int = ROUNDS,
    devices: Sequence[str] = (),
    executor: str = "local",
    options: Mapping[str, Any] | None = None,
    say: Say = lambda line: None,
) -> Suite:
    """Measure models on benchmarks, and return their numbers in one table.

    Args:
        models: whatever ``open_model`` opens, or mappings of ``model``, ``name`` and options of it.
        benchmarks: data sets, paths, ``KIND:NAME``, or mappings, see ``cells.read_entry``.
        folder: of the suite, which holds a run folder for each cell; one that is there is added to.
        folders: by the name of a data set, where its files are; others are below ``WORKBENCH_DATA``.
        rounds: bootstrap rounds of the intervals; 0 = none.
        devices: several share the models, each in a process of its own; none = as ``use_device`` has chosen.
        executor: ``"local"``, ``"submitit"`` or ``"dask"``, where a job is a model.
        options: of the executor.
        say: is told how each cell ended.

    Raises:
        KeyError, TypeError, ValueError: a benchmark or an option that there is none of, before anything runs.
    """
    subjects = read_subjects(models)
    entries = [read_entry(named, folders or {}) for named in benchmarks]
    _require_names("benchmarks", [entry.name for entry in entries])
    place = resolve_output(folder)
    _write_about(place, subjects, entries)
    jobs = {subject.name: partial(measure_model, subject, entries, place, rounds) for subject in subjects}
    if executor == "local" and len(devices) < 2:
        loaded: dict[str, Any] = {}
        for job in jobs.values():
            job(device=next(iter(devices), ""), loaded=loaded, say=say)
    else:
        _run_jobs(jobs, place, devices, (executor, dict(options or {})), say)
    return read_suite(place)


def _run_jobs(
    jobs: Mapping[str, Callable[..., Outcome]],
    place: Path,
    devices: Sequence[str],
    executor: tuple[str, dict[str, Any]],
    say: Say,
) -> None:
    """Measure each model in a process or a job of its own."""
    with _workers(*executor, place, len(devices)) as pool, Task("suite", len(jobs), "models") as task:
        submit = {}
        for number, (name, job) in enumerate(jobs.items()):
            device = devices[number % len(devices)] if devices else ""
            submit[name] = partial(pool.submit, job, device=device)
        grid.collect(submit, say, task)


@contextmanager
def _workers(name: str, options: dict[str, Any], place: Path, count: int) -> Iterator[Any]:
    """Open what starts jobs: a process for each device here, or the executor of a grid."""
    if name == "local":
        with ProcessPoolExecutor(count, get_context("spawn")) as processes:
            yield processes
        return
    with executors.executor(name, place, options) as pool:
        yield pool


def measure_model(
    subject: Subject,
    entries: Sequence[Entry],
    place: Path,
    rounds: int,
    *,
    device: str = "",
    loaded: dict[str, Any] | None = None,
    say: Say = lambda line: None,
) -> Outcome:
    """Measure one model on all benchmarks.

    Args:
        subject: the model.
        entries: the benchmarks.
        place: folder of the suite.
        rounds: bootstrap rounds.
        device: where the model computes; empty = as chosen.
        loaded: data that were loaded already, by benchmark, to which those of these are added.
        say: is told how each cell ended.
    """
    if device:
        wb.use_device(device)
    began: dict[str, Opened | Exception] = {}
    for entry in entries:
        cell = _measure_cell(subject, entry, place, rounds, began, loaded if loaded is not None else {})
        cell.write()
        say(f"{subject.name} on {entry.name}: {cell.error or cell.status}")
    opened = began.get(subject.name)
    if isinstance(opened, Exception):
        return Outcome(place, "failed:start", FAILED, error="the model cannot be opened")
    if opened is not None:
        _write_model(place, subject, opened.model, opened.vectors)
    return Outcome(place, "ok", OK)


def _measure_cell(
    subject: Subject,
    entry: Entry,
    place: Path,
    rounds: int,
    began: dict[str, Opened | Exception],
    loaded: dict[str, Any],
) -> Cell:
    """Measure a cell, unless it is there; what is wrong becomes its error.

    Args:
        subject: the model.
        entry: the benchmark.
        place: folder of the suite.
        rounds: bootstrap rounds.
        began: the model once it is open, by its name, or the error that keeps it from it.
        loaded: data and their checksum by benchmark, or the error.
    """
    folder = cell_folder(place, subject.name, entry.name)
    cell = partial(Cell, subject.name, entry.name, folder=folder)
    try:
        data, identity = _make_once(loaded, entry.name, partial(_load_data, entry))
    except Exception as error:  # noqa: BLE001 - the other cells are measured
        status: Status = "missing" if isinstance(error, FileNotFoundError) else "failed"
        return cell(entry.tab, status, error=_line_of(error))
    try:
        model, _, known = _make_once(began, subject.name, partial(_open_subject, subject))
        made_from = {"model": subject.as_dict(), "weights": known, "rounds": rounds}
        made_from |= {"benchmark": entry.as_dict(), "data": identity}
        earlier = None
        with suppress(ValueError):  # a damaged one is measured again
            earlier = read_cell(folder)
        if known and earlier and earlier.status == "ok" and earlier.made_from == json_value(made_from, CELL):
            return earlier
        (folder / CELL).unlink(missing_ok=True)
        started = time.perf_counter()
        entry.measure(model, data, rounds, folder)
        return cell(data.tab, "ok", made_from=made_from, seconds=time.perf_counter() - started)
    except Exception as error:  # noqa: BLE001 - the other cells are measured
        return cell(data.tab, "failed", error=_line_of(error))


def cell_folder(place: Path, model: str, benchmark: str) -> Path:
    """Return the run folder of a cell."""
    return place / f"{_folder_name(model)}{BETWEEN}{_folder_name(benchmark)}"


def _line_of(error: Exception) -> str:
    """Return what an error says, in one line."""
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    return " ".join(str(message).split()) or type(error).__name__


def _make_once(known: dict[str, Any], name: str, make: Callable[[], Any]) -> Any:
    """Return what is known by a name, made the first time; raise what kept it from being made."""
    if name not in known:
        try:
            known[name] = make()
        except Exception as error:  # noqa: BLE001 - it is raised below, and again
            known[name] = error
    if isinstance(known[name], Exception):
        raise known[name]
    return known[name]


def _load_data(entry: Entry) -> tuple[Loaded, str]:
    """Load the data of a benchmark, with their checksum."""
    data = entry.load()
    return data, data.identity()


def _open_subject(subject: Subject) -> Opened:
    """Open a model that takes its vectors from the cache."""
    opened = wb.open_model(subject.model, **subject.options)
    model, vectors = with_cached_vectors(opened)
    model.name = subject.name
    named = isinstance(subject.model, str | Path)
    return Opened(model, vectors, vectors.identity or (_stamp_of_code(opened) if named else ""))


def _stamp_of_code(model: Model) -> str:
    """Return a checksum of the file that a model's class is written in; empty = there is none."""
    subject = getattr(model, "subject", None)
    if subject is None:
        return ""
    file = inspect.getsourcefile(type(subject))
    return f"code {content_stamp(Path(file))}" if file else ""


def _write_about(place: Path, subjects: Sequence[Subject], entries: Sequence[Entry]) -> None:
    """Write the names of models and benchmarks, after those that the suite has already."""
    names = {
        "models": [subject.name for subject in subjects],
        "benchmarks": [entry.name for entry in entries],
    }
    place.mkdir(parents=True, exist_ok=True)
    earlier = store.load(place / ABOUT)
    merged = {what: list(dict.fromkeys([*earlier.get(what, []), *new])) for what, new in names.items()}
    write_json(place / ABOUT, merged)


def _write_model(place: Path, subject: Subject, model: Model, vectors: CachedVectors) -> None:
    """Write the size of a model, and its speed where it has encoded anything."""
    file = place / MODELS / f"{_folder_name(subject.name)}.json"
    about = store.load(file) | {"name": subject.name, "encoded": vectors.encoded}
    network = getattr(model, "pair", None) or getattr(model, "subject", None)
    if isinstance(network, nn.Module):
        weights = list(network.parameters())
        about |= {"parameters": sum(weight.numel() for weight in weights)}
        about |= {"bytes": sum(weight.numel() * weight.element_size() for weight in weights)}
    rates = {"images_per_second": vectors.rate("image"), "texts_per_second": vectors.rate("text")}
    about |= {name: rate for name, rate in rates.items() if rate}
    about |= {"device": str(model.device), "random_weights": bool(model.origin.get("random_weights"))}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, about)


def read_cell(folder: Path) -> Cell | None:
    """Read a cell; ``None`` = it was not measured to its end."""
    fields = store.load(folder / CELL)
    lost = fields.get("status") == "ok" and not (folder / store.RESULTS).is_file()
    if not fields or lost:
        return None
    return Cell(**{**fields, "folder": folder})


def read_suite(folder: str | Path) -> Suite:
    """Read a suite that was measured.

    Args:
        folder: of the suite.

    Raises:
        FileNotFoundError: the folder holds none.
    """
    place = resolve_output(folder)
    require(
        (place / ABOUT).is_file(), f"{folder} holds no suite; name models and benchmarks", FileNotFoundError
    )
    about = store.load(place / ABOUT)
    cells, models = [], {}
    for model in about["models"]:
        models[model] = store.load(place / MODELS / f"{_folder_name(model)}.json")
        for benchmark in about["benchmarks"]:
            cell = read_cell(cell_folder(place, model, benchmark))
            cells += [] if cell is None else [cell]
    return Suite(place, cells, models)
