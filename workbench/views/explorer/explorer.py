"""The retrieval explorer: a widget that asks one or several models the same question and shows what each of
them finds.

The Python side passes messages on and keeps what was selected. What is answered is made by ``engine``, which
needs no browser; what is seen is made by ``explorer.js`` and ``explorer.css``, which ask nothing of any other
place.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import anywidget
import numpy as np
import pandas as pd
import traitlets

from workbench.io import user_folder, write_table
from workbench.progress import during, in_tab
from workbench.records import require
from workbench.registry import check_arguments
from workbench.runs import compare
from workbench.runs.model import Model
from workbench.runs.models import open_model
from workbench.runs.opening import open_results, share_split
from workbench.runs.own import is_object_model
from workbench.runs.preview import preview_model
from workbench.runs.result import Result
from workbench.views import photographs
from workbench.views.explorer import static
from workbench.views.explorer.answers import Answer, Item
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.messages import Messages
from workbench.views.explorer.panels import Panel, panel_scripts, panel_styles
from workbench.views.explorer.questions import (
    MARKS,
    SEEKS,
    Kind,
    Question,
    Seeks,
    Term,
    check_question,
    read_question,
)
from workbench.views.explorer.thumbnails import Thumbnails
from workbench.views.pages import join_scripts

HERE = Path(__file__).parent
PARTS = ("parts.js",)
STYLES = ("explorer.css", "selection.css")
# one module for the browser, in this order; the scripts of panels follow the first
SCRIPTS = (
    "tiles.js",
    "kernel.js",
    "disagreements.js",
    "gallery.js",
    "query_table.js",
    "selection.js",
    "query_list.js",
    "query_side.js",
    "inspector.js",
    "filters.js",
    "questions.js",
    "bars.js",
    "run_bar.js",
    "exchange.js",
    "panels.js",
    "explorer.js",
)
ERRORS = (ValueError, KeyError, IndexError, TypeError, OSError, RuntimeError)


class Explorer(anywidget.AnyWidget):
    """Ask several runs the same question, side by side.

    Args:
        runs: over one split: those of ``workbench.open_runs``, or results of ``workbench.evaluate``.
        k: items a column.
        grades: name of the split's judgements that colour the answers; ``""`` = the densest that it has.
        start: the first question, words or the row of a caption of the data; ``""`` = the longest caption of
            the first image.
        folder: below it the page's field "Export to" may write files that are not there yet; if not given,
            the folder in which the user stands (``io.user``).
        panels: classes of panels, beside those of installed packages.
        select: the queries that are selected at first, as a text such as ``"t2i/R@1[language=de]"``, see
            ``runs.selection``.

    Raises:
        ValueError: no run, runs of different splits, judgements that the split has not, or a panel without a
            script.

    Attributes:
        runs: that answer.
        selected_idx: rows of the images that are selected, in the order of selection, or of those of the
        queries that are selected; may be observed and linked.
        selected: the selected queries as a text, see ``runs.selection``; may be observed and set.
        answer: what was answered last.
        saved: questions that were saved in the widget, with name and tags; may be set.
    """

    selected_idx = traitlets.List(traitlets.Int()).tag(sync=True)
    saved = traitlets.List(traitlets.Dict()).tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    first = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)

    @check_arguments("Explorer")
    def __init__(
        self,
        runs: Sequence[Result] | Result,
        *,
        k: int = 12,
        grades: str = "",
        start: str | int = "",
        folder: Path | str = "",
        panels: Sequence[type[Panel]] = (),
        select: str = "",
    ) -> None:
        self.folder = Path(folder).resolve() if str(folder) else user_folder()
        runs = open_results(runs)
        self.runs = tuple(runs)
        self.engine = Engine(runs, grades=grades, panels=panels)
        self.thumbnails = Thumbnails(self.engine.split)
        self._messages = Messages(self)
        self.answer: Answer | None = None
        self._map: Any = None
        self._k = k
        words, row = self._first_words(start)
        self._start = self._term_of_words(words, row)
        self._panels = [type(panel) for panel in self.engine.panels.values()]
        style = "\n".join((HERE / name).read_text(encoding="utf-8") for name in STYLES)
        self._esm = "\n".join(
            [join_scripts(HERE, PARTS), panel_scripts(self._panels), join_scripts(HERE, SCRIPTS)]
        )
        self._css = "\n".join([style, panel_styles(self._panels)])
        selected = str(self.engine.queries.selection(select)) if select else ""
        super().__init__(config=self._config(words, row), selected=selected)
        self.on_msg(self._on_message)

    def _first_words(self, start: str | int) -> tuple[str, int | None]:
        """Return the words of the first question, and the row of the caption that they are."""
        gallery = self.engine.gallery
        if isinstance(start, str) and start:
            return start, gallery.row_by_caption.get(start)
        row = gallery.item("images", 0)["rows"][0] if start == "" else int(start)
        return self.engine.split.captions[row], row

    def _config(self, words: str, row: int | None) -> dict[str, Any]:
        """Return what the page knows from its first moment on: a page may be drawn before a later message
        comes.
        """
        split = self.engine.split
        gallery = self.engine.gallery
        levels = [] if split.level is None else np.unique(split.level).tolist()
        panels = [{"name": panel.name, "title": panel.title} for panel in self.engine.panels.values()]
        about = [{"tags": list(run.about.tags), "note": run.about.note} for run in self.runs]
        sizes = {seeks: len(gallery.ids(seeks)) for seeks in SEEKS}
        graded = compare.make_grader(split) is not None
        return {
            "split": split.name,
            "grades": self.engine.grader.name,
            "marks": MARKS,
            "runs": list(self.engine.names),
            "about": about,
            "levels": levels,
            "sizes": sizes,
            "k": self._k,
            "graded": graded,
            "start": words,
            "startRow": row,
            "panels": panels,
        }

    @check_arguments("query")
    def query(
        self,
        *,
        text: str | None = None,
        image: Any = None,
        embedding: Any = None,
        k: int | None = None,
        run: int = 0,
        seeks: Seeks | Literal[""] = "",
    ) -> list[dict[str, Any]]:
        """Ask one run from Python.

        Args:
            text: words.
            image: id of an image of the data, or a ``PIL.Image``.
            embedding: ``(D,)`` vector. Given together, text, image and embedding are added up.
            k: how many answers; ``None`` = as in the widget.
            run: number of the run.
            seeks: ``"images"``, ``"captions"`` or ``"entities"``; ``""`` = captions for an image alone, else
                images.

        Returns:
            Mappings of ``id``, ``caption``, ``image`` (an opened image, ``None`` for an entity),
            ``similarity`` and ``grade``.

        Raises:
            ValueError: nothing is asked, or there is no such image.
        """
        parts: dict[Kind, Any] = {"text": text, "pixels": image, "embedding": embedding}
        terms = tuple(self._term(kind, value) for kind, value in parts.items() if value is not None)
        usual: Seeks = "captions" if text is None and embedding is None else "images"
        answer = self.ask(Question(terms, seeks or usual, k or self._k))
        items = {item.row: item for item in answer.items}
        return [self._as_record(items[row], run) for row in answer.columns[run]]

    def _as_record(self, item: Item, run: int) -> dict[str, Any]:
        """Return an item as ``query`` returns it."""
        image = photographs.image_or_card(self.engine.split, int(item.thumbnail)) if item.thumbnail else None
        return {
            "id": item.id,
            "caption": item.captions[0] if item.captions else "",
            "image": image,
            "similarity": item.scores[run],
            "grade": item.grade,
        }

    def ask(self, question: Question) -> Answer:
        """Ask all runs; the answer is also kept in ``answer``.

        Raises:
            TypeError, ValueError: a value of the question is of another type, or out of its range.
        """
        self.answer = self.engine.answer(check_question(question))
        return self.answer

    def _term_of_words(self, words: str, row: int | None = None) -> Term:
        """Return words as a term: the caption of the data that they are, or loose words."""
        row = self.engine.gallery.row_by_caption.get(words) if row is None else row
        return Term("text", words) if row is None else Term("caption", row, name=words)

    def _term(self, kind: Kind, value: Any) -> Term:
        captions = self.engine.split.captions
        if kind == "text" and not self.engine.encodes and value in captions:
            # without a model, a caption of the data is known by its row
            return Term("caption", captions.index(value), name=value)
        if kind != "pixels" or not isinstance(value, str):
            name = value if kind == "text" else f"a given {kind}"
            return Term(kind, value, name=name)
        name = self.engine.split.name
        ids = self.engine.split.image_ids
        require(value in ids, f"{name} has no image {value!r}; ids look like {ids[0]!r}")
        return Term("image", ids.index(value), name=f"image {value}")

    def selection(self) -> pd.DataFrame:
        """Return the selected images: id, captions, and score and rank under every run for the last question
        that sought images.
        """
        rows = list(self.selected_idx)
        answer = self.answer
        selected = [self.engine.gallery.item("images", row) for row in rows]
        captions = [" | ".join(item["captions"]) for item in selected]
        table = pd.DataFrame({"row": rows, "id": [item["id"] for item in selected], "captions": captions})
        if answer is None or answer.query.seeks != "images":
            return table
        items = {item.row: item for item in answer.items}
        for run, name in enumerate(answer.runs):
            scores = {row: item.scores[run] for row, item in items.items()}
            ranks = {row: item.ranks[run] for row, item in items.items()}
            table[f"score {name}"] = [scores.get(row) for row in rows]
            table[f"rank {name}"] = pd.Series([ranks.get(row) for row in rows], dtype="Int64")
        return table

    def link(self, other: traitlets.HasTraits) -> None:
        """Keep ``selected_idx`` the same here and in another explorer or map over the same split; a map also
        marks where the sentence that is asked here lies.

        Raises:
            ValueError: the other has no ``selected_idx``.
        """
        require(other.has_trait("selected_idx"), f"{type(other).__name__} has no selected_idx to link with")
        traitlets.link((self, "selected_idx"), (other, "selected_idx"))
        if other.has_trait("question"):
            self._map = other

    def export(self, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write the last answer as a table, one line for each item and run; the file appears whole or not at
        all.

        Args:
            path: ends with ``.csv``, ``.json`` or ``.parquet``.
            overwrite: replace a file that is there.

        Raises:
            FileExistsError: there is such a file.
            ValueError: another ending.
        """
        return _write_new(path, self.table(), overwrite=overwrite)

    def table(self) -> pd.DataFrame:
        """Return the last answer as ``export`` writes it: one line for each item and run."""
        return self._last_answer().table()

    def export_below(self, path: str, table: pd.DataFrame | None = None, *, overwrite: bool = False) -> Path:
        """Write what the page asks to export, which may lie in ``folder`` alone.

        Args:
            path: below ``folder``, see ``export``.
            table: that is written; ``None`` = the last answer.
            overwrite: see ``export``.
        """
        place = (self.folder / path).resolve()
        require(
            place.is_relative_to(self.folder),
            f"{path} lies outside of the folder {self.folder.name}, and a page writes nowhere else; name the "
            "folder in Explorer(folder=...), or write with export(...) in the notebook",
        )
        return _write_new(place, self.table() if table is None else table, overwrite=overwrite)

    def queries(self) -> pd.DataFrame:
        """Return the selected queries: id, text and fields, and of every run the rank and score of the best
        ground truth and the best wrong answer. Without a selection, all captions.
        """
        return self.engine.queries.selected(self.selected, self.selected_idx)

    @check_arguments("to_html")
    @during("writing the page")
    def to_html(
        self, path: Path | str, *, questions: Sequence[Question | str] = (), conditions: Sequence[str] = ()
    ) -> Path:
        """Write a page that reads without kernel or network, and filters and counts all queries.

        Args:
            path: of the page.
            questions: that are answered on it, each may be a text; none = the selected queries, or the last
                answer.
            conditions: that a link to the page may name and no field says, such as ``"shows=snow"``.
        """
        questions = questions or (self.most_different() if self.selected else ())
        queries = self.engine.queries.for_page(conditions)
        return static.write(path, self.static(questions), panels=self._panels, queries=queries)

    @check_arguments("show")
    def show(self, questions: Sequence[Question | str] = ()) -> Any:
        """Return the widget where a person looks, and the static page of these questions where a notebook is
        run in a batch.

        A kernel that a Jupyter server or Voilà has started is looked at; one that papermill has started is
        not, and a widget would leave nothing that can be read there.
        """
        in_jupyter = "JPY_SESSION_NAME" in os.environ and "WORKBENCH_BATCH" not in os.environ
        if in_jupyter or in_tab():
            # so that it stands before a kernel that has other cells to run can be asked
            self.first = self.static([Question((self._start,), k=self._k)])[0].as_dict()
            return self
        from IPython.display import HTML

        queries = self.engine.queries.for_page()
        return HTML(static.html(self.static(questions), panels=self._panels, queries=queries))

    def answerable(self, questions: Sequence[Question]) -> tuple[Question, ...]:
        """Return the questions that some run can answer; those of scores alone have no typed sentences.

        Args:
            questions: any.
        """
        return tuple(question for question in questions if self._can_answer(check_question(question)))

    def _can_answer(self, question: Question) -> bool:
        """Return whether some run can answer a question."""
        return any(answerer.can_answer(question) for answerer in self.engine.answerers)

    def questions(self, tag: str = "") -> tuple[Question, ...]:
        """Return the questions that were saved in the widget, as ``to_html`` takes them.

        Args:
            tag: only those that carry it; ``""`` = all.
        """
        saved = [entry["question"] for entry in self.saved if not tag or tag in entry["tags"]]
        return tuple(read_question(question, [], self.engine.split) for question in saved)

    def most_different(self, most: int = 10) -> tuple[Question, ...]:
        """Return the selected queries on which the runs disagree most as questions, of one run those with the
        worst rank; without a selection, captions by the rank of their own image.

        Args:
            most: how many; without a selection one run disagrees with nobody, and there is none.
        """
        if self.selected:
            return self.engine.queries.questions(self.selected, most, self._k)
        if len(self.engine.names) == 1:
            return ()
        rows = [difference["row"] for difference in self.engine.disagreements("rank")[:most]]
        terms = [Term("caption", row, name=self.engine.split.captions[row]) for row in rows]
        return tuple(Question((term,), k=self._k) for term in terms)

    def static(self, questions: Sequence[Question | str] = ()) -> tuple[Answer, ...]:
        """Return answers with their thumbnails in them: to these questions, or the last one.

        Raises:
            ValueError: no run can answer a question.
        """
        answers = [self.engine.answer(self._question(question)) for question in questions]
        return tuple(map(self.thumbnails.with_thumbnails, answers or [self._last_answer()]))

    def _question(self, question: Question | str) -> Question:
        """Return a question, or words as one, which a run can answer.

        Raises:
            ValueError: none can.
        """
        if isinstance(question, str):
            question = Question((self._term_of_words(question),), k=self._k)
        question = check_question(question)
        if not any(answerer.can_answer(question) for answerer in self.engine.answerers):
            names = " and ".join(self.engine.names)
            what = "vectors without a model"
            hint = f"ask an image or, word for word, a caption of {self.engine.split.name}"
            if all(answerer.encodes for answerer in self.engine.answerers):
                what = "a model without vectors"
                hint = "ask for images by one text, or for captions by one image"
            raise ValueError(f"{names}: {what} cannot be asked “{question.label}”; {hint}")
        return question

    def _last_answer(self) -> Answer:
        return self.answer or self.ask(Question((self._start,), k=self._k))

    def answer_question(self, question: Question) -> Answer:
        """Answer a question of the page: what follows the answers that are there is put behind them."""
        answer = self.engine.answer(question)
        before = self.answer
        follows = question.skip and before and before.query == answer.query
        self.answer = before.with_columns(answer) if before and follows else answer
        if self._map and answer.query.text and answer.query.text != self._map.question.get("text"):
            self._map.ask(answer.query.text, select=False)
        return answer

    def _on_message(self, _: Any, message: dict[str, Any], buffers: list[memoryview]) -> None:
        """Answer the browser; whatever goes wrong is shown there, since nobody sees a kernel's log."""
        blobs: list[bytes] = []
        try:
            reply, blobs = self._messages.reply(message, buffers)
        except ERRORS as error:
            reply = {"kind": "error", "text": str(error) or type(error).__name__}
        self.send({**reply, "number": message.get("number")}, blobs)


def _write_new(path: Path | str, table: pd.DataFrame, *, overwrite: bool) -> Path:
    """Write a table where no file is, or over one."""
    require(
        overwrite or not Path(path).exists(),
        f"{path} is there already; give another name, or overwrite=True to replace it",
        FileExistsError,
    )
    return write_table(path, table)


@check_arguments("explore")
def explore(
    *results: Any,
    images: Any = None,
    k: int = 12,
    grades: str = "",
    start: str | int = "",
    folder: Path | str = "",
    panels: Sequence[type[Panel]] = (),
    select: str = "",
) -> Explorer:
    """Return the explorer on results of one data set, or on models and images of one's own.

    Args:
        results: of ``evaluate``, ``train`` or ``open_runs``, or run folders; or what ``open_model`` opens.
        images: that models are asked about, also those of runs: a folder of images, or a split.
        k: items a column, see ``Explorer``.
        grades: see there.
        start: see there.
        folder: see there.
        panels: see there.
        select: see there.

    Raises:
        ValueError: a model without images, or results of different data.
    """
    require(results, "nothing to explore: give results of evaluate(), train() or open_runs(), or a model")
    runs: list[Result] = []
    for result in results:
        runs += _as_results(result, images)
    return Explorer(
        share_split(runs), k=k, grades=grades, start=start, folder=folder, panels=panels, select=select
    )


def _as_results(result: Any, images: Any) -> list[Result]:
    """Return results as they are, or what a model says of other images."""
    if images is not None:
        model = result.model if isinstance(result, Result) else open_model(result)
        return [preview_model(model, images)]
    needs = "a model needs images: a folder of images, or a split"
    require(not (isinstance(result, Model) or is_object_model(result)), needs)
    return open_results(result)
