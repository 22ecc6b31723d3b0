"""Damage to files of every kind that is read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.torch import save_file

KINDS = ("flip", "swap", "truncation")


def damage(file: Path, kind: str) -> None:
    """Flip a bit, exchange two rows, or cut off the end."""
    content = bytearray(file.read_bytes())
    if kind == "flip":
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    elif kind == "truncation":
        file.write_bytes(content[: -len(content) // 4])
    else:
        SWAPS[file.suffix](file)
        assert file.read_bytes() != content


def _array(file: Path) -> None:
    rows = np.load(file)
    rows[[0, -1]] = rows[[-1, 0]]
    np.save(file, rows)


def _table(file: Path) -> None:
    table = pd.read_parquet(file)
    table.iloc[[1, 0, *range(2, len(table))]].to_parquet(file, index=False)


def _arrays(file: Path) -> None:
    held = dict(np.load(file))
    name = list(held)[-1]
    np.savez(file, **held | {name: held[name][::-1]})


def _weights(file: Path) -> None:
    with safe_open(file, framework="pt") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        about = opened.metadata()
    name = next(name for name, one in tensors.items() if len(one.shape) > 1 and (one[0] != one[-1]).any())
    save_file(tensors | {name: tensors[name].flip(0).contiguous()}, file, about)


def _mapping(file: Path) -> None:
    held = json.loads(file.read_text())
    first, second = list(held)[:2]
    file.write_text(json.dumps(held | {first: held[second], second: held[first]}))


SWAPS = {".npy": _array, ".npz": _arrays, ".parquet": _table, ".safetensors": _weights, ".json": _mapping}
