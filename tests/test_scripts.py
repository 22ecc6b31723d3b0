"""The scripts of pages: types, lint, and what needs no page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "packages/caption_graphs/panels",
    "packages/relevance_audit",
    "packages/paper_tables",
    "packages/slice_search",
)
FOLDERS = ("workbench/views/explorer", "workbench/views/maps", *PACKAGES)
SCRIPTS = [path for folder in FOLDERS for path in (ROOT / folder).glob("*.js")]


def run(*command: str) -> None:
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_what_needs_no_page_works_in_node():
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    run("node", "--test", *map(str, sorted((ROOT / "tests/scripts").glob("*.test.js"))))


@pytest.mark.parametrize("tool", ["tsc", "biome"])
def test_types_and_lint_are_clean(tool):
    path = ROOT / "node_modules" / ".bin" / tool
    if not path.exists():
        pytest.skip("the tools of package.json are not installed: npm install")
    run(str(path), *{"tsc": [], "biome": ["check"]}[tool])


def test_no_script_is_long():
    sizes = {path.name: path.read_text().splitlines() for path in SCRIPTS}
    assert {name: len(lines) for name, lines in sizes.items() if len(lines) > 500} == {}
    assert {name: max(map(len, lines)) for name, lines in sizes.items() if max(map(len, lines)) > 120} == {}
