"""Measure how long a command says nothing, on a terminal and on a pipe.

    python -m tools.silence -- workbench evaluate --model tiny.json --data photos

runs the command twice, under a pseudo terminal and into a pipe, and prints the longest silence of each with
the text before it. A file of commands, one a line, is measured with ``--file``.
"""

import argparse
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# what moves the cursor or colours the text
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
AT_MOST = {"terminal": 5.0, "pipe": 30.0}
# of the text before a silence, so many letters are shown; the pseudo terminal is so wide
BEFORE, COLUMNS = 100, 100


@dataclass(frozen=True)
class Silence:
    """The longest silence of a command.

    Args:
        seconds: how long it was.
        before: the last text before it.
        exit_code: of the command.
        total: seconds that the command took.
        output: all that it wrote.
    """

    seconds: float
    before: str
    exit_code: int
    total: float
    output: str


def measure(command: Sequence[str], *, terminal: bool, folder: Path | str = ".") -> Silence:
    """Run a command and measure its longest silence, from its start to its end.

    Args:
        command: its words.
        terminal: under a pseudo terminal; else into a pipe.
        folder: where it runs.
    """
    reading, writing = pty.openpty() if terminal else os.pipe()
    if terminal:
        termios.tcsetwinsize(writing, (24, COLUMNS))
    started = last = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing, cwd=folder
    ) as process:
        os.close(writing)
        output, longest, before = b"", 0.0, b""
        ended = False
        while not ended:
            select.select([reading], [], [])
            part = _read(reading)
            now = time.monotonic()
            if now - last > longest:
                longest, before = now - last, output[-BEFORE * 3 :]
            output, last, ended = output + part, now, not part
    os.close(reading)
    return Silence(longest, _plain(before)[-BEFORE:], process.returncode, last - started, _plain(output))


def _read(reading: int) -> bytes:
    try:
        return os.read(reading, 65536)
    except OSError:  # a pseudo terminal whose last writer is gone
        return b""


def _plain(output: bytes) -> str:
    text = ESCAPES.sub("", output.decode(errors="replace"))
    return " ".join(text.split())


def main() -> int:
    """Measure the commands that are given; exit code 1 where a silence is too long or a command fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, help="file of commands, one a line")
    parser.add_argument("--only", choices=AT_MOST, help="measure there alone")
    parser.add_argument("command", nargs="*")
    words = parser.parse_args()
    commands = [words.command] if words.command else []
    if words.file:
        commands += [shlex.split(line) for line in words.file.read_text().splitlines() if line.strip()]
    bad = False
    for command in commands:
        for place in [words.only] if words.only else list(AT_MOST):
            silence = measure(command, terminal=place == "terminal")
            bad = bad or silence.seconds > AT_MOST[place] or silence.exit_code != 0
            took = f"{silence.seconds:5.1f} of {silence.total:5.1f} s silent on a {place}"
            print(f"{took}, exit code {silence.exit_code}: {shlex.join(command)}", flush=True)
            print(f"        after {silence.before!r}", flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
