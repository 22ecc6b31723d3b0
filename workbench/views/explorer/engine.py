"""The explorer without a browser: questions in, answers out.

Everything that the widget shows comes from here as plain records, so that it can be tested, exported and
written to a page.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.records import Embedding, Rows, require
from workbench.runs.model import KeptVectors
from workbench.runs.result import OpenRun
from workbench.views.explorer import notes
from workbench.views.explorer.answers import Answer, Item, Query, Row
from workbench.views.explorer.disagreements import disagreements
from workbench.views.explorer.gallery import Entities, Gallery, Grader, cosines, ranking
from workbench.views.explorer.questions import (
    Filters,
    Question,
    Seeks,
    Term,
    changed,
    described,
    drops,
    parsed,
    parser,
    sentence,
)

# ``(N,)`` one run's scores of the whole gallery, or several lines of them
Scores = NDArray[np.float32]
TEXTS = 256
QUESTIONS = 16
# what a kind of term asks for when the objective itself scores it
OTHER = {"text": "images", "caption": "images", "image": "captions", "picture": "captions"}
SIDES: tuple[Seeks, Seeks] = ("captions", "images")
STEPS = tuple(step / 10 for step in range(11))


def unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    """The vector at length 1.

    Raises:
        ValueError: it has no direction, e.g. since what is added and what is taken away cancel out.
    """
    length = float(np.linalg.norm(vector))
    require(
        length > 1e-6, "the question has no direction left: what is added and what is taken away cancel out"
    )
    return np.asarray(vector / length, dtype=np.float32)


def between(start: NDArray[Any], end: NDArray[Any], share: float) -> NDArray[np.float32]:
    """The point on the great circle from ``start`` to ``end``, unit vectors.

    Args:
        start: ``(D,)``.
        end: ``(D,)``.
        share: 0 = start, 1 = end.

    Returns:
        ``(D,)`` unit vector. Of opposite vectors no circle is the shortest, and the straight way is taken.

    >>> [round(float(value), 4) for value in between(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5)]
    [0.7071, 0.7071]
    """
    angle = float(np.arccos(np.clip(float(start @ end), -1, 1)))
    if np.sin(angle) < 1e-6:
        return unit((1 - share) * start + share * end)
    return unit((np.sin((1 - share) * angle) * start + np.sin(share * angle) * end) / np.sin(angle))


class Asker:
    """Answers questions with one run: what a question is in its space, and how the gallery scores against it.

    Args:
        run: model, split and embeddings.
        number: of the run, which names its vector where an embedding is given one a run.
        entities: words of all entities of all runs.
    """

    def __init__(self, run: OpenRun, number: int, entities: Entities) -> None:
        self.run, self.number, self.entities = run, number, entities
        self._text = lru_cache(TEXTS)(lambda text: run.model.embed_texts([text]))

    def answers(self, question: Question) -> bool:
        """Whether the run can answer: vectors without their model know images and captions of the data."""
        return self.encodes or not (
            question.changes or question.walk or {"text", "picture"} & {term.kind for term in question.terms}
        )

    @property
    def encodes(self) -> bool:
        """Whether the run has a model for texts and images that are not of the data."""
        return not isinstance(self.run.model, KeptVectors)

    def scores(self, question: Question) -> Scores:
        """``(N,)`` scores of the gallery; by the objective where one item is asked for the other kind, else
        cosines.
        """
        if not by_objective(question):
            return np.asarray(self._of_points(self.point(question)[None], question.seeks)[0])
        first, images = question.terms[0], question.seeks == "images"
        if self.run.config.get("rerank") and first.kind in ("image", "caption"):
            return self.run.scores[:, first.value] if images else self.run.scores[first.value]
        asked = self.embedding(first)
        if images:
            return np.asarray(self.run.model.scores(self.run.image, asked)[:, 0])
        return np.asarray(self.run.model.scores(asked, self.run.text)[0])

    def point(self, question: Question) -> NDArray[np.float32]:
        """``(D,)`` unit vector of the sum of the terms, moved towards the root."""
        terms = [term.sign * self.embedding(term).mean[0].float().cpu().numpy() for term in question.terms]
        total = unit(np.sum(terms, axis=0))
        return between(total, self.root, question.walk) if question.walk else total

    def way(self, question: Question, steps: Sequence[float], seeks: Seeks) -> Scores:
        """``(S, N)`` cosines of the gallery with the points on the way to the root."""
        start = self.point(replace(question, walk=0.0))
        return self._of_points(np.stack([between(start, self.root, step) for step in steps]), seeks)

    def sentences(self, sentences: Sequence[str], row: int | None = None) -> Scores:
        """``(I, S)`` scores of all images with loose sentences, by the objective; of one image ``(1, S)``."""
        image = self.run.image if row is None else self.run.image.take(np.array([row]))
        return self.run.model.scores(image, self.run.model.embed_texts(sentences))

    @cached_property
    def root(self) -> NDArray[np.float32]:
        """``(D,)`` embedding of the empty text."""
        return np.asarray(self.run.model.embed_texts([""]).mean[0].numpy())

    def embedding(self, term: Term) -> Embedding:
        """What a term is in the space of this run, one row.

        Raises:
            ValueError: a vector of another width than the run's.
        """
        if term.kind == "text":
            return self._text(term.value)
        if term.kind in ("image", "caption"):
            side = self.run.image if term.kind == "image" else self.run.text
            return side.take(np.array([term.value]))
        if term.kind == "picture":
            features = str(self.run.config.get("features", ""))
            return self.run.model.embed_images([term.value], features=features)
        vectors = np.asarray(term.value, dtype=np.float32)
        vector, width = vectors if vectors.ndim == 1 else vectors[self.number], self.run.image.mean.shape[1]
        require(
            vector.shape == (width,),
            f"{self.run.name} embeds to {width} dimensions, the given embedding has {vector.shape}",
        )
        return Embedding(torch.from_numpy(unit(vector))[None])

    def _of_points(self, points: NDArray[Any], seeks: Seeks) -> Scores:
        if seeks == "entities":
            return self.entities.scores(points, self.number)
        return cosines(points, (self.run.image if seeks == "images" else self.run.text).mean)


def by_objective(question: Question) -> bool:
    """Whether the objective itself scores the question: one item of one kind asks for the other kind."""
    (first, *others), seeks = question.terms, question.seeks
    return not others and question.walk == 0 and OTHER.get(first.kind) == seeks


class Engine:
    """Answers questions for several runs over one split.

    Args:
        runs: in the order of the columns.
        grades: name of the split's judgements; ``""`` = the densest that it has.

    Raises:
        ValueError: no run, runs of different splits, or judgements that the split has not.
    """

    def __init__(self, runs: Sequence[OpenRun], *, grades: str = "") -> None:
        require(runs, "nothing to explore: give at least one run, e.g. those of workbench.open_runs()")
        self.split = runs[0].split
        require(
            all(run.split is self.split for run in runs),
            "the runs are of different splits; open them together with workbench.open_runs",
        )
        entities = Entities(runs)
        self.names = tuple(run.name for run in runs)
        self.gallery = Gallery(self.split, entities)
        self.grader = Grader(self.gallery, grades)
        self.askers = tuple(Asker(run, number, entities) for number, run in enumerate(runs))
        self.disagreements = cache(partial(disagreements, runs))
        self._scores: Callable[[Question], tuple[Scores, ...]] = lru_cache(QUESTIONS)(
            lambda bare: tuple(
                asker.scores(bare)
                if asker.answers(bare)
                else np.full(len(self.gallery.ids(bare.seeks)), np.nan, np.float32)
                for asker in self.askers
            )
        )

    def answer(self, question: Question) -> Answer:
        """What every run answers.

        Raises:
            ValueError: a row outside the gallery, nothing to seek, or a question without a direction.
        """
        size, skip = len(self.gallery.ids(question.seeks)), question.skip
        require(size, "no run embeds entities; train one with the objective cora to ask for them")
        require(
            all(0 <= row < size for row in (*question.pins, question.watched or 0)),
            f"a pinned or watched row lies outside of 0..{size - 1}",
        )
        asked = replace(question, terms=question.asked)
        scores, passes = self.scores(asked), self._passes(question)
        orders = (order for order, _ in self._places(question.seeks, scores))
        columns = tuple(tuple(order[passes[order]][skip : skip + question.k].tolist()) for order in orders)
        watched = self._watched(question, columns)
        # what an edit is measured on may have left the columns
        seen = [*question.pins, *([watched] if question.changes and watched is not None else [])]
        rows = dict.fromkeys([*seen, *(row for column in columns for row in column)])
        image = next((str(term.value) for term in question.terms if term.kind == "image"), "")
        extras = question.extras if self.encode else question.extras & {"graph"}
        measure = "score of the objective" if by_objective(asked) else "cosine"
        return Answer(
            Query(asked.label, question.seeks, asked.words, image, question.walk, measure),
            self.names,
            self._items(question, list(rows), scores),
            columns,
            size,
            int(passes.sum()),
            self.grader.name,
            question.pins,
            watched,
            note=self._note(question),
            truth=self._truth(question, asked),
            partners=self._partners(question, scores),
            skip=skip,
            unusual=self._unusual(asked),
            way=list(self._way(asked)) if "way" in extras else (),
            words=self._words(asked, watched) if "words" in extras else (),
            **self._edits(question, watched) if "graph" in extras else {},
        )

    def _watched(self, question: Question, columns: Sequence[Sequence[int]]) -> int | None:
        """The item that edits and words speak of: it stays the same while a sentence is edited."""
        if question.watched is not None:
            return question.watched
        if not question.changes:
            return next((column[0] for column in columns if column), None)
        passes = self._passes(replace(question, changes=()))
        orders = (order for order, _ in self._places(question.seeks, self.scores(question)))
        return next((int(order[passes[order]][0]) for order in orders if passes[order].any()), None)

    def _unusual(self, asked: Question) -> dict[str, tuple[str, ...]]:
        """Words that were typed and that captions do not use, with those near to them."""
        typed = " ".join(term.value for term in asked.terms if term.kind == "text")
        return parser().unusual(typed, self.gallery.words) if typed else {}

    @property
    def encode(self) -> bool:
        """Whether every run can be asked for texts that are not of the data."""
        return all(asker.encodes for asker in self.askers)

    def scores(self, question: Question) -> tuple[Scores, ...]:
        """``(N,)`` scores of the whole gallery, one array a run, NaN where it cannot answer; the last
        questions are remembered.
        """
        return self._scores(Question(question.terms, question.seeks, walk=question.walk))

    def _passes(self, question: Question) -> NDArray[np.bool_]:
        passes = self.gallery.passes(question.seeks, question.filters)
        if question.filters.marks:
            marks = self.grader.grades(question, np.arange(len(passes)))[1]
            passes &= np.isin(marks, question.filters.marks)
        if question.seeks == "captions":
            about = self.grader.about(question)
            passes = self.gallery.once(passes, about and about[2])
        return passes

    def _places(self, seeks: Seeks, scores: Iterable[Scores]) -> list[tuple[Rows, Rows]]:
        """Order and ranks of the gallery in each run; captions that read the same share the best of their
        ranks.
        """
        places = [ranking(one) for one in scores]
        return [self.gallery.shared(*one) for one in places] if seeks == "captions" else places

    def _items(self, question: Question, rows: Sequence[int], scores: tuple[Scores, ...]) -> tuple[Item, ...]:
        grades, marks = self.grader.grades(question, np.array(rows, dtype=np.int64))
        places = [ranks for _, ranks in self._places(question.seeks, scores)]
        return tuple(
            Item(
                row=row,
                grade=grade,
                mark=mark,
                scores=tuple(None if np.isnan(one[row]) else float(one[row]) for one in scores),
                ranks=tuple(int(ranks[row]) or None for ranks in places),
                **self.gallery.item(question.seeks, row),
            )
            for row, grade, mark in zip(rows, grades, marks, strict=True)
        )

    def _partners(self, question: Question, scores: tuple[Scores, ...]) -> tuple[Item, ...]:
        """What the data pair with the question, the best of the first run first; nothing among entities."""
        about, rows = self.grader.about(question), list[int]()
        if about and question.seeks != "entities":
            rows = self.gallery.of_image(about[2], question.seeks)
        return self._items(question, sorted(rows, key=lambda row: -float(scores[0][row])), scores)

    def _truth(self, question: Question, asked: Question) -> str:
        """What is true of the images, how a typed sentence was read, and which words nobody knows here."""
        truth = self.grader.truth(question)
        models = {asker.run.name: asker.run.model for asker in self.askers}
        typed = question.words and (question.changes or question.words not in self.gallery.rows)
        lines = [
            "" if truth is None else notes.truth_line(truth, question.pins),
            notes.reading(question) if typed and (truth or "graph" in question.extras) else "",
            notes.unseen(asked.terms, models),
        ]
        return " ".join(filter(None, lines))

    def _note(self, question: Question) -> str:
        truth = self.grader.truth(question)
        judged = self.grader.about(question) or (truth and not np.isnan(truth.holds).all())
        silent = " and ".join(asker.run.name for asker in self.askers if not asker.answers(question))
        sentences = {
            "Ranks are places in the whole gallery; filters hide items and move no rank.": (
                question.filters != Filters()
            ),
            notes.FOLDED: question.seeks == "captions" and self.gallery.repeats,
            "This question is not one of the data, and nobody judged its answers.": (not judged),
            notes.SUM: truth is not None and len(question.terms) > 1,
            f"No answer from {silent}, which came without a model: ask about an image or caption of the "
            "data.": bool(silent),
            "Edits, words and the way to the root need the model of every run.": (
                bool(question.extras) and not self.encode
            ),
        }
        return " ".join(sentence for sentence, holds in sentences.items() if holds)

    def _edits(self, question: Question, watched: int | None) -> dict[str, Any]:
        """The edited graph, and what the edits so far and every further drop do to the watched image.

        Returns:
            ``graph`` and ``edits`` of an answer; no edits where the question is not a text that asks for
            images.
        """
        if not question.words:
            return {}
        graphs = list(accumulate(question.changes, changed, initial=parsed(question.words)))
        graph, steps = graphs[-1], zip(pairwise(graphs), question.changes, strict=True)
        if watched is None or question.seeks != "images" or not self.encode:
            return {"graph": graph}
        rows = [
            ("asked", "as asked", question.words),
            ("remade", "rewritten from the graph", sentence(graphs[0])),
            *(("edited", described(old, change), sentence(new)) for (old, new), change in steps),
            *(("drop", described(graph, drop), sentence(changed(graph, drop))) for drop in drops(graph)),
        ]
        scores = [asker.sentences([words for _, _, words in rows]) for asker in self.askers]
        edits = [
            {
                "kind": kind,
                "label": label,
                "sentence": words,
                "scores": [float(one[watched, number]) for one in scores],
                "ranks": [int(ranking(one[:, number])[1][watched]) for one in scores],
            }
            for number, (kind, label, words) in enumerate(rows)
        ]
        return {"graph": graph, "edits": edits}

    def _way(self, question: Question) -> Iterator[Row]:
        """What each run finds nearest on the way from the question to the root."""
        for run, asker in enumerate(self.askers):
            captions, images = (asker.way(question, STEPS, seeks) for seeks in SIDES)
            best = zip(STEPS, captions.argmax(axis=1).tolist(), images.argmax(axis=1).tolist(), strict=True)
            for number, (walk, caption, image) in enumerate(best):
                yield {
                    "run": run,
                    "walk": walk,
                    "text": self.split.captions[caption],
                    "level": self.gallery.item("captions", caption)["level"],
                    "cosine": float(captions[number, caption]),
                    "image": self.split.image_ids[image],
                    "thumbnail": str(image),
                }

    def _words(self, question: Question, watched: int | None) -> Sequence[Row]:
        """How far the score of the watched image falls when a word of the text is left out."""
        words = question.words.split()
        if watched is None or question.seeks != "images" or len(words) < 2:
            return ()
        without = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        scores = [asker.sentences([" ".join(words), *without], watched)[0] for asker in self.askers]
        effects = np.stack([one[0] - one[1:] for one in scores], axis=1).tolist()
        return [{"text": word, "effects": effect} for word, effect in zip(words, effects, strict=True)]
