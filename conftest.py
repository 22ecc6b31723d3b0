"""Fixtures that all tests share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from workbench import progress

if TYPE_CHECKING:
    from workbench.tour import TourResult

# what processes that tests start import in place of a package that is slow to import
BESIDE = str(Path(__file__).parent / "tests" / "without_addresses")
sys.path.insert(0, BESIDE)
os.environ["PYTHONPATH"] = os.pathsep.join([BESIDE, *filter(None, [os.environ.get("PYTHONPATH")])])
collect_ignore = [BESIDE]

# Property tests draw the same examples on every run, whatever the machine's load. With
# --hypothesis-profile=fresh they draw new and more ones, and those that fail are kept in .hypothesis.
settings.register_profile(
    "repeatable",
    settings.get_profile("default"),
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fresh",
    settings.get_profile("default"),
    deadline=None,
    max_examples=300,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Features and scene graphs are kept for the session alone, unless a folder is named."""
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("WORKBENCH_CACHE"):
            patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_lines_of_progress() -> Iterator[None]:
    """What is printed does not depend on how busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress.media, "LINE_SECONDS", 3600.0)
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
    """The tour as a newcomer runs it, once a session, also where tests run side by side; takes minutes."""
    from workbench.tour import TourResult, stops_on, tour

    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    kept = folder / "tour.json"
    with FileLock(folder / "tour.lock"):
        if not kept.exists():
            made = asdict(tour(folder / "runs", stops=stops_on("auto", "auto")))
            kept.write_text(json.dumps(made, default=str))
        found = json.loads(kept.read_text())
    return TourResult(**{**found, "index": Path(found["index"])})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``--dist loadgroup`` a process takes the tests of a file, or a single slow one where its file's
    tests share no fixture. All that read the tour are one group, so that no process waits for it. It begins
    first, other slow ones follow, files before single tests, so that quick ones fill the end.
    """
    tour = pytest.mark.xdist_group("tour")
    for item in items:
        if "real_tour" in getattr(item, "fixturenames", ()):
            item.add_marker(tour)
        together = _shares_fixtures(item.path) or not item.get_closest_marker("slow")
        if together and tour.mark not in item.iter_markers():
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
    items.sort(key=lambda item: (tour.mark not in item.iter_markers(), *_follows(item)))


def _follows(item: pytest.Item) -> tuple[bool, bool]:
    slow = item.get_closest_marker("slow") is not None
    return not slow, not (slow and _shares_fixtures(item.path))


@cache
def _shares_fixtures(path: Path) -> bool:
    return 'scope="module"' in path.read_text(encoding="utf-8")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two processes for a round of all tests, none beside this one where files are named: there the start
    takes longer than the tests.
    """
    return 0 if config.args_source is pytest.Config.ArgsSource.ARGS else 2


def pytest_configure(config: pytest.Config) -> None:
    """Tests that run side by side take one core each, as do the processes that they start."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ.setdefault("OMP_NUM_THREADS", "1")
