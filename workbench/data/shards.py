"""Image-caption pairs in shards: tar files as WebDataset writes them, or Parquet files, any number of them.

In a tar, the files of a sample share their name up to the first dot and stand beside each other: one image,
and its caption as ``.txt``, or as ``caption`` or ``captions`` of a ``.json``. In a Parquet file a row is an
image: ``image`` (its bytes, or a struct that holds them as ``bytes``), and ``caption`` or ``captions``.

Shards are not unpacked. They are read once, for what lies where, which the cache then keeps by the names,
sizes and dates of the shards; an image is read from its place when it is asked for. So an epoch is shuffled
over all shards, its order depends on seed and epoch alone, and a run goes on in the midst of one, as with
images in files. Of a Parquet file the row group of an image is read whole, so groups should be small (100
rows).

Source: A. Aizman et al., "High Performance I/O For Large Scale Deep Learning", IEEE Big Data 2019
(WebDataset).
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.data.images import endings, read_image
from workbench.data.reading import SPLITS, Problems, find_root, split_of
from workbench.io import cache_folder, cached_file, parse_json, reading_errors
from workbench.records import Split, require

REMEDY = "Put the shards, .tar or .parquet, into one folder; train, val or test in a name says its split."
VERSION = 1
# row groups of Parquet files that are kept, each read whole for one of its images
GROUPS = 8


class Sample(NamedTuple):
    """One image.

    Args:
        key: unique among all shards.
        shard: which of them.
        place: where in it the bytes of the image begin (tar), or its row (Parquet).
        size: in bytes; 0 = not known.
        captions: none empty.
    """

    key: str
    shard: int
    place: int
    size: int
    captions: list[str]


def shards(
    *,
    split: Literal["train", "val", "test", "all"] = "train",
    root: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Split:
    """Load one split of a folder of shards.

    Args:
        split: ``"train"``, ``"val"``, ``"test"``, or ``"all"``. The names of the shards say it, as
            ``train-00000.tar``; where none does, a checksum of an image's key: 80, 10 and 10 %.
        root: the folder; default ``WORKBENCH_DATA/shards``.
        on_error: ``"raise"``, or ``"skip"`` to leave out samples without an image or a caption;
            ``Split.notes`` counts them. A broken image is found when it is opened.

    Returns:
        The split; image ids are shard and key.

    Raises:
        FileNotFoundError: there is no such folder, or no shard in it.
        ValueError: a shard cannot be read, a sample lacks its image or its caption, a key is repeated, some
            shards name a split and others do not, or the split is empty; the message names shard and sample.
    """
    base = find_root("shards", root, [], REMEDY)
    require(base.is_dir(), f"shards: there is no folder {base}. {REMEDY}", FileNotFoundError)
    files = sorted(file for file in base.iterdir() if file.suffix in READERS)
    require(files, f"shards: {base} holds no {' or '.join(READERS)}. {REMEDY}", FileNotFoundError)
    named = {file: _named(file) for file in files}
    without = [file.name for file in files if not named[file]]
    require(len(without) in (0, len(files)), f"shards: {without[:1]} names no split, but others do. {REMEDY}")
    if not without and split != "all":
        files = [file for file in files if named[file] == split]
        known = ", ".join(sorted({*named.values()}))
        require(files, f"shards: no shard in {base} names the split {split!r}; there are {known}")
    table, notes = _index(files, on_error)
    keys = table["key"].to_pylist()
    rows = np.arange(len(keys))
    if without and split != "all":
        rows = np.array([row for row in rows if split_of(keys[row]) == split], dtype=np.int64)
    require(len(rows), f"shards: {base} holds no sample for split {split!r}. {' '.join(notes)}".rstrip())
    return _split(f"{base.name}/{split}", files, table.take(rows), notes)


def _named(file: Path) -> str:
    words = re.split(r"[^a-z]+", file.stem.lower())
    return next((word for word in words if word in SPLITS), "")


def _split(name: str, files: Sequence[Path], table: Any, notes: tuple[str, ...]) -> Split:
    """The split of a table of samples."""
    keys, of_image = tuple(table["key"].to_pylist()), table["captions"].combine_chunks()
    shard, place, size = (table[column].to_numpy() for column in ("shard", "place", "size"))
    counts = np.diff(of_image.offsets.to_numpy())
    own = np.repeat(np.arange(len(keys)), counts)
    within = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)

    def opened(row: int) -> Any:
        file = files[shard[row]]
        where = f"{file.name}, {keys[row]}"
        with reading_errors(where, "cannot be read"):
            stored = OPENERS[file.suffix](file, int(place[row]), int(size[row]))
        return read_image(stored, where)

    with reading_errors(name, "gives no split"):
        return Split(
            name=name,
            image_ids=keys,
            captions=tuple(of_image.flatten().to_pylist()),
            caption_ids=tuple(f"{keys[row]}#{n}" for row, n in zip(own, within, strict=True)),
            own=own,
            open_image=opened,
            stamp=lambda row: int(size[row]) or files[shard[row]].stat().st_size,
            notes=notes,
        )


def _index(files: Sequence[Path], on_error: str) -> tuple[Any, tuple[str, ...]]:
    """What lies where, a row a sample, and notes on samples that were left out."""
    import pyarrow
    import pyarrow.parquet

    identity = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    about = json.dumps([VERSION, on_error, identity])
    kept = cache_folder() / f"shards-{hashlib.sha256(about.encode()).hexdigest()[:16]}.parquet"

    def write(temporary: Path) -> dict[str, Any]:
        problems = Problems(on_error)
        found = [one for n, file in enumerate(files) for one in READERS[file.suffix](file, n, problems)]
        kinds = {"key": "string", "shard": "int32", "place": "int64", "size": "int64"}
        schema = pyarrow.schema([*kinds.items(), ("captions", pyarrow.list_(pyarrow.string()))])
        columns = zip(*found, strict=True) if found else [()] * len(schema)
        table = pyarrow.table(dict(zip(schema.names, map(list, columns), strict=True)), schema=schema)
        pyarrow.parquet.write_table(table, temporary)
        return {"shards": len(files), "notes": list(problems.notes())}

    facts = cached_file(kept, write)
    return pyarrow.parquet.read_table(kept), tuple(facts["notes"])


def _tar(file: Path, number: int, problems: Problems) -> Iterator[Sample]:
    pictures = endings()
    with (
        reading_errors(file.name, "is not a tar file (a compressed one is to be unpacked)", tarfile.TarError),
        tarfile.open(file, "r:") as tar,
    ):
        for stem, members in groupby(_members(tar), key=lambda one: one[0]):
            parts, image, key = dict[str, bytes](), None, f"{file.stem}/{stem}"
            for _, ending, member in members:
                if ending in pictures:
                    image = member
                elif ending in (".txt", ".json") and (content := tar.extractfile(member)):
                    parts[ending] = content.read()
            where = f"{file.name}, {stem}"
            about = parse_json(parts[".json"], where) if ".json" in parts else {}
            require(isinstance(about, dict), f"{where}.json: expected an object")
            text = parts[".txt"].decode("utf-8-sig") if ".txt" in parts else about.get("caption")
            captions = _captions(about.get("captions", text), where, problems)
            if image is None:
                problems.add("missing image", f"{where}: none of its files is an image")
            elif captions:
                yield Sample(key, number, image.offset_data, image.size, captions)


def _members(tar: Any) -> Iterator[tuple[str, str, tarfile.TarInfo]]:
    """Stem, ending and header of every file; what was read is not kept, as the library would."""
    for member in tar:
        tar.members = []
        if member.isfile():
            folder, _, name = member.name.rpartition("/")
            stem, _, ending = name.partition(".")
            yield "/".join(filter(None, (folder, stem))), f".{ending.lower()}", member


def _parquet(file: Path, number: int, problems: Problems) -> Iterator[Sample]:
    import pyarrow
    import pyarrow.parquet

    with reading_errors(file.name, "is not a Parquet file", pyarrow.ArrowException):
        opened = pyarrow.parquet.ParquetFile(file)
        names = opened.schema_arrow.names
        column = next((name for name in ("captions", "caption") if name in names), "")
        require(
            "image" in names and column, f"{file.name} has the columns {names}; image, caption are needed"
        )
        texts = opened.read(columns=[column])[column].to_pylist()
    for row, text in enumerate(texts):
        if captions := _captions(text, f"{file.name}, row {row + 1}", problems):
            yield Sample(f"{file.stem}/{row}", number, row, 0, captions)


def _captions(given: Any, where: str, problems: Problems) -> list[str]:
    """The captions of a sample; none and a problem where they are not texts, or one is empty."""
    listed = given if isinstance(given, list) else [given]
    if listed and all(isinstance(one, str) and one.strip() for one in listed):
        return [one.strip() for one in listed]
    problems.add("missing caption", f"{where}: the captions are {given!r:.80}; expected a text, or a list")
    return []


def _from_tar(file: Path, place: int, size: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(place)
        return opened.read(size)


def _from_parquet(file: Path, place: int, size: int) -> bytes:
    date = file.stat().st_mtime_ns
    starts = _row_groups(file, date)
    group = int(np.searchsorted(starts, place, side="right")) - 1
    stored = _row_group(file, date, group)[place - int(starts[group])].as_py()
    found: bytes = stored["bytes"] if isinstance(stored, dict) else stored
    require(isinstance(found, bytes), "the image is not there as bytes")
    return found


@lru_cache(maxsize=256)
def _row_groups(file: Path, date: int) -> Any:
    """The first row of every row group of the file as it was at a date."""
    import pyarrow.parquet

    held = pyarrow.parquet.ParquetFile(file).metadata
    sizes = [held.row_group(n).num_rows for n in range(held.num_row_groups)]
    return np.cumsum([0, *sizes[:-1]])


@lru_cache(maxsize=GROUPS)
def _row_group(file: Path, date: int, number: int) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(file).read_row_group(number, columns=["image"])["image"]


READERS: dict[str, Callable[[Path, int, Problems], Iterator[Sample]]] = {".tar": _tar, ".parquet": _parquet}
OPENERS: dict[str, Callable[[Path, int, int], bytes]] = {".tar": _from_tar, ".parquet": _from_parquet}
MEMBER = shards
