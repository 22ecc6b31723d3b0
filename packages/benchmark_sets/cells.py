"""The benchmarks of a suite: how each kind is named, loaded, and measured into a run folder.

A cell is one model on one benchmark. It is measured as the single command measures it, so that its numbers
are the same: ``evaluate``, ``classify``, ``compose``, ``languages`` or ``lengths``.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import workbench as wb
from benchmark_sets import classes, classification, composed, declaration, variants
from workbench.io import json_value, write_json
from workbench.metrics.declared import MEAN_OF_KINDS
from workbench.records import Measurement, MetricKey, Split, Values, require
from workbench.registry import check_options, require_known
from workbench.runs import store
from workbench.runs.build import load_target
from workbench.runs.by_query import ByQuery, usual_numbers
from workbench.runs.model import Model
from workbench.runs.same_data import facts_of
from workbench.runs.target import Target

TABS = ("retrieval", "compositional", "languages", "long texts", "classification", "composed")
EVALUATE = "evaluate"


class Loaded(NamedTuple):
    """The data of a benchmark.

    Args:
        content: what its ``measure`` takes.
        splits: of which its numbers depend.
        tab: of the page that shows it.
    """

    content: Any
    splits: Sequence[Split]
    tab: str

    def identity(self) -> str:
        """Return what tells these data from others: a checksum of their ids, texts and images."""
        digest = hashlib.sha256()
        for split in self.splits:
            digest.update(f"{split.name}: {split.identity()}\n".encode())
        return digest.hexdigest()[:16]


class Kind(NamedTuple):
    """A kind of benchmarks.

    Args:
        load: options -> ``Loaded``; the first option is what the benchmark is named by.
        measure: ``(model, content, rounds, folder)``; writes the numbers into the folder.
        names: gives those of its data sets; ``None`` = they may be paths.
    """

    load: Callable[..., Loaded]
    measure: Callable[[Model, Any, int, Path], None]
    names: Callable[[], Sequence[str]] | None = None


@dataclass(frozen=True)
class Entry:
    """A benchmark of a suite.

    Args:
        name: how tables call it.
        kind: of ``KINDS``.
        options: of its kind.
    """

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Loaded:
        """Load its data.

        Raises:
            FileNotFoundError: they are not there; the message says where to get them.
        """
        return KINDS[self.kind].load(**self.options)

    def measure(self, model: Model, data: Loaded, rounds: int, folder: Path) -> None:
        """Measure a model on its data, and write the numbers into a run folder."""
        KINDS[self.kind].measure(model, data.content, rounds, folder)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        fields: dict[str, Any] = json_value({"kind": self.kind, **self.options}, self.name)
        return fields

    @property
    def tab(self) -> str:
        """Tab of the page, as far as the name says it without the data."""
        if self.kind != EVALUATE:
            return TAB_OF_KIND[self.kind]
        data = self.options["data"]
        return _tab_of_name(str(data.get("name", "") if isinstance(data, Mapping) else data))


def read_entry(named: str | Mapping[str, Any], folders: Mapping[str, str]) -> Entry:
    """Read a benchmark as a person names it.

    Args:
        named: a data set or a path, ``KIND:NAME`` for another kind than ``evaluate``; or a mapping of
            ``kind``, ``name`` and the options of the kind.
        folders: by the name of a data set, where its files are.

    Raises:
        KeyError: no such kind or data set.
        TypeError, ValueError: an option that the kind does not have.
    """
    if isinstance(named, str):
        kind, _, rest = named.partition(":")
        kind, rest = (kind, rest) if kind in KINDS else (EVALUATE, named)
        require(rest, f"benchmark {named!r} names no data; write {kind}:NAME")
        options: dict[str, Any] = {_first_option(kind): rest}
        name = ""
    else:
        options = dict(named)
        kind, name = options.pop("kind", EVALUATE), str(options.pop("name", ""))
        require_known("no kind of benchmark", kind, KINDS)
        first = _first_option(kind)
        require(first in options, f"benchmark {dict(named)!r:.100} names no data; give {first}")
    data = options[_first_option(kind)]
    data = data.get("name", "") if isinstance(data, Mapping) else data
    title = Path(str(data)).name
    if title in folders:
        options = _with_root(kind, options, folders[title])
    prefix = "" if kind == EVALUATE else f"{kind}-"
    entry = Entry(name or f"{prefix}{title}", kind, options)
    names = KINDS[kind].names
    if names is not None:
        require_known(f"{kind}: no data", str(data), names())
    check_options(f"benchmark {entry.name!r}", KINDS[kind].load, options)
    if kind == EVALUATE:
        with suppress(FileNotFoundError):  # which its cells say
            Target(**options)
    return entry


def _first_option(kind: str) -> str:
    """Return the option by which a benchmark of a kind is named."""
    return "folder" if kind == "classify" else "data"


def _with_root(kind: str, options: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return options with the folder of the data."""
    if kind == EVALUATE:
        data = options["data"]
        fields = dict(data) if isinstance(data, Mapping) else {"name": data}
        return {**options, "data": {**fields, "root": folder}}
    return {**options, "folder": folder}


def _tab_of_name(name: str) -> str:
    """Return the tab of a declared benchmark; of any other data that of retrieval."""
    if name not in declaration.names():
        return TABS[0]
    declared = declaration.declaration(name)
    if declared.task == "comparisons":
        return "compositional"
    if declared.languages:
        return "languages"
    return "long texts" if declared.long_texts else TABS[0]


def _load_data(data: str | dict[str, Any], split: str = "", images: int = 0) -> Loaded:
    """Load data that ``evaluate`` measures."""
    target = Target(data=data, split=split, images=images)
    part = load_target(None, target)
    tab = _tab_of_name(target.data.name)
    if part.benchmark is not None or part.counterfactuals:
        tab = "compositional"
    return Loaded(target, [part], tab)


def _evaluate(model: Model, target: Target, rounds: int, folder: Path) -> None:
    """Measure retrieval, or a benchmark by its own scores."""
    wb.evaluate(model, target, rounds=rounds).save(folder, over=True)


def _load_classes(folder: str, templates: str = "photo", classes_file: str = "", column: str = "") -> Loaded:
    """Load images of classes."""
    labelled = classes.read_labelled(folder, "test", classes.read_names(classes_file), column)
    return Loaded((labelled, classes.read_templates(templates)), [labelled.split], "classification")


def _classify(model: Model, content: Any, rounds: int, folder: Path) -> None:
    """Measure zero-shot classification."""
    labelled, templates = content
    result = classification.classify(model, labelled, templates, rounds=rounds)
    by_query = ByQuery.from_split(labelled.split, result.values)
    _write(folder, model, labelled.split, result.measurements, by_query, result.notes)


def _load_composed(data: str, folder: str = "") -> Loaded:
    """Load queries of an image and a text."""
    galleries = composed.load(data, folder or None)
    return Loaded(galleries, [gallery.split for gallery in galleries], "composed")


def _compose(model: Model, galleries: Sequence[composed.Gallery], rounds: int, folder: Path) -> None:
    """Measure queries of an image and a text."""
    numbers = composed.composed_numbers(model, galleries, rounds=rounds)
    first, units = galleries[0], composed.units_of(galleries)
    # a mean over several galleries is no mean over queries
    values = {number.label: by_query for number, by_query in numbers if len(galleries) == 1}
    queries = tuple(f"{number}: {query.text}" for number, query in enumerate(first.queries))
    references = np.array([query.reference for query in first.queries])
    by_query = ByQuery(first.split.image_ids, queries, references, values, drawn_with=units)
    _write(folder, model, first.split, [number for number, _ in numbers], by_query)


def _load_languages(data: str, folder: str = "", languages: list[str] | None = None) -> Loaded:
    """Load the captions of several languages."""
    splits = variants.languages_of(data, folder or None, languages or [])
    return Loaded((splits, True), list(splits.values()), "languages")


def _names_with_languages() -> list[str]:
    """Return the names of benchmarks that have captions in several languages."""
    return [name for name in declaration.names() if declaration.declaration(name).languages]


def _load_lengths(
    data: str, folder: str = "", words: list[int] | None = None, tokens: list[int] | None = None
) -> Loaded:
    """Load texts that are cut at several numbers of CLIP's tokens, or of words."""
    splits = variants.lengths_of(data, folder or None, tokens or (), words or ())
    return Loaded((splits, False), list(splits.values()), "long texts")


def _measure_variants(model: Model, content: Any, rounds: int, folder: Path) -> None:
    """Measure several sets of captions of the same images, and of languages their mean."""
    splits, mean = content
    measured = variants.measure_variants(model, splits, mean=mean, rounds=rounds)
    numbers: list[Measurement] = []
    values: dict[str, Values] = {}
    for variant in reversed(measured):
        for number in variant.measurements:
            key = replace(number.key, subset=variant.name)
            whole = str(replace(key, subset=""))
            numbers.append(replace(number, key=key))
            if whole in variant.by_image:
                values[str(key)] = variant.by_image[whole]
    split = next(iter(splits.values()))
    ids = split.image_ids
    by_query = ByQuery(ids, ids, np.arange(len(ids)), values, image_stamps=split.stamps())
    _write(folder, model, split, numbers, by_query, [variant.note for variant in measured if variant.note])


def _write(
    folder: Path,
    model: Model,
    split: Split,
    numbers: Sequence[Measurement],
    by_query: ByQuery,
    notes: Sequence[str] = (),
) -> None:
    """Write numbers as a run folder, which ``workbench ls`` and ``show`` read."""
    folder.mkdir(parents=True, exist_ok=True)
    contracts = {number.label: number.as_dict() for number in numbers}
    values = {label: contract.pop("value") for label, contract in contracts.items()}
    dataset = split.name.partition("/")[0]
    about = {"dataset": dataset, "model": model.title(), "split": facts_of(split)}
    write_json(folder / store.PARAMS, {"model": model.origin.get("model", model.name), "data": split.name})
    by_query.write(folder)
    measured = {"metrics": values, "contracts": contracts, "notes": list(notes)}
    store.write_results(folder, about | measured)
    store.write_status(folder, "ok")


def leading_numbers(labels: Sequence[str], tab: str) -> list[str]:
    """Choose the numbers of a benchmark that the page shows.

    Args:
        labels: of all its numbers.
        tab: of the page.

    >>> leading_numbers(["i2t/R@1[de]", "i2t/R@1[mean]", "i2t/R@5[mean]"], "languages")
    ['i2t/R@1[mean]']
    >>> leading_numbers(["R@10[sum]", "R@1[image]", "R@1[sum]"], "composed")
    ['R@1[sum]', 'R@10[sum]']
    """
    keys = {label: MetricKey.parse(label) for label in labels}
    ordered = sorted(labels, key=lambda label: keys[label].k or 0)
    if tab == "composed":
        return [label for label in ordered if keys[label].subset == "sum"][:3]
    if tab == "classification":
        return ordered
    if tab == "compositional":
        return _scores_of_all(labels) or ordered[:4]
    if any(not key.subset for key in keys.values()):
        return usual_numbers([label for label, key in keys.items() if not key.subset])
    sets = {key.subset for key in keys.values()}
    # the mean over languages, or the complete texts
    whole = [name for name in sets if name == variants.MEAN or name.startswith("all, ")] or sorted(sets)[:1]
    return [label for label in ordered if keys[label].subset == whole[0] and keys[label].k == 1]


def _scores_of_all(labels: Sequence[str]) -> list[str]:
    """Return the scores of a compositional benchmark, of a single score its mean over kinds too; and the
    accuracies on counterfactual captions.
    """
    keys = {label: MetricKey.parse(label) for label in labels}
    accuracies = [label for label, key in keys.items() if key.metric == "counterfactual_accuracy"]
    scores = {label: key for label, key in keys.items() if key.metric not in NO_SCORES}
    whole = [label for label, key in scores.items() if not key.subset]
    means = [label for label, key in scores.items() if key.subset == MEAN_OF_KINDS]
    return accuracies or whole + means * (len(whole) == 1)


# of counterfactual captions, which are no gallery
NO_SCORES = ("R", "rsum", "recall", "map_at_r", "medr", "meanr")
TAB_OF_KIND = {
    "classify": "classification",
    "compose": "composed",
    "languages": "languages",
    "lengths": "long texts",
}
KINDS: dict[str, Kind] = {
    EVALUATE: Kind(_load_data, _evaluate),
    "classify": Kind(_load_classes, _classify),
    "compose": Kind(_load_composed, _compose, lambda: list(composed.LOADERS)),
    "languages": Kind(_load_languages, _measure_variants, _names_with_languages),
    "lengths": Kind(_load_lengths, _measure_variants),
}
