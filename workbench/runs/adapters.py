"""Dual encoders of other libraries, transformers and sentence-transformers, as objects that encode images and
texts.
"""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from PIL import Image
from torch import nn

from workbench.assets import text_models
from workbench.io import hub, reading_errors
from workbench.records import require
from workbench.registry import options_of
from workbench.runs.own import Adapter

SENTENCES = "sentence-transformers"
DUAL = "only dual encoders, such as CLIP and SigLIP, can be opened so far"
# more tokens than any model reads
UNLIMITED = 10**9
# names of the parts that count positions, and of those that do so in images
POSITIONS, IMAGES = re.compile(r"(^|\.)(embed_positions|position_embeddings?)$"), re.compile("vision|image")


class HuggingFace(Adapter):
    """A dual encoder of transformers: CLIP, SigLIP and their like.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, is no dual encoder, or its weights are not finite.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        opening = reading_errors(name, "cannot be opened by transformers", Exception)
        with opening, text_models.without_code(name):
            self.model = _dual_encoder(name, *_saved_as(name))
            self.processor = text_models.read("AutoProcessor", name)
        broken = next((part for part, one in self.named_parameters() if not one.isfinite().all()), "")
        require(not broken, f"{name}: {broken} holds numbers that are not finite")
        self.name = name
        self.longest = _least(self.processor.tokenizer.model_max_length, _text_positions(self.model))
        # SigLIP has seen texts of one length alone
        self.padding = "max_length" if "siglip" in self.model.config.model_type else True

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """``(N, D)`` vectors."""
        inputs = self.processor(images=images, return_tensors="pt")
        return vectors_in(self.model.get_image_features(**inputs.to(self.model.device)))

    def encode_text(self, texts: Sequence[str]) -> Any:
        """``(N, D)`` vectors; a text is cut to what the model reads."""
        cut = {"truncation": True, "max_length": self.longest} if self.longest else {}
        inputs = self.processor(text=texts, padding=self.padding, return_tensors="pt", **cut)
        return vectors_in(self.model.get_text_features(**inputs.to(self.model.device)))

    def cut(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens."""
        return text_models.longer(self.processor.tokenizer, texts, self.longest) if self.longest else 0


def vectors_in(output: Any) -> Any:
    """Take the vectors out of what a method of transformers gives, which is an object in newer releases.

    Args:
        output: of ``get_image_features`` or ``get_text_features``.
    """
    return getattr(output, "pooler_output", output)


def _saved_as(name: str) -> tuple[Any, Any]:
    """The class that reads a model as a whole, and the one whose weights were saved."""
    import transformers

    config = text_models.read("AutoConfig", name)
    whole = transformers.MODEL_MAPPING.get(type(config), None)
    saved = getattr(transformers, next(iter(config.architectures or ()), ""), None)
    return whole, saved or whole


def _dual_encoder(name: str, whole: Any, saved: Any) -> Any:
    """A model that encodes images and texts apart.

    Args:
        name: a folder or a name of the hub.
        whole: class that reads it as a whole; ``None`` = not known.
        saved: class whose weights were saved.

    Raises:
        ValueError: it does not; the message says what its class reads instead.
    """
    require(whole is None or _encodes_apart(whole), f"{name} holds a {_reads(saved or whole)}")
    try:
        return text_models.read("AutoModel", name)
    except text_models.IncompleteError as error:
        part = saved is not whole and not _encodes_apart(saved)
        raise ValueError(f"{name} holds a {_reads(saved)}" if part else str(error)) from error


def _encodes_apart(kind: Any) -> bool:
    """Whether a class gives vectors of images and of texts, and is no part of one that writes texts."""
    methods = all(hasattr(kind, f"get_{side}_features") for side in ("image", "text"))
    return methods and "decoder_input_ids" not in options_of(kind.forward)


def _reads(kind: Any) -> str:
    """A class by its name, and why it cannot be opened."""
    inputs = options_of(kind.forward)
    sides = {"pixel_values": "images", "input_ids": "texts"}
    lacks = [side for field, side in sides.items() if field not in inputs]
    alone = f"encodes no {' and no '.join(lacks)}"
    reason = alone if lacks else "reads an image and a text at once, since its head needs both inputs"
    return f"{kind.__name__}, which {reason}; {DUAL}"


def _least(*limits: int | None) -> int:
    """The least of some numbers of tokens, 0 where none is known; libraries write 10 ** 30 for none."""
    return min((limit for limit in limits if limit and limit < UNLIMITED), default=0)


def _text_positions(model: nn.Module) -> int:
    """How many tokens of a text a model has positions for; 0 = it counts none. Some keep a place for padding
    and count behind it.
    """
    config = getattr(model, "config", None)
    limits = [getattr(getattr(config, "text_config", config), "max_position_embeddings", 0)]
    for name, part in model.named_modules():
        if isinstance(part, nn.Embedding) and POSITIONS.search(name) and not IMAGES.search(name):
            limits.append(part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1))
    return _least(*limits)


class Sentences(Adapter):
    """A model of sentence-transformers that encodes images and texts alike.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ModuleNotFoundError: sentence-transformers is not installed.
        ValueError: it cannot be opened, or encodes no images.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        sentences = library(SENTENCES, "sentences")
        opening = reading_errors(name, f"cannot be opened by {SENTENCES}", Exception)
        with opening, text_models.without_code(name), hub(name):
            self.model = sentences.SentenceTransformer(name, device="cpu")
        reads = getattr(self.model, "modalities", ["text", "image"])
        lacks = [side for side in ("image", "text") if side not in reads]
        require(
            not lacks,
            f"{name} encodes no {'s and no '.join(lacks)}s; {DUAL}",
        )
        self.longest = _least(self.model.max_seq_length, _text_positions(self.model))
        if self.longest:
            # the library would ask for positions that are not there
            self.model.max_seq_length = self.longest

    def encode_image(self, images: Sequence[Any]) -> Any:
        """``(N, D)`` vectors."""
        return self.model.encode(list(images), convert_to_tensor=True, show_progress_bar=False)

    encode_text = encode_image

    def cut(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens."""
        tokenizer = getattr(self.model.tokenizer, "tokenizer", self.model.tokenizer)
        return text_models.longer(tokenizer, texts, self.longest) if self.longest else 0


def library(name: str, extra: str) -> Any:
    """An optional library, imported when it is asked for.

    Args:
        name: of the library.
        extra: of this package that installs it.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module(name.replace("-", "_"))
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{name} is needed, and not installed; pip install 'itm-workbench[{extra}]'"
        ) from None
