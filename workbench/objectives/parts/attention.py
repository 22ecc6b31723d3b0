"""Scores of pairs whose parts look at one another, and what the parts of one pair see of the other side.

``cross`` is the base similarity of DIAS, Eqs. 1-2: a region becomes a weighted mean of the words, a word one
of the regions, and a pair's score is the cosine of the two means. ``chan`` keeps, for every word, the region
that fits it best (Pan, Wu and Zhang, "Fine-Grained Image-Text Matching by Cross-Modal Hard Aligning Network",
CVPR 2023). ``scan_t2i`` and ``scan_i2t`` compare each word, or each region, with what it sees on the other
side, and take the mean (Lee et al., "Stacked Cross Attention for Image-Text Matching", ECCV 2018, Eqs. 1-8).
``entities`` compares the image with the things that a caption names as well (CORA, Table 4). ``maxsim`` is
the late interaction of ColBERT and FILIP.

Reads with: objectives/base.py, objectives/dias.py, objectives/parts/maxsim.py.
Departures: the weights of Eq. 1 of DIAS divide a cosine by the sum of the cosines, which may be zero or
negative; the default is their softmax at temperature 0.1 (``attention="printed"`` is the formula). SCAN's
other pooling, a log-sum-exp whose scores have another scale, is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.losses import similarity
from workbench.losses.terms import full_precision
from workbench.objectives.parts.maxsim import MaxSim
from workbench.records import Embedding
from workbench.registry import Positive, Share, make, options_of, require_known

# cosines that are held at a time, and captions of like length that are scored together: few on a CPU, whose
# cache they fit, and many where each call costs more than its work
ELEMENTS, GROUP = {"cpu": 2**21, "other": 2**23}, {"cpu": 32, "other": 256}
EPS = 1e-12
# images whose cosines with all entities are held at a time
BLOCK = 512
ByParts = Literal["cross", "chan", "scan_t2i", "scan_i2t"]
Form = Literal[ByParts, "maxsim", "entities"]
# SCAN multiplies by 9 where words ask, and by 4 where regions do.
TEMPERATURES = {"cross": 0.1, "chan": 0.1, "scan_t2i": 1 / 9, "scan_i2t": 1 / 4}


@dataclass(frozen=True)
class CrossAttention:
    """How a pair is scored by its parts.

    Args:
        name: ``"cross"`` = cosine of what the image sees in the caption and the caption in the image (DIAS,
            Eqs. 1-2); ``"chan"`` = mean over words of the cosine with the best region; ``"scan_t2i"`` = mean
            over words of the cosine with what each sees of the regions; ``"scan_i2t"`` = the same with
            regions that see words.
        attention: weights of what is seen, but for SCAN's: ``"softmax"`` of the cosines over the temperature,
            ``"relu"`` = positive cosines divided by their sum, ``"printed"`` = cosines divided by their sum
            (Eq. 1), which explodes where it is near zero.
        temperature: of the softmax; ``None`` = 1/9 and 1/4 for SCAN's directions, else 0.1.
    """

    reads: ClassVar[tuple[str, ...]] = ("parts",)
    name: ByParts = "cross"
    attention: Literal["softmax", "relu", "printed"] = "softmax"
    temperature: Positive | None = None

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` scores of all pairs: a few images at a time, so that memory stays bounded, with
        captions of like length, so that little padding is compared.
        """
        (regions, seen), (words, read) = parts_of(image), parts_of(text)
        of_image = _Side.from_parts(full_precision(regions), seen)
        ends = (read * torch.arange(1, read.shape[1] + 1, device=read.device)).amax(dim=1)
        order, columns = ends.argsort(stable=True), []
        for rows in torch.split(order, _entry_limit(GROUP, words)):
            longest = max(1, *ends[rows].tolist())
            of_text = _Side.from_parts(full_precision(words[rows, :longest]), read[rows, :longest])
            blocks = image_blocks(of_image, seen, of_text.mask)
            columns.append(torch.cat([self._block_scores(_Side(*block), of_text) for block in blocks]))
        return torch.cat(columns, dim=1)[:, order.argsort()]

    def _block_scores(self, image: "_Side", text: "_Side") -> Tensor:
        # shape: (I, T, K, L)
        cosines = full_precision(torch.einsum("ikd,tld->itkl", image.unit, text.unit))
        region_mask, word_mask = image.mask[:, None, :], text.mask[None, :, :]
        if self.name == "chan":
            best = cosines.masked_fill(~region_mask[..., None], torch.finfo(cosines.dtype).min).amax(dim=2)
            return masked_mean(best[..., None], word_mask)[..., 0]
        if self.name == "scan_t2i":
            return self._mean_cosines(
                cosines.mT, word_mask, region_mask, image.length[:, None], image.gram[:, None]
            )
        if self.name == "scan_i2t":
            return self._mean_cosines(cosines, region_mask, word_mask, text.length[None], text.gram[None])
        of_words, of_regions = self.weights(cosines, word_mask), self.weights(cosines.mT, region_mask)
        # The mean over regions of what each sees is itself a weighted sum of words, so no vector a pair is
        # ever held.
        a = masked_mean(of_words, region_mask) * text.length
        b = masked_mean(of_regions, word_mask) * image.length[:, None]
        lengths = [
            _weighted_length(a, text.gram, "itl,tlm,itm->it"),
            _weighted_length(b, image.gram, "itk,ikm,itm->it"),
        ]
        return torch.einsum("itk,itkl,itl->it", b, cosines, a) / (lengths[0] * lengths[1])

    def _mean_cosines(
        self, cosines: Tensor, asking: Tensor, asked: Tensor, length: Tensor, gram: Tensor
    ) -> Tensor:
        """SCAN: mean over those that ask of the cosine with what each sees.

        Args:
            cosines: ``(I, T, P, Q)`` of the asking and the asked parts.
            asking: mask of the former, broadcast to ``(I, T, P)``.
            asked: mask of the latter, broadcast to ``(I, T, Q)``.
            length: of the latter, broadcast to ``(I, T, Q)``.
            gram: their cosines with one another, broadcast to ``(I, T, Q, Q)``.
        """
        cosines = cosines.masked_fill(~asking[..., None], 0)
        # The cosines of each asked part have unit length over those that ask.
        weights = self._softmax_weights(normalize(cosines.clamp(min=0), dim=-2), asked) * length[..., None, :]
        lengths = ((weights @ gram) * weights).sum(dim=-1).clamp(min=EPS).sqrt()
        return masked_mean(((weights * cosines).sum(dim=-1) / lengths)[..., None], asking)[..., 0]

    def _softmax_weights(self, cosines: Tensor, mask: Tensor) -> Tensor:
        logits = cosines / (self.temperature or TEMPERATURES[self.name])
        if mask.all():  # two passes over all pairs less
            return logits.softmax(dim=-1)
        real = mask[..., None, :].expand_as(cosines)
        return logits.masked_fill(~real, torch.finfo(cosines.dtype).min).softmax(dim=-1).masked_fill(~real, 0)

    def weights(self, cosines: Tensor, mask: Tensor) -> Tensor:
        """Eq. 1: how much each part sees of each part of the other side.

        Args:
            cosines: ``(..., P, Q)`` of the seeing and the seen parts.
            mask: ``(..., Q)`` True where a seen part is real.

        Returns:
            ``(..., P, Q)`` weights, zero on padding; each row sums to 1.
        """
        if self.attention == "softmax":
            return self._softmax_weights(cosines, mask)
        real = mask[..., None, :].expand_as(cosines)
        kept = (cosines.clamp(min=0) if self.attention == "relu" else cosines).masked_fill(~real, 0)
        total = kept.sum(dim=-1, keepdim=True)
        # A row of padding has nothing to divide by.
        return kept / total.where(total != 0, torch.ones_like(total))

    def attended_pairs(self, image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
        """Eq. 2: what the regions of every pair see in its words, and its words in the regions.

        Args:
            image: ``N`` images.
            text: the ``N`` captions paired with them.

        Returns:
            ``(N, K, D)`` and ``(N, L, D)``; rows of padding are not zeroed.
        """
        (regions, seen), (words, read) = parts_of(image), parts_of(text)
        cosines = full_precision(normalize(regions, dim=-1) @ normalize(words, dim=-1).mT)
        return self.weights(cosines, read) @ words, self.weights(cosines.mT, seen) @ regions


@dataclass(frozen=True)
class EntityScorer:
    """How a pair is scored by its pooled vectors and the caption's entities, see ``with_entities``.

    Args:
        name: of the form.
        beta: share of the caption.
    """

    reads: ClassVar[tuple[str, ...]] = ("entities",)
    name: Literal["entities"] = "entities"
    beta: Share = 0.8

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` scores of all pairs."""
        return with_entities(similarity.cosine(image.mean, text.mean), image, text, self.beta)


Scorer = CrossAttention | EntityScorer | MaxSim
KINDS: Mapping[str, type[Scorer]] = {
    **dict.fromkeys(get_args(ByParts), CrossAttention),
    "maxsim": MaxSim,
    "entities": EntityScorer,
}


def scorer_of(given: Form | Mapping[str, Any], what: str = "scorer") -> Scorer:
    """Make a scorer by its name, or by its name and options.

    Args:
        given: the name, or a mapping of both.
        what: how messages call it, and where it stands in a configuration.

    Raises:
        ValueError: no such form, with the near ones; TypeError: no such field.
    """
    fields = {"name": given} if isinstance(given, str) else given
    name = fields.get("name", "cross")
    require_known(f"{what}: no form", name, KINDS, ValueError)
    kind: Any = KINDS[name]
    scorer: Scorer = make(what, kind, fields, what)
    return scorer


def scorers_with_option(option: str) -> dict[str, Any]:
    """Find the scorers that take an option, by name."""
    return {name: kind for name, kind in KINDS.items() if option in options_of(kind)}


def with_entities(scores: Tensor, image: Embedding, text: Embedding, beta: float) -> Tensor:
    """CORA, Table 4. ``beta s(v, t) + (1 - beta) min_k s(v, e_k)``: an image that lacks one of a
    caption's things is not the caption's image, so that a caption is as good as the least of its entities
    lets it be.

    Args:
        scores: ``(I, T)`` cosines with captions.
        image: images.
        text: captions; without entities the ranking stays as it is, and so it does for a caption that has
            none.
        beta: share of the caption; 1 = the plain ranking.

    Returns:
        ``(I, T)``.
    """
    if text.entities is None or text.owner is None or beta == 1:
        return scores
    done = []
    for start in range(0, len(scores), BLOCK):
        part = scores[start : start + BLOCK]
        found = similarity.cosine(image.mean[start : start + BLOCK], text.entities)
        least = torch.full_like(part, torch.inf).scatter_reduce(1, text.owner.expand_as(found), found, "amin")
        done.append(beta * part + (1 - beta) * torch.where(least.isinf(), part, least))
    return torch.cat(done)


def parts_of(embedding: Embedding) -> tuple[Tensor, Tensor]:
    """Return parts and their mask.

    Raises:
        ValueError: the embedding has none.
    """
    if embedding.parts is None or embedding.mask is None:
        raise ValueError("the embedding has no parts; choose encoders that keep regions, patches or words")
    return embedding.parts, embedding.mask


def local_of(embedding: Embedding) -> Tensor:
    """Return the local vectors.

    Raises:
        ValueError: the embedding has none.
    """
    if embedding.local is None:
        raise ValueError(
            "the embedding has no local vectors; choose the encoder 'multigrain' with "
            "fusion={'variant': 'released'}"
        )
    return embedding.local


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over the last axis but one of what the mask counts as real.

    Args:
        values: ``(..., P, D)``.
        mask: ``(..., P)``.

    Returns:
        ``(..., D)``; zero where nothing is real.
    """
    kept = values if mask.all() else values.masked_fill(~mask[..., None], 0)
    return kept.sum(dim=-2) / mask.sum(dim=-1, keepdim=True).clamp(min=1)


def _entry_limit(limits: Mapping[str, int], where: Tensor) -> int:
    return limits["cpu" if where.device.type == "cpu" else "other"]


def image_blocks(of_image: Iterable[Tensor], seen: Tensor, read: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield what is known of images, so many at a time that a table of cosines with all words stays small.

    Args:
        of_image: each ``(I, ...)``.
        seen: ``(I, K)`` mask of the regions.
        read: ``(T, L)`` mask of the words.
    """
    each = max(1, _entry_limit(ELEMENTS, read) // max(1, seen.shape[1] * read.numel()))
    return zip(*(torch.split(part, each) for part in of_image), strict=True)


class _Side(NamedTuple):
    """Parts as unit vectors ``(N, P, D)``, their lengths, their cosines with one another, and their mask."""

    unit: Tensor
    length: Tensor
    gram: Tensor
    mask: Tensor

    @classmethod
    def from_parts(cls, parts: Tensor, mask: Tensor) -> "_Side":
        unit = normalize(parts, dim=-1)
        return cls(unit, parts.norm(dim=-1), unit @ unit.mT, mask)


def _weighted_length(weights: Tensor, gram: Tensor, contraction: str) -> Tensor:
    """Return the length of the weighted sums of parts, from the cosines of the parts with one another."""
    return torch.einsum(contraction, weights, gram, weights).clamp(min=EPS).sqrt()
