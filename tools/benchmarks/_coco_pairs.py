"""The captions of MS-COCO's test split as the benchmarks of relevance matrices read them, and pairs to
compare on.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pairs:
    """One caption for each image: every other one its own, the rest drawn at random.

    Args:
        references: captions of each image.
        captions: all of them, image by image.
        own: ``(T,)`` image of each caption.
        sample: ``(I,)`` caption row that each image is compared with.
    """

    references: list[list[str]]
    captions: list[str]
    own: NDArray[np.int64]
    sample: NDArray[np.int64]

    def taken(self, block: slice, scores: NDArray[np.float32], into: NDArray[np.float64]) -> None:
        """Put the scores of the sampled pairs that lie in a block of captions into their places."""
        here = np.flatnonzero((self.sample >= block.start) & (self.sample < block.stop))
        into[here] = scores[here, self.sample[here] - block.start]


def read_pairs() -> Pairs:
    """Read ``coco/karpathy_test_captions.json`` below ``WORKBENCH_DATA``."""
    path = Path(os.environ["WORKBENCH_DATA"]) / "coco" / "karpathy_test_captions.json"
    references = [image["caption"] for image in json.loads(path.read_text(encoding="utf-8"))]
    captions = [caption for image in references for caption in image]
    own = np.repeat(np.arange(len(references)), [len(image) for image in references])
    sample = np.random.default_rng(0).integers(0, len(captions), len(references))
    sample[::2] = np.searchsorted(own, np.arange(0, len(references), 2))
    return Pairs(references, captions, own, sample)
