"""One experiment: its configuration, how it is built, run and measured, and the run folder that keeps it."""

from typing import TYPE_CHECKING

from workbench.registry import lazy_getattr

if TYPE_CHECKING:
    from workbench.runs.build import load_split, load_target, prepare
    from workbench.runs.config import Config
    from workbench.runs.models import load_model
    from workbench.runs.opening import open_runs
    from workbench.runs.target import Target

__all__ = ["Config", "Target", "load_model", "load_split", "load_target", "open_runs", "prepare"]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Config": "config",
        "load_split": "build",
        "load_target": "build",
        "prepare": "build",
        "Target": "target",
        "load_model": "models",
        "open_runs": "opening",
        "compare": "compare:*",
        "store": "store:*",
    },
)
