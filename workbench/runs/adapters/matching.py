"""Heads of transformers that read an image and a text together: what those of BLIP and BLIP-2 share."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from workbench.assets import text_models
from workbench.io import checksum
from workbench.runs.adapters.shared import open_in_transformers
from workbench.runs.own import Adapter

# files of a folder that decide what a model gives
PARTS = (".safetensors", ".bin", ".json", ".model", ".jinja", ".txt")


class Matching(Adapter):
    """A model of transformers that says how well images and texts match.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or its weights are not finite.
    """

    kind: str = ""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.model, self.processor = open_in_transformers(self.kind, name)
        self.name = Path(name).name
        self.identity = identity(name, self.model, self.kind)
        positions = text_models.text_positions(self.model)
        self.tokenizer = self.processor.tokenizer
        self.longest = text_models.least(self.tokenizer.model_max_length, positions)

    def score(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Tensor:
        """Return ``(N,)`` logit of "match" of pairs."""
        distinct, place = distinct_images(images)
        states = self._image_states(distinct)[place]
        tokens = self._tokens(texts)
        seen = torch.ones(states.shape[:-1], dtype=torch.long, device=states.device)
        return self._matching(states, seen, tokens["input_ids"], tokens["attention_mask"])

    def _image_states(self, images: Sequence[Image.Image]) -> Tensor:
        """Return ``(N, P, D)`` states of the image encoder."""
        inputs = self.processor.image_processor(images=list(images), return_tensors="pt")
        states: Tensor = self.model.vision_model(pixel_values=inputs["pixel_values"].to(self.model.device))[0]
        return states

    def _tokens(self, texts: Sequence[str]) -> Any:
        how = {"padding": True, "truncation": True, "return_tensors": "pt"}
        tokens = self.tokenizer(list(texts), max_length=self.longest or None, **how)
        return tokens.to(self.model.device)

    def _matching(self, states: Tensor, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        """Return ``(N,)`` logits of pairs, of the states of their images and the tokens of their texts."""
        raise NotImplementedError


def distinct_images(images: Sequence[Image.Image]) -> tuple[list[Image.Image], Tensor]:
    """List each image once, and say where each of all stands among them.

    Args:
        images: some of them one object.
    """
    rows = {id(image): row for row, image in enumerate(images)}
    places = {key: number for number, key in enumerate(rows)}
    return [images[row] for row in rows.values()], torch.tensor([places[id(image)] for image in images])


def identity(name: str, model: Any, *settings: str) -> str:
    """Return what names a model by its weights: the checksums of its folder, or its name and version on the
    hub.

    Args:
        name: a folder or a name of the hub.
        model: of transformers.
        settings: what else decides what it gives.
    """
    place = Path(name)
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if file.suffix in PARTS)
        known = [(file.name, checksum(file)) for file in files]
    else:
        known = [(name, str(getattr(model.config, "_commit_hash", "")))]
    return hashlib.sha256(json.dumps([known, settings]).encode()).hexdigest()
