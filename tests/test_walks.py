"""How far a setting goes, from the words of a command to the loss that it belongs to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import workbench
from workbench.cli import app
from workbench.objectives.vsepp import VSEPP

ROOT = Path(workbench.__file__).parent
# a number that nothing else has
MARGIN = 0.31415
SIZES = {"epochs": 0, "train_images": 4, "val_images": 4, "test_images": 4}


def holds(value: Any) -> bool:
    """Whether a value is the margin, as a number or as it was typed, or has it inside."""
    if isinstance(value, dict):
        return any(map(holds, value.values()))
    if isinstance(value, list | tuple):
        return any(map(holds, value))
    return str(MARGIN) in value if isinstance(value, str) else value == MARGIN


class Walk:
    """Files of the package in which a function ran until the objective was made, and the names of arguments
    by which functions took the margin. One name may be that of one value or of several.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.names: dict[str, str] = {}
        self.began = self.ended = False

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)):
            return
        self.began |= code.co_name == "train"
        if event == "return":
            self.ended |= code is VSEPP.__init__.__wrapped__.__code__  # type: ignore[attr-defined]
            if self.ended:
                sys.setprofile(None)
        elif event == "call" and self.began:
            self.files.add(str(Path(code.co_filename).relative_to(ROOT)))
            count = (
                code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
            )
            for name in code.co_varnames[:count]:
                if holds(frame.f_locals.get(name)):
                    self.names.setdefault(name.removesuffix("s"), code.co_qualname)


def test_an_option_is_in_its_loss_after_few_files_and_under_few_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = {"objective": "vsepp", "objective.margin": MARGIN, **SIZES}
    words = [word for name, value in typed.items() for word in ("-p", f"{name}={value}")]
    walk = Walk()
    sys.setprofile(walk)
    try:
        done = CliRunner().invoke(app, ["train", *words])
    finally:
        sys.setprofile(None)
    assert done.exit_code == 0, done.output
    assert walk.ended
    assert len(walk.files) <= 30, sorted(walk.files)
    assert len(walk.names) <= 8, walk.names
