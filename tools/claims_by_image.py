"""Values of the ledger's runs by seed and image, packed.

``python -m tools.claims_by_image ROOT`` reads the runs below ROOT that ``workbench claims run`` trained, and
adds what is new to the file beside the ledger's test. A row is what a judge averages of one run: the mean of
its numbers, image by image, an image's captions being averaged first. It is kept in eight bits: what rounding
takes from one image the next one gets, so that the mean of a row is kept far better than its values.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper_tables import claims, probes, trained

from workbench.records import Values
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


def collect(root: Path, lines: Iterable[Mapping[str, Any]], known: Kept) -> Kept:
    """Rows of the runs of these lines that are there and not known yet. A line names the runs of each arm, or
    those of its first seed; the others have the same configuration and the same code.
    """
    folders = [path for path in sorted((root / trained.FOLDER).iterdir()) if (path / store.STATUS).is_file()]
    there, made = {_text(path): path for path in folders}, Kept()
    for line in lines:
        claim, arms, runs = (
            claims.find_claim(line["claim"]),
            _arms(line),
            line.get("source", {}).get("runs", ()),
        )
        for arm, first in zip(arms, runs[:: len(runs) // len(arms) or 1] if arms else ()):
            for seed in line["seeds"] if (root / trained.FOLDER / first).is_dir() else ():
                folder = there.get(_text(root / trained.FOLDER / first, seed))
                for keys in _averaged(claim, claim.keys[line["judge"]]) if folder else ():
                    name = name_of(line, arm, seed, keys)
                    if folder and name not in made and name not in known:
                        run = store.read(folder)
                        of = [_by_image(run, line["data"], key) for key in keys]
                        made[name] = Row.of(np.mean(of, axis=0))
    return made


def _averaged(claim: claims.Claim, keys: Sequence[str]) -> list[list[str]]:
    """Numbers of a judge that stand for one: all of them, or where arms are apart by each each by itself."""
    return [[key] for key in keys] if claim.models == "spread" else [list(keys)]


def _arms(line: Mapping[str, Any]) -> list[trained.Arm]:
    """The arms of a line's contrast."""
    contrasts = claims.find_claim(line["claim"]).contrasts
    return {" | ".join(label for _, label in of): of for of in contrasts}.get(line["contrast"], [])


def _text(folder: Path, seed: int | None = None) -> str:
    """Configuration and code of a run, with another seed in the place of its own."""
    config, env = (store.load(folder / name) for name in (store.CONFIG, store.ENV))
    seeded = {"seed": config["seed"] if seed is None else seed, "code": env["code"]}
    return json.dumps({**config, **seeded}, sort_keys=True)


def _by_image(run: store.Run, where: str, key: str) -> Values:
    if key.startswith(probes.PREFIX):
        found = probes.probe_values(run, key, trained.MEASURED.get(where))
        return found[~np.isnan(found)]
    return trained.by_image(run, where, key)


def main(roots: Sequence[str]) -> None:
    """Add what the runs below these places hold to the file."""
    rows = read()
    for root in roots:
        rows |= collect(Path(root), claims.latest_lines(claims.read_ledger()), rows)
    write(rows)
    print(f"{FILE}: {len(rows)} rows, {FILE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
