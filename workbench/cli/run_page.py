"""What ``workbench show`` says of a run: a page of at most ``LINES`` lines, or everything."""

import textwrap
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from workbench.cli.output import (
    align_columns,
    cut_lines,
    describe_evaluation,
    number_lines,
    screen_width,
    training_lines,
)
from workbench.execution import library, parameters
from workbench.io import flatten
from workbench.records.measurement import contracts_of, leading_line
from workbench.runs import store
from workbench.runs.spellings import typed_settings

# lines of the page, and how many of them the parts of unknown length may take
LINES = 30
PARAMETERS = 8
NUMBERS = 9
EVALUATIONS = 3
# what is shown of a run whatever its default
IDENTITY = ("data", "objective", "seed")


def run_lines(run: store.Run, *, every: bool) -> list[str]:
    """Return a run as lines.

    Args:
        run: of any kind.
        every: all parameters, numbers and facts of the machine; else at most ``LINES`` lines.
    """
    arms = align_columns((f"  arm of {grid}", label) for grid, label in run.arms.items())
    about = {"name": run.about.name, "tags": " ".join(run.about.tags), "note": run.about.note}
    labels = align_columns((f"  {what}", text) for what, text in about.items() if text)
    head = [_head_lines(run), *labels, *_first_lines(arms, every, 2)]
    if run.status not in ("ok", "unwatched"):
        head += ["run failed; results may be incomplete. Rerun with the same command."]
    settings = align_columns((f"  {name}", value) for name, value in _shown_settings(run, every).items())
    lines = [*(settings if every else cut_lines(_first_lines(settings, every, PARAMETERS)))]
    lines += number_lines(run.results, every=every, most=NUMBERS) + training_lines(run.results)
    if every:
        for results in run.evaluations.values():
            lines += [describe_evaluation(results), *number_lines(results, every=True)]
    else:
        lines += _first_lines(
            [_evaluation_line(results) for results in run.evaluations.values()], every, EVALUATIONS
        )
    facts = align_columns((f"  {name}", value) for name, value in flatten(run.env).items()) if every else []
    return [*head, *lines, *facts, *_file_lines(run, every)]


def _head_lines(run: store.Run) -> str:
    """Return the folder, the status, and how long it took."""
    seconds = run.env.get("seconds")
    took = "" if seconds is None else f"  took {timedelta(seconds=round(seconds))}"
    return f"{run.folder}  {run.status}{took}"


def _first_lines(lines: list[str], every: bool, most: int) -> list[str]:
    """Return the first lines, and one that counts the others."""
    if every or len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"  and {len(lines) - most + 1} more; --all shows them"]


def _shown_settings(run: store.Run, every: bool) -> dict[str, Any]:
    """Return the parameters to show: of an evaluation all, else those that were given or are not the
    defaults.
    """
    params = run.params
    if run.kind == "evaluation":
        # the data as they were named, which a table shortens to the last part of a path
        chosen = params | (params.get("target") or {})
        named = {
            name: value for name, value in typed_settings(chosen).items() if not name.startswith("target.")
        }
        return {name: value for name, value in named.items() if value}
    if every:
        return typed_settings(params)
    given = store.load(run.folder / store.GIVEN) or params
    usual = _default_values(run) if len(given) > PARAMETERS else {}
    shown = {name: params[name] for name in IDENTITY if name in params}
    for name, value in given.items():
        if name not in usual or value != usual[name]:
            shown[name] = value
    return {name: value for name, value in typed_settings(shown).items() if value not in ("", [], None)}


def _default_values(run: store.Run) -> dict[str, Any]:
    """Return the values that a run has without being given any: those of its notebook, or of a
    configuration.
    """
    with suppress(FileNotFoundError):
        notebook = parameters.read_parameters(library.find_file(run.notebook))
        return {name: parameter.default for name, parameter in notebook.items()}
    from workbench.runs.config import Config  # slow to import

    return Config().as_dict()


def _evaluation_line(results: Mapping[str, Any]) -> str:
    """Return what a run is on other data, by its first numbers."""
    return ": ".join([describe_evaluation(results), leading_line(dict(contracts_of(results)))])


def _file_lines(run: store.Run, every: bool) -> list[str]:
    """Return the files of a run by name, beside one another."""
    names = sorted(path.name + "/" * path.is_dir() for path in run.folder.iterdir())
    visible = [name for name in names if not name.startswith(".")]
    if every:
        return [f"  {run.folder / name}" for name in visible]
    return textwrap.wrap(f"files: {', '.join(visible)}", screen_width(), subsequent_indent="  ")
