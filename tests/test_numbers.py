"""Every figure in README, guides and the prose of notebooks is recorded, or it is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.numbers import BLOCK, FILES, ROOT, rewritten

# A result reads like one of these: a decimal number, a percentage, a factor, a time or a size.
RESULT = re.compile(
    r"(?<![\w.@])[-+]?\d*\.\d+(?![\w.])|\d[\d,.]*\s?(?:%|percent|times|seconds|minutes|hours|ms\b|s\b|GiB|GB|MB)"
)
# What looks like one and is none: versions, sections, an installation, and what is set rather than found.
SET = re.compile(
    r"Python 3\.\d+|about [\d.]+ GB|\d+\.\d+\.\d+|9?5 %|arXiv \d+\.\d+|(?:section|Eq\.|chapter) [\d.]+"
)


def plain(markdown: str) -> str:
    """The prose of a text: no code, no links' targets, no recorded blocks."""
    without = re.sub(r"```.*?```", "", BLOCK.sub("", markdown), flags=re.DOTALL)
    return SET.sub("", re.sub(r"`[^`]*`|\]\([^)]*\)", "", without))


@pytest.mark.parametrize("name", FILES)
def test_the_figures_of_a_text_are_those_that_were_recorded(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert rewritten(text) == text, "run python -m tools.numbers"


@pytest.mark.parametrize("name", [*FILES, "CONTRIBUTING.md"])
def test_no_figure_stands_outside_a_recorded_block(name: str):
    assert RESULT.findall(plain((ROOT / name).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_prose_of_a_notebook_states_no_result(path: Path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = plain("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"))
    assert RESULT.findall(prose) == []
