"""Bars of progress, for work that somebody watches."""

import os
import sys
from typing import Any

from tqdm.auto import tqdm


def bar(total: int, what: str, unit: str, *, done: int = 0, progress: bool = True) -> Any:
    """A bar where somebody watches (a terminal or a live notebook), and none in a batch, whose output would
    keep it.

    Args:
        total: how many there are to do.
        what: is done, in a word or two.
        unit: what is counted.
        done: so many are done already.
        progress: False = no bar anywhere.
    """
    live = sys.stderr.isatty() or ("ipykernel" in sys.modules and not os.environ.get("WORKBENCH_BATCH"))
    return tqdm(total=total, initial=done, desc=what, unit=unit, disable=not (progress and live), leave=False)
