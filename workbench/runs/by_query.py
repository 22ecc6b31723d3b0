"""The values by query that a run keeps, with what they were measured on, known by content. Two runs are
compared by them, and a run that is opened is held against its data. Nothing here needs torch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from workbench.formatting import format_count
from workbench.io import NUMPY_ERRORS, reading_errors, replacing
from workbench.records import MetricKey
from workbench.records.measurement import FIRST, headline
from workbench.runs.store import VALUES, Run, verify_files

if TYPE_CHECKING:
    from workbench.metrics.comparison import Difference
    from workbench.records import Rows, Split, Values

STAMPS = ("caption_stamps", "image_stamps")
COUNTERFACTUALS = "/counterfactual_accuracy["


@dataclass(frozen=True)
class ByQuery:
    """The values by query that a run keeps: what its numbers are the means (or another statistic) of.

    Args:
        image_ids: ``(I,)``; caption_ids: ``(T,)``.
        own: ``(T,)`` image row of each caption.
        values: key -> values as ``metrics.intervals.Draws`` reads them, NaN = the query does not count.
        caption_stamps: ``(T,)`` checksum of the text of each caption; ``None`` in runs of older versions.
        image_stamps: ``(I,)`` checksum of what each image is read from, 0 = not known; likewise.
        drawn_with: ``(E,)`` row of the unit that each example of a benchmark is drawn with; ``None`` = the
            values are those of images and captions.
    """

    image_ids: tuple[str, ...]
    caption_ids: tuple[str, ...]
    own: "Rows"
    values: "Mapping[str, Values]"
    caption_stamps: "Rows | None" = None
    image_stamps: "Rows | None" = None
    drawn_with: "Rows | None" = None

    @classmethod
    def from_split(cls, split: "Split", values: "Mapping[str, Values]") -> Self:
        """Take values with what they were measured on."""
        stamps = split.caption_stamps(), split.stamps()
        drawn_with = split.benchmark.drawn_with if split.benchmark else None
        return cls(split.image_ids, split.caption_ids, split.own, values, *stamps, drawn_with)

    def write(self, folder: Path | str) -> None:
        """Write ``values.npz``: the ids, ``own``, the checksums, and an array a number under its key."""
        import numpy as np  # slow to import

        about: dict[str, Any] = {name: array for name, array in vars(self).items() if array is not None}
        arrays = {**about.pop("values"), **about}
        with replacing(Path(folder) / VALUES) as temporary:
            np.savez_compressed(temporary, **arrays)

    @classmethod
    def read(cls, folder: Path | str) -> Self | None:
        """Return what a run folder keeps; ``None`` = nothing, as in runs of older versions.

        Raises:
            ValueError: the file is truncated or foreign; the message names it.
        """
        if not (file := Path(folder) / VALUES).is_file():
            return None
        import numpy as np  # slow to import

        verify_files(Path(folder), file)
        with reading_errors(file, "cannot be read", *NUMPY_ERRORS):
            values = dict(np.load(file))
            images, captions = (tuple(values.pop(f"{side}_ids").tolist()) for side in ("image", "caption"))
            more = [values.pop(name, None) for name in (*STAMPS, "drawn_with")]
            return cls(images, captions, values.pop("own"), values, *more)

    def has_same_rows(self, other: "ByQuery | Split") -> bool:
        """Return whether images and captions have the same ids, in one order, and the captions the same
        images.
        """
        ids = (self.image_ids, self.caption_ids) == (other.image_ids, other.caption_ids)
        return ids and self.own.tolist() == other.own.tolist()

    def changes(self, split: "Split", *, part: bool = False) -> str:
        """Return what of a split is not as it was when the values were measured, in words; empty = nothing.

        Args:
            split: of the same data.
            part: whether it holds some of the images alone.
        """
        rows = (
            _common_rows(split.image_ids, self.image_ids),
            _common_rows(split.caption_ids, self.caption_ids),
        )
        names = ("image", "caption")
        sides = zip(names, rows, (split.image_ids, split.caption_ids), (self.image_ids, self.caption_ids))
        words = []
        for name, places, now, before in sides:
            new = [item for item in now if item not in places]
            lost = [] if part else [item for item in before if item not in places]
            words += [_describe_changes(new, name, "new"), _describe_changes(lost, name, "no longer there")]
        images, captions = rows
        moved = [
            item
            for item, (row, old) in captions.items()
            if split.image_ids[split.own[row]] != self.image_ids[self.own[old]]
        ]
        words.append(_describe_changes(moved, "caption", "of another image"))
        words.append(
            _describe_changes(
                _changed_ids(captions, split.caption_stamps(), self.caption_stamps), "caption", "another text"
            )
        )
        words.append(
            _describe_changes(
                _changed_ids(images, split.stamps(), self.image_stamps), "image", "another content"
            )
        )
        if not (any(words) or part or self.has_same_rows(split)):
            words.append("another order")
        return "; ".join(filter(None, words))


def changed_since(folder: Path | str, split: "Split") -> str:
    """Return what of a split is not as it was when a run was measured, in words; empty = nothing, or the run
    keeps nothing that tells.

    Args:
        folder: of the run.
        split: of its own data.
    """
    by_query = ByQuery.read(folder)
    return by_query.changes(split) if by_query else ""


def _common_rows(now: Sequence[str], before: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the rows of the ids that stand in both."""
    old = {item: row for row, item in enumerate(before)}
    return {item: (row, old[item]) for row, item in enumerate(now) if item in old}


def _changed_ids(places: Mapping[str, tuple[int, int]], now: Any, before: Any) -> list[str]:
    """Return the ids whose checksums differ; 0 and no checksums at all are not known."""
    if before is None:
        return []
    pairs = ((item, int(now[row]), int(before[old])) for item, (row, old) in places.items())
    return [item for item, first, second in pairs if first != second and first and second]


def _describe_changes(ids: Sequence[str], name: str, what: str) -> str:
    return f"{format_count(len(ids), name)} {what} ({ids[0]!r})" if ids else ""


def usual_numbers(labels: Iterable[str]) -> list[str]:
    """Choose the numbers by which runs are compared where nobody names others: RSUM and R@1 by the own pairs,
    mAP@R by the densest judgements, the accuracies on counterfactuals, and metrics that somebody asked for.

    Every comparison takes these, so that one pair of runs has the same intervals in each.

    Args:
        labels: of all numbers that the runs have.

    >>> usual_numbers(["rsum", "i2t/R@1", "i2t/R@5", "i2t/recall@1", "i2t/counterfactual_accuracy[things]"])
    ['rsum', 'i2t/R@1', 'i2t/counterfactual_accuracy[things]']
    """
    from workbench.metrics import usual_names

    known, chosen = list(labels), list[str]()
    for label in headline(known, usual=usual_names()):
        key = MetricKey.parse(label)
        if key.k in (None, 1) or key.metric not in FIRST:
            chosen.append(label)
    return list(dict.fromkeys([*chosen, *(label for label in known if COUNTERFACTUALS in label)]))


def paired_differences_of(
    first: Run, second: Run, keys: Sequence[str], *, read: Callable[[Path], ByQuery | None] = ByQuery.read
) -> "list[Difference]":
    """Return the second run held against the first on the same queries, by the values that both keep: no
    model is opened.

    Args:
        first: the run that the other is held against.
        second: the other.
        keys: numbers to compare, e.g. ``usual_numbers`` of those that the runs keep. All of them are
            adjusted together. Those that a run does not keep are left out, and those that count other
            queries in either run, such as a share of the run's own errors.
        read: gives the values by query of a folder; who compares many pairs keeps what was read.

    Returns:
        One comparison a number; empty where a run keeps no values by query, or the runs were measured on
        different images or captions, or on captions of other images.
    """
    from workbench.metrics import comparison
    from workbench.metrics.declared import draws_of_units
    from workbench.metrics.intervals import Draws

    before, after = read(first.folder), read(second.folder)
    if before is None or after is None or not before.has_same_rows(after):
        return []
    undefined, other_undefined = _undefined_masks(before), _undefined_masks(after)
    both = [key for key in keys if key in undefined and undefined[key] == other_undefined.get(key)]
    name, other_name = first.id, second.id
    if name == other_name:
        name, other_name = str(first.folder), str(second.folder)
    values = {key: {name: before.values[key], other_name: after.values[key]} for key in both}
    draws = Draws(before.own, len(before.image_ids))
    if before.drawn_with is not None:
        draws = draws_of_units(before.drawn_with, "")
    return comparison.paired_differences(values, name, draws)


def _undefined_masks(by_query: ByQuery) -> dict[str, bytes]:
    """Return which queries have no value, by number."""
    # NaN alone differs from itself
    return {key: (values != values).tobytes() for key, values in by_query.values.items()}
