"""The guide and the README name every benchmark, as it is declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.declaration import declaration, names

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", names())
def test_the_guide_and_the_readme_name_a_benchmark_with_its_address(name):
    declared = declaration(name)
    guide = (ROOT / "docs" / "guides" / "benchmarks.md").read_text(encoding="utf-8")
    (row,) = [line for line in guide.splitlines() if line.startswith(f"| `{name}` |")]
    assert f"({declared.url})" in row
    assert f"`{declared.images}/`" in row
    assert all(score in row for score in declared.scores)
    assert f"`{name}`" in (ROOT / "packages" / "benchmarks" / "README.md").read_text(encoding="utf-8")
