"""Retrievers of transformers that give several vectors an image and a text, ColPali, ColQwen2 and their
like, as objects that encode both.
"""

from collections.abc import Sequence
from typing import Any

from PIL import Image
from torch import Tensor

from workbench.assets import text_models
from workbench.io import reading_errors
from workbench.objectives.parts.maxsim import MaxSim
from workbench.records import require
from workbench.runs.own import Adapter

# an image is a thousand tokens of a large language model
IMAGES_AT_ONCE = 4


class LateInteraction(Adapter):
    """A retriever whose query tokens each take the best token of an image; scores are sums over the query.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or its weights are not finite.

    Source:
        Faysse et al., "ColPali: Efficient document retrieval with vision language models", ICLR 2025, Eq. 1.
    """

    scorer = MaxSim(query="text", reduction="sum")

    def __init__(self, name: str) -> None:
        super().__init__()
        opening = reading_errors(name, "cannot be opened by transformers", Exception)
        with opening, text_models.refusing_code(name):
            self.model = text_models.read(saved_class(name), name)
            self.processor = text_models.read("AutoProcessor", name)
        broken = next((part for part, value in self.named_parameters() if not value.isfinite().all()), "")
        require(not broken, f"{name}: {broken} holds numbers that are not finite")
        self.name = name

    def encode_image(self, images: Sequence[Image.Image]) -> list[Tensor]:
        """``N`` times ``(P, D)`` vectors, those of the prompt among them."""
        vectors = list[Tensor]()
        for start in range(0, len(images), IMAGES_AT_ONCE):
            part = list(images[start : start + IMAGES_AT_ONCE])
            vectors += self._vectors(self.processor.process_images(images=part))
        return vectors

    def encode_text(self, texts: Sequence[str]) -> list[Tensor]:
        """``N`` times ``(L, D)`` vectors, those of the query's prefix and suffix among them."""
        return self._vectors(self.processor.process_queries(text=list(texts)))

    def _vectors(self, inputs: Any) -> list[Tensor]:
        """The vectors of real tokens, item by item."""
        inputs.pop("labels", None)
        inputs = inputs.to(self.model.device)
        embeddings = self.model(**inputs).embeddings
        real = inputs["attention_mask"].bool()
        return [vectors[mask] for vectors, mask in zip(embeddings, real, strict=True)]


def saved_class(name: str) -> str:
    """Name the class of a retriever with several vectors an item by which a model of transformers was saved;
    ``""`` = it is none.

    Args:
        name: a folder or a name of the hub.
    """
    import transformers

    with reading_errors(name, "cannot be opened by transformers", Exception), text_models.refusing_code(name):
        config = text_models.read("AutoConfig", name)
    kinds = [kind for kind in config.architectures or () if kind.endswith("ForRetrieval")]
    return next((kind for kind in kinds if hasattr(transformers, kind)), "")
