"""Small score matrices that several worked examples share; rows are images, columns are captions."""

from __future__ import annotations

import torch

S3 = torch.tensor([[0.80, 0.70, 0.10], [0.30, 0.60, 0.55], [0.65, 0.20, 0.50]], dtype=torch.float64)
S4 = torch.tensor(
    [[0.80, 0.70, 0.65, 0.10], [0.30, 0.60, 0.55, 0.58], [0.65, 0.20, 0.50, 0.45], [0.25, 0.62, 0.05, 0.70]],
    dtype=torch.float64,
)


def eye(size):
    """Positives of a batch of pairs."""
    return torch.eye(size, dtype=torch.bool)


def close(found, expected):
    """Equal within what a value printed to nine digits allows."""
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), atol=1e-9, rtol=0)
