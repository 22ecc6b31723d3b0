"""Dual encoders of transformers as objects that encode images and texts."""

from collections.abc import Sequence
from typing import Any

from PIL import Image

from workbench.assets import text_models
from workbench.records import require
from workbench.registry import options_of
from workbench.runs.adapters.shared import DUAL
from workbench.runs.own import Adapter


class HuggingFace(Adapter):
    """A dual encoder of transformers: CLIP, SigLIP and their like.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, is no dual encoder, or its weights are not finite.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        with text_models.reading_transformers(name):
            self.model = _dual_encoder(name, *_saved_as(name))
            self.processor = text_models.load_part("AutoProcessor", name)
        text_models.require_finite(self.named_parameters(), name)
        self.name = name
        positions = text_models.text_positions(self.model)
        self.tokenizer = self.processor.tokenizer
        self.longest = text_models.least(self.tokenizer.model_max_length, positions)
        # SigLIP has seen texts of one length alone
        self.padding = "max_length" if "siglip" in self.model.config.model_type else True

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """Return ``(N, D)`` vectors."""
        inputs = self.processor(images=images, return_tensors="pt")
        return vectors_in(self.model.get_image_features(**inputs.to(self.model.device)))

    def encode_text(self, texts: Sequence[str]) -> Any:
        """Return ``(N, D)`` vectors; a text is cut to what the model reads."""
        cut = {"truncation": True, "max_length": self.longest} if self.longest else {}
        inputs = self.processor(text=texts, padding=self.padding, return_tensors="pt", **cut)
        return vectors_in(self.model.get_text_features(**inputs.to(self.model.device)))


def vectors_in(output: Any) -> Any:
    """Take the vectors out of what a method of transformers gives, which is an object in newer releases.

    Args:
        output: of ``get_image_features`` or ``get_text_features``.
    """
    return getattr(output, "pooler_output", output)


def _saved_as(name: str) -> tuple[Any, Any]:
    """Return the class that reads a model as a whole, and the one whose weights were saved."""
    import transformers

    config = text_models.load_part("AutoConfig", name)
    whole = transformers.MODEL_MAPPING.get(type(config), None)
    saved = getattr(transformers, next(iter(config.architectures or ()), ""), None)
    return whole, saved or whole


def _dual_encoder(name: str, whole: Any, saved: Any) -> Any:
    """Return a model that encodes images and texts apart.

    Args:
        name: a folder or a name of the hub.
        whole: class that reads it as a whole; ``None`` = not one of transformers.
        saved: class whose weights were saved; likewise.

    Raises:
        ValueError: it does not; the message says what its class reads instead.
    """
    if whole is not None and not _encodes_apart(whole):
        raise ValueError(f"{name} holds a {_reads(saved or whole)}")
    try:
        model = text_models.load_part("AutoModel", name)
    except text_models.IncompleteError as error:
        part = saved not in (None, whole) and not _encodes_apart(saved)
        raise ValueError(f"{name} holds a {_reads(saved)}" if part else str(error)) from error
    # a class that lies beside the model
    kind = type(model)
    require(_encodes_apart(kind), f"{name} holds a {_reads(kind)}")
    return model


def _encodes_apart(kind: Any) -> bool:
    """Return whether a class gives vectors of images and of texts, and is no part of one that writes
    texts.
    """
    methods = all(hasattr(kind, f"get_{side}_features") for side in ("image", "text"))
    return methods and "decoder_input_ids" not in options_of(kind.forward)


def _reads(kind: Any) -> str:
    """Return a class by its name, and why it cannot be opened."""
    inputs = options_of(kind.forward)
    sides = {"pixel_values": "images", "input_ids": "texts"}
    lacks = [side for field, side in sides.items() if field not in inputs]
    alone = f"encodes no {' and no '.join(lacks)}"
    reason = alone if lacks else "reads an image and a text at once, since its head needs both inputs"
    return f"{kind.__name__}, which {reason}; {DUAL}"
