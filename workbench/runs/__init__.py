"""One experiment: its configuration, how it is built, run and measured, and the run folder that keeps it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_HOME = dict.fromkeys(__all__, "build")
_HOME |= {"Config": "config", "check_fit": "config", "fitting": "config"}
_HOME |= {"Target": "target", "open_runs": "train"}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and torch with it, at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
