"""Selections: the queries behind a number, in a text that pages, Python and the command line share.

The text is the key of a number as tables print it, and what runs answer rightly or wrongly:
``t2i/R@1[language=de]; right in first; wrong in second``. What stands in brackets is the label of a slice. A
label alone, such as ``language=de``, selects its captions. In the address of a page the text follows
``#select=``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import quote

import numpy as np

from workbench.metrics.slices import MACRO, WITHIN
from workbench.records import Mask, MetricKey, Rows, require
from workbench.registry import require_known
from workbench.runs.conditions import slice_masks
from workbench.runs.fields import AllFields
from workbench.runs.result import Result
from workbench.runs.ways import WAYS, Way

USUAL = MetricKey("R", "t2i", k=1)
RIGHT, WRONG = "right", "wrong"
OUTCOME = re.compile(r";\s*(right|wrong) in ")
# what begins a fragment of an address
FRAGMENT = "#select="


@dataclass(frozen=True)
class Selection:
    """The queries behind a number.

    Args:
        key: of the number; its subset is the label of a slice, or empty.
        right: names of runs whose first answer is right.
        wrong: names of runs whose first answer is wrong.
    """

    key: MetricKey = USUAL
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a selection.

        Raises:
            ValueError: it is none; the message shows the form.

        >>> Selection.parse("t2i/R@5[words>9]; wrong in my run")
        Selection(key=MetricKey(metric='R', direction='t2i', judgements='own', k=5, subset='words>9', \
folds=1), right=(), wrong=('my run',))
        >>> str(Selection.parse("language=de"))
        't2i/R@1[language=de]'
        """
        head, *rest = OUTCOME.split(text.strip())
        names: dict[str, list[str]] = {RIGHT: [], WRONG: []}
        for outcome, name in zip(rest[::2], rest[1::2], strict=True):
            names[outcome].append(name.strip())
        return cls(_parse_key(head.strip()), tuple(names[RIGHT]), tuple(names[WRONG]))

    def __str__(self) -> str:
        """Return the text that ``parse`` reads."""
        outcomes = [(RIGHT, name) for name in self.right] + [(WRONG, name) for name in self.wrong]
        return "; ".join([str(self.key), *(f"{outcome} in {name}" for outcome, name in outcomes)])

    @property
    def direction(self) -> Way:
        """Whether images or captions are the queries; of a number of both directions the captions are."""
        return "i2t" if self.key.direction == "i2t" else "t2i"

    @property
    def fragment(self) -> str:
        """The end of an address that opens the selection."""
        return FRAGMENT + quote(str(self), safe="")

    def mask(self, runs: Sequence[Result]) -> Mask:
        """Return ``(queries,)`` which queries of the direction are selected.

        Args:
            runs: open runs of one split.

        Raises:
            KeyError: no such run, or no such judgements.
            ValueError: a slice that cannot be read, or that no query is in.
        """
        split = runs[0].split
        ids = split.image_ids if self.direction == "i2t" else split.caption_ids
        mask = np.ones(len(ids), dtype=bool)
        if self.key.subset:
            masks = slice_masks(split, self.key.subset, fields=AllFields(split, runs[0]))
            mask &= masks[self.direction]
        by_name = {run.name: run for run in runs}
        require_known(f"{split.name} has no judgements", self.key.judgements, split.judgements)
        for name in (*self.right, *self.wrong):
            require_known("no run", name, by_name)
            ranks = by_name[name].ranks(self.direction, self.key.judgements)
            mask &= ranks == 1 if name in self.right else ranks > 1
        return mask

    def rows(self, runs: Sequence[Result]) -> Rows:
        """Return ``(N,)`` rows of the selected queries, see ``mask``."""
        return np.flatnonzero(self.mask(runs))


def _parse_key(text: str) -> MetricKey:
    """Return the key of a number, or the usual one of the slice that a text alone is."""
    if "[" not in text and re.search("[=<>]", text):
        return replace(USUAL, subset=text)
    key = MetricKey.parse(text) if text else USUAL
    what = f"{text!r} asks {key.direction} queries; a selection is of images (i2t) or of captions (t2i)"
    require(key.direction in (*WAYS, ""), what)
    subset = key.subset.removeprefix(WITHIN)
    return replace(key, subset="" if subset.startswith(MACRO) else subset)


def selection_of(label: str) -> Selection | None:
    """Return the selection behind a number of a table; ``None`` where the number has no queries of the whole
    gallery: those of folds, of directions within one kind, and of subsets that are no slices.

    Args:
        label: of the number.
    """
    key = MetricKey.parse(label)
    if key.folds > 1 or key.direction not in (*WAYS, ""):
        return None
    key = _parse_key(label)
    if key.subset and not re.search("[=<>]", key.subset):
        return None
    return Selection(key)
