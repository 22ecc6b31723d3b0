"""A card: a YAML file that declares a data set of one's own, so that others measure on the same split.

It says how the files are read, by which rules they are measured, and in ``frozen`` which images and captions
there were, each with a checksum. Whoever loads a card is told what differs from that. Other forms of a card
come from entry points of the group ``workbench.cards``: each is called as the field that tells it, and gives
the loader of a file.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from workbench.data.loader import Loader, loader
from workbench.data.opening import loader_at
from workbench.data.reading import Name
from workbench.formatting import format_count, format_some
from workbench.io import read_options, resolve_input, validate
from workbench.records import Split, require
from workbench.registry import make

SUFFIXES = (".yaml", ".yml")
GROUP = "workbench.cards"
# a field that every form of a card has
MARK = "task"
HEAD = ("of", "id", "checksum")
# what only its owner knows
OF_OWNER = ("licence", "url", "citation", "bias")


class Card(BaseModel):
    """What a card says.

    Args:
        name: of the data.
        title: the same in words.
        task: ``"retrieval"``.
        licence, url, citation, bias: to be filled by the owner: terms, where to get the files, how to cite
            them, and what is known to be wrong with them.
        read: options of ``opening.loader_at``: the split, the layout and the files.
        files: that hold the captions, below the folder of the card.
        unit: what a resample draws as a whole.
        ties: how equal scores count.
        chance: of each usual number, in percent.
        frozen: a table with commas: ``of`` (image or caption), ``id`` and ``checksum``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    task: Literal["retrieval"]
    licence: str = ""
    url: str = ""
    citation: str = ""
    bias: str = ""
    read: dict[str, Any]
    files: tuple[str, ...] = ()
    unit: str
    ties: str
    chance: dict[str, float]
    frozen: str


def is_card(content: Any) -> bool:
    """Return whether the values of a YAML file are those of a card."""
    return isinstance(content, dict) and MARK in content


def loader_of(file: Path) -> Loader:
    """Return the loader of a card.

    Args:
        file: the card.

    Raises:
        ValueError: the file is no card; the message names what is wrong.
    """
    content = read_options(file)
    require(is_card(content), f"{file.name} is no card of data: it has no {MARK}")
    for entry in entry_points(group=GROUP):
        if entry.name in content:
            other: Loader = entry.load()(file)
            return other
    card: Card = validate(content, Card, file.name, "is no card of data")

    @loader(about=card.title)
    def load(
        *, split: Name = "", root: str = "", check_images: bool = False, require_images: bool = True
    ) -> Split:
        """Load the split that a card declares.

        Args:
            split: that of the card, or empty.
            root: folder of the files; empty = that of the card.
            check_images: read every image now.
            require_images: whether images have to be there; vectors of them need none.
        """
        own = card.read.get("split", "")
        require(split in ("", own), f"{file.name} is of the split {own!r}; leave split={split!r} out")
        folder = resolve_input(root) if root else file.parent
        options = {**card.read, "check_images": check_images, "require_images": require_images}
        read = _read_what_is_there(card, file, loader_at(folder), options)
        return compare_with_frozen(replace(read, name=f"{card.name}/{own or 'all'}"), card.frozen, file.name)

    return load


def _read_what_is_there(card: Card, file: Path, load: Loader, options: dict[str, Any]) -> Split:
    """Return the data of a card, without rows that cannot be used, which its notes count."""
    what = f"{file.name}: read"
    try:
        split: Split = make(what, load, options)
    except FileNotFoundError as error:
        source = card.url or "the author of the card"
        remedy = f"name the folder of the files with root=..., or get them from {source}"
        try:
            split = make(what, load, {**options, "on_error": "skip"})
        except (FileNotFoundError, ValueError):
            raise FileNotFoundError(f"{file.name}: {error}; {remedy}") from None
    empty = [name for name in OF_OWNER if not getattr(card, name)]
    unsaid = (f"{file.name} does not say its {', '.join(empty)}",) if empty else ()
    return replace(split, notes=(*split.notes, *unsaid))


def freeze(split: Split) -> str:
    """Return the ids of a split with their checksums as a table with commas, see ``Card.frozen``.

    Args:
        split: any. The checksum of an image is that of ``Split.stamps``, empty where it is not known; that of
            a caption is of its text and its image.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for name, checksum in zip(split.image_ids, _image_sums(split), strict=True):
        writer.writerow(("image", name, checksum))
    for name, checksum in zip(split.caption_ids, _caption_sums(split), strict=True):
        writer.writerow(("caption", name, checksum))
    return text.getvalue()


def _image_sums(split: Split) -> list[str]:
    sums = [f"{stamp:016x}" for stamp in split.stamps().view(np.uint64)]
    unknown = f"{0:016x}"
    return [checksum.replace(unknown, "") for checksum in sums]


def _caption_sums(split: Split) -> list[str]:
    sums = []
    for caption, image in zip(split.captions, split.own, strict=True):
        content = f"{split.image_ids[image]}\n{caption}".encode()
        sums.append(hashlib.blake2b(content, digest_size=8).hexdigest())
    return sums


def compare_with_frozen(split: Split, frozen: str, file: str) -> Split:
    """Return a split without what its card does not have, and with a note on each kind of difference.

    Args:
        split: as it was read.
        frozen: of the card.
        file: name of the card, for notes.

    Raises:
        ValueError: the table is malformed, or nothing of it is left.
    """
    known = _read_frozen(frozen, file)
    images = dict(zip(split.image_ids, _image_sums(split), strict=True))
    captions = dict(zip(split.caption_ids, _caption_sums(split), strict=True))
    notes = [
        *_differences("image", known["image"], images, file),
        *_differences("caption", known["caption"], captions, file),
    ]
    keep = np.array([name in known["caption"] for name in captions])
    keep &= np.array([name in known["image"] for name in images])[split.own]
    require(keep.any(), f"{file}: no caption that it froze is left; {'; '.join(notes)}")
    if not notes:
        many = f"{format_count(len(images), 'image')}, {format_count(len(captions), 'caption')}"
        notes = [f"as {file} froze it: {many}"]
    if not keep.all():
        split = split.restrict(np.unique(split.own[keep]), np.flatnonzero(keep))
    return replace(split, notes=(*split.notes, *notes))


def _read_frozen(frozen: str, file: str) -> dict[str, dict[str, str]]:
    """Return the checksums of images and captions by their ids."""
    known: dict[str, dict[str, str]] = {"image": {}, "caption": {}}
    rows = list(csv.reader(io.StringIO(frozen)))
    require(rows and tuple(rows[0]) == HEAD, f"{file}: frozen does not begin with {','.join(HEAD)}")
    for number, row in enumerate(rows[1:], start=1):
        fits = len(row) == len(HEAD) and row[0] in known
        require(
            fits, f"{file}: frozen row {number} is {','.join(row)!r:.60}, not image or caption,id,checksum"
        )
        known[row[0]][row[1]] = row[2]
    return known


def _differences(of: str, known: dict[str, str], there: dict[str, str], file: str) -> Iterable[str]:
    """Yield a line each on what changed, what is missing and what is more."""
    changed = [name for name, checksum in there.items() if _is_other(known.get(name), checksum)]
    missing = [name for name in known if name not in there]
    more = [name for name in there if name not in known]
    yield from _line(changed, of, f"changed since {file} was written")
    yield from _line(missing, of, f"of {file} missing here")
    yield from _line(more, of, f"that {file} does not have, left out")


def _is_other(known: str | None, checksum: str) -> bool:
    """Return whether two checksums are known and differ."""
    return bool(known and checksum) and known != checksum


def _line(names: Sequence[str], of: str, what: str) -> Iterable[str]:
    if names:
        yield f"{format_count(len(names), of)} {what}: {format_some(names)}"
