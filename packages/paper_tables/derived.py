"""Rows of a table that are not one training: ensembles, and models that score by other options."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paper_tables.layout import Derived
from workbench.io import write_json
from workbench.runs import store as runs


def derived_runs(
    how: Derived, trained: Sequence[runs.Run], root: Path | str, *, measure: bool = False
) -> list[runs.Run]:
    """Return the numbers of a row that is made from the runs of another, each as a run.

    What is measured is kept in ``tables/rows`` below the runs, under a name that follows from the runs, the
    options and the code, so that nothing is measured twice and nothing old is read.

    Args:
        how: the row is made.
        trained: runs of the arm.
        root: where runs lie.
        measure: measure what is not there; else it is left out.

    Raises:
        FileNotFoundError: a run holds no checkpoint; KeyError, TypeError, ValueError: as ``evaluate``.
    """
    out = []
    for members in filter(None, [list(trained)] if how.mean else [[run] for run in trained]):
        key = runs.run_key({"runs": [run.id for run in members], "options": how.options})
        file = Path(root) / "tables" / "rows" / f"{key}.json"
        if measure and not file.is_file():
            from workbench.runs.evaluate import evaluate

            options = {"objective": how.options} if how.options else None
            result = evaluate([run.folder for run in members], scoring=options)
            numbers = {"metrics": dict(result)}
            write_json(file, {**members[0].results, **numbers, "runs": [run.id for run in members]})
        if file.is_file():
            out.append(replace(members[0], results=runs.load(file), evaluations={}))
    return out
