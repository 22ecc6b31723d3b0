"""The retrieval explorer: a widget that asks one or several models the same question and shows what each of
them finds.

The Python side only passes messages on. What is answered is made by ``engine``, which needs no browser; what
is seen is made by ``explorer.js`` and ``explorer.css``, which ask nothing of any other place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pandas as pd
import traitlets

from workbench.experiment import runs
from workbench.experiment.opened import OpenRun
from workbench.views.explorer import exporting, twin, uploads
from workbench.views.explorer.answers import MARKS, Answer
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Kind, Question, Term, asked_by
from workbench.views.explorer.serving import Pictures

HERE = Path(__file__).parent


class Explorer(anywidget.AnyWidget):
    """Ask several runs the same question, side by side.

    Args:
        spaces: runs over one split, see ``workbench.experiment.open_runs``.
        k: items a column.
        grades: name of the split's judgements that colour the answers; ``""`` = the densest that it has.
        start: the first question; ``""`` = the longest caption of the first image.

    Raises:
        ValueError: no space, spaces of different splits, or judgements that the split has not.

    Attributes:
        selected_idx: rows of the images that are selected, in the order of selection; may be observed and
        linked.
        answer: what was answered last.
    """

    _esm = HERE / "explorer.js"
    _css = HERE / "explorer.css"
    selected_idx = traitlets.List(traitlets.Int()).tag(sync=True)
    config = traitlets.Dict().tag(sync=True)

    def __init__(self, spaces: Sequence[OpenRun], *, k: int = 12, grades: str = "", start: str = "") -> None:
        self.engine = Engine(spaces, grades=grades)
        self.pictures = Pictures(self.engine.split)
        self.uploads: list[Any] = []
        self.answer: Answer | None = None
        self._k, self._links = k, list[traitlets.link]()
        super().__init__()
        self.config = _config(self.engine, k, start or self.engine.gallery.captions("images", 0)[0])
        self.on_msg(self._on_message)

    def query(
        self,
        *,
        text: str | None = None,
        image: Any = None,
        embedding: Any = None,
        k: int | None = None,
        run: int = 0,
        seeks: str = "",
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
            Mappings of ``id``, ``caption``, ``image`` (an opened picture, ``None`` for an entity),
            ``similarity`` and ``grade``.

        Raises:
            ValueError: nothing is asked, or there is no such image.
        """
        given = (("text", text), ("image", image), ("embedding", embedding))
        terms = tuple(self._term(kind, value) for kind, value in given if value is not None)
        for_captions = text is None and embedding is None
        question = Question(terms, seeks or ("captions" if for_captions else "images"), k or self._k)  # type: ignore[arg-type]
        answer = self.ask(question)
        items = {item.row: item for item in answer.items}
        return [exporting.described(items[row], run, self.engine.split) for row in answer.columns[run]]

    def ask(self, question: Question) -> Answer:
        """Ask all runs; the answer is also kept in ``answer``."""
        self.answer = self.engine.answer(question)
        return self.answer

    def _term(self, kind: str, value: Any) -> Term:
        split = self.engine.split
        if kind == "image" and isinstance(value, str):
            if value not in split.image_ids:
                raise ValueError(f"{split.name} has no image {value!r}; ids look like {split.image_ids[0]!r}")
            return Term("image", split.image_ids.index(value), name=f"image {value}")
        kinds: dict[str, Kind] = {"text": "text", "image": "picture", "embedding": "embedding"}
        return Term(kinds[kind], value, name=value if kind == "text" else f"a given {kind}")

    def selection(self) -> pd.DataFrame:
        """The selected images: id, captions, and score and rank under every run for the last question that
        sought images.
        """
        return exporting.selection(self.engine, self.answer, self.selected_idx)

    def link(self, other: traitlets.HasTraits) -> None:
        """Keep ``selected_idx`` the same here and in another explorer or map over the same split.

        Raises:
            ValueError: the other has no ``selected_idx``.
        """
        if not other.has_trait("selected_idx"):
            raise ValueError(f"{type(other).__name__} has no selected_idx to link with")
        self._links.append(traitlets.link((self, "selected_idx"), (other, "selected_idx")))

    def export(self, path: Path | str) -> Path:
        """Write the last answer as a table, one line for each item and run; the file appears whole or not at
        all.

        Args:
            path: ends with ``.csv``, ``.json`` or ``.parquet``.

        Raises:
            ValueError: another ending, or nothing was asked yet.
        """
        return runs.write_table(path, exporting.table(self._answered()))

    def to_html(self, path: Path | str, *, questions: Sequence[Question] = ()) -> Path:
        """Write a page that reads without kernel or network: the last answer, or the answers to these
        questions.
        """
        return twin.write(path, self.static(questions))

    def show(self, questions: Sequence[Question] = ()) -> Any:
        """The widget where a person looks, and the static page of these questions where a notebook is run in
        a batch.

        A kernel that a Jupyter server has started is looked at; one that papermill has started is not, and a
        widget would leave nothing that can be read there.
        """
        if "JPY_SESSION_NAME" in os.environ and "WORKBENCH_BATCH" not in os.environ:
            return self
        from IPython.display import HTML

        return HTML(twin.html(self.static(questions)))

    def table(self) -> pd.DataFrame:
        """The last answer as ``export`` writes it: one line for each item and run."""
        return exporting.table(self._answered())

    def static(self, questions: Sequence[Question] = ()) -> tuple[Answer, ...]:
        """Answers with their pictures in them: to these questions, or the last one."""
        answers = [self.engine.answer(question) for question in questions] or [self._answered()]
        return tuple(self.pictures.inside(answer) for answer in answers)

    def _answered(self) -> Answer:
        if self.answer is None:
            return self.ask(Question((Term("caption", 0, name=self.engine.split.captions[0]),), k=self._k))
        return self.answer

    def _on_message(self, _: Any, message: dict[str, Any], buffers: list[memoryview]) -> None:
        """Answer the browser; whatever goes wrong is said there, since a kernel's log is seen by nobody."""
        makers = {
            "ask": self._ask,
            "upload": self._upload,
            "suggest": self._suggest,
            "export": self._export,
            "open": self._open,
        }
        try:
            reply, blobs = makers[message["kind"]](message, buffers)
        except (ValueError, KeyError, IndexError, TypeError, OSError, RuntimeError) as error:
            reply, blobs = {"kind": "error", "text": str(error) or type(error).__name__}, []
        self.send({**reply, "number": message.get("number")}, blobs)

    def _ask(self, message: dict[str, Any], _: Any) -> tuple[dict[str, Any], list[bytes]]:
        split = self.engine.split
        question = asked_by(message["question"], self.uploads, split.captions, split.image_ids)
        answer = self.ask(question)
        keys, blobs = self.pictures.new_to(str(message["page"]), answer.keys)
        reply: dict[str, Any] = {"kind": "answer", "answer": answer.as_dict(), "keys": keys}
        if "graph" in question.extras:
            reply["vocabulary"] = self.engine.gallery.vocabulary
        return reply, blobs

    def _upload(
        self, message: dict[str, Any], buffers: list[memoryview]
    ) -> tuple[dict[str, Any], list[bytes]]:
        self.uploads.append(uploads.opened(str(message["name"]), bytes(buffers[0])))
        return {"kind": "uploaded", "index": len(self.uploads) - 1, "name": str(message["name"])}, []

    def _suggest(self, message: dict[str, Any], _: Any) -> tuple[dict[str, Any], list[bytes]]:
        return {"kind": "suggestions", "found": self.engine.gallery.suggestions(str(message["text"]))}, []

    def _export(self, message: dict[str, Any], _: Any) -> tuple[dict[str, Any], list[bytes]]:
        return {"kind": "exported", "path": str(self.export(message["path"]))}, []

    def _open(self, message: dict[str, Any], _: Any) -> tuple[dict[str, Any], list[bytes]]:
        return {"kind": "opened", "row": int(message["row"])}, [self.pictures.large(int(message["row"]))]


def _config(engine: Engine, k: int, start: str) -> dict[str, Any]:
    """What the browser must know before the first question."""
    split = engine.split
    levels = [] if split.level is None else [int(level) for level in np.unique(split.level)]
    numbers = {
        "images": len(split.image_ids),
        "captions": len(split.captions),
        "entities": len(engine.gallery.entities.names),
    }
    about = {"split": split.name, "grades": engine.grader.name, "marks": dict(MARKS)}
    return {**about, "runs": list(engine.names), "levels": levels, "sizes": numbers, "k": k, "start": start}
