"""MS-COCO in Karpathy's split: photographs of everyday scenes with five captions each.

Source: Lin et al., "Microsoft COCO: common objects in context", ECCV 2014; Chen et al., "Microsoft COCO
captions", 2015; split of Karpathy, Fei-Fei, "Deep visual-semantic alignments for generating image
descriptions", CVPR 2015.
"""

from dataclasses import replace
from typing import Literal

from workbench.data.benchmark import Benchmark
from workbench.data.loader import SHARE, loader
from workbench.records import Split
from workbench.registry import Count, Natural, Portion

COUNTS = {
    "train": (113287, 566747),
    "train2014": (82783, 414113),
    "val": (5000, 25010),
    "test": (5000, 25010),
    "test_1k": (1000, 5000),
}
# a split of so many images is also read as so many galleries, the 1K protocol
FOLDED, FOLDS = 5000, 5
BENCHMARK = Benchmark(
    name="coco",
    json="dataset_coco.json",
    parts={"train": ("train", "restval"), "train2014": ("train",), "val": ("val",), "test": ("test",)},
    files={"train": "train", "val": "dev", "test": "testall", "test_1k": "test"},
    counts=COUNTS,
    remedy=(
        "Get dataset_coco.json from https://cs.stanford.edu/people/karpathy/deepimagesent/ and the "
        "photographs train2014 and val2014 from https://cocodataset.org/#download, which go into "
        "images/train2014/ and images/val2014/; for source='precomp' get SCAN's coco_precomp as described on "
        "https://github.com/kuanghuei/SCAN and put its files into precomp/"
    ),
)


@loader(positives=("own",), training=SHARE, counts=COUNTS)
def coco(
    *,
    split: Literal["train", "train2014", "val", "test", "test_1k"] = "train",
    root: str | None = None,
    source: Literal["photographs", "captions", "precomp", "regions"] = "photographs",
    captions: Natural | None = 5,
    share: Portion = 1.0,
    share_seed: Count = 0,
    on_error: Literal["raise", "skip"] = "raise",
    complete: bool = True,
) -> Split:
    """Load one split of MS-COCO.

    Args:
        split: ``"train"`` (113,287 images: Karpathy's train and restval, as everybody trains),
            ``"train2014"`` (82,783, without restval), ``"val"`` or ``"test"`` (5,000 each); of the features
            also ``"test_1k"`` (their file ``test``).
        root: folder with ``dataset_coco.json``, ``images/`` and ``precomp/``, as far as they are needed;
            default ``WORKBENCH_DATA/coco``.
        source: ``"photographs"``; ``"captions"``: the JSON file alone, photographs are looked for when they
            are opened; ``"precomp"``: captions and regions as the field shares them, in ``Split.regions``,
            memory-mapped; ``"regions"``: the JSON file, and in ``regions/`` one ``.npy`` or ``.npz`` an
            image, named as the photograph or by its number, see ``region_files``.
        captions: how many captions of an image are taken. The first five are the protocol of every published
            number: 25,000 in test. ``None`` = all, 25,010. The features always come with five.
        share: of the training images, e.g. 0.05 for a reduced split. The regions of a share are read into
            memory.
        share_seed: which images a share takes; a run gives its own seed.
        on_error: ``"raise"``, or ``"skip"`` to leave out bad or missing images; ``Split.notes`` counts them.
        complete: with ``on_error="raise"``, refuse a copy whose counts are not those of the split.

    Returns:
        The split; image ids are filenames, caption ids are COCO's (``sentid``). Features without the JSON
        file beside them have the ids of ``_ids.txt``, and captions are numbered within their image.

    Raises:
        FileNotFoundError: a file is missing; the message says what to download.
        ValueError: a file is damaged, truncated or shuffled; the message names it, and what was expected and
            found.
    """
    loaded = BENCHMARK.load(
        split,
        root=root,
        source=source,
        captions=captions,
        share=share,
        seed=share_seed,
        on_error=on_error,
        complete=complete,
    )
    return replace(loaded, folds=FOLDS) if len(loaded.image_ids) == FOLDED else loaded


MEMBER = coco
