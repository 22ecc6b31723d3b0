"""JupyterLab is started on a notebook: a failure is one line, and what a server says is passed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.execution import jupyter

REFUSES = (
    "print('[I 1 App] begins', file=sys.stderr); print('[C 1 App] no root here', file=sys.stderr); exit(1)"
)
SERVES = "print('[I 1 App] Jupyter Server is running at:', 'http://there', file=sys.stderr)"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A JupyterLab that runs a line of Python instead of a server."""

    def put(line: str) -> Path:
        (tmp_path / "jupyterlab.py").write_text(f"import sys\n{line}\n", encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        return tmp_path / "book.ipynb"

    return put


def test_a_start_that_fails_is_one_line(lab, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(OSError, match=r"^JupyterLab did not start: no root here$"):
        jupyter.open_lab(lab(REFUSES))
    assert capfd.readouterr().err == ""


def test_what_a_server_says_is_passed_on(lab, capfd: pytest.CaptureFixture[str]):
    assert jupyter.open_lab(lab(SERVES)) == 0
    assert "http://there" in capfd.readouterr().err


@pytest.mark.parametrize("allowed", [True, False])
def test_the_superuser_is_let_in_where_that_was_asked_for(lab, allowed: bool, tmp_path: Path):
    book = lab("open('told', 'w').write(' '.join(sys.argv[1:]))")
    jupyter.open_lab(book, allow_root=allowed)
    told = (tmp_path / "told").read_text("utf-8").split()
    assert told == [str(book), *(["--allow-root"] if allowed else [])]
