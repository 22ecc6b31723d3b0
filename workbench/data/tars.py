"""The samples of a tar as WebDataset writes it: which file is the image, and which holds the captions.

The files of a sample share their name up to the first dot, its key, and stand side by side. Where several
images share it and have texts of their own, the name up to the last dot is the key. The image and the text
are those whose name is the key and one ending; another one is taken only where it is the only one.
"""

import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as fresh
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from workbench.data.columns import Columns, choose_columns, column_of, field, matching_columns
from workbench.data.fields import is_plain
from workbench.data.images import image_endings, is_visible
from workbench.data.reading import Problems
from workbench.data.rows import caption_texts
from workbench.formatting import format_count
from workbench.io import parse_json, reading_errors, require_real_file
from workbench.records import require

RULE = "the files of a sample share their name up to the first dot, and stand side by side"
TEXT, JSON = "txt", "json"
# what the captions of a ``.json`` are called where a text stands beside it
OURS = ("captions", "caption")
# what names the image of a sample, where it is repeated for each caption; and what else is read of a sample
MARKS = ("image_id", "img_id", "imgid", "cocoid", "url", "sha256", "filename", "file_name")
READ = (*MARKS, "split")
# kinds of files that a note lists
LISTED = 6


class Content(NamedTuple):
    """What a sample holds.

    Args:
        image: gives its bytes, or what else stands for it.
        captions: gives them, in whatever form ``caption_texts`` reads.
        facts: by name, such as the split and what names the image.
        place: of the image in its shard, see ``shards.Stored``.
        column: of the captions, for messages.
        fields: cells of what nobody needs, by name.
    """

    image: Callable[[], Any]
    captions: Callable[[], Any]
    facts: Mapping[str, Any]
    place: tuple[Any, ...]
    column: str = "caption"
    fields: Mapping[str, Any] = {}


# key, what stands for it in messages, and what reads the sample
Unread = tuple[str, str, Callable[[], Content]]


@dataclass
class Tally:
    """What was read of samples, and what was not.

    Args:
        files: how many of each kind were not read, by what follows the key in their names.
        names: what the ``.json`` has that was not read and is no field.
        captions: fields of the ``.json`` that captions were read from.
        others: samples whose ``.txt`` and ``.json`` have different captions.
        tables: notes on the columns of Parquet files, by file.
    """

    files: Counter[str] = fresh(default_factory=Counter)
    names: set[str] = fresh(default_factory=set)
    captions: set[str] = fresh(default_factory=set)
    others: int = 0
    tables: dict[str, tuple[str, ...]] = fresh(default_factory=dict)

    def notes(self) -> list[str]:
        """Describe what was not read, in a sentence each."""
        notes: list[str] = []
        alike = len(set(self.tables.values())) == 1
        for file, own in self.tables.items():
            notes += own if alike else [f"{file}: {note}" for note in own]
        if self.captions - {*OURS}:
            notes.append(f"columns: caption = {' and '.join(sorted(self.captions))}")
        if self.files:
            kinds = [f"{count} x .{kind}" for kind, count in self.files.most_common(LISTED)]
            more = f" and {len(self.files) - LISTED} kinds more" * (len(self.files) > LISTED)
            notes.append(f"files of samples that were not read: {', '.join(kinds)}{more}")
        if names := sorted(self.names):
            notes.append(f"fields of .json that were not read: {', '.join(names)}")
        if self.others:
            notes.append(f"{format_count(self.others, 'sample')} with another caption in .json than in .txt")
        return list(dict.fromkeys(notes))


def read_tar(file: Path, problems: Problems, columns: Columns, tally: Tally) -> Iterator[Unread]:
    """List the samples of a tar.

    Args:
        file: not compressed.
        problems: takes what is wrong.
        columns: names by ours; that of the image or the caption may be what follows the key in the name of a
            file, ``{"image": "depth.png"}``, that of the caption also a field of the ``.json``.
        tally: counts what is not read.

    Yields:
        Samples in the order of the tar.
    """
    groups = _files_by_name(_files_of_tar(file, problems))
    places, refused = Counter(stem for stem, _ in groups), set[str]()
    with file.open("rb") as opened:

        def content_of(member: tarfile.TarInfo) -> bytes:
            opened.seek(member.offset_data)
            return opened.read(member.size)

        for stem, group in groups:
            scattered = places[stem] > 1 and not _is_complete(group)
            if scattered:
                if stem in refused:
                    continue  # it is the same sample
                refused.add(stem)
            for key, members in _split_into_samples(stem, group):
                where = f"{file.name}, {key}"
                with problems.adding("unclear sample", where):
                    require(
                        not scattered,
                        f"its files stand in several places of the shard; {RULE}; write it sorted by name",
                    )
                    files = _files_by_ending(key, members)
                    sample = Sample(where, files, _image_ending(files, columns), content_of, columns, tally)
                    yield key, key, sample.read


def _files_of_tar(file: Path, problems: Problems) -> list[tarfile.TarInfo]:
    """Return the files of a tar, in their order."""
    members: list[tarfile.TarInfo] = []
    message = "is not a tar file (a compressed one is to be unpacked)"
    with problems.adding("broken shard", file.name), reading_errors(file.name, message, tarfile.TarError):
        require_real_file(file, "samples")
        with tarfile.open(file, "r:") as tar, file.open("rb") as opened:
            members += (member for member in tar if member.isfile() and _is_visible(member.name))
            # where no file follows, an empty block tells the end; a tar that is cut off or damaged lacks it
            opened.seek(tar.offset)
            last = members[-1].name if members else "nothing"
            require(
                opened.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE),
                f"{file.name} breaks off after {last}, without the end of a tar; download or write it again",
            )
    return members


def _is_visible(name: str) -> bool:
    # to take all names apart would take a fifth of the time
    return ("/." not in f"/{name}" and "__MACOSX" not in name) or is_visible(Path(name), Path())


def _name_before_dot(name: str, *, first: bool = False) -> str:
    """Return the name of a file up to its first dot or its last one."""
    folder, slash, file = name.removeprefix("./").rpartition("/")
    return folder + slash + (file.partition(".")[0] if first else file.rpartition(".")[0])


def _files_by_name(members: Sequence[tarfile.TarInfo]) -> list[tuple[str, list[tarfile.TarInfo]]]:
    """Return files that stand side by side and have the same name up to the first dot, with that name."""
    by_stem = groupby(members, key=lambda member: _name_before_dot(member.name, first=True))
    return [(stem, list(group)) for stem, group in by_stem]


def _is_complete(members: Iterable[tarfile.TarInfo]) -> bool:
    """Return whether files have an image among them, and what may hold its caption."""
    kinds = {_last_ending(member.name) for member in members}
    return bool(kinds & set(image_endings()) and kinds & {f".{TEXT}", f".{JSON}"})


def _last_ending(name: str) -> str:
    """Return what follows the last dot of a name, with that dot."""
    return f".{name.rpartition('.')[2].lower()}"


def _split_into_samples(
    stem: str, members: Sequence[tarfile.TarInfo]
) -> Iterator[tuple[str, Sequence[tarfile.TarInfo]]]:
    """Yield the samples among files whose names are the same up to the first dot: one, or one for each name
    up to the last dot, where several of these have an image, and not that of the first name alone has its
    text.
    """
    named = [
        _name_before_dot(member.name) for member in members if _last_ending(member.name) in image_endings()
    ]
    images = list(dict.fromkeys(named))
    if len(images) < 2:
        yield stem, members
        return
    by_last: dict[str, list[tarfile.TarInfo]] = {}
    for member in members:
        by_last.setdefault(_name_before_dot(member.name), []).append(member)
    whole = [key for key in images if _is_complete(by_last[key])]
    if whole in ([], [stem]):
        yield stem, members
    else:
        yield from by_last.items()


def _files_by_ending(key: str, members: Iterable[tarfile.TarInfo]) -> dict[str, tarfile.TarInfo]:
    """Return files by what follows the key in their names, without its case."""
    files = {}
    for member in members:
        ending = member.name.removeprefix("./")[len(key) + 1 :].lower()
        require(ending not in files, f"{member.name} stands twice in the shard; keep one")
        files[ending] = member
    return files


def _image_ending(files: Mapping[str, tarfile.TarInfo], columns: Columns) -> str:
    """Return what follows the key in the name of the image; ``""`` = there is none."""
    chosen = columns.get("image")
    if chosen:
        return chosen if chosen in files else ""
    images = [ending for ending in files if _last_ending(ending) in image_endings()]
    return _only_candidate(_preferred_endings(images), "image")


def _preferred_endings(endings_of_files: Sequence[str]) -> list[str]:
    """Return those with a single ending, else all."""
    return [ending for ending in endings_of_files if "." not in ending] or list(endings_of_files)


def _only_candidate(candidates: Sequence[str], ours: str) -> str:
    """Return the only candidate; ``""`` = there is none."""
    if len(candidates) > 1:
        raise ValueError(
            f"the files .{' and .'.join(candidates)} may each be the {ours}; keep one, or choose it with "
            f"columns={{{ours!r}: {candidates[0]!r}}}"
        )
    return "".join(candidates)


@dataclass
class Sample:
    """The files of one sample.

    Args:
        where: shard and key, for messages.
        files: by what follows the key in their names.
        image: which of them it is; ``""`` = none.
        content_of: reads a file.
        columns: see ``read_tar``.
        tally: likewise.
    """

    where: str
    files: Mapping[str, tarfile.TarInfo]
    image: str
    content_of: Callable[[tarfile.TarInfo], bytes]
    columns: Columns
    tally: Tally

    def read(self) -> Content:
        """Read all but the image.

        Raises:
            ValueError: a text or the ``.json`` cannot be read.
        """
        facts = self._read_facts()
        candidates = self._text_endings(facts)
        lines = self._read_lines(candidates[0]) if len(candidates) == 1 else []
        if not "".join(lines).strip() and matching_columns(facts, "caption"):
            candidates = []  # an empty text counts as not given
        member = self.files.get(self.image)
        place = (member.offset_data, member.size, "") if member else ()
        likely = matching_columns(facts, "caption")
        column = self.columns.get("caption") or (likely or ["caption"])[0]
        known = {*READ, *likely, column_of(column, list(facts)), self.columns.get("split")}
        fields = {name: cell for name, cell in facts.items() if name not in known and is_plain(cell)}
        captions = partial(self._read_captions, facts, fields, candidates, lines)
        return Content(self._open_image, captions, facts, place, column, fields)

    def _open_image(self) -> bytes:
        wanted = self.columns.get("image") or "image"
        require(self.image, f"there is no {wanted}, but {self._file_names()}; {RULE}")
        return self.content_of(self.files[self.image])

    def _file_names(self) -> str:
        return " and ".join(member.name for member in self.files.values())

    def _read_facts(self) -> dict[str, Any]:
        """Return what the ``.json`` says; what is empty or ``null`` there counts as not given."""
        if JSON not in self.files:
            return {}
        about = parse_json(self.content_of(self.files[JSON]), self.where)
        require(isinstance(about, dict), f"{self.where}.json: expected an object")
        facts = {name: value for name, value in about.items() if value not in (None, "", [])}
        if "split" in self.columns:
            chosen = self.columns["split"]
            facts["split"] = field(facts, (chosen,)) if chosen else None
        return facts

    def _text_endings(self, facts: Mapping[str, Any]) -> list[str]:
        """Return the files that may hold the captions, by what follows the key; none where the ``.json``
        does.
        """
        chosen = self.columns.get("caption")
        if chosen:
            return [chosen] if chosen in self.files else []
        candidates = _preferred_endings(
            [ending for ending in self.files if _last_ending(ending) == f".{TEXT}"]
        )
        listed = any(isinstance(facts.get(name), list) for name in OURS)
        in_json = listed or (len(candidates) > 1 and matching_columns(facts, "caption"))
        return [] if in_json else candidates

    def _read_lines(self, ending: str) -> list[str]:
        """Return the captions of a text, a line each."""
        with reading_errors(self.where, "holds a text that is not UTF-8"):
            text = self.content_of(self.files[ending]).decode("utf-8-sig")
        return [line for line in text.splitlines() if line.strip()] or [text]

    def _read_captions(
        self,
        facts: Mapping[str, Any],
        fields: Mapping[str, Any],
        candidates: Sequence[str],
        lines: list[str],
    ) -> Any:
        """Return the captions, in whatever form ``caption_texts`` reads."""
        ending = _only_candidate(candidates, "caption")
        if ending:
            there = [name for name in OURS if name in facts]
            names = tuple(name for name in there if _matches_lines(facts[name], lines))
            captions = facts[names[0]] if names else lines
            self.tally.others += bool(there) and not names
        else:
            names = self._caption_fields(facts)
            captions = field(facts, names)
            self.tally.captions.update(names)
            ending = TEXT if TEXT in self.files and self._adds_nothing(captions) else ""
        read = {column_of(name, list(facts)) for name in names}
        self.tally.files.update(self.files.keys() - {self.image, ending, JSON})
        self.tally.names.update(facts.keys() - {*fields, *read, *READ, self.columns.get("split")})
        return captions

    def _adds_nothing(self, captions: Any) -> bool:
        """Return whether the text says nothing that the captions of the ``.json`` do not say."""
        known = {" ".join(text.split()) for text in caption_texts(captions)}
        return {" ".join(line.split()) for line in self._read_lines(TEXT)} <= {*known, ""}

    def _caption_fields(self, facts: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the fields of the ``.json`` that hold the captions."""
        chosen, names = self.columns.get("caption"), list(facts)
        if not (column_of(chosen, names) if chosen else matching_columns(names, "caption")):
            there = self._file_names()
            if names:
                there += f", and .json has {', '.join(names)}: choose one with columns={{'caption': ...}}"
            raise ValueError(f"there is no {chosen or 'caption'}, but {there}; {RULE}")
        if chosen:
            return (chosen,)
        if set(OURS) <= set(names) and facts["caption"] in caption_texts(facts["captions"]):
            return ("captions",)
        # a name of ours goes before others where the image is known, as it is here
        return choose_columns(("image", *names), f"{self.where}.json", "caption", {})


def _matches_lines(value: Any, lines: Sequence[str]) -> bool:
    """Return whether a field of the ``.json`` says what the lines of a text say."""
    return " ".join(str(value).split()) == " ".join(" ".join(lines).split())
