"""Claims about texts, parser and metrics alone: their values need no training, seconds at most.

Each is measured on ten groups of images, which take the place of seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from paper_tables import claims
from workbench import data, text
from workbench.metrics import load
from workbench.metrics.correlation import grades_at_pairs, pearson, spearman
from workbench.metrics.grades import Lists
from workbench.records import Array, Rows, Split, Values
from workbench.text.words import words

GROUPS = 10
TAU = 6.0  # divisor of DITM's margins, as printed
READINGS = ("l2_sum", "printed")  # of descriptiveness
# ends the name of a reading that compares captions with equally many words alone
EQUAL_WORDS = ", equal words"
FEWEST = 20  # captions of a length, of a group of images, among which anything is compared
Found = Iterator[tuple[str, dict[str, Values]]]


def measure_claims() -> list[dict[str, Any]]:
    """Return a line of the ledger for every reading of every claim without training, where the data are
    there.
    """
    lines = []
    for claim in claims.load_claims().values():
        for where in claim.data if claim.text else "":
            options = {"texts": "chains"} if (claim.text, where) == ("levels", "W") else {}
            try:
                split = data.load(claims.PLACES[where], split="test", **options)
                measured = list(MEASURES[claim.text or ""](split))
            except FileNotFoundError:  # photographs that this machine lacks
                continue
            about = {"source": split.fingerprint(), "seconds": None}
            lines += [
                claims.line_of(claim, where, reading[0], "no training", reading[1], **about)
                for reading in measured
            ]
    return lines


def levels(split: Split) -> Found:
    """Yield Kendall's tau of descriptiveness and level, a chain at a time; and of other captions with equally
    many words, where length cannot decide.
    """
    assert split.level is not None  # the data have chains
    level = split.level.reshape(-1, split.level.max())
    for reading, delta in _descriptiveness_by_reading(split, split):
        chains = Lists(delta.reshape(level.shape), level)
        yield reading, {"more": _group_means(load("kendall_tau").per_query(chains))}
    other = data.load("scenes", split="test") if split.name.startswith("scenes") else split
    assert other.level is not None
    for reading, delta in _descriptiveness_by_reading(other, other):
        yield (
            f"{reading}{EQUAL_WORDS}",
            {"more": _agreement_at_equal_words(other, delta, other.level, _kendall)},
        )


def margins(split: Split) -> Found:
    """Yield the margin of an image against true captions that are not its own, and against false ones; the
    part of its own caption is the same in both.
    """
    true = split.judgements["exact"].dense() > 0
    own = split.own == np.arange(len(true))[:, None]
    for reading, delta in _descriptiveness_by_reading(data.load("scenes", split="train", size=1000), split):
        masked = [np.where(mask, delta, np.nan) / TAU for mask in (true & ~own, ~true)]
        # a caption that is true of nobody else tells nothing
        seen = (true & ~own).any(axis=1)
        more, less = (np.nanmean(part[seen], axis=1) for part in masked)
        yield reading, {"more": _group_means(more), "less": _group_means(less)}
        sides = _means_at_equal_words(split, delta / TAU, true & ~own, ~true)
        yield f"{reading}{EQUAL_WORDS}", dict(zip(("more", "less"), sides, strict=True))


def _means_at_equal_words(split: Split, values: Values, more: Array, less: Array) -> tuple[Values, Values]:
    """Return, by group of images, the mean of captions' values over two sets of pairs, ``(I, T)`` masks: each
    length of captions by itself, and these by how many pairs the first set has.
    """
    length, sides = word_counts(split.captions), []
    for rows in np.array_split(np.arange(len(more)), GROUPS):
        # pairs of each length, and the sum of their values, of both sets
        pairs = [np.bincount(length, mask[rows].sum(axis=0)) for mask in (more, less)]
        sums = [np.bincount(length, mask[rows].sum(axis=0) * values) for mask in (more, less)]
        there = (pairs[0] > 0) & (pairs[1] > 0)
        means = [total[there] / count[there] for total, count in zip(sums, pairs, strict=True)]
        sides.append([np.average(mean, weights=pairs[0][there]) for mean in means])
    first, second = np.array(sides).T
    return first, second


def _agreement_at_equal_words(
    split: Split, values: Values, other: Array, measure: Callable[[Values, Array], float]
) -> Values:
    """Return, by group of images, how values of captions go with other ones, among captions with equally many
    words: the mean over lengths, by how many captions have them.
    """
    length, by_group = word_counts(split.captions), []
    group = split.own * GROUPS // len(split.image_ids)
    for number in range(GROUPS):
        numbers, captions = [], []
        for count in np.unique(length):
            rows = np.flatnonzero((group == number) & (length == count))
            if len(rows) >= FEWEST and min(np.ptp(values[rows]), np.ptp(other[rows])) > 0:
                numbers.append(measure(values[rows], other[rows]))
                captions.append(len(rows))
        by_group.append(np.average(numbers, weights=captions))
    return np.array(by_group)


def word_counts(captions: Sequence[str]) -> Rows:
    """Return ``(T,)`` words of each caption."""
    return np.array([len(words(caption)) for caption in captions])


def _kendall(values: Values, other: Array) -> float:
    return float(kendalltau(values, other).statistic)


def generality(split: Split) -> Found:
    """Return Spearman's correlation of descriptiveness and the number of images that a caption is true of."""
    images = (split.judgements["exact"].dense() > 0).sum(axis=0)
    for reading, delta in _descriptiveness_by_reading(data.load("scenes", split="train", size=1000), split):
        rows = np.array_split(np.arange(len(delta)), GROUPS)
        yield reading, {"more": np.array([spearman(delta[group], images[group]) for group in rows])}
        yield f"{reading}{EQUAL_WORDS}", {"more": _agreement_at_equal_words(split, delta, images, spearman)}


def widths(split: Split) -> Found:
    """Yield the range of the middle nine tenths of descriptiveness, of HierarCaps and of these captions."""
    both = (data.load("hierarcaps", split="test"), split)
    for (reading, more), (_, less) in zip(
        *(_descriptiveness_by_reading(captions, captions) for captions in both), strict=True
    ):
        ranges = [_middle_ranges(values) for values in (more, less)]
        yield reading, dict(zip(("more", "less"), ranges, strict=True))


def _middle_ranges(values: Values) -> Values:
    """Return the range of the middle nine tenths, by group."""
    return np.array([np.ptp(np.quantile(group, (0.05, 0.95))) for group in np.array_split(values, GROUPS)])


def graphs(split: Split) -> Found:
    """Return percent of captions without a graph, beside the one percent that is called rare."""
    lacking = np.zeros(len(split.captions))
    lacking[text.load("scene_graph").transform(split.captions).fallbacks] = 100.0
    yield "captions without a graph", {"more": _group_means(lacking), "less": np.ones(GROUPS)}


def people(split: Split, *, unlabelled: bool = False) -> Found:
    """Return Pearson's correlation of CIDEr with people, and that of the labels; ``unlabelled`` takes pairs
    that no label names, of which the labels say nothing.
    """
    rated, own = split.judgements["human"], split.judgements["own"]
    judge = text.load("cider").fit(split.captions, split.own).transform(split.captions, split.own)
    scored, labelled = (grades_at_pairs(judgements, rated) for judgements in (judge, own))
    counted = labelled == 0 if unlabelled else np.ones(len(labelled), bool)
    groups = [counted & (rated.images * GROUPS // rated.shape[0] == group) for group in range(GROUPS)]
    sides = {"more": scored} if unlabelled else {"more": scored, "less": labelled}
    agree = {}
    for name, grades in sides.items():
        agree[name] = np.array([pearson(grades[rows], rated.grades[rows]) for rows in groups])
    yield "CIDEr", agree


MEASURES: dict[str, Callable[[Split], Found]] = {
    "levels": levels,
    "margins": margins,
    "generality": generality,
    "widths": widths,
    "graphs": graphs,
    "people": people,
    "people_unlabelled": partial(people, unlabelled=True),
}


def _descriptiveness_by_reading(pool: Split, split: Split) -> Iterator[tuple[str, Values]]:
    """Yield descriptiveness of each caption, ``(T,)``, by reading."""
    for reading in READINGS:
        yield (
            reading,
            text.load("descriptiveness", scorer=reading).fit(pool.captions).transform(split.captions).values,
        )


def _group_means(values: Values) -> Values:
    return np.array([group.mean() for group in np.array_split(values, GROUPS)])
