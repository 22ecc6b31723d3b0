"""The slices that are searched: values of fields, bins of numbers, words, what images show, and pairs.

"A field of categories gives a slice a value, a flag two, numbers their quartiles and everything below or
above a tenth of them. A word is a slice of the captions that hold it. Two conditions are crossed where they
are of two fields. A slice counts where it and its rest have enough images, and two that cut the queries alike
count once."

Which slices are searched depends on their sizes, never on the values that are compared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from workbench.formatting import format_count
from workbench.records import Field, Mask, Rows, Split
from workbench.runs.conditions import SHOWS, WORD, query_contents, query_words, rows_of_queries
from workbench.runs.slices import SHARES, query_values, read_term, round_cut, slices_of

MINIMUM = 20
MOST_WORDS = 200
MOST_PAIRS = 2000
# of words and of what images show, those of at least this share of the queries are crossed with other fields
FREQUENT = 0.05


@dataclass(frozen=True)
class Condition:
    """One condition that cuts the queries.

    Args:
        label: as it is printed, e.g. ``"language=de"`` or ``"words>20"``.
        field: name of the field that it is of.
        mask: ``(Q,)`` which queries meet it.
        crossed: whether it is crossed with those of other fields.
    """

    label: str
    field: str
    mask: Mask
    crossed: bool = True


@dataclass(frozen=True)
class Candidates:
    """Slices of one condition, and then of two.

    Args:
        labels: ``C`` tuples of the labels of their conditions.
        masks: ``(C, Q)`` which queries are in which.
        parents: for each, the rows of its conditions where they are slices themselves; none of a single one.
        minimum: images that a slice and its rest have at least.
    """

    labels: Sequence[tuple[str, ...]]
    masks: Mask
    parents: Sequence[tuple[int, ...]]
    minimum: int

    @property
    def singles(self) -> int:
        """Number of slices of one condition."""
        return sum(len(labels) == 1 for labels in self.labels)

    def about(self) -> str:
        """Describe how many slices are searched, and from which size on."""
        singles = format_count(self.singles, "slice")
        pairs = format_count(len(self.labels) - self.singles)
        least = format_count(self.minimum, "image")
        return (
            f"{singles} of one condition and {pairs} of two; a slice and its rest have at least {least} each"
        )


def candidates_of(
    split: Split,
    direction: str,
    *,
    fields: Mapping[str, Field] | None = None,
    by: Sequence[str] = (),
    minimum: int = MINIMUM,
    pairs: bool = True,
) -> Candidates:
    """Return the slices of a split that are searched.

    Args:
        split: whose queries.
        direction: ``"t2i"`` asks captions, ``"i2t"`` images.
        fields: by name; ``None`` = those of the split.
        by: what is searched: names of fields, maybe with a cut as ``slices_of`` reads it (``"words:>20"``);
            ``"word"``, the words of captions; ``"shows"``, what images show where their graphs are known.
            None takes all.
        minimum: images that a slice and its rest have at least.
        pairs: also cross conditions of two fields.

    Raises:
        KeyError: no such field.
    """
    known = split.fields if fields is None else fields
    terms = list(by) or [*known, WORD, SHOWS]
    of_fields = [term for term in terms if term in known or term not in (WORD, SHOWS)]
    conditions = [*conditions_of_fields(split, direction, known, of_fields)]
    if WORD in terms:
        conditions += conditions_of_words(split, direction)
    if SHOWS in terms:
        conditions += conditions_of_graphs(split, direction)
    image_rows = rows_of_queries(split, direction)
    return combine(conditions, image_rows, minimum=minimum, pairs=pairs)


def conditions_of_fields(
    split: Split, direction: str, fields: Mapping[str, Field], terms: Sequence[str]
) -> Iterator[Condition]:
    """Yield the conditions of fields; a text that differs from row to row has none."""
    for term in terms:
        name, rule = read_term(fields, term)
        field = fields[name]
        if field.kind == "text" and not rule:
            continue
        for label, mask in slices_of(split, term, direction, fields=fields).items():
            yield Condition(label, field.name, mask)
        if field.kind == "number" and not rule:
            yield from _conditions_of_ends(split, direction, field.name, field)


def _conditions_of_ends(split: Split, direction: str, name: str, field: Field) -> Iterator[Condition]:
    """Yield what lies below and above the tenths of a field of numbers."""
    values = query_values(field, split.own, len(split.image_ids), direction)
    known = values[~np.isnan(values)]
    if not len(known):
        return
    parts = SHARES["tenths"]
    ends = np.unique(np.quantile(known, np.arange(1, parts) / parts, method="lower"))
    middle = np.quantile(known, 0.5, method="lower")
    for end in ends[ends < known.max()].tolist():
        cut = round_cut(end)
        for sign, mask in (("<=", values <= cut), (">", values > cut)):
            label = f"{name}{sign}{field.text(cut)}"
            yield Condition(label, name, np.asarray(mask), crossed=bool(end == middle))


def conditions_of_words(split: Split, direction: str) -> list[Condition]:
    """Return the most frequent words of captions; an image has those of all its captions."""
    return _conditions_of_labels(WORD, query_words(split, direction))


def frequent_words(split: Split, direction: str, mask: Mask, count: int) -> list[str]:
    """Return the words that tell a slice from the rest, the clearest first: by the difference between the
    shares of queries that hold them, over its standard error.

    Args:
        split: whose captions; an image holds the words of all its captions.
        direction: of the queries.
        mask: ``(Q,)`` the slice.
        count: words at most.
    """
    conditions = conditions_of_words(split, direction)
    inside = np.array([condition.mask[mask].mean() for condition in conditions])
    outside = np.array([condition.mask[~mask].mean() for condition in conditions])
    share = np.array([condition.mask.mean() for condition in conditions])
    spread = np.sqrt(share * (1 - share))
    clear = np.divide(inside - outside, spread, out=np.zeros(len(share)), where=spread > 0)
    order = np.argsort(-clear, kind="stable")[:count]
    return [conditions[row].label.removeprefix(f"{WORD}=") for row in order.tolist() if clear[row] > 0]


def conditions_of_graphs(split: Split, direction: str) -> list[Condition]:
    """Return what images show, where the data know their graphs."""
    return _conditions_of_labels(SHOWS, query_contents(split, direction))


def _conditions_of_labels(field: str, of_queries: Sequence[set[str]]) -> list[Condition]:
    """Return a condition for each of the most frequent labels that queries may have several of."""
    counts = Counter[str]()
    for labels in of_queries:
        counts.update(labels)
    order = sorted(counts, key=lambda label: (-counts[label], label))[:MOST_WORDS]
    number = {label: column for column, label in enumerate(order)}
    masks = np.zeros((len(order), len(of_queries)), dtype=bool)
    for row, labels in enumerate(of_queries):
        masks[[number[label] for label in labels if label in number], row] = True
    conditions = []
    for label, mask in zip(order, masks, strict=True):
        share = counts[label] / max(1, len(of_queries))
        conditions.append(Condition(f"{field}={label}", field, mask, crossed=FREQUENT <= share <= 0.5))
    return conditions


def combine(
    conditions: Sequence[Condition], image_rows: Rows, *, minimum: int = MINIMUM, pairs: bool = True
) -> Candidates:
    """Return the slices of some conditions, and of pairs of them.

    Args:
        conditions: that cut the queries.
        image_rows: ``(Q,)`` image of each query.
        minimum: images that a slice and its rest have at least.
        pairs: also cross conditions of two fields; the largest 2,000 of these slices are taken, of those that
            are a part of either condition's queries and no more.
    """
    size = (len(image_rows), int(image_rows.max(initial=-1)) + 1)
    belongs = sparse.csr_array((np.ones(size[0]), (np.arange(size[0]), image_rows)), shape=size)
    every = np.array([condition.mask for condition in conditions], dtype=bool).reshape(-1, size[0])
    large = _large_enough(every, belongs, minimum)
    chosen = _distinct_rows([row for row in range(len(conditions)) if large[row]], every)
    masks = every[chosen]
    labels: list[tuple[str, ...]] = [(conditions[row].label,) for row in chosen]
    parents: list[tuple[int, ...]] = [()] * len(chosen)
    if pairs:
        crossed = _crossed_pairs([conditions[row] for row in chosen], masks, belongs, minimum)
        labels += [(*labels[first], *labels[second]) for first, second in crossed]
        parents += crossed
        masks = np.concatenate([masks, *[masks[[a]] & masks[[b]] for a, b in crossed]])
    return Candidates(labels, masks, parents, minimum)


def _large_enough(masks: Mask, belongs: sparse.csr_array, minimum: int) -> Mask:
    """Return ``(C,)`` whether a slice and its rest have enough images."""
    inside = (masks.astype(np.float64) @ belongs > 0).sum(axis=1)
    outside = ((~masks).astype(np.float64) @ belongs > 0).sum(axis=1)
    return np.asarray((inside >= minimum) & (outside >= minimum))


def _distinct_rows(rows: Sequence[int], masks: Mask) -> list[int]:
    """Return one row of those that cut the queries alike: of two sides the smaller one, else the first."""
    chosen: dict[bytes, int] = {}
    for row in rows:
        mask = masks[row]
        same = np.packbits(mask ^ mask[0]).tobytes()
        first = chosen.setdefault(same, row)
        if mask.sum() < masks[first].sum():
            chosen[same] = row
    return sorted(chosen.values())


def _crossed_pairs(
    conditions: Sequence[Condition], masks: Mask, belongs: sparse.csr_array, minimum: int
) -> list[tuple[int, ...]]:
    """Return the pairs of conditions that are crossed, the largest first."""
    rows = [row for row, condition in enumerate(conditions) if condition.crossed]
    sized: list[tuple[int, tuple[int, int]]] = []
    for first, second in combinations(rows, 2):
        if conditions[first].field == conditions[second].field:
            continue
        queries = _parts_of_pair(masks, first, second).sum(axis=1)
        if (queries >= minimum).all():
            sized.append((int(queries[0]), (first, second)))
    sized.sort(key=lambda pair: (-pair[0], pair[1]))
    chosen: list[tuple[int, ...]] = []
    for _, pair in sized:
        parts = _parts_of_pair(masks, *pair)
        if ((parts.astype(np.float64) @ belongs > 0).sum(axis=1) >= minimum).all():
            chosen.append(pair)
        if len(chosen) == MOST_PAIRS:
            break
    return chosen


def _parts_of_pair(masks: Mask, first: int, second: int) -> Mask:
    """Return ``(3, Q)`` the queries of both conditions, of the first alone, and of the second alone."""
    both = masks[first] & masks[second]
    return np.stack([both, masks[first] & ~both, masks[second] & ~both])
