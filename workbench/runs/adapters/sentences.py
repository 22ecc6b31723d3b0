"""Models of sentence-transformers as objects that encode images and texts."""

from collections.abc import Sequence
from typing import Any

from workbench.assets import text_models
from workbench.io import hub_access, import_optional, reading_errors
from workbench.records import require
from workbench.runs.adapters.shared import DUAL
from workbench.runs.own import Adapter

SENTENCES = "sentence-transformers"


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
        self.model = open_in_library("SentenceTransformer", name)
        reads = getattr(self.model, "modalities", ["text", "image"])
        lacks = [side for side in ("image", "text") if side not in reads]
        require(
            not lacks,
            f"{name} encodes no {'s and no '.join(lacks)}s; {DUAL}",
        )
        self.tokenizer = getattr(self.model.tokenizer, "tokenizer", self.model.tokenizer)
        positions = text_models.text_positions(self.model)
        self.longest = text_models.least(self.model.max_seq_length, positions)
        if self.longest:
            # the library would ask for positions that are not there
            self.model.max_seq_length = self.longest

    @property
    def has_prompts(self) -> bool:
        """Whether the model has prompts by which queries and items are told apart."""
        return any(self.model.prompts.values())

    def encode_image(self, images: Sequence[Any], side: str = "", prompt: str = "") -> Any:
        """Return ``(N, D)`` vectors.

        Args:
            images: or texts.
            side: ``"query"`` or ``"item"``, which the library calls a document.
            prompt: in place of the model's own.
        """
        encode = {"query": self.model.encode_query, "item": self.model.encode_document}
        own = {"prompt": prompt} if prompt else {}
        how = {"convert_to_tensor": True, "show_progress_bar": False, **own}
        return encode.get(side, self.model.encode)(list(images), **how)

    def encode_text(self, texts: Sequence[str], side: str = "", prompt: str = "") -> Any:
        """Return ``(N, D)`` vectors, see ``encode_image``."""
        return self.encode_image(texts, side, prompt)


def open_in_library(kind: str, name: str) -> Any:
    """Open a model of sentence-transformers on the processor.

    Args:
        kind: its class.
        name: a folder or a name of the hub.

    Raises:
        ModuleNotFoundError: the library is not installed.
        ValueError: the model cannot be opened, or needs code of its own that is not trusted.
    """
    sentences = import_optional(SENTENCES, "sentences")
    opening = reading_errors(name, f"cannot be opened by {SENTENCES}", Exception)
    with opening, text_models.explaining_untrusted_code(name), hub_access(name):
        trusted = text_models.TRUSTED.get()
        return getattr(sentences, kind)(name, device="cpu", trust_remote_code=trusted)
