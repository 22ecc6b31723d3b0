"""Damaged files for every reader: each is read, or refused with the reader's documented error that names it.

    python -m tools.fuzz --inputs 100000            # every reader; counts go to tests/fuzz/recorded.tsv
    python -m tools.fuzz karpathy labels --first 500

An input is made from a valid file (or one that is odd in its types) by its number alone, so that a number in
``recorded.tsv`` or in ``FELL`` makes it again. A process of its own reads them, since a library may end it.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.fuzz.damage import damaged
from tools.fuzz.readers import READERS, Reader

TABLE = Path(__file__).with_name("recorded.tsv")
COLUMNS = ("reader", "inputs", "taken", "refused", "undocumented", "first", "last")
# seconds of computing that one input may take
LONG = 20
# inputs that once raised something else, by reader; they are read before any others
FELL: dict[str, tuple[int, ...]] = {"notebook": (358,), "values by query": (342, 5758)}


class TooLong(BaseException):
    """An input took more than ``LONG`` seconds of computing."""


@dataclass
class Counts:
    """What became of some inputs; ``fell`` says what else was raised, by number."""

    taken: int = 0
    refused: int = 0
    fell: dict[int, str] = field(default_factory=dict)


def outcome(reader: Reader, folder: Path, name: str, content: bytes) -> tuple[bool, str]:
    """Whether the content was taken, and what is wrong with the way in which it was refused."""
    (folder / name).write_bytes(content)
    try:
        reader.read(folder)
    except (ValueError, FileNotFoundError) as error:
        said = str(error)
        # where files do not fit together, either may be named
        known = any(path.name in said for path in folder.rglob("*") if path.is_file())
        return False, "" if known else f"{type(error).__name__} does not name the file: {said:.150}"
    except TooLong:
        return False, f"more than {LONG} s"
    except Exception as error:  # noqa: BLE001 - what else is raised is what is looked for
        return False, f"{type(error).__name__}: {' '.join(str(error).split()):.150}"
    return True, ""


def run(name: str, numbers: Sequence[int]) -> Counts:
    """Read the inputs of these numbers in a process of their own; one that ends it counts as fallen."""
    with tempfile.TemporaryDirectory() as place:  # what is imported here is not imported in each process
        READERS[name].lay_out(Path(place))
        READERS[name].read(Path(place))
    counts, left = Counts(), list(numbers)
    while left:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.get_context("fork").Process(target=_work, args=(name, left, theirs))
        worker.start()
        theirs.close()
        done = 0
        try:
            while done < len(left):
                taken, wrong = ours.recv()
                counts.taken += taken
                counts.refused += not taken and not wrong
                counts.fell |= {left[done]: wrong} if wrong else {}
                done += 1
        except EOFError:
            worker.join()
            counts.fell[left[done]] = f"the process ended with {worker.exitcode}"
            done += 1
        worker.join()
        left = left[done:]
    return counts


def _work(name: str, numbers: Sequence[int], to: Any) -> None:
    def stop(*_: object) -> None:
        raise TooLong

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop)
    with tempfile.TemporaryDirectory() as place:
        folder, reader = Path(place), READERS[name]
        file, odd = reader.lay_out(folder)
        valid = [(folder / file).read_bytes(), *odd]
        for number in numbers:
            signal.setitimer(signal.ITIMER_PROF, LONG)
            to.send(outcome(reader, folder, file, damaged(valid, number)))
            signal.setitimer(signal.ITIMER_PROF, 0)
    to.close()


def recorded() -> dict[str, dict[str, str]]:
    """The rows of the table by reader."""
    if not TABLE.is_file():
        return {}
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[2:]]
    return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}


def record(name: str, counts: Counts, numbers: range) -> None:
    """Write the row of one reader; a row of as many inputs before these goes on with them."""
    rows = recorded()
    found = [counts.taken, counts.refused, len(counts.fell)]
    first = numbers.start
    if name in rows and int(rows[name]["last"]) + 1 == first:
        found = [new + int(rows[name][key]) for new, key in zip(found, COLUMNS[2:5], strict=True)]
        first = int(rows[name]["first"])
    rows[name] = dict(
        zip(COLUMNS, map(str, (name, sum(found), *found, first, numbers.stop - 1)), strict=True)
    )
    lines = [
        "# python -m tools.fuzz; undocumented: what a reader may not raise, or does not name the file",
        "",
    ]
    lines[1] = "\t".join(COLUMNS)
    lines += ["\t".join(row.values()) for _, row in sorted(rows.items())]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
