"""The queries of the data as one table, which a page filters by itself: fields, ranks and values by query.

The page gets it once for each direction, counts and filters in the browser, and takes means of the values by
query. No filter waits for the kernel, and a page without one has the same filters. Columns are arrays of
numbers in as few bytes as hold them; ``query_table.js`` reads them.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench import metrics
from workbench.metrics.slices import chances_by_query, perfect_ranks
from workbench.records import Array, MetricKey, Rows, Split, Values, densest_judgements, require
from workbench.runs import compare
from workbench.runs.conditions import slice_masks
from workbench.runs.errors import first_answers
from workbench.runs.fields import AllFields, field_extractors, usual_fields
from workbench.runs.result import Result
from workbench.runs.saved_slices import query_ids, slices_with_queries
from workbench.runs.selection import Selection
from workbench.runs.slices import FEW, labels_between, query_values, round_cut, slices_of
from workbench.runs.ways import WAYS, Way
from workbench.views.explorer.questions import Question, Term

DEPTHS = (1, 5, 10)
BINS = 12
# whole numbers of so small a range have a bar each
NARROW = 16
# of the values that the outermost bars hold
TAILS = (0.01, 0.99)
USUAL_K = 6
# a page that reads offline holds at most so many queries
MOST = 50_000
# smallest types first; the names are those of ``query_table.js``
TYPES = ("i1", "i2", "i4", "f4", "f8")

Blobs = list[bytes]


class Queries:
    """The queries of a split, and what runs answered.

    Args:
        runs: open runs of one split.
    """

    def __init__(self, runs: Sequence[Result]) -> None:
        self.runs = runs
        self.split = runs[0].split
        self.fields = AllFields(self.split, runs[0])

    def table(self, direction: Way, names: Sequence[str] = ()) -> tuple[dict[str, Any], Blobs]:
        """Return the table of one direction, and the bytes of its columns.

        Args:
            direction: whether images or captions are the queries.
            names: fields beside the usual ones.

        Raises:
            ValueError: the data are no images with captions, or the runs have no such direction.
        """
        split = self.split
        require(split.captions, f"{split.name} has no captions, so there are no queries to filter")
        measured = f"{split.name} is measured by the scores that it declares, and not by query of a gallery"
        require(not split.benchmark, measured)
        lacking = [run.name for run in self.runs if direction not in run.model.ways]
        require(not lacking, f"{', '.join(lacking)}: the lists of this run have no {direction}")
        blobs: Blobs = []
        texts = self._texts(direction)
        usual = usual_fields(split)
        shown = [name for name in self.fields if name in usual or name in names]
        fields: list[dict[str, Any]] = []
        for name in shown:
            fields += self._field(name, direction, blobs)
        ids = list(query_ids(split, direction))
        ranks = [add_column(run.ranks(direction), blobs) for run in self.runs]
        table: dict[str, Any] = {"direction": direction, "size": len(ids), "ids": ids, "texts": texts}
        table |= {"images": add_column(self.images(direction), blobs), "fields": fields}
        table |= {"runs": [run.name for run in self.runs], "ranks": ranks}
        table |= {"numbers": self._numbers(direction, blobs), "more": self._more(shown), "conditions": []}
        return table, blobs

    def for_page(self, conditions: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Return the tables of both directions with their bytes in them, for a page without a kernel; nothing
        of data without captions, of ranked lists without a direction, and of too many queries.

        Args:
            conditions: labels such as ``"shows=snow"`` that no field of the table says.
        """
        tables: dict[str, dict[str, Any]] = {}
        if not self.split.captions or self.split.benchmark or len(self.split.captions) > MOST:
            return tables
        for way in WAYS:
            if all(way in run.model.ways for run in self.runs):
                table, blobs = self.table(way)
                for label in dict.fromkeys(conditions):
                    column = add_column(self.condition(way, label), blobs)
                    table["conditions"].append({"label": label, "column": column})
                table["answers"] = self._first_answers(way, blobs)
                encoded = [base64.b64encode(blob).decode() for blob in blobs]
                tables[way] = table | {"more": [], "blobs": encoded}
        return tables

    def _first_answers(self, direction: Way, blobs: Blobs) -> dict[str, Any]:
        """Return what a list of queries has beside ranks, as ``answers`` does: the score of the best ground
        truth, and row and score of the best wrong answer, by run; and the ids of the items.
        """
        runs = []
        for run in self.runs:
            first = first_answers(run, direction)
            columns = {"score": first.truth_score, "wrong": first.answer, "wrong_score": first.answer_score}
            runs.append({name: add_column(values, blobs) for name, values in columns.items()})
        return {"items": list(query_ids(self.split, _other(direction))), "runs": runs}

    def condition(self, direction: Way, label: str) -> Values:
        """Return ``(queries,)`` 1 where a condition holds, such as ``word=red``, which no field says."""
        return slice_masks(self.split, label, fields=self.fields)[direction].astype(np.float64)

    def selection(self, text: str) -> Selection:
        """Return a selection that a text names, which holds some query.

        Raises:
            KeyError: no such run. ValueError: no selection, or one without a query.
        """
        selection = Selection.parse(text)
        require(selection.mask(self.runs).any(), f"no query of {self.split.name} is in {text!r}")
        return selection

    def selected(self, text: str, images: Sequence[int]) -> pd.DataFrame:
        """Return the queries of a selection as ``answers`` has them.

        Args:
            text: of the selection.
            images: rows of images whose queries alone are meant; none = all.
        """
        selection = Selection.parse(text)
        mask = selection.mask(self.runs)
        if images:
            mask &= np.isin(self.images(selection.direction), images)
        return self.answers(selection.direction, np.flatnonzero(mask).tolist())

    def questions(self, text: str, most: int, k: int) -> tuple[Question, ...]:
        """Return the queries of a selection as questions: those on which the runs differ most, of one run
        those with the worst rank.

        Args:
            text: of the selection.
            most: how many.
            k: items of an answer.
        """
        selection = Selection.parse(text)
        direction = selection.direction
        rows = selection.rows(self.runs)
        ranks = np.stack([run.ranks(direction)[rows] for run in self.runs])
        logs = np.log(np.nan_to_num(ranks, nan=1.0, posinf=len(self.split.captions)))
        weight = logs[0] if len(self.runs) == 1 else logs.max(axis=0) - logs.min(axis=0)
        chosen = rows[np.argsort(-weight, kind="stable")][:most].tolist()
        return tuple(question_of(self.split, direction, row, k=k) for row in chosen)

    def images(self, direction: Way) -> Rows:
        """Return ``(queries,)`` the row of the image of each query."""
        return np.arange(len(self.split.image_ids)) if direction == "i2t" else self.split.own

    def answers(self, direction: Way, rows: Sequence[int]) -> pd.DataFrame:
        """Return queries with what the runs answer: rank and score of the best ground truth, and the best
        wrong answer with its score.

        Args:
            direction: whether images or captions are the queries.
            rows: of the queries, in this order.
        """
        split, ids = self.split, query_ids(self.split, direction)
        require(all(0 <= row < len(ids) for row in rows), f"a query lies outside of 0..{len(ids) - 1}")
        places = np.array(rows, dtype=np.int64)
        texts = self._texts(direction)
        images = self.images(direction)[places].tolist()
        columns: dict[str, Any] = {"id": [ids[row] for row in rows], "text": [texts[row] for row in rows]}
        columns["image"] = [split.image_ids[row] for row in images]
        for name in [*split.fields, *slices_with_queries(split)]:
            columns[name] = self._cells(name, direction, places)
        items = np.array([*query_ids(split, _other(direction)), ""], dtype=object)
        for run in self.runs:
            first = first_answers(run, direction)
            columns[f"rank {run.name}"] = first.rank[places]
            columns[f"score {run.name}"] = first.truth_score[places].astype(float)
            columns[f"wrong answer {run.name}"] = items[first.answer[places]]
            columns[f"its score {run.name}"] = first.answer_score[places].astype(float)
        return pd.DataFrame(columns)

    def _cells(self, name: str, direction: Way, rows: Rows) -> list[Any]:
        """Return the value of a field of each query, as a table holds it."""
        field = self.fields[name]
        values = query_values(field, self.split.own, len(self.split.image_ids), direction)
        return replace(field, values=values[rows]).cells()

    def _texts(self, direction: Way) -> list[str]:
        """Return ``(queries,)`` captions; of an image its first one."""
        captions = self.split.captions
        if direction == "t2i":
            return list(captions)
        return [captions[row] for row in np.unique(self.split.own, return_index=True)[1].tolist()]

    def _more(self, shown: Sequence[str]) -> list[dict[str, str]]:
        """Return the fields that can be computed as well, with a sentence on each."""
        return [
            {"name": name, "about": field.about}
            for name, field in field_extractors().items()
            if name in self.fields and name not in shown
        ]

    def _field(self, name: str, direction: Way, blobs: Blobs) -> Iterable[dict[str, Any]]:
        """Yield what a page draws of a field; nothing of one whose values are no bars."""
        field = self.fields[name]
        about = {"name": name, "source": field.source, "kind": field.kind}
        if field.kind == "number" and field.distinct > FEW:
            values = query_values(field, self.split.own, len(self.split.image_ids), direction)
            if edges := bar_edges(values):
                labels = labels_between(field, edges)
                yield about | {"edges": edges, "labels": labels, "column": add_column(values, blobs)}
        elif field.kind != "text":
            slices = slices_of(self.split, name, direction, fields={name: field})
            codes = np.argmax(np.stack(list(slices.values())), axis=0)
            yield about | {"edges": None, "labels": list(slices), "column": add_column(codes, blobs)}

    def _numbers(self, direction: Way, blobs: Blobs) -> list[dict[str, Any]]:
        """Return the numbers whose means a page shows, with their values by query and by chance."""
        dense = densest_judgements(self.split.judgements)
        keys = [MetricKey("R", direction, k=k) for k in DEPTHS] + [MetricKey("map_at_r", direction, dense)]
        by_run = [values_of(run, list(map(str, keys))) for run in self.runs]
        numbers = []
        for key in keys:
            label = str(key)
            if not all(label in values for values in by_run):
                continue
            judged = self.split.judgements[key.judgements]
            chance = chances_by_query(metrics.load(key.metric), key.k, perfect_ranks(judged, direction))[0]
            values = [add_column(values[label], blobs) for values in by_run]
            number = {"key": label, "title": key.title.partition(",")[0], "values": values}
            numbers.append(number | {"chance": add_column(chance, blobs)})
        return numbers


def _other(direction: Way) -> Way:
    """Return the direction whose queries are the items of this one."""
    return "t2i" if direction == "i2t" else "i2t"


def question_of(split: Split, direction: Way, row: int, *, k: int = USUAL_K) -> Question:
    """Return a query of the data as a question.

    Args:
        split: of the data.
        direction: whether images or captions are the queries.
        row: of the query.
        k: items of the answer.
    """
    if direction == "t2i":
        return Question((Term("caption", row, name=split.captions[row]),), k=k)
    return Question((Term("image", row, name=f"image {split.image_ids[row]}"),), "captions", k=k)


def values_of(run: Result, keys: Sequence[str]) -> Mapping[str, Values]:
    """Return the values by query of those numbers that a run has or that can be measured now."""
    try:
        return {key: values for key, (_, values) in compare.numbers(run, keys).items()}
    except KeyError:  # ranked lists do not determine every number
        return {key: run.values[key] for key in keys if key in run.values}


def add_column(values: Array, blobs: Blobs) -> dict[str, Any]:
    """Add an array in the smallest type that holds it to the bytes of a table, and return where it is; of
    equal values their value.
    """
    values = np.asarray(values)
    # an infinite number is none of JSON
    if len(values) and np.isfinite(values[0]) and (values == values[0]).all():
        return {"constant": float(values[0])}
    for name in TYPES:
        with np.errstate(invalid="ignore", over="ignore"):
            small = values.astype(f"<{name}")
        if np.array_equal(small, values, equal_nan=name.startswith("f")):
            break
    blobs.append(small.tobytes())
    return {"type": name, "at": len(blobs) - 1}


def bar_edges(values: Values) -> list[float]:
    """Return where the bars of a histogram end: about twelve of equal width, the outermost open.

    >>> bar_edges(np.arange(5.0)), bar_edges(np.linspace(0, 1, 1001))[:3]
    ([0.0, 1.0, 2.0, 3.0], [0.0917, 0.173, 0.255])
    """
    known = values[~np.isnan(values)]
    whole = bool((known == np.round(known)).all())
    low, high = float(known.min()), float(known.max())
    if whole and high - low <= NARROW:
        return [float(edge) for edge in np.arange(low, high)]
    low, high = np.quantile(known, TAILS).tolist()
    edges = np.linspace(low, high, BINS + 1)[1:-1].tolist()
    if whole:
        return sorted({float(round(edge)) for edge in edges})
    return sorted({round_cut(edge) for edge in edges})
