"""Information bottleneck: ``KL(N(mu, sigma^2) || N(0, 1)) = (mu^2 + sigma^2 - log sigma^2 - 1) / 2``.

Source: Alemi et al., "Deep variational information bottleneck", ICLR 2017, Eq. 17; of embeddings Oh et al.,
"Modeling uncertainty with hedged instance embedding", ICLR 2019, Sect. 3.3. PCME sums it over all entries,
PCME++ takes the mean.
"""

from torch import Tensor

from workbench.losses.terms import Reduction, full_precision, reduce


def bottleneck(mean: Tensor, log_var: Tensor, *, reduction: Reduction) -> Tensor:
    """Return the divergence of diagonal Gaussians from the standard one; it keeps variances from collapsing
    to zero.

    Args:
        mean: ``(N, D)``.
        log_var: ``(N, D)`` log sigma squared.
        reduction: over all ``N D`` entries; ``"none"`` keeps them.

    Returns:
        A scalar, or ``(N, D)`` with ``reduction="none"``.

    Raises:
        ValueError: an unknown reduction.

    Example:
        A unit variance leaves half the squared mean.

        >>> import torch
        >>> bottleneck(torch.tensor([[0.6, 0.8]]), torch.zeros(1, 2), reduction="sum")
        tensor(0.5000)
    """
    mean, log_var = full_precision(mean), full_precision(log_var)
    terms = (mean.square() + log_var.exp() - log_var - 1) / 2
    return reduce(terms if reduction == "none" else terms.flatten(), reduction)
