"""Progress of long work: a bar where somebody watches, and a line now and then where nobody does."""

import os
import sys
import time
from typing import Any, Self

from workbench.formatting import format_count

# seconds between two lines; the step that is under way is waited for, so that a line comes every half minute
LINE_SECONDS = 20.0
_choice = {"lines": True}
# seconds, from a beginning of its own
clock = time.monotonic


def use(*, lines: bool) -> None:
    """Choose for the process whether work that nobody watches says lines, as where JSON is printed it does
    not.
    """
    _choice.update(lines=lines)


def bar(total: int, what: str, unit: str, *, done: int = 0, progress: bool = True, lines: bool = True) -> Any:
    """Make a bar where somebody watches (a terminal or a live notebook). In a batch, whose output would keep
    it, lines take its place.

    Args:
        total: how many there are to do.
        what: is done, in a word or two.
        unit: what is counted.
        done: so many are done already.
        progress: False = no bar and no line anywhere.
        lines: False = no lines, for work that says its own.
    """
    live = sys.stderr.isatty() or ("ipykernel" in sys.modules and not os.environ.get("WORKBENCH_BATCH"))
    if progress and lines and _choice["lines"] and not live:
        return Lines(total, what, unit.strip(), done=done)
    from tqdm.auto import tqdm  # slow to import

    return tqdm(total=total, initial=done, desc=what, unit=unit, disable=not (progress and live), leave=False)


class Lines:
    """Progress in lines on stderr, for work that nobody watches; work that is done at once says none.

    Args:
        total, what, unit, done: as for ``bar``.
    """

    def __init__(self, total: int, what: str, unit: str, *, done: int = 0) -> None:
        self.total, self.what, self.unit, self.count = total, what, unit, done
        self.started, self.lines = clock(), 0
        self.last = self.started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stopped: object) -> None:
        """Leave the lines as they are."""

    def update(self, number: int = 1) -> None:
        """Count what is done, and say a line if the last one is old, or if it is all that there is to do."""
        self.count += number
        waited = clock() - self.last >= LINE_SECONDS
        if waited or (self.lines and self.count >= self.total):
            self._say()

    def _say(self) -> None:
        now = clock()
        self.last, self.lines = now, self.lines + 1
        counted = f"{format_count(self.count)} of {format_count(self.total)} {self.unit}"
        sys.stderr.write(f"{self.what}: {counted}, {round(now - self.started)} s\n")
        sys.stderr.flush()
