"""Image-caption pairs in shards: tar files as WebDataset writes them, or Parquet files, any number of them.

In a tar, the files of a sample share their name up to the first dot and stand beside each other: one image,
and its captions as ``.txt``, one a line, or as ``caption`` or ``captions`` of a ``.json``; where images share
that name too, the name up to the last dot is the sample's. In a Parquet file a row is an image: ``image``
(its bytes, a struct that holds them as ``bytes``, or a path), and ``caption`` or ``captions``, by any of the
names that ``tables`` knows. An image that is repeated for each of its captions is one image.

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workbench.data.columns import Columns, column_notes, field, find_columns
from workbench.data.images import endings, read_image, visible
from workbench.data.reading import SAME, Ask, Problems, Reading, Row, find_root, one_split, said_split
from workbench.data.tables import inside, texts
from workbench.io import cache_folder, cached_file, parse_json, read_text, reading_errors, require_itself
from workbench.records import Split, require

# judgements of the training split, for ``Config.positives``
POSITIVES = ("own", SAME)
REMEDY = "Put the shards, .tar or .parquet, into one folder; train, val or test in a name says its split."
# the number of a shard and of how many, ``train-00000-of-00003.parquet``
NUMBERED = re.compile(r"((?:.*/)?[^/]*?)(\d{1,6})(?:(-of-(\d{1,6}))[^/]*)?(\.\w+)")
VERSION = 5
GO_ON = "download them, or say on_error='skip' to go on"
# row groups of Parquet files that are kept, each read whole for one of its images
GROUPS = 8
# what names the image of a sample, where it is repeated for each caption
MARKS = ("image_id", "img_id", "imgid", "cocoid", "url", "sha256", "filename", "file_name")


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
    """

    key: str
    where: str
    shard: int
    place: Sequence[Any]
    captions: list[str]
    split: str
    mark: str


class Stored(NamedTuple):
    """An image in a shard; called, it gives the bytes, or the path that stands for them.

    Args:
        file: the shard.
        place: the first byte of the image, or its row group.
        part: the number of its bytes, or its row in the group.
        column: of the image in a Parquet file.
    """

    file: Path
    place: int
    part: int
    column: str

    @property
    def size_in_bytes(self) -> int:
        """Of the image, or of the whole Parquet file."""
        return self.file.stat().st_size if self.column else self.part

    def __call__(self) -> bytes | Path:
        """What the image is read from."""
        if self.column:
            group = _row_group(self.file, self.file.stat().st_mtime_ns, self.place, self.column)
            return content(group[self.part].as_py(), self.file.parent)
        with self.file.open("rb") as opened:
            opened.seek(self.place)
            return opened.read(self.part)


def shards(
    *,
    split: Literal["train", "val", "test", "all"] = "train",
    root: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Split:
    """Load one split of a folder of shards.

    Args:
        split: ``"train"``, ``"val"``, ``"test"``, or ``"all"``. A column or field ``split`` says it, else the
            names of the shards, as ``train-00000.tar`` or ``validation-00000-of-00002.parquet``; where
            nothing does, a checksum of an image's key: 80, 10 and 10 %.
        root: the folder; default ``WORKBENCH_DATA/shards``.
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
    ask = Ask(base, split, "", "", {}, Problems(on_error))
    files = found_shards(base)
    require(files, f"shards: {base} holds no {' or '.join(READERS)}. {REMEDY}", FileNotFoundError)
    return one_split(read_shards(files, ask), split, ask.problems, check_images=False)


def found_shards(base: Path) -> list[Path]:
    """The shards of a folder and of those inside it, without hidden files."""
    return sorted(one for one in base.rglob("*") if one.suffix in READERS and visible(one, base))


def read_shards(files: Sequence[Path], ask: Ask) -> Reading:
    """The samples of shards.

    Args:
        files: the shards, below the folder that is asked for.
        ask: its columns are those of Parquet files, see ``find_columns``.

    Raises:
        FileNotFoundError, ValueError: see ``shards``.
    """
    base, problems = ask.base, ask.problems
    counted = _counted(base, files[0].suffix)
    gaps = [] if ask.table else [*_gaps(files, ask, counted)]
    samples, notes = _index(files, ask)
    found = Counter(files[sample.shard] for sample in samples)
    for file, count in counted.items() if problems.on_error == "raise" else ():
        said = f"{file.name} holds {found[file]} samples, and img2dataset has counted {count}; {GO_ON}"
        require(found[file] >= count or file not in files, said)
    if files[0].suffix == ".parquet":
        names = _open(files[0]).schema_arrow.names
        notes = (*column_notes(names, find_columns(names, files[0].name, ask.columns)), *notes)
    inner = any(sample.split for sample in samples)
    named = [said_split(file.stem) or said_split(file.parent.name * (file.parent != base)) for file in files]
    told = [sample.split if inner else named[sample.shard] for sample in samples]
    merged, repeated = _merged(samples, told)
    rows = [
        Row(sample.where, sample.key, text, f"{sample.key}#{n}", split=said)
        for sample, said in merged
        for n, text in enumerate(sample.captions)
    ]
    if repeated:
        notes = (*notes, f"{repeated} samples repeat the image of another; their captions stand with it")
    places = {
        one.key: Stored(files[one.shard], *one.place) if len(one.place) > 1
        else files[one.shard].parent / one.place[0]
        for one, _ in merged
    }  # fmt: skip
    require(rows, f"shards: {base} holds no sample. {' '.join(notes)}".rstrip())
    by = "the field split of the samples" if inner else "the names of the shards"
    unread = problems.on_error != "skip"  # then the index has read each image to its end
    return Reading(base.resolve().name, rows, places.__getitem__, by, (*gaps, *notes), needed=unread)


def _gaps(files: Sequence[Path], ask: Ask, counted: Mapping[Path, int]) -> Iterator[str]:
    """Notes on shards that are missing between others; where their names or a file tell how many there are,
    it is a problem. Splits that are not asked for may lack any. Beside each shard img2dataset leaves what it
    counted in it.
    """
    if lost := sorted(one.name for one in counted.keys() - {*files}):
        ask.problems.add("missing shard", f"missing shards: {_some(lost)}; {GO_ON}")
    marks = [mark for one in files if (mark := NUMBERED.fullmatch(one.relative_to(ask.base).as_posix()))]
    for (name, of, total, end), group in groupby(marks, key=lambda mark: mark.group(1, 3, 4, 5)):
        own, count = {int(mark[2]): mark[2] for mark in group}, ask.base / name / "nshards.txt"
        size = int(total or "".join(re.findall(r"\d+", read_text(count))[:1] if count.is_file() else "") or 0)
        # from 1 where the last of so many is there
        start, stop = (int(size in own), size + int(size in own)) if size else (min(own), max(own))
        lost = sorted({*range(start, stop)} - own.keys())
        # numbers far from each other, as of years, count nothing
        if (size and lost) or 0 < len(lost) < len(own):
            names = [f"{name}{n:0{min(map(len, own.values()))}}{of or ''}{end}" for n in lost]
            said = f"missing shards: {_some(names)}"
            if size and ask.split in ("", "all", said_split(name) or ask.split):
                ask.problems.add("missing shard", f"{said}; {GO_ON}")
            yield said


def _counted(base: Path, ending: str) -> dict[Path, int]:
    """How many samples of each shard img2dataset has counted; 0 = it does not say."""
    counted = {}
    for one in (one for one in base.rglob("*_stats.json") if visible(one, base)):
        said = parse_json(one.read_bytes(), one.name, "is not whole")
        shard = one.with_name(one.name.removesuffix("_stats.json") + ending)
        counted[shard] = int(said.get("successes") or 0) if isinstance(said, dict) else 0
    return counted


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + " ..." * (len(names) > 3)


def _merged(samples: list[Sample], told: list[str]) -> tuple[list[tuple[Sample, str]], int]:
    """The samples with those of one image made one, each with its split, and how many went into others.

    An image is the same where its bytes are, and where a field names it so; without such a field, where the
    samples follow each other. One picture throughout a data set says nothing.
    """
    kept: dict[Any, tuple[Sample, str]] = {}
    alike = len({sample.mark for sample in samples}) == 1
    run, before = 0, ""
    for sample, split in zip(samples, told, strict=True):
        digest, _, name = sample.mark.partition(" ")
        run += digest != before or alike
        before = digest
        key = (split, digest, name or run)
        if key in kept:
            first = kept[key][0]
            new = [text for text in sample.captions if text not in first.captions]
            kept[key] = first._replace(captions=first.captions + new), split
        else:
            kept[key] = sample, split
    return list(kept.values()), len(samples) - len(kept)


def _index(files: Sequence[Path], ask: Ask) -> tuple[list[Sample], tuple[str, ...]]:
    """What lies where, and notes on samples that were left out."""
    identity = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    how = [VERSION, ask.problems.on_error, identity, dict(ask.columns)]
    digest = hashlib.sha256(json.dumps(how).encode()).hexdigest()
    index = cache_folder() / f"shards-{digest[:16]}.jsonl"

    def write(temporary: Path) -> dict[str, Any]:
        found, keys = Problems(ask.problems.on_error), set[str]()
        with temporary.open("w", encoding="utf-8") as lines:
            for number, file in enumerate(files):
                prefix = file.relative_to(ask.base).with_suffix("").as_posix()
                for sample in _samples(file, number, found, ask.columns):
                    if (key := f"{prefix}/{sample.key}") in keys:
                        found.add("repeated key", f"{sample.where}: the key was used before in this shard")
                        continue
                    keys.add(key)
                    lines.write(json.dumps(sample._replace(key=key)) + "\n")
        return {"notes": list(found.notes())}

    notes = cached_file(index, write)["notes"]
    lines = index.read_text(encoding="utf-8").splitlines()
    return [Sample(*json.loads(line)) for line in lines], tuple(notes)


# key, what stands for it in messages, and what reads image, captions, facts and place of a sample
Unread = tuple[str, str, Callable[[], tuple[Any, Any, Mapping[str, Any], tuple[Any, ...]]]]


def _samples(file: Path, number: int, problems: Problems, columns: Columns) -> Iterator[Sample]:
    """The samples of a shard that can be used."""
    for key, said, read in READERS[file.suffix](file, problems, columns):
        where = f"{file.name}, {said}"
        with problems.adding("unreadable text", where):
            image, given, about, place = read()
            with problems.adding("missing caption", where):
                captions = [" ".join(one.split()) for one in texts(given)]
                require(all(captions), f"the captions are {given!r:.80}; expected a text, or a list")
                with problems.adding("missing image", where):
                    image = content(image, file.parent)
                    with problems.adding("corrupt image", where):
                        if problems.on_error == "skip":
                            read_image(image, where, small=True)
                        whole = image if isinstance(image, bytes) else str(image).encode()
                        facts = (f"{name}={about[name]}" for name in MARKS if about.get(name) is not None)
                        mark = f"{hashlib.blake2b(whole, digest_size=12).hexdigest()} {next(facts, '')}"
                        if isinstance(image, Path):
                            place = (str(image.relative_to(file.parent)),)
                        yield Sample(key, where, number, place, captions, str(about.get("split") or ""), mark)


def _tar(file: Path, problems: Problems, columns: Columns) -> Iterator[Unread]:
    members: list[tarfile.TarInfo] = []
    message = "is not a tar file (a compressed one is to be unpacked)"
    with (
        problems.adding("broken shard", file.name),
        reading_errors(file.name, message, tarfile.TarError),
    ):
        require_itself(file, "samples")
        with tarfile.open(file, "r:") as tar, file.open("rb") as opened:
            members += (one for one in tar if one.isfile() and visible(Path(one.name), Path()))
            # where no file follows, an empty block tells the end; a tar that is cut off or damaged lacks it
            opened.seek(tar.offset)
            require(
                opened.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE),
                f"{file.name} breaks off after {members[-1].name if members else 'nothing'}, without the end "
                "of a tar; download or write it again",
            )
    with file.open("rb") as opened:

        def content_of(member: tarfile.TarInfo) -> bytes:
            opened.seek(member.offset_data)
            return opened.read(member.size)

        for stem, group in groupby(members, key=lambda member: _stem(member.name, first=True)):
            for key, parts in _parts(stem, list(group)):
                yield key, key, partial(_of_files, parts, content_of, f"{file.name}, {key}")


def _stem(name: str, *, first: bool = False) -> str:
    """The name of a sample: that of its files up to the first dot or the last one."""
    folder, slash, file = name.removeprefix("./").rpartition("/")
    return folder + slash + (file.partition(".")[0] if first else file.rpartition(".")[0])


def _parts(stem: str, members: Iterable[tarfile.TarInfo]) -> Iterator[tuple[str, dict[str, tarfile.TarInfo]]]:
    """The samples among files whose names are the same up to the first dot, as their files by ending."""
    by_last: dict[str, dict[str, tarfile.TarInfo]] = {}
    for member in members:
        by_last.setdefault(_stem(member.name), {})[Path(member.name).suffix.lower()] = member
    images = [key for key, parts in by_last.items() if parts.keys() & set(endings())]
    whole = by_last.get(stem, {})
    if len(images) > 1 and not (stem in images and whole.keys() & {".txt", ".json"}):
        yield from by_last.items()
    else:
        yield stem, {ending: one for parts in by_last.values() for ending, one in parts.items()} | whole


def _of_files(
    parts: Mapping[str, tarfile.TarInfo], content_of: Callable[[tarfile.TarInfo], bytes], where: str
) -> tuple[Any, Any, Mapping[str, Any], tuple[Any, ...]]:
    """A sample of files by their endings; the ``.json`` holds its facts."""
    image = next((parts[ending] for ending in parts if ending in endings()), None)
    about = parse_json(content_of(parts[".json"]), where) if ".json" in parts else {}
    require(isinstance(about, dict), f"{where}.json: expected an object")
    with reading_errors(where, "holds a text that is not UTF-8"):
        text = content_of(parts[".txt"]).decode("utf-8-sig") if ".txt" in parts else None
    captions = about.get("captions", about.get("caption"))
    if (
        text is not None
        and not isinstance(captions, list)
        and " ".join(text.split()) != " ".join(str(captions).split())
    ):
        captions = [line for line in text.splitlines() if line.strip()] or text
    place = (image.offset_data, image.size, "") if image else ()
    return content_of(image) if image else None, captions, about, place


def _open(file: Path) -> Any:
    import pyarrow
    from pyarrow import parquet

    with reading_errors(file.name, "is not a Parquet file", pyarrow.ArrowException):
        require_itself(file, "samples")
        return parquet.ParquetFile(file)


def _parquet(file: Path, problems: Problems, columns: Columns) -> Iterator[Unread]:
    import pyarrow

    table = _open(file)
    names = table.schema_arrow.names
    at = find_columns(names, file.name, columns)
    wanted = {
        *(one for name in ("image", "caption", "split") for one in at.get(name, ())),
        *(set(MARKS) & set(names)),
    }
    first = 0
    for group in range(table.num_row_groups):
        with reading_errors(file.name, "is damaged", pyarrow.ArrowException):
            records = table.read_row_group(group, columns=sorted(wanted)).to_pylist()
        for row, record in enumerate(records):
            place = (group, row, at["image"][0])
            yield str(first + row), f"row {first + row + 1}", partial(_of_row, record, at, place)
        first += len(records)


def _of_row(
    record: Mapping[str, Any], at: Mapping[str, tuple[str, ...]], place: tuple[Any, ...]
) -> tuple[Any, Any, Mapping[str, Any], tuple[Any, ...]]:
    """A sample of a row, whose other columns are its facts."""
    image = field(record, at["image"])
    named = image.get("path") if isinstance(image, dict) else None
    about = {"filename": named, **record, "split": record.get(*at.get("split", ("",)))}
    return image, field(record, at["caption"]), about, place


def content(given: Any, base: Path) -> bytes | Path:
    """What an image is read from: bytes, a struct that holds them or a path, or a path.

    Raises:
        ValueError: there is no image.
    """
    found = (given.get("bytes") or given.get("path")) if isinstance(given, Mapping) else given
    if isinstance(found, str) and found:
        return base / inside(base, found)
    if not isinstance(found, bytes) or not found:
        raise ValueError(f"there is no image, but {given!r:.60}; expected its bytes, or a path")
    return found


@lru_cache(maxsize=GROUPS)
def _row_group(file: Path, date: int, number: int, column: str) -> Any:
    """The images of a row group of the file as it was at a date."""
    from pyarrow import parquet

    return parquet.ParquetFile(file).read_row_group(number, columns=[column])[column]


READERS: dict[str, Callable[[Path, Problems, Columns], Iterator[Unread]]] = {
    ".tar": _tar, ".parquet": _parquet,
}  # fmt: skip
MEMBER = shards
