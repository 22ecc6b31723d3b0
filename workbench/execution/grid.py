"""Many runs of one notebook: a grid file says which, one run an arm.

A grid file is YAML: ``notebook`` (its name), ``fixed`` (what all arms share), ``arms`` (label -> what
differs) and ``grid`` (name -> list of values, all combinations); with both, every arm meets every
combination. An arm of ``reference``, e.g. the model before training, meets none. Values are the notebook's
parameters. For a notebook with a parameter ``config``, other names are fields of ``Config`` and go there.
``preset`` names a configuration; its fields lie below all that the grid says, and its name may hold values
of the arm, ``butd_cora_gru_{data}``. A name may point into a
mapping, ``objective.tau``. ``executor`` holds options of the executor and ``time_limit``, seconds
after which an arm is ended, ``record`` the keys of the numbers that are written to a table: those of the
test split, ``steps`` of training, and after ``val/`` those that the kept epoch has on the validation split.
``paper`` holds keys of a grid for the settings of a paper, where these are asked for: its ``fixed`` takes the
place of the other, and the rest is laid over what stands beside it.

An annex gives a meaning to a key of its own by an entry point of the group ``workbench.grids``. The entry has
the name of the key and names a module with three functions: ``prepare(grid, changes, path)`` returns the grid
that is run, ``missing_needs(grid, arms)`` what it needs beside the data of its arms, a line a thing, and
``finish(path, changes, root, folders, paper)`` lines to print after it has run.
"""

import time
import traceback
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoints, entry_points
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from workbench.execution import parameters
from workbench.execution.executors import TIME_LIMIT
from workbench.execution.executors import executor as open_executor
from workbench.execution.library import find_file
from workbench.execution.needs import check_encoders, missing_data
from workbench.execution.notebook import (
    FAILED,
    KILLED,
    OK,
    Outcome,
    check_parameters,
    read_code,
    run_notebook,
)
from workbench.formatting import format_number
from workbench.io import read_options, reading_errors, write_recorded
from workbench.progress import Task
from workbench.records import MetricKey, require
from workbench.registry import merge, require_known
from workbench.runs import store as runs
from workbench.runs.about import About, add_about
from workbench.runs.spellings import REST, merge_layers, name_of, nest, options_of, typed_settings

VALIDATION = "val/"
KEYS = ("notebook", "fixed", "arms", "grid", "reference", "executor", "record", "paper")
SEED = "seed"
PRESET = "preset"
PAPER = "paper"
# so often an arm is run whose kernel or worker dies, in all; seconds between two looks at the workers
TRIES, LOOK = 3, 0.2
Arms = dict[str, dict[str, Any]]


def read_grid(path: Path | str) -> dict[str, Any]:
    """Return a grid file.

    Raises:
        FileNotFoundError: no such file.
        ParameterError: an unknown key, no arm, or a part that is not a mapping.
        ValueError: what is to be recorded is not the name of a number.
    """
    found = read_options(path)
    for key, value in found.items():
        require_known(f"{path}: no key", key, (*KEYS, *_annex_hooks().names), parameters.ParameterError)
        within = value if key in ("arms", "reference") and isinstance(value, Mapping) else {}
        for name, part in {key: within or value, **within}.items():
            require(
                key in ("notebook", "record") or isinstance(part or {}, Mapping),
                f"{path}: {name} must be a mapping of names, got {part!r:.200}",
                parameters.ParameterError,
            )
    require(
        found.get("arms") or found.get("grid"),
        f"{path}: no arm; give `arms` (label -> values) or `grid` (name -> list of values)",
        parameters.ParameterError,
    )
    for name, values in (found.get("grid") or {}).items():
        require(
            isinstance(values, list) and values,
            f"{path}: grid: {name} must be a list of values",
            parameters.ParameterError,
        )
    if not isinstance(keys := found.get("record", []), list):
        raise parameters.ParameterError(
            f"{path}: record must be a list of names of numbers, got {keys!r:.200}"
        )
    with reading_errors(path, "asks to record what is no number"):
        for key in keys:
            MetricKey.parse(str(key).removeprefix(VALIDATION))
    return found


def _combinations(grid: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], dict[str, Any]]]:
    """Return the name of the arm, its values and the combination of every run."""
    axes, arms = grid.get("grid") or {}, grid.get("arms") or {"": {}}
    references = grid.get("reference") or {}
    points: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []
    for name, arm in references.items():
        points.append((str(name), arm or {}, {}))
    for (name, arm), values in product(arms.items(), product(*axes.values())):
        combination = dict(zip(axes, values, strict=True))
        points.append((str(name), arm or {}, combination))
    return points


def prepare_grid(
    grid: Mapping[str, Any], changes: Mapping[str, Any], path: Path | str, *, paper: bool = False
) -> Mapping[str, Any]:
    """Return the grid that is run: a seed that is given takes the place of all others, and annexes prepare
    theirs.

    Args:
        grid: from ``read_grid``.
        changes: values that go over those of every arm.
        path: of the grid file, for messages.
        paper: in the settings of its paper; else these are left out.

    Raises:
        ParameterError: the grid has no settings of a paper.

    >>> prepare_grid({"grid": {"x": [1], "seed": [0, 1]}}, {"seed": 5}, "")["grid"]
    {'x': [1]}
    >>> both = {"fixed": {"epochs": 1}, "arms": {"a": {"x": 1}}, "paper": {"arms": {"a": {"preset": "ditm"}}}}
    >>> [prepare_grid(both, {}, "", paper=paper)["arms"] for paper in (True, False)]
    [{'a': {'x': 1, 'preset': 'ditm'}}, {'a': {'x': 1}}]
    """
    none = f"{path} has no settings of a paper, no key `paper`; leave out --paper"
    require(not paper or grid.get(PAPER), none, parameters.ParameterError)
    if paper:
        grid = merge({**grid, "fixed": {}}, grid[PAPER])
    else:
        grid = {key: value for key, value in grid.items() if key != PAPER}
    axes = grid.get("grid") or {}
    if parameters.has_field(changes, SEED) and SEED in axes and (len(axes) > 1 or grid.get("arms")):
        grid = {**grid, "grid": {axis: values for axis, values in axes.items() if axis != SEED}}
    for entry in _annex_hooks(grid):
        grid = entry.load().prepare(grid, changes, path)
    return grid


def finish_grid(
    grid: Mapping[str, Any], path: Path, changes: Mapping[str, Any], root: str, folders: Sequence[Path]
) -> list[str]:
    """Return what annexes make of the good runs of a grid, as lines to print.

    Args:
        grid: from ``read_grid``.
        path: of its file.
        changes: values that went over those of every arm.
        root: where runs lie.
        folders: of the good runs.
    """
    lines = list[str]()
    for entry in _annex_hooks(grid):
        lines += entry.load().finish(path, changes, root, folders, PAPER in grid)
    return lines


def _annex_hooks(grid: Container[str] | None = None) -> EntryPoints:
    """Return the entry points for keys of annexes: all of them, or those of the keys in a grid."""
    entries = entry_points(group="workbench.grids")
    return entries if grid is None else EntryPoints(entry for entry in entries if entry.name in grid)


def missing_needs(grid: Container[str], arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what arms need and this machine lacks, a line a thing, which says where it comes from.

    Args:
        grid: from ``prepare_grid``; annexes say what else is missing.
        arms: parameters by label, from ``plan``.

    Raises:
        ValueError: data that have no training split, or cannot be read.
    """
    lacking = missing_data(arms.values())
    for entry in _annex_hooks(grid):
        lacking += entry.load().missing(grid, arms)
    return list(dict.fromkeys(lacking))


def _arm_label(name: str, point: Mapping[str, Any]) -> str:
    parts = (name, *(f"{axis.rpartition('.')[2]}={value}" for axis, value in point.items()))
    return ", ".join(filter(None, parts))


def row_labels(grid: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of every arm -> what tells it from others: without the seed, and without what all
    have.

    >>> row_labels({"arms": {"a": {}}, "grid": {"x": [1], "seed": [0, 1]}})
    {'a, x=1, seed=0': 'a', 'a, x=1, seed=1': 'a'}
    """
    same = {axis for axis, values in (grid.get("grid") or {}).items() if len(values) == 1 or axis == SEED}
    out = {}
    for name, _, point in _combinations(grid):
        differ = {axis: value for axis, value in point.items() if axis not in same}
        out[_arm_label(name, point)] = _arm_label(name, differ) or _arm_label(name, point)
    return out


def expand(
    grid: Mapping[str, Any],
    changes: Mapping[str, Any] | None = None,
    known: Mapping[str, parameters.Parameter] = MappingProxyType({}),
) -> Arms:
    """Return all arms by label, each with all its values: its preset, what all share, the arm, the
    combination and the changes, laid over one another by ``parameters.override``.

    Args:
        grid: from ``read_grid``.
        changes: values that go over those of every arm.
        known: names of the notebook's parameters.

    Raises:
        FileNotFoundError: no configuration of the name of a preset.
        ValueError: an arm, or an arm and its combination, give a field twice.

    Example:
        >>> expand({"fixed": {"n": 1}, "arms": {"a": {"o": {"x": 1}}}, "grid": {"o.tau": [5, 6]}})
        {'a, tau=5': {'n': 1, 'o': {'x': 1, 'tau': 5}}, 'a, tau=6': {'n': 1, 'o': {'x': 1, 'tau': 6}}}
    """
    out = Arms()
    for name, arm, point in _combinations(grid):
        fixed, over = dict(grid.get("fixed") or {}), dict(changes or {})
        # an arm and its combination are one layer: neither may take a value of the other away
        own = [*arm.items(), *point.items()]
        named = []
        layers = []
        for layer in (list(fixed.items()), own, list(over.items())):
            named += [value for key, value in layer if key == PRESET]
            layers.append([(key, value) for key, value in layer if key != PRESET])
        merged = parameters.override({}, *layers)
        names = {key: name_of(value) for key, value in merged.items()}
        presets = []
        for template in named[-1:]:
            preset = nest(read_options(find_file(str(template).format(**names), "configuration")))
            presets.append(_fit_preset(preset, names.get("objective")))
        out[_arm_label(name, point)] = parameters.override(known, *presets, *layers)
    return out


def _fit_preset(preset: dict[str, Any], objective: str | None) -> dict[str, Any]:
    """Return a preset whose options of the objective lie by its name where that is one of a sum; the name of
    another objective begins it anew, as everywhere.
    """
    from workbench.objectives import names_in_sum

    chosen = preset.get("objective")
    own, options = name_of(chosen), options_of(chosen)
    if objective and objective != own and options and own in names_in_sum(objective):
        return {**preset, "objective": {own: options}}
    return preset


def plan(notebook: Path | str, grid: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Arms:
    """Return the notebook's parameters of every arm, checked before anything runs.

    On other data than the embedded world, encoders of that world are refused in a training notebook.

    Args:
        notebook: path, or a name in ``notebooks/``.
        grid: from ``read_grid``.
        changes: values that go over those of every arm.

    Raises:
        ParameterError: another notebook than the grid's, or an unknown or ill-typed parameter.
            Changes that take away all that tells two arms apart.
        KeyError, TypeError, ValueError: a configuration that is refused. The message names the arm.
    """
    path = find_file(notebook)
    require(
        grid.get("notebook", path.stem) == path.stem,
        f"the grid is for the notebook {grid.get('notebook')!r}, not for {path.stem!r}",
        parameters.ParameterError,
    )
    out, known = Arms(), parameters.read_parameters(path)
    for label, values in expand(grid, changes, known).items():
        try:
            check_encoders(values, known)
            out[label] = check_parameters(path, values)
        except (KeyError, TypeError, ValueError) as error:
            error.args = (f"arm {label!r}: {error.args[0]}",)
            raise
    changes = changes or {}
    below = merge_layers(grid.get("fixed") or {}, changes, rest=REST)
    _require_distinct(expand({**grid, "fixed": below}, None, known), out, changes)
    return out


def plan_file(
    notebook: Path | str, file: Path, words: Mapping[str, str], *, paper: bool = False, dry: bool = False
) -> tuple[dict[str, Any], Mapping[str, Any], Arms]:
    """Return a grid file before anything runs, with what it needs looked for.

    Args:
        notebook: path, or a name in ``notebooks/``.
        file: of the grid.
        words: values that go over those of every arm, as typed.
        paper: in the settings of its paper.
        dry: nothing is to be run, so that nothing need be there.

    Returns:
        The values of these words, the grid that is run, and its arms.

    Raises:
        FileNotFoundError: something is not there; the message names all of it.
    """
    changes = parameters.parse_values(parameters.read_parameters(find_file(notebook)), words)
    grid = prepare_grid(read_grid(file), changes, file, paper=paper)
    arms = plan(notebook, grid, changes)
    lacking = [] if dry else missing_needs(grid, arms)
    require(not lacking, "\n".join(lacking), FileNotFoundError)
    return changes, grid, arms


def _require_distinct(before: Arms, after: Arms, changes: Mapping[str, Any]) -> None:
    """Raise if, with the changes over the arms, some become one run that differ in more than the seed where
    the changes lie below them.
    """
    first: dict[str, str] = {}
    before = {label: {**values, SEED: 0} for label, values in before.items()}
    for label, values in after.items():
        other = first.setdefault(repr(values), label)
        require(
            before[label] == before[other],
            f"-p {', '.join(changes)} makes the arms {other!r} and {label!r} the same, which differ without; "
            "leave out what the arms set themselves",
            parameters.ParameterError,
        )


# Each option is one that a person gives by name.
def run_grid(  # noqa: PLR0913
    notebook: Path | str,
    arms: Arms,
    *,
    root: Path | str = "runs",
    name: str = "",
    executor: str = "local",
    options: Mapping[str, Any] | None = None,
    skip_existing: bool = False,
    about: About | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run every arm; one that fails does not keep the others from running.

    An arm whose kernel or worker dies is run again, ``TRIES`` times in all; one that was cut off, now or in
    an earlier grid, is gone on with (``execution.notebook``).

    Args:
        notebook: path, or a name in ``notebooks/``.
        arms: from ``plan``.
        root: where run folders lie.
        name: of the grid; each run keeps it with the label of its arm.
        executor: ``"local"``, ``"submitit"`` or ``"dask"``.
        options: of the executor, and ``time_limit``, seconds after which an arm is ended.
        skip_existing: do not repeat an arm that has a good run with the same parameters and the same code.
        about: tags and note of every run.
        say: is told how each arm ended.

    Returns:
        One result an arm, in order, with its label.

    Raises:
        ModuleNotFoundError: the executor's package is not installed.
        KeyError: no such executor.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the arms that ran on this machine are ``killed`` then.
    """
    path, place = find_file(notebook).resolve(), Path(root).resolve()
    named = {label: {name: label} for label in arms if name}
    about = about or About()
    results = _good_runs(path, root, arms) if skip_existing else {}
    for label, earlier in results.items():
        runs.add_arms(earlier.folder, named.get(label, {}))
        add_about(earlier.folder, about)
    options = dict(options or {})
    run = partial(_run_arm, path, root=place, about=about, time_limit=options.pop(TIME_LIMIT, None))
    with open_executor(executor, place, options) as pool, Task(name or path.stem, len(arms), "arms") as task:
        submit = {
            label: partial(pool.submit, run, values, arms=named.get(label, {}))
            for label, values in arms.items()
            if label not in results
        }
        task.update(len(results))
        results |= collect(submit, say, task)
    return [results[label] for label in arms]


def _good_runs(path: Path, root: Path | str, arms: Arms) -> dict[str, Outcome]:
    """Return the arms that have a good run of the same parameters and code, the last of several."""
    good = [run for run in runs.list_runs(root, path.stem) if run.status == "ok"]
    results = {}
    for label, values in arms.items():
        key = runs.run_key(values, read_code(path))
        for run in good:
            if f"-{key}" in run.id:
                results[label] = Outcome(run.folder, "ok", OK, label=label, skipped=True)
    return results


def _run_arm(path: Path, values: dict[str, Any], *, root: Path, **options: Any) -> Outcome:
    """Run one arm where it is executed; an error of ours ends it as one of its notebook does."""
    try:
        return run_notebook(path, values, root=root, **options)
    except Exception as error:  # noqa: BLE001 - the other arms run on
        # a full disk says all in a line
        disk = isinstance(error, OSError)
        reason = f"{root}: {getattr(error, 'strerror', None) or error}" if disk else f"{error}"
        trace = "" if disk else traceback.format_exc()
        message = f"{type(error).__name__}: {reason}"
        return Outcome(root / path.stem, "failed:start", FAILED, error=message, traceback=trace)


def collect(
    submit: Mapping[str, Callable[[], Any]], say: Callable[[str], None], task: Task
) -> dict[str, Outcome]:
    """Return the result of every arm, those whose kernel or worker died after as many tries as they have.

    Args:
        submit: by the label of an arm, what starts it and returns a future of its ``Outcome``.
        say: is told how each arm ended.
        task: counts the arms.
    """
    futures = {label: start() for label, start in submit.items()}
    tries, results = Counter(list(futures)), dict[str, Outcome]()
    while futures:
        label = next((label for label, future in futures.items() if future.done()), None)
        if label is None:
            time.sleep(LOOK)
            continue
        try:
            result: Outcome = futures.pop(label).result()
        except Exception as error:  # noqa: BLE001 - every executor has errors of its own for a dead worker
            result = Outcome(Path(), "killed", KILLED, error=f"its worker died: {error}")
        after = f"after {format_number(result.seconds, 0)} s" if result.seconds else ""
        line = " ".join(filter(None, (f"{label}:", result.status, after, result.error)))
        if result.status == "killed" and tries[label] < TRIES:
            tries[label] += 1
            futures[label] = submit[label]()
            say(f"{line}; try {tries[label]} of {TRIES}")
        else:
            results[label] = replace(result, label=label)
            task.update()
            say(f"{len(results)}/{len(submit)} {line}")
    return results


def record(grid: Mapping[str, Any], results: Sequence[Outcome], path: Path | str, command: str) -> Path:
    """Write the numbers that a grid file asks for to a tab-separated table, one row a number.

    The columns are what is swept (the arm, then the axes), ``key`` and ``value``; the time of a run is a row
    ``seconds``. The column of the arms is called ``arm``, or by the field whose value every arm is named by.
    A reference stands with its name in the first column.

    Args:
        grid: from ``read_grid``, with ``record``.
        results: from ``run_grid``, all good.
        path: where the table is written, as a whole or not at all.
        command: how it was made, for its first line; ``assets.read_recorded`` skips it.

    Raises:
        KeyError: a run has no number of that name; the message lists the near ones.
    """
    arms, axes = grid.get("arms") or {}, list(grid.get("grid") or {})
    named = []
    for name, arm in arms.items():
        named.append({field for field, value in (arm or {}).items() if name_of(value) == name})
    heads = [min(set.intersection(*named), default="arm")] if arms else []
    rows = []
    for result, (name, _, point) in zip(results, _combinations(grid), strict=True):
        run = runs.read(result.folder)
        given = typed_settings(run.params)
        swept = [given.get(axis, value) for axis, value in zip(axes, point.values(), strict=False)]
        checked = run.results.get("validation", {})
        found = {**run.results["metrics"], **{f"{VALIDATION}{key}": value for key, value in checked.items()}}
        found |= {"steps": run.results.get("steps", 0), "seconds": round(run.env["seconds"], 1)}
        for key in (*grid["record"], "seconds"):
            require_known(f"{run.folder} has no number", key, found)
            about = dict(zip([*heads, *axes], [name, *swept] if name else swept, strict=False))
            rows.append({**about, "key": key, "value": round(found[key], 6)})
    table = pd.DataFrame(rows, columns=[*heads, *axes, "key", "value"], dtype=object)
    return write_recorded(Path(path), table, command)
