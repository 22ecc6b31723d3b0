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
        failed = shell.run_cell("raise ValueError('no <b>model</b>\\nhere')")
        shell.run_cell("{}['a key']")
    assert isinstance(failed.error_in_exec, ValueError)
    first, second = (output.data for output in captured.outputs)
    assert first["text/plain"] == "ValueError: no <b>model</b> here\nThe traceback is in app.log."
    assert "no &lt;b&gt;model&lt;/b&gt; here" in first["text/html"]
    assert second["text/plain"].startswith("KeyError: a key\n")
    assert "Traceback" not in captured.stdout + captured.stderr
    assert (tmp_path / "app.log").read_text().count("Traceback") == 2
