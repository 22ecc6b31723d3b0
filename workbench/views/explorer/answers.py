"""What the explorer answers: plain records that the widget, the static page, the exports and the tests all
read.

One answer is one question to several runs. An item (an image, a caption or an entity) is described once, with
its score and its rank in *every* run; a column is the list of the rows that one run puts first. Ranks count
from 1 and are places in the whole gallery: a filter hides items and never moves a rank. What is not known is
``None``, never NaN, so that ``as_dict`` is JSON. The key of a thumbnail is the row of its image as text.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pandas as pd

from workbench.views.explorer import notes
from workbench.views.explorer.panels import thumbnail_keys
from workbench.views.explorer.questions import Mark, Seeks

COLUMNS = ["query", "seeks", "run", "rank", "id", "score", "grade", "mark", "pinned", "captions"]


@dataclass(frozen=True)
class Query:
    """What was asked.

    Args:
        label: the question in words, as a heading shows it.
        seeks: what is looked for.
        text: the words that were asked, if any.
        image: key of the image that was asked, if it is one of the data; ``""`` = none.
        measure: what a score is: ``"score of the objective"`` or ``"cosine"``.
    """

    label: str
    seeks: Seeks = "images"
    text: str = ""
    image: str = ""
    measure: str = "score of the objective"


@dataclass(frozen=True)
class Item:
    """One image, caption or entity of the gallery, as all runs see it.

    Args:
        row: its row in the gallery; what columns and pins name.
        id: image id, caption id, or the entity's words.
        captions: the image's captions; or the caption itself; ``rows``: theirs in the split.
        thumbnail: its key, of the caption's own image where captions are sought; ``""`` = none.
        grade: by the judgements that were chosen; ``None`` = not judged.
        mark: what the grade means.
        level: of the caption, 1 = generic; ``None`` = the data know no levels, or it is an image.
        count: how many captions of the data read so, where captions are sought.
        scores, ranks: one a run; ``None`` where the run does not know the item.
    """

    row: int
    id: str
    captions: tuple[str, ...]
    thumbnail: str
    grade: float | None
    mark: Mark
    level: int | None
    scores: tuple[float | None, ...]
    ranks: tuple[int | None, ...]
    rows: tuple[int, ...] = ()
    count: int = 1


@dataclass(frozen=True)
class Answer:
    """One question and what every run answers.

    Args:
        query: what was asked.
        runs: names of the runs, in the order of the columns.
        items: every item of a column and every pinned one, each once.
        columns: rows shown in each run's column, best first.
        gallery: how many items there are.
        passed: how many of them pass the filters.
        grades: name of the judgements that grade.
        pins: rows that are pinned.
        watched: row of the item that panels speak of; ``None`` = none.
        panels: what each panel that is shown draws, by its name.
        facts: what a reader must know of this answer; ``truth`` and ``note`` say it.
        thumbnails: key -> data URL; filled for static pages only.
        partners: the items that are paired with the question in the data, wherever they stand.
        skip: how many items were left out at the head of each column.
        unusual: words that were typed and that captions do not use, each with those near to it.
    """

    query: Query
    runs: tuple[str, ...]
    items: tuple[Item, ...]
    columns: tuple[tuple[int, ...], ...]
    gallery: int
    passed: int
    grades: str
    pins: tuple[int, ...] = ()
    watched: int | None = None
    panels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: notes.Facts = field(default_factory=notes.Facts)
    thumbnails: Mapping[str, str] = field(default_factory=dict)
    partners: tuple[Item, ...] = ()
    skip: int = 0
    unusual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def truth(self) -> str:
        """Of how many images the question is true, where the data know, and words that they or a model do
        not know, in a line.
        """
        return notes.truth_sentences(self.facts)

    @property
    def note(self) -> str:
        """What a reader must know of this answer, in sentences."""
        return notes.note_sentences(self.facts)

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values, its facts in sentences."""
        values = asdict(self)
        del values["facts"]
        return {**values, "truth": self.truth, "note": self.note}

    def with_columns(self, more: "Answer") -> "Answer":
        """Return the answer with the columns of the same question that come after it."""
        items = {item.row: item for item in (*self.items, *more.items)}
        columns = tuple((*old, *new) for old, new in zip(self.columns, more.columns, strict=True))
        return replace(self, columns=columns, items=tuple(items.values()))

    def table(self) -> pd.DataFrame:
        """Return one line for each run and item: query, run, rank, id, score, grade, mark, captions, and
        whether the item is pinned.
        """
        items = {item.row: item for item in self.items}
        lines = []
        for run, column in enumerate(self.columns):
            rows = dict.fromkeys([*column, *self.pins])
            lines += [self._table_row(run, items[row]) for row in rows]
        return pd.DataFrame(lines, columns=COLUMNS).astype({"rank": "Int64"})

    def _table_row(self, run: int, item: Item) -> dict[str, Any]:
        query = self.query
        return {
            "query": query.label,
            "seeks": query.seeks,
            "run": self.runs[run],
            "rank": item.ranks[run],
            "id": item.id,
            "score": item.scores[run],
            "grade": item.grade,
            "mark": item.mark,
            "pinned": item.row in self.pins,
            "captions": " | ".join(item.captions),
        }

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the thumbnails that a page of this answer shows, each once."""
        of_items = [item.thumbnail for item in (*self.items, *self.partners)]
        keys = [self.query.image, *of_items, *thumbnail_keys(self.panels)]
        return tuple(dict.fromkeys(filter(None, keys)))
