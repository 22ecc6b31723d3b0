"""What COCO and Flickr30K share: the field's two formats, known counts, and a check that captions stand at
their images.

*Karpathy*: ``images``, each with a filename, a split and its sentences. *Precomputed*: ``{part}_ims.npy``,
``{part}_caps.txt`` and ``{part}_ids.txt`` in one folder. A line of ``_caps.txt`` is a caption, five lines are
an image. ``_ids.txt`` names the image, once a caption or once an image, and ``_ims.npy (N, K, D)`` holds its
regions, once an image or once a caption: all four combinations are in use.

Sources: A. Karpathy, L. Fei-Fei, "Deep visual-semantic alignments for generating image descriptions", CVPR
2015; K.-H. Lee et al., "Stacked cross attention for image-text matching", ECCV 2018, whose regions most
papers use, by P. Anderson et al., "Bottom-up and top-down attention", CVPR 2018.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.data.fields import is_plain
from workbench.data.reading import Problems, Row, find_root, share_of, to_split, usable_rows
from workbench.data.region_files import locate
from workbench.data.rows import path_inside
from workbench.formatting import format_count, format_number
from workbench.io import parse_json, read_array, read_text, validate
from workbench.records import Array, Split, require
from workbench.registry import require_known

PARTS = ("train", "restval", "val", "test")
# what is read of an image and of a sentence of a Karpathy file; tokens are the caption once more
OF_IMAGES = ("split", "filename", "filepath", "sentences", "sentids", "imgid", "cocoid")
OF_SENTENCES = ("raw", "sentid", "imgid", "tokens")
# a path without a drive, an address, a backslash, and parts that are empty or begin with a dot
PLAIN = re.compile(r"(?:[^./\\:~\0][^/\\:\0]*/)*[^./\\:~\0][^/\\:\0]*")


def read_karpathy(
    file: Path, parts: tuple[str, ...], captions: int | None, problems: Problems, folder: Path
) -> tuple[list[Row], dict[str, str]]:
    """Read the images of some parts.

    Args:
        file: ``dataset_coco.json`` or ``dataset_flickr30k.json``.
        parts: of ``PARTS``.
        captions: how many captions of an image are taken, the first ones; ``None`` = all.
        problems: takes what is wrong.
        folder: of the images; their names are brought into one form, see ``path_inside``.

    Returns:
        Rows in the order of the file, with the filename as image id and ``sentid`` as caption id; and where
        the photograph of each image id lies, relative to the folder of the images.

    Raises:
        ValueError: the file breaks off or has another format, or a record is bad; the message names file and
            image.
    """
    rows = []
    paths = {}
    others = [part for part in PARTS if part not in parts]
    for number, content in enumerate(_read_images(file), start=1):
        if isinstance(content, dict) and content.get("split") in others:
            continue
        where = f"{file.name} image {number}"
        with problems.adding("malformed image", where):
            record: _Record = validate(content, _Record, where, "is malformed")
            image, path = _normalise_path(folder, record.filename), _normalise_path(folder, record.path)
            count, least = len(record.sentences), captions or 1
            require(image not in paths, f"{where}: {image} occurs twice")
            require(
                count >= least,
                f"{where}: {image} has too few sentences: expected at least {least}, found {count}",
            )
            paths[image] = path
            about = _other_cells(content, OF_IMAGES)
            pairs = zip(record.sentences[:captions], content["sentences"], strict=False)
            for n, (sentence, written) in enumerate(pairs):
                row_id = f"{image}#{n}" if sentence.sentid is None else str(sentence.sentid)
                more = _other_cells(written, OF_SENTENCES)
                fields = about | more if more else about
                text = " ".join(sentence.raw.split())
                rows.append(Row(where, image, text, row_id, split=record.split, fields=fields))
    return rows, paths


def _other_cells(record: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """Return what an image or a sentence of a Karpathy file has beside what is read, where it is plain."""
    return {name: cell for name, cell in record.items() if name not in known and is_plain(cell)}


@dataclass(frozen=True)
class _Sentence:
    raw: str
    sentid: int | str | None = None
    imgid: int | str | None = None


@dataclass(frozen=True)
class _Record:
    """An image of a Karpathy file."""

    split: Literal["train", "restval", "val", "test"]
    filename: str
    sentences: list[_Sentence]
    filepath: str | None = None
    sentids: list[int | str | None] | None = None
    imgid: int | str | None = None

    def __post_init__(self) -> None:
        ids = [sentence.sentid for sentence in self.sentences]
        other = f"{self.filename} has the sentences of another image: expected"
        require(self.sentids in (None, ids), f"{other} sentids {self.sentids!r:.60}, found {ids!r:.60}")
        images = {sentence.imgid for sentence in self.sentences} - {self.imgid}
        require(not images, f"{other} imgid {self.imgid}, found {images}")

    @property
    def path(self) -> str:
        """Where the photograph lies below the folder of the images."""
        return f"{self.filepath}/{self.filename}" if self.filepath else self.filename


def _normalise_path(folder: Path, name: str) -> str:
    """Return a name of a file below a folder; plain ones, as published files have them, are so already."""
    return name if PLAIN.fullmatch(name) else path_inside(folder, name)


def _read_images(file: Path) -> list[Any]:
    fails = f"is not whole: expected JSON to its end, found {format_count(file.stat().st_size, 'byte')}"
    content = parse_json(file.read_bytes(), file.name, fails)
    images = content.get("images") if isinstance(content, dict) else None
    if not isinstance(images, list):
        raise ValueError(
            f"{file.name}: expected an object with the list 'images', found {type(content).__name__}"
        )
    return images


EACH = 5  # captions of an image
PROBES = 16  # images whose regions are compared
KNOWN = 0.9  # share of the images whose captions the annotations must know


def read_precomp(folder: Path, part: str) -> tuple[list[Row], Array]:
    """Read one part.

    Args:
        folder: holds the three files.
        part: how their names begin, e.g. ``"testall"``.

    Returns:
        Captions, five an image; and regions ``(I, K, D)``, memory-mapped, in the order of the images.

    Raises:
        ValueError: the lengths of the files do not fit together, or the ids say that captions stand at the
            wrong image; the message names file, expected and found.
    """
    captions, ids = _read_lines(folder / f"{part}_caps.txt"), _read_lines(folder / f"{part}_ids.txt")
    name = f"{part}_caps.txt"
    require(
        captions and len(captions) % EACH == 0,
        f"{name}: expected {EACH} lines an image, found {len(captions)} lines",
    )
    images = _image_ids(ids, len(captions), f"{part}_ids.txt")
    rows = []
    for n, text in enumerate(captions):
        image = images[n // EACH]
        rows.append(Row(f"{name} line {n + 1}", image, text.strip(), f"{image}#{n % EACH}"))
    return rows, _read_regions(folder / f"{part}_ims.npy", len(captions))


def _read_lines(file: Path) -> list[str]:
    # only the end of a line ends it: captions hold other characters that splitlines would take for one
    lines = read_text(file).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _image_ids(ids: list[str], captions: int, name: str) -> list[str]:
    """Return ``(I,)`` ids of the images, from a list with one line a caption or one line an image."""
    ids = [line.strip() for line in ids]
    if len(ids) == captions:
        for n, image in enumerate(ids):
            first = ids[n - n % EACH]
            if image != first:
                raise ValueError(
                    f"{name} line {n + 1}: expected {first!r} {EACH} times in a row, found {image!r}; is it "
                    "shuffled?"
                )
        ids = ids[::EACH]
    require(
        len(ids) == captions // EACH,
        f"{name}: expected {captions} lines or {captions // EACH}, as there are captions, found {len(ids)}",
    )
    if len(set(ids)) != len(ids):
        twice = next(image for n, image in enumerate(ids) if image in ids[:n])
        raise ValueError(f"{name}: expected each image once, found {twice!r} at two places; is it shuffled?")
    return ids


def _read_regions(file: Path, captions: int) -> Array:
    """Return ``(I, K, D)`` regions, a view of the file."""
    features = read_array(file, "is not whole: expected an array (N, K, D)")
    images, shape = captions // EACH, features.shape
    fits = len(shape) == 3 and shape[0] in (images, captions)
    expected = f"expected ({images} or {captions}, K, D) for {captions} captions"
    require(fits, f"{file.name}: {expected}, found {shape}")
    if len(features) == images:
        return features
    for image in np.linspace(0, images - 1, min(PROBES, images)).astype(int):
        first = image * EACH
        block = features[first : first + EACH]
        require(
            (block == block[0]).all(),
            f"{file.name}: expected rows {first} to {first + EACH - 1} alike, as regions of one image, found "
            "others; is it shuffled?",
        )
    return features[::EACH]


def with_known_ids(rows: list[Row], known: list[Row], source: str) -> tuple[list[Row], int]:
    """Return rows with the ids that the annotations give to the same captions.

    Captions are compared by their letters and digits, since the files differ in capitals, blanks and
    punctuation.

    Args:
        rows: five an image.
        known: captions of the same split with their ids.
        source: name of the file of ``known``, for the message.

    Returns:
        The rows, and how many images were not found.

    Raises:
        ValueError: more than a tenth of the images has no image with the same captions.
    """
    blocks = [sorted(block, key=_caption_letters) for _, block in groupby(known, lambda row: row.image)]
    by_texts = {tuple(map(_caption_letters, block)): block for block in blocks}
    identified_rows, lost = list(rows), 0
    for start in range(0, len(rows), EACH):
        order = sorted(range(start, start + EACH), key=lambda n: _caption_letters(rows[n]))
        block = by_texts.get(tuple(_caption_letters(rows[n]) for n in order))
        if block is None:
            lost += 1
            continue
        for n, annotated in zip(order, block, strict=True):
            identified_rows[n] = replace(rows[n], image=annotated.image, id=annotated.id)
    images, file = len(rows) // EACH, rows[0].where.split()[0]
    require(
        lost <= (1 - KNOWN) * images,
        f"{file}: expected every {EACH} lines to be the captions of one image of {source}, found "
        f"{images - lost} of {images} images so; is it shuffled, or of another split?",
    )
    return identified_rows, lost


def _caption_letters(row: Row) -> str:
    return "".join(filter(str.isalnum, row.caption.lower()))


# Of COCO's and Flickr8k's captions 93 % and 96 % share more words with their own image's than with the next
# image's, of shuffled ones 31 % and 41 %, and of COCO's moved by one line 76 %.
SIBLINGS = 0.8
LEAST = 50  # images by which the order of captions can be checked
SAMPLE = 500  # images that are checked
IMAGES = "images"
PRECOMP = "precomp"
REGIONS = "regions"
WORD = re.compile(r"[a-z]+")
COMMON = frozenset(["a", "an", "the", "of", "in", "on", "with", "and", "is", "are", "to", "at"])


def check_order(name: str, rows: list[Row]) -> None:
    """Raise if captions are not those of the images they stand at: captions of one image share words.

    Args:
        name: of the split, for the message.
        rows: captions; fewer than 50 images, or an image with a single caption, tell nothing and pass.

    Raises:
        ValueError: too few captions are like the others of their image; the message names file, expected and
            found.
    """
    images = [list(block) for _, block in groupby(rows, lambda row: row.image)]
    if len(images) < LEAST or min(map(len, images)) < 2:
        return
    right = []
    for n in range(0, len(images), max(1, len(images) // SAMPLE)):
        own, other = _word_sets(images[n]), _word_sets(images[n - 1])
        for t, words in enumerate(own):
            siblings = own[:t] + own[t + 1 :]
            right.append(_mean_shared_words(words, siblings) > _mean_shared_words(words, other))
    share = sum(right) / len(right)
    least, percent = (format_number(100 * value, 0) for value in (SIBLINGS, share))
    require(
        share >= SIBLINGS,
        f"{name}, from {rows[0].where.split()[0]}: expected at least {least}% of the captions to share more "
        f"words with the others of their image than with another image's, found {percent}%; the captions are "
        "shuffled or moved",
    )


def _word_sets(rows: list[Row]) -> list[set[str]]:
    return [set(WORD.findall(row.caption.lower())) - COMMON for row in rows]


def _mean_shared_words(caption: set[str], others: list[set[str]]) -> float:
    return sum(len(caption & other) for other in others) / len(others)


# captions, the file of each image, regions where there are any, and facts worth printing
Read = tuple[list[Row], Callable[[str], Path], Any, tuple[str, ...]]


@dataclass(frozen=True)
class Benchmark:
    """A data set in the field's two formats.

    Args:
        name: of the loader and of its folder.
        json: name of the file of the split and its captions.
        parts: parts of that file that make each split.
        files: how the names of the features begin, by split.
        counts: images and captions by split; where an image has more than five captions, those of
            ``captions=None``.
        remedy: what to download and from where.
    """

    name: str
    json: str
    parts: Mapping[str, tuple[str, ...]]
    files: Mapping[str, str]
    counts: Mapping[str, tuple[int, int]]
    remedy: str

    def load(
        self,
        split: str,
        *,
        root: str | None,
        source: str,
        captions: int | None,
        share: float,
        seed: int,
        on_error: str,
        complete: bool,
    ) -> Split:
        """Load one split, checked and cut to the share that is asked for; see ``coco``.

        Raises:
            FileNotFoundError: a file is missing; the message says what to download.
            ValueError: the source has no such split, a file is damaged or misaligned, or the counts are not
                the known ones.
        """
        known = list(self.files if source == PRECOMP else self.parts)
        require_known(f"{self.name}: source {source!r} has no split", split, known, ValueError)
        problems = Problems(on_error)
        if source == PRECOMP:
            captions = EACH
            rows, path, regions, notes = self._read_features(split, root)
        else:
            rows, path, regions, notes = self._read_annotations(split, root, source, captions, problems)
        name, (images, texts) = f"{self.name}/{split}", self.counts[split]
        expected = images, texts if captions is None else images * captions
        check_counts(name, rows, expected, problems, complete=complete)
        check_order(name, rows)
        part, note = share_of(rows, split, share, seed)
        loaded = to_split(name, part, path, notes=(*note, *notes))
        if regions is not None and len(part) < len(rows):
            images_of_rows = pd.Index([row.image for row in rows]).unique()
            regions = regions[images_of_rows.get_indexer(pd.Index(loaded.image_ids))]
        return replace(loaded, regions=regions, open_boxes=getattr(regions, "boxes", None))

    def _read_annotations(
        self, split: str, root: str | None, source: str, captions: int | None, problems: Problems
    ) -> Read:
        """Return the Karpathy file, with or without its photographs, or with regions, one file an image."""
        more = {"photographs": [IMAGES], REGIONS: [REGIONS]}.get(source, [])
        folder = find_root(self.name, root, [self.json, *more], self.remedy)
        rows, paths = read_karpathy(
            folder / self.json, self.parts[split], captions, problems, folder / IMAGES
        )
        files = {image: folder / IMAGES / path for image, path in paths.items()}
        # the captions alone: photographs are looked for when they are opened
        needed = files if source == "photographs" else {}
        rows = usable_rows(rows, needed.get, problems, check_images=False)
        require(
            rows,
            f"{self.json}: expected images of the split {split!r}, found none. {' '.join(problems.notes())}",
        )
        if source != REGIONS:
            return rows, files.__getitem__, None, problems.notes()
        regions = locate(folder / REGIONS, list(dict.fromkeys(row.image for row in rows)))
        return rows, files.__getitem__, regions, (f"regions from {REGIONS}/", *problems.notes())

    def _read_features(self, split: str, root: str | None) -> Read:
        """Return the field's features; captions take their ids from the Karpathy file where it lies beside
        them.
        """
        part, problems = self.files[split], Problems("raise")
        needed = [f"{PRECOMP}/{part}_{kind}" for kind in ("caps.txt", "ids.txt", "ims.npy")]
        folder = find_root(self.name, root, needed, self.remedy)
        rows, regions = read_precomp(folder / PRECOMP, part)
        file, ids = folder / self.json, needed[-2]
        paths: dict[str, str] = {}
        if file.exists() and split in self.parts:
            annotated, paths = read_karpathy(file, self.parts[split], EACH, problems, folder / IMAGES)
            rows, lost = with_known_ids(rows, annotated, file.name)
            ids = f"{file.name}, but for {lost} images whose captions it does not hold"
        # there need not be any photographs: they are looked for when they are opened
        rows = usable_rows(rows, lambda image: None, problems, check_images=False)
        notes = (f"regions from {needed[-1]}; ids from {ids}",)
        return rows, lambda image: folder / IMAGES / paths.get(image, image), regions, notes


def check_counts(
    name: str, rows: Sequence[Row], expected: tuple[int, int], problems: Problems, *, complete: bool
) -> None:
    """Raise if a copy is not complete and nothing may be left out.

    Args:
        name: of the split, for the message.
        rows: all of its rows.
        expected: how many images and captions the published split has.
        problems: where these are skipped, any number will do.
        complete: False = any number will do.

    Raises:
        ValueError: there are more or fewer.
    """
    counts = (len({row.image for row in rows}), len(rows))
    if not complete or problems.on_error == "skip" or counts == expected:
        return
    source = rows[0].where.split()[0] if rows else "empty files"
    images, captions = format_count(expected[0], "image"), format_count(expected[1], "caption")
    raise ValueError(
        f"{name}, from {source}: expected {images} and {captions}, found {format_count(counts[0])} and "
        f"{format_count(counts[1])}; get a whole copy, or say complete=False"
    )
