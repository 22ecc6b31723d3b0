"""Tables of the leaderboard by slice: a row a run, a column a slice, a table a number."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.metrics.comparison import BETTER, state_verdict
from workbench.records import MetricKey
from workbench.records.measurement import measurement_row
from workbench.runs.compare import table
from workbench.runs.opening import open_runs
from workbench.views.pages import Cell
from workbench.views.pages.query_links import link_to_queries

# a run and the key of a number; what is known of it
Place = tuple[str, str]
Rows = dict[Place, dict[str, Any]]


def slice_tables(
    folders: Sequence[Path], labels: Sequence[str], by: str, heading: str, page_folder: Path
) -> list[dict[str, Any]]:
    """Return the tables of runs on one data set in the slices of a field.

    Args:
        folders: of the runs; the others are compared with the first.
        labels: of the numbers, each a table.
        by: what cuts, see ``runs.slices``.
        heading: of the data.
        page_folder: in which the page lies, from which a number leads to its queries.

    Raises:
        KeyError, ValueError, FileNotFoundError: the data have no such field, or are not there as they were.
    """
    opened = open_runs(folders)
    numbers, differences = table(opened, labels, by=[by])
    cut = numbers[numbers["by"].eq(by)] if "by" in numbers else numbers.iloc[:0]
    contracts: Any = cut.to_dict("index")
    marks: Rows = {}
    records: Any = differences.to_dict("records")
    for row in records:
        marks[row["run"], row["key"]] = row
    tables = []
    for label in labels:
        keys = [
            key for key in dict.fromkeys(cut.index.get_level_values("label")) if _key_of_whole(key) == label
        ]
        if not keys:
            continue
        rows = []
        for run in opened:
            cells = [_slice_cell(contracts, (run.name, key), marks) for key in keys]
            if run.folder is not None:
                cells = [_add_link(cell, run.folder, key, page_folder) for cell, key in zip(cells, keys)]
            rows.append([Cell(run.name), *cells])
        names = ["run", *(MetricKey.parse(key).subset for key in keys)]
        title = f"{heading}: {MetricKey.parse(label).title}, by {by}"
        tables.append({"heading": title, "names": names, "rows": rows})
    return tables


def _add_link(cell: Cell, folder: Path, key: str, page_folder: Path) -> Cell:
    """Return a cell that leads to the queries of its number."""
    if not cell.text:
        return cell
    link, command = link_to_queries(folder, key, page_folder)
    return replace(cell, link=link, hover="; ".join(filter(None, (cell.hover, command))))


def _key_of_whole(label: str) -> str:
    """Return the key of the number of all queries."""
    key = MetricKey.parse(label)
    return str(MetricKey(key.metric, key.direction, key.judgements, key.k))


def _slice_cell(contracts: Rows, place: Place, marks: Rows) -> Cell:
    """Return one number with its interval, and how it differs from that of the first run."""
    if place not in contracts:
        return Cell("", order=-1e9)  # the last in falling order
    contract = contracts[place]
    row = measurement_row(place[1], contract)
    hover = f"{row['queries']} queries, gallery of {row['gallery']}, chance {row['chance']}"
    if place not in marks:
        return Cell(row["value"], order=contract["value"], hover=hover)
    mark = marks[place]
    note, best = state_verdict(mark["verdict"], mark["against"]), mark["verdict"] == BETTER
    return Cell(row["value"], note=note, order=contract["value"], best=best, hover=hover)
