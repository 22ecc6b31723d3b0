"""Ranked lists that were made elsewhere, as in run files of TREC: for each query some items, best first.

Items that a list does not name rank below those that it names, and ties count against them. A number that
depends on their order is left out: it is measured by the lists as they are, and again with the open places
filled in the best order by each of the judgements, and stays where all of these agree.

A direction without lists has no numbers. Lists of all items in both directions, with one score for each pair,
are a matrix like any other (``scores``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from workbench import metrics as registry
from workbench.formatting import format_count
from workbench.io import write_table
from workbench.metrics.attainable import TIES as WITHOUT_SCORES
from workbench.metrics.blocks import AnyScores, RowScores, by_rows
from workbench.progress import Task
from workbench.records import (
    Array,
    Embedding,
    Judgements,
    Measurement,
    Rows,
    Split,
    Values,
    metric_key,
    require,
)
from workbench.runs.measure import evaluate_split
from workbench.runs.model import Say, silent
from workbench.runs.run_files import LISTS, Placed, name_of, place_rows, read_pairs, sources_of
from workbench.runs.scores import SavedScores, Sides, checked_file, read_ids
from workbench.runs.store import LISTED, SCORES
from workbench.runs.vector_files import file_origin, name_of_sources
from workbench.runs.ways import WAYS, query_way

# metrics that compare scores of different queries, which lists do not give
OF_PAIRS = ("pairs", "counterfactuals")
Measured = tuple[list[Measurement], dict[str, Values]]


class NothingDeterminedError(ValueError):
    """Ranked lists from which no number follows, whatever stands in the places that they leave open."""


class Lists(NamedTuple):
    """The lists of one direction.

    Args:
        query, item: ``(N,)`` rows.
        values: ``(N,)`` scores, larger = better.
    """

    query: Rows
    item: Rows
    values: Values


class SavedLists(SavedScores):
    """Stands where ranked lists were made elsewhere.

    Args:
        lists: by direction.
        ids: of the images and of the captions.
    """

    name = "lists"
    directed = True

    def __init__(self, lists: Mapping[str, Lists], ids: Sides) -> None:
        self.lists = dict(lists)
        self.ways = tuple(way for way in WAYS if way in lists)
        lowest = min(float(part.values.min()) for part in self.lists.values())
        # below all scores, and by so much that no rounding makes it one of them
        self.floor = lowest - max(1.0, abs(lowest))
        i2t, t2i = (self._rows_of_way(way, ids) for way in WAYS)
        super().__init__(RowScores(i2t.make, i2t.shape, other=t2i), ids)

    def _rows_of_way(self, way: str, ids: Sides) -> RowScores:
        """Return ``(queries, gallery)`` scores of one direction, the floor where nothing is listed."""
        images, captions = map(len, ids)
        shape = (images, captions) if way == "i2t" else (captions, images)
        empty = np.zeros(0, np.int64)
        lists = self.lists.get(way) or Lists(empty, empty, np.zeros(0))
        places: Any = sparse.csr_array((np.arange(1, len(lists.query) + 1), (lists.query, lists.item)), shape)

        def make(rows: Any, items: Any) -> Array:
            part = places[rows][:, items].tocoo()
            out = np.full(part.shape, self.floor)
            out[part.coords] = lists.values[part.data - 1]
            return out

        return RowScores(make, shape)

    @classmethod
    def read(cls, folder: Path) -> "SavedLists":
        """Read the lists that a run keeps.

        Raises:
            ChecksumError: a file is damaged. ValueError: it cannot be read.
        """
        table = pd.read_parquet(checked_file(folder, LISTED))
        lists = {}
        for way, part in table.groupby("direction", observed=True):
            columns = (part[name].to_numpy() for name in ("query", "item", "score"))
            lists[str(way)] = Lists(*columns)
        return cls(lists, read_ids(folder))

    def write(self, folder: Path) -> None:
        """Write the lists into a run folder."""
        tables = []
        for way, lists in self.lists.items():
            columns = {"direction": way, "query": lists.query, "item": lists.item, "score": lists.values}
            tables.append(pd.DataFrame(columns))
        write_table(folder / LISTED, pd.concat(tables, ignore_index=True))

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of some images and captions of the data, NaN where nothing is listed: one
        caption is a query among images, all else are images that are queries among captions.
        """
        rows = self._rows_of_items(image), self._rows_of_items(text)
        both = by_rows(self.values)
        of_caption = query_way(image, text) == "t2i"
        scores = both.T.make(rows[1], rows[0]).T if of_caption else both.make(*rows)
        return np.where(scores > self.floor, scores, np.nan)

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
        """Return ``(I, T)`` scores of the images and captions of a split, with those of the other
        direction.
        """
        return by_rows(self.values).select(self._rows_of_items(image), self._rows_of_items(text))

    def matrix(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores in one matrix.

        Raises:
            ValueError: the two directions score a pair differently.
        """
        scores = by_rows(self.scores_of_split(image, text))
        i2t, t2i = scores.rows(), scores.T.rows().T
        both = (i2t > self.floor) & (t2i > self.floor)
        require(
            (i2t[both] == t2i[both]).all(),
            f"{self.name}: the lists of the two directions score pairs differently, which one matrix cannot "
            "hold; read any_scores()",
        )
        return np.asarray(np.maximum(i2t, t2i))

    def depths(self, way: str) -> Rows:
        """Return ``(queries,)`` how many items the list of each query of a direction names."""
        images, captions = map(len, self.ids)
        return np.bincount(self.lists[way].query, minlength=images if way == "i2t" else captions)

    def is_complete(self) -> bool:
        """Return whether every list of both directions names every item."""
        images, captions = map(len, self.ids)
        sizes = [len(self.lists[way].query) for way in self.ways]
        return sizes == [images * captions] * len(WAYS)


def complete_scores(scores: RowScores, floor: float, judged: Judgements) -> RowScores:
    """Return ``(I, T)`` scores of lists with the open places filled: what has a larger grade stands first,
    and among equal grades the later row.

    Args:
        scores: of lists, ``(I, T)``.
        floor: their score of what is not listed.
        judged: grades of the same images and captions.
    """
    grades = by_rows(judged)
    known = np.unique(np.append(judged.grades, judged.unlisted or 0.0))
    i2t = _fill_places(scores, grades, known, floor)
    return RowScores(i2t.make, i2t.shape, other=_fill_places(scores.T, grades.T, known, floor))


def _fill_places(scores: RowScores, grades: RowScores, known: Array, floor: float) -> RowScores:
    """Return one direction of ``complete_scores``; ``known`` = the distinct grades, ascending."""
    size = scores.shape[1]

    def make(rows: Any, items: Any) -> Array:
        listed = scores.make(rows, items)
        place = np.searchsorted(known, np.nan_to_num(grades.make(rows, items)))
        place = place + (np.arange(size)[items] + 1) / (size + 1)
        below = floor - max(1.0, abs(floor)) * (1 - place / (len(known) + 1))
        return np.where(listed > floor, listed, below)

    return RowScores(make, scores.shape)


def open_lists(source: Any, split: Split) -> tuple[SavedScores, Split, dict[str, Any]]:
    """Open ranked lists of a split's images and captions.

    Args:
        source: a file, a mapping, a table or an object of ranx, see ``run_files``; a list of these or a
            mapping of directions, one source each.
        split: whose images and captions are ranked.

    Returns:
        What scores by them; the split, with notes; and fields of an ``Evaluation``.

    Raises:
        FileNotFoundError, ValueError, TypeError: a source that cannot be read, lists of other data, or two
            sources of one direction.
    """
    parts: dict[str, Placed] = {}
    origins: dict[str, Any] = {}
    notes: list[str] = []
    for way, part in sources_of(source):
        name = name_of(part, LISTS)
        for direction, table in read_pairs(part, LISTS):
            rows = place_rows(table, split, name, way or direction)
            require(
                rows.way not in parts,
                f"{name}: there are lists from {metric_key.WAYS[rows.way]} already; evaluate one run at a "
                "time, and compare the results",
            )
            parts[rows.way] = rows
            origins[rows.way] = _origin_of_lists(part, rows)
            notes += rows.notes
    lists = {way: Lists(part.query, part.item, part.values) for way, part in parts.items()}
    ids = (split.image_ids, split.caption_ids)
    model: SavedScores
    matrix = _matrix_of_full_lists(lists, (len(ids[0]), len(ids[1])))
    if matrix is not None:
        model = SavedScores(matrix, ids)
    else:
        model = SavedLists(lists, ids)
        notes += _notes_of(model)
    fields: dict[str, Any] = {"runs": origins}
    name = name_of_sources(dict(enumerate(part for _, part in sources_of(source))))
    fields |= {"name": name} if name else {}
    return model, replace(split, notes=(*split.notes, *notes)), fields


def _origin_of_lists(source: Any, part: Placed) -> dict[str, str]:
    """Return the path of a file and its checksum; of what is in memory how much it is."""
    if isinstance(source, str | Path):
        return file_origin(source)
    return {"pairs": str(len(part.values))}


def _matrix_of_full_lists(lists: Mapping[str, Lists], shape: tuple[int, int]) -> Array | None:
    """Return ``(I, T)`` the scores of lists of all items in both directions that agree; else ``None``."""
    if len(lists) < len(WAYS) or any(len(part.values) < shape[0] * shape[1] for part in lists.values()):
        return None
    i2t, t2i = np.empty(shape), np.empty(shape)
    i2t[lists["i2t"].query, lists["i2t"].item] = lists["i2t"].values
    t2i[lists["t2i"].item, lists["t2i"].query] = lists["t2i"].values
    return i2t if np.array_equal(i2t, t2i) else None


def _notes_of(model: SavedLists) -> Iterator[str]:
    """Yield how deep the lists are, and which queries and directions have none."""
    images, captions = map(len, model.ids)
    for way in WAYS:
        gallery = captions if way == "i2t" else images
        words = f"from {metric_key.WAYS[way]}"
        if way not in model.ways:
            yield f"no lists {words}: no numbers of that direction, and none of both"
            continue
        depths = model.depths(way)
        least, most = int(depths[depths > 0].min()), int(depths.max())
        if least < gallery:
            deep = str(least) if least == most else f"{least} to {most}"
            yield (
                f"lists {words} name {deep} of {format_count(gallery, 'item')}; others rank below, and "
                "ties count against"
            )
        silent_queries = np.flatnonzero(depths == 0)
        if len(silent_queries):
            ids = model.ids[0] if way == "i2t" else model.ids[1]
            count = format_count(len(silent_queries))
            whole = format_count(len(depths), "query")
            yield f"{count} of {whole} {words} have no list, first {ids[silent_queries[0]]!r}"


def open_saved_scores(folder: Path) -> SavedScores:
    """Open the scores or lists that a run keeps.

    Raises:
        FileNotFoundError: there are none. ChecksumError, ValueError: they are damaged.
    """
    kind = SavedScores if (folder / SCORES).is_file() else SavedLists
    return kind.read(folder)


def known_numbers(
    model: SavedLists, scores: RowScores, split: Split, measured: Measured, metrics: Sequence[str], judge: str
) -> tuple[list[Measurement], dict[str, Values], str]:
    """Keep the numbers that the lists determine.

    Args:
        model: the lists.
        scores: ``(I, T)`` of the images and captions of the split, as the model gives them.
        split: that was measured on.
        measured: measurements and values by query, of the lists as they are.
        metrics: that were asked for.
        judge: likewise.

    Returns:
        Measurements, values by query, and a note that names what is left out; empty = nothing.

    Raises:
        NothingDeterminedError: there is no such number.
    """
    measurements, values = measured
    rows = [row() for row in registry.all_metrics().values()] + [registry.load(name) for name in metrics]
    pair_models = {row.name for row in rows if row.requires in OF_PAIRS}
    candidates = []
    for measurement in measurements:
        missing = measurement.key.direction in WAYS and measurement.key.direction not in model.ways
        # declared scores compare scores of different queries
        if not missing and measurement.key.metric not in pair_models and split.benchmark is None:
            candidates.append(measurement)
    open_labels: set[str] = set()
    if not model.is_complete():
        orders = (complete_scores(scores, model.floor, judged) for judged in split.judgements.values())
        open_labels = _undetermined_labels(orders, split, (candidates, values), metrics, judge)
    known = [measurement for measurement in candidates if measurement.label not in open_labels]
    read = [measurement for measurement in known if measurement.ties != WITHOUT_SCORES]
    nothing = f"{split.name}: the lists determine no number; {'; '.join(_notes_of(model))}"
    require(read, nothing, NothingDeterminedError)
    labels = {measurement.label for measurement in known}
    left = [measurement.label for measurement in candidates if measurement.label not in labels]
    note = f"not determined by the lists, and left out: {', '.join(dict.fromkeys(left))}" if left else ""
    return known, {label: values[label] for label in values if label in labels}, note


def _undetermined_labels(
    orders: Iterable[RowScores], split: Split, measured: Measured, metrics: Sequence[str], judge: str
) -> set[str]:
    """Return labels of the numbers that some order of the open places changes."""
    measurements, values = measured
    changed: set[str] = set()
    with Task("finding what the lists determine", len(split.judgements), "judgements") as task:
        for scores in orders:
            options: dict[str, Any] = {"metrics": metrics, "judge": judge, "rounds": 0, "strict": False}
            others, other_values = evaluate_split(scores, split, **options)
            numbers = {measurement.label: measurement.value for measurement in others}
            for measurement in measurements:
                label = measurement.label
                same = np.array_equal(measurement.value, numbers.get(label, np.inf), equal_nan=True)
                if same and label in values:
                    same = np.array_equal(values[label], other_values[label], equal_nan=True)
                if not same:
                    changed.add(label)
            task.update()
    return changed
