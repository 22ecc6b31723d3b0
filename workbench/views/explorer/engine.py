"""The explorer without a browser: questions in, answers out.

Everything that the widget shows comes from here as plain records, so that it can be tested, exported and
written to a page.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.experiment.opened import OpenRun
from workbench.records import Rows
from workbench.views.explorer import counterfactual, order
from workbench.views.explorer.answers import Answer, Item, Query, Seeks, Step, Word, thumbnail_key
from workbench.views.explorer.asker import Asker, Scores, by_objective
from workbench.views.explorer.entities import Entities
from workbench.views.explorer.gallery import Gallery
from workbench.views.explorer.grading import Grader
from workbench.views.explorer.questions import Filters, Question

REMEMBERED = 16
STEPS = tuple(step / 10 for step in range(11))
PARTING = "Ranks are places in the whole gallery; filters hide items and move no rank."


class Engine:
    """Answers questions for several runs over one split.

    Args:
        spaces: the runs, in the order of the columns.
        grades: name of the split's judgements; ``""`` = the densest that it has.

    Raises:
        ValueError: no space, spaces of different splits, or judgements that the split has not.
    """

    def __init__(self, spaces: Sequence[OpenRun], *, grades: str = "") -> None:
        if not spaces:
            raise ValueError(
                "nothing to explore: give at least one space, e.g. workbench.experiment.open_runs()"
            )
        self.split = spaces[0].split
        if any(space.split is not self.split for space in spaces):
            raise ValueError(
                "the spaces are of different splits; open them together with workbench.experiment.open_runs"
            )
        entities = Entities(spaces)
        self.names = tuple(space.name for space in spaces)
        self.gallery = Gallery(self.split, entities)
        self.grader = Grader(self.gallery, grades)
        self.askers = tuple(Asker(space, number, entities) for number, space in enumerate(spaces))
        self._scores: OrderedDict[Any, tuple[Scores, ...]] = OrderedDict()

    def answer(self, question: Question) -> Answer:
        """What every run answers.

        Raises:
            ValueError: a row outside the gallery, nothing to seek, or a question without a direction.
        """
        self._check(question)
        graph = counterfactual.graph_of(question)
        asked = (
            question.with_text(counterfactual.reworded(question, graph))
            if question.changes and graph
            else question
        )
        scores, size = self.scores(asked), self.gallery.size(question.seeks)
        passes = self._passes(question)
        columns = tuple(tuple(order.first(one, question.k, passes).tolist()) for one in scores)
        watched = (
            question.watched
            if question.watched is not None
            else next((column[0] for column in columns if column), None)
        )
        rows = list(dict.fromkeys([*question.pins, *(row for column in columns for row in column)]))
        answer = Answer(
            self._query(question, asked),
            self.names,
            self._items(replace(asked, changes=question.changes), rows, scores),
            columns,
            size,
            size if passes is None else int(passes.sum()),
            self.grader.name,
            question.pins,
            watched,
            note=self._note(question),
        )
        return self._with_extras(answer, question, asked)

    def scores(self, question: Question) -> tuple[Scores, ...]:
        """``(N,)`` scores of the whole gallery, one array a run; the last questions are remembered."""
        key = (tuple(term.key for term in question.terms), question.seeks, question.walk)
        if key not in self._scores:
            self._scores[key] = tuple(asker.scores(question) for asker in self.askers)
            if len(self._scores) > REMEMBERED:
                self._scores.popitem(last=False)
        self._scores.move_to_end(key)
        return self._scores[key]

    def _check(self, question: Question) -> None:
        size = self.gallery.size(question.seeks)
        if not size:
            raise ValueError("no run embeds entities; train one with the objective cora to ask for them")
        rows = [*question.pins, *([] if question.watched is None else [question.watched])]
        if any(not 0 <= row < size for row in rows):
            raise ValueError(f"a pinned or watched row lies outside of 0..{size - 1}")

    def _passes(self, question: Question) -> NDArray[np.bool_] | None:
        passes = self.gallery.passes(question.seeks, question.filters)
        if question.seeks == "captions":
            once = self.gallery.once(self.grader.image_of(question))
            passes = once if passes is None else passes & once
        if not question.filters.marks:
            return passes
        rows: Rows = np.arange(self.gallery.size(question.seeks))
        marked = np.isin(self.grader.grades(question, rows)[1], question.filters.marks)
        return marked if passes is None else passes & marked

    def _query(self, question: Question, asked: Question) -> Query:
        image = next((thumbnail_key(term.value) for term in question.terms if term.kind == "image"), "")
        measure = "score of the objective" if by_objective(asked) else "cosine"
        return Query(asked.label, question.seeks, asked.words, image, question.walk, measure)

    def _items(self, question: Question, rows: Sequence[int], scores: tuple[Scores, ...]) -> tuple[Item, ...]:
        grades, marks = self.grader.grades(question, np.array(rows, dtype=np.int64))
        places = list(zip(*[order.places(one, rows) for one in scores], strict=True))
        return tuple(
            Item(
                row,
                self.gallery.id(question.seeks, row),
                self.gallery.captions(question.seeks, row),
                self.gallery.thumbnail(question.seeks, row),
                grade,
                mark,
                self.gallery.level(question.seeks, row),
                tuple(None if np.isnan(one[row]) else float(one[row]) for one in scores),
                place,
            )
            for row, grade, mark, place in zip(rows, grades, marks, places, strict=True)
        )

    def _note(self, question: Question) -> str:
        notes = [PARTING] if question.filters != Filters() else []
        if question.seeks == "captions":
            notes.append("Captions that read the same are shown once.")
        if self.grader.about(question) is None:
            notes.append("This question is not one of the data, so nobody judged what is right.")
        return " ".join(notes)

    def _with_extras(self, answer: Answer, question: Question, asked: Question) -> Answer:
        made: dict[str, Callable[[], Any]] = {
            "graph": lambda: counterfactual.edits(self.askers, question, answer.watched),
            "way": lambda: {"way": self._way(asked)},
            "words": lambda: {"words": self._words(asked, answer.watched)},
        }
        for name in sorted(question.extras):
            answer = replace(answer, **made[name]())
        return answer

    def _way(self, question: Question) -> tuple[Step, ...]:
        steps = []
        for run, asker in enumerate(self.askers):
            captions, images = (asker.way(question, STEPS, seeks) for seeks in _BOTH)
            for number, walk in enumerate(STEPS):
                caption, image = int(captions[number].argmax()), int(images[number].argmax())
                told = (
                    self.split.captions[caption],
                    self.gallery.level("captions", caption),
                    float(captions[number, caption]),
                )
                steps.append(Step(run, walk, *told, self.split.image_ids[image], thumbnail_key(image)))
        return tuple(steps)

    def _words(self, question: Question, watched: int | None) -> tuple[Word, ...]:
        """How far the score of the watched image falls when a word of the text is left out."""
        words = question.words.split()
        if watched is None or question.seeks != "images" or len(words) < 2:
            return ()
        without = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        found = [asker.sentences_of(watched, [" ".join(words), *without]) for asker in self.askers]
        effects = np.stack([one[0] - one[1:] for one in found], axis=1)
        return tuple(Word(word, tuple(effect)) for word, effect in zip(words, effects.tolist(), strict=True))


_BOTH: tuple[Seeks, Seeks] = ("captions", "images")
