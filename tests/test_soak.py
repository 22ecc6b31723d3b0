"""A kill of a grid; ``python -m tools.soak`` sends many, to trainings and notebook runs too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.soak import Soak


@pytest.mark.slow
def test_a_grid_that_was_killed_ends_as_if_nobody_had_disturbed_it(tmp_path: Path) -> None:
    soak = Soak(tmp_path / "soak", 1, ["grid"])
    soak.run(1)
    assert soak.signals() >= 1
    assert soak.done["grid ended well"]
