"""Flickr8k: 8,091 photographs with five captions each, and human judgements of 47,288 image-caption pairs of
the test split; where their file is there too, the scores that experts gave to 5,822 pairs.

Source: Hodosh, Young, Hockenmaier, "Framing image description as a ranking task: data, models and evaluation
metrics", Journal of Artificial Intelligence Research 47, 2013. The judgements are those that its authors
collected from a crowd, and from experts.
"""

from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from workbench.data.benchmark import check_counts
from workbench.data.loader import SHARE, loader
from workbench.data.reading import Problems, Row, find_root, share_of, to_split, usable_rows
from workbench.data.tables import read_token_rows
from workbench.io import read_text, reading_errors
from workbench.records import Judgements, Split, require
from workbench.registry import Count, Portion

CAPTIONS = "Flickr8k.token.txt"
HUMAN = "CrowdFlowerAnnotations.txt"
IMAGES = "images"


class Ratings(NamedTuple):
    """What people said of pairs.

    Args:
        file: with a pair a row: image, caption id and three numbers.
        rule: what a grade is.
        numbers: what the three numbers are.
        grades: how many of them are grades, whose mean is that of the pair.
        least, most: the smallest and the largest grade.
        relevant_from: from which grade on a pair counts as relevant.
    """

    file: str
    rule: str
    numbers: str
    grades: int
    least: int
    most: int
    relevant_from: float


RATINGS = {
    "human": Ratings(
        file=HUMAN,
        rule="share of the judges who said that the caption describes the image",
        numbers="share, yes, no",
        grades=1,
        least=0,
        most=1,
        relevant_from=0.5,
    ),
    "expert": Ratings(
        file="ExpertAnnotations.txt",
        rule="mean of three experts' scores, 1 (does not describe the image) to 4 (does without errors)",
        numbers="three scores",
        grades=3,
        least=1,
        most=4,
        relevant_from=3.0,
    ),
}
LISTS = {
    "train": "Flickr_8k.trainImages.txt",
    "val": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
REMEDY = (
    f"Flickr8k is for research use: get Flickr8k_Dataset.zip (its photographs go into {IMAGES}/) and "
    f"Flickr8k_text.zip (its text files go beside {IMAGES}/) as described on "
    "https://hockenmaier.cs.illinois.edu/Framing_Image_Description/KCCA.html"
)
COUNTS = {"train": (5999, 29995), "val": (1000, 5000), "test": (1000, 5000)}
# The list of training images names 6,000. This one is not in the archive; its captions stand under its name
# plus ".1".
ABSENT = "2258277193_586949ec62.jpg"


@loader(positives=("own",), training=SHARE, counts=COUNTS)
def flickr8k(
    *,
    split: Literal["train", "val", "test"] = "train",
    root: str | None = None,
    share: Portion = 1.0,
    share_seed: Count = 0,
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = False,
    complete: bool = True,
) -> Split:
    """Load one official split of Flickr8k.

    Args:
        split: ``"train"`` (5,999 images), ``"val"`` (1,000; officially "dev") or ``"test"`` (1,000).
        root: folder with the text files and ``images/``; default ``WORKBENCH_DATA/flickr8k``.
        share: of the training images, e.g. 0.1 for a reduced split.
        share_seed: which images a share takes; a run gives its own seed.
        on_error: ``"raise"``, or ``"skip"`` to leave out what is missing, broken, empty or repeated;
            ``Split.notes`` counts it.
        check_images: read every image now; a broken one is otherwise found when it is opened.
        complete: with ``on_error="raise"``, refuse a copy whose counts are not those of the official split.

    Returns:
        The split; the test split carries the judgements ``"human"``, and ``"expert"`` where
        ``ExpertAnnotations.txt`` lies beside the other files.

    Raises:
        FileNotFoundError: a file is missing; the message says what to download.
        ValueError: a row is bad, or the counts are not the official ones.
    """
    needed = [CAPTIONS, LISTS[split], IMAGES, *[HUMAN] * (split == "test")]
    folder = find_root("flickr8k", root, needed, REMEDY)
    path, problems = (folder / IMAGES).joinpath, Problems(on_error)
    listed = read_text(folder / LISTS[split]).split()
    absent: tuple[str, ...] = ()
    if ABSENT in listed and not path(ABSENT).is_file():
        listed.remove(ABSENT)
        absent = (f"{ABSENT} is listed but was never distributed",)
    rows = _rows_of(listed, folder / CAPTIONS, problems)
    rows = usable_rows(rows, path, problems, check_images=check_images)

    require(rows, f"flickr8k: {LISTS[split]} and {CAPTIONS} hold no usable row. {' '.join(problems.notes())}")
    check_counts(f"flickr8k/{split}", rows, COUNTS[split], problems, complete=complete)
    rows, note = share_of(rows, split, share, share_seed)
    judge = partial(rated_judgements, folder) if split == "test" else None
    notes = (*note, *absent, *problems.notes())
    return to_split(f"flickr8k/{split}", rows, path, judge=judge, notes=notes)


def _rows_of(images: list[str], file: Path, problems: Problems) -> list[Row]:
    """Return the captions of these images, in the order of the images; a row is ``image#k<TAB>caption``."""
    rows: dict[str, list[Row]] = {image: [] for image in images}
    for where, record in read_token_rows(file, read_text(file).splitlines(), problems):
        image = record["image"]
        rows.get(image, []).append(Row(where, image, record["caption"].strip(), record["id"]))
    for image, own in rows.items():
        if not own:
            problems.add("image without captions", f"{file.name}: {image} has no caption")
    return list(chain.from_iterable(rows.values()))


def rated_judgements(
    folder: Path, images: Mapping[str, int], captions: Mapping[str, int]
) -> dict[str, Judgements]:
    """Return the judgements of the pairs whose image and caption are both in the split, as far as their files
    are there. A row holds image, caption id and three numbers by tabs. Pairs that are not listed were not
    judged.

    ``"human"``: a pair counts as relevant when at least as many judges, mostly of three, said yes as no:
    2,705 of the 47,288 pairs, 2,012 of them with a caption that was written for another image. ``"expert"``:
    a pair counts as relevant from 3 on, "describes the image with minor errors". Papers that print Kendall's
    tau-c with these scores list each pair three times, once a score; here a pair stands once.

    Args:
        folder: of the files.
        images: row of each image id.
        captions: row of each caption id.

    Raises:
        ValueError: a row does not hold five fields, or a number that is no grade.
    """
    judgements = {}
    shape = (len(images), len(captions))
    for name, ratings in RATINGS.items():
        file = folder / ratings.file
        pairs = []
        lines = read_text(file).splitlines() if file.is_file() else []
        for number, line in enumerate(lines, start=1):
            with reading_errors(
                f"{file.name} row {number}:", f"expected image, caption id, {ratings.numbers}"
            ):
                image, caption, *rest = line.split("\t")
                grades = list(map(float, rest))[: ratings.grades]
                require(len(rest) == 3, f"found {rest}")
                require(ratings.least <= min(grades) <= max(grades) <= ratings.most, f"found {rest}")
                if image in images and caption in captions:
                    pairs.append((images[image], captions[caption], sum(grades) / len(grades)))
        if lines:
            rows, columns, means = np.array(pairs, dtype=np.float64).reshape(-1, 3).T
            image_rows, caption_rows = rows.astype(np.int64), columns.astype(np.int64)
            judgements[name] = Judgements(
                name=name,
                rule=ratings.rule,
                shape=shape,
                images=image_rows,
                captions=caption_rows,
                grades=means.astype(np.float32),
                relevant_from=ratings.relevant_from,
                unlisted=None,
                source=f"{file.name}; Hodosh, Young, Hockenmaier 2013",
            )
    return judgements


MEMBER = flickr8k
