"""A pre-trained text encoder of the library transformers that trains with what stands above it."""

from typing import Any

import torch
from torch import Tensor, nn

from workbench.assets import text_models


class TextBackbone(nn.Module):
    """A BERT, or another encoder that gives a vector for each word piece.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"``.
        weights: start from its weights; else from random ones, where others will be put in their place.

    Raises:
        ImportError: transformers, or the package that carries the model, is not installed.
        FileNotFoundError: the folder holds no model.
    """

    blank: Tensor
    signs: Tensor

    def __init__(self, model: str, *, weights: bool) -> None:
        super().__init__()
        source = text_models.locate(model, "sequence")
        if weights:
            network = text_models.read("AutoModel", source)
        else:
            import transformers

            models: Any = transformers.AutoModel
            network = models.from_config(text_models.read("AutoConfig", source))
        if getattr(network, "pooler", None) is not None:
            network.pooler = None  # it reads the first token alone, and nobody reads it here
        self.network = network.float()
        self.width = int(network.config.hidden_size)
        tokenizer = text_models.read("AutoTokenizer", source)
        blank = tokenizer.unk_token_id if tokenizer.mask_token_id is None else tokenizer.mask_token_id
        # Ids of the signal word_pieces are those of the tokenizer plus 1.
        self.padding = int(tokenizer.pad_token_id or 0)
        self.register_buffer("blank", torch.tensor((blank or 0) + 1), persistent=False)
        self.register_buffer("signs", torch.tensor(tokenizer.all_special_ids) + 1, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """``(T, L, width)`` vectors of the word pieces ``(T, L)``, 0 = padding."""
        real = ids != 0
        made: Tensor = self.network(
            input_ids=torch.where(real, ids - 1, self.padding), attention_mask=real.long()
        ).last_hidden_state
        return made

    def is_sign(self, ids: Tensor) -> Tensor:
        """Bool, the shape of ``ids``: the start, the end and other signs that are no part of a word."""
        return torch.isin(ids, self.signs)

    def depths(self) -> dict[str, int]:
        """Blocks between each parameter and the top, by name: the first of 12 blocks has 12 as the embeddings
        have, the last has 1, and what stands above them 0.
        """
        stacks = [part for part in self.network.modules() if isinstance(part, nn.ModuleList)]
        blocks = max(stacks, key=len)
        depth = {
            parameter: len(blocks) - place
            for place, block in enumerate(blocks)
            for parameter in block.parameters()
        }
        return {
            name: depth.get(parameter, len(blocks) if "embed" in name else 0)
            for name, parameter in self.named_parameters()
        }
