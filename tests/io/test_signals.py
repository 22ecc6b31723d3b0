"""Signals: what they raise, and where they wait."""

from __future__ import annotations

import signal
import threading

import pytest

from workbench.io.signals import Terminated, defer_signals, exit_code, sigterm_raises


def test_sigterm_raises_within_the_block_and_is_left_as_it_was():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated) as told, sigterm_raises():
        signal.raise_signal(signal.SIGTERM)
    assert exit_code(told.value) == 143
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_waits_for_the_end_of_what_must_not_be_halved(number, kind, request):
    done = []
    # a shell that starts the tests in the background lets them ignore Ctrl-C
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def halved():
        with sigterm_raises(), defer_signals():
            signal.raise_signal(number)
            done.append("the rest of the block")

    with pytest.raises(kind):
        halved()
    assert done
    with defer_signals():
        pass


def test_a_thread_that_is_not_the_main_one_changes_no_handler():
    found = []

    def look():
        with sigterm_raises(), defer_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
