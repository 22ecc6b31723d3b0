"""Training: the loop (``fit``), its settings, the optimiser and the checkpoint. It knows no paper by name."""

from workbench.training.loop import NonFiniteLossError, fit
from workbench.training.settings import (
    Settings,
    computing_threads,
    deterministic_algorithms,
    seed_everything,
)

__all__ = [
    "NonFiniteLossError",
    "Settings",
    "computing_threads",
    "deterministic_algorithms",
    "fit",
    "seed_everything",
]
