"""Where tasks are shown: on bars, in lines, in a file for another process, or nowhere."""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from workbench.formatting import format_count, format_duration

# seconds between two lines
LINE_SECONDS = 20.0
# seconds after which work has a bar: what is done before is not worth one
BAR_SECONDS = 1.0
WITH_TOTAL = "{desc}: {percentage:3.0f}%|{bar:10}| {n_fmt}/{total_fmt}{unit} [{elapsed}<{remaining}]{postfix}"
UNEVEN = "{desc}: {percentage:3.0f}%|{bar:10}| {n_fmt}/{total_fmt}{unit} [{elapsed}]{postfix}"
WITHOUT_TOTAL = "{desc} [{elapsed}]{postfix}"
# bars that are shown at once
ROWS = 20
# seconds, from a beginning of its own
clock = time.monotonic


@dataclass(frozen=True)
class State:
    """A task as it is now.

    Args:
        key: tells it from others.
        what: is done, in a few words.
        seconds: since it began.
        total: how many there are to do; 0 = not known.
        unit: what is counted, as ``"images"``.
        count: how many of them are done.
        first: how many were done when it began.
        detail: what else is worth knowing, as a loss.
        even: each of them takes about as long, so that the time that is left can be said.
        background: it is shown where nothing else is.
    """

    key: str
    what: str
    seconds: float
    total: int = 0
    unit: str = ""
    count: int = 0
    first: int = 0
    detail: str = ""
    even: bool = True
    background: bool = False

    def line(self) -> str:
        """Return the task in one line.

        >>> State("", "training", 30, 400, "steps", 100, detail="loss 0.43").line()
        'training: 100 of 400 steps, loss 0.43, 30 s, about 90 s left'
        """
        counted = (
            f"{format_count(self.count)} of {format_count(self.total)} {self.unit}" if self.total else ""
        )
        now = self.count - self.first
        left = (self.total - self.count) * self.seconds / now if now > 0 and self.even else 0.0
        still = f"about {format_duration(left)} left" if left > 0 else ""
        parts = filter(None, (counted, self.detail, format_duration(self.seconds), still))
        return f"{self.what}: {', '.join(parts)}"


def foreground(states: Sequence[State]) -> list[State]:
    """Return those that are shown: the background alone where there is nothing else."""
    return [state for state in states if not state.background] or list(states)


class Medium(Protocol):
    """Where tasks are shown."""

    # seconds between two looks, and whether a thread takes them
    every: float
    threaded: bool

    def show(self, states: Sequence[State]) -> None:
        """Show tasks as they are now."""

    def ended(self, state: State) -> None:
        """Take notice of the end of a task."""

    def note(self, line: str) -> None:
        """Keep a line where lines are read later."""

    def aside(self) -> AbstractContextManager[None]:
        """Make room for what others write."""


class Nowhere:
    """Shows nothing."""

    every, threaded = 1.0, False

    def show(self, states: Sequence[State]) -> None:
        """Show nothing."""

    def ended(self, state: State) -> None:
        """Show nothing."""

    def note(self, line: str) -> None:
        """Show nothing."""

    def aside(self) -> AbstractContextManager[None]:
        """Make no room."""
        return nullcontext()


class Lines(Nowhere):
    """A line on stderr every ``LINE_SECONDS``; work that is done at once says none."""

    threaded = True

    def __init__(self) -> None:
        self.last, self.shown = clock(), set[str]()

    def show(self, states: Sequence[State]) -> None:
        """Write a line of all tasks if the last one is old."""
        if states and clock() - self.last >= LINE_SECONDS:
            listed = foreground(states)
            self.shown |= {state.key for state in listed}
            self.note("; ".join(state.line() for state in listed))

    def ended(self, state: State) -> None:
        """Write that all is done of a task that a line has named."""
        if state.key in self.shown and 0 < state.total <= state.count:
            self.note(state.line())

    def note(self, line: str) -> None:
        """Write a line."""
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
        self.last = clock()

    @contextmanager
    def _note_time(self) -> Iterator[None]:
        yield
        self.last = clock()

    def aside(self) -> AbstractContextManager[None]:
        """Take what others write for a line."""
        return self._note_time()


class Report(Nowhere):
    """Writes tasks to a file, which another process shows (``read_states``); lines go to stderr."""

    every = 0.5

    def __init__(self, file: str) -> None:
        self.file = Path(file)

    def show(self, states: Sequence[State]) -> None:
        """Write the tasks."""
        with suppress(OSError):  # a full disk, or nobody who waits any more
            self.file.write_text(json.dumps([asdict(state) for state in states]))

    def note(self, line: str) -> None:
        """Write a line."""
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class Bars(Nowhere):
    """A bar for every task, with the time that is left.

    Args:
        threaded: a thread moves them, which a notebook does not allow.
    """

    every = 0.5

    def __init__(self, *, threaded: bool) -> None:
        self.threaded, self.rows = threaded, dict[str, Any]()

    def show(self, states: Sequence[State]) -> None:
        """Move the bars to where the tasks are."""
        shown = foreground([state for state in states if state.seconds >= BAR_SECONDS])
        for key in self.rows.keys() - {state.key for state in shown}:
            row = self.rows.pop(key)
            row.total = None  # a notebook keeps a bar that ends below its total, in red
            row.close()
        for state in shown:
            if state.key not in self.rows:
                self.rows[state.key] = self._make_bar(state)
            self._move_bar(self.rows[state.key], state)

    def _make_bar(self, state: State) -> Any:
        from tqdm.auto import tqdm  # slow to import

        return tqdm(
            total=state.total or None,
            initial=state.first,
            desc=state.what,
            leave=False,
            delay=1,
            bar_format=self._layout(state),
            ncols=self._bar_width(),
            nrows=ROWS,
            file=sys.stderr,
        )

    def _layout(self, state: State) -> str:
        """Return the parts of a bar; a notebook draws the bar itself as wide as it likes."""
        counted = WITH_TOTAL if state.even else UNEVEN
        layout = counted if state.total else WITHOUT_TOTAL
        return layout if self.threaded else layout.replace("{bar:10}", "{bar}")

    def _bar_width(self) -> int | None:
        """Return how long a bar may be; not every terminal says how wide it is."""
        wide = 0
        with suppress(OSError, ValueError):
            wide = os.get_terminal_size(sys.stderr.fileno()).columns
        return (wide or 80) - 1 if self.threaded else None

    def _move_bar(self, row: Any, state: State) -> None:
        row.bar_format, row.ncols = self._layout(state), self._bar_width()
        row.total = state.total or None
        row.n = state.count
        row.unit = f" {state.unit}"
        row.start_t = time.time() - state.seconds
        row.set_description_str(state.what, refresh=False)
        row.set_postfix_str(state.detail, refresh=False)
        row.refresh()

    def aside(self) -> AbstractContextManager[None]:
        """Clear the bars, and draw them again below what was written."""
        if not self.rows:
            return nullcontext()
        row = next(iter(self.rows.values()))
        mode: AbstractContextManager[None] = row.external_write_mode(file=sys.stderr)
        return mode


def read_states(file: Path | str) -> list[State]:
    """Return the tasks that another process has written to a file; none while it is being written."""
    file = Path(file)
    with suppress(OSError, ValueError):
        states = [State(**state) for state in json.loads(file.read_text())]
        age = max(0.0, time.time() - file.stat().st_mtime)
        return [replace(state, seconds=state.seconds + age) for state in states]
    return []
