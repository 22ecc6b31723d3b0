"""The run folder: ``runs/<notebook>/<run id>/``, written atomically, read, listed and compared.

What a run folder holds, each file where there is something to write::

    run.json             a training, or an evaluation: its model, its data and how both are read
    config.json          of a training: the resolved configuration; given.json the fields that were given
    params.json          parameters of the notebook; arms.json the grids and configurations that a run serves
    results.json         numbers with intervals and contracts, and the history of a training
    values.npz           the values by query that the numbers are made of, with ids and checksums of the split
    rankings.parquet     the ten best items of every query
    embeddings/          vectors of images and captions, with their ids
    model.safetensors    weights of encoders and objective; text.json what the signal makers learnt
    captions.parquet     of an evaluation: captions; qrels.parquet its ground truth; scores.npy and
                         lists.parquet scores and lists that were made elsewhere
    evaluations/         results on other data, each a folder like this one
    about.json           the name, tags and note of a user
    env.json             versions, device, threads, commit
    checksums.json       of the files that later runs read
    STATUS               how the run ended

``Result.save`` writes what was measured, ``execution.notebook`` the notebook and its page beside it, and
``training.checkpoint`` the weights.

A run id is ``yyyymmdd-hhmmss-<8 hex>``; equal hex digits mean equal parameters and equal code. ``STATUS`` is
written last, by the process that watched the run, and is one of ``ok``, ``failed:<cell>``, ``killed`` (the
kernel died), ``interrupted`` (by a signal) and ``timeout``. Nothing here needs torch.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fnmatch import fnmatch
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.formatting import format_path
from workbench.io import (
    expand_home,
    flatten,
    format_from_user,
    json_value,
    reading_errors,
    resolve_input,
    update_checksums,
    user_folder,
    verify_checksums,
    write_json,
    write_text,
)
from workbench.records import require
from workbench.registry import did_you_mean
from workbench.runs.about import About, read_about
from workbench.runs.environment import check_parameters, code_hash, environment
from workbench.runs.place import runs_folder

if TYPE_CHECKING:
    from workbench.records.measurement import Measurement

RESULTS = "results.json"
PARAMS = "params.json"
ENV = "env.json"
STATUS = "STATUS"
VALUES = "values.npz"
CHECKSUMS = "checksums.json"
# of a training: the fields that were given, which the resolved configuration completes
GIVEN = "given.json"
# held by the process that watches a run; the kernel has a lock of its own
WATCHED = ".watched.lock"
# which arm of which grid a run is: one run may serve several grids
ARMS = "arms.json"
# folder of what was measured on other data, each in a folder of its own with the files of a run
EVALUATIONS = "evaluations"
# the kind of run, and of an evaluation what was evaluated
KIND = "run.json"
# what a run keeps of its model: the resolved configuration, what the signal makers learnt, the weights
CONFIG = "config.json"
STATES = "text.json"
MODEL = "model.safetensors"
# the captions of a run that evaluated a model made elsewhere
CAPTIONS = "captions.parquet"
# scores that were made elsewhere
SCORES = "scores.npy"
LISTED = "lists.parquet"
# ground truth that an evaluation was given
QRELS = "qrels.parquet"
SCRAP = "application/scrapbook.scrap.json+json"
# how a run may end without a cell to blame
ENDS = ("ok", "killed", "interrupted", "timeout")
UNREADABLE = "unreadable"
# name of the data that vectors have which came without any
BARE = "vectors"


@dataclass(frozen=True)
class Run:
    """What a run folder holds; a file that is not there (yet) is an empty mapping.

    Args:
        folder: where it lies.
        kind: ``training`` or ``evaluation``; empty = it has no model, or not yet.
        notebook, id: the last two names of the path.
        status: as in ``STATUS``; where none was written ``unwatched`` (results of a notebook that nobody
            watches) or ``unfinished``; in a list also ``unreadable: <file and reason>``, with nothing else.
        params, results, env: contents of the three JSON files.
        evaluations: by name, the ``results.json`` of what the model was measured on beside its own data.
        arms: name of a grid -> label of its arm that this run is.
        about: what a user says of it.
    """

    folder: Path
    notebook: str
    id: str
    status: str
    params: dict[str, Any]
    results: dict[str, Any]
    env: dict[str, Any]
    kind: str = ""
    evaluations: dict[str, dict[str, Any]] = field(default_factory=dict)
    arms: dict[str, str] = field(default_factory=dict)
    about: About = field(default_factory=About)

    @property
    def name(self) -> str:
        """What lists call it: the name that it was given, or its id."""
        return self.about.name or self.id

    @property
    def began(self) -> datetime | None:
        """When it began: by its id, else by when it ended and how long it took; ``None`` = nobody knows."""
        with suppress(ValueError):
            return datetime.strptime(self.id[:15], "%Y%m%d-%H%M%S")
        with suppress(OSError):
            ended = datetime.fromtimestamp((self.folder / STATUS).stat().st_mtime)
            return ended - timedelta(seconds=self.env.get("seconds") or 0)
        return None

    def evaluations_as_runs(self) -> "list[Run]":
        """Return each evaluation on other data as a run of the same id: its folder, its results."""
        return [
            replace(self, folder=self.folder / EVALUATIONS / name, results=results, evaluations={})
            for name, results in self.evaluations.items()
        ]


def load(file: Path) -> dict[str, Any]:
    """Return a JSON file of a run; one that is not there is an empty mapping.

    Raises:
        ValueError: it is truncated or foreign; the message names file and reason.
    """
    with reading_errors(file):
        content = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    parts = {"": content}
    if file.name == RESULTS and isinstance(content, dict):
        names = ["metrics", "contracts", "validation"]
        # notebooks without a model, which measure captions alone, name their split by a word
        alone = not file.with_name(KIND).is_file()
        names += [] if alone and isinstance(content.get("split"), str) else ["split"]
        parts |= {name: content.get(name, {}) for name in names}
    for name, part in parts.items():
        require(
            isinstance(part, dict),
            f"{file} cannot be read: {name or 'it'} holds {type(part).__name__} and no mapping of names",
        )
    for label, value in parts.get("metrics", {}).items():
        contract = content.get("contracts", {}).get(label, {})
        known = isinstance(value, int | float) and isinstance(contract, dict)
        require(known, f"{file} cannot be read: metrics: {label} is no number with a contract")
    return dict(content)


def read(folder: Path | str) -> Run:
    """Read a run folder.

    Raises:
        FileNotFoundError: the folder is not there.
        ValueError: a file of it is truncated or foreign; the message names file and reason.
    """
    path = expand_home(folder)
    require(path.is_dir(), f"no run folder {path}; `workbench ls` lists the runs", FileNotFoundError)
    params, results, env, arms, kind = (load(path / name) for name in (PARAMS, RESULTS, ENV, ARMS, KIND))
    others = sorted((path / EVALUATIONS).glob(f"*/{RESULTS}"))
    evaluations = {file.parent.name: load(file) for file in others}
    for file in (path / RESULTS, *others):
        verify_files(file.parent, *([file] if file.is_file() else []))
    status = _read_status(path, bool(results))
    about = read_about(path)
    return Run(
        path,
        path.parent.name,
        path.name,
        status,
        params,
        results,
        env,
        kind=str(kind.get("kind", "")),
        evaluations=evaluations,
        arms=arms,
        about=about,
    )


def size_of(folder: Path) -> int:
    """Count the bytes of all files in a folder and below it."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _read_status(folder: Path, has_results: bool) -> str:
    """Return what ``STATUS`` says. A run may be cut off after its results, before its watcher has written
    that.
    """
    if not (file := folder / STATUS).is_file():
        return "unwatched" if has_results and not (folder / WATCHED).exists() else "unfinished"
    with reading_errors(file):
        status = file.read_text(encoding="utf-8").strip()
    require(status in ENDS or status.startswith("failed:"), f"{file} cannot be read: it says {status[:40]!r}")
    return status


def list_runs(root: Path | str = "runs", notebook: str = "*", tags: Sequence[str] = ()) -> list[Run]:
    """Return all runs below a root, oldest first; if a file of one cannot be read, the reason is its status.

    Args:
        root: where runs lie: ``<root>/<notebook>/<run id>/``, or ``<root>/<run id>/`` below a part of them.
        notebook: only runs of this one.
        tags: only runs that have all of these.
    """
    places = [f"{notebook}/*/", *(["*/"] if fnmatch(Path(root).name, notebook) else [])]
    folders: list[Path] = []
    for place in places:
        folders += runs_folder(root).glob(place)
    every = [
        _read_and_warn(path)
        for path in sorted(folders)
        if (path / PARAMS).is_file() or (path / STATUS).is_file()
    ]
    tagged = [run for run in every if run.about.has_all_tags(tags)]
    return sorted(tagged, key=_sort_key)


def _sort_key(run: Run) -> tuple[datetime, float, str, str]:
    """Return the key that sorts runs by when they began; those of one second by when their parameters were
    written.
    """
    params = run.folder / PARAMS
    written = params.stat().st_mtime if params.is_file() else 0.0
    return run.began or datetime.min, written, run.id, run.notebook


def _read_and_warn(path: Path) -> Run:
    try:
        return read(path)
    except ValueError as error:
        reason = str(error).replace(f"{path}{os.sep}", "")
        return Run(path, path.parent.name, path.name, f"{UNREADABLE}: {reason}", {}, {}, {})


def find(name: Path | str, root: Path | str = "runs") -> Run:
    """Return a run by its folder, by its name, by its id or the beginning or end of it, or by the notebook
    that has no other.

    Args:
        name: a path, the name of a run, its id, a part of an id that only one run has, or a notebook;
            ``last`` is the latest.
        root: where runs lie.

    Raises:
        FileNotFoundError: no such run; LookupError: several; ValueError: as ``read``.
    """
    part = str(name)
    require(part, "the name of a run is empty", FileNotFoundError)
    path = resolve_input(name)
    if any((path / file).is_file() for file in (PARAMS, STATUS, RESULTS, KIND)):
        return read(path)
    every = list_runs(root)
    latest = every[-1:] if part == "last" else []
    exact = [run for run in every if part in (run.id, run.about.name)]
    parts = [run for run in every if run.id.startswith(part) or run.id.endswith(part)]
    matches = latest or exact or parts or [run for run in every if run.notebook == part]
    if not matches:
        require(not path.is_file(), f"{name} is a file; name the folder of a run", FileNotFoundError)
        holds = f"{name} holds no run; `workbench ls` lists the runs"
        require(not path.is_dir(), holds, FileNotFoundError)
        known = ["last"]
        for run in every:
            known += [run.id, run.name, str(run.folder)]
        meant = did_you_mean(part, known, "`workbench ls` lists the runs", most=1)
        raise FileNotFoundError(f"no run {part!r} below {root}; {meant}")
    if len(matches) > 1:
        last = ", ".join(run.id for run in matches[-4:])
        raise LookupError(f"{len(matches)} runs are called {part!r}, name one of them: {last}")
    return read(matches[0].folder)


def check_name(name: str, root: Path | str = "runs", folder: Path | str = "") -> None:
    """Raise if another run has a name already.

    Args:
        name: empty = none.
        root: where runs lie.
        folder: of the run that is to have the name.

    Raises:
        FileExistsError: the message says which run has it.
    """
    own = Path(folder).resolve() if str(folder) else None
    for run in list_runs(root) if name else ():
        if name in (run.id, run.about.name) and run.folder.resolve() != own:
            place = format_path(run.folder)
            raise FileExistsError(
                f"{place} is called {name!r} already; choose another name, or delete it "
                f"(workbench rm {place})"
            )


def diff(first: Run, second: Run) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Return what differs between two runs, file by file: key -> (value in the first, in the second or
    ``None``).
    """
    out = {}
    for name in ("params", "results", "env"):
        a, b = flatten(getattr(first, name)), flatten(getattr(second, name))
        out[name] = {key: (a.get(key), b.get(key)) for key in sorted(a | b) if a.get(key) != b.get(key)}
    return out


def new_run(notebook: str, params: Mapping[str, Any], root: Path | str = "runs", code: str = "") -> Path:
    """Make a new run folder ``<root>/<notebook>/<run id>`` and write ``params.json`` into it.

    Args:
        notebook: bare name, e.g. ``"03_train"``.
        params: all parameters, defaults included.
        root: where runs lie, see ``runs_folder``.
        code: the notebook's code, which counts into the id.

    Returns:
        The folder, absolute.
    """
    run_id = f"{datetime.now():%Y%m%d-%H%M%S}-{run_key(params, code)}"
    # the same run may be made twice in a second, also by another process
    for ending in chain([""], (f".{number}" for number in count(2))):
        with suppress(FileExistsError):
            path = runs_folder(root).resolve() / notebook / f"{run_id}{ending}"
            path.mkdir(parents=True)
            break
    return write_json(path / PARAMS, params).parent


def run_key(params: Mapping[str, Any], code: str = "") -> str:
    """Return the 8 hex digits in which run ids agree whose parameters, defaults included, and code agree."""
    key = json.dumps(json_value(params, PARAMS), sort_keys=True) + code_hash(code)
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def run_folder(notebook: str, out: Path | str, params: Mapping[str, Any]) -> Path:
    """Return the folder a notebook writes to: the one it was given, or a new one below ``runs/``.

    Args:
        notebook: bare name of the notebook.
        out: its parameter ``out``; empty under plain papermill and in JupyterLab.
        params: the parameters of the run.

    Raises:
        ValueError, TypeError: papermill was given a parameter that the notebook does not have, or a value
            that does not fit it.
    """
    check_parameters()
    path = expand_home(out) if str(out) else new_run(notebook, params)
    return path if (path / PARAMS).is_file() else write_json(path / PARAMS, params).parent


def publish(
    folder: Path | str,
    results: Mapping[str, Any],
    seed: int | None = None,
    *,
    measured: "Mapping[str, Sequence[Measurement]] | None" = None,
    correlations: Mapping[str, float] | None = None,
) -> Path:
    """Finish a notebook: write ``results.json`` and ``env.json``, show where they lie and what to do next.

    The output also carries the results in scrapbook's format, so that its readers find them without our help.

    Args:
        folder: the run folder.
        results: JSON values, as for ``write_results``.
        seed: the seed of the run, for ``env.json``.
        measured: numbers by the model or kind that has them; those that are not defined are left out.
        correlations: further numbers by their key.

    Returns:
        The path of ``results.json``.
    """
    from IPython import display

    known: dict[str, Measurement] = {}
    for name, rows in (measured or {}).items():
        known |= {f"{name} | {row.label}": row for row in rows if row.value == row.value}
    more = {name: value for name, value in (correlations or {}).items() if value == value}
    if known or more:
        contracts = {name: row.as_dict() for name, row in known.items()}
        for contract in contracts.values():
            del contract["value"]
        results = {
            **results,
            "metrics": {**{name: row.value for name, row in known.items()}, **more},
            "contracts": {**contracts, **{name: {"face": "correlation"} for name in more}},
        }
    path = write_results(folder, results)
    write_json(path.with_name(ENV), environment(seed, results.get("threads", 0)))
    verb = "explore" if (path.parent / MODEL).is_file() else "show"
    then = f"{verb} {format_from_user(path.parent)}"
    here = "" if user_folder() == Path.cwd() else f"\nin {user_folder()}"
    scrap = {"name": "results", "encoder": "json", "display": None, "version": 1}
    scrap["data"] = json_value(results, RESULTS)
    text = f"results: {format_from_user(path)}\nnext: workbench {then}{here}"
    shown = {"text/plain": text, SCRAP: scrap}
    display.display(
        shown, metadata={"scrapbook": {"name": "results", "data": True, "display": False}}, raw=True
    )
    return path


def write_results(folder: Path | str, results: Mapping[str, Any]) -> Path:
    """Write ``results.json`` of a run.

    Args:
        folder: the run folder.
        results: JSON values; by habit ``objective``, ``data``, ``seed`` and ``metrics`` (key -> value).

    Raises:
        ValueError: a number is NaN or infinite.
    """
    path = write_json(Path(folder) / RESULTS, results)
    if (checksums := path.with_name(CHECKSUMS)).exists():
        update_checksums(checksums, path)
    return path


def folders_of_tour() -> list[str]:
    """Return the folders of the models that the tour has trained, in its order; none where it was not run."""
    tours = list_runs("runs", "tour")
    return [str(run.folder) for run in tours if run.status == "ok" and (run.folder / MODEL).is_file()]


def add_arms(folder: Path | str, arms: Mapping[str, str]) -> None:
    """Write which arms a run is beside those that are known already.

    Args:
        folder: the run folder.
        arms: name of a grid -> label of the arm.
    """
    if arms and not arms.items() <= (known := read(folder).arms).items():
        write_json(Path(folder) / ARMS, known | dict(arms))


def write_status(folder: Path | str, status: str) -> Path:
    """Write ``STATUS``, the last file of a run.

    Raises:
        ValueError: it is none of ``ENDS`` and not ``failed:<cell>``.
    """
    require(
        status in ENDS or status.startswith("failed:"),
        f"status {status!r} is none of {', '.join(ENDS)}, failed:<cell>",
    )
    return write_text(Path(folder) / STATUS, status + "\n")


def verify_files(folder: Path, *files: Path) -> dict[str, Any]:
    """Raise if files of a run are not what it wrote.

    Returns:
        What they were made from; nothing for a run of a version that wrote no checksums.

    Raises:
        ChecksumError: the message names the file.
    """
    if not (folder / CHECKSUMS).exists():
        return {}
    return verify_checksums(folder / CHECKSUMS, *files, remedy="restore it, or make the run again")
