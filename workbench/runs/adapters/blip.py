"""BLIP (Li et al. 2022, arXiv:2201.12086): its matching head, and its contrastive one as a first stage."""

from collections.abc import Sequence

from PIL import Image
from torch import Tensor
from torch.nn.functional import normalize

from workbench.runs.adapters.matching import Matching


class Blip(Matching):
    """BLIP of transformers. ``score`` is the logit of "match", as in the released code, and not the
    probability, so that it can be added to the cosine.

    Args:
        name: a folder or a name of the hub.
    """

    kind = "BlipForImageTextRetrieval"

    def encode_image(self, images: Sequence[Image.Image]) -> Tensor:
        """Return ``(N, D)`` vectors of the contrastive head."""
        return normalize(self.model.vision_proj(self._image_states(images)[:, 0]), dim=-1)

    def encode_text(self, texts: Sequence[str]) -> Tensor:
        """Return ``(N, D)`` vectors of the contrastive head."""
        tokens = self._tokens(texts)
        encoded = self.model.text_encoder(tokens["input_ids"], attention_mask=tokens["attention_mask"])
        return normalize(self.model.text_proj(encoded[0][:, 0]), dim=-1)

    def _matching(self, states: Tensor, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        together = self.model.text_encoder(
            ids, attention_mask=mask, encoder_hidden_states=states, encoder_attention_mask=seen
        )
        logits: Tensor = self.model.itm_head(together[0][:, 0])
        return logits[:, 1]
