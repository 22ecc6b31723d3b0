"""A bar of progress is there where somebody watches, and nowhere else."""

from __future__ import annotations

import sys

import pytest

from workbench.progress import bar


@pytest.mark.parametrize(
    ("terminal", "kernel", "batch", "progress", "shown"),
    [
        (True, False, "", True, True),
        (True, False, "", False, False),
        (False, False, "", True, False),
        (False, True, "", True, True),
        (False, True, "1", True, False),
    ],
)
def test_a_bar_is_shown_in_a_terminal_and_in_a_live_notebook_but_not_in_a_batch(
    terminal: bool, kernel: bool, batch: str, progress: bool, shown: bool, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("WORKBENCH_BATCH", batch)
    known = {name: one for name, one in sys.modules.items() if name != "ipykernel"}
    monkeypatch.setattr(sys, "modules", known | ({"ipykernel": sys} if kernel else {}))
    with bar(3, "features of toys", " images", progress=progress) as steps:
        steps.update(3)
    assert ("features of toys" in capsys.readouterr().err) == shown
