"""What people decide about candidates: valid, invalid or unsure, in one file that is whole at any time.

Every label is on the disk before ``give`` returns: the file is written beside the old one and takes its
place. A killed process loses nothing, and whoever opens the file later goes on where it stopped. Several
annotators may share a file: a change waits for the others' (by a lock file beside it, which works on every
system and on shared disks) and starts from what is on the disk.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from filelock import FileLock

from workbench.io import parse_json, read_text, validate, write_json
from workbench.records import require

VALID, INVALID = "valid", "invalid"
UNSURE = "unsure"
LABELS = (VALID, INVALID, UNSURE)
FORMAT = "workbench labels 1"
Pair = tuple[str, str]


@dataclass(frozen=True)
class Decision:
    """One label that somebody gave.

    Args:
        image, caption: ids of the pair.
        label: ``"valid"`` (the caption describes the image), ``"invalid"`` or ``"unsure"``.
        annotator: who says so.
        at: when, in UTC.
    """

    image: str
    caption: str
    label: str
    annotator: str
    at: str

    def __post_init__(self) -> None:
        texts = all(isinstance(value, str) for value in vars(self).values())
        require(texts, f"a label is made of texts, not of {vars(self)}")
        require(self.label in LABELS, f"label {self.label!r} is none of {', '.join(LABELS)}")
        require(self.annotator.strip(), "a label has no annotator; name one")

    @property
    def pair(self) -> Pair:
        """Ids of the image and the caption."""
        return self.image, self.caption


class Labels:
    """The labels of a file, opened by one annotator.

    Args:
        path: the file; a missing one is made at the first label.
        annotator: whose name new labels bear.

    Raises:
        ValueError: no name, or the file holds something else.
    """

    def __init__(self, path: Path | str, annotator: str) -> None:
        require(annotator.strip(), "the annotator has no name; give one, since each label is kept with it")
        self.path, self.annotator = Path(path), annotator
        self._decisions = _read_decisions(self.path)

    def add(self, image: str, caption: str, label: str) -> None:
        """Label a pair; a later label of the same annotator takes the place of an earlier one.

        Raises:
            ValueError: the label is none of ``valid``, ``invalid``, ``unsure``.
        """
        self.add_all([(image, caption, label)])

    def add_all(self, labels: Iterable[tuple[str, str, str]]) -> None:
        """Label many pairs ``(image, caption, label)`` at once; either all are kept or none."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        new = [Decision(image, caption, label, self.annotator, at) for image, caption, label in labels]
        with self._lock():
            self._write([*_read_decisions(self.path), *new])

    def undo(self) -> Decision | None:
        """Take back this annotator's last label; an earlier one of the same pair holds again. ``None`` =
        there was none.
        """
        with self._lock():
            self._decisions = _read_decisions(self.path)
            own = (decision for decision in reversed(self._decisions) if decision.annotator == self.annotator)
            if last := next(own, None):
                self._write([decision for decision in self._decisions if decision is not last])
            return last

    def labels_in_force(self) -> list[Decision]:
        """Return the last label of each pair by each annotator, in the order in which they were given."""
        last = {(*decision.pair, decision.annotator): decision for decision in self._decisions}
        return [
            decision for decision in self._decisions if last[*decision.pair, decision.annotator] is decision
        ]

    def label_of(self, image: str, caption: str) -> str:
        """Return the label that this annotator gave to a pair; empty where there is none."""
        return self.own_labels().get((image, caption), "")

    def own_labels(self) -> dict[Pair, str]:
        """Return the labels that this annotator gave, by pair."""
        own = (decision for decision in self._decisions if decision.annotator == self.annotator)
        return {decision.pair: decision.label for decision in own}

    def settled_labels(self) -> dict[Pair, str]:
        """Return one label a pair: ``valid`` or ``invalid``, whichever more annotators gave; ``unsure`` where
        they are as many.
        """
        lead = Counter[Pair]()
        for decision in self.labels_in_force():
            lead[decision.pair] += {VALID: 1, INVALID: -1, UNSURE: 0}[decision.label]
        settled = dict.fromkeys(lead, UNSURE)
        settled |= {pair: VALID for pair, by in lead.items() if by > 0}
        return settled | {pair: INVALID for pair, by in lead.items() if by < 0}

    def table(self) -> pd.DataFrame:
        """Return the labels in force: ``image``, ``caption``, ``label``, ``annotator``, ``at``."""
        return pd.DataFrame(self.labels_in_force(), columns=[field.name for field in fields(Decision)])

    def __len__(self) -> int:
        return len(self.labels_in_force())

    def _lock(self) -> FileLock:
        """Return a lock under which no other process changes this file; it ends with its process, however
        that ends.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self.path.with_name(f".{self.path.name}.lock"))

    def _write(self, decisions: list[Decision]) -> None:
        rows = [asdict(decision) for decision in decisions]
        write_json(self.path, {"format": FORMAT, "decisions": rows})
        self._decisions = decisions


def judgement_labels(table: pd.DataFrame, name: str) -> list[tuple[str, str, str]]:
    """Return the labels ``(image, caption, label)`` that a judgement would give to each pair of a table from
    ``candidates``, for ``Labels.add_all``: e.g. the exact truth in the place of a person. A pair that it
    does not judge is unsure.
    """
    pairs = table.drop_duplicates(["image", "caption"])[["image", "caption", "right_by", name]]
    labels = []
    for image, caption, names, grade in pairs.itertuples(index=False):
        label = UNSURE if pd.isna(grade) else INVALID
        if name in names.split(", "):
            label = VALID
        labels.append((image, caption, label))
    return labels


def _read_decisions(path: Path) -> list[Decision]:
    if not path.is_file():
        return []
    fails = f"is not a file of labels of the format {FORMAT!r}; name another file"
    content = parse_json(read_text(path), path, fails)
    require(isinstance(content, dict) and content.get("format") == FORMAT, f"{path} {fails}")
    message = "holds a label that cannot be read; mend it, or move the file away"
    decisions: list[Decision] = validate(content.get("decisions"), list[Decision], path, message)
    return decisions
