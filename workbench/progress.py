"""Progress of long work: what is done, how much of it, and how long it still takes.

Whatever takes long is a ``Task``. The tasks that are under way are shown together: as bars on a terminal or
in a live notebook, elsewhere as a line every ``LINE_SECONDS``. A thread looks at them, so that a single step
that takes minutes is no silence. The kernel of a notebook in a batch has nobody who watches it: it writes its
tasks to the file that the environment variable ``REPORT`` names, and whoever runs the notebook shows them.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any, ClassVar, ParamSpec, Protocol, Self, TypeVar

from workbench.formatting import format_count, format_duration

# seconds between two lines
LINE_SECONDS = 20.0
# seconds after which work has a bar: what is done before is not worth one
BAR_SECONDS = 1.0
# environment variables: the file to which a process writes its tasks, and the mark of a batch
REPORT, BATCH = "WORKBENCH_PROGRESS", "WORKBENCH_BATCH"
WITH_TOTAL = "{desc}: {percentage:3.0f}%|{bar:10}| {n_fmt}/{total_fmt}{unit} [{elapsed}<{remaining}]{postfix}"
UNEVEN = "{desc}: {percentage:3.0f}%|{bar:10}| {n_fmt}/{total_fmt}{unit} [{elapsed}]{postfix}"
WITHOUT_TOTAL = "{desc} [{elapsed}]{postfix}"
# bars that are shown at once
ROWS = 20
# seconds, from a beginning of its own
clock = time.monotonic
_numbers = itertools.count()
P = ParamSpec("P")
T = TypeVar("T")


def in_tab() -> bool:
    """Return whether Voilà shows what this kernel does, each cell only once it is done."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila") and not os.environ.get(BATCH)


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


class Task:
    """Work that takes long: a context within which it is shown.

    Args:
        what: is done, in a few words.
        total: how many there are to do; 0 = not known.
        unit: what is counted, as ``"images"``.
        done: how many are done already.
        even: whether each takes about as long, so that the time that is left can be said.
        background: show it only where no other task is.
        shown: False = nowhere.

    Example:
        >>> with Task("encoding", 2, "images") as task:
        ...     task.update()
        ...     task.count
        1
    """

    def __init__(
        self,
        what: str,
        total: int = 0,
        unit: str = "",
        *,
        done: int = 0,
        even: bool = True,
        background: bool = False,
        shown: bool = True,
    ) -> None:
        self.key = f"{os.getpid()}-{next(_numbers)}"
        self.started = clock()
        self.what, self.detail = what, ""
        self.total, self.unit = total, unit
        self.first = self.count = done
        self.even, self.background = even, background
        self.shown = shown
        self.within: Callable[[], Sequence[State]] = tuple
        """What is shown below it, such as the tasks of another process."""

    def __enter__(self) -> Self:
        self.started, self.shown = clock(), self.shown and _display.wanted
        if self.shown:
            _display.add(self)
        return self

    def __exit__(self, *stopped: object) -> None:
        if self.shown:
            _display.remove(self)

    def update(self, number: int = 1, detail: str | None = None) -> None:
        """Count what is done.

        Args:
            number: how many more.
            detail: what else is worth knowing now; ``None`` = as before.
        """
        self.count += number
        self.detail = self.detail if detail is None else detail
        _display.refresh_if_due()

    def states(self) -> list[State]:
        """Return the task as it is now, and what is shown below it."""
        own = State(
            key=self.key,
            what=self.what,
            seconds=clock() - self.started,
            total=self.total,
            unit=self.unit,
            count=self.count,
            first=self.first,
            detail=self.detail,
            even=self.even,
            background=self.background,
        )
        return [own, *self.within()]


def each(items: Iterable[T], what: str, unit: str) -> Iterator[T]:
    """Yield the items one after another, shown as they are taken.

    Args:
        items: of which the number is shown where they are a collection.
        what: is done with them, in a few words.
        unit: what they are, as ``"images"``.
    """
    with Task(what, len(items) if isinstance(items, Sized) else 0, unit) as task:
        for item in items:
            yield item
            task.update()


def during(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Show what a function does while it runs.

    Args:
        what: it does, in a few words.
    """

    def shown(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> T:
            with Task(what):
                return function(*args, **options)

        return run

    return shown


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


class Display:
    """The tasks of this process that are under way, and where they are shown."""

    nowhere: ClassVar[Medium] = Nowhere()

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.lock = RLock()
        self.wanted = True
        self.medium, self.ended = self.nowhere, Event()
        self.looked = 0.0

    def add(self, task: Task) -> None:
        """Show a task from now on."""
        with self.lock:
            if not self.tasks:
                self._open()
            for other in self.tasks:
                other.detail = "" if other.background else other.detail
            self.tasks.append(task)
        if not self.medium.threaded:
            self.refresh()

    def remove(self, task: Task) -> None:
        """Show a task no longer."""
        with self.lock:
            self.tasks.remove(task)
            self.medium.ended(task.states()[0])
            if not self.medium.threaded or not self.tasks:
                self.refresh()
            if not self.tasks:
                self.close()

    def refresh_if_due(self) -> None:
        """Look, if no thread does and the last look is old."""
        if not self.medium.threaded and clock() - self.looked >= self.medium.every:
            self.refresh()

    def refresh(self) -> None:
        """Show the tasks as they are now."""
        with self.lock:
            self.looked = clock()
            states = list(itertools.chain.from_iterable(task.states() for task in self.tasks))
            self.medium.show(states)

    def close(self) -> None:
        """Show nothing from now on."""
        with self.lock:
            self.medium.show([])
            self.medium = self.nowhere
            self.ended.set()

    def _open(self) -> None:
        self.medium, self.ended = _medium(), Event()
        if self.medium.threaded:
            Thread(target=self._watch, args=(self.medium, self.ended), name="progress", daemon=True).start()

    def _watch(self, medium: Medium, ended: Event) -> None:
        while not ended.wait(medium.every):
            with self.lock:
                if not ended.is_set():
                    self.refresh()


_display = Display()


def _medium() -> Medium:
    """Return where this process shows its tasks."""
    # of several processes, the first one speaks; in a tab, a cell shows nothing before it is done
    if os.environ.get("RANK", "0") != "0" or in_tab():
        return Nowhere()
    if file := os.environ.get(REPORT):
        return Report(file)
    if _in_kernel() and not os.environ.get(BATCH):
        return Bars(threaded=False)
    return Bars(threaded=True) if sys.stderr.isatty() else Lines()


def _in_kernel() -> bool:
    """Return whether this process is the kernel of a notebook, and has not only imported ipykernel."""
    kernels = sys.modules.get("ipykernel.kernelapp")
    return kernels is not None and kernels.IPKernelApp.initialized()


def read_states(file: Path | str) -> list[State]:
    """Return the tasks that another process has written to a file; none while it is being written."""
    file = Path(file)
    with suppress(OSError, ValueError):
        states = [State(**state) for state in json.loads(file.read_text())]
        age = max(0.0, time.time() - file.stat().st_mtime)
        return [replace(state, seconds=state.seconds + age) for state in states]
    return []


def is_shown() -> bool:
    """Return whether progress is shown."""
    return _display.wanted


def turn_off() -> None:
    """Show no progress from now on, as where JSON is printed."""
    _display.wanted = False
    _display.close()


@contextmanager
def showing(*, shown: bool = True) -> Iterator[None]:
    """Show no progress within, unless it is shown; what ``turn_off`` does within ends with it."""
    before = _display.wanted
    _display.wanted = before and shown
    try:
        yield
    finally:
        _display.wanted = before


def note(line: str) -> None:
    """Write a line that stays to stderr, where progress is shown in lines or written down."""
    with _display.lock:
        if _display.wanted:
            _display.medium.note(line)


@contextmanager
def aside() -> Iterator[None]:
    """Make room for something else that is written to the terminal within."""
    with _display.lock, _display.medium.aside():
        yield
