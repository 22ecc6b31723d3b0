"""The metrics of one definition measured together, as a paper's table has them: what the tests of this folder
ask for.

Where the image of a caption does not matter to a test, captions belong to the images in turn.
"""

import numpy as np
from paper_tables.pmrp import Pmrp

from workbench import metrics
from workbench.metrics.categories import Categories
from workbench.metrics.cxc import FourWaySum
from workbench.metrics.evaluation import Evidence, Subset, evaluate
from workbench.metrics.grades import lists
from workbench.metrics.ranks import Ranked

hit_at_k, recall_at_k = metrics.load("R").per_query, metrics.load("recall").per_query
map_at_r, r_precision = metrics.load("map_at_r").per_query, metrics.load("r_precision").per_query
ncs = metrics.load("ncs").per_query


def order(scores, grades, *, block=None):
    """``(queries, gallery)`` the grades in the order of the scores; 0 for a pair that nobody judged."""
    return np.concatenate([part.distinct[part.codes] for _, part in lists(scores, grades, block=block)])


def by_key(found):
    """Measurements by the text of their key, without judgements and folds."""
    return {m.key.local: m for m in found}


def evidence(scores, judged, own=None, **more):
    """Evidence from scores or ranks."""
    if isinstance(scores, Ranked):
        scores, more = np.broadcast_to(0.0, scores.shape), more | {"ranked": scores}
    images, captions = judged.shape
    return Evidence(scores, judged, np.arange(captions) % images if own is None else own, **more)


def recall(scores, judged, *, own=None, ks=(1, 5, 10), folds=1, rounds=1000, seed=0):
    """R@K, recall@K, median rank and RSUM."""
    if own is None and getattr(judged, "name", "") == "own":
        own = judged.images[np.argsort(judged.captions)]
    rows = [metrics.load("R", ks=ks), metrics.load("recall", ks=ks), "medr", "rsum"]
    return evaluate(evidence(scores, judged, own, folds=folds), rows, rounds=rounds, seed=seed)


def ranking(
    scores, judged, *, own=None, ks=(10,), gain="linear", graded=True, rounds=1000, seed=0, ranked=None
):
    """mAP@R, R-Precision and R@1; nDCG and Kendall tau."""
    rows = ["map_at_r", "r_precision", metrics.load("R", ks=(1,))]
    rows += [metrics.load("ndcg", ks=(None, *ks), gain=gain), "kendall_tau"] if graded else []
    return evaluate(evidence(scores, judged, own, ranked=ranked), rows, rounds=rounds, seed=seed)


def errors(scores, labels, truth, *, part="", captions=None, own=None, rounds=1000, seed=0):
    """own@1, true@1, errors and false negatives."""
    subset = Subset(part, captions=captions) if part or captions is not None else None
    rows = ["own", "true", "errors", "false_negatives"]
    return evaluate(
        evidence(scores, truth, own, labels=labels), rows, subset=subset, rounds=rounds, seed=seed
    )


def crossed(scores, judged, *, own=None, within=None, rounds=1000, seed=0):
    """R@1, R@5 and R@10 of every direction, and their sum where there are four."""
    given = evidence(scores, judged, own, name="cxc", within=within or {})
    return evaluate(given, ["R", FourWaySum()], rounds=rounds, seed=seed)


def plausible(scores, codes, own, *, zetas=(0, 1, 2), folds=1, rounds=1000, seed=0):
    """PMRP and its parts."""
    rows = [Pmrp(zetas=zetas), *(Pmrp(zetas=(zeta,)) for zeta in zetas)]
    given = Evidence(scores, Categories(codes, own), own, folds=folds)
    return evaluate(given, rows, rounds=rounds, seed=seed)


def semantic(scores, phi, *, own=None, ground_truth=True, ks=(1, 5, 10), ms=(1, 2, 3), rounds=1000, seed=0):
    """NCS, Semantic Recall in their released and printed forms, ASP and NSUM; with ``own`` those by votes."""
    rows = [metrics.load("ncs", ks=ks), "asp", "nsum"]
    rows += [metrics.load(row, m=m, ks=ks) for row in ("ncs_top", "sr_top") for m in ms]
    rows += [metrics.load("sr_votes", m=m, ks=ks) for m in ms] if own is not None else []
    return evaluate(evidence(scores, phi, own, without_own=not ground_truth), rows, rounds=rounds, seed=seed)
