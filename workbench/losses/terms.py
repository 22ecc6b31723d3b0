"""What every loss does with its arguments and its terms."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import Tensor

Reduction = Literal["mean", "sum", "none"]
ScalarReduction = Literal["mean", "sum"]


def check(scores: Tensor, positives: Tensor) -> None:
    """Raise if arguments do not fit together.

    Raises:
        ValueError: ``positives`` has another shape than ``scores`` or is not boolean.
    """
    if scores.shape != positives.shape or positives.dtype != torch.bool:
        raise ValueError(
            f"scores {tuple(scores.shape)} and positives {tuple(positives.shape)} must have one shape, "
            f"and positives must be boolean (here {positives.dtype})"
        )


def both_ways(
    loss: Callable[..., Tensor],
    scores: Tensor,
    positives: Tensor,
    *,
    negatives: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """Return a loss of rows in both directions: image to text, and text to image.

    Args:
        loss: of scores and positives, such as ``triplet``.
        scores: ``(I, T)`` scores.
        positives: ``(I, T)`` bool.
        negatives: ``(I, N)`` scores of further texts, which are wrong for every image. An image chooses among
            them too; a caption chooses among images alone.
        options: of the loss.

    Source of the negatives: Yuksekgonul et al., "When and why vision-language models behave like
    bags-of-words, and what to do about it?", ICLR 2023, section 4 (NegCLIP).
    """
    rows, right = scores, positives
    if negatives is not None:
        rows = torch.cat([scores, negatives], dim=1)
        right = torch.cat([positives, torch.zeros_like(negatives, dtype=torch.bool)], dim=1)
    return loss(rows, right, **options), loss(scores.T, positives.T, **options)


def require_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    """Raise if a value is not among those that an option knows.

    Raises:
        ValueError: names the option and the values it knows.
    """
    if value not in known:
        raise ValueError(f"{option} is {value!r}; choose one of {', '.join(known)}")


def full_precision(scores: Tensor) -> Tensor:
    """Return half-precision scores as float32; others as they are. Exponentials and logarithms need the
    digits.
    """
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def block_entries(like: Tensor) -> int:
    """Return how many numbers a block of a table may hold that is too large to be made at once: what stays in
    a processor's cache, or keeps a GPU busy.
    """
    return 2**24 if like.is_cuda else 2**21


def reduce(terms: Tensor, reduction: str) -> Tensor:
    """Return the terms as they are, their sum, or their mean; the mean of no term at all is zero.

    Raises:
        ValueError: an unknown reduction.
    """
    require_choice("reduction", reduction, get_args(Reduction))
    if reduction == "none":
        return terms
    return terms.sum() if reduction == "sum" else terms.sum() / max(len(terms), 1)
