"""From rows that each name an image and a caption to a split; bad rows are raised or skipped on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.data._files import Problems, check_image, opener, require_file
from workbench.records import Judgements, Rows, Split


@dataclass(frozen=True)
class Row:
    """One caption of one image.

    Args:
        where: file and row, for messages, e.g. ``"captions.csv row 7"``.
        image: id of the image.
        caption: the text.
        id: id of the caption.
        level, chain: as in ``Split``, where the captions form chains.
    """

    where: str
    image: str
    caption: str
    id: str
    level: int | None = None
    chain: int | None = None


def good(
    rows: Iterable[Row], path: Callable[[str], Path], problems: Problems, *, check_images: bool
) -> list[Row]:
    """The rows without those whose caption is empty, whose id was seen before, or whose image is missing or
    broken.

    Args:
        rows: all rows.
        path: id of an image -> its file.
        problems: takes what is wrong.
        check_images: read every image to its end; otherwise only see that there is a file.
    """
    images: dict[str, Exception | None] = {}
    seen: dict[str, str] = {}
    kept = []
    for row in rows:
        if row.image not in images:
            images[row.image] = _image_error(path(row.image), row.where, check_images)
        image_error = images[row.image]
        if not row.caption.strip():
            problems.add("empty caption", ValueError(f"{row.where}: the caption of {row.image} is empty"))
        elif row.id in seen:
            problems.add(
                "repeated id",
                ValueError(f"{row.where}: the id {row.id!r} was used before, in {seen[row.id]}"),
            )
        elif image_error is not None:
            kind = "missing image" if isinstance(image_error, FileNotFoundError) else "corrupt image"
            problems.add(kind, image_error)
        else:
            seen[row.id] = row.where
            kept.append(row)
    return kept


def _image_error(path: Path, where: str, check: bool) -> Exception | None:
    try:
        check_image(path, where) if check else require_file(path, where)
    except (FileNotFoundError, ValueError) as error:
        return error
    return None


def to_split(
    name: str,
    rows: list[Row],
    path: Callable[[str], Path],
    *,
    judge: Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, Judgements]] | None = None,
    notes: tuple[str, ...] = (),
) -> Split:
    """The split of these rows; images stand in order of first mention.

    Args:
        name: of the split.
        rows: good rows, at least one.
        path: id of an image -> its file.
        judge: ``(row of each image id, row of each caption id)`` -> judgements besides ``"own"``.
        notes: facts worth printing.
    """
    first = {row.image: row.where for row in reversed(rows)}
    images = {image: number for number, image in enumerate(dict.fromkeys(row.image for row in rows))}
    captions = {row.id: number for number, row in enumerate(rows)}
    return Split(
        name=name,
        image_ids=tuple(images),
        captions=tuple(row.caption for row in rows),
        caption_ids=tuple(captions),
        own=np.array([images[row.image] for row in rows], dtype=np.int64),
        open_image=opener([path(image) for image in images], [first[image] for image in images]),
        level=_column([row.level for row in rows]),
        chain=_column([row.chain for row in rows]),
        judgements=judge(images, captions) if judge else {},
        notes=notes,
    )


def _column(values: list[int | None]) -> Rows | None:
    return None if any(value is None for value in values) else np.array(values, dtype=np.int64)
