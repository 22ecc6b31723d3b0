"""The guide and the README name every benchmark, as it is declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_sets.declaration import declaration, names
from benchmark_sets.reproduce import read_published

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", names())
def test_the_guide_and_the_readme_name_a_benchmark_with_its_address(name):
    declared = declaration(name)
    guide = (ROOT / "docs" / "guides" / "benchmarks.md").read_text(encoding="utf-8")
    (row,) = [line for line in guide.splitlines() if line.startswith(f"| `{name}` |")]
    assert f"({declared.url})" in row
    assert f"`{declared.images}/`" in row
    assert all(score in row for score in declared.scores)
    assert f"`{name}`" in (ROOT / "packages" / "benchmark_sets" / "README.md").read_text(encoding="utf-8")


def test_the_page_of_published_numbers_lists_all_of_them():
    page = (ROOT / "docs" / "reproduced.md").read_text(encoding="utf-8")
    lines = page.splitlines()
    for row in read_published():
        cells = f"| {row.model or 'the data alone'} | {row.data} | {row.number} | "
        assert [line for line in lines if line.startswith(cells) and row.place in line], cells
