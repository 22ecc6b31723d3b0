"""Where models run and in which precision: one choice for the process, which all that encodes or trains
follows where a device or a precision is ``"auto"``, or is not named.

A command or the setup cell of a notebook makes it; without one, a GPU is taken where PyTorch sees one.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from workbench.registry import check_arguments, require

if TYPE_CHECKING:
    import torch

PRECISIONS = ("auto", "float32", "bf16", "fp16")
# what follows the choice of the process
FOLLOWING = ("", "auto")
_choice = {"device": "auto", "precision": "auto"}


@check_arguments("use_device")
def use(device: str = "auto", precision: str = "auto") -> None:
    """Choose for the process.

    Args:
        device: ``"auto"``, or a name that PyTorch knows, such as ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        precision: of what encodes: ``"bf16"`` or ``"fp16"`` on a GPU, or ``"float32"``, as ``"auto"``.

    Raises:
        ValueError: there is no such device or precision here.
    """
    before = dict(_choice)
    _choice.update(device=device, precision=precision)
    try:
        require_precision(precision, find_device().type)
    except ValueError:
        _choice.update(before)
        raise


def find_device(device: str = "") -> "torch.device":
    """Find the device of a name; that of the process's choice where the name is empty or ``"auto"``.

    Raises:
        ValueError: PyTorch does not know the name, or sees no such device.
    """
    import torch

    name = _choice["device"] if device in FOLLOWING else device
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device_of_name = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device is {name!r}; use auto, cpu, cuda or cuda:1") from None
    _require_available(name, device_of_name)
    return device_of_name


def _require_available(name: str, device: "torch.device") -> None:
    """Raise if the device is not on this machine, or cannot hold numbers."""
    import torch

    if device.type == "cuda":
        # counted: a tensor would take memory of the GPU also in a process that only starts others
        there = torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
        require(there, f"device={name!r}, but PyTorch sees no such GPU; use device='auto' or 'cpu'")
        return
    try:
        torch.empty(0, device=device).cpu()
    except (RuntimeError, AssertionError, ImportError):
        # the three that PyTorch raises, by the kind of device
        raise ValueError(
            f"device={name!r}, but PyTorch cannot compute there on this machine; use device='auto' or 'cpu'"
        ) from None


def precision_of(precision: str = "") -> str:
    """Return a precision as it is; that of the process's choice where it is empty or ``"auto"``."""
    return _choice["precision"] if precision in FOLLOWING else precision


def in_precision(device: "torch.device", precision: str = "") -> AbstractContextManager[Any]:
    """Make a context in which models on the device encode in a precision, see ``precision_of``.

    Raises:
        ValueError: no such precision, or one that is for a GPU.
    """
    import torch

    wanted = require_precision(precision_of(precision), device.type)
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.autocast(device.type, kinds[wanted]) if wanted in kinds else nullcontext()


def require_precision(precision: str, device: str) -> str:
    """Return a precision, if it is one and the kind of device computes in it.

    Raises:
        ValueError: no such precision, or one that is for a GPU.
    """
    require(precision in PRECISIONS, f"precision is {precision!r}; it is one of {', '.join(PRECISIONS)}")
    require(
        precision not in ("bf16", "fp16") or device != "cpu",
        f"precision={precision!r} is for a GPU; use precision='auto' or device='cuda'",
    )
    return precision
