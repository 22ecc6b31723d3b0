"""PCME: Probabilistic Embeddings for Cross-Modal Retrieval (Chun et al., CVPR 2021, arXiv 2101.05068).

``L = 2 sum_ij NLL_ij + beta [VIB(image) + VIB(text)]``. An image and a caption match with the mean
probability of all pairs of their samples, ``p_ij = mean_kl sigmoid(2 s)``, ``s = -a |z_i^k - z_j^l| + b``;
``NLL = -log p`` of a matching pair and ``-log (1 - p)`` of another, so that the loss is the binary
cross-entropy of the score that retrieval ranks by. The factor 2 is that of the two directions, which are
equal.

Reads with: similarity.py (match_log_odds), losses/bottleneck.py.
Departures:
- both released codes read one tensor as log sigma in sampling and as log sigma squared in the bottleneck;
  here it is log sigma squared throughout, unless ``variant`` says otherwise;
- squared distances below 1e-6, which float32 cannot tell from 0 for unit vectors, count as 1e-6, where the
  slope of the root is 500; the original adds 1e-6 instead, the later code does neither and has an infinite
  gradient at 0;
- scores of evaluation use the same draws for every image and for every caption, so that a score is a function
  of its pair, and draws in pairs that differ in sign alone, whose mean is the embedding's: eight free draws
  blur the order more than a short training moves it.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from workbench.losses import similarity
from workbench.losses.terms import Reduction, ScalarReduction, full_precision
from workbench.objectives.base import Objective, settings
from workbench.objectives.parts.gaussian import both_bottlenecks, log_var, matching_loss
from workbench.records import Batch, Embedding
from workbench.registry import Natural, NotNegative, Positive

FLOOR = 1e-6


@dataclass(frozen=True)
class Variant:
    """What the two released codes and this one do differently.

    Args:
        start: of ``a`` and of ``b``.
        samples: ``J``, of each image and caption.
        beta: weight of the bottleneck, valid with ``bottleneck``.
        bottleneck: its reduction.
        added: is added to squared distances.
        log_std: the encoder's output is log sigma in sampling.
        drawn: the bottleneck reads the mean of the samples for ``mu``.
    """

    start: float = 5.0
    samples: int = 8
    beta: float = 1e-3
    bottleneck: Reduction = "mean"
    added: float = 0.0
    log_std: bool = False
    drawn: bool = False


VARIANTS = {
    "consistent": Variant(),
    "released": Variant(log_std=True),
    "original": Variant(15.0, 7, 1e-5, "sum", 1e-6, log_std=True, drawn=True),
}


def draw_samples(mean: Tensor, log_std: Tensor, noise: Tensor) -> Tensor:
    """Eq. 5: draws of Gaussians, ``mu + sigma eps``.

    Args:
        mean: ``(N, D)``.
        log_std: ``(N, D)`` log sigma.
        noise: ``(N, J, D)``, or ``(1, J, D)`` for the same draws of all.

    Returns:
        ``(N, J, D)``.
    """
    return mean[:, None] + log_std.exp()[:, None] * noise


class PCME(Objective):
    """Soft contrastive loss over samples, with an information bottleneck.

    A unit variance leaves the bottleneck half the squared mean of each entry: .25 of images and of captions.

    >>> vectors, log_var = torch.eye(2), torch.zeros(2, 2)
    >>> PCME(beta=1.0)(vectors, vectors, vectors > 0, log_var=(log_var, log_var))["vib"]
    tensor(0.5000)

    Args:
        variant: ``"consistent"`` reads log sigma squared throughout; ``"released"`` is the code of PCME++,
            with which DITM compares: log sigma in sampling and log sigma squared in the bottleneck;
            ``"original"`` is the paper's own code, which does the same with other constants and a summed
            bottleneck, which reads the mean of an item's samples for its ``mu``.
        scale, shift: what ``a`` and ``b`` start from, both learnt; ``None`` = the variant's.
        samples: ``J``, rounded up to an even number in evaluation; ``None`` = the variant's.
        beta: weight of the bottleneck; ``None`` = the variant's, 0 leaves it out.
        reduction: over all pairs; the papers' is ``"sum"``, with which ``beta`` is valid.
    """

    inputs = ("log_var",)
    soft_labels = True
    recipe = settings(
        image_encoder={"pooling": "mean"},
        text_encoder={"pooling": "mean"},
        epochs=6,
        lr=2e-3,
        lr_warmup_steps=30,
        warmup_epochs=5,
        captions_per_image=2,
    )

    def __init__(
        self,
        *,
        variant: Literal["consistent", "released", "original"] = "consistent",
        scale: Positive | None = None,
        shift: float | None = None,
        samples: Natural | None = None,
        beta: NotNegative | None = None,
        reduction: ScalarReduction = "sum",
    ) -> None:
        super().__init__()
        self.variant, self.reduction = VARIANTS[variant], reduction
        start = self.variant.start
        self.scale = nn.Parameter(torch.tensor(start if scale is None else float(scale)))
        self.shift = nn.Parameter(torch.tensor(start if shift is None else float(shift)))
        self.samples = self.variant.samples if samples is None else samples
        self.weigh({"match": 2.0, "vib": self.variant.beta if beta is None else beta})

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` log odds of a match, which rank as its probability does; draws are new in
        training and fixed otherwise.
        """
        return self._log_odds(*self._draw_both(image, text))

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``match`` and ``vib``."""
        drawn = self._draw_both(image, text) if self.variant.drawn else None
        if drawn:  # the bottleneck reads the samples of the scores
            image, text = replace(image, mean=drawn[0].mean(1)), replace(text, mean=drawn[1].mean(1))
        return self.weighted_terms(
            match=lambda: matching_loss(
                self._log_odds(*drawn) if drawn else self.scores(image, text), batch.targets, self.reduction
            ),
            vib=lambda: both_bottlenecks(image, text, self.variant.bottleneck),
        )

    def _draw_both(self, image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
        generator = None if self.training else torch.Generator().manual_seed(0)
        return self._draw(image, generator), self._draw(text, generator)

    def _log_odds(self, image: Tensor, text: Tensor) -> Tensor:
        return similarity.match_log_odds(
            image, text, scale=self.scale, shift=self.shift, floor=FLOOR, added=self.variant.added
        )

    def _draw(self, embedding: Embedding, generator: torch.Generator | None) -> Tensor:
        mean, spread = full_precision(embedding.mean), full_precision(log_var(embedding))
        if generator is None:
            noise = torch.randn(len(mean), self.samples, mean.shape[1], dtype=mean.dtype, device=mean.device)
        else:
            # On the CPU, so that every device scores alike.
            half = torch.randn(1, -(-self.samples // 2), mean.shape[1], generator=generator)
            noise = torch.cat([half, -half], dim=1).to(mean)
        return draw_samples(mean, spread if self.variant.log_std else spread / 2, noise)


MEMBER = PCME
