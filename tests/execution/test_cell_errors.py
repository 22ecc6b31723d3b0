"""Errors in a tab without code: a line on the page, the traceback in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from workbench.execution import cell_errors


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """IPython in this process, which keeps no history."""
    yield InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    InteractiveShell.clear_instance()


def test_a_failing_cell_shows_one_line_and_where_the_traceback_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell
):
    monkeypatch.chdir(tmp_path)
    cell_errors.show_in_one_line("app.log")
    with capture_output() as captured:
        failed = shell.run_cell("raise ValueError('no model\\nhere')")
        shell.run_cell("follows")
    assert isinstance(failed.error_in_exec, ValueError)
    assert captured.stderr == "ValueError: no model here\nThe traceback is in app.log.\n"
    assert "Traceback" not in captured.stdout
    assert (tmp_path / "app.log").read_text().count("Traceback") == 2
