"""One walk that measures any metric: every number with its interval and contract."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from workbench.metrics.blocks import AnyScores, RowScores, by_rows, drop_pairs
from workbench.metrics.grades import lists
from workbench.metrics.intervals import ROUNDS, SEED, Draws
from workbench.metrics.ranks import Ranked, Ranks, Relevant, rank, ranks_of
from workbench.metrics.registry import Metric, Need, load_all
from workbench.metrics.reporting import report_number
from workbench.records import Judgements, Mask, Measurement, MetricKey, Rows, Values, require

BY_CAPTION = ("t2i", "t2t")
WITHOUT_OWN = "without own"
# groups of captions by descriptiveness, where the data know no levels
FIFTHS = 5


@dataclass(frozen=True)
class Subset:
    """The queries that count, while the gallery stays whole: ``True`` where one does; ``None`` = all. A
    direction that is not among ``directions`` is not measured.
    """

    name: str
    images: Mask | None = None
    captions: Mask | None = None
    directions: tuple[str, ...] = ("i2t", "t2i")

    def mask(self, direction: str, queries: int) -> Mask | None:
        """Return which queries of a direction count; ``None`` = all.

        Raises:
            ValueError: the direction has another number of queries.
        """
        mask = self.captions if direction in BY_CAPTION else self.images
        if mask is not None:
            reason = f"{direction}: the subset {self.name!r} has {len(mask)} rows for {queries} queries"
            require(len(mask) == queries, reason)
        return mask


class Columns(Mapping[str, Values]):
    """Numbers that captions have without any image, ``(T,)`` by name, each made at its first use.

    Args:
        makers: how to make them.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Values]]) -> None:
        self._makers = dict(makers)
        self._columns: dict[str, Values] = {}

    def __getitem__(self, name: str) -> Values:
        if name not in self._columns:
            self._columns[name] = np.asarray(self._makers[name](), dtype=np.float64)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@dataclass(frozen=True)
class Side:
    """Scores and grades ``(queries, gallery)`` of one direction, and ``(T,)`` the image row of each caption.

    Args:
        without_own: whether each query's own items were left out.
    """

    scores: RowScores
    grades: RowScores
    direction: str
    own: Rows
    without_own: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgedSide(Side):
    """Everything of one direction, with what is relevant.

    Args:
        relevant: the relevant pairs, queries first.
        columns: numbers of the captions, see ``Evidence``.
    """

    relevant: Relevant
    columns: Mapping[str, Values]


@dataclass(frozen=True)
class Evidence:
    """The scores of one model and what they are measured by.

    Args:
        scores: ``(I, T)``, larger = more alike.
        judged: grades of the pairs; ``Judgements`` for metrics of ranks.
        own: ``(T,)`` image row of each caption; ``None`` = as the judgements ``"own"`` list it.
        labels: the data set's own pairs, for metrics that compare labels with better judgements.
        name: of the judgements in keys; empty = as they call themselves.
        ranked: ranks by these judgements and labels, where they were made already.
        within: ranks of pairs of one kind, by ``"i2i"`` and ``"t2t"``.
        folds: blocks of consecutive images with their captions that are galleries of their own.
        without_own: leave each query's own items out of its list.
        columns: numbers that captions have without any image, ``(T,)`` by name: ``"level"``, ``"words"``,
            ``"descriptiveness"``.

    Raises:
        ValueError: shapes differ, or ranks of the whole gallery stand beside folds.
    """

    scores: AnyScores
    judged: AnyScores
    own: Rows | None = None
    labels: Judgements | None = None
    name: str = ""
    ranked: Ranked | None = None
    within: Mapping[str, Ranks] = field(default_factory=dict)
    folds: int = 1
    without_own: bool = False
    columns: Mapping[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        images, captions = self.judged.shape
        require(
            tuple(self.scores.shape) == (images, captions),
            f"scores are {tuple(self.scores.shape)}, the judgements are {(images, captions)}",
        )
        require(
            len(self.caption_image) == captions,
            f"own has {len(self.caption_image)} rows for {captions} captions: give the image row of each",
        )
        require(
            self.ranked is None or self.folds == 1,
            "ranks of the whole gallery cannot be cut into folds: give the scores alone",
        )

    @cached_property
    def caption_image(self) -> Rows:
        """``(T,)`` image row of each caption."""
        if self.own is not None:
            return self.own
        if isinstance(self.judged, Judgements) and self.judged.name == "own":
            return self.judged.images[np.argsort(self.judged.captions)]
        raise ValueError(
            "a resample draws images with their captions: give own, the image row of each caption"
        )

    @cached_property
    def galleries(self) -> list[tuple[Rows, Rows, RowScores, AnyScores, RowScores]]:
        """Image rows, caption rows, scores and judgements of each fold, and these by blocks of queries."""
        images, captions = (np.arange(size) for size in self.judged.shape)
        scores = by_rows(self.scores)
        if self.without_own:
            scores = drop_pairs(scores, self.caption_image, captions)
        if self.folds == 1:
            return [(images, captions, scores, self.judged, by_rows(self.judged))]
        out = []
        for rows in np.split(images, self.folds):
            of_fold = np.flatnonzero(np.isin(self.caption_image, rows))
            judged = _restrict_grades(self.judged, rows, of_fold)
            out.append((rows, of_fold, scores.select(rows, of_fold), judged, by_rows(judged)))
        return out

    @cached_property
    def groups(self) -> dict[str, Rows]:
        """Caption rows of each level, or of each fifth by descriptiveness where there are no levels; empty
        where there is one group alone.
        """
        if "level" in self.columns:
            name, number = "level", self.columns["level"].astype(np.int64)
        elif "descriptiveness" in self.columns:
            values = self.columns["descriptiveness"]
            ends = np.quantile(values, np.arange(1, FIFTHS) / FIFTHS)
            name, number = "fifth", 1 + np.searchsorted(ends, values, side="right")
        else:
            return {}
        levels = np.unique(number).tolist()
        if len(levels) == 1:
            return {}
        return {f"{name} {level}": np.flatnonzero(number == level) for level in levels}

    @cached_property
    def group_ranks(self) -> dict[str, dict[str, Ranks]]:
        """By direction and group, the ranks of images among its captions, and of its captions among all
        images.
        """
        ((_, whole),) = self.ranks("t2i")
        out: dict[str, dict[str, Ranks]] = {"i2t": {}, "t2i": {}}
        every = np.arange(self.judged.shape[0])
        relevant, scores = self.relevant["i2t"], self.galleries[0][2]
        for name, captions in self.groups.items():
            inside = np.isin(np.arange(len(self.caption_image)), captions)
            out["t2i"][name] = replace(whole, counts=whole.counts * inside)
            out["i2t"][name] = rank(scores.select(every, captions), relevant.within(captions))
        return out

    @cached_property
    def relevant(self) -> dict[str, Relevant]:
        """The relevant pairs by direction, queries first; empty where grades are no judgements."""
        if not isinstance(self.judged, Judgements):
            return {}
        relevant = Relevant.from_pairs(self.judged)
        return {"i2t": relevant, "t2i": relevant.T}

    def ranks(self, direction: str) -> Iterator[tuple[Rows, Ranks]]:
        """Yield queries and the ranks of their relevant items, fold by fold.

        Raises:
            TypeError: the grades are no judgements, which say from which grade on a pair is relevant.
        """
        if direction in self.within:
            yield np.arange(len(self.within[direction].counts)), self.within[direction]
            return
        for images, captions, scores, judged, _ in self.galleries:
            if not isinstance(judged, Judgements):
                raise TypeError(
                    f"ranks need judgements with relevant pairs, not grades of type {type(judged).__name__}"
                )
            known = self.ranked.by(judged)[direction] if self.ranked is not None else None
            yield (captions if direction == "t2i" else images), known or ranks_of(scores, judged, direction)

    def read(self, need: Need, direction: str, metrics: Sequence[Metric]) -> Iterator[tuple[Rows, Any]]:
        """Yield queries and what metrics read of them, some at a time."""
        if need == "ranks":
            yield from self.ranks(direction)
        elif need == "labels":
            if self.labels is None:
                raise ValueError(
                    f"{metrics[0].name}: give labels, the data set's own pairs, beside the judgements"
                )
            by_labels = replace(self, judged=self.labels, own=self.caption_image)
            for (queries, labels), (_, truth) in zip(by_labels.ranks(direction), self.ranks(direction)):
                yield queries, (labels, truth)
        elif need == "groups":
            ranks = self.group_ranks[direction] if self.groups and direction in ("i2t", "t2i") else {}
            if ranks:
                yield np.arange(len(next(iter(ranks.values())).counts)), ranks
        elif direction in ("i2t", "t2i"):
            yield from self._graded_sides(need, direction, metrics)

    def _judged_sides(self, direction: str, metrics: Sequence[Metric]) -> Iterator[tuple[Rows, JudgedSide]]:
        """Yield everything of one direction with what is relevant; nothing in folds, or where grades are no
        judgements.
        """
        if self.folds > 1 or not self.relevant:
            return
        more: dict[str, Any] = {"relevant": self.relevant[direction], "columns": self.columns}
        for queries, side in self._graded_sides("scores", direction, metrics):
            yield queries, JudgedSide(**vars(side), **more)

    def _graded_sides(
        self, need: Need, direction: str, metrics: Sequence[Metric]
    ) -> Iterator[tuple[Rows, Any]]:
        if need == "relevant":
            yield from self._judged_sides(direction, metrics)
            return
        width = max(metric.width for metric in metrics)
        depths = []
        for metric in metrics:
            depths += [k or metric.width or 1 for k in metric.ks]
        depth = max(depths)
        for images, captions, scores, _, grades in self.galleries:
            queries = images
            if direction == "t2i":
                queries = captions
                scores, grades = scores.T, grades.T
            if need == "scores":
                yield queries, Side(scores, grades, direction, self.caption_image, self.without_own)
                continue
            for first, part in lists(scores, grades, depth=depth, width=width):
                yield queries[first : first + len(part.scores)], part

    def gallery(self, direction: str) -> int:
        """Return how many items a query is compared with."""
        if direction in self.within:
            return self.within[direction].gallery - 1
        side = int(direction != "t2i")
        # some grades leave whole images out of every list
        listed = getattr(self.judged, "listed", None)
        if listed is not None:
            return max(int(listed[side][gallery[side]].sum()) for gallery in self.galleries)
        return int(self.galleries[0][2].shape[side])

    @property
    def label(self) -> str:
        """Name of the judgements in keys."""
        return self.name or str(getattr(self.judged, "name", "grades"))


def _restrict_grades(judged: AnyScores, images: Rows, captions: Rows) -> AnyScores:
    """Return the grades of some images and captions."""
    if isinstance(judged, Judgements):
        return judged.restrict(images, captions)
    return by_rows(judged).select(images, captions).rows()


def walk(
    evidence: Evidence,
    metrics: Iterable[str | Metric],
    *,
    subset: Subset | None = None,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> Iterator[tuple[Measurement, Values]]:
    """Yield every number of some metrics with its contract, and the ``(queries,)`` values that it is made of:
    direction by direction, sums over directions last. A number to which no query has an answer is left out.

    Args:
        evidence: scores and judgements.
        metrics: metrics, or their names.
        subset: queries that count; ``None`` = all.
        rounds: resamples of the bootstrap; 0 = no intervals.
        seed: of the resamples.

    Raises:
        ValueError: a score is NaN.
    """
    measured = [*chain.from_iterable(metric.parts(evidence) for metric in load_all(metrics))]
    draws = Draws(evidence.caption_image, evidence.judged.shape[0], rounds, seed, evidence.folds)
    directions = [
        way for way in ("i2t", "t2i", *evidence.within) if subset is None or way in subset.directions
    ]
    columns = {way: _by_query(evidence, measured, way, subset, draws) for way in directions}
    numbers: list[tuple[Metric, int | None, str]] = []
    for way, by_number in columns.items():
        numbers += [(metric, k, way) for metric, k in by_number if not metric.summed]
    for metric in measured:
        if metric.summed and set(metric.directions) <= set(columns):
            numbers += [(metric, k, "") for k in metric.depths(evidence.label)]
    subset_name = subset.name if subset else ""
    corrected = WITHOUT_OWN if evidence.without_own else ""
    for metric, k, way in numbers:
        sides = [way] if way else metric.directions
        parts = [columns[side][metric, k] for side in sides]
        if not any(np.isnan(part[0]).all() for part in parts):
            values, chances, bests = np.concatenate(parts, axis=1)
            chance = draws.value(chances, way, metric.statistic)
            best = draws.value(bests, way, metric.statistic)
            marked = ", ".join(filter(None, [metric.subset, subset_name, corrected]))
            key = MetricKey(metric.name, way, evidence.label, k, marked, evidence.folds)
            gallery = sum(metric.gallery(evidence, side) for side in sides)
            yield report_number(metric, key, values, way, draws, gallery, chance, best), values


def evaluate(
    evidence: Evidence,
    metrics: Iterable[str | Metric],
    *,
    subset: Subset | None = None,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> list[Measurement]:
    """Return the numbers of some metrics, see ``walk``.

    Raises:
        ValueError: no query has an answer to any of them.

    >>> found = evaluate(Evidence(np.eye(2), Judgements.from_own(np.arange(2), 2)), ["R", "rsum"], rounds=0)
    >>> found[0].label, found[0].value, found[-1].label, found[-1].value
    ('i2t/R@1', 1.0, 'rsum', 6.0)
    """
    measurements = [one for one, _ in walk(evidence, metrics, subset=subset, rounds=rounds, seed=seed)]
    require(
        measurements, f"no query has an answer by the judgements {evidence.label!r}: nothing can be measured"
    )
    return measurements


def _by_query(
    evidence: Evidence, metrics: Sequence[Metric], direction: str, subset: Subset | None, draws: Draws
) -> dict[tuple[Metric, int | None], Values]:
    """Return ``(3, queries)`` values of every metric and depth in one direction, what they are by chance, and
    at best; what several metrics read is made once.
    """
    chosen = [metric for metric in metrics if direction in metric.directions]
    size = len(draws.own) if direction in BY_CAPTION else draws.images
    out: dict[tuple[Metric, int | None], Values] = {}
    for metric in chosen:
        out |= {(metric, k): np.full((3, size), np.nan) for k in metric.depths(evidence.label)}
    for need in dict.fromkeys(metric.requires for metric in chosen):
        group = [metric for metric in chosen if metric.requires == need]
        for queries, read in evidence.read(need, direction, group):
            for metric, k in out:
                if metric.requires == need:
                    out[metric, k][0, queries] = metric.per_query(read, k)
                    known = need in ("ranks", "groups") and not evidence.without_own
                    if known and direction in ("i2t", "t2i"):
                        out[metric, k][1, queries] = metric.by_chance(read, k)
                        out[metric, k][2, queries] = metric.at_best(read, k)
    mask = _counting_queries(evidence, direction, subset, size)
    return out if mask is None else {key: np.where(mask, values, np.nan) for key, values in out.items()}


def _counting_queries(evidence: Evidence, direction: str, subset: Subset | None, size: int) -> Mask | None:
    """Return ``(queries,)`` which queries count: those of the subset that the judgements ask; ``None`` =
    all.
    """
    mask = subset.mask(direction, size) if subset else None
    side = "caption_queries" if direction in BY_CAPTION else "image_queries"
    asked = getattr(evidence.judged, side, None)
    if asked is None:
        return mask
    rows = np.isin(np.arange(size), asked)
    return rows if mask is None else mask & rows
