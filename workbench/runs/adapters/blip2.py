"""BLIP-2 (Li et al. 2023, arXiv:2301.12597): the matching head of its Q-Former."""

import torch
from torch import Tensor

from workbench.records import require
from workbench.runs.adapters.matching import Matching


class Blip2(Matching):
    """BLIP-2 of transformers. ``score`` is the logit of "match", the mean over the query tokens.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or its Q-Former reads no texts.
    """

    kind = "Blip2ForImageTextRetrieval"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        reads = self.model.config.qformer_config.use_qformer_text_input
        require(
            reads, f"{name} holds a {self.kind}, which reads no texts, since use_qformer_text_input is false"
        )

    def _matching(self, states: Tensor, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        queries = self.model.query_tokens.expand(len(states), -1, -1)
        read = torch.ones(queries.shape[:-1], dtype=torch.long, device=queries.device)
        together = self.model.qformer(
            query_embeds=self.model.embeddings(input_ids=ids, query_embeds=queries),
            query_length=queries.shape[1],
            attention_mask=torch.cat([read, mask], dim=1),
            encoder_hidden_states=states,
            encoder_attention_mask=seen,
        )
        logits: Tensor = self.model.itm_head(together[0][:, : queries.shape[1]])
        return logits.mean(dim=1)[:, 1]
