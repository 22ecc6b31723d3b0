"""Where models run and in which precision: one choice for the process, which all that encodes follows.

A verb or the setup cell of a notebook makes it; without one, a GPU is taken where PyTorch sees one.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

PRECISIONS = ("auto", "no", "bf16")
_choice = {"device": "auto", "precision": "auto"}


def use(device: str = "auto", precision: str = "auto") -> None:
    """Choose for the process.

    Args:
        device: ``"auto"``, or a name that PyTorch knows, such as ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        precision: of what encodes: ``"bf16"`` on a GPU, or ``"no"`` for float32, which ``"auto"`` means too.

    Raises:
        ValueError: there is no such device or precision here.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}; it is one of {', '.join(PRECISIONS)}")
    if precision == "bf16" and find(device).type == "cpu":
        raise ValueError("precision='bf16' is for a GPU; use precision='auto' or device='cuda'")
    find(device)
    _choice.update(device=device, precision=precision)


def find(device: str = "") -> "torch.device":
    """The device of a name; of the process's choice where none is given.

    Raises:
        ValueError: PyTorch does not know the name, or sees no such device.
    """
    import torch

    name = device or _choice["device"]
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device is {name!r}; use auto, cpu, cuda or cuda:1") from None
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device={name!r}, but PyTorch sees no such GPU; use device='auto' or 'cpu'")
    return found


def precise(device: "torch.device") -> AbstractContextManager[Any]:
    """A context in which models on the device run in the precision that was chosen."""
    import torch

    half = _choice["precision"] == "bf16" and device.type != "cpu"
    return torch.autocast(device.type, torch.bfloat16) if half else nullcontext()
