"""Arrays in files: their room is taken before anything is written."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest

from workbench.io import new_memmap


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of one megabyte."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], capture_output=True)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def test_what_is_written_can_be_read_again(tmp_path: Path):
    made = new_memmap(tmp_path / "a.npy", (2, 3), np.float16)
    made[:] = 1.5
    made.flush()
    assert np.load(tmp_path / "a.npy").tolist() == [[1.5] * 3] * 2


def test_a_full_disk_is_refused_with_what_is_needed_and_not_met_in_a_bus_error(small_disk: Path):
    with pytest.raises(OSError, match=r"has no room for the 4\.0 MB of b\.npy \(No space left on device\)"):
        new_memmap(small_disk / "b.npy", (1000, 2000), np.float16)


def test_a_file_that_may_not_grow_so_large_is_refused_likewise(tmp_path: Path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"has no room for the 4\.0 MB of c\.npy"):
            new_memmap(tmp_path / "c.npy", (1000, 2000), np.float16)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
