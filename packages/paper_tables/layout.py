"""What ``table`` in a grid file says: which table of a paper the grid is, and what was printed there.

- ``paper`` and ``number``: as ``published`` has them, e.g. ``DITM`` and ``IV``, or ``Fig. 7``, of
  which nothing is printed; ``part`` says which part of the table, where several grids make one;
- ``columns``: heading -> key of a number, or a list of keys whose mean it is, or ``{sum: [...]}``; left out,
  they are R@K of both directions and RSUM;
- ``printed``: a list of parts of the printed table, each by ``dataset``, ``protocol`` and ``group``.
  ``measured``, a data set and protocol that ``published.PROTOCOLS`` knows, says what it was measured on where
  these do not, and ``metrics`` (heading -> printed metric) which of its values stand beside which column;
  ``further`` lists more groups of the same part, whose rows stand below under their name and group,
  ``heading`` heads the part where the data set that it was measured on does not tell it apart, and ``column``
  is the one that a table whose rows are metrics stands beside, where it is not the first;
- ``row``: what names a row in the printed table: ``method``, or ``protocol`` or ``metric`` in a table of
  settings;
- ``rows``: row of the grid -> its name in the printed table, where they differ; ``null`` = it is not printed;
- ``from``: row -> how it is made from the runs of an arm, without a training: ``{mean: ARM}``, the ensemble
  of the seeds, whose scores are averaged, or ``{rescore: ARM}``, each run; with ``objective`` the
  models score by other options of their objective, see ``runs.rescoring.rescore``;
- ``curves``: heading -> a parameter that arms set to numbers, ``objective.tau``; the rows that set it
  are drawn as a curve over it, below the table;
- ``evaluate``: name of the training data -> targets as for ``runs.Target``, on which each run is
  measured beside its own data; ``others`` = any data that are not named. A target without a ``source`` of its
  images takes that of the run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd

from paper_tables import published
from workbench.execution import grid as grids
from workbench.execution import parameters
from workbench.records import MetricKey, require
from workbench.registry import require_known

KEYS = ("paper", "number", "part", "columns", "printed", "row", "rows", "from", "curves", "evaluate")
PART = ("dataset", "protocol", "group", "further", "heading", "measured", "metrics", "column")
FIELDS = ("method", "protocol", "metric")
RETRIEVAL = (*(published.LABELS[metric] for metric in published.PARTS["rsum"]), "rsum")
# key of one of our numbers -> what the papers' tables call it
PRINTED_AS = {key: metric for metric, key in published.LABELS.items()}


# of every grid that becomes a table
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Part:
    """A part of the printed table, measured on one data set.

    Args:
        heading: what it is headed by.
        on: data set and protocol of ``published.PROTOCOLS``.
        values: printed name of a row -> heading of a column -> the printed text.
        remarks: printed name of a row -> what is to be said beside it.
        word: whether the runs were measured there, ``table.SAME`` or ``table.OTHER``; empty until runs are
            known.
    """

    heading: str
    on: tuple[str, str]
    values: dict[str, dict[str, str]]
    remarks: dict[str, str]
    word: str = ""


class Derived(NamedTuple):
    """How a row is made from the runs of another.

    Args:
        arm: the row of the grid whose runs these are.
        mean: whether one ensemble of all its seeds is meant, and not each run.
        options: of the objective, by which the models score.
    """

    arm: str
    mean: bool
    options: Mapping[str, Any]

    def __str__(self) -> str:
        whole = "the mean of the scores of the seeds" if self.mean else "each model"
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        scored = f", scored with {options}" if options else ""
        return f"{whole} of {self.arm}{scored}, without a training of its own"


@dataclass(frozen=True)
class Layout:
    """What ``table`` in a grid file says.

    Args:
        paper, number: of the printed table.
        part: of the table that several grids make; empty where this grid makes all of it.
        columns: heading -> keys whose mean it is, or whose sum.
        sums: headings of sums.
        derived: row -> how it is made from the runs of an arm.
        parts: of the printed table.
        rows: row of the grid -> its printed name, in the order of the grid; ``None`` = not printed.
        curves: heading -> row of the grid -> the number that it sets a parameter to.
    """

    paper: str
    number: str
    part: str
    columns: dict[str, list[str]]
    parts: list[Part]
    rows: dict[str, str | None]
    curves: dict[str, dict[str, float]] = field(default_factory=dict)
    sums: frozenset[str] = frozenset()
    derived: dict[str, Derived] = field(default_factory=dict)


def over_seeds(grid: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """Return a grid with a ``table`` in which every arm meets each of ``SEEDS``, unless a seed is given.

    Args:
        grid: from ``grid.read_grid``.
        changes: values that go over those of every arm.

    >>> over_seeds({"table": {}, "grid": {"x": [1]}})["grid"]
    {'x': [1], 'seed': [0, 1, 2]}
    >>> over_seeds({"table": {}}, {"seed": 5})
    {'table': {}}
    """
    axes = grid.get("grid") or {}
    somewhere = grids.SEED in axes or any(
        parameters.has_field(values or {}, grids.SEED) for values in (changes, grid.get("fixed"))
    )
    if "table" not in grid or somewhere:
        return grid
    return {**grid, "grid": {**axes, grids.SEED: list(SEEDS)}}


def read(grid: Mapping[str, Any], place: object = "table") -> Layout:
    """Return what ``table`` in a grid file says, checked.

    Args:
        grid: from ``grid.read_grid``.
        place: for messages, e.g. the path of the file.

    Raises:
        ParameterError: an unknown key, row or part; a row that the paper does not print.
        KeyError, ValueError: a value that is not printed, or a key that is not the name of a number.
    """
    section: Mapping[str, Any] = grid.get("table") or {}
    for key in section:
        require_known(f"{place}: table has no key", key, KEYS, parameters.ParameterError)
    paper, number = str(section.get("paper", "")), str(section.get("number", ""))
    by = section.get("row", "method")
    require_known(f"{place}: table.row is", by, FIELDS, parameters.ParameterError)
    of_paper = section.keys() & {"paper", "number", "printed"}  # a grid of one's own stands beside none
    known = published.COMPARABLE if of_paper else [""]
    require_known(f"{place}: table.paper: no paper", paper, known, parameters.ParameterError)
    columns: dict[str, list[str]] = {}
    sums = set()
    for head, keys in (section.get("columns") or {key: key for key in RETRIEVAL}).items():
        if isinstance(keys, Mapping):
            only = f"{place}: table.columns: {head} is {keys}; write {{sum: [key, ...]}}"
            require(list(keys) == ["sum"], only, parameters.ParameterError)
            sums.add(str(head))
            keys = keys["sum"]
        columns[str(head)] = [keys] if isinstance(keys, str) else list(keys)
    for key in chain.from_iterable(columns.values()):
        MetricKey.parse(key)
    parts = [_read_part(paper, number, entry, by, columns) for entry in section.get("printed") or ()]
    curves = {
        str(head): _parameter_by_row(grid, str(path), place)
        for head, path in (section.get("curves") or {}).items()
    }
    derived = _derived_rows(grid, section.get("from") or {}, f"{place}: table.from")
    part, rows = str(section.get("part", "")), _printed_row_names(grid, derived, parts, place)
    return Layout(paper, number, part, columns, parts, rows, curves, frozenset(sums), derived)


def _derived_rows(
    grid: Mapping[str, Any], section: Mapping[str, Mapping[str, Any]], place: str
) -> dict[str, Derived]:
    """Return what rows are made from, checked."""
    trained, out = set(grids.row_labels(grid).values()), dict[str, Derived]()
    for row, source in section.items():
        ways = [way for way in ("mean", "rescore") if way in source]
        one_way = len(ways) == 1 and source.keys() <= {*ways, "objective"} and row not in trained
        form = f"{place}: {row} is {source}; write {{mean: ARM}} or {{rescore: ARM, objective: ...}}"
        require(one_way, f"{form}, under a name that no arm has", parameters.ParameterError)
        require_known(f"{place}: {row}: no arm", source[ways[0]], trained, parameters.ParameterError)
        out[row] = Derived(source[ways[0]], "mean" in source, source.get("objective") or {})
    return out


def _parameter_by_row(grid: Mapping[str, Any], path: str, place: object) -> dict[str, float]:
    """Return row -> the number that it sets a parameter to, of the rows that set it."""
    rows, numbers = grids.row_labels(grid), dict[str, float]()
    # what all rows share, a preset say, is no point of a curve
    for label, values in grids.expand({**grid, "fixed": {}}).items():
        number: Any = values
        for name in path.split("."):
            number = number.get(name) if isinstance(number, Mapping) else None
        if isinstance(number, int | float):
            numbers[rows[label]] = number
    several = f"{place}: table.curves: {path} needs several rows that set it to different numbers"
    require(
        len(set(numbers.values())) == len(numbers) > 1,
        f"{several}, and has {numbers}",
        parameters.ParameterError,
    )
    return numbers


def _read_part(
    paper: str, number: str, entry: Mapping[str, Any], by: str, columns: Mapping[str, list[str]]
) -> Part:
    for key in entry:
        require_known("table.printed has no key", key, PART, parameters.ParameterError)
    filters = {name: entry[name] for name in ("dataset", "protocol", "group") if name in entry}
    rows, remarks = _printed_values(paper, number, filters, by)
    for group in entry.get("further") or ():
        more, beside = _printed_values(paper, number, {**filters, "group": group}, by, f", {group}")
        rows, remarks = pd.concat([rows, more], ignore_index=True), remarks | beside
    named = entry.get("metrics") or {}
    for head, metric in named.items():
        require_known("table.printed.metrics has no column", head, columns, parameters.ParameterError)
        require_known(f"{paper}, table {number} prints no metric", metric, rows["metric"].unique())
    metrics = {head: named.get(head, PRINTED_AS.get(keys[0])) for head, keys in columns.items()}
    column = str(entry.get("column", next(iter(columns))))
    require_known("table.printed.column: no column", column, columns, parameters.ParameterError)
    values: dict[str, dict[str, str]] = {}
    for line in rows.to_dict("records"):
        heads = [head for head, metric in metrics.items() if metric == line["metric"]]
        for head in [column] if by == "metric" else heads:
            cells = values.setdefault(line[by], {})
            require(
                head not in cells,
                f"{paper}, table {number} prints {line[by]!r}, {head} twice for {filters}; "
                "name its dataset, protocol and group",
            )
            cells[head] = line["printed"]
    on = tuple(map(str, entry.get("measured") or rows.loc[0, ["dataset", "protocol"]]))
    known = published.load()[["dataset", "protocol"]].drop_duplicates().itertuples(index=False, name=None)
    choices = ", ".join(map(str, published.PROTOCOLS))
    require(
        "measured" not in entry or on in published.PROTOCOLS or on in set(known),
        f"table.printed.measured is {on}; choose one of {choices}",
        parameters.ParameterError,
    )
    # where groups stand below one another, each row of the further ones names its own
    group = f"{entry['group']} unless a row names another" if entry.get("further") else entry.get("group", "")
    heading = str(entry.get("heading") or ", ".join(filter(None, (on[0], str(group)))))
    return Part(heading, (on[0], on[1]), values, remarks)


def _printed_values(
    paper: str, number: str, filters: Mapping[str, str], by: str, ending: str = ""
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return printed values, and by the name of a row what is to be said beside it; names with this
    ending.
    """
    rows = published.load(paper=paper, table=number, **filters)
    if by == "metric":
        return rows, {}
    remarks = {
        key[published.ROW.index(by)] + ending: text for key, text in published.remarks_by_row(rows).items()
    }
    return rows.assign(**{by: rows[by] + ending}), remarks


def _printed_row_names(
    grid: Mapping[str, Any], derived: Iterable[str], parts: Sequence[Part], place: object
) -> dict[str, str | None]:
    """Return every row of the grid and those made from them with their printed names, both sides checked."""
    printed_names: Mapping[str, str | None] = grid.get("table", {}).get("rows") or {}
    own = list(dict.fromkeys([*grids.row_labels(grid).values(), *derived]))
    for row in printed_names:
        require_known(f"{place}: table.rows: no row", row, own, parameters.ParameterError)
    out: dict[str, str | None] = {name: printed_names.get(name, name) for name in own}
    known = dict.fromkeys(chain.from_iterable(part.values for part in parts))
    for row, name in out.items():
        if parts and name is not None:
            remedy = f" (for the row {row!r}; in table.rows give its printed name, or null)"
            require_known(f"{place}: no printed row", name, known, parameters.ParameterError, remedy)
    return out
