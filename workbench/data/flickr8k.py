"""Flickr8k: 8,091 photographs with five captions each, and human judgements of 47,288 image-caption pairs of
the test split; where their file is there too, the scores that experts gave to 5,822 pairs.

Source: Hodosh, Young, Hockenmaier, "Framing image description as a ranking task: data, models and evaluation
metrics", Journal of Artificial Intelligence Research 47, 2013. The judgements are those that its authors
collected from a crowd, and from experts.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from workbench.data.reading import Problems, Row, check_counts, find_root, good, share_of, to_split
from workbench.data.tables import tokens
from workbench.io import read_text, reading_errors
from workbench.records import Judgements, Split, require
from workbench.registry import Count

CAPTIONS, HUMAN, IMAGES = "Flickr8k.token.txt", "CrowdFlowerAnnotations.txt", "images"
# read where it is there; scores from 1, the caption does not describe the image, to 4, it does without errors
EXPERTS, LOWEST, HIGHEST = "ExpertAnnotations.txt", 1, 4
# judgements of the training split, for ``Config.positives``
POSITIVES = ("own",)
# options that are about the training split alone: an experiment gives them to no other
TRAINING = ("share",)
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


def flickr8k(
    *,
    split: Literal["train", "val", "test"] = "train",
    root: str | None = None,
    share: Annotated[float, Interval(gt=0, le=1)] = 1.0,
    seed: Count = 0,
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = False,
    complete: bool = True,
) -> Split:
    """Load one official split of Flickr8k.

    Args:
        split: ``"train"`` (5,999 images), ``"val"`` (1,000; officially "dev") or ``"test"`` (1,000).
        root: folder with the text files and ``images/``; default ``WORKBENCH_DATA/flickr8k``.
        share: of the training images, e.g. 0.1 for a reduced split.
        seed: which images a share takes.
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
    needed = [CAPTIONS, LISTS[split], IMAGES, *([HUMAN] if split == "test" else [])]
    folder = find_root("flickr8k", root, needed, REMEDY)
    path, problems = (folder / IMAGES).joinpath, Problems(on_error)
    listed = read_text(folder / LISTS[split]).split()
    absent: tuple[str, ...] = ()
    if ABSENT in listed and not path(ABSENT).is_file():
        listed.remove(ABSENT)
        absent = (f"{ABSENT} is listed but was never distributed",)
    kept = good(_of_split(listed, folder / CAPTIONS, problems), path, problems, check_images=check_images)

    def judge(images: Mapping[str, int], captions: Mapping[str, int]) -> dict[str, Judgements]:
        if split != "test":
            return {}
        found = {"human": human(folder / HUMAN, images, captions)}
        rated = (folder / EXPERTS).is_file()
        return found | ({"expert": experts(folder / EXPERTS, images, captions)} if rated else {})

    require(kept, f"flickr8k: {LISTS[split]} and {CAPTIONS} hold no usable row. {' '.join(problems.notes())}")
    if complete and on_error == "raise":
        check_counts(f"flickr8k/{split}", kept, COUNTS[split])
    kept, note = share_of(kept, split, share, seed)
    return to_split(f"flickr8k/{split}", kept, path, judge=judge, notes=(*note, *absent, *problems.notes()))


def _of_split(images: list[str], file: Path, problems: Problems) -> list[Row]:
    """The captions of these images, in the order of the images; a row is ``image#k<TAB>caption``."""
    rows: dict[str, list[Row]] = {image: [] for image in images}
    for where, record in tokens(file, read_text(file).splitlines(), problems):
        image = record["image"]
        rows.get(image, []).append(Row(where, image, record["caption"].strip(), record["id"]))
    for image in (image for image in images if not rows[image]):
        problems.add("image without captions", f"{file.name}: {image} has no caption")
    return [row for image in images for row in rows[image]]


def human(file: Path, images: Mapping[str, int], captions: Mapping[str, int]) -> Judgements:
    """The crowd's judgements of the pairs whose image and caption are both in the split.

    A grade is the share of judges (mostly three) who said that the caption describes the image. A pair counts
    as relevant from one half on, that is when at least as many judges said yes as no: 2,705 of the 47,288
    pairs, 2,012 of them with a caption that was written for another image. Pairs that are not listed were not
    judged.

    Args:
        file: ``CrowdFlowerAnnotations.txt``: image, caption id, share of yes, number of yes, number of no.
        images: row of each image id.
        captions: row of each caption id.

    Raises:
        ValueError: a row does not hold five fields with a share between 0 and 1.
    """
    rule = "share of the judges who said that the caption describes the image"
    return _rated("human", rule, file, images, captions, ("share, yes, no", _share), 0.5)


def _share(share: str, _yes: str, _no: str) -> float:
    """The grade of a row of the crowd's judgements."""
    require(0 <= float(share) <= 1, f"the share {share} is not between 0 and 1")
    return float(share)


def experts(file: Path, images: Mapping[str, int], captions: Mapping[str, int]) -> Judgements:
    """The experts' judgements of the pairs whose image and caption are both in the split.

    A grade is the mean of three scores from 1 to 4; a pair counts as relevant from 3 on, "describes the image
    with minor errors". Papers that print Kendall's tau-c with these scores list each pair three times, once a
    score; here a pair stands once.

    Args:
        file: ``ExpertAnnotations.txt``: image, caption id and three scores, by tabs.
        images: row of each image id.
        captions: row of each caption id.

    Raises:
        ValueError: a row does not hold five fields with scores from 1 to 4.
    """
    rule = "mean of three experts' scores, 1 (does not describe the image) to 4 (does without errors)"
    return _rated("expert", rule, file, images, captions, ("three scores", _mean_score), 3.0)


def _mean_score(*scores: str) -> float:
    """The grade of a row of the experts' judgements."""
    given = [int(score) for score in scores]
    fits = len(given) == 3 and all(LOWEST <= score <= HIGHEST for score in given)
    require(fits, f"the scores {list(scores)} are not three from {LOWEST} to {HIGHEST}")
    return sum(given) / 3


def _rated(
    name: str,
    rule: str,
    file: Path,
    images: Mapping[str, int],
    captions: Mapping[str, int],
    grade: tuple[str, Callable[..., float]],
    relevant_from: float,
) -> Judgements:
    """Judgements from a table of image, caption id and the fields that ``grade`` names and reads; pairs that
    are not listed were not judged.
    """
    expected, of = f"expected image, caption id, {grade[0]}", grade[1]
    pairs: list[tuple[int, int, float]] = []
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        try:
            image, caption_id, *fields = line.split("\t")
            given = of(*fields)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{file.name} row {number}: {expected}; {error}") from error
        if image in images and caption_id in captions:
            pairs.append((images[image], captions[caption_id], given))
    table = np.array(pairs, dtype=np.float64).reshape(-1, 3)
    with reading_errors(file.name, "holds no judgements"):
        return Judgements(
            name=name,
            rule=rule,
            shape=(len(images), len(captions)),
            images=table[:, 0].astype(np.int64),
            captions=table[:, 1].astype(np.int64),
            grades=table[:, 2].astype(np.float32),
            relevant_from=relevant_from,
            unlisted=None,
            source=f"{file.name}; Hodosh, Young, Hockenmaier 2013",
        )


MEMBER = flickr8k
