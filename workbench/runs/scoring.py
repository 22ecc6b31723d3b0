"""How several vectors an item are compared, of models that were not trained here."""

from dataclasses import asdict
from typing import Any

from workbench.objectives.parts.attention import Scorer
from workbench.records import Embedding, require
from workbench.runs.model import Model


def scoring_of(model: Model) -> dict[str, Any]:
    """State how a model scores that was not trained here, as ``rescored`` takes it; nothing = in its own way.

    Args:
        model: any.
    """
    return {"scorer": asdict(model.scorer)} if model.scorer else {}


def note_of(scorer: Scorer) -> str:
    """Say by what pairs are scored, in words for people.

    Args:
        scorer: of several vectors an item.
    """
    name, *options = asdict(scorer).items()
    settings = ", ".join(f"{option} {value}" for option, value in options if value is not None)
    return f"scored by several vectors an item: {name[1]} ({settings})"


def require_several(model: Model, image: Embedding, text: Embedding) -> None:
    """Raise if a model is to compare several vectors an item, and items have one each.

    Raises:
        ValueError: the message names the scorer.
    """
    if model.scorer is None or "parts" not in model.scorer.reads:
        return
    several = image.parts is not None or text.parts is not None
    require(
        several,
        f"{model.name}: images and texts have one vector each, of which {model.scorer.name} would make the "
        "cosine; leave scorer out, or give several, (N, P, D)",
    )
