"""A BERT with random weights and few words, in the layout of a Hugging Face folder."""

from __future__ import annotations

import torch

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "dog", "runs", "on", "grass", "[MASK]"]


def make(place, seed, *, layers=1):
    """Write tokenizer, configuration and weights into a folder; returns it."""
    from transformers import BertConfig, BertModel, BertTokenizer

    (place / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(vocab=str(place / "vocab.txt")).save_pretrained(place)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(place)
    return place
