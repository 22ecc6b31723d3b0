"""The explorer without a browser: questions in, answers out.

Everything that the widget shows comes from here as plain records, so that it can be tested, exported and
written to a page.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench import text
from workbench.metrics.blocks import by_rows
from workbench.records import Embedding, Rows, Truth, require
from workbench.runs.encoder_model import EncoderModel
from workbench.runs.rerank import query_scores
from workbench.runs.result import Result
from workbench.text.words import words
from workbench.views.explorer.answers import Answer, Item, Query
from workbench.views.explorer.disagreements import disagreements
from workbench.views.explorer.gallery import Entities, Gallery, Grader, cosines, ranking
from workbench.views.explorer.notes import Facts, Truths
from workbench.views.explorer.panels import Panel, panels_by_name, require_panels
from workbench.views.explorer.queries import Queries
from workbench.views.explorer.questions import Filters, Question, Seeks, Term

# ``(N,)`` one run's scores of the whole gallery, or several lines of them
Scores = NDArray[np.float32]
TEXTS = 256
QUESTIONS = 16
# signals that read whole words, by a vocabulary that was fitted on the training captions
READERS = ("tokens", "graph_tokens")
# what a kind of term asks for when the objective itself scores it
OTHER = {"text": "images", "caption": "images", "image": "captions", "pixels": "captions"}


def unit_vector(vector: NDArray[Any]) -> NDArray[np.float32]:
    """Return the vector at length 1.

    Raises:
        ValueError: it has no direction, e.g. since what is added and what is taken away cancel out.
    """
    length = float(np.linalg.norm(vector))
    require(
        length > 1e-6, "the question has no direction left: what is added and what is taken away cancel out"
    )
    return np.asarray(vector / length, dtype=np.float32)


class Answerer:
    """Answers questions with one run: what a question is in its space, and how the gallery scores against it.

    Args:
        run: model, split and embeddings.
        number: of the run, which names its vector where an embedding is given one a run.
        entities: words of all entities of all runs.
    """

    def __init__(self, run: Result, number: int, entities: Entities) -> None:
        self.run = run
        self.number = number
        self.entities = entities
        self._text = lru_cache(TEXTS)(lambda text: run.model.embed_texts([text]))

    def can_answer(self, question: Question) -> bool:
        """Return whether the run can answer: vectors without their model know images and captions of the
        data, and a model without vectors scores one item of one kind against the other kind.
        """
        if not is_scored_by_objective(question) and not self.has_vectors:
            return False
        if any(self._vector(term) is None for term in question.terms if term.kind == "embedding"):
            return False
        return self.encodes or not {"text", "pixels"} & {term.kind for term in question.terms}

    @property
    def encodes(self) -> bool:
        """Whether the run has a model for texts and images that are not of the data."""
        return bool(getattr(self.run.model, "encodes", True))

    @property
    def has_vectors(self) -> bool:
        """Whether images and texts are points in a space; a model that reads pairs has none."""
        return self.run.image.mean.shape[1] > 0

    @property
    def has_several_vectors(self) -> bool:
        """Whether an item has several vectors, which the model compares and sums do not."""
        several = self.run.image.parts is not None or self.run.text.parts is not None
        pooled = isinstance(self.run.model, EncoderModel) and not self.run.model.scorer
        return several and not pooled

    def scores(self, question: Question) -> Scores:
        """Return ``(N,)`` scores of the gallery; by the objective where one item is asked for the other kind,
        else cosines.
        """
        if not is_scored_by_objective(question):
            return np.asarray(self.cosines(self.query_vector(question)[None], question.seeks)[0])
        query = question.terms[0]
        images = question.seeks == "images"
        if getattr(self.run.model, "reranks", 0) and query.kind in ("image", "caption"):
            whole = by_rows(self.run.any_scores())
            rows = whole.T if images else whole
            return np.asarray(rows.rows(slice(query.value, query.value + 1))[0])
        embedding = self.embed(query)
        sides = (self.run.image, embedding) if images else (embedding, self.run.text)
        return query_scores(self.run.model, *sides)

    def query_vector(self, question: Question) -> NDArray[np.float32]:
        """Return ``(D,)`` unit vector of the sum of the terms."""
        terms = [term.sign * self.embed(term).mean[0].float().cpu().numpy() for term in question.terms]
        return unit_vector(np.sum(terms, axis=0))

    def score_sentences(self, sentences: Sequence[str], row: int | None = None) -> Scores:
        """Return ``(I, S)`` scores of all images with loose sentences, by the objective; of one image ``(1,
        S)``.
        """
        image = self.run.image if row is None else self.run.image.take(np.array([row]))
        return self.run.model.scores(image, self.run.model.embed_texts(sentences))

    def embed(self, term: Term) -> Embedding:
        """Return what a term is in the space of this run, one row.

        Raises:
            ValueError: a vector of another width than the run's.
        """
        if term.kind == "text":
            return self._text(term.value)
        if term.kind in ("image", "caption"):
            side = self.run.image if term.kind == "image" else self.run.text
            return side.take(np.array([term.value]))
        if term.kind == "pixels":
            features = str(self.run.config.get("features", ""))
            return self.run.model.embed_images([term.value], features=features)
        vector: Any = self._vector(term)
        width = self.run.image.mean.shape[1]
        require(
            vector.shape == (width,),
            f"{self.run.name} embeds to {width} dimensions, the given embedding has {vector.shape}",
        )
        return Embedding(torch.from_numpy(unit_vector(vector))[None])

    def unseen_words(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the words that the model has not met in training; none of one that reads pieces of words,
        or of vectors of another model.
        """
        makers = [maker for signal, maker in self.run.model.makers.items() if signal in READERS]
        vocabulary = set[str]()
        for maker in makers:
            vocabulary |= set(getattr(maker, "vocabulary", ()))
        return tuple(word for word in dict.fromkeys(words) if vocabulary and word not in vocabulary)

    def cosines(self, points: NDArray[Any], seeks: Seeks) -> Scores:
        """Return ``(P, N)`` cosines of points ``(P, D)`` with the gallery."""
        if seeks == "entities":
            return self.entities.scores(points, self.number)
        side = self.run.image if seeks == "images" else self.run.text
        values = cosines(points, side.mean)
        if getattr(self.run.model, "of_unit_length", True):
            return values
        return np.asarray(values / side.mean.float().norm(dim=1).clamp_min(1e-12).cpu().numpy())

    def _vector(self, term: Term) -> NDArray[np.float32] | None:
        vectors = term.vectors
        return vectors[0] if len(vectors) == 1 else vectors[self.number]


def is_scored_by_objective(question: Question) -> bool:
    """Return whether the objective itself scores the question: one item of one kind asks for the other
    kind.
    """
    return len(question.terms) == 1 and OTHER.get(question.terms[0].kind) == question.seeks


class Engine:
    """Answers questions for several runs over one split.

    Args:
        runs: in the order of the columns.
        grades: name of the split's judgements; ``""`` = the densest that it has.
        panels: beside those of installed packages.

    Raises:
        ValueError: no run, runs of different splits, or judgements that the split has not.
    """

    def __init__(
        self, runs: Sequence[Result], *, grades: str = "", panels: Iterable[type[Panel]] = ()
    ) -> None:
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
        self.answerers = tuple(Answerer(run, number, entities) for number, run in enumerate(runs))
        self.panels = {name: panel(self) for name, panel in panels_by_name(panels).items()}
        self.disagreements = cache(partial(disagreements, runs))
        self._scores: Callable[[Question], tuple[Scores, ...]] = lru_cache(QUESTIONS)(self._all_scores)

    def answer(self, question: Question) -> Answer:
        """Return what every run answers.

        Raises:
            ValueError: a row outside the gallery, nothing to seek, a question without a direction, or a panel
                that is not there.
        """
        size = len(self.gallery.ids(question.seeks))
        require(size, "no run embeds entities; train one with the objective cora to ask for them")
        require(
            all(0 <= row < size for row in (*question.pins, question.watched or 0)),
            f"a pinned or watched row lies outside of 0..{size - 1}",
        )
        question = self.with_settings(question)
        worded = self.reword(question)
        scored = self.move(worded)
        scores = self.scores(scored)
        passes = self._passing_items(worded)
        columns = self._top_rows(question, scores, passes)
        watched = self._watched_item(question, worded, columns)
        rows = self._described_rows(question, columns, None if worded == question else watched)
        image = next((str(term.value) for term in question.terms if term.kind == "image"), "")
        measure = "score of the objective" if is_scored_by_objective(scored) else "cosine"
        query = Query(worded.label, question.seeks, worded.words, image, measure)
        return Answer(
            query,
            self.names,
            self._items(worded, rows, scores),
            columns,
            size,
            int(passes.sum()),
            self.grader.name,
            question.pins,
            watched,
            panels=self._panel_drawings(question, watched),
            facts=self._facts(question, worded, scored),
            partners=self._partners(worded, scores),
            skip=question.skip,
            unusual=self._unusual_words(worded),
        )

    def reword(self, question: Question) -> Question:
        """Return the question as panels word it, which is asked and graded."""
        for name, settings in question.settings.items():
            question = self.panels[name].reword(question, settings)
        return question

    def move(self, question: Question) -> Question:
        """Return the question as panels move it, whose vectors are scored."""
        for name, settings in question.settings.items():
            question = self.panels[name].move(question, settings)
        return question

    def with_settings(self, question: Question) -> Question:
        """Return the question with its settings as panels read them.

        Raises:
            ValueError: there is no such panel, or its settings have another form.
        """
        require_panels({*question.settings, *question.shown}, self.panels)
        settings = {name: self.panels[name].read(value) for name, value in question.settings.items()}
        return replace(question, settings=settings)

    def _panel_drawings(self, question: Question, watched: int | None) -> dict[str, Mapping[str, Any]]:
        """Return what the panels that are shown draw."""
        return {
            name: self.panels[name].answer(question, question.settings.get(name), watched)
            for name in sorted(question.shown)
        }

    def _top_rows(
        self, question: Question, scores: Iterable[Scores], passes: NDArray[np.bool_]
    ) -> tuple[tuple[int, ...], ...]:
        """Return the rows that each run puts first among those that pass."""
        orders = [order for order, _ in self._orders_and_ranks(question.seeks, scores)]
        here = slice(question.skip, question.skip + question.k)
        return tuple(tuple(order[passes[order]][here].tolist()) for order in orders)

    def _described_rows(
        self, question: Question, columns: Sequence[Sequence[int]], watched: int | None
    ) -> Sequence[int]:
        """Return the rows that are described: what is pinned, the item that a reworded question is measured
        on, which may have left the columns, and all in the columns.
        """
        rows = list(question.pins)
        if watched is not None:
            rows.append(watched)
        for column in columns:
            rows += column
        return list(dict.fromkeys(rows))

    def _watched_item(
        self, question: Question, worded: Question, columns: Sequence[Sequence[int]]
    ) -> int | None:
        """Return the item that panels speak of: it stays the same while a sentence is reworded."""
        if question.watched is not None:
            return question.watched
        if worded != question:
            scores = self.scores(self.move(question))
            first = replace(question, skip=0, k=1)
            columns = self._top_rows(first, scores, self._passing_items(question))
        return next((column[0] for column in columns if column), None)

    def _unusual_words(self, worded: Question) -> dict[str, tuple[str, ...]]:
        """Return words that were typed and that captions do not use, with those near to them."""
        typed = " ".join(term.value for term in worded.terms if term.kind == "text")
        return (
            self.graph_parser.unusual_words(typed, self.gallery.words) if self.graph_parser and typed else {}
        )

    @cached_property
    def graph_parser(self) -> Any:
        """What reads typed words as they stand, since models read them so; ``None`` where no package does."""
        if "scene_graph" not in text.names():
            return None
        return text.load("scene_graph", plurals=True, corrects=False)

    @cached_property
    def queries(self) -> Queries:
        """The queries of the data with their fields, ranks and values."""
        return Queries([answerer.run for answerer in self.answerers])

    def forget_fields(self) -> None:
        """Read the fields again when they are asked for, since a slice was saved."""
        self.__dict__.pop("queries", None)

    @property
    def encodes(self) -> bool:
        """Whether every run can be asked for texts that are not of the data."""
        return all(answerer.encodes for answerer in self.answerers)

    def scores(self, question: Question) -> tuple[Scores, ...]:
        """Return ``(N,)`` scores of the whole gallery, one array a run, NaN where it cannot answer; the last
        questions are remembered.
        """
        return self._scores(Question(question.terms, question.seeks))

    def _all_scores(self, question: Question) -> tuple[Scores, ...]:
        silent = np.full(len(self.gallery.ids(question.seeks)), np.nan, np.float32)
        scores = []
        for answerer in self.answerers:
            scores.append(answerer.scores(question) if answerer.can_answer(question) else silent)
        return tuple(scores)

    def _passing_items(self, question: Question) -> NDArray[np.bool_]:
        passes = self.gallery.passing_items(question.seeks, question.filters)
        if question.filters.marks:
            marks = self.grader.grades(question, np.arange(len(passes)))[1]
            passes &= np.isin(marks, question.filters.marks)
        if question.seeks == "captions":
            about = self.grader.subject(question)
            passes = self.gallery.distinct_captions(passes, about and about[2])
        return passes

    def _orders_and_ranks(self, seeks: Seeks, scores: Iterable[Scores]) -> list[tuple[Rows, Rows]]:
        """Return the order and ranks of the gallery in each run; captions that read the same share the best
        of their ranks.
        """
        places = [ranking(of_run) for of_run in scores]
        if seeks == "captions":
            return [self.gallery.share_ranks(order, ranks) for order, ranks in places]
        return places

    def _items(self, question: Question, rows: Sequence[int], scores: tuple[Scores, ...]) -> tuple[Item, ...]:
        grades, marks = self.grader.grades(question, np.array(rows, dtype=np.int64))
        ranks = [ranks for _, ranks in self._orders_and_ranks(question.seeks, scores)]
        items = []
        for row, grade, mark in zip(rows, grades, marks, strict=True):
            known = [_finite_or_none(of_run[row]) for of_run in scores]
            items.append(
                Item(
                    row=row,
                    grade=grade,
                    mark=mark,
                    scores=tuple(known),
                    ranks=tuple(int(of_run[row]) or None for of_run in ranks),
                    **self.gallery.item(question.seeks, row),
                )
            )
        return tuple(items)

    def _partners(self, question: Question, scores: tuple[Scores, ...]) -> tuple[Item, ...]:
        """Return what the data pair with the question, the best of the first run first; nothing among
        entities.
        """
        about = self.grader.subject(question)
        rows: list[int] = []
        if about and question.seeks != "entities":
            rows = self.gallery.rows_of_image(about[2], question.seeks)
        return self._items(question, sorted(rows, key=lambda row: -float(scores[0][row])), scores)

    def _facts(self, question: Question, worded: Question, scored: Question) -> Facts:
        """Return what a reader must know of the answer.

        Args:
            question: as it came.
            worded: as panels word it.
            scored: as panels move it.
        """
        truth = self.grader.truth(worded)
        reads = truth is not None or any(self.panels[name].reads for name in question.shown)
        reading, unread = self._read_back(question, worded) if reads else ("", ())
        repeats = question.seeks == "captions" and self.gallery.has_repeats
        silent = [answerer for answerer in self.answerers if not answerer.can_answer(scored)]
        known = truth is not None and not np.isnan(truth.holds).all()
        encoding = any(self.panels[name].encodes for name in question.shown)
        without_model = [answerer.run.name for answerer in silent if answerer.has_vectors]
        without_vectors = [answerer.run.name for answerer in silent if not answerer.has_vectors]
        by_vectors = [] if is_scored_by_objective(scored) else self.answerers
        by_means = [answerer.run.name for answerer in by_vectors if answerer.has_several_vectors]
        judged = known or self.grader.subject(worded) is not None
        summed = truth is not None and len(question.terms) > 1
        return Facts(
            truths=truth and count_true_images(truth, question.pins),
            reading=reading,
            unread=unread,
            unseen=self._unseen_words(worded),
            silent=tuple(without_model),
            without_vectors=tuple(without_vectors),
            by_means=tuple(by_means),
            filtered=question.filters != Filters(),
            folded=repeats,
            judged=judged,
            summed=summed,
            panels_silent=encoding and not self.encodes,
        )

    def _read_back(self, question: Question, worded: Question) -> tuple[str, tuple[str, ...]]:
        """Return how a typed sentence was read, and which of its words the reading leaves out; nothing of a
        caption of the data.
        """
        sentence = worded.words
        if worded != question:
            return sentence, ()
        if self.graph_parser is None or not sentence or sentence in self.gallery.row_by_caption:
            return "", ()
        return self.graph_parser.restate(sentence), self.graph_parser.unread_words(sentence)

    def _unseen_words(self, worded: Question) -> dict[str, tuple[str, ...]]:
        """Return the words of the question that each model has not met in training, by its name."""
        spoken = [term.name for term in worded.terms if term.kind in ("text", "caption")]
        return {
            answerer.run.name: answerer.unseen_words(words(" ".join(spoken))) for answerer in self.answerers
        }


def _finite_or_none(score: np.float32) -> float | None:
    return None if np.isnan(score) else float(score)


def count_true_images(truth: Truth, pins: Sequence[int] = ()) -> Truths:
    """Count the images of which a question is true, those that are pinned among them."""
    holds = truth.holds == 1
    unknown = np.isnan(truth.holds).sum()
    pinned_true = holds[list(pins)].sum()
    return Truths(
        images=len(holds),
        true=int(holds.sum()),
        unknown=int(unknown),
        pinned=len(pins),
        pinned_true=int(pinned_true),
        meaningless=truth.unknown,
        unclear=truth.unclear,
    )
