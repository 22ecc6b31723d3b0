"""Sequence: the words of a caption -> a layer that reads them in context -> pooling -> unit vector.

The text side of VSE++ (learned or GloVe word vectors and a GRU), and of VSE-infinity and the papers that
build on it (a bidirectional GRU whose two directions are averaged, or the tokens of a pre-trained text
encoder and a linear layer).

Sources: Faghri et al., "VSE++", BMVC 2018, section 3; Chen et al., "Learning the best pooling strategy for
visual semantic embedding", CVPR 2021, section 5.1.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Many
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders.base import Encoder
from workbench.encoders.packed import PackedIndex, gru, transformer
from workbench.encoders.pooling import POOLINGS, LogVar, PoolingName, Projection, head_count
from workbench.encoders.words import FIRST_WORD, UNKNOWN, TextBackbone, augment_words, word_table
from workbench.io import cache_folder
from workbench.records import Batch, Embedding, require
from workbench.registry import Natural, Share

MLP_DIM = 512
MOST_HEADS = 8
CACHE_FROM = 256


class Sequence(Encoder):
    """Encodes captions from word ids, from the token features of a frozen text encoder, or from a text
    encoder that trains with the rest.

    Args:
        vocabulary: words of the fitted ``tokens`` signal, when word vectors are learned here.
        features: ``""`` learns word vectors; otherwise the text encoder whose token features are read, by the
            names of the signal ``word_features``: ``"bert-base-uncased"``, a folder, ``"minilm-package"``.
        backbone: ``"frozen"`` = the features of that encoder are kept on disk; ``"trained"`` = it trains with
            the rest from its weights, at the rate and decay of a text backbone (``text_backbone_lr``,
            ``text_backbone_decay``); ``"random"`` = from random ones.
        pretrained: word vectors to start from, ``"glove-package"`` or the path of a GloVe text file; ``""`` =
            random ones.
        word_dim: width of the word vectors, or of the features.
        embed_dim: ``D`` of the embedding.
        layer: ``"gru"`` (both directions, averaged), ``"linear"``, ``"mlp"`` (linear with a residual MLP), or
            ``"transformer"`` (one block, then linear).
        pooling: ``"gpo"``, ``"max"`` or ``"mean"``.
        word_dropout: probability that training masks, replaces or deletes a word.
        log_var: also say log sigma squared, by a head of its own over the words in context.

    Raises:
        ValueError: no vocabulary where one is needed, vectors of another width, or a ``backbone`` that trains
            and has no name.
    """

    encodes_text: ClassVar[bool] = True

    # Ten options: each is a choice of its own that a config names, and a group of them would only hide it.
    def __init__(  # noqa: PLR0913
        self,
        *,
        vocabulary: Many[str] | None = None,
        features: str = "",
        backbone: Literal["frozen", "trained", "random"] = "frozen",
        pretrained: str = "",
        word_dim: Natural = 300,
        embed_dim: Natural = 1024,
        layer: Literal["gru", "linear", "mlp", "transformer"] = "gru",
        pooling: PoolingName = "gpo",
        word_dropout: Share = 0.2,
        log_var: bool = False,
    ) -> None:
        super().__init__()
        require(
            features or backbone == "frozen",
            f"sequence: backbone={backbone!r} trains a text encoder; name it, e.g. "
            "features='bert-base-uncased'",
        )
        self.embed_dim = embed_dim
        self.word_dim = word_dim
        self.word_dropout = word_dropout
        self.words = None if features else word_table("sequence", vocabulary, word_dim, pretrained)
        frozen = backbone == "frozen"
        self.blank = nn.Parameter(torch.zeros(word_dim)) if features and frozen else None
        self.backbone = None if frozen else TextBackbone(features, word_dim, weights=backbone == "trained")
        self.warm_start = bool(pretrained)
        self.layer = _Gru(word_dim, embed_dim) if layer == "gru" else _Reader(layer, word_dim, embed_dim)
        self.pooling = POOLINGS[pooling]()
        self.log_var = LogVar(embed_dim, embed_dim, pooling) if log_var else None

    @classmethod
    def complete(cls, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the options; where weights follow, those of the text encoder are among them."""
        trains = options.get("backbone", "frozen") != "frozen"
        follow = {"backbone": "random"} if trains and "pretrained" in facts else {}
        return {**super().complete(options, facts), **follow}

    @classmethod
    def text_features(
        cls, *, features: str = "", backbone: str = "frozen", **_: Any
    ) -> dict[str, dict[str, Any]]:
        """Return ``word_features`` of the frozen encoder, kept beside the image features, ``word_pieces`` of
        one that trains, or ``tokens`` of whole words.
        """
        if backbone != "frozen":
            return {"word_pieces": {"model": features}}
        if not features:
            return {"tokens": {"tokenizer": "words"}}
        return {"word_features": {"model": features, "cache": str(cache_folder()), "cache_from": CACHE_FROM}}

    def encode_texts(self, batch: Batch) -> Embedding:
        """Embed the captions; ``parts`` are the words in context."""
        words, mask = self.look_up(batch)
        index = PackedIndex(mask)
        rows = index.rows(words)
        rows = self.layer(rows if self.words is None else self.words(rows), index)
        log_var = self.log_var.pool_rows(rows, index) if self.log_var else None
        mean = normalize(self.pooling.pool_rows(rows, index), dim=-1)
        return Embedding(mean, log_var, index.pad(rows), mask)

    def look_up(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return ``(T, L)`` ids of the words, or their features ``(T, L, word_dim)``, and ``(T, L)`` their
        mask; in training some words are augmented, before a text encoder that trains reads them.

        Raises:
            ValueError: the features have another width than ``word_dim``.
        """
        share = self.word_dropout if self.training else 0.0
        if self.words is not None:
            ids: Tensor = batch.signals["tokens"]
            blank = torch.tensor(UNKNOWN, device=ids.device)
            return augment_words(ids, ids != 0, ids < FIRST_WORD, blank, share)
        if self.backbone is not None:
            pieces: Tensor = batch.signals["word_pieces"]
            signs = torch.isin(pieces, self.backbone.signs)
            pieces, real = augment_words(pieces, pieces != 0, signs, self.backbone.blank, share)
            return self.backbone(pieces), real
        values = batch.signals["word_features"]["values"]
        mask = batch.signals["word_features"]["mask"]
        width = values.shape[2]
        require(width == self.word_dim, f"sequence: the features have width {width}; set word_dim={width}")
        if self.blank is not None:
            # The first sign of a text encoder stands for the whole caption and is kept.
            first = torch.arange(mask.shape[1], device=mask.device).expand_as(mask) == 0
            values, mask = augment_words(values, mask, first, self.blank, share)
        return values, mask

    def text_backbone(self) -> dict[str, int]:
        """Return the depth of pre-trained word vectors, or of the text encoder's parameters, by name."""
        if self.backbone is not None:
            return {f"backbone.{name}": depth for name, depth in self.backbone.depths().items()}
        return {"words.weight": 0} if self.warm_start else {}


class _Gru(nn.Module):
    """A bidirectional GRU; its two directions are averaged."""

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.rnn = nn.GRU(in_dim, out_dim, batch_first=True, bidirectional=True)

    def forward(self, rows: Tensor, index: PackedIndex) -> Tensor:
        return torch.stack(gru(self.rnn, rows, index.sizes)).mean(0)


class _Reader(nn.Module):
    """A projection, with or without a transformer block before it."""

    def __init__(self, layer: str, in_dim: int, out_dim: int) -> None:
        super().__init__()
        block = nn.TransformerEncoderLayer(
            in_dim, head_count(in_dim, MOST_HEADS), 4 * in_dim, batch_first=True, norm_first=True
        )
        self.block = block if layer == "transformer" else None
        self.projection = Projection(in_dim, out_dim, MLP_DIM if layer == "mlp" else 0)

    def forward(self, rows: Tensor, index: PackedIndex) -> Tensor:
        if self.block is not None:
            rows = transformer(self.block, rows, index)
        projected: Tensor = self.projection(rows)
        return projected


MEMBER = Sequence
