"""Flickr30K in Karpathy's split: 31,014 photographs of people and animals in action with five captions each.

Source: Young, Lai, Hodosh, Hockenmaier, "From image descriptions to visual denotations", Transactions of the
ACL 2, 2014.
"""

from typing import Literal

from workbench.data.benchmark import Benchmark
from workbench.data.loader import SHARE, loader
from workbench.records import Split
from workbench.registry import Count, Portion

COUNTS = {"train": (29000, 145000), "val": (1014, 5070), "test": (1000, 5000)}
BENCHMARK = Benchmark(
    "flickr30k",
    "dataset_flickr30k.json",
    {"train": ("train",), "val": ("val",), "test": ("test",)},
    {"train": "train", "val": "dev", "test": "test"},
    COUNTS,
    "Flickr30K is for research use: ask for its photographs on "
    "https://shannon.cs.illinois.edu/DenotationGraph/ and put them into images/, and get "
    "dataset_flickr30k.json from https://cs.stanford.edu/people/karpathy/deepimagesent/; for "
    "source='precomp' get f30k_precomp as described on https://github.com/kuanghuei/SCAN and put its "
    "files into precomp/",
)


@loader(positives=("own",), training=SHARE, counts=COUNTS)
def flickr30k(
    *,
    split: Literal["train", "val", "test"] = "train",
    root: str | None = None,
    source: Literal["photographs", "captions", "precomp", "regions"] = "photographs",
    share: Portion = 1.0,
    share_seed: Count = 0,
    on_error: Literal["raise", "skip"] = "raise",
    complete: bool = True,
) -> Split:
    """Load one split of Flickr30K.

    Args:
        split: ``"train"`` (29,000 images), ``"val"`` (1,014) or ``"test"`` (1,000).
        root: folder with ``dataset_flickr30k.json``, ``images/`` and ``precomp/``, as far as they are needed;
            default ``WORKBENCH_DATA/flickr30k``.
        source: ``"photographs"``, ``"captions"``, ``"precomp"`` or ``"regions"``, as in ``coco``.
        share: of the training images, e.g. 0.1 or 0.25 for a reduced split.
        share_seed: which images a share takes; a run gives its own seed.
        on_error: ``"raise"`` or ``"skip"``, as in ``coco``.
        complete: refuse a copy whose counts are not those of the split.

    Returns:
        The split; image ids are filenames, caption ids are the file's ``sentid``.

    Raises:
        FileNotFoundError: a file is missing; the message says which, and where to ask for it.
        ValueError: a file is damaged, truncated or shuffled; the message names it, and the expected and the
            found.
    """
    return BENCHMARK.load(
        split,
        root=root,
        source=source,
        captions=5,
        share=share,
        seed=share_seed,
        on_error=on_error,
        complete=complete,
    )


MEMBER = flickr30k
