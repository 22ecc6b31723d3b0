"""What the explorer answers: plain records that the widget, the static page, the exports and the tests all
read.

One answer is one question to several runs. An item (an image, a caption or an entity) is described once, with
its score and its rank in *every* run; a column is the list of the rows that one run puts first. Ranks count
from 1 and are places in the whole gallery: a filter hides items and never moves a rank. What is not known is
``None``, never NaN, so that ``as_dict`` is JSON. The key of a picture is the row of its image as text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pandas as pd

from workbench.records import SceneGraph
from workbench.views.explorer.questions import Mark, Seeks

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Query:
    """What was asked.

    Args:
        label: the question in words, as a heading shows it.
        seeks: what is looked for.
        text: the words that were asked, if any.
        image: key of the image that was asked, if it is one of the data; ``""`` = none.
        walk: how far towards the root the query was moved, 0 = not at all, 1 = the root itself.
        measure: what a score is: ``"score of the objective"`` or ``"cosine"``.
    """

    label: str
    seeks: Seeks = "images"
    text: str = ""
    image: str = ""
    walk: float = 0.0
    measure: str = "score of the objective"


@dataclass(frozen=True)
class Item:
    """One image, caption or entity of the gallery, as all runs see it.

    Args:
        row: its row in the gallery; what columns and pins name.
        id: image id, caption id, or the entity's words.
        captions: the image's captions; or the caption itself; ``rows``: theirs in the split.
        thumbnail: key of the picture, of the caption's own image where captions are sought; ``""`` = none.
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
        watched: row of the item that edits and words speak of; ``None`` = none.
        graph: scene graph of the sentence after the edits so far.
        edits, way, words: counterfactuals, hierarchy walk, effect of each word, as ``types.d.ts`` declares
            them; empty where nobody asked.
        note: what a reader must know of this answer, in a sentence.
        thumbnails: key -> data URL; filled for static pages only.
        truth: of how many images the question is true, where the data know, and the words that they or a
            model do not know, in a line.
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
    graph: SceneGraph | None = None
    edits: Sequence[Row] = ()
    way: Sequence[Row] = ()
    words: Sequence[Row] = ()
    note: str = ""
    thumbnails: Mapping[str, str] = field(default_factory=dict)
    truth: str = ""
    partners: tuple[Item, ...] = ()
    skip: int = 0
    unusual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return asdict(self)

    def with_more(self, more: "Answer") -> "Answer":
        """The answer with the columns of the same question that come after it."""
        items = {item.row: item for item in (*self.items, *more.items)}
        columns = tuple((*old, *new) for old, new in zip(self.columns, more.columns, strict=True))
        return replace(self, columns=columns, items=tuple(items.values()))

    def table(self) -> pd.DataFrame:
        """One line for each run and item: query, run, rank, id, score, grade, mark, captions, and whether the
        item is pinned.
        """
        items = {item.row: item for item in self.items}
        lines = [
            (self.query.label, self.query.seeks, name, item.ranks[run], item.id, item.scores[run], item.grade,
             item.mark, item.row in self.pins, " | ".join(item.captions))
            for run, name in enumerate(self.runs)
            for item in (items[row] for row in dict.fromkeys([*self.columns[run], *self.pins]))
        ]  # fmt: skip
        columns = ["query", "seeks", "run", "rank", "id", "score", "grade", "mark", "pinned", "captions"]
        return pd.DataFrame(lines, columns=columns).astype({"rank": "Int64"})

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the thumbnails that a page of this answer shows, each once."""
        named = [
            self.query.image,
            *(item.thumbnail for item in (*self.items, *self.partners)),
            *(step["thumbnail"] for step in self.way),
        ]
        return tuple(dict.fromkeys(key for key in named if key))
