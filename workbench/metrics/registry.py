"""What a metric is, and the menu of them.

A metric is a class derived from ``Metric``: a word for the key, what it reads, and ``per_query``. Directions,
depths, intervals, contracts and keys are ``evaluation``'s. A file of this folder offers one metric, or as a
tuple the few that one definition makes.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

from workbench.formatting import Unit
from workbench.metrics.intervals import Draws, Statistic
from workbench.records import Rows, Values
from workbench.records.measurement import BOOTSTRAP, TIES
from workbench.registry import Natural, Registry, did_you_mean, make

Need = Literal[
    "ranks", "groups", "labels", "lists", "scores", "relevant", "pairs", "chains", "counterfactuals", "space"
]
_registry = Registry("workbench.metrics", Metric="registry")


class Metric:
    """One metric. Derive from it, name what differs, and write ``per_query``.

    Attributes:
        name: the metric's word in keys, e.g. ``"map_at_r"``.
        hit: what counts as a hit, one phrase for the contract; ``{k}`` stands for the depth, ``{judgements}``
            for the name of the judgements.
        requires: what ``per_query`` is given. ``"ranks"``: ``ranks.Ranks`` of all relevant items.
            ``"groups"``: ``Ranks`` among the captions of each group, by its name.
            ``"labels"``: the pair of ``Ranks`` by the data set's own labels and by better judgements.
            ``"lists"``: ``grades.Lists``, some queries at a time. ``"scores"``: ``evaluation.Side``,
            everything of one direction. ``"relevant"``: ``evaluation.JudgedSide``, the same with the relevant
            pairs, where judgements say which these are. ``"pairs"``: ``(N, 3)`` value, rating and query of
            each judged pair; of the ``"densest pairs"`` ``(N, 2)``, see ``calibration``. ``"chains"``:
            ``hierarchy.Chains``. ``"counterfactuals"``: see ``counterfactual_accuracy``. ``"space"``:
            ``space.Space``.
        ks: its depths; ``None`` = it has none.
        by: which judgements of a data set it is measured by: ``"own"`` pairs, all ``"others"``, the
            ``"graded"`` among them, the ``"exact"`` truth, the ``"densest"``, which say most about all pairs,
            ``"any"`` = none is read, or a name, such as ``"categories"``; see ``runs.measure``.
        face: how a value is shown, see ``formatting``.
        statistic: of the values by query.
        ties: how equal scores are treated, for the contract.
        interval: how its interval is computed, for the contract.
        default: whether every evaluation measures it; others are asked for by name.
        summed: whether its number is the sum over its directions, in one key without a direction.
        width: how many of the largest grades it reads of ``"lists"``.
        subset: name of the queries or settings in the key, e.g. ``"zeta=0"``.

    Args:
        ks: other depths.

    A metric of a user's own:

    >>> import numpy as np
    >>> from workbench.metrics import Evidence, evaluate
    >>> from workbench.records import Judgements
    >>> class ReciprocalRank(Metric):
    ...     name, hit = "mrr", "1 / rank of the best relevant item"
    ...     def per_query(self, ranks, k=None):
    ...         return 1 / ranks.first
    >>> evidence = Evidence(np.array([[0.9, 0.1], [0.8, 0.2]]), Judgements.from_own(np.array([0, 1]), 2))
    >>> [m.value for m in evaluate(evidence, [ReciprocalRank()])]
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
    interval: str = BOOTSTRAP
    default: bool = True
    summed: bool = False
    width: int = 0
    subset: str = ""
    values_of: Callable[..., Values]  # what per_query calls where a class does not write its own

    def __init__(self, *, ks: tuple[Natural, ...] | None = None) -> None:
        if ks is not None:
            self.ks = ks

    @classmethod
    def from_function(
        cls, name: str, function: Callable[..., Values], hit: str, **attributes: Any
    ) -> type[Self]:
        """Return the class of a metric that differs in its attributes, and in the function that
        computes its values and whose docstring is that of the metric.
        """
        body = {"name": name, "hit": hit, "values_of": staticmethod(function), "__doc__": function.__doc__}
        return type(name, (cls,), body | {"__module__": cls.__module__} | attributes)

    def per_query(self, inputs: Any, k: int | None = None) -> Values:
        """Return ``(queries,)`` values of what the metric ``requires`` at a depth, in [0, 1] for a share; NaN
        for a query that does not count.
        """
        return self.values_of(inputs, k)

    def by_chance(self, inputs: Any, k: int | None = None) -> Values | float:
        """Return ``(queries,)`` what ``per_query`` is on average where the order is random; NaN = nobody
        knows.
        """
        return float("nan")

    def at_best(self, inputs: Any, k: int | None = None) -> Values | float:
        """Return ``(queries,)`` largest value of ``per_query`` that any order gives."""
        return 1.0

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the statistic of the values by query, and ``(rounds,)`` that of each resample; ``at`` is the
        direction, or the image row of each value.
        """
        return draws.value(values, at, self.statistic), draws.resample(values, at, self.statistic)

    def parts(self, evidence: Any) -> "Iterable[Metric]":
        """Return the metrics that are measured in its name, such as one for each group of captions; itself
        alone where nothing else is said.

        Args:
            evidence: ``evaluation.Evidence``.
        """
        return (self,)

    def gallery(self, evidence: Any, direction: str) -> int:
        """Return how many items a query is compared with."""
        return int(evidence.gallery(direction))

    def depths(self, judgements: str) -> tuple[int | None, ...]:
        """Return the depths that are measured by some judgements."""
        return self.ks

    def phrase(self, k: int | None, judgements: str) -> str:
        """Return what counts as a hit at a depth, by some judgements."""
        return self.hit.format(k=k, judgements=judgements)


def all_metrics() -> dict[str, type[Metric]]:
    """Return all metrics of the registry and of installed packages, by name."""
    return _load_offered(_registry.names())


def usual_names(asked: Iterable[str] = ()) -> set[str]:
    """Return the names of the metrics that every evaluation measures and that nobody asks for.

    Args:
        asked: names of metrics that somebody asks for.
    """
    wanted = _load_offered(name for name in asked if name in _registry.names())
    return {name for name, metric in all_metrics().items() if metric.default} - {*wanted, *asked}


def _load_offered(places: Iterable[str]) -> dict[str, type[Metric]]:
    """Return the metrics that files and entry points of these names offer."""
    out: dict[str, type[Metric]] = {}
    for place in places:
        offer = _registry.member(place)
        out |= {row.name: row for row in offer} if isinstance(offer, tuple) else {place: offer}
    return out


def names() -> list[str]:
    """Return names of the metrics, sorted."""
    return sorted(all_metrics())


def member(name: str) -> type[Metric]:
    """Return the class of a metric, by its name or by ``"my_module:MyMetric"``.

    Raises:
        KeyError: no such metric; the message lists the near names.
    """
    # installed packages are asked only where no file of the folder knows the name, which takes time
    known = _load_offered(_registry.files)
    known = known if name in known else all_metrics()
    if name not in known and ":" not in name:
        raise KeyError(f"metrics: no {name!r}; {did_you_mean(name, list(known))}")
    return known.get(name) or _registry.member(name)


def load(name: str, **options: Any) -> Metric:
    """Return one metric by name, or by ``"my_module:MyMetric"``.

    Raises:
        KeyError: no such metric; the message lists the near names.
        TypeError, ValueError: an option that the metric does not take.

    >>> load("ndcg", gain="exponential").name
    'ndcg'
    """
    return make(f"metric {name!r}", member(name), options)


def load_all(metrics: Iterable[str | Metric]) -> list[Metric]:
    """Return metrics, of which some are given by their names alone.

    Raises:
        KeyError: no such metric; the message lists the near names.
    """
    loaded = []
    for metric in metrics:
        loaded.append(load(metric) if isinstance(metric, str) else metric)
    return loaded
