"""The neighbourhood of a batch: who is like whom, and embeddings that have heard from their neighbours.

All images and captions of the batch are the nodes of one graph. A graph convolution within each modality, one
over both, and an attention that listens to the likelier half of the neighbours give enhanced embeddings for
training; retrieval never sees them.

Source: AAHR, Eqs. 16-23: similarity within a modality (16) and across (17), convolution and attention
(18-23); Fu et al., "Learning semantic relationship among instances for image-text matching"
(HREM), CVPR 2023.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, leaky_relu, normalize

from workbench.encoders.packed import PackedIndex
from workbench.losses.similarity import cosine
from workbench.losses.terms import block_entries
from workbench.objectives.parts.attention import parts_of
from workbench.records import Embedding, require
from workbench.registry import Count, Dropped, Natural, Positive


@dataclass(frozen=True)
class Graph:
    """How the neighbourhood is built and read.

    Args:
        epsilon: width of the similarity within a modality.
        alpha: weight of the similarity in the attention.
        layers: graph convolutions, within each modality and over both.
        heads: of the attention; 1 as printed, 16 in HREM.
        dropout: of the graph convolutions.
        attention_dropout: of the attention's weights.
        keep: neighbours that the attention may listen to: the upper half of each ``"block"`` of modalities,
            of each ``"row"`` of a block as in HREM, or ``"all"``.
        detach: no gradient passes through the similarity of regions with words.
        after: steps of training before the neighbourhood takes part; 8,000 in HREM.
        cross: also the triplets between plain and enhanced embeddings.
        residual: what a node hears is added to its plain embedding; without, as printed, all nodes soon say
            the same.
    """

    epsilon: Positive = 1.0
    alpha: float = 1.5
    layers: Count = 1
    heads: Natural = 1
    dropout: Dropped = 0.6
    attention_dropout: Dropped = 0.1
    keep: Literal["block", "row", "all"] = "block"
    detach: bool = True
    after: Count = 0
    cross: bool = True
    residual: bool = True


def intra_similarity(vectors: Tensor, epsilon: float) -> Tensor:
    """Eq. 16. ``exp(-||v_i - v_j||^2 / epsilon)`` of unit vectors ``(N, D)``; ``(N, N)`` with ones on
    the diagonal.
    """
    return ((2 * cosine(vectors, vectors) - 2) / epsilon).exp()


def cross_similarity(image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
    """Eq. 17. Regions and words as unit vectors: each asks for its best match on the other side, and
    the answers are averaged.

    Args:
        image: with ``parts (I, K, D)``.
        text: with ``parts (T, L, D)``.

    Returns:
        ``(I, T)``, the mean over an image's regions, and ``(T, I)``, the mean over a caption's words.

    Raises:
        ValueError: regions and words have different widths.
    """
    (regions, seen), (words, real) = parts_of(image), parts_of(text)
    widths = [regions.shape[-1], words.shape[-1]]
    require(
        widths[0] == widths[1],
        f"regions and words must have one width, here {widths}; choose the encoder 'multigrain'",
    )
    of_images, of_texts = PackedIndex(seen), PackedIndex(real)
    captions = of_texts.blocks(normalize(of_texts.rows(words), dim=-1))
    shapes = [(len(block), block.shape[1]) for block in captions]
    all_words = torch.cat([block.flatten(0, 1) for block in captions])
    # An image at a time, or as many as keep the table of all regions and words small.
    pieces = [
        _best_matches(some, all_words, shapes)
        for block in of_images.blocks(normalize(of_images.rows(regions), dim=-1))
        for some in torch.split(
            block, max(block_entries(all_words) // max(block.shape[1] * len(all_words), 1), 1)
        )
    ]
    to_text, to_image = (of_images.join_sets(list(side)) for side in zip(*pieces, strict=True))
    return of_texts.join_sets([to_text.T]).T, of_texts.join_sets([to_image.T])


def _best_matches(regions: Tensor, words: Tensor, shapes: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Return both answers ``(i, T)`` of ``i`` images, regions ``(i, k, D)``, and the captions in the order of
    their sizes: their words end to end, and how many captions there are of which size.
    """
    table = regions @ words.T
    sizes = [count * size for count, size in shapes]
    of_region = zip(torch.split(table, sizes, dim=-1), shapes, strict=True)
    of_word = zip(torch.split(table.amax(1), sizes, dim=-1), shapes, strict=True)
    by_region = [one.reshape(*one.shape[:-1], *shape).amax(-1).mean(1) for one, shape in of_region]
    by_word = [one.reshape(*one.shape[:-1], *shape).mean(-1) for one, shape in of_word]
    return torch.cat(by_region, dim=1), torch.cat(by_word, dim=1)


def normalise(similarity: Tensor) -> Tensor:
    """Compute, of Eqs. 18-23, ``D^{-1/2} S D^{-1/2}`` with the row sums ``D``; negative similarities count as
    none.
    """
    weights = similarity.clamp(min=0)
    root = weights.sum(1).rsqrt()
    return root[:, None] * weights * root[None, :]


def join_blocks(of_images: Tensor, to_text: Tensor, to_image: Tensor, of_texts: Tensor) -> Tensor:
    """Return ``(I + T, I + T)`` from ``(I, I)``, ``(I, T)``, ``(T, I)`` and ``(T, T)``."""
    return torch.cat([torch.cat([of_images, to_text], dim=1), torch.cat([to_image, of_texts], dim=1)])


def is_upper_half(block: Tensor, *, by_row: bool) -> Tensor:
    """Return bool, the shape of ``block``: at least the median of the block, or of the row; of an even number
    the mean of the middle two.
    """
    ordered = (block if by_row else block.reshape(1, -1)).sort(dim=-1).values
    n = ordered.shape[-1]
    return block >= (ordered[:, (n - 1) // 2, None] + ordered[:, n // 2, None]) / 2


def attention_bias(similarity: Tensor, images: int, *, alpha: float, keep: str) -> Tensor:
    """Compute, of Eqs. 18-23, ``alpha * S`` in the upper half of each of the four blocks, else minus
    infinity.

    Args:
        similarity: ``(N, N)`` of images, then captions.
        images: how many of the nodes are images.
        alpha: weight.
        keep: the half of the ``"block"``, of each ``"row"`` of it, or ``"all"``; a node always listens to
            itself.

    Returns:
        ``(N, N)``.
    """
    if keep == "all":
        return alpha * similarity
    sizes = [images, len(similarity) - images]
    blocks = [torch.split(rows, sizes, dim=1) for rows in torch.split(similarity, sizes)]
    heard = torch.cat(
        [torch.cat([is_upper_half(block, by_row=keep == "row") for block in row], dim=1) for row in blocks]
    )
    itself = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    return (alpha * similarity).masked_fill(~(heard | itself), -torch.inf)


def biased_attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, drop: float = 0.0) -> Tensor:
    """Compute, of Eqs. 18-23, ``softmax(Q K^T / sqrt(d) + bias) V``.

    Args:
        query: ``(H, N, d)``, one set of maps a head.
        key: ``(H, N, d)``.
        value: ``(H, N, d)``.
        bias: ``(N, N)``.
        drop: share of the weights that is left out.

    Returns:
        ``(H, N, d)``.
    """
    weights = (query @ key.transpose(1, 2) / query.shape[-1] ** 0.5 + bias).softmax(dim=-1)
    return dropout(weights, drop) @ value


class Neighbourhood(nn.Module):
    """Graph convolutions and biased attention over a batch.

    Args:
        embed_dim: ``D``, a multiple of the number of heads.
        graph: how the neighbourhood is built and read.

    Raises:
        ValueError: the heads do not divide the width.
    """

    def __init__(self, embed_dim: int, graph: Graph) -> None:
        super().__init__()
        require(
            embed_dim % graph.heads == 0,
            f"{graph.heads} heads do not divide the width {embed_dim}; choose another number of heads",
        )
        self.graph = graph
        self.of_images, self.of_texts, self.joint = (
            nn.ModuleList(nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(graph.layers))
            for _ in range(3)
        )
        self.query, self.key, self.value = (nn.Linear(embed_dim, embed_dim) for _ in range(3))

    def forward(self, image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
        """Return enhanced embeddings: unit vectors ``(I, D)`` and ``(T, D)``."""
        n, within = len(image), self.graph.epsilon
        of_images, of_texts = intra_similarity(image.mean, within), intra_similarity(text.mean, within)
        with torch.no_grad() if self.graph.detach else nullcontext():
            to_text, to_image = cross_similarity(image, text)
        whole = join_blocks(of_images, to_text, to_image, of_texts)
        v, u = (
            self.convolve(image.mean, of_images, self.of_images),
            self.convolve(text.mean, of_texts, self.of_texts),
        )
        hidden = self.convolve(torch.cat([v, u]), whole, self.joint)
        heard = self.attend(hidden, attention_bias(whole, n, alpha=self.graph.alpha, keep=self.graph.keep))
        enhanced = normalize(
            heard + torch.cat([image.mean, text.mean]) if self.graph.residual else heard, dim=1
        )
        return enhanced[:n], enhanced[n:]

    def convolve(self, hidden: Tensor, similarity: Tensor, layers: nn.ModuleList) -> Tensor:
        """Compute, of Eqs. 18-23, ``H' = LeakyReLU(D^{-1/2} S D^{-1/2} H W)``, layer after layer."""
        neighbours = normalise(similarity)
        for layer in layers:
            hidden = leaky_relu(neighbours @ layer(dropout(hidden, self.graph.dropout, self.training)))
        return hidden

    def attend(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Return the attention of all nodes ``(N, D)`` to those that the bias lets through."""
        query, key, value = (
            maps(hidden).unflatten(1, (self.graph.heads, -1)).transpose(0, 1)
            for maps in (self.query, self.key, self.value)
        )
        out = biased_attention(
            query, key, value, bias, self.graph.attention_dropout if self.training else 0.0
        )
        return out.transpose(0, 1).flatten(1)
