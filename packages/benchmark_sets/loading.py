"""Benchmarks as splits: what a loader of ``sets`` reads."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark_sets.declaration import Declaration, Pair, declaration, read_declaration
from benchmark_sets.reading import Example, file_places, read_examples
from workbench.data.cards import compare_with_frozen
from workbench.data.loader import Loader, loader
from workbench.data.reading import Problems, Row, find_root, to_split, usable_rows
from workbench.formatting import format_count
from workbench.io import resolve_input
from workbench.records import Split, require
from workbench.records.benchmark import Benchmark, Comparisons
from workbench.records.fields import Field
from workbench.registry import require_known


def make_loader(name: str) -> Loader:
    """Make the loader of a benchmark.

    Args:
        name: of its declaration.
    """
    return _loader(declaration(name))


def loader_of_file(file: Path) -> Loader:
    """Make the loader of a declaration of one's own, whose files lie beside it where no folder is named.

    Args:
        file: the declaration.

    Raises:
        ValueError: the file is none.
    """
    return _loader(read_declaration(file), file)


def _loader(declared: Declaration, file: Path | None = None) -> Loader:
    return _loader_by_language(declared, file) if declared.languages else _make_loader(declared, file)


def _make_loader(declared: Declaration, file: Path | None) -> Loader:
    @loader(about=declared.about, recognises=partial(holds_files, declared))
    def load(*, split: Literal["", "test"] = "test", root: str | None = None, images: str = "") -> Split:
        """Load a benchmark that is declared.

        Args:
            split: ``"test"``, there is no other.
            root: folder of its files; default ``WORKBENCH_DATA`` and its name.
            images: folder of its images, where they lie elsewhere.
        """
        return load_declared(declared, split or "test", root, images, file=file)

    return load


def _loader_by_language(declared: Declaration, file: Path | None) -> Loader:
    @loader(about=declared.about, recognises=partial(holds_files, declared))
    def load(
        *, language: str = "", split: Literal["", "test"] = "test", root: str | None = None, images: str = ""
    ) -> Split:
        """Load a benchmark that is declared, in one language.

        Args:
            language: of the captions, which has to be chosen; the message lists those that there are.
            split: ``"test"``, there is no other.
            root: folder of its files; default ``WORKBENCH_DATA`` and its name.
            images: folder of its images, where they lie elsewhere.
        """
        known = ", ".join(declared.languages)
        require(language, f"{declared.name}: choose a language by language=..., one of {known}")
        require_known(f"{declared.name}: no language", language, declared.languages, ValueError)
        return load_declared(declared, split or "test", root, images, language, file)

    return load


def holds_files(declared: Declaration, folder: Path) -> bool:
    """Return whether a folder holds files and images of a benchmark."""
    names = [name.replace("<language>", "*") for name in declared.rows.files]
    found = [any(file_places(folder, name)) for name in names]
    complete = all(found) if declared.rows.form == "lines" else any(found)
    return complete and any(_image_places(declared, folder))


def load_declared(
    declared: Declaration,
    split: str,
    root: str | None,
    images: str,
    language: str = "",
    file: Path | None = None,
) -> Split:
    """Load a benchmark.

    Args:
        declared: how.
        split: its name.
        root: folder of its files.
        images: folder of its images; empty = as declared.
        language: of its captions, where it has several.
        file: of a declaration of one's own.

    Raises:
        FileNotFoundError: a file or an image is missing; the message says where to get it.
        ValueError: a row is malformed; the message names file, row and column.
    """
    if file and root is None:
        root = str(file.parent)
    folder = find_root(declared.name, root, [], declared.remedy)
    image_folder = resolve_input(Path(images)) if images else _image_folder(declared, folder)
    examples, notes = read_examples(declared, folder, image_folder, language)
    if declared.reading:
        notes += (declared.reading,)
    name = f"{declared.name}/{split}" if not language else f"{declared.name}/{language}"
    rows, sources = _rows_of(examples)
    problems = Problems("raise", remedy=declared.remedy)
    rows = usable_rows(rows, sources.__getitem__, problems, check_images=False)
    loaded = to_split(name, rows, sources.__getitem__, notes=notes)
    if language:
        column = Field.from_cells("language", [language] * len(rows), source=declared.name)
        loaded = replace(loaded, fields={**loaded.fields, "language": column})
    if declared.task == "comparisons":
        benchmark = _make_benchmark(declared, examples, loaded)
        loaded = replace(loaded, benchmark=benchmark, notes=(*loaded.notes, *_note_same(loaded, benchmark)))
    if declared.frozen:
        loaded = compare_with_frozen(loaded, declared.frozen, file.name if file else declared.name)
    return loaded


def _image_places(declared: Declaration, folder: Path) -> list[Path]:
    places = [folder / declared.images, *sorted(folder.glob(f"*/{declared.images}"))]
    return [place for place in places if place.is_dir()]


def _image_folder(declared: Declaration, folder: Path) -> Path:
    """Return the folder of the images, which may lie in a folder of its own, as ``data/images``."""
    there = _image_places(declared, folder)
    missing = f"{declared.name}: {folder} lacks {declared.images}/. {declared.remedy}"
    require(there, missing, FileNotFoundError)
    return there[0]


def _rows_of(examples: Sequence[Example]) -> tuple[list[Row], dict[str, Any]]:
    """Return a row for each caption, and the source of each image.

    A caption belongs to the image of its place, or to the last one.
    """
    rows = []
    sources: dict[str, Any] = {}
    for example in examples:
        sources |= dict(zip(example.ids, example.sources, strict=True))
        for number, caption in enumerate(example.captions):
            image = example.ids[min(number, len(example.ids) - 1)]
            where = example.where
            rows.append(Row(where, image, caption, f"{where}, caption {number}"))
    return rows, sources


def _make_benchmark(declared: Declaration, examples: Sequence[Example], split: Split) -> Benchmark:
    """Return what is compared in each example."""
    images = {image: row for row, image in enumerate(split.image_ids)}
    first_caption = np.cumsum([0, *(len(example.captions) for example in examples)])
    # an example of a kind that the mean leaves out counts in the whole alone
    sizes = Counter(example.kind for example in examples)
    counted = {kind for kind, size in sizes.items() if size >= declared.least_of_kind}
    counted -= set(declared.without_kind)
    kinds = [example.kind * (example.kind in counted) for example in examples]
    drawn_with = np.arange(len(examples))
    if declared.unit == "photographs":
        _, drawn_with = np.unique([example.photograph for example in examples], return_inverse=True)
    scores = []
    for metric in declared.scores:
        pairs = declared.comparisons(metric)
        rows = []
        for number, example in enumerate(examples):
            for above, below in _pairs_of(example, pairs):
                places = [_row(place, example, images, int(first_caption[number])) for place in above + below]
                rows.append((number, *places))
        table = np.array(rows, dtype=np.int64)
        scores.append(Comparisons(metric, _direction(pairs), table[:, 0], table[:, 1:3], table[:, 3:]))
    return Benchmark(tuple(scores), declared.unit, drawn_with, tuple(kinds) if any(kinds) else ())


def _pairs_of(example: Example, pairs: Sequence[tuple[Pair, Pair]]) -> list[tuple[Pair, Pair]]:
    """Return the comparisons of one example, whose captions are all counted."""
    out = []
    for above, below in pairs:
        if below.second[1] >= 0:
            out.append((above, below))
            continue
        others = [place for place in range(len(example.captions)) if place != above.second[1]]
        out += [(above, Pair(below.first, ("c", place))) for place in others]
    for above, below in out:
        _require_there(example, above, below)
    return out


def _require_there(example: Example, above: Pair, below: Pair) -> None:
    """Raise if an example lacks a caption or an image that is compared."""
    for side, place in (*above, *below):
        count = len(example.captions) if side == "c" else len(example.ids)
        what = "captions" if side == "c" else "images"
        require(place < count, f"{example.where} is malformed: it has {count} {what}, too few")


def _note_same(split: Split, benchmark: Benchmark) -> list[str]:
    """Count the examples in which a caption has to score above its own text, which no model can do."""
    texts = np.unique(split.captions, return_inverse=True)[1]
    same = set[int]()
    for score in benchmark.scores:
        other = score.above[:, 1] != score.below[:, 1]
        equal = other & (texts[score.above[:, 1]] == texts[score.below[:, 1]])
        same |= set(score.example[equal].tolist())
    if not same:
        return []
    many = format_count(len(same), "example")
    return [f"a false caption is the caption itself in {many}, which counts against every model"]


def _row(place: tuple[str, int], example: Example, images: dict[str, int], first_caption: int) -> int:
    side, number = place
    return first_caption + number if side == "c" else images[example.ids[number]]


def _direction(pairs: Sequence[tuple[Pair, Pair]]) -> str:
    """Return what compares what: captions alone, an image captions, a caption images, or both."""
    if all(above.first[0] == "c" for above, _ in pairs):
        return "t2t"
    if all(above.first == below.first for above, below in pairs):
        return "i2t"
    return "t2i" if all(above.second == below.second for above, below in pairs) else ""
