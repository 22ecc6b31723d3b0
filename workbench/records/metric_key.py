"""The name of a number: the metric, the direction, and whose judgements say what is relevant.

This is the one place where such a name is written or read. Its text stands in ``results.json``, in tables and
on pages: ``t2i/R@1``, ``rsum``, ``exact:i2t/map_at_r``, ``exact:t2i/true@1[most specific]``,
``i2t/R@5[5 folds]``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.registry import require

DIRECTIONS = ("i2t", "t2i", "i2i", "t2t", "")
# how people say a direction and a metric; any other metric is said by its name
WAYS = {"i2t": "image to text", "t2i": "text to image", "i2i": "image to image", "t2t": "text to text"}
SAID = {
    "rsum": "RSUM", "map_at_r": "mAP@R", "r_precision": "R-Precision", "medr": "median rank", "ncs": "NCS",
    "pmrp": "PMRP", "within_map_at_r": "mAP@R within groups of captions",
    "within_r_precision": "R-Precision within groups of captions", "rsum_top": "attainable RSUM",
    "R_top": "attainable R", "same_list": "mAP@R of one list for all queries",
    "offset_map_at_r": "mAP@R after the best offset of captions",
    "added_map_at_r": "mAP@R with the best multiple of a number of captions", "auroc": "AUROC of pairs",
    "ece": "calibration error",
}  # fmt: skip
# judgements that say more about all pairs stand before those that say less
DENSEST = ("exact", "eccv", "cxc", "human", "graded")
JUDGES = {
    "own": "annotated pairs", "exact": "the truth", "truth": "the truth", "pooled": "pooled answers",
    "phi": "similarity of captions", "categories": "object classes",
}  # fmt: skip
FORM = "[judgements:][direction/]metric[@k][[subset]][[n folds]], e.g. t2i/R@1 or exact:i2t/map_at_r"
WORD = r"[^:/@\[\]]+"
PATTERN = re.compile(
    rf"(?:(?P<judgements>{WORD}):)?(?:(?P<direction>[it]2[it])/)?(?P<metric>{WORD})(?:@(?P<k>[1-9]\d*))?"
    r"(?:\[(?P<subset>(?!\d+ folds\])[^\[\]]+)\])?(?:\[(?P<folds>[1-9]\d*) folds\])?"
)


def densest_judgements(names: Iterable[str], *, graded: bool = False) -> str:
    """Return which judgements of a data set say most about all its pairs: the first of ``DENSEST``; else the
    first that are not the data set's own pairs; else ``"own"``. With ``graded`` those with grades between 0
    and 1 go first.

    >>> names = ["own", "exact", "graded"]
    >>> densest_judgements(names), densest_judgements(names, graded=True), densest_judgements(["own"])
    ('exact', 'graded', 'own')
    """
    known = list(names)
    order = [*(["graded"] if graded else []), *DENSEST, *(name for name in known if name != "own")]
    return next((name for name in order if name in known), "own")


@dataclass(frozen=True)
class MetricKey:
    """The name of a number.

    Args:
        metric: name of the metric, e.g. ``"R"``, ``"map_at_r"``, ``"rsum"``.
        direction: what is asked and what is found: ``"i2t"``, ``"t2i"``, ``"i2i"``, ``"t2t"``; ``""`` = none
            or both.
        judgements: name of the judgements that say what is relevant; ``"own"`` = the split's own pairs.
        k: depth of the metric, if it has one.
        subset: name of the queries that are asked, e.g. ``"most specific"``; ``""`` = all.
        folds: galleries whose mean this is; 1 = the whole gallery.

    Raises:
        ValueError: a part that could not be read back, or an unknown direction.

    >>> str(MetricKey("true", "t2i", "exact", k=1, subset="most specific"))
    'exact:t2i/true@1[most specific]'
    """

    metric: str
    direction: str = ""
    judgements: str = "own"
    k: int | None = None
    subset: str = ""
    folds: int = 1

    def __post_init__(self) -> None:
        require(
            self.direction in DIRECTIONS,
            f"no direction {self.direction!r}; known: {', '.join(DIRECTIONS[:-1])}",
        )
        require(
            _read_parts(str(self)) == tuple(vars(self).values()),
            f"a key has the form {FORM}; got {str(self)!r}",
        )

    def __str__(self) -> str:
        """Return the text that ``parse`` reads."""
        judgements = "" if self.judgements == "own" else f"{self.judgements}:"
        folds = "" if self.folds == 1 else f"[{self.folds} folds]"
        return f"{judgements}{self.local}{folds}"

    @property
    def local(self) -> str:
        """The text without judgements and folds, for tables in which these stand elsewhere."""
        direction = f"{self.direction}/" if self.direction else ""
        depth = "" if self.k is None else f"@{self.k}"
        subset = f"[{self.subset}]" if self.subset else ""
        return f"{direction}{self.metric}{depth}{subset}"

    @property
    def title(self) -> str:
        """The key in words, for the axes and headings of figures.

        >>> MetricKey("map_at_r", "i2t", "exact").title
        'mAP@R, image to text, by the truth'
        """
        metric = SAID.get(self.metric, self.metric.replace("_", " "))
        judged = "" if self.judgements == "own" else f"by {JUDGES.get(self.judgements, self.judgements)}"
        folds = "" if self.folds == 1 else f"{self.folds} folds"
        depth = "" if self.k is None else f"@{self.k}"
        parts = (metric + depth, WAYS.get(self.direction, ""), judged, self.subset, folds)
        return ", ".join(filter(None, parts))

    @classmethod
    def parse(cls, text: str) -> "MetricKey":
        """Read a key.

        Raises:
            ValueError: the text is no key; the message shows the form.

        >>> MetricKey.parse("exact:i2t/map_at_r").judgements
        'exact'
        """
        parts = _read_parts(text)
        require(parts is not None, f"{text!r} is not the name of a number; the form is {FORM}")
        return cls(*(parts or ("",)))


def _read_parts(text: str) -> tuple[str, str, str, int | None, str, int] | None:
    """Return the parts of a key in the order of the fields; ``None`` where the text is no key."""
    match = PATTERN.fullmatch(text)
    if match is None:
        return None
    metric = match["metric"]
    direction = match["direction"] or ""
    judgements = match["judgements"] or "own"
    k = int(match["k"]) if match["k"] else None
    return metric, direction, judgements, k, match["subset"] or "", int(match["folds"] or 1)
