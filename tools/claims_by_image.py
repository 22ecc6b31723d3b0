"""Values of the ledger's runs by seed and image, packed.

``python -m tools.claims_by_image ROOT`` reads the runs below ROOT that ``workbench claims run`` trained, adds
what is new to the file beside the ledger's test, and drops what no line that counts needs. A row is what a
judge averages of one run: the mean of its numbers, image by image, an image's captions being averaged first.
It is kept in eight bits: what rounding takes from one image the next one gets, so that the mean of a row is
kept far better than its values.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper_tables import claims, probes, trained

from workbench.records import Values, require
from workbench.runs import store

FILE = Path(claims.__file__).parent / "tests" / "claims_by_image.npz"
STEPS = 255
Name = str  # code, data, grid, label, seed and numbers, a line each


class Row(NamedTuple):
    """Steps from the least value to the greatest, ``(images,)``."""

    low: float
    high: float
    steps: NDArray[np.uint8]

    @property
    def values(self) -> Values:
        """``(images,)``, of which the mean is the number."""
        return np.asarray(self.low + self.steps * (self.high - self.low) / STEPS)

    @staticmethod
    def of(values: Values) -> "Row":
        """These values, rounded so that their sum is kept."""
        low, high = float(values.min()), float(values.max())
        # halves are frequent, and lie on no edge
        sums = np.floor(np.cumsum((values - low) / ((high - low) or 1) * STEPS) + 0.3)
        return Row(low, high, np.clip(np.diff(sums, prepend=0), 0, STEPS).astype(np.uint8))


Kept = dict[Name, Row]


def name_of(line: Mapping[str, Any], arm: trained.Arm, seed: int, keys: Sequence[str]) -> Name:
    """What a row is called."""
    return "\n".join((line["source"]["code"], line["data"], *arm, str(seed), *keys))


def read(file: Path = FILE) -> Kept:
    """What is stored."""
    if not file.is_file():
        return {}
    with np.load(file) as held:
        names, lengths, ends, whole = (held[name] for name in ("names", "lengths", "ends", "steps"))
    parts = np.split(whole, np.cumsum(lengths)[:-1])
    return {str(name): Row(*of, steps) for name, of, steps in zip(names, ends, parts, strict=True)}


def write(rows: Kept, file: Path = FILE) -> None:
    """Store rows."""
    every = list(rows.values())
    np.savez_compressed(
        file, names=np.array(list(rows)), lengths=np.array([len(row.steps) for row in every]),
        ends=np.array([row[:2] for row in every]), steps=np.concatenate([row.steps for row in every]),
    )  # fmt: skip


def values_of(kept: Kept, line: Mapping[str, Any]) -> dict[str, list[float]]:
    """The values by seed of a line of the ledger, from stored rows; empty where one is not stored."""
    claim = claims.find_claim(line["claim"])
    arms, keys = _arms(line), claim.keys[line["judge"]]
    names = [
        [[name_of(line, arm, seed, of) for of in _averaged(claim, keys)] for seed in line["seeds"]]
        for arm in arms
    ]
    if not all(name in kept for of in names for row in of for name in row):
        return {}
    found = np.array([[[kept[name].values.mean() for name in row] for row in of] for of in names])
    return {
        side: [one * claims.scale_of(claim, keys) for one in of]
        for side, of in trained.contrast_sides(claim, found).items()
    }


def has_rows(line: Mapping[str, Any]) -> bool:
    """Whether a line is of runs, and its number the same each time that it is measured, as a time is not."""
    return "runs" in line["source"] and claims.find_claim(line["claim"]).learns


def collect(root: Path, lines: Iterable[Mapping[str, Any]], known: Kept) -> Kept:
    """Rows of the runs of these lines, by name: those that are known, and those of runs below a folder."""
    rows = Kept()
    for line in filter(has_rows, lines):
        claim = claims.find_claim(line["claim"])
        ran = product(_arms(line), line["seeds"])
        for (arm, seed), run_id in zip(ran, line["source"]["runs"], strict=True):
            folder = root / trained.FOLDER / run_id
            for keys in _averaged(claim, claim.keys[line["judge"]]):
                name = name_of(line, arm, seed, keys)
                if name in known:
                    rows[name] = known[name]
                elif name not in rows and (folder / store.STATUS).is_file():
                    rows[name] = _read_row(folder, line["data"], keys)
    return rows


def _read_row(folder: Path, where: str, keys: Sequence[str]) -> Row:
    run = store.read(folder)
    return Row.of(np.mean([_by_image(run, where, key) for key in keys], axis=0))


def _averaged(claim: claims.Claim, keys: Sequence[str]) -> list[list[str]]:
    """Numbers of a judge that stand for one: all of them, or where arms are apart by each each by itself."""
    return [[key] for key in keys] if claim.models == "spread" else [list(keys)]


def _arms(line: Mapping[str, Any]) -> list[trained.Arm]:
    """The arms of a line's contrast."""
    contrasts = claims.find_claim(line["claim"]).contrasts
    return {" | ".join(label for _, label in of): of for of in contrasts}.get(line["contrast"], [])


def _by_image(run: store.Run, where: str, key: str) -> Values:
    if key.startswith(probes.PREFIX):
        found = probes.probe_values(run, key, trained.MEASURED.get(where))
        return found[~np.isnan(found)]
    return trained.by_image(run, where, key)


def main(roots: Sequence[str]) -> None:
    """Keep the rows of lines that count, and add what the runs below these places hold of them."""
    rows, lines = read(), claims.current(claims.read_ledger())
    for root in roots:
        rows = collect(Path(root), lines, rows)
    require(rows, f"no run of a line that counts is stored, or lies below {' '.join(roots)}")
    write(rows)
    print(f"{FILE}: {len(rows)} rows, {FILE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
