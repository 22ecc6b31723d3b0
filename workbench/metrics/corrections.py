"""Corrections of scores after training: inverted softmax, dual softmax and QB-Norm, and what a model reaches
with them.

With queries q, items t, scores S and a bank of queries b that are asked of the same items:

- ``inverted_softmax``: ``S'_qt = exp(beta S_qt) / sum_b exp(beta S_bt)``, so that an item which every query
  likes gains little by it (Smith et al., Offline bilingual word vectors, orthogonal transformations and the
  inverted softmax, ICLR 2017);
- ``dual_softmax``: the product of this and the softmax over items, ``exp(beta S_qt) / sum_u exp(beta S_qu)``
  (Cheng et al., Improving video-text retrieval by multi-stream corpus alignment and dual softmax loss, 2021);
- ``qb_norm``: the inverted softmax for queries whose best item is a hub, which is an item among the ``k``
  best of some query of the bank; the scores as they are for others (Bogolin et al., Cross modal retrieval
  with querybank normalisation, CVPR 2022).

The metrics ``<correction>_R``, ``_rsum`` and ``_map_at_r`` are the metrics of these names on corrected
scores; the bank is all queries of the split, each query among them. That looks at many queries at once, which
a search engine may not: the numbers do not stand beside uncorrected ones of another paper. A bank of training
queries is given to the functions.

A tie counts against the model (``ranks``). A query with nothing relevant does not count, and how many there
were is reported.

Departures: logarithms in place of quotients and products, which rank alike; ``beta`` is 20, the value of
QB-Norm for cosines, for all three.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.special import logsumexp

from workbench.metrics.evaluation import JudgedSide
from workbench.metrics.map_at_r import MEMBER as BY_TRUTH
from workbench.metrics.ranks import rank
from workbench.metrics.recall import HitRate, Rsum
from workbench.metrics.registry import Metric
from workbench.records import Array, Values
from workbench.registry import Natural, Positive

BETA, HUBS = 20.0, 1


def inverted_softmax(scores: Array, bank: Array, *, beta: float = BETA) -> Values:
    """Return ``(Q, N)`` logarithms of the inverted softmax.

    Args:
        scores: ``(Q, N)`` of queries with items.
        bank: ``(B, N)`` of the bank's queries with the same items.
        beta: inverse temperature.

    An item that the bank likes loses:

    >>> inverted_softmax(np.array([[1.0, 0.9]]), np.array([[1.0, 0.1], [1.0, 0.1]]), beta=1).round(3)
    array([[-0.693,  0.107]])
    """
    return np.asarray(beta * scores - logsumexp(beta * np.asarray(bank, np.float64), axis=0))


def dual_softmax(scores: Array, bank: Array, *, beta: float = BETA) -> Values:
    """Return ``(Q, N)`` logarithms of the product of the softmax over the bank and that over items; the
    arguments are those of ``inverted_softmax``.
    """
    scaled = beta * np.asarray(scores, np.float64)
    over_items = scaled - logsumexp(scaled, axis=1, keepdims=True)
    return np.asarray(over_items + inverted_softmax(scores, bank, beta=beta))


def qb_norm(scores: Array, bank: Array, *, beta: float = BETA, k: int = HUBS) -> Values:
    """Return ``(Q, N)`` scores, those of a query whose best item is a hub replaced by the inverted softmax.

    Args:
        scores: ``(Q, N)``.
        bank: ``(B, N)``.
        beta: inverse temperature.
        k: an item is a hub if it is among so many best of a query of the bank.
    """
    hubs = np.zeros(scores.shape[1], dtype=bool)
    depth = min(k, scores.shape[1])
    hubs[np.argpartition(-bank, depth - 1, axis=1)[:, :depth]] = True
    corrected = hubs[scores.argmax(axis=1)]
    return np.where(corrected[:, None], inverted_softmax(scores, bank, beta=beta), scores)


Correction = Callable[..., Values]


class Corrected(Metric):
    """A metric of ranks, of scores that were corrected with all queries of the split as the bank.

    Args:
        beta: inverse temperature.
        ks: other depths.
    """

    requires, default = "relevant", False
    directions: tuple[str, ...] = ("i2t", "t2i")
    correction: Correction
    base: Metric

    def __init__(self, *, beta: Positive = BETA, ks: tuple[Natural, ...] | None = None) -> None:
        super().__init__(ks=ks)
        self.beta = beta

    def per_query(self, inputs: JudgedSide, k: int | None = None) -> Values:
        """Return ``(queries,)`` values of the metric; NaN where nothing is relevant."""
        scores = inputs.scores.rows().astype(np.float64)
        corrected = self.correction(scores, scores, beta=self.beta)
        return self.base.per_query(rank(corrected, inputs.relevant), k)


def _corrected_metric(name: str, correction: Correction, base: Metric, by: str) -> type[Metric]:
    """Return the metric on scores of one correction, by some judgements."""
    hit = f"{base.hit}; scores corrected by {name}, whose bank is all queries of the split"
    attributes = {
        "correction": staticmethod(correction),
        "base": base,
        "by": (by,),
        "ks": base.ks,
        "face": base.face,
        "summed": base.summed,
        "__doc__": f"{base.__doc__} Scores are corrected by {name}.",
    }
    return Corrected.from_function(f"{name}_{base.name}", base.per_query, hit, **attributes)


CORRECTIONS: dict[str, Correction] = {
    "inverted_softmax": inverted_softmax,
    "dual_softmax": dual_softmax,
    "qb_norm": qb_norm,
}
BASES = ((HitRate(), "own"), (Rsum(), "own"), (BY_TRUTH[0](), "densest"))
MEMBER = tuple(
    _corrected_metric(name, correction, *base)
    for (name, correction), base in product(CORRECTIONS.items(), BASES)
)
