"""A source of training batches and objectives with fixed weights; embeddings and batches are
the contract's.
"""

from __future__ import annotations

import torch

from workbench import objectives
from workbench.losses.distance_weighted import distance_weighted
from workbench.objectives.contract import (
    WIDTH,
    make_batch,
    random_embedding,
    random_signals,
    seed_draws,
    take_captions,
    total_loss,
)
from workbench.records import Split
from workbench.training.batches import Source

__all__ = [
    "DRAWS",
    "WIDTH",
    "load",
    "make_batch",
    "random_embedding",
    "recorded_draws",
    "source",
    "total_loss",
]
# where the triplets of HREM and of AAHR as released draw
DRAWS = "workbench.losses.distance_weighted.distance_weighted"


class Columns:
    """A signal of fixed values, one row a caption."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    def __len__(self):
        return len(self.values)

    def take(self, rows):
        return take_captions(self.values, torch.as_tensor(rows))


class Grades:
    """Relevance of fixed values."""

    def __init__(self, values):
        self.values = values

    def take(self, images, captions):
        return self.values[images][:, captions]


def source(objective, own=(0, 0, 1, 2, 2, 2, 3, 3, 4, 4)):
    """All that training batches are made from, with vectors as inputs; captions an image are uneven."""
    generator = torch.Generator().manual_seed(5)
    own = torch.tensor(own)
    images = int(own.max()) + 1
    split = Split(
        name="toy",
        image_ids=tuple(f"i{n}" for n in range(images)),
        captions=tuple(f"caption {n}" for n in range(len(own))),
        caption_ids=tuple(f"t{n}" for n in range(len(own))),
        own=own.numpy(),
        open_image=lambda row: None,
    )
    vectors = torch.randn(images, 6, generator=generator, dtype=torch.float64)
    made = random_signals(len(own), generator) | {
        "vectors": torch.randn(len(own), 6, generator=generator, dtype=torch.float64)
    }
    grades = torch.rand(images, len(own), generator=generator)
    return Source(
        split,
        {"vectors": lambda rows: vectors[torch.as_tensor(rows)]},
        {name: Columns(name, value) for name, value in made.items()},
        {name: Grades(grades) for name in objective.relevance_sources()},
    )


def load(name, **options):
    """An objective with its own random weights fixed and in double precision."""
    with seed_draws():
        made = objectives.load(name, **options)
        made.setup(WIDTH)
    # Evaluation mode: dropout inside an objective would make every comparison a comparison of draws.
    return made.double().eval()


def recorded_draws(monkeypatch):
    """Lists that grow with each triplet loss by drawn negatives: its scores, and its value."""
    tables, values = [], []

    def recorded(scores, own, **how):
        assert how == {"margin": 0.2, "cutoff": 1.7, "reduction": "sum"}
        tables.append(scores)
        values.append(distance_weighted(scores, own, **how))
        return values[-1]

    monkeypatch.setattr(DRAWS, recorded)
    return tables, values
