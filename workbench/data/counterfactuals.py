"""Captions with counterfactuals: texts like them that are false of their image, as ``swaps`` makes them of
any data.

Benchmarks that publish such texts are measured by scores of their own, see ``records.benchmark``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.records import Judgements, Split, require


class Counterfactual(NamedTuple):
    """What stands beside a caption.

    Args:
        row: of the caption.
        text: false of the caption's image.
        kind: what was exchanged.
    """

    row: int
    text: str
    kind: str


def with_counterfactuals(split: Split, counterfactuals: Sequence[Counterfactual]) -> Split:
    """Return the captions of a split followed by counterfactuals, which belong to the images of their
    captions and are right for none; other judgements, graphs, levels and chains are left out.

    Raises:
        ValueError: a counterfactual is empty or its caption itself, or a caption has two of one kind.
    """
    captions, caption_ids = list(split.captions), list(split.caption_ids)
    pairs: dict[str, list[tuple[int, int]]] = {}
    for row, text, kind in counterfactuals:
        wrong = f"{split.name}: the counterfactual of caption {split.caption_ids[row]!r} by {kind} is"
        require(text.strip(), f"{wrong} empty")
        require(text != split.captions[row], f"{wrong} the caption itself")
        pairs.setdefault(kind, []).append((row, len(captions)))
        captions.append(text)
        caption_ids.append(f"{split.caption_ids[row]}, {kind}")
    rows = np.array([each.row for each in counterfactuals], dtype=np.int64)
    own, images = np.concatenate([split.own, split.own[rows]]), len(split.image_ids)
    shape, rule = (len(own), len(own)), "0: a counterfactual of the caption, false of its image"
    judged = {}
    for kind, pairs_of_kind in pairs.items():
        first, second = np.array(pairs_of_kind, dtype=np.int64).T
        judged[kind] = Judgements(kind, rule, shape, first, second, np.zeros(len(first)), unlisted=None)
    right = replace(Judgements.from_own(split.own, images), shape=(images, len(own)))
    return replace(
        split,
        captions=tuple(captions),
        caption_ids=tuple(caption_ids),
        own=own,
        judgements={"own": right},
        counterfactuals=judged,
        fields=split.take_fields(slice(None), np.concatenate([np.arange(len(split.own)), rows])),
        caption_judgements={},
        image_graphs=None,
        caption_graphs=None,
        negatives=None,
        level=None,
        chain=None,
        folds=1,
        grade=None,
    )
