"""What accelerate is told: device, precision, tracker."""

from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from workbench.training.settings import Settings


def accelerator(settings: Settings, folder: Path | None) -> Accelerator:
    """Device, precision and tracker of the settings.

    Args:
        settings: how to train.
        folder: where a tracker writes; ``None`` = here.

    Raises:
        ValueError: a GPU is asked for and there is none.
    """
    cpu = settings.device == "cpu" or not torch.cuda.is_available()
    if settings.device == "cuda" and cpu:
        raise ValueError("device='cuda', but PyTorch sees no GPU; use device='auto' or 'cpu'")
    half = settings.precision == "bf16" or (settings.precision == "auto" and not cpu)
    # accelerate keeps device and precision for the life of the process; a notebook may train again with
    # others.
    AcceleratorState._reset_state(reset_partial_state=True)
    out = Accelerator(
        cpu=cpu,
        mixed_precision="bf16" if half else "no",
        log_with=settings.tracker or None,
        project_dir=str(folder or "."),
    )
    if settings.tracker:
        out.init_trackers(
            "itm-workbench",
            config={k: v for k, v in vars(settings).items() if isinstance(v, int | float | str)},
        )
    return out
