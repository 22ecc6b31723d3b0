"""What an objective needs, checked before any training step, with a message that says how to give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import text
from workbench.encoders.base import Pair
from workbench.objectives.base import Objective
from workbench.records import Judgements, LazyJudgements, Rows, Split
from workbench.records.lazy_judgements import Computed
from workbench.text.signal import RelevanceMaker

HOW_TO_GIVE = {
    "log_var": "set log_var=true in the options of both encoders",
    "parts": "choose encoders that keep regions, patches or words, such as 'towers', 'regions' and 'sequence'",
    "entities": "set text_encoder='graph'",
}


def check_regions(encoder: str, image_input: str | None, train: Split) -> None:
    """Refuse an image encoder that reads region features where the split has none.

    Raises:
        ValueError: they are missing.
    """
    if image_input == "regions" and train.regions is None:
        raise ValueError(
            f"encoder {encoder!r} reads region features and {train.name} has none; "
            f"set features='efficientnet_lite0' (or another backbone)"
        )


def check_reads(name: str, objective: Objective, pair: Pair) -> None:
    """Refuse encoders that do not give what the objective reads.

    Raises:
        ValueError: names the field and how to give it.
    """
    for wanted in objective.reads:
        for side in [pair.text] if wanted == "entities" else [pair.image, pair.text]:
            if wanted not in side.gives:
                given = ", ".join(side.gives) or "nothing beside the pooled vector"
                raise ValueError(
                    f"objective {name!r} reads {wanted!r} and {type(side).__name__} gives {given}; {HOW_TO_GIVE[wanted]}"
                )


def relevance(objective: Objective, train: Split) -> dict[str, Any]:
    """The graded relevance that an objective reads: what a maker of the text shelf finds, or judgements of
    the split.

    Args:
        objective: states names and options in ``relevances()``.
        train: the split whose captions and images are compared.

    Raises:
        ValueError: neither has it.
    """
    makers = [name for name in text.names() if issubclass(text.member(name), RelevanceMaker)]
    out: dict[str, Any] = {}
    for name, options in objective.relevances().items():
        if name in makers:
            out[name] = (
                text.load(name, **options).fit(train.captions, train.own).of(train.captions, train.own)
            )
        else:
            out[name] = _judged(
                name,
                train,
                f"the objective needs the relevance {name!r}; captions give {', '.join(makers)}, and",
            )
    return out


@dataclass(frozen=True)
class Right:
    """Which pairs judgements call right."""

    judged: Judgements | Computed

    def take(self, images: Rows, captions: Rows) -> NDArray[np.bool_]:
        """``(n, m)`` truth values of these image rows and caption rows; a pair that nobody judged is not
        right.
        """
        return np.greater_equal(self.judged.take(images, captions), self.judged.relevant_from)


def positives(name: str, train: Split) -> Right | None:
    """The pairs that count as positive in training beside those that belong together.

    Args:
        name: of the split's judgements; ``"own"`` = no others.
        train: the split.

    Raises:
        ValueError: the split has no such judgements.
    """
    return None if name == "own" else Right(_judged(name, train, f"positives={name!r} names judgements;"))


def _judged(name: str, train: Split, wanted: str) -> Judgements | Computed:
    judged = train.judgements
    if name not in judged:
        raise ValueError(f"{wanted} {train.name} has {', '.join(judged)}")
    return judged.relevance(name) if isinstance(judged, LazyJudgements) else judged[name]
