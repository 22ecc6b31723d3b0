"""What a signal asks: SIGTERM, which schedulers send, stops a run as Ctrl-C does; neither halves a step."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

# seconds between being asked and being killed; schedulers most often allow 30
GRACE = 20.0

Handler = Callable[[int, FrameType | None], None]


class Terminated(KeyboardInterrupt):
    """SIGTERM was sent."""


def exit_code(stop: BaseException) -> int:
    """128 and the number of the signal, as shells have it: 143 for SIGTERM, 130 for Ctrl-C.

    >>> exit_code(Terminated()), exit_code(KeyboardInterrupt())
    (143, 130)
    """
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextmanager
def heard() -> Iterator[None]:
    """SIGTERM raises ``Terminated`` within the block, as Ctrl-C raises ``KeyboardInterrupt``."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated("SIGTERM")

    with _handled({signal.SIGTERM: terminate}):
        yield


@contextmanager
def held() -> Iterator[None]:
    """A signal that comes within the block waits for its end."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    with _handled({signal.SIGINT: note, signal.SIGTERM: note}):
        yield
    if asked:
        signal.raise_signal(asked[0])


@contextmanager
def _handled(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Other handlers within the block; Python hears signals in the main thread alone."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: whoever set it did so without Python
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
