"""A second stage over any first one: another model scores the best items of every query again.

The first stage is whatever can be evaluated: vectors, scores, a run, an object, several models. The second is
a scorer of parts (``cross``, ``chan``) for a model that was trained here, or any model, above all one that
reads an image and a text together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from PIL import Image

from workbench.metrics.blocks import AnyScores, RowScores, reranked, reranked_row
from workbench.objectives.parts.attention import Form, scorer_of
from workbench.records import Array, Embedding, Rows, Split, require
from workbench.registry import did_you_mean, require_known
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.model import Model, Say, silent
from workbench.runs.own import ObjectModel, encoding_methods
from workbench.runs.pairs import PairModel
from workbench.runs.protocol import ModelProtocol
from workbench.runs.rescoring import rescore
from workbench.runs.scoring import scoring_of
from workbench.runs.ways import WAYS, SideBySide, TwoWays, one_way, view_for_way
from workbench.training.batches import Source

COMBINES = ("replace", "sum")
# scorers that compare the parts that a model trained here embeds to
SCORERS = get_args(Form)
# what a scoring says beside fields of a configuration
SECOND = ("reranker", "reranker_options", "rerank", "combine", "weight")
NAMELESS = (
    "the evaluation was re-ranked by an object that has no name; evaluate again, and name it by its module, "
    "as my_module:MyModel"
)


@dataclass(frozen=True)
class Reranking:
    """How a second stage scores.

    Args:
        k: items of every query that it scores again; 0 = there is no second stage.
        reranker: what scores: a scorer of parts, or whatever ``open_model`` opens; empty = what the first
            stage offers itself.
        combine: ``"replace"``: the new scores stand for the old ones. ``"sum"``: they are added to them.
        weight: of the new scores in the sum; ``None`` = 1.

    Raises:
        ValueError: values that do not belong together.
    """

    k: int = 0
    reranker: Any = ""
    combine: str = ""
    weight: float | None = None

    def __post_init__(self) -> None:
        require(type(self.k) is int and self.k >= 0, f"rerank is {self.k!r}; give how many items, as in 16")
        for name in ("reranker", "combine", "weight"):
            value = getattr(self, name)
            unread = not self.k and value is not None and not (isinstance(value, str) and not value)
            require(not unread, f"{name} belongs to rerank; give how many items are scored again, as in 16")
        if self.combine:
            require_known("combine is one of replace and sum, not", self.combine, COMBINES, ValueError)
        fine = self.weight is None or (isinstance(self.weight, int | float) and isfinite(self.weight))
        require(fine, f"weight is {self.weight!r}; give a number")
        require(
            self.weight is None or self.combine == "sum",
            "weight belongs to combine='sum'; with replace, the new scores stand alone",
        )

    @property
    def compares_parts(self) -> bool:
        """Whether it compares the parts that a model trained here embeds to."""
        return not self.reranker or (isinstance(self.reranker, str) and self.reranker in SCORERS)

    @property
    def factor(self) -> float | None:
        """The weight of the new scores in the sum; ``None`` = they replace the old ones."""
        if self.combine != "sum":
            return None
        return 1.0 if self.weight is None else float(self.weight)

    def describe(self, name: str) -> str:
        """Describe the second stage.

        Args:
            name: of what scores again.
        """
        how = "which replaces the score" if self.factor is None else f"added with weight {self.factor}"
        return f"the best {self.k} items of every query are scored again by {name}, {how}"

    def missing_parts_message(self, name: str) -> str:
        """Return the message that a model has nothing that a scorer of parts compares.

        Args:
            name: of the model.
        """
        return (
            f"reranker={self.reranker!r} compares parts, which {name} does not embed to; name a model that "
            "reads an image and a text together, as in my_blip:Itm"
        )

    def fields(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept of it, as fields of a scoring.

        Args:
            name: by which the reranker is opened again; empty = it has none.
            options: of ``open_model``, with which it is opened again.
        """
        fields: dict[str, Any] = {"rerank": self.k, "reranker": name, "combine": self.combine or "replace"}
        if options:
            fields["reranker_options"] = dict(options)
        return fields if self.factor is None else {**fields, "weight": self.factor}


class Staged(SideBySide):
    """What two stages embed the same items to, the first one first."""


class Reranked(Model):
    """A first stage, and a second that scores the best items of every query again.

    Args:
        first: any model, or vectors or scores without one.
        second: any model.
        how: how many items, and how the scores are combined.
    """

    def __init__(self, first: Model, second: Model, how: Reranking) -> None:
        self.first, self.second = first, second
        self.how = how
        self.name = f"{first.name}, re-ranked by {second.name}"
        self.precision = first.precision
        self.origin = dict(first.origin)
        self.of_unit_length, self.makers = first.of_unit_length, first.makers
        self.extras, self.compares = first.extras, first.compares
        self.embed_dim, self.config = first.embed_dim, first.config
        self.encodes = first.encodes and second.encodes
        self.notes = (*first.notes, *second.notes)
        self.reranks, self.weight = how.k, how.factor
        self.ways, self.directed = first.ways, first.directed

    @property
    def scoring(self) -> dict[str, Any]:
        """What is kept of the second stage, see ``Evaluation.scoring``."""
        if self.how.compares_parts and self.how.reranker:
            return self.how.fields(self.how.reranker, {})
        options = dict(self.second.origin)
        name = options.pop("model", "")
        if own := scoring_of(self.second):
            options["scoring"] = own
        return self.how.fields(name, options if name else {})

    @property
    def device(self) -> torch.device:
        """Where the first stage computes."""
        return self.first.device

    def to(self, device: str = "", precision: str = "") -> "Reranked":
        """Move both stages."""
        self.first.to(device, precision)
        self.second.to(device, precision)
        return self

    def source(self, split: Split, *, every_signal: bool = False) -> Source:
        """Make a split ready for the first stage."""
        return self.first.source(split, every_signal=every_signal)

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split by both stages."""
        return self.completed(source.split, *self.first.embed(source))

    def completed(self, split: Split, image: Embedding, text: Embedding) -> tuple[Embedding, Embedding]:
        """Put what the second stage embeds beside what the first has embedded; a scorer of parts reads the
        same.

        Raises:
            ValueError: there are no parts for it to read.
        """
        if self.how.compares_parts and self.how.reranker:
            several = image.parts is not None or text.parts is not None
            require(several, self.how.missing_parts_message(self.first.name))
            return Staged.from_members([image, image]), Staged.from_members([text, text])
        images, texts = self.second.embed(self.second.source(split))
        return Staged.from_members([image, images]), Staged.from_members([text, texts])

    def write(self, folder: Path) -> None:
        """Keep what the first stage keeps in a run folder."""
        self.first.write(folder)

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images by both stages."""
        first = self.first.embed_images(images, features=features)
        return Staged.from_members([first, self.second.embed_images(images)])

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed loose texts by both stages."""
        return Staged.from_members([self.first.embed_texts(texts), self.second.embed_texts(texts)])

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of the first stage."""
        return self.first.scores(self._both(image)[0], self._both(text)[0])

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
        """Return ``(I, T)`` scores of a whole split, re-ranked in each direction."""
        (first_image, images), (first_text, texts) = self._both(image), self._both(text)
        first = self.first.scores_of_split(first_image, first_text, say=say)

        def score_again(image: Embedding, text: Embedding) -> RowScores:
            score = partial(self.second.pair_scores, image, text, say=say)
            return reranked(first, self.reranks, score, self.weight)

        if not (isinstance(images, TwoWays) or isinstance(texts, TwoWays)):
            return score_again(images, texts)
        i2t, t2i = [score_again(view_for_way(images, way), view_for_way(texts, way)) for way in WAYS]
        return replace(i2t, other=t2i.T)

    def pair_scores(
        self, image: Embedding, text: Embedding, rows: Rows, items: Rows, *, say: Say = silent
    ) -> Array:
        """Score pairs by the second stage, see ``Model``; of one text among several images, as text to image
        sees them.
        """
        images, texts = one_way(self._both(image)[1], self._both(text)[1])
        return self.second.pair_scores(images, texts, rows, items, say=say)

    def count_truncated(self, source: Source) -> tuple[int, int]:
        """Count the captions that the first stage cuts."""
        return self.first.count_truncated(source)

    def _both(self, side: Embedding) -> tuple[Embedding, Embedding]:
        if isinstance(side, Staged):
            first, second = side.current()
            return first, second
        raise TypeError(f"{self.name} scores what both of its stages embed")


def unstaged(model: Model, image: Embedding, text: Embedding) -> tuple[Model, Embedding, Embedding]:
    """Return the first of two stages and its embeddings; of one stage, what was given.

    Args:
        model: any.
        image: embeddings of images.
        text: embeddings of texts.
    """
    if isinstance(model, Reranked) and isinstance(image, Staged) and isinstance(text, Staged):
        return model.first, image.current()[0], text.current()[0]
    return model, image, text


def with_scoring(model: Model, scoring: Mapping[str, Any], opened: Callable[..., Model]) -> Model:
    """Let a model score as an evaluation says.

    Args:
        model: of the evaluation.
        scoring: see ``Evaluation.scoring``.
        opened: opens the reranker by its name and options.

    Raises:
        ValueError: the reranker has no name.
    """
    # options of a scorer of parts are fields of a configuration
    second_names = () if isinstance(scoring.get("reranker"), Mapping) else SECOND
    fields = {name: value for name, value in scoring.items() if name not in second_names}
    second = {name: scoring[name] for name in second_names if name in scoring}
    how = Reranking(
        second.get("rerank", 0),
        second.get("reranker", ""),
        second.get("combine", ""),
        second.get("weight"),
    )
    require(how.reranker or not how.k, NAMELESS)
    options = dict(second.get("reranker_options", {}))
    own = options.pop("scoring", {})

    def open_again(name: Any) -> Model:
        return with_scoring(opened(name, **options), own, opened)

    return staged(first_stage(model, fields, how), how, open_again)


def add_second_stage(
    model: Model,
    split: Split,
    sides: tuple[Embedding, Embedding],
    how: Reranking,
    opened: Callable[..., Model],
) -> tuple[Model, Split, Embedding, Embedding]:
    """Put a second stage behind a model that has embedded a split.

    Args:
        model: the first stage.
        split: that it has embedded.
        sides: embeddings of the images and captions.
        how: how the second stage scores; of no items, nothing changes.
        opened: opens it.

    Returns:
        The model, the split with a note of what is done, and the embeddings that it reads.
    """
    if not how.k:
        return model, split, *sides
    both = staged(model, how, opened)
    name = how.reranker or SCORERS[0]
    if isinstance(both, Reranked):
        name = both.second.name
        # vectors and scores that were made elsewhere belong to these rows alone
        sides = both.completed(split, *sides) if both.first is model else both.embed(both.source(split))
    return both, replace(split, notes=(*split.notes, how.describe(name))), *sides


def staged(model: Model, how: Reranking, opened: Callable[[Any], Model]) -> Model:
    """Put a second stage behind a model, unless it compares parts itself.

    Args:
        model: the first stage.
        how: how the second scores.
        opened: opens it.

    Raises:
        KeyError, ValueError: nothing says what re-ranks, or it cannot re-rank this.
    """
    if not how.k or (how.compares_parts and is_trained_here(model)):
        return model
    require(
        not np.isfinite(model.floor),
        f"{model.name} leave pairs open, and a second stage needs the score of every pair; give scores=",
    )
    if how.reranker and how.compares_parts:
        require(not model.scores_itself, how.missing_parts_message(model.name))
        second = model.scored_by(scorer_of(how.reranker))
        second.name = how.reranker
        return Reranked(model, second, how)
    if not how.reranker:
        return Reranked(_as_first_stage(model), _as_second_stage(model, model), how)
    try:
        second = opened(how.reranker)
    except KeyError as error:
        instead = did_you_mean(str(how.reranker), list(SCORERS), str(error.args[0]))
        raise KeyError(f"no reranker {how.reranker!r}; {instead}") from error
    # saved without a reranker, or named twice: the vectors of one model come first
    first = _as_first_stage(model) if second.origin and second.origin == model.origin else model
    return Reranked(first, _as_second_stage(second, model), how)


def _as_first_stage(model: Model) -> Model:
    """Return a first stage; an object that scores pairs and encodes as well is one by its vectors."""
    if isinstance(model, PairModel) and all(encoding_methods(model.subject).values()):
        return model.seen_as(ObjectModel)
    return model


def _as_second_stage(second: Model, first: Model) -> Model:
    """Return a second stage; an object that encodes and has ``score`` as well re-ranks by that.

    Raises:
        ValueError: it is the first stage itself.
    """
    if isinstance(second, Reranked):
        return second.second
    subject = getattr(second, "subject", None)
    encodes = all(encoding_methods(subject).values())
    if isinstance(second, ObjectModel) and callable(getattr(subject, "score", None)):
        return second.seen_as(PairModel)
    both = isinstance(second, PairModel) and encodes
    require(
        second is not first or both,
        f"nothing says what re-ranks; name a model, as in reranker='my_blip:Itm', since {first.name} does "
        "not both encode and have score(images, texts)",
    )
    return second


def is_trained_here(model: Model) -> bool:
    """Return whether a model, or every one of several, was trained here and scores by an objective."""
    return all(isinstance(member, TrainedModel) for member in getattr(model, "members", [model]))


def first_stage(model: Model, scoring: Mapping[str, Any], how: Reranking) -> Model:
    """Let a trained model score otherwise, see ``rescoring.rescore``; by parts, it re-ranks itself.

    Args:
        model: any.
        scoring: see ``evaluate``; nothing changes nothing.
        how: what re-ranks.
    """
    if not (how.k and how.compares_parts and isinstance(model, TrainedModel)):
        return rescore(model, scoring)
    name = how.reranker or SCORERS[0]
    changed = rescore(model, {**scoring, "rerank": how.k, "reranker": name})
    changed.weight = how.factor
    changed.rescored = {**changed.rescored, **how.fields(name, {})}
    return changed


def pair_models(model: Model) -> list[PairModel]:
    """List the models of pairs that a model is or consists of.

    Args:
        model: any.
    """
    if isinstance(model, PairModel):
        return [model]
    if isinstance(model, Reranked):
        return pair_models(model.first) + pair_models(model.second)
    pairs: list[PairModel] = []
    for member in getattr(model, "members", ()):
        pairs += pair_models(member)
    return pairs


def query_scores(model: ModelProtocol, image: Embedding, text: Embedding) -> Array:
    """Return ``(N,)`` scores of one loose query with all items, re-ranked as those of a split.

    Args:
        model: scores embeddings.
        image: embeddings of images; of a query that is an image, of it alone.
        text: embeddings of texts; of a query that is a text, of it alone.
    """
    by_image = len(image) == 1
    scores = model.scores(image, text)
    row: Array = np.asarray(scores[0] if by_image else scores[:, 0])
    if not (isinstance(model, Model) and model.reranks):
        return row

    def again(items: Rows) -> Array:
        alone: Rows = np.zeros_like(items)
        rows, texts = (alone, items) if by_image else (items, alone)
        return model.pair_scores(image, text, rows, texts)

    return reranked_row(row, model.reranks, again, model.weight)
