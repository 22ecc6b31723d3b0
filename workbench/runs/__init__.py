"""One experiment: its configuration, how it is built, run and measured, and the run folder that keeps it."""

from typing import TYPE_CHECKING

from workbench.registry import lazily

if TYPE_CHECKING:
    from workbench.runs.build import (
        load_model,
        load_split,
        load_target,
        prepare,
        resolve,
        run,
    )
    from workbench.runs.config import Config, check_fit, fitting
    from workbench.runs.target import Target
    from workbench.runs.train import open_runs

__all__ = [
    "Config", "Target", "check_fit", "fitting", "load_model", "load_split", "load_target",
    "open_runs", "prepare", "resolve", "run",
]  # fmt: skip

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("load_model", "load_split", "load_target", "prepare", "resolve", "run"), "build"),
        **dict.fromkeys(("Config", "check_fit", "fitting"), "config"),
        "Target": "target",
        "open_runs": "train",
    },
)
