"""What adapters share: how models of transformers are opened, and which can be."""

from typing import Any

from workbench.assets import text_models

DUAL = (
    "what can be opened are dual encoders such as CLIP and SigLIP, the matching heads of BLIP and BLIP-2, "
    "and vision-language models that are instructed"
)


def open_in_transformers(kind: str, name: str) -> tuple[Any, Any]:
    """Open a model of transformers, and its processor.

    Args:
        kind: class of the model.
        name: a folder or a name of the hub.

    Raises:
        ValueError: as ``text_models.reading_transformers``.
    """
    with text_models.reading_transformers(name):
        return text_models.read(kind, name), text_models.read("AutoProcessor", name)


def saved_classes(name: str) -> tuple[str, ...]:
    """Name the classes of transformers whose weights were saved; none where the model does not say so.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: as ``text_models.reading_transformers``.
    """
    with text_models.reading_transformers(name):
        config = text_models.read("AutoConfig", name)
    return tuple(config.architectures or ())
