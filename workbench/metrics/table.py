"""The table of metrics: what a metric is, and the one walk that measures any of them.

A metric is a class derived from ``Metric``: a word for the key, what it reads, and ``per_query``. Everything
else (directions, depths, intervals, contracts, keys) is the walk's. A file of this folder offers one metric,
or the few
that one definition makes, as a tuple: recall by level is the same retrieval read once for each level, and
four files that repeat its source would say less. Each of them has its own row and its own name in the menu.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from workbench.formatting import Unit
from workbench.metrics.blocks import AnyScores, RowScores, WithoutOwn, by_rows
from workbench.metrics.grades import AnyGrades, GradeRows, Matrix, grade_rows, lists
from workbench.metrics.intervals import ROUNDS, SEED, UNIT, Draws, Statistic, interval
from workbench.metrics.ranks import Ranked, Ranks, ranks_of
from workbench.records import Judgements, Mask, Measurement, MetricKey, Rows, Values, require
from workbench.records.measurement import TIES
from workbench.registry import Natural, Shelf, did_you_mean, make

Need = Literal["ranks", "labels", "lists", "scores", "pairs", "chains"]
TURNED = ("t2i", "t2t")
WITHOUT_OWN = "without own"
_shelf = Shelf("workbench.metrics", Metric="table")


class Metric:
    """One row of the table. Derive from it, name what differs, and write ``per_query``.

    Attributes:
        name: the metric's word in keys, e.g. ``"map_at_r"``.
        hit: what counts as a hit, one phrase for the contract; ``{k}`` stands for the depth, ``{judgements}``
            for the name of the judgements.
        requires: what ``per_query`` is given. ``"ranks"``: ``ranks.Ranks`` of all relevant items.
            ``"labels"``: the pair of ``Ranks`` by the data set's own labels and by better judgements.
            ``"lists"``: ``grades.Lists``, some queries at a time. ``"scores"``: ``Side``, everything of one
            direction. ``"pairs"``: ``correlation.Pairs``. ``"chains"``: ``chains.Chains``.
        directions: in which it is measured.
        ks: its depths; ``None`` = it has none.
        by: which judgements of a data set it is measured by: ``"own"`` pairs, all ``"others"``, the
            ``"graded"`` among them, the ``"exact"`` truth, or a name.
        face: how a value is shown, see ``records.shown``.
        statistic: of the values by query, ``"mean"`` or ``"median"``.
        smaller_is_better: whether a smaller value is a better one.
        ties: how equal scores are treated, for the contract.
        default: whether every evaluation measures it; others are asked for by name.
        summed: whether its number is the sum over its directions, in one key without a direction.
        width: how many of the largest grades it reads of ``"lists"``.
        subset: name of the queries or settings in the key, e.g. ``"zeta=0"``.

    Args:
        ks: other depths.

    A metric of a user's own:

    >>> class ReciprocalRank(Metric):
    ...     name, hit = "mrr", "1 / rank of the best relevant item"
    ...     def per_query(self, found, k=None):
    ...         return 1 / found.first
    >>> evidence = Evidence(np.array([[0.9, 0.1], [0.8, 0.2]]), Judgements.own(np.array([0, 1]), 2))
    >>> [m.value for m in measure(evidence, [ReciprocalRank()])]
    [0.75, 1.0]
    """

    name: str = ""
    hit: str = ""
    requires: Need = "ranks"
    directions: tuple[str, ...] = ("i2t", "t2i", "i2i", "t2t")
    ks: tuple[int | None, ...] = (None,)
    by: tuple[str, ...] = ("own", "others")
    face: Unit = "share"
    statistic: Statistic = "mean"
    smaller_is_better: bool = False
    ties: str = TIES
    default: bool = True
    summed: bool = False
    width: int = 0
    subset: str = ""

    @staticmethod
    def of(found: Any, *more: Any) -> Values:
        """What ``per_query`` calls where a class does not write its own."""
        raise NotImplementedError("a metric needs per_query, or the function that makes its values")

    def __init__(self, *, ks: tuple[Natural, ...] | None = None) -> None:
        if ks is not None:
            self.ks = ks

    @classmethod
    def row(
        cls, name: str, of: Callable[..., Values] | None = None, hit: str = "", **attributes: Any
    ) -> type[Self]:
        """The class of a metric that differs in its attributes and in the function that makes its values.

        Args:
            name: the metric's word in keys.
            of: what ``per_query`` calls; its docstring is that of the metric. ``None`` = as here.
            hit: what counts as a hit, see the class.
            **attributes: see the class.
        """
        own = {} if of is None else {"of": staticmethod(of)}
        body = {"name": name, "hit": hit, "__doc__": (of or cls).__doc__, "__module__": cls.__module__}
        return type(name, (cls,), body | own | attributes)

    def per_query(self, found: Any, k: int | None = None) -> Values:
        """One value a query, NaN for a query that does not count.

        Args:
            found: what the metric ``requires``.
            k: depth.

        Returns:
            ``(queries,)``, in [0, 1] for a share.
        """
        return self.of(found, k)

    def number(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """The statistic of the values by query, and ``(rounds,)`` that of each resample.

        Args:
            values: from ``per_query``.
            at: direction, or the image row of each value.
            draws: resamples of the images.
        """
        return draws.value(values, at, self.statistic), draws.of(values, at, self.statistic)

    def depths(self, judgements: str) -> tuple[int | None, ...]:
        """The depths that are measured by some judgements."""
        return self.ks

    def phrase(self, k: int | None, judgements: str) -> str:
        """What counts as a hit at a depth, by some judgements."""
        return self.hit.format(k=k, judgements=judgements)


def rows() -> dict[str, type[Metric]]:
    """All metrics of the shelf and of installed packages, by name."""
    return _rows(_shelf.names())


def _rows(places: Iterable[str]) -> dict[str, type[Metric]]:
    """The metrics that files and entry points of these names offer."""
    offered = {place: _shelf.member(place) for place in places}
    groups = [one for one in offered.values() if isinstance(one, tuple)]
    single = {name: one for name, one in offered.items() if not isinstance(one, tuple)}
    return single | {row.name: row for group in groups for row in group}


def names() -> list[str]:
    """Names of the metrics, sorted."""
    return sorted(rows())


def member(name: str) -> type[Metric]:
    """The class of a metric, by its name or by ``"my_module:MyMetric"``.

    Raises:
        KeyError: no such metric; the message lists the near names.
    """
    # installed packages are asked only where no file of the folder knows the name, which takes time
    known = _rows(_shelf.files)
    known = known if name in known else rows()
    if name not in known and ":" not in name:
        raise KeyError(f"metrics: no {name!r}; {did_you_mean(name, list(known))}")
    found: type[Metric] = known[name] if name in known else _shelf.member(name)
    return found


def load(name: str, **options: Any) -> Metric:
    """One metric by name, or by ``"my_module:MyMetric"``.

    Raises:
        KeyError: no such metric; the message lists the near names.
        TypeError, ValueError: an option that the metric does not take.

    >>> load("ndcg", gain="exponential").name
    'ndcg'
    """
    return make(f"metric {name!r}", member(name), options)


@dataclass(frozen=True)
class Subset:
    """Queries that are asked, while the gallery stays whole: ``True`` where one is; ``None`` = all, and a
    direction that is not ``directions`` is not measured.
    """

    name: str
    images: Mask | None = None
    captions: Mask | None = None
    directions: tuple[str, ...] = ("i2t", "t2i")


@dataclass(frozen=True)
class Side:
    """Everything of one direction: scores and grades ``(queries, gallery)``, and whose captions are whose.

    Args:
        scores, grades: rows are queries.
        direction: ``"i2t"`` or ``"t2i"``.
        own: ``(T,)`` image row of each caption.
        without_own: whether each query's own items were left out.
    """

    scores: RowScores
    grades: GradeRows
    direction: str
    own: Rows
    without_own: bool = False


@dataclass(frozen=True)
class Evidence:
    """The scores of one model and what they are held against.

    Args:
        scores: ``(I, T)``, larger = more alike.
        judged: grades of the pairs; judgements where ranks are asked for.
        own: ``(T,)`` image row of each caption; ``None`` = as the judgements list it, which only ``"own"``
            do.
        labels: the data set's own pairs, which metrics need that compare labels with better judgements.
        name: of the judgements in keys; empty = as they call themselves.
        ranked: ranks by these judgements and labels, where they were made already.
        within: ranks of pairs of one kind, by ``"i2i"`` and ``"t2t"``.
        folds: blocks of consecutive images with their captions that are galleries of their own.
        without_own: leave each query's own items out of its list.

    Raises:
        ValueError: shapes differ, or the images cannot be cut into equal folds.
    """

    scores: AnyScores
    judged: AnyGrades
    own: Rows | None = None
    labels: Judgements | None = None
    name: str = ""
    ranked: Ranked | None = None
    within: Mapping[str, Ranks] = field(default_factory=dict)
    folds: int = 1
    without_own: bool = False

    def __post_init__(self) -> None:
        images, captions = self.judged.shape
        require(
            tuple(self.scores.shape) == (images, captions),
            f"scores are {tuple(self.scores.shape)}, the judgements are {(images, captions)}",
        )
        require(
            len(self.whose) == captions,
            f"own has {len(self.whose)} rows for {captions} captions: give the image row of each",
        )
        require(images % self.folds == 0, f"{self.folds} folds do not divide {images} images")
        require(
            self.ranked is None or self.folds == 1,
            "ranks of the whole gallery cannot be cut into folds: give the scores alone",
        )

    @cached_property
    def whose(self) -> Rows:
        """``(T,)`` image row of each caption."""
        if self.own is not None:
            return self.own
        if isinstance(self.judged, Judgements) and self.judged.name == "own":
            return self.judged.images[np.argsort(self.judged.captions)]
        raise ValueError(
            "a resample draws images with their captions: give own, the image row of each caption"
        )

    @cached_property
    def galleries(self) -> list[tuple[Rows, Rows, RowScores, AnyGrades]]:
        """Image rows, caption rows, scores and grades of each fold."""
        images, captions = (np.arange(size) for size in self.judged.shape)
        scores = by_rows(self.scores)
        if self.without_own:
            scores = WithoutOwn(scores.T, captions, self.whose).T
        if self.folds == 1:
            return [(images, captions, scores, self.judged)]
        blocks = [(rows, np.flatnonzero(np.isin(self.whose, rows))) for rows in np.split(images, self.folds)]
        return [(*rows, scores.cut(*rows), _among(self.judged, *rows)) for rows in blocks]

    @cached_property
    def graded(self) -> list[GradeRows]:
        """The grades of each fold by blocks of queries, images first."""
        return [grade_rows(judged) for *_, judged in self.galleries]

    def ranks(self, direction: str) -> Iterator[tuple[Rows, Ranks]]:
        """Queries and the ranks of their relevant items, fold by fold.

        Raises:
            TypeError: the grades are no judgements, which say from which grade on a pair is relevant.
        """
        if direction in self.within:
            yield np.arange(len(self.within[direction].counts)), self.within[direction]
            return
        for images, captions, scores, judged in self.galleries:
            if not isinstance(judged, Judgements):
                raise TypeError(
                    f"ranks need judgements with relevant pairs, not grades of type {type(judged).__name__}"
                )
            made = self.ranked.by(judged) if self.ranked is not None else {}
            found = made.get(direction) or ranks_of(scores, judged, direction)
            yield (captions if direction == "t2i" else images), found

    def found(self, need: Need, direction: str, rows: Sequence[Metric]) -> Iterator[tuple[Rows, Any]]:
        """Queries and what metrics read of them, some at a time."""
        if need == "ranks":
            yield from self.ranks(direction)
        elif need == "labels":
            if self.labels is None:
                raise ValueError(
                    f"{rows[0].name}: give labels, the data set's own pairs, beside the judgements"
                )
            by_labels = replace(self, judged=self.labels, own=self.whose)
            both = zip(by_labels.ranks(direction), self.ranks(direction), strict=True)
            yield from ((queries, (labels, truth)) for (queries, labels), (_, truth) in both)
        elif direction in ("i2t", "t2i"):
            turned, depth = direction == "t2i", max(k or row.width or 1 for row in rows for k in row.ks)
            width = max(row.width for row in rows)
            for (images, captions, scores, _), rows_of in zip(self.galleries, self.graded, strict=True):
                queries, side, grades = (
                    (captions, scores.T, rows_of.T) if turned else (images, scores, rows_of)
                )
                if need == "scores":
                    yield queries, Side(side, grades, direction, self.whose, self.without_own)
                    continue
                for first, part in lists(side, grades, depth=depth, width=width):
                    yield queries[first : first + len(part.scores)], part

    def gallery(self, direction: str) -> int:
        """How many items a query is compared with."""
        if direction in self.within:
            return self.within[direction].gallery - 1
        # some grades leave whole images out of every list
        listed = getattr(self.judged, "listed", None)
        if listed is not None:
            side = int(direction != "t2i")
            return max(int(listed[side][gallery[side]].sum()) for gallery in self.galleries)
        return int(self.galleries[0][2].shape[direction != "t2i"])

    @property
    def label(self) -> str:
        """Name of the judgements in keys."""
        return self.name or ("grades" if isinstance(self.judged, np.ndarray) else self.judged.name)


def _among(judged: AnyGrades, images: Rows, captions: Rows) -> AnyGrades:
    """The grades of some images and captions."""
    if isinstance(judged, Judgements):
        return judged.among(images, captions)
    rows = grade_rows(judged)
    return Matrix(np.asarray(rows.graded.take(images, captions)), rows.graded.name)


def walk(
    evidence: Evidence,
    rows: Iterable[str | Metric],
    *,
    subset: Subset | None = None,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> Iterator[tuple[Measurement, Values]]:
    """Every number of some metrics with its contract, and the values by query that it is made of.

    Args:
        evidence: scores and judgements.
        rows: metrics, or their names.
        subset: queries that are asked; ``None`` = all.
        rounds: resamples of the bootstrap; 0 = no intervals.
        seed: of the resamples.

    Yields:
        Measurement and ``(queries,)`` values, direction by direction; sums over directions come last. A
        number to which no query has an answer is left out.

    Raises:
        ValueError: a score is NaN.
    """
    table = [load(row) if isinstance(row, str) else row for row in rows]
    draws = Draws(evidence.whose, evidence.judged.shape[0], rounds, seed, evidence.folds)
    asked = [one for one in ("i2t", "t2i", *evidence.within) if subset is None or one in subset.directions]
    found = {direction: _by_query(evidence, table, direction, subset, draws) for direction in asked}
    for direction, columns in found.items():
        for (row, k), values in columns.items():
            if not row.summed and not np.isnan(values).all():
                yield _number(evidence, (row, k), direction, values, draws, subset), values
    for row in (one for one in table if one.summed and set(one.directions) <= set(found)):
        for k in row.depths(evidence.label):
            parts = [found[direction][row, k] for direction in row.directions]
            if not any(np.isnan(part).all() for part in parts):
                values = np.concatenate(parts)
                yield _number(evidence, (row, k), "", values, draws, subset), values


def measure(
    evidence: Evidence,
    rows: Iterable[str | Metric],
    *,
    subset: Subset | None = None,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> list[Measurement]:
    """The numbers of some metrics, see ``walk``.

    Raises:
        ValueError: no query has an answer to any of them.

    >>> found = measure(Evidence(np.eye(2), Judgements.own(np.arange(2), 2)), ["R", "rsum"], rounds=0)
    >>> found[0].label, found[0].value, found[-1].label, found[-1].value
    ('i2t/R@1', 1.0, 'rsum', 6.0)
    """
    found = [one for one, _ in walk(evidence, rows, subset=subset, rounds=rounds, seed=seed)]
    require(found, f"no query has an answer by the judgements {evidence.label!r}: nothing can be measured")
    return found


def _by_query(
    evidence: Evidence, table: Sequence[Metric], direction: str, subset: Subset | None, draws: Draws
) -> dict[tuple[Metric, int | None], Values]:
    """Values by query of every metric and depth in one direction; what several metrics read is made once."""
    rows = [row for row in table if direction in row.directions]
    size = len(draws.own) if direction in TURNED else draws.images
    out = {(row, k): np.full(size, np.nan) for row in rows for k in row.depths(evidence.label)}
    for need in dict.fromkeys(row.requires for row in rows):
        group = [row for row in rows if row.requires == need]
        for queries, found in evidence.found(need, direction, group):
            for row in group:
                for k in row.depths(evidence.label):
                    out[row, k][queries] = row.per_query(found, k)
    mask = None if subset is None else subset.captions if direction in TURNED else subset.images
    if mask is not None:
        require(
            len(mask) == size,
            f"{direction}: the subset {subset and subset.name!r} has {len(mask)} rows for {size} queries",
        )
        out = {key: np.where(mask, values, np.nan) for key, values in out.items()}
    return out


def _number(
    evidence: Evidence,
    column: tuple[Metric, int | None],
    direction: str,
    values: Values,
    draws: Draws,
    subset: Subset | None,
) -> Measurement:
    row, k = column
    parts = (row.subset, subset.name if subset else "", WITHOUT_OWN if evidence.without_own else "")
    key = MetricKey(row.name, direction, evidence.label, k, ", ".join(filter(None, parts)), evidence.folds)
    sides = row.directions if row.summed else [direction]
    return report(row, key, values, direction, draws, sum(evidence.gallery(side) for side in sides))


def report(
    row: Metric, key: MetricKey, values: Values, at: str | Rows, draws: Draws, gallery: int
) -> Measurement:
    """One number with its interval and contract.

    Args:
        row: the metric.
        key: of the number.
        values: by query, from ``per_query``.
        at: direction, or the image row of each value.
        draws: resamples of the images.
        gallery: how many items a query is compared with.
    """
    value, resampled = row.number(values, at, draws)
    low, high = interval(resampled)
    left_out = int(np.isnan(values.reshape(len(values), -1)).any(axis=1).sum())
    return Measurement(
        key, value, low, high, len(values) - left_out, gallery, left_out,
        row.phrase(key.k, key.judgements), row.ties,
        UNIT, row.face, row.smaller_is_better,
    )  # fmt: skip
