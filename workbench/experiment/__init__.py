"""One experiment: its configuration, how it is built, run and measured, and the run folder that keeps it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.experiment.config import Config
    from workbench.experiment.running import build, load_model, load_split, prepare, resolve, run
    from workbench.experiment.standalone import open_runs

__all__ = ["Config", "build", "load_model", "load_split", "open_runs", "prepare", "resolve", "run"]

_HOME = dict.fromkeys(__all__, "running") | {"Config": "config", "open_runs": "standalone"}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and torch with it, at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
