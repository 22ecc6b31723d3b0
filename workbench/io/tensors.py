"""Files of tensors that others wrote."""

import re
import warnings
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import ZipFile, is_zipfile

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from workbench.io.reading import reading_errors, require_real_file

# what PyTorch says of objects that a file holds beside tensors
FOREIGN = re.compile(r"(?:GLOBAL|class) ([\w.]+)")


def load_tensors(file: Path, wanted: str) -> Any:
    """Read a file of tensors: safetensors, PyTorch's own form, or an archive of TorchScript.

    Args:
        file: where it lies.
        wanted: what it should hold, for messages.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be read, or holds other objects than tensors and plain values.
    """
    require_real_file(file, wanted)
    with reading_errors(file, f"holds no {wanted}"):
        scripted = is_zipfile(file) and any(
            name.endswith("constants.pkl") for name in ZipFile(file).namelist()
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # TorchScript is deprecated, and nothing else reads it
                return _read_content(file, scripted)
        except (UnpicklingError, RuntimeError, LookupError, OSError, SafetensorError) as error:
            named = FOREIGN.search(str(error))
            foreign = (
                f"beside tensors it holds {named[1]}" if named else "it is cut off, or no file of tensors"
            )
            raise ValueError(f"{foreign}; save the tensors alone, as in a state_dict") from None


def _read_content(file: Path, scripted: bool) -> Any:
    """Read a file with the library that wrote it."""
    if file.suffix == ".safetensors":
        return load_file(file)
    if scripted:
        script: Any = torch.jit  # without types
        return script.load(file, map_location="cpu").state_dict()
    return torch.load(file, map_location="cpu", weights_only=True)
