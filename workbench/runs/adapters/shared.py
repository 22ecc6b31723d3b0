"""What adapters share: how models of transformers are opened, and which can be."""

from typing import Any

from workbench.assets import text_models
from workbench.io import hub_access

DUAL = (
    "what can be opened are dual encoders such as CLIP and SigLIP, the matching heads of BLIP and BLIP-2, "
    "and vision-language models that are instructed"
)


def open_in_transformers(kind: str, name: str) -> tuple[Any, Any]:
    """Open a model of transformers, whose weights are finite, and its processor.

    Args:
        kind: class of the model.
        name: a folder or a name of the hub.

    Raises:
        ValueError: as ``text_models.reading_transformers``.
    """
    with text_models.reading_transformers(name):
        model, processor = text_models.load_part(kind, name), text_models.load_part("AutoProcessor", name)
    text_models.require_finite(model.named_parameters(), name)
    return model, processor


def saved_config(name: str) -> dict[str, Any]:
    """Read what ``config.json`` of a model holds; ``architectures`` names the classes that were saved.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: as ``text_models.reading_transformers``.
    """
    import transformers

    with text_models.reading_transformers(name), hub_access(name):
        config: dict[str, Any] = transformers.PreTrainedConfig.get_config_dict(name)[0]
    return config
