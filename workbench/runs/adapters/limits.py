"""What adapters share: optional libraries, and how many tokens a text may have."""

from torch import nn

from workbench.assets.text_models import least, text_positions
from workbench.io import library
from workbench.records import require

__all__ = ["DUAL", "least", "library", "require_finite", "text_positions"]

DUAL = (
    "what can be opened are dual encoders such as CLIP and SigLIP, the matching heads of BLIP and BLIP-2, "
    "and vision-language models that are instructed"
)


def require_finite(model: nn.Module, name: str) -> None:
    """Raise if a weight is not finite.

    Args:
        model: any.
        name: of it, for the message.

    Raises:
        ValueError: the message names the weight.
    """
    broken = next((part for part, weights in model.named_parameters() if not weights.isfinite().all()), "")
    require(not broken, f"{name}: {broken} holds numbers that are not finite")
