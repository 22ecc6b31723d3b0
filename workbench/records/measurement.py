"""One number with its contract."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from workbench.formatting import Unit
from workbench.records.metric_key import MetricKey

TIES = "an equally scored item that is not relevant ranks above"


@dataclass(frozen=True)
class Measurement:
    """One reported number with its contract.

    Args:
        key: names the metric, the direction, the judgements, the subset of queries and the folds.
        value: as it is stored: shares in [0, 1], sums of shares, correlations in [-1, 1], ranks.
        low, high: bootstrap interval at ``confidence``, or ``None``.
        queries, gallery: how many of each; ``left_out``: queries that do not count, since nothing is relevant
            to them or they are not asked.
        hit: what counts as a hit; ``ties``: how equal scores are treated.
        unit: what a resample of the bootstrap draws as a whole.
        face: how the value is shown, see ``records.shown``.
        smaller_is_better: whether a smaller value is a better one.
    """

    key: MetricKey
    value: float
    low: float | None = None
    high: float | None = None
    queries: int = 0
    gallery: int = 0
    left_out: int = 0
    hit: str = ""
    ties: str = TIES
    unit: str = ""
    face: Unit = "share"
    smaller_is_better: bool = False
    confidence: float = 0.95

    @classmethod
    def of(cls, contract: Mapping[str, Any]) -> "Measurement":
        """The measurement that ``as_dict`` wrote."""
        known = {field.name: contract[field.name] for field in fields(cls) if field.name in contract}
        return cls(**known | {"key": MetricKey.parse(contract["key"])})

    @property
    def label(self) -> str:
        """The text of the key, as it stands in ``results.json``: ``"exact:t2i/map_at_r"``."""
        return str(self.key)

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON values; the key as its text, beside the judgements and folds that it names."""
        return asdict(self) | {
            "key": self.label, "judgements": self.key.judgements, "folds": self.key.folds,
        }  # fmt: skip
