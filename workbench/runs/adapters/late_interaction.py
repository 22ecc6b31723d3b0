"""Retrievers of transformers that give several vectors an image and a text, ColPali, ColQwen2 and their
like, as objects that encode both.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from PIL import Image
from torch import Tensor

from workbench.objectives.parts.maxsim import MaxSim
from workbench.runs.adapters.shared import open_in_transformers
from workbench.runs.own import Adapter

# an image is a thousand tokens of a large language model
IMAGES_AT_ONCE = 4


class LateInteraction(Adapter):
    """A retriever whose query tokens each take the best token of an image; scores are sums over the query.

    Args:
        name: a folder or a name of the hub.
        kind: class of transformers, see ``retriever_class``.

    Raises:
        ValueError: it cannot be opened, or its weights are not finite.

    Source:
        Faysse et al., "ColPali: Efficient document retrieval with vision language models", ICLR 2025, Eq. 1.
    """

    scorer = MaxSim(query="text", reduction="sum")

    def __init__(self, name: str, kind: str) -> None:
        super().__init__()
        self.model, self.processor = open_in_transformers(kind, name)
        self.name = name

    def encode_image(self, images: Sequence[Image.Image]) -> list[Tensor]:
        """Return ``N`` times ``(P, D)`` vectors, those of the prompt among them."""
        vectors = list[Tensor]()
        for start in range(0, len(images), IMAGES_AT_ONCE):
            part = list(images[start : start + IMAGES_AT_ONCE])
            vectors += self._vectors(self.processor.process_images(images=part))
        return vectors

    def encode_text(self, texts: Sequence[str]) -> list[Tensor]:
        """Return ``N`` times ``(L, D)`` vectors, those of the query's prefix and suffix among them."""
        return self._vectors(self.processor.process_queries(text=list(texts)))

    def _vectors(self, inputs: Any) -> list[Tensor]:
        """Return the vectors of real tokens, item by item."""
        inputs.pop("labels", None)
        inputs = inputs.to(self.model.device)
        embeddings = self.model(**inputs).embeddings
        real = inputs["attention_mask"].bool()
        return [vectors[mask] for vectors, mask in zip(embeddings, real, strict=True)]


def retriever_class(classes: Iterable[str]) -> str:
    """Return the name of the class of a retriever with several vectors an item; ``""`` = there is none.

    Args:
        classes: of transformers, by which a model was saved.
    """
    import transformers

    kinds = [kind for kind in classes if kind.endswith("ForRetrieval")]
    return next((kind for kind in kinds if hasattr(transformers, kind)), "")
