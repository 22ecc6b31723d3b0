"""SIGTERM, which schedulers send, stops a run as Ctrl-C does; neither halves a step."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

# seconds between being asked to end and being killed; schedulers most often allow 30
GRACE = 20.0


class Terminated(KeyboardInterrupt):
    """SIGTERM was sent."""


def exit_code(stop: BaseException) -> int:
    """Return 128 and the number of the signal, as shells have it: 143 for SIGTERM, 130 for Ctrl-C.

    >>> exit_code(Terminated()), exit_code(KeyboardInterrupt())
    (143, 130)
    """
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Raise ``Terminated`` at SIGTERM within the block, as Ctrl-C raises ``KeyboardInterrupt``."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated("SIGTERM")

    with _signal_handler(terminate, signal.SIGTERM):
        yield


def interrupt_on_either() -> AbstractContextManager[None]:
    """Raise ``KeyboardInterrupt`` at Ctrl-C and SIGTERM within the block, also where this process was started
    in the background of a script, which makes it deaf to Ctrl-C.
    """
    return _signal_handler(signal.default_int_handler, signal.SIGINT, signal.SIGTERM)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Let a signal that comes within the block wait for its end."""
    received: list[int] = []
    with _signal_handler(lambda number, frame: received.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if received:
        signal.raise_signal(received[0])


@contextmanager
def _signal_handler(
    handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals
) -> Iterator[None]:
    """Set another handler within the block; Python hears signals in the main thread alone."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers if main}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old or signal.SIG_DFL)  # None: it was set without Python
