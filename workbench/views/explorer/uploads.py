"""Files that a person hands to the explorer: a picture, or a stored embedding."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

LIMIT = 32_000_000


def opened(name: str, content: bytes) -> Any:
    """A picture in RGB, or the vector of an ``.npy`` file.

    Args:
        name: of the file; the ending ``.npy`` tells an embedding.
        content: the file.

    Returns:
        ``PIL.Image``, or ``(D,)`` float32.

    Raises:
        ValueError: the file is too large, or neither a picture nor one vector.
    """
    if len(content) > LIMIT:
        raise ValueError(f"{name} has {len(content) / 1e6:.0f} MB; at most {LIMIT / 1e6:.0f} MB are taken")
    return _vector(name, content) if name.lower().endswith(".npy") else _picture(name, content)


def _vector(name: str, content: bytes) -> Any:
    vector = np.load(io.BytesIO(content), allow_pickle=False).squeeze()
    if vector.ndim != 1 or not np.issubdtype(vector.dtype, np.floating) or not np.isfinite(vector).all():
        raise ValueError(
            f"{name} holds {vector.dtype} of shape {vector.shape}; one vector of finite numbers is needed"
        )
    return vector.astype(np.float32)


def _picture(name: str, content: bytes) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(io.BytesIO(content)).convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise ValueError(f"{name} is no picture that can be read: {error}") from error
