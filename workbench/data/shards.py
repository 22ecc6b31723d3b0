"""Image-caption pairs in shards: tar files as WebDataset writes them, or Parquet files, any number of them.

In a tar a sample is some files, see ``tars``: one image, and its captions as ``.txt``, one a line, or in a
``.json``. In a Parquet file a row is an image: its bytes, a struct that holds them as ``bytes``, or a path.
Fields and columns have any of the names that ``columns`` knows. An image that is repeated for each of its
captions is one image. What is not read is counted in a note.

Shards are not unpacked. They are read once, for what lies where, which the cache then keeps by the names,
sizes and dates of the shards, the date of their last change included, which nobody can set back; an image is
read from its place when it is asked for. So an epoch is shuffled over all shards, its order depends on seed
and epoch alone, and a run goes on in the midst of one, as with images in files. Of a Parquet file the row
group of an image is read whole, so groups should be small (100 rows).

Source: A. Aizman et al., "High Performance I/O For Large Scale Deep Learning", IEEE Big Data 2019
(WebDataset).
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workbench.data.columns import (
    NAMES,
    Columns,
    column_notes,
    column_of,
    field,
    find_columns,
    is_missing,
    unread_columns,
)
from workbench.data.fields import cells_of_caption
from workbench.data.images import is_visible, read_image
from workbench.data.loader import loader
from workbench.data.reading import (
    SAME,
    Problems,
    Reading,
    Request,
    Row,
    find_root,
    select_split,
    split_of_name,
)
from workbench.data.rows import caption_texts, path_inside
from workbench.data.tars import MARKS, Content, Tally, Unread, read_tar
from workbench.formatting import format_count, format_some
from workbench.io import (
    cache_folder,
    cached_file,
    parse_json,
    read_text,
    reading_errors,
    require_real_file,
    text_stamp,
)
from workbench.records import Split, require
from workbench.registry import require_known

REMEDY = "Put the shards, .tar or .parquet, into one folder; train, val or test in a name says its split."
# the number of a shard and of how many, ``train-00000-of-00003.parquet``
NUMBERED = re.compile(r"((?:.*/)?[^/]*?)(\d{1,6})(?:(-of-(\d{1,6}))[^/]*)?(\.\w+)")
VERSION = 7
GO_ON = "download them, or say on_error='skip' to go on"
# row groups of Parquet files that are kept, each read whole for one of its images
GROUPS = 8
# what is read of a sample under our names
COLUMNS = ("image", "caption", "split")


class Sample(NamedTuple):
    """One image.

    Args:
        key: unique among all shards.
        where: shard and key, for messages.
        shard: which of them.
        place: of the image in it, see ``Stored``; or the path that stands for it in a Parquet file.
        captions: none empty.
        split: as a field of the sample says it.
        mark: equal for samples of one image.
        fields: cells of what nobody needs, by name, for each caption.
    """

    key: str
    where: str
    shard: int
    place: Sequence[Any]
    captions: list[str]
    split: str
    mark: str
    fields: list[dict[str, Any]]


class Stored(NamedTuple):
    """An image in a shard; called, it gives the bytes, or the path that stands for them.

    Args:
        file: the shard.
        place: the first byte of the image, or its row group.
        part: the number of its bytes, or its row in the group.
        column: of the image in a Parquet file.
        stamp: a checksum of the whole image, as the index has it.
    """

    file: Path
    place: int
    part: int
    column: str
    stamp: int = 0

    def __call__(self) -> bytes | Path:
        """Return what the image is read from."""
        if self.column:
            group = _row_group(self.file, _file_dates(self.file), self.place, self.column)
            return image_content(group[self.part].as_py(), self.file.parent)
        with self.file.open("rb") as opened:
            opened.seek(self.place)
            return opened.read(self.part)


@loader(positives=("own", SAME))
def shards(
    *,
    split: Literal["train", "val", "test", "all"] = "train",
    root: str | None = None,
    columns: Mapping[str, str | None] = {},
    on_error: Literal["raise", "skip"] = "raise",
) -> Split:
    """Load one split of a folder of shards.

    Args:
        split: ``"train"``, ``"val"``, ``"test"``, or ``"all"``. A column or field ``split`` says it, else the
            names of the shards, as ``train-00000.tar`` or ``validation-00000-of-00002.parquet``; where
            nothing does, a checksum of an image's key: 80, 10 and 10 %.
        root: the folder; default ``WORKBENCH_DATA/shards``.
        columns: names of columns by ours, ``{"caption": "title"}``; of a tar names of fields of ``.json``, or
            what follows the key in the name of a file, ``{"image": "depth.png"}``.
        on_error: ``"raise"``, or ``"skip"`` to leave out samples without an image that can be read, or
            without a caption; ``Split.notes`` counts them. A broken image is otherwise found when it is
            opened.

    Returns:
        The split; image ids are shard and key.

    Raises:
        FileNotFoundError: there is no such folder, or no shard in it.
        ValueError: a shard cannot be read, a sample lacks its image or its caption, a key is repeated, some
            shards name a split and others do not, or the split is empty; the message names shard and sample.
    """
    base = find_root("shards", root, [], REMEDY)
    request = Request(base, split, "", "", columns, Problems(on_error))
    files = shard_files(base)
    require(files, f"shards: {base} holds no {' or '.join(READERS)}. {REMEDY}", FileNotFoundError)
    return select_split(read_shards(files, request), split, request.problems, check_images=False)


def shard_files(base: Path) -> list[Path]:
    """Return the shards of a folder and of those inside it, without hidden files."""
    return sorted(file for file in base.rglob("*") if file.suffix in READERS and is_visible(file, base))


def read_shards(files: Sequence[Path], request: Request) -> Reading:
    """Return the samples of shards.

    Args:
        files: the shards, below the folder that is asked for.
        request: its columns are those of Parquet files, see ``find_columns``.

    Raises:
        FileNotFoundError, ValueError: see ``shards``.
    """
    base, problems = request.base, request.problems
    for ours, name in request.columns.items():
        require_known("shards: columns has no name", ours, list(NAMES), ValueError)
        require(
            ours in COLUMNS or name is None,
            f"shards: columns={{{ours!r}: {name!r}}} is not read of shards; {', '.join(COLUMNS)} are",
        )
    counted = _sample_counts(base, files[0].suffix)
    gaps = [] if request.table else [*_gap_notes(files, request, counted)]
    samples, notes = _read_index(files, request)
    if problems.on_error == "raise":
        _require_complete(files, samples, counted)
    splits, splits_by = _splits_of_samples(files, samples, base)
    merged, alike = _merge_samples(samples, splits)
    notes = (*notes, *alike)
    rows = []
    places = {}
    for sample, split in merged:
        file, key = files[sample.shard], sample.key
        for n, text in enumerate(sample.captions):
            rows.append(Row(sample.where, key, text, f"{key}#{n}", split=split, fields=sample.fields[n]))
        if len(sample.place) > 1:
            places[key] = Stored(file, *sample.place)._replace(stamp=text_stamp(sample.mark))
        else:
            places[key] = file.parent / sample.place[0]
    require(rows, f"shards: {base} holds no sample. {' '.join(notes)}".rstrip())
    unread = problems.on_error != "skip"  # then the index has read each image to its end
    notes = (*gaps, *notes)
    return Reading(base.resolve().name, rows, places.__getitem__, splits_by, notes, needed=unread)


def _require_complete(files: Sequence[Path], samples: Sequence[Sample], counted: Mapping[Path, int]) -> None:
    """Raise if a shard has fewer samples than img2dataset has counted."""
    numbers = Counter(sample.shard for sample in samples)
    for shard, file in enumerate(files):
        count = counted.get(file, 0)
        fewer = f"{file.name} holds {numbers[shard]} samples, and img2dataset has counted {count}; {GO_ON}"
        require(numbers[shard] >= count, fewer)


def _splits_of_samples(files: Sequence[Path], samples: Sequence[Sample], base: Path) -> tuple[list[str], str]:
    """Return the split of each sample as the data call it, and what tells it: a field, or the names of
    shards.
    """
    if any(sample.split for sample in samples):
        return [sample.split for sample in samples], "the field split of the samples"
    names = []
    for file in files:
        folder = "" if file.parent == base else file.parent.name
        names.append(split_of_name(file.stem) or split_of_name(folder))
    return [names[sample.shard] for sample in samples], "the names of the shards"


def _gap_notes(files: Sequence[Path], request: Request, counted: Mapping[Path, int]) -> Iterator[str]:
    """Yield notes on shards that are missing between others; where their names or a file tell how many there
    are, it is a problem. Splits that are not asked for may lack any. Beside each shard img2dataset leaves
    what it counted in it.
    """
    absent = sorted(file.name for file in counted.keys() - {*files})
    if absent:
        request.problems.add("missing shard", f"missing shards: {format_some(absent)}; {GO_ON}")
    paths = [file.relative_to(request.base).as_posix() for file in files]
    marks = [mark for mark in map(NUMBERED.fullmatch, paths) if mark]
    for (name, of_all, total, ending), group in groupby(marks, key=lambda mark: mark.group(1, 3, 4, 5)):
        numbers = {int(mark[2]): mark[2] for mark in group}
        count = request.base / name / "nshards.txt"
        written = re.findall(r"\d+", read_text(count)) if count.is_file() else []
        size = int(total or next(iter(written), 0))
        missing = _missing_numbers(numbers.keys(), size)
        # numbers far from each other, as of years, count nothing
        if missing and (size or len(missing) < len(numbers)):
            digits = min(map(len, numbers.values()))
            names = [f"{name}{number:0{digits}}{of_all or ''}{ending}" for number in missing]
            note = f"missing shards: {format_some(names)}"
            if size and request.split in ("", "all", split_of_name(name) or request.split):
                request.problems.add("missing shard", f"{note}; {GO_ON}")
            yield note


def _missing_numbers(numbers: Collection[int], size: int) -> list[int]:
    """Return the numbers missing between others, or of so many; these begin at 1 where the last is there."""
    start, stop = min(numbers), max(numbers)
    if size:
        start = int(size in numbers)
        stop = start + size
    return sorted({*range(start, stop)} - set(numbers))


def _sample_counts(base: Path, ending: str) -> dict[Path, int]:
    """Return how many samples of each shard img2dataset has counted; 0 = it does not say."""
    counted = {}
    for file in base.rglob("*_stats.json"):
        if is_visible(file, base):
            stats = parse_json(file.read_bytes(), file.name, "is not whole")
            shard = file.with_name(file.name.removesuffix("_stats.json") + ending)
            counted[shard] = int(stats.get("successes") or 0) if isinstance(stats, dict) else 0
    return counted


def _merge_samples(samples: list[Sample], splits: list[str]) -> tuple[list[tuple[Sample, str]], list[str]]:
    """Return the samples with those of one image made one, each with its split, and notes on them.

    An image is the same where its bytes are, and where a field names it so; without such a field, where the
    samples follow each other. One image throughout a data set says nothing. Others with the same bytes are
    images of their own, and are counted.
    """
    images: dict[Any, tuple[Sample, str]] = {}
    alike = len({sample.mark for sample in samples}) == 1
    run, before = 0, ""
    again = 0
    for sample, split in zip(samples, splits, strict=True):
        digest, _, name = sample.mark.partition(" ")
        run += digest != before or alike
        before = digest
        key = (split, digest, name or run)
        if key in images:
            first = images[key][0]
            new = [n for n, text in enumerate(sample.captions) if text not in first.captions]
            again += len(sample.captions) - len(new)
            captions = first.captions + [sample.captions[n] for n in new]
            fields = first.fields + [sample.fields[n] for n in new]
            images[key] = first._replace(captions=captions, fields=fields), split
        else:
            images[key] = sample, split
    repeated, others = len(samples) - len(images), len(images) - len({digest for _, digest, _ in images})
    notes = {
        f"{repeated} samples repeat the image of another; their captions stand with it": repeated,
        f"{format_count(others, 'image')} with the bytes of another, each an image of its own": others,
        f"{format_count(again, 'caption')} left out, which their image had already": again,
    }
    return list(images.values()), [note for note, count in notes.items() if count]


def _file_dates(file: Path) -> tuple[int, ...]:
    """Return what changes with the content of a file: size and date, and what no program can set back."""
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def _read_index(files: Sequence[Path], request: Request) -> tuple[list[Sample], tuple[str, ...]]:
    """Return what lies where, and notes on samples that were left out."""
    identity = [[str(file.resolve()), *_file_dates(file)] for file in files]
    how = [VERSION, request.problems.on_error, identity, dict(request.columns)]
    digest = hashlib.sha256(json.dumps(how).encode()).hexdigest()
    index = cache_folder() / f"shards-{digest[:16]}.jsonl"

    def write(temporary: Path) -> dict[str, Any]:
        problems, tally = Problems(request.problems.on_error), Tally()
        keys: set[str] = set()
        with temporary.open("w", encoding="utf-8") as lines:
            for number, file in enumerate(files):
                prefix = file.relative_to(request.base).with_suffix("").as_posix()
                for sample in _usable_samples(file, number, problems, request.columns, tally):
                    if (key := f"{prefix}/{sample.key}") in keys:
                        problems.add("repeated key", f"{sample.where}: the key was used before in this shard")
                        continue
                    keys.add(key)
                    lines.write(json.dumps(sample._replace(key=key)) + "\n")
        return {"notes": [*tally.notes(), *problems.notes()]}

    notes = cached_file(index, write)["notes"]
    lines = index.read_text(encoding="utf-8").splitlines()
    samples = [Sample(*json.loads(line)) for line in lines]
    return [_with_field_each(sample) for sample in samples], tuple(notes)


def _with_field_each(sample: Sample) -> Sample:
    """Return a sample with the cells of each caption, which the index has once where all have the same."""
    (cells,) = sample.fields
    count = len(sample.captions)
    return sample._replace(fields=[dict(cells_of_caption(cells, n, count)) for n in range(count)])


def _usable_samples(
    file: Path, number: int, problems: Problems, columns: Columns, tally: Tally
) -> Iterator[Sample]:
    """Yield the samples of a shard that can be used."""
    for key, name, read in READERS[file.suffix](file, problems, columns, tally):
        where = f"{file.name}, {name}"
        with problems.adding("unreadable text", where):
            sample = read()
            with problems.adding("missing caption", where):
                stated = sample.captions()
                captions = [" ".join(text.split()) for text in caption_texts(stated, column=sample.column)]
                require(all(captions), f"the captions are {stated!r:.80}; expected a text, or a list")
                with problems.adding("missing image", where):
                    image = image_content(sample.image(), file.parent)
                    with problems.adding("corrupt image", where):
                        if problems.on_error == "skip":
                            read_image(image, where, small=True)
                        place, split = sample.place, str(sample.facts.get("split") or "")
                        if isinstance(image, Path):
                            place = (str(image.relative_to(file.parent)),)
                        mark = _image_identity(image, sample.facts)
                        yield Sample(
                            key, where, number, place, captions, split, mark, [_as_json(sample.fields)]
                        )


def _as_json(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return cells as the index keeps them: dates and the like as texts."""
    texts = {}
    for name, cell in cells.items():
        if not is_missing(cell):
            texts[name] = cell if isinstance(cell, str | bool | int | float | list) else str(cell)
    return texts


def _image_identity(image: bytes | Path, facts: Mapping[str, Any]) -> str:
    """Return what is equal for samples of one image: a checksum of its content, and a name of it."""
    whole = image if isinstance(image, bytes) else str(image).encode()
    names = (f"{name}={facts[name]}" for name in MARKS if facts.get(name) is not None)
    return f"{hashlib.blake2b(whole, digest_size=12).hexdigest()} {next(names, '')}"


def _open_parquet(file: Path) -> Any:
    import pyarrow
    from pyarrow import parquet

    with reading_errors(file.name, "is not a Parquet file", pyarrow.ArrowException):
        require_real_file(file, "samples")
        return parquet.ParquetFile(file)


def _read_parquet(file: Path, problems: Problems, columns: Columns, tally: Tally) -> Iterator[Unread]:
    import pyarrow

    table = _open_parquet(file)
    names = table.schema_arrow.names
    at = {ours: read for ours, read in find_columns(names, file.name, columns).items() if ours in COLUMNS}
    marks = {name: (name,) for name in MARKS if name in names}
    unread = [name for name in unread_columns(names, at) if name not in marks]
    plain = [name for name in unread if _holds_values(table.schema_arrow.field(name).type)]
    tally.tables[file.name] = column_notes(at, set(unread) - {*plain})
    read = {column_of(name, names) for name in chain.from_iterable(at.values())}
    wanted = {*read, *marks, *plain}
    first = 0
    for group in range(table.num_row_groups):
        with reading_errors(file.name, "is damaged", pyarrow.ArrowException):
            records = table.read_row_group(group, columns=sorted(wanted)).to_pylist()
        for row, record in enumerate(records):
            place = (group, row, at["image"][0])
            fields = {name: record[name] for name in plain}
            content = partial(_content_of_row, record, at, place, fields)
            yield str(first + row), f"row {first + row + 1}", content
        first += len(records)


def _holds_values(kind: Any) -> bool:
    """Return whether a column of Arrow has plain values: numbers, texts, dates, categories, or lists of
    texts.
    """
    from pyarrow import types

    inner = kind.value_type if types.is_list(kind) or types.is_dictionary(kind) else kind
    binary = types.is_binary(inner) or types.is_large_binary(inner)
    numbers = types.is_list(kind) and not types.is_string(inner)
    return not (types.is_nested(inner) or binary or numbers)


def _content_of_row(
    record: Mapping[str, Any],
    at: Mapping[str, tuple[str, ...]],
    place: tuple[Any, ...],
    fields: Mapping[str, Any],
) -> Content:
    """Return a sample of a row, whose other columns are its facts."""
    image = field(record, at["image"])
    named = image.get("path") if isinstance(image, dict) else None
    facts = {"filename": named, **record, "split": record.get(*at.get("split", ("",)))}
    captions = partial(field, record, at["caption"])
    return Content(lambda: image, captions, facts, place, at["caption"][0], fields)


def image_content(value: Any, base: Path) -> bytes | Path:
    """Return what an image is read from: bytes, a struct that holds them or a path, or a path.

    Raises:
        ValueError: there is no image.
    """
    image = (value.get("bytes") or value.get("path")) if isinstance(value, Mapping) else value
    if isinstance(image, str) and image:
        return base / path_inside(base, image)
    if not isinstance(image, bytes) or not image:
        raise ValueError(f"there is no image, but {value!r:.60}; expected its bytes, or a path")
    return image


@lru_cache(maxsize=GROUPS)
def _row_group(file: Path, dates: tuple[int, ...], number: int, column: str) -> Any:
    """Return the images of a row group of the file as it was at some dates."""
    from pyarrow import parquet

    return parquet.ParquetFile(file).read_row_group(number, columns=[column])[column]


READERS: dict[str, Callable[[Path, Problems, Columns, Tally], Iterator[Unread]]] = {
    ".tar": read_tar,
    ".parquet": _read_parquet,
}
MEMBER = shards
