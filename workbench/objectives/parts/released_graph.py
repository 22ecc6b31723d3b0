"""The neighbourhood of a batch as AAHR's authors released it; what differs from ``neighbourhood`` (METHODS
8.8).

Relevance within a modality is ``exp(-|l_i - l_j|)``, not squared. Relevance across is SCAN's: cosines of
regions and words through a leaky ReLU, each column of unit length over those that ask, then the largest over
what is asked and the mean over those that ask. The graph convolutions read relevance as it is, without
degrees. Each row of a block keeps its upper half, and a whole transformer layer reads the bias.

Reads with: objectives/parts/neighbourhood.py, objectives/aahr.py, objectives/hrem.py.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, leaky_relu, normalize

from workbench.encoders.pooling import meeting_layer
from workbench.losses.similarity import cosine, distance
from workbench.objectives.parts.attention import image_blocks, local_of, masked_mean, parts_of
from workbench.objectives.parts.neighbourhood import Graph, attention_bias, join_blocks
from workbench.records import Embedding

SLOPES = {"relevance": 0.1, "convolution": 0.2}
FEED_FORWARD = 1024


def similarity_within(vectors: Tensor, epsilon: float = 1.0) -> Tensor:
    """Return ``exp(-|v_i - v_j| / epsilon)`` of unit vectors ``(N, D)``; ``(N, N)``."""
    itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    # The root would have a steep slope where rounding leaves a vector a little away from itself.
    return (-distance(cosine(vectors, vectors).masked_fill(itself, 1)) / epsilon).exp()


@torch.no_grad()
def best_matches(image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
    """Return how well its best word fits each region of every pair ``(I, T, K)``, and its best region each
    word ``(I, T, L)``; constants, minus infinity on padding.

    Args:
        image: with ``parts (I, K, D)``.
        text: with ``parts (T, L, D)``.
    """
    (regions, seen), (words, read) = parts_of(image), parts_of(text)
    regions, words = normalize(regions, dim=-1), normalize(words, dim=-1)
    of_regions, of_words = [], []
    for some, real in image_blocks((regions, seen), seen, read):
        # shape: (i, T, K, L)
        alike = leaky_relu(torch.einsum("ikd,tld->itkl", some, words), SLOPES["relevance"])
        known = real[:, None, :, None] & read[None, :, None, :]
        alike = alike.masked_fill(~known, 0)
        of_regions.append(normalize(alike, dim=2).masked_fill(~known, -torch.inf).amax(3))
        of_words.append(normalize(alike, dim=3).masked_fill(~known, -torch.inf).amax(2))
    return torch.cat(of_regions), torch.cat(of_words)


def mean_matches(matches: tuple[Tensor, Tensor], image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
    """Return means of best matches over an image's regions ``(I, T)``, and over a caption's words ``(T,
    I)``.
    """
    of_regions = masked_mean(matches[0][..., None], parts_of(image)[1][:, None])
    return of_regions[..., 0], masked_mean(matches[1][..., None], parts_of(text)[1][None])[..., 0].T


class Convolution(nn.Module):
    """``LeakyReLU(A X W + b)`` with relevance ``A`` as it is, and dropout of ``X``."""

    def __init__(self, embed_dim: int, drop: float) -> None:
        super().__init__()
        self.drop = drop
        self.weight = nn.Linear(embed_dim, embed_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, hidden: Tensor, relevance: Tensor) -> Tensor:
        """Return ``(N, D)`` from ``(N, D)`` and ``(N, N)``."""
        mapped = self.weight(dropout(hidden, self.drop, self.training))
        return leaky_relu(relevance @ mapped + self.bias, SLOPES["convolution"])


class ReleasedNeighbourhood(nn.Module):
    """Embeddings that have heard from the batch.

    Args:
        embed_dim: ``D``.
        graph: ``epsilon``, ``alpha``, ``heads``, ``dropout`` and ``attention_dropout`` are read.
    """

    def __init__(self, embed_dim: int, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.of_images, self.of_texts, self.joint = (Convolution(embed_dim, graph.dropout) for _ in range(3))
        self.layer = meeting_layer(embed_dim, graph.heads, FEED_FORWARD, graph.attention_dropout)

    def forward(self, image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
        """Return unit vectors ``(I, D)`` and ``(T, D)``, from the local vectors and the parts."""
        n = len(image)
        v, u = local_of(image), local_of(text)
        of_images, of_texts = (
            similarity_within(v, self.graph.epsilon),
            similarity_within(u, self.graph.epsilon),
        )
        to_text, to_image = mean_matches(best_matches(image, text), image, text)
        whole = join_blocks(of_images, to_text, to_image, of_texts)
        hidden = torch.cat([self.of_images(v, of_images), self.of_texts(u, of_texts)])
        nodes = normalize(self.joint(hidden, whole), dim=1) + torch.cat([v, u])
        bias = attention_bias(whole, n, alpha=self.graph.alpha, keep="row")
        heard = normalize(self.layer(nodes[None], src_mask=bias)[0], dim=1)
        return heard[:n], heard[n:]
