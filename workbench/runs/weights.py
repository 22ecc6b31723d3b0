"""Names of open_clip models that come without weights: refused, unless random weights are asked for, and
then every output says so. Nothing here needs torch.
"""

from workbench import assets
from workbench.records import require

# random weights are drawn from it, so that a name stands for one model
SEED = 0
RANDOM = "random weights"
NOTE = f"{RANDOM} from seed {SEED}: no number says what the trained model would do"


def lacks_weights(model: str, pretrained: str) -> bool:
    """Return whether a model of open_clip is named without weights: an architecture alone.

    Args:
        model: a name of open_clip or the path of its JSON configuration.
        pretrained: a tag or a file of weights.

    >>> lacks_weights("ViT-B-32", ""), lacks_weights("ViT-B-32:openai", "")
    (True, False)
    """
    return not pretrained and (model.endswith(".json") or ":" not in model)


def require_weights(model: str, pretrained: str) -> None:
    """Raise if a model of open_clip has no weights.

    Args:
        model: see ``lacks_weights``.
        pretrained: likewise.

    Raises:
        ValueError: the message says how to name weights.
    """
    tag = model if model in assets.model_names() else "TAG"
    by_tag = "" if model.endswith(".json") else f"a tag, as {model}:{tag}, or "
    require(
        not lacks_weights(model, pretrained),
        f"{model} comes without weights; give {by_tag}a file as pretrained, or random_weights=true "
        "for random ones; evaluate takes both as options, suite in its file",
    )


def name_with_note(name: str) -> str:
    """Add to a name that the weights are random, unless it says so.

    >>> name_with_note(name_with_note("ViT-B-32"))
    'ViT-B-32, random weights'
    """
    return name if name.endswith(RANDOM) else f"{name}, {RANDOM}"
