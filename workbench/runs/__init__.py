"""One experiment: its configuration, how it is built, run and measured, and the run folder that keeps it."""

from typing import TYPE_CHECKING

from workbench.registry import lazily

if TYPE_CHECKING:
    from workbench.runs.build import load_model, load_split, load_target, prepare, run
    from workbench.runs.config import Config
    from workbench.runs.target import Target
    from workbench.runs.train import open_runs

__all__ = [
    "Config", "Target", "load_model", "load_split", "load_target",
    "open_runs", "prepare", "run",
]  # fmt: skip

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("load_model", "load_split", "load_target", "prepare", "run"), "build"),
        "Config": "config",
        "Target": "target",
        **{module: f"{module}:*" for module in ("compare", "store")},
        "open_runs": "train",
    },
)
