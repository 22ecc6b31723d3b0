"""What adapters share: how models of transformers are opened, and what they must hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from workbench.assets import text_models
from workbench.io import reading_errors
from workbench.records import require

DUAL = (
    "what can be opened are dual encoders such as CLIP and SigLIP, the matching heads of BLIP and BLIP-2, "
    "and vision-language models that are instructed"
)


@contextmanager
def reading_transformers(name: str) -> Iterator[None]:
    """Inside, whatever goes wrong while transformers reads a model is said in one line.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or needs code of its own.
    """
    opening = reading_errors(name, "cannot be opened by transformers", Exception)
    with opening, text_models.refusing_code(name):
        yield


def open_in_transformers(kind: str, name: str) -> tuple[Any, Any]:
    """Open a model of transformers, and its processor.

    Args:
        kind: class of the model.
        name: a folder or a name of the hub.

    Raises:
        ValueError: as ``reading_transformers``.
    """
    with reading_transformers(name):
        return text_models.read(kind, name), text_models.read("AutoProcessor", name)


def saved_classes(name: str) -> tuple[str, ...]:
    """Name the classes of transformers whose weights were saved; none where the model does not say so.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: as ``reading_transformers``.
    """
    with reading_transformers(name):
        config = text_models.read("AutoConfig", name)
    return tuple(config.architectures or ())


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
