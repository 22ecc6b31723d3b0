"""Cross-encoders of sentence-transformers that read an image and a text together."""

from collections.abc import Sequence
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from workbench.assets import text_models
from workbench.records import require
from workbench.runs.adapters.matching import identity
from workbench.runs.adapters.sentences import open_in_library
from workbench.runs.own import Adapter


class CrossEncoder(Adapter):
    """A cross-encoder; the text is its query, and the image its document.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ModuleNotFoundError: sentence-transformers is not installed.
        ValueError: it cannot be opened, or reads no images.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.model = open_in_library("CrossEncoder", name)
        require(
            "image" in getattr(self.model, "modalities", ["text"]),
            f"{name} is a cross-encoder of texts alone; give one that reads images",
        )
        text_models.require_finite(self.named_parameters(), name)
        self.name = Path(name).name
        self.identity = identity(name, self.model, "CrossEncoder")

    def score(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Tensor:
        """Return ``(N,)`` logits."""
        scores: Tensor = self.model.predict(
            list(zip(texts, images, strict=True)),
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        return scores
