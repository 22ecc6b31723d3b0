"""A model and a split that it has embedded: what maps, comparisons and the explorer look into."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.experiment.model import Model
from workbench.records import Embedding, Split


@dataclass(frozen=True)
class Space:
    """Images and captions of one split in the space of one model.

    Args:
        name: how tables and figures call it; unique among spaces that are shown together.
        model: answers new questions: loose captions, loose images, scores.
        split: whose images and captions are embedded.
        image, text: the embeddings, on the CPU in float32; parts are left out where ``scores`` does not read
            them.
        folder: the run folder that it came from; ``None`` = the shipped encoder.
        config: the resolved configuration of the run as JSON values.
    """

    name: str
    model: Model
    split: Split
    image: Embedding
    text: Embedding
    folder: Path | None = None
    config: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """``(I, T)`` scores of the whole split, by the objective."""
        return self.model.scores(self.image, self.text)
