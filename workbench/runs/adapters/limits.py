"""What adapters share: optional libraries, and how many tokens a text may have."""

import re
from importlib import import_module
from typing import Any

from torch import nn

DUAL = "only dual encoders, such as CLIP and SigLIP, can be opened so far"
# more tokens than any model reads
UNLIMITED = 10**9
# names of the parts that count positions, and of those that do so in images
POSITIONS, IMAGES = re.compile(r"(^|\.)(embed_positions|position_embeddings?)$"), re.compile("vision|image")


def library(name: str, extra: str) -> Any:
    """An optional library, imported when it is asked for.

    Args:
        name: of the library.
        extra: of this package that installs it.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module(name.replace("-", "_"))
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{name} is needed, and not installed; pip install 'itm-workbench[{extra}]'"
        ) from None


def least(*limits: int | None) -> int:
    """Return the least number of tokens, 0 where none is known; libraries write 10 ** 30 for none."""
    return min((limit for limit in limits if limit and limit < UNLIMITED), default=0)


def text_positions(model: nn.Module) -> int:
    """Count the tokens of a text that a model has positions for; 0 = it counts none. Some keep a place for
    padding and count behind it.
    """
    config = getattr(model, "config", None)
    limits = [getattr(getattr(config, "text_config", config), "max_position_embeddings", 0)]
    for name, part in model.named_modules():
        if isinstance(part, nn.Embedding) and POSITIONS.search(name) and not IMAGES.search(name):
            limits.append(part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1))
    return least(*limits)
