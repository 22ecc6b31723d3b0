"""Scores of a whole split, and of several vectors an item by models that were not trained here."""

from dataclasses import asdict
from typing import Any

from workbench.formatting import format_count
from workbench.metrics.blocks import AnyScores
from workbench.objectives.parts.attention import Scorer
from workbench.records import Embedding, require
from workbench.runs.model import Model, Say, scores_in_blocks, silent
from workbench.runs.protocol import ModelProtocol
from workbench.training.batches import Source


def scoring_of(model: Model) -> dict[str, Any]:
    """Return how a model scores, as ``rescoring.rescore`` takes it; nothing = as it was opened.

    Args:
        model: any.
    """
    return {"scorer": asdict(model.scorer)} if model.scorer else dict(model.rescored)


def note_of(scorer: Scorer) -> str:
    """Describe by what pairs are scored, in words for people.

    Args:
        scorer: of several vectors an item.
    """
    name, *options = asdict(scorer).items()
    settings = ", ".join(f"{option} {value}" for option, value in options if value is not None)
    return f"scored by several vectors an item: {name[1]} ({settings})"


def notes_of(model: Model, source: Source) -> tuple[str, ...]:
    """Name what is worth knowing of a model on a split: of its weights, and how many captions it cuts.

    Args:
        model: any.
        source: of the split, as the model made it.
    """
    cut, longest = model.count_truncated(source)
    words = f"{format_count(cut, 'caption')} cut at {longest} tokens, the most that {model.name} reads"
    return (*model.notes, words) if cut else tuple(model.notes)


def require_one_width(image: Embedding, text: Embedding) -> None:
    """Raise if vectors of images and of texts have different widths.

    Raises:
        ValueError: the message says both.
    """
    widths = image.mean.shape[1], text.mean.shape[1]
    require(
        widths[0] == widths[1],
        f"images have {widths[0]} dimensions and texts {widths[1]}; both sides need the same",
    )
    if image.parts is not None and text.parts is not None:
        widths = image.parts.shape[2], text.parts.shape[2]
        require(
            widths[0] == widths[1],
            f"the vectors of images have {widths[0]} dimensions and those of texts {widths[1]}; both sides "
            "need the same",
        )


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


def score_split(model: ModelProtocol, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
    """Return ``(I, T)`` scores of a whole split, re-ranked where the configuration of the model asks for it.

    Args:
        model: scores embeddings.
        image: embeddings of all images.
        text: embeddings of all captions.
        say: is told what re-ranking costs.
    """
    if isinstance(model, Model):
        return model.scores_of_split(image, text, say=say)
    return scores_in_blocks(model, image, text)
