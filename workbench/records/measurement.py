"""One number with its contract, and the row of texts that shows it to people.

The terminal, pages and notebooks all take their rows from here, so that one number reads alike wherever it
stands.
"""

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from workbench.formatting import UNITS, Unit, format_count, format_interval, format_value, unit_heading
from workbench.records.metric_key import JUDGES, MetricKey, densest_judgements

TIES = "an equally scored item that is not relevant ranks above"
FIRST = ("rsum", "R", "map_at_r")
# of every interval, and of a table of comparisons as a whole
CONFIDENCE = 0.95
# how an interval was computed, in the contract of its number
BOOTSTRAP = "percentiles of the resamples"
WILSON = "Wilson's, since all resamples agree"
CLUSTERED = "Wilson's, with the trials that the variance over images amounts to"
WOODRUFF = "Woodruff's, by the variance over images of the share below the median"
CERTAIN = "none, since every order has this value"
# numbers of one kind that a remark names
MOST_NAMED = 3
HITS = (
    "R@K is the share of queries with a relevant item among their best K; recall@K is the share of a query's "
    "relevant items among them"
)
# metrics whose numbers are so many that a table has them where they are asked for
PARTS = ("within_map_at_r", "within_r_precision", "R_top")
# what a number is where its contract, written by an older version, does not say so
BY_NAME = {
    "rsum": "sum", "rsum_top": "sum", "nsum": "sum", "medr": "rank", "meanr": "rank", "d_corr_gain": "number",
    **dict.fromkeys(("pearson", "spearman", "spearman_half", "kendall_tau", "tau"), "correlation"),
    **dict.fromkeys(("d_corr_image", "d_corr_other", "d_corr_radius"), "correlation"),
}  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Args:
        key: names the metric, the direction, the judgements, the subset of queries and the folds.
        value: as it is stored: shares in [0, 1], sums of shares, correlations in [-1, 1], ranks.
        low, high: ends of the interval at ``confidence``, within the range of the number, or ``None``.
        queries: how many count; ``left_out``: those that do not, since nothing is relevant to them or they
            are not in the subset.
        face: how the value is shown, see ``formatting``.
        smaller_is_better: whether a smaller value is a better one.
    """

    key: MetricKey
    value: float
    low: float | None = None
    high: float | None = None
    queries: int = 0
    left_out: int = 0
    face: Unit = "share"
    smaller_is_better: bool = False
    confidence: float = CONFIDENCE

    @property
    def label(self) -> str:
        """The text of the key, as it stands in ``results.json``: ``"exact:t2i/map_at_r"``."""
        return str(self.key)


@dataclass(frozen=True)
class Measurement(Estimate):
    """One reported number with its contract.

    Args:
        gallery: how many items a query is compared with.
        hit: what counts as a hit; ``ties``: how equal scores are treated.
        unit: what a resample of the bootstrap draws as a whole.
        interval: how the interval was computed.
        chance: what a random order has on average; ``None`` = nobody knows.
        beside: what simpler things reach, by name, such as a bag of words on counterfactual captions.
        by: what cuts the queries into the slice that this number is of; empty = it is of no slice.
    """

    gallery: int = 0
    hit: str = ""
    ties: str = TIES
    unit: str = ""
    interval: str = ""
    chance: float | None = None
    beside: Mapping[str, float] = field(default_factory=dict)
    by: str = ""

    @classmethod
    def from_contract(cls, contract: Mapping[str, Any]) -> "Measurement":
        """Return the measurement that ``as_dict`` wrote."""
        known = {field.name: contract[field.name] for field in fields(cls) if field.name in contract}
        return cls(**known | {"key": MetricKey.parse(contract["key"])})

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values; the key as its text, beside the judgements and folds that it
        names.
        """
        names = {"key": self.label, "judgements": self.key.judgements, "folds": self.key.folds}
        fields = asdict(self) | names
        if not self.by:
            del fields["by"]
        return fields


def unit_of(label: str, contract: Mapping[str, Any] | None = None) -> str:
    """Return what a number is, of ``formatting.UNITS``: as its contract says, else by the name of the metric;
    what is no metric's is a plain number.

    >>> unit_of("rsum"), unit_of("exact:t2i/map_at_r"), unit_of("i2t/medr"), unit_of("mean/objects")
    ('sum', 'share', 'rank', 'number')
    """
    units = [(contract or {}).get(name) for name in ("face", "unit")]
    try:
        units.append(BY_NAME.get(MetricKey.parse(label).metric, "share"))
    except ValueError:
        units.append("number")
    return next(str(unit) for unit in units if unit in UNITS)


def measurement_row(label: str, contract: Mapping[str, Any], value: float | None = None) -> dict[str, str]:
    """Return one number as a row of texts: ``number``, ``value`` with its interval, ``in`` (its unit),
    ``chance``, ``queries``, ``gallery``, ``a hit is``.

    Args:
        label: its key.
        contract: the fields of its ``Measurement``, e.g. from ``results.json``; what it lacks is left empty.
        value: as it is stored; ``None`` = the contract's.

    >>> measurement_row("rsum", {"low": 4.0, "high": 4.2, "queries": 6000}, 4.1)["value"]
    '410.0 (400.0 to 420.0)'
    """
    unit = unit_of(label, contract)
    number = contract.get("value") if value is None else value
    chance, low, high = (contract.get(name) for name in ("chance", "low", "high"))
    if low == high and unit in ("share", "sum"):
        low = high = None  # from an older version: no sample of images makes a share certain
    row = {"number": label}
    row["value"] = format_interval(number, low, high, unit)
    row["in"] = "" if unit == "number" else unit_heading(unit)
    row["chance"] = "" if chance is None else format_value(chance, unit)
    for name in ("queries", "gallery"):
        size = contract.get(name)
        row[name] = format_count(size) if size else ""
    row["a hit is"] = str(contract.get("hit", ""))
    return row


def measurement_rows(measurements: Iterable[Any]) -> list[dict[str, str]]:
    """Return measurements, or pairs of a label and a contract that holds the value, as rows of texts."""
    return [measurement_row(label, contract) for label, contract in _labelled_contracts(measurements)]


def remarks(measurements: Iterable[Any]) -> list[str]:
    """Explain what a table of numbers cannot show: R@K beside recall@K, which intervals are Wilson's, and
    what intervals draw.

    Args:
        measurements: as for ``measurement_rows``.

    >>> remarks([("i2t/R@1", {"interval": WILSON}), ("i2t/recall@1", {})])[1]
    "interval of i2t/R@1: Wilson's, since all resamples agree"
    """
    measurements = list(measurements)
    methods = [(label, contract.get("interval", "")) for label, contract in _labelled_contracts(measurements)]
    words = {label.partition("@")[0].rpartition("/")[2] for label, _ in methods}
    lines = [HITS] if {"R", "recall"} <= words else []
    for method in (WILSON, CERTAIN):
        labels = list(dict.fromkeys(label for label, interval in methods if interval == method))
        if labels:
            left = len(labels) - MOST_NAMED
            more = f" and {left} more" if left > 0 else ""
            lines.append(f"interval of {', '.join(labels[:MOST_NAMED])}{more}: {method}")
    return lines + _reference_lines(measurements)


def _reference_lines(measurements: Iterable[Any]) -> list[str]:
    """Describe for each number what simpler things reach and how many ties it has, and what intervals
    draw.
    """
    lines = []
    for label, contract in _labelled_contracts(measurements):
        beside = contract.get("beside", {})
        reached = [f"{name} {format_value(value, 'share')}" for name, value in beside.items()]
        ties = contract.get("ties", "").partition("; ")[2]
        if reached and not MetricKey.parse(label).subset:
            # several models in one table have ties of their own
            name = f"{contract['run']}, {label}" if "run" in contract else label
            lines.append("; ".join(filter(None, [f"beside {name}: {', '.join(reached)}", ties])))
    units = [
        contract.get("unit")
        for _, contract in _labelled_contracts(measurements)
        if contract.get("low") is not None
    ]
    lines += [f"intervals draw {unit}" for unit in units if unit]
    # two models have the same beside a number
    return list(dict.fromkeys(lines))


def is_part_of_metric(label: str, usual: Container[str]) -> bool:
    """Return whether a number is one of the many parts of a metric that nobody asked for.

    Args:
        label: its key.
        usual: names of the metrics that nobody asked for.

    >>> is_part_of_metric("exact:i2t/R_top@5", {"R_top"})
    True
    >>> is_part_of_metric("exact:i2t/within_map_at_r", {"within_map_at_r"})
    False
    """
    try:
        key = MetricKey.parse(label)
    except ValueError:
        return False
    whole = key.metric == PARTS[0] and not key.subset
    return key.metric in PARTS and key.metric in usual and not whole


def baseline_remarks(measurements: Iterable[Any]) -> list[str]:
    """Describe in a few lines what RSUM and mAP@R stand beside: what the truth alone and one list for all
    queries reach, and mAP@R within each group of captions.

    Args:
        measurements: all that were made, as for ``measurement_rows``.

    >>> level = "exact:i2t/within_map_at_r[level 1]"
    >>> baseline_remarks([("exact:rsum_top", {"value": 4.94}), (level, {"value": 0.5})])
    ['RSUM of an order that knows the truth alone: 494.0', 'mAP@R, image to text, within level 1: 50.0']
    """
    top: list[str] = []
    common: list[str] = []
    groups: dict[str, str] = {}
    for label, contract in _labelled_contracts(measurements):
        with suppress(ValueError):
            key = MetricKey.parse(label)
            value = format_value(contract.get("value"), unit_of(label, contract))
            if key.metric == "rsum_top":
                top.append(f"RSUM of an order that knows the truth alone: {value}")
            elif key.metric == "same_list" and key.direction == "i2t":
                common.append(f"mAP@R, image to text, of one list for all images: {value}")
            elif key.metric == "within_map_at_r" and key.direction == "i2t" and key.subset:
                groups[key.subset] = value
    lines = [*top, *common]
    if groups:
        lines.append(f"mAP@R, image to text, within {', '.join(groups)}: {', '.join(groups.values())}")
    return lines


def _labelled_contracts(measurements: Iterable[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the label of each measurement with its contract."""
    pairs = []
    for item in measurements:
        pairs.append((item.label, item.as_dict()) if isinstance(item, Measurement) else item)
    return pairs


def chance_warning(contracts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one sentence where RSUM is not above that of a random order: its interval, or else its value,
    reaches down to it. Empty where it is above, or nobody knows.

    Args:
        contracts: label -> fields of a ``Measurement``, as in ``results.json``.

    >>> chance_warning({"rsum": {"value": 0.55, "low": 0.3, "high": 0.8, "chance": 0.6, "face": "sum"}})
    'Not above chance: rsum is 55.0 (30.0 to 80.0) of 600, and a random order has 60.0.'
    """
    contract = contracts.get("rsum", {})
    value, low, chance = (contract.get(name) for name in ("value", "low", "chance"))
    if chance is None or value is None or (value if low is None else low) > chance:
        return ""
    row = measurement_row("rsum", contract)
    return f"Not above chance: rsum is {row['value']} {row['in']}, and a random order has {row['chance']}."


def contracts_of(results: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the numbers of ``results.json`` as pairs of a label and a contract that holds the value; a
    number without a contract has its value alone.
    """
    contracts = results.get("contracts", {})
    values = results.get("metrics", {})
    return [(label, {**contracts.get(label, {}), "value": value}) for label, value in values.items()]


def leading_line(contracts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what stands for a run in one line: its first number, such as RSUM, and mAP@R of both directions
    where more than annotated pairs is known.

    Args:
        contracts: label -> contract that holds the value.

    >>> leading_line({"rsum": {"value": 4.5}, "exact:i2t/map_at_r": {"value": 0.25}})
    'rsum 450.0 of 600; mAP@R by the truth: i2t 25.0 percent'
    """
    texts = []
    for label in headline(contracts)[:1]:
        row = measurement_row(label, contracts[label])
        texts.append(f"{row['number']} {row['value']} {row['in']}".rstrip())
    values, judge = [], ""
    for label in dense_labels(contracts):
        key, value = MetricKey.parse(label), contracts[label].get("value")
        judge = JUDGES.get(key.judgements, key.judgements)
        values += [] if value is None else [f"{key.direction} {format_value(value)}"]
    if values:
        texts.append(f"mAP@R by {judge}: {', '.join(values)} {unit_heading('share')}")
    return "; ".join(texts)


def dense_labels(labels: Iterable[str]) -> list[str]:
    """Return mAP@R of both directions by the densest judgements, of those that say more than annotated pairs.

    Args:
        labels: of all numbers of a run.

    >>> dense_labels(["rsum", "t2i/map_at_r", "human:t2i/map_at_r", "eccv:t2i/map_at_r"])
    ['eccv:t2i/map_at_r']
    """
    there = dict.fromkeys(labels)
    judges = []
    for label in there:
        with suppress(ValueError):
            key = MetricKey.parse(label)
            judges += [key.judgements] if key.metric == FIRST[-1] else []
    dense = densest_judgements(judges)
    both = [str(MetricKey(FIRST[-1], way, dense)) for way in ("i2t", "t2i")]
    return [label for label in both if label in there and dense != "own"]


def headline(labels: Iterable[str], *, usual: Container[str] | None = None) -> list[str]:
    """Return the numbers to look at first: RSUM and R@K by the own pairs and mAP@R by the densest judgements,
    of the whole gallery; where there is none of them, the first dozen.

    Args:
        labels: of all numbers of a run.
        usual: names of the metrics that every evaluation measures. Others, such as one of a user's own, come
            last, since somebody asked for them; ``None`` = they are left out.

    >>> headline(["exact:t2i/own@1", "t2i/R@10", "t2i/R@1", "t2i/R@1[5 folds]", "rsum"])
    ['rsum', 't2i/R@1', 't2i/R@10']
    """
    every = list(labels)
    keys = dict[str, MetricKey]()
    for label in every:
        with suppress(ValueError):
            keys[label] = MetricKey.parse(label)
    # R@K and RSUM are read by the labels, as benchmarks print them; others by the truth
    judges = dict.fromkeys(FIRST, "own")
    judges[FIRST[-1]] = densest_judgements(key.judgements for key in keys.values() if key.metric == FIRST[-1])
    sides = list(dict.fromkeys((key.judgements, key.direction) for key in keys.values()))
    ranked = []
    for label, key in keys.items():
        if key.metric in judges:
            place = FIRST.index(key.metric)
            wanted = key.judgements == judges[key.metric]
        else:
            place = len(FIRST)
            wanted = usual is not None and key.metric not in usual
        if wanted and key == replace(key, subset="", folds=1):
            ranked.append((place, sides.index((key.judgements, key.direction)), key.k or 0, label))
    return [label for *_, label in sorted(ranked)] or every[:12]
