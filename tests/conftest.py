"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real photographs and captions; skips where it is absent."""
    root = os.environ.get("WORKBENCH_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("WORKBENCH_DATA does not name a folder of real data")
    return Path(root)
