"""What a data set and a protocol mean, so that a number of one's own can be told to compare with printed
ones, or not.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.metrics.published.values import load
from workbench.records.shown import count


@dataclass(frozen=True)
class Protocol:
    """What was measured on.

    Args:
        data: name on the data shelf.
        images, captions: of the test split.
        folds: 1 = one gallery of all; 5 = five galleries of consecutive images, and their mean.
        training: what the rows were trained on where that is not the data set's own training split.
    """

    data: str
    images: int
    captions: int
    folds: int = 1
    training: str = ""

    def __str__(self) -> str:
        folds = (
            ""
            if self.folds == 1
            else f", the mean of {self.folds} galleries of {count(self.images // self.folds, 'image')}"
        )
        training = f", trained on {self.training}" if self.training else ""
        sizes = f"{count(self.images, 'test image')} with {count(self.captions, 'caption')}"
        return f"{self.data}, {sizes}{folds}{training}"


FLICKR, WHOLE, FOLDED = (
    Protocol("flickr30k", 1000, 5000),
    Protocol("coco", 5000, 25000),
    Protocol("coco", 5000, 25000, 5),
)
# Karpathy's splits, five captions an image. What is not listed here (ablations, correlations, reduced
# training sets) is stated by its paper in too few words to be checked by counting.
PROTOCOLS = {
    ("Flickr30K", "1K test"): FLICKR,
    ("Flickr30K", "full data"): FLICKR,
    ("MS-COCO 5K", "full"): WHOLE,
    ("MS-COCO 5K", "full data"): WHOLE,
    ("MS-COCO 1K", "5-fold mean"): FOLDED,
    ("COCO->Flickr30K", "zero-shot"): Protocol("flickr30k", 1000, 5000, training="MS-COCO"),
    ("ECCV Caption", ""): Protocol("eccv_caption", 5000, 25000),
    ("CxC", ""): Protocol("cxc", 5000, 25000),
}


def folds_of(dataset: str, protocol: str, images: int) -> int:
    """In how many galleries to measure one's own numbers, so that they stand beside these rows.

    Args:
        dataset: of the printed rows.
        protocol: of the printed rows.
        images: of one's own test split.

    Returns:
        The protocol's number of folds where the images can be cut into so many equal parts, else 1.

    >>> folds_of("MS-COCO 1K", "5-fold mean", 5000), folds_of("MS-COCO 5K", "full", 5000)
    (5, 1)
    """
    asked = PROTOCOLS.get((dataset, protocol))
    return asked.folds if asked and images % asked.folds == 0 else 1


def why_not(dataset: str, protocol: str, *, data: str, images: int, captions: int, folds: int = 1) -> str:
    """Why a number of one's own does not compare with the rows of a data set and protocol.

    Args:
        dataset: of the printed rows, e.g. ``"MS-COCO 1K"``.
        protocol: of the printed rows, e.g. ``"5-fold mean"``.
        data: name of one's own data set on the data shelf.
        images: images of one's own test split.
        captions: captions of one's own test split.
        folds: as one's own number was measured.

    Returns:
        One sentence; empty where split, counts and folds agree.

    Raises:
        KeyError: nothing is printed for this data set; ValueError: nothing for it under this protocol.

    >>> why_not("MS-COCO 5K", "full", data="coco", images=5000, captions=25000)
    ''
    """
    load(dataset=dataset, protocol=protocol)
    asked = PROTOCOLS.get((dataset, protocol))
    if asked is None:
        return f"the papers do not say enough about {dataset} ({protocol or 'no protocol named'}) to tell what compares with it"
    own = Protocol(data, images, captions, folds, asked.training)
    return "" if own == asked else f"the printed rows are measured on {asked}; yours on {own}"
