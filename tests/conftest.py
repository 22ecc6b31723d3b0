"""Fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workbench.tour import TourResult


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Features and scene graphs are kept for the session alone, unless a folder is named."""
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("WORKBENCH_CACHE"):
            patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real photographs and captions; skips where it is absent."""
    root = os.environ.get("WORKBENCH_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("WORKBENCH_DATA does not name a folder of real data")
    return Path(root)


@pytest.fixture(scope="session")
def real_tour(tmp_path_factory: pytest.TempPathFactory) -> TourResult:
    """The tour as a newcomer runs it, once a session; takes minutes."""
    from workbench.tour import tour

    return tour(tmp_path_factory.mktemp("runs"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, a file's tests stay together in their order, since they may share a page
    or a process; and so do all that read the tour, so that it is run once.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            tour = "real_tour" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("tour" if tour else item.nodeid.partition("::")[0]))
