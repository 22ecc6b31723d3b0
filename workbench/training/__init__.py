"""Training: the loop (``fit``), its settings, the optimiser and the checkpoint. It knows no paper by name."""

from workbench.training.loop import NonFiniteLossError, fit
from workbench.training.settings import Settings, deterministic_algorithms, seed_everything

__all__ = ["NonFiniteLossError", "Settings", "deterministic_algorithms", "fit", "seed_everything"]
