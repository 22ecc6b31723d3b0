"""One gallery of images with several sets of captions: a language each, or texts cut at several lengths.

Images are encoded once. Every set of captions has R@K of its own. Languages together have the mean over them,
whose interval draws images, each with its captions in all languages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

import workbench as wb
from benchmark_sets.declaration import declaration
from workbench.cli.output import align_columns
from workbench.data import load
from workbench.formatting import format_count
from workbench.metrics.declared import MeanOfKinds, draws_of_units
from workbench.metrics.evaluation import Evidence, walk
from workbench.metrics.intervals import ROUNDS, UNIT
from workbench.metrics.recall import HitRate
from workbench.metrics.reporting import report_number
from workbench.records import Measurement, MetricKey, Rows, Split, Values, require
from workbench.records.measurement import measurement_row

MEAN = "mean"
DEPTHS = (1, 5, 10)
# words, and tokens of CLIP, that are kept of long texts
TOKENS = (10, 20, 40, 77, 154, 248)
# tokens that CLIP puts around a text
AROUND = 2


@dataclass(frozen=True)
class Variant:
    """The numbers of one set of captions.

    Args:
        name: of the set, such as a language.
        measurements: R@K of both directions.
        note: how many of its captions the model cuts; empty = none.
        by_image: label -> ``(I,)`` what each image adds to the number, where all images have equally many
            captions, so that the number is the mean over images.
    """

    name: str
    measurements: Sequence[Measurement]
    note: str = ""
    by_image: Mapping[str, Values] = field(default_factory=dict)


def languages_of(name: str, root: str | None, chosen: Sequence[str]) -> dict[str, Split]:
    """Load a benchmark in several languages.

    Args:
        name: of a benchmark with languages.
        root: folder of its files; ``None`` looks below ``WORKBENCH_DATA``.
        chosen: languages; empty = all whose files are there.

    Raises:
        KeyError: no such benchmark.
        ValueError: it has no languages.
        FileNotFoundError: the files of a language that was chosen are missing, or those of all.
    """
    declared = declaration(name)
    require(declared.languages, f"{name} has captions in one language; evaluate it with `workbench evaluate`")
    splits: dict[str, Split] = {}
    missing: FileNotFoundError | None = None
    for language in chosen or declared.languages:
        try:
            splits[language] = load(f"benchmark_sets.sets:{name}", root=root, language=language)
        except FileNotFoundError as error:
            if chosen:
                raise
            missing = error
    if missing is not None and not splits:
        raise missing
    return splits


def lengths_of(
    name: str, root: str | None, tokens: Sequence[int] = (), words: Sequence[int] = ()
) -> dict[str, Split]:
    """Return the captions of data by their beginnings, see ``cut_to_tokens`` and ``cut_captions``.

    Args:
        name: of data, or a path.
        root: their folder; ``None`` = below ``WORKBENCH_DATA``.
        tokens: numbers of tokens; ``TOKENS`` where neither these nor words are given.
        words: numbers of words, in place of tokens.

    Raises:
        ValueError: both are given.
    """
    require(not (words and tokens), "give --tokens or --words, not both")
    split = wb.load_data(name, **({"root": root} if root else {}))
    return cut_captions(split, words) if words else cut_to_tokens(split, tokens or TOKENS)


def cut_captions(split: Split, lengths: Sequence[int]) -> dict[str, Split]:
    """Return a split with the first words of its captions, for several numbers of words, and as it is.

    Args:
        split: any.
        lengths: numbers of words.
    """
    words = [caption.split() for caption in split.captions]
    longest = max(map(len, words))
    splits = {}
    for length in sorted(set(lengths)):
        if 0 < length < longest:
            captions = tuple(" ".join(text[:length]) for text in words)
            splits[f"{length} words"] = replace(split, captions=captions)
    return {**splits, f"all, up to {longest}": split}


def cut_to_tokens(split: Split, lengths: Sequence[int]) -> dict[str, Split]:
    """Return a split with the beginnings of its captions, for several numbers of tokens, and as it is.

    Tokens are those of CLIP, start and end included, so that every model is given the same texts: of each
    caption the first whole words that have so many tokens at most, and its first word at least.

    Args:
        split: any.
        lengths: numbers of tokens, such as 77, which CLIP reads.
    """
    ends = _ends_of_words(split.captions)
    longest = max(int(text[-1]) for text in ends)
    splits = {}
    for length in sorted(set(lengths)):
        if length < longest:
            captions = []
            for caption, text in zip(split.captions, ends, strict=True):
                keep = max(1, int(np.searchsorted(text, length, side="right")))
                captions.append(" ".join(caption.split()[:keep]))
            splits[f"{length} tokens"] = replace(split, captions=tuple(captions))
    return {**splits, f"all, up to {longest} tokens": split}


def _ends_of_words(captions: Sequence[str]) -> list[Rows]:
    """Return of each caption how many tokens it has up to the end of each word."""
    import open_clip  # slow to import

    encode = cache(open_clip.SimpleTokenizer().encode)
    return [AROUND + np.cumsum([len(encode(word)) for word in caption.split()]) for caption in captions]


def measure_variants(
    model: Any, splits: Mapping[str, Split], *, mean: bool = False, rounds: int = ROUNDS
) -> list[Variant]:
    """Measure a model on several sets of captions of the same images.

    Args:
        model: of ``open_model``.
        splits: by the name of the set.
        mean: add the mean over the sets.
        rounds: bootstrap rounds, which draw images; 0 = no intervals.

    Returns:
        A variant for each set, and the mean over them.

    Raises:
        ValueError: two sets are of other images.
    """
    first = next(iter(splits.values()))
    image = model.embed_images_of(model.source(first))
    variants = []
    columns: dict[str, list[tuple[Values, Rows]]] = {}
    for name, split in splits.items():
        require(split.image_ids == first.image_ids, f"{name} is of other images than {next(iter(splits))}")
        source = model.source(split)
        scores = model.scores(image, model.embed_texts(split.captions))
        evidence = Evidence(scores, split.judgements["own"], split.own)
        measurements = []
        by_image: dict[str, Values] = {}
        for number, values in walk(evidence, [HitRate(ks=DEPTHS)], rounds=rounds):
            measurements.append(number)
            rows = np.arange(len(first.image_ids)) if number.key.direction == "i2t" else split.own
            columns.setdefault(number.label, []).append((values, rows))
            counts = np.bincount(rows)
            if len(set(counts.tolist())) == 1:
                by_image[number.label] = np.bincount(rows, values) / counts
        cut, most = model.count_truncated(source)
        note = f"{name}: {format_count(cut, 'caption')} cut at {most} tokens" if cut else ""
        variants.append(Variant(name, measurements, note, by_image))
    if mean and len(variants) > 1:
        numbers = [
            _mean(label, sets, _mean_chance(variants, label), rounds) for label, sets in columns.items()
        ]
        variants.append(Variant(MEAN, numbers, by_image=_mean_by_image(variants)))
    return variants


def _mean_by_image(variants: Sequence[Variant]) -> dict[str, Values]:
    """Return the mean over sets of captions of what each image adds, where all sets have it."""
    labels = set.intersection(*(set(variant.by_image) for variant in variants))
    shared = [label for label in variants[0].by_image if label in labels]
    return {label: np.mean([variant.by_image[label] for variant in variants], axis=0) for label in shared}


def _mean_chance(variants: Sequence[Variant], label: str) -> float:
    """Return the mean over sets of captions of what chance reaches; NaN = it is not known of one."""
    chances: list[float | None] = []
    for variant in variants:
        chances += [number.chance for number in variant.measurements if number.label == label]
    return float(np.mean(np.array(chances, dtype=np.float64)))


def _mean(label: str, sets: Sequence[tuple[Values, Rows]], chance: float, rounds: int) -> Measurement:
    """Return the mean over sets of captions."""
    values, rows = (np.concatenate(column) for column in zip(*sets, strict=True))
    number_of_set = np.repeat(np.arange(len(sets)), [len(column) for column, _ in sets])
    row = MeanOfKinds([np.where(number_of_set == n, values, np.nan) for n in range(len(sets))])
    key = MetricKey.parse(label)
    row.name, row.hit = (
        key.metric,
        f"at least one relevant item among the {key.k} best; mean over sets of captions",
    )
    draws = draws_of_units(rows, UNIT, rounds)
    return report_number(row, replace(key, subset=MEAN), values, "", draws, 0, chance)


def table_lines(variants: Sequence[Variant], depths: Sequence[int] = DEPTHS[:1]) -> list[str]:
    """Return a row for each set of captions, with R@K of both directions and what chance reaches, in percent;
    what intervals draw, and how many captions are cut.
    """
    labels = [str(MetricKey("R", way, k=k)) for way in ("i2t", "t2i") for k in depths]
    rows = [["captions"]]
    for label in labels:
        rows[0] += [label, "chance"]
    for variant in variants:
        cells = {}
        for number in variant.measurements:
            row = measurement_row(number.label, number.as_dict())
            cells[str(replace(number.key, subset=""))] = [row["value"], row["chance"]]
        rows.append([variant.name])
        for label in labels:
            rows[-1] += cells[label]
    lines = align_columns(rows)
    if any(number.low is not None for number in variants[0].measurements):
        lines.append(f"intervals draw {UNIT}")
    return [*lines, *(variant.note for variant in variants if variant.note)]
