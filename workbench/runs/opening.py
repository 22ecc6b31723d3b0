"""Opens runs that lie on disk. Each is held against its data, and several stand on the same rows."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from workbench.formatting import format_count
from workbench.io import ChecksumError
from workbench.progress import Task
from workbench.records import Embedding, Measurement, Split, require
from workbench.records.benchmark import Benchmark
from workbench.records.measurement import contracts_of
from workbench.registry import check_arguments, class_of
from workbench.runs import store as runs
from workbench.runs.build import load_split, load_target
from workbench.runs.by_query import ByQuery
from workbench.runs.caption_tables import split_of_table
from workbench.runs.config import Config
from workbench.runs.encoder_model import EncoderModel
from workbench.runs.kinds import Evaluation, Training, read_kind
from workbench.runs.models import SHIPPED as MODEL
from workbench.runs.models import find_run_folder, load_model, read_config
from workbench.runs.qrels import with_ground_truth
from workbench.runs.rerank import Reranked
from workbench.runs.result import Contents, Result
from workbench.runs.same_data import differing_facts, facts_of
from workbench.runs.scores import SavedScores, checked_file
from workbench.runs.spellings import typed_settings
from workbench.runs.store import BARE, verify_files
from workbench.runs.target import Target
from workbench.runs.vector_parts import unpack_vectors
from workbench.runs.vectors import frozen_vectors
from workbench.runs.ways import TwoWays
from workbench.runs.weights import name_with_note

# a name says no more settings than these
MOST_DIFFER = 2
# the small model of the package, as if it had been evaluated
SHIPPED = Evaluation(name="shipped encoder", model=MODEL, pretrained=MODEL, data="scenes")


@check_arguments("open_runs")
def open_runs(
    names: Sequence[str | Path] | str | Path = (),
    *,
    root: str = "runs",
    images: int = 0,
    on: Mapping[str, Any] | None = None,
) -> list[Result]:
    """Open several runs to look at them side by side.

    Args:
        names: one or several run folders, or run ids below ``root``; ``""`` is the shipped encoder of the
            embedded world, and no name at all is that one alone. The folder of an evaluation is one
            too, also that of a run on other data, ``RUN/evaluations/NAME``.
        root: where runs lie.
        images: the first so many images of the test split; 0 = all that the run was measured on.
        on: other data to open the runs on, the fields of a ``Target``, e.g. ``{"data": "cxc"}``; none = their
            own test split.

    Returns:
        One opened run each, with the name that it was given, else called after its objective; where one comes
        twice, by what differs or the run id as well. Runs of one data set share one split.

    Raises:
        FileNotFoundError: no such run; one without a checkpoint raises it when its model is asked for.
        ValueError: the runs were measured on different images or captions, or cannot read the other data.
    """
    target, opened = Target(**on) if on else None, []
    names = [names] if isinstance(names, str | Path | Result) else names or ("",)
    for name in names:
        lead = f"{class_of(name)} is no name of a run"
        require(isinstance(name, str | Path), f"{lead}; give folders or names, a result is open", TypeError)
    with Task("opening", len(names), "runs") as task:
        for name in names:
            opened.append(_open_run(str(name), root, images, target))
            task.update()
    return share_split(opened)


def open_results(result: Any) -> list[Result]:
    """Read what names results: a run folder, an open run, or several.

    Args:
        result: any of them.

    Raises:
        TypeError: something that is no result, such as a model that was not evaluated.
    """
    if isinstance(result, str | Path):
        return open_runs(result)
    if isinstance(result, list | tuple):
        every: list[Result] = []
        for part in result:
            every += open_results(part)
        return every
    require_results(result)
    return [result]


def require_results(*results: Any) -> None:
    """Raise if something is no result, such as a model that was not evaluated.

    Raises:
        TypeError: the message names its class, and says how a result is made.
    """
    for result in results:
        require(
            isinstance(result, Result),
            f"{class_of(result)} is no result; evaluate a model first, result = wb.evaluate(model, data), or "
            "give what train() or open_runs() returns",
            TypeError,
        )


def share_split(opened: Sequence[Result]) -> list[Result]:
    """Return runs of the same images and captions under one split, that of the first that knows them by more
    than their rows, and under names that tell them apart.

    Raises:
        ValueError: they were measured on different images or captions, or on captions of other images.
    """
    known = next((run.split for run in opened if not _has_row_numbers(run.split)), opened[0].split)
    for run in opened:
        require_same_rows(f"{opened[0].name} and {run.name} were measured on", known, run.split)
    names = _distinct_names(opened)
    notes: list[str] = []
    for run in opened:
        notes += run.split.notes
    notes += describe_differences(opened, names)
    known = replace(known, notes=tuple(dict.fromkeys(notes)))
    return [replace(run, split=known, name=name) for run, name in zip(opened, names, strict=True)]


def require_same_rows(both: str, known: Split, other: Split) -> None:
    """Raise if two splits have other ids, or if captions of one belong to other images in the other.

    Args:
        both: the beginning of the message, which names them.
        known: one of them.
        other: the other.

    Raises:
        ValueError: the message says how they differ.
    """
    if known is other:
        return
    parts = differing_facts(facts_of(known, "ids", "own"), facts_of(other, "ids", "own"))
    sizes = (len(known.image_ids), len(known.own)), (len(other.image_ids), len(other.own))
    # rows of vectors without ids are those of the other
    if "ids" in parts and not (sizes[0] == sizes[1] and _has_row_numbers(other)):
        turned = sorted(other.image_ids) == sorted(known.image_ids)
        turned &= sorted(other.caption_ids) == sorted(known.caption_ids)
        if turned:
            raise ValueError(f"{both} the same images and captions in another order; give both in one order")
        shared = format_count(len(set(known.image_ids) & set(other.image_ids)), "image")
        raise ValueError(
            f"{both} different images or captions ({_describe_size(known)}; {_describe_size(other)}; "
            f"{shared} in both); evaluate one of them again on the data and split of the other"
        )
    for row in np.flatnonzero(other.own != known.own)[:1]:
        images = known.image_ids[known.own[row]], known.image_ids[other.own[row]]
        raise ValueError(
            f"{both} different pairs: caption {known.caption_ids[row]!r} belongs to image {images[0]!r} in "
            f"one and to {images[1]!r} in the other; give both in one order, or vectors with ids"
        )


def _describe_size(split: Split) -> str:
    images, captions = format_count(len(split.image_ids), "image"), format_count(len(split.own), "caption")
    return f"{split.name}: {images}, {captions}"


def _has_row_numbers(split: Split) -> bool:
    """Return whether a split is that of vectors without ids, which have the numbers of their rows instead."""
    rows = (tuple(map(str, range(len(ids)))) for ids in (split.image_ids, split.caption_ids))
    return split.name == BARE and (split.image_ids, split.caption_ids) == tuple(rows)


def describe_differences(opened: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Return what differs between runs of the same rows, as notes: texts of captions, content of images,
    judgements, threads.

    Args:
        opened: the runs, each with the split that it was measured on.
        names: what the notes call them.
    """
    pairs = [(run, name) for run, name in zip(opened, names, strict=True) if run.split.name != BARE]
    notes: list[str] = []
    for run, name in pairs[1:]:
        notes += _read_differences(*pairs[0], run, name)
    threads = {name: run.threads for run, name in zip(opened, names, strict=True) if run.threads}
    if len({*threads.values()}) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in threads.items())
        notes.append(f"computed with different numbers of threads, by which alone numbers differ: {counts}")
    return notes


def _read_differences(first: Result, name: str, other: Result, other_name: str) -> Iterator[str]:
    if first.split is other.split:
        return
    texts = zip(first.split.captions, other.split.captions, strict=True)
    differ = [row for row, (before, now) in enumerate(texts) if before != now]
    if differ:
        count, example = format_count(len(differ), "caption"), first.split.caption_ids[differ[0]]
        yield f"{other_name} read {count} with another text than {name}, first {example!r}"
    stamps = zip(first.split.stamps().tolist(), other.split.stamps().tolist(), strict=True)
    # 0 is not known, as of images that are not there
    differ = [row for row, (before, now) in enumerate(stamps) if before != now and before and now]
    if differ:
        count, example = format_count(len(differ), "image"), first.split.image_ids[differ[0]]
        yield f"{other_name} has {count} with another content than {name}, first {example!r}"
    if lacking := sorted(set(first.split.judgements) ^ set(other.split.judgements)):
        yield f"{name} and {other_name} differ in their judgements: {', '.join(lacking)}"


def _distinct_names(opened: Sequence[Result]) -> list[str]:
    """Return names that tell open runs apart: by what differs, by the folder, else by their numbers."""
    names = []
    for number, run in enumerate(opened, 1):
        own = typed_settings(run.config)
        alike = [
            _differing_fields(own, typed_settings(other.config)) for other in opened if other.name == run.name
        ]
        different = set[str]().union(*alike)
        differ = [field for field in own if field in different]
        if len(alike) == 1:
            ending = ""
        elif alike.count([]) == 1 and 0 < len(differ) <= MOST_DIFFER:
            ending = "".join(f", {field}={own[field]}" for field in differ)
        elif run.folder:
            ending = f" {run.folder.name}"
        else:
            ending = f" {number}"
        names.append(run.name + ending)
    counts = Counter(names)
    for row, name in enumerate(names):
        if counts[name] > 1:
            names[row] = f"{name} ({row + 1})"
    return names


def _differing_fields(own: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the fields of a configuration that another one has otherwise."""
    # what a target holds stands under "data" as well
    fields = [field for field in own if not field.startswith("target")]
    return [field for field in fields if other.get(field) != own[field]]


def _open_run(name: str, root: str, images: int, target: Target | None) -> Result:
    run = runs.find(name, root) if name else None
    folder = run.folder if run else None
    kind = read_kind(folder) if folder else SHIPPED
    split, title = _reread_split(folder, kind, images, target)
    title = (run.about.name if run else "") or title
    if isinstance(kind, Evaluation) and kind.random_weights:
        title = name_with_note(title)
    if run is None or folder is None:
        load = cache(lambda: _run_contents(None, split))
        return Result(title, split, load, run=kind or SHIPPED, target=target)
    place = folder / runs.EVALUATIONS / target.name if target else folder
    results = run.evaluations.get(target.name, {}) if target else run.results
    by_query = ByQuery.read(place)
    split = _with_saved_units(split, by_query, images)
    changes = by_query.changes(split, part=bool(images)) if by_query else ""
    # vectors that came without their model cannot be made again
    without_model = isinstance(kind, Evaluation) and not kind.model
    read = split
    if changes:
        then = "its vectors are those of before" if without_model else "its numbers are computed anew"
        note = f"{title}: {split.name} has changed since it was measured: {changes}; {then}"
        read = _with_note(split, note)
    own = target is None and (without_model or not changes)
    load = cache(lambda: _run_contents(folder, read, own=own))
    opened = Result(
        title,
        read,
        load,
        folder,
        run=kind or Training(),
        history=run.results.get("history", ()),
        target=target,
        about=run.about,
    )
    # of a part of the images, other numbers are true
    if changes or by_query is None or not by_query.has_same_rows(split):
        return opened
    measured = [Measurement.from_contract(contract) for _, contract in contracts_of(results)]
    return replace(opened, measurements=measured, values=by_query.values, threads=results.get("threads", 0))


def _reread_split(
    folder: Path | None, kind: Training | Evaluation | None, images: int, target: Target | None
) -> tuple[Split, str]:
    """Return the split of a run, or of the shipped encoder, read from its data; and a title."""
    split, title = _read_data(folder, kind, images, target)
    if folder and not target and (folder / runs.QRELS).is_file():
        split = with_ground_truth(split, checked_file(folder, runs.QRELS), quiet=True)
    return split, title


def _read_data(
    folder: Path | None, kind: Training | Evaluation | None, images: int, target: Target | None
) -> tuple[Split, str]:
    """Return the split as its data have it, and a title."""
    if isinstance(kind, Evaluation):
        on = target or (Target(**kind.target) if kind.target else None)
        own = find_run_folder(kind.model) if kind.model else None
        config = read_config(own) if own and isinstance(read_kind(own), Training) else None
        if on is None and folder is not None:
            split = _saved_split(folder, kind.data)
            split = _split_of_training(config, kind.split, split) if config else split
            return split.first(images) if images else split, kind.name
        on = on or Target(data=kind.data)
        return load_target(config, on.model_copy(update={"images": images or on.images})), kind.name
    config = read_config(folder or Path())
    config = config.replace(test_images=images) if images else config
    if target:
        split = load_target(config, target.model_copy(update={"images": images or target.images}))
    else:
        split = load_split(config, "test")
    return split, config.objective.name


def _with_saved_units(split: Split, by_query: ByQuery | None, images: int) -> Split:
    """Return a split of data that have no name with the units by which its own scores were measured."""
    kept = by_query.drawn_with if by_query else None
    if kept is None or images or split.benchmark is not None:
        return split
    return replace(split, benchmark=Benchmark((), "examples", kept))


def _with_note(split: Split, note: str) -> Split:
    """Return the split with a note that is a warning as well, since it concerns every number."""
    warnings.warn(note, stacklevel=6)
    return replace(split, notes=(*split.notes, note))


def _saved_split(folder: Path, name: str) -> Split:
    """Return the captions that a run kept of data that have no name, without the images."""
    files = [folder / runs.CAPTIONS, folder / "embeddings" / "image_ids.parquet"]
    verify_files(folder, *files)
    captions, images = (pd.read_parquet(file) for file in files)
    return split_of_table(name, captions, images["id"])


def _split_of_training(config: Config, part: str, saved: Split) -> Split:
    """Return the data that a model was trained on with their images, where an evaluation was of these; else
    what it kept of its data.
    """
    try:
        split = load_split(config, part or "test")
    except FileNotFoundError:
        return saved
    alike = not differing_facts(facts_of(split, "ids", "own"), facts_of(saved, "ids", "own"))
    return split if alike and split.name == saved.name else saved


def _run_contents(folder: Path | None, split: Split, own: bool = True) -> Contents:
    """Return the model, and the embeddings that the run kept of its own data; where they lack an item, or
    something that the objective's scores read, the split is embedded. What the shipped encoder says the cache
    keeps.
    """
    model = load_model(folder or "")
    sides = list[Embedding]()
    first = model.first if isinstance(model, Reranked) else model
    if folder and own and not model.extras and not isinstance(first, SavedScores):
        for side, ids in (("image", split.image_ids), ("text", split.caption_ids)):
            embedding = _saved_embedding(model.embed_dim, folder, side, ids)
            other = _saved_embedding(model.embed_dim, folder, side, ids, "_t2i")
            if embedding and other:
                embedding, model.directed = TwoWays.from_members([embedding, other]), True
            sides += [embedding] if embedding else []
    elif folder is None and isinstance(model, EncoderModel):
        source = model.source(split)
        vectors = (
            frozen_vectors(model.pair.image, "image", split, source.image_batch),
            frozen_vectors(model.pair.text, "text", split, source.caption_batch),
        )
        sides = [Embedding(torch.from_numpy(np.array(one.values))) for one in vectors]
    if len(sides) == 2:
        return model, *model.completed(split, sides[0], sides[1])
    return model, *model.embed(model.source(split))


def _saved_embedding(
    width: int | None, folder: Path, side: str, ids: Sequence[str], way: str = ""
) -> Embedding | None:
    table, vectors = (folder / "embeddings" / f"{side}{end}" for end in ("_ids.parquet", f"{way}.npy"))
    if not (table.is_file() and vectors.is_file()):
        return None
    verify_files(folder, table, vectors)
    known, array = pd.Index(pd.read_parquet(table)["id"]), np.load(vectors)
    shape = (len(known), width or array.shape[-1])
    require(
        array.shape == shape and np.isfinite(array).all(),
        f"{vectors} holds {array.shape} numbers, expected {shape}, all finite; delete it, the model embeds",
        ChecksumError,
    )
    rows = known.get_indexer(pd.Index(ids))
    if (rows < 0).any():
        return None
    embedding = replace(_with_parts(vectors, len(known)), mean=torch.from_numpy(array))
    spread = vectors.with_stem(f"{vectors.stem}_log_var")
    if spread.is_file():
        verify_files(folder, spread)
        embedding = replace(embedding, log_var=torch.from_numpy(np.load(spread)))
    return embedding.take(rows)


def _with_parts(vectors: Path, items: int) -> Embedding:
    """Return the several vectors an item that a run kept beside its means, without these; none where it kept
    none.

    Raises:
        ChecksumError: they are not those of so many items.
    """
    empty = torch.empty(items, 0)
    places = [vectors.with_stem(f"{vectors.stem}_{what}") for what in ("parts", "counts")]
    if not all(place.is_file() for place in places):
        return Embedding(empty)
    verify_files(vectors.parents[1], *places)
    array, counts = (np.load(place) for place in places)
    fits = len(counts) == items and counts.sum() == len(array) and np.isfinite(array).all()
    require(
        fits, f"{places[0]} holds no vectors of {items} items; delete it, and evaluate again", ChecksumError
    )
    parts, mask = unpack_vectors(array, counts)
    return Embedding(empty, parts=parts, mask=mask)
