"""A few kills; ``python -m tests.soak`` sends as many as it is asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import Soak


@pytest.mark.slow
def test_what_was_killed_ends_as_if_nobody_had_disturbed_it(tmp_path: Path) -> None:
    done = Soak(tmp_path / "soak", 6, 0).run()
    assert sum(times for what, times in done.items() if what.startswith("SIG")) >= 6
    assert {"train ended well", "run ended well", "grid ended well"} <= done.keys()
