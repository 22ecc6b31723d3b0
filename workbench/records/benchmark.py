"""What a data set declares of its published scores: which scores of an example have to lie above which
others, and what a resample of the bootstrap draws as a whole.

A set of counterfactual captions is measured by its own scores, and recall over its gallery says nothing: each
image's false captions are in the gallery.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from workbench.records._arrays import Array, Rows
from workbench.registry import require

# directions of comparisons; "" = those of an example are of both
SIDES = ("i2t", "t2i", "t2t", "")


@dataclass(frozen=True)
class Comparisons:
    """The comparisons that decide one score of a benchmark: an example counts where all of its own hold.

    Args:
        metric: name of the score, e.g. ``"text_score"``.
        direction: ``"i2t"``: an image compares captions; ``"t2i"``: a caption compares images; ``"t2t"``: a
            caption compares captions, without any image; ``""``: both of the first two.
        example: ``(N,)`` row of the example that each comparison belongs to.
        above: ``(N, 2)`` rows of the pair that has to score higher: image and caption, or two captions.
        below: ``(N, 2)`` rows of the pair that has to score lower.

    Raises:
        ValueError: an unknown direction, or lengths that differ.
    """

    metric: str
    direction: str
    example: Rows
    above: Rows
    below: Rows

    def __post_init__(self) -> None:
        require(self.direction in SIDES, f"{self.metric}: no direction {self.direction!r} of comparisons")
        shapes = {self.above.shape, self.below.shape, (len(self.example), 2)}
        require(len(shapes) == 1, f"{self.metric}: comparisons have shapes {sorted(shapes)}")

    def keep(self, mask: Array, example: Rows, images: Rows, captions: Rows) -> Self:
        """Return some comparisons with new rows of examples, images and captions."""
        first = captions if self.direction == "t2t" else images
        pairs = []
        for pair in (self.above[mask], self.below[mask]):
            pairs.append(np.stack([first[pair[:, 0]], captions[pair[:, 1]]], axis=1))
        return replace(self, example=example[self.example[mask]], above=pairs[0], below=pairs[1])


@dataclass(frozen=True)
class Benchmark:
    """The published scores of a data set, which are printed in place of recall.

    Args:
        scores: by what each is decided.
        unit: what a resample draws as a whole, in words, e.g. ``"examples"`` or ``"photographs"``.
        drawn_with: ``(E,)`` row of the unit that each example is drawn with.
        kinds: ``(E,)`` kind of each example, e.g. what was exchanged in its caption; empty = one kind.

    Raises:
        ValueError: lengths differ.
    """

    scores: tuple[Comparisons, ...]
    unit: str
    drawn_with: Rows
    kinds: Sequence[str] = ()

    def __post_init__(self) -> None:
        examples = len(self.drawn_with)
        require(len(self.kinds) in (0, examples), f"{len(self.kinds)} kinds of {examples} examples")
        for score in self.scores:
            inside = (score.example >= 0).all() and (score.example < examples).all()
            require(inside, f"{score.metric}: an example lies outside 0..{examples - 1}")

    def restrict(self, images: Rows, captions: Rows) -> Self:
        """Return the examples whose images and captions are all among these rows.

        Args:
            images: ``(I,)`` new row of each image, -1 for those that are left out.
            captions: ``(T,)`` new row of each caption, likewise.
        """
        whole = np.ones(len(self.drawn_with), dtype=bool)
        for score in self.scores:
            first = captions if score.direction == "t2t" else images
            for pair in (score.above, score.below):
                lost = (first[pair[:, 0]] < 0) | (captions[pair[:, 1]] < 0)
                whole[score.example[lost]] = False
        example = np.cumsum(whole) - 1
        scores = [score.keep(whole[score.example], example, images, captions) for score in self.scores]
        _, drawn_with = np.unique(self.drawn_with[whole], return_inverse=True)
        kinds = [kind for kind, is_left in zip(self.kinds, whole) if is_left]
        return replace(self, scores=tuple(scores), drawn_with=drawn_with, kinds=tuple(kinds))
