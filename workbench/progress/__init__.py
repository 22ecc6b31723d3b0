"""Progress of long work: what is done, how much of it, and how long it still takes.

Whatever takes long is a ``Task``. The tasks that are under way are shown together: as bars on a terminal or
in a live notebook, elsewhere in lines, see ``media``. A thread looks at them, so that a single step that
takes minutes is no silence. The kernel of a notebook in a batch has nobody who watches it: it writes its
tasks to the file that the environment variable ``REPORT`` names, and whoever runs the notebook shows them.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from functools import wraps
from threading import Event, RLock, Thread
from typing import ClassVar, ParamSpec, Self, TypeVar

from workbench.progress import media
from workbench.progress.media import Bars, Lines, Medium, Nowhere, Report, State

# environment variables: the file to which a process writes its tasks, and the mark of a batch
REPORT, BATCH = "WORKBENCH_PROGRESS", "WORKBENCH_BATCH"
_numbers = itertools.count()
P = ParamSpec("P")
T = TypeVar("T")


def in_tab() -> bool:
    """Return whether Voilà shows what this kernel does, each cell only once it is done."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila") and not os.environ.get(BATCH)


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
        self.started = media.clock()
        self.what, self.detail = what, ""
        self.total, self.unit = total, unit
        self.first = self.count = done
        self.even, self.background = even, background
        self.shown = shown
        self.within: Callable[[], Sequence[State]] = tuple
        """What is shown below it, such as the tasks of another process."""

    def __enter__(self) -> Self:
        self.started, self.shown = media.clock(), self.shown and _display.wanted
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
            seconds=media.clock() - self.started,
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
        if not self.medium.threaded and media.clock() - self.looked >= self.medium.every:
            self.refresh()

    def refresh(self) -> None:
        """Show the tasks as they are now."""
        with self.lock:
            self.looked = media.clock()
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
