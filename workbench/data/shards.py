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
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.data.images import endings, read_image
from workbench.data.reading import SPLITS, Problems, find_root, split_of
from workbench.io import cache_folder, cached_file, parse_json, reading_errors
from workbench.records import Split, require

REMEDY = "Put the shards, .tar or .parquet, into one folder; train, val or test in a name says its split."
VERSION = 2
# row groups of Parquet files that are kept, each read whole for one of its images
GROUPS = 8


class Sample(NamedTuple):
    """One image.

    Args:
        key: unique among all shards.
        shard: which of them.
        place, part: the first byte of the image and the number of its bytes (tar), or its row group and its
            row there (Parquet).
        captions: none empty.
    """

    key: str
    shard: int
    place: int
    part: int
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
    files = sorted(file for file in base.glob("*") if file.suffix in READERS)
    require(files, f"shards: {base} holds no {' or '.join(READERS)}. {REMEDY}", FileNotFoundError)
    named = {file: _named(file) for file in files}
    without = [file.name for file in files if not named[file]]
    require(len(without) in (0, len(files)), f"shards: {without[:1]} names no split, but others do. {REMEDY}")
    if not without and split != "all":
        files = [file for file in files if named[file] == split]
        known = ", ".join(sorted({*named.values()}))
        require(files, f"shards: no shard in {base} names the split {split!r}; there are {known}")
    samples, notes = _index(files, on_error)
    if without and split != "all":
        samples = [sample for sample in samples if split_of(sample.key) == split]
    require(samples, f"shards: {base} holds no sample for split {split!r}. {' '.join(notes)}".rstrip())
    return _split(f"{base.name}/{split}", files, samples, notes)


def _named(file: Path) -> str:
    """The split that the name of a shard says."""
    return next((word for word in re.split(r"[^a-z]+", file.stem.lower()) if word in SPLITS), "")


def _split(name: str, files: Sequence[Path], samples: Sequence[Sample], notes: tuple[str, ...]) -> Split:
    keys, shard, place, part, captions = zip(*samples, strict=True)

    def open_image(row: int) -> Any:
        file = files[shard[row]]
        where = f"{file.name}, {keys[row]}"
        with reading_errors(where):
            content = OPENERS[file.suffix](file, place[row], part[row])
        return read_image(content, where)

    def stamp(row: int) -> int:
        file = files[shard[row]]
        return int(part[row]) if file.suffix == ".tar" else file.stat().st_size

    with reading_errors(name, "gives no split"):
        return Split(
            name=name,
            image_ids=keys,
            captions=tuple(chain.from_iterable(captions)),
            caption_ids=tuple(f"{key}#{n}" for key, own in zip(keys, captions) for n in range(len(own))),
            own=np.repeat(np.arange(len(keys)), list(map(len, captions))),
            open_image=open_image,
            stamp=stamp,
            notes=notes,
        )


def _index(files: Sequence[Path], on_error: str) -> tuple[list[Sample], tuple[str, ...]]:
    """What lies where, and notes on samples that were left out."""
    identity = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    digest = hashlib.sha256(json.dumps([VERSION, on_error, identity]).encode()).hexdigest()
    index = cache_folder() / f"shards-{digest[:16]}.jsonl"

    def write(temporary: Path) -> dict[str, Any]:
        problems = Problems(on_error)
        with temporary.open("w", encoding="utf-8") as lines:
            for number, file in enumerate(files):
                for sample in READERS[file.suffix](file, number, problems):
                    lines.write(json.dumps(sample) + "\n")
        return {"notes": list(problems.notes())}

    notes = cached_file(index, write)["notes"]
    lines = index.read_text(encoding="utf-8").splitlines()
    return [Sample(*json.loads(line)) for line in lines], tuple(notes)


def _tar(file: Path, number: int, problems: Problems) -> Iterator[Sample]:
    pictures = endings()
    with (
        reading_errors(file.name, "is not a tar file (a compressed one is to be unpacked)", tarfile.TarError),
        tarfile.open(file, "r:") as tar,
    ):
        for stem, members in groupby((one for one in tar if one.isfile()), key=_stem):
            parts = {member.name.removeprefix(stem).lower(): member for member in members}
            texts = {
                ending: content.read()
                for ending in (".txt", ".json")
                if ending in parts and (content := tar.extractfile(parts[ending]))
            }
            image, where = (
                next((parts[ending] for ending in parts if ending in pictures), None),
                f"{file.name}, {stem}",
            )
            about = parse_json(texts[".json"], where) if ".json" in texts else {}
            require(isinstance(about, dict), f"{where}.json: expected an object")
            text = texts[".txt"].decode("utf-8-sig") if ".txt" in texts else about.get("caption")
            captions = _captions(about.get("captions", text), where, problems)
            if image is None:
                problems.add("missing image", f"{where}: none of its files is an image")
            elif captions:
                yield Sample(f"{file.stem}/{stem}", number, image.offset_data, image.size, captions)


def _stem(member: tarfile.TarInfo) -> str:
    """The name of a sample: that of its files up to the first dot."""
    folder, slash, name = member.name.rpartition("/")
    return folder + slash + name.partition(".")[0]


def _parquet(file: Path, number: int, problems: Problems) -> Iterator[Sample]:
    import pyarrow
    from pyarrow import parquet

    with reading_errors(file.name, "is not a Parquet file", pyarrow.ArrowException):
        table = parquet.ParquetFile(file)
        names = table.schema_arrow.names
        column = next((name for name in ("captions", "caption") if name in names), "")
        require(
            "image" in names and column, f"{file.name} has the columns {names}; image, caption are needed"
        )
        groups = [
            table.read_row_group(group, columns=[column])[column].to_pylist()
            for group in range(table.num_row_groups)
        ]
    places = [(group, row, text) for group, texts in enumerate(groups) for row, text in enumerate(texts)]
    for key, (group, row, text) in enumerate(places):
        if captions := _captions(text, f"{file.name}, row {key + 1}", problems):
            yield Sample(f"{file.stem}/{key}", number, group, row, captions)


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


def _from_parquet(file: Path, group: int, row: int) -> bytes:
    image = _row_group(file, file.stat().st_mtime_ns, group)[row].as_py()
    content: bytes = image["bytes"] if isinstance(image, dict) and "bytes" in image else image
    require(isinstance(content, bytes), "the image is not there as bytes")
    return content


@lru_cache(maxsize=GROUPS)
def _row_group(file: Path, date: int, number: int) -> Any:
    """The images of a row group of the file as it was at a date."""
    from pyarrow import parquet

    return parquet.ParquetFile(file).read_row_group(number, columns=["image"])["image"]


READERS: dict[str, Callable[[Path, int, Problems], Iterator[Sample]]] = {".tar": _tar, ".parquet": _parquet}
OPENERS: dict[str, Callable[[Path, int, int], bytes]] = {".tar": _from_tar, ".parquet": _from_parquet}
MEMBER = shards
