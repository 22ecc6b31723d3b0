"""What every objective offers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from workbench.losses import similarity
from workbench.losses.terms import ScalarReduction, both_ways
from workbench.losses.triplet import triplet
from workbench.objectives.parts.attention import Form, Scorer, scorer_of
from workbench.records import Batch, Embedding, require
from workbench.registry import Checked, require_known

# Fields of ``Embedding`` by keyword: of images and captions, and of captions alone.
OF_BOTH, OF_TEXT = ("log_var", "parts", "mask", "local"), ("entities", "owner", "labels")


def settings(**fields: Any) -> Mapping[str, Any]:
    """Return fields of ``Config`` for a ``recipe``, which nobody can change."""
    return MappingProxyType(fields)


class Objective(Checked, nn.Module):
    """A training objective: weighted terms whose sum is the loss, and the one place where a score matrix is
    made.

    It works on records in training and on plain tensors elsewhere. What it needs is declared, and checked
    when an experiment is built:

    - ``needs``: the signals that ``forward`` reads from ``Batch.signals``;
    - ``relevance_sources()``: the graded relevance that it reads from ``Batch.relevance``;
    - ``inputs``: optional fields of ``Embedding`` (``"log_var"``, ``"parts"``, ``"entities"``) that the
      encoders must give;
    - ``scores_parts``: ``scores`` compares the parts, so evaluation must keep them; ``reads`` has them too;
    - ``reranker``: scores the best pairs of a split again in evaluation; ``reads`` has what it compares too;
    - ``captions_per_image``: the least number of captions that a batch must hold of each image;
    - ``momentum``: share of itself that a momentum copy of the encoders keeps after a step; 0 = no such copy.
      Where it is not 0, ``Batch.momentum`` holds what the copy makes of the batch;
    - ``reads_negatives``: it reads ``Batch.negatives``, further texts that are wrong for every image;
    - ``soft_labels``: it reads ``Batch.targets``, so that training may mix images;
    - ``constant_targets``: terms whose targets are made from the embeddings and are constants of a step, so
      that finite differences do not give their gradient;
    - ``calibrates``: after training it chooses something on the validation split, by ``calibrate``;
    - ``recipe``: fields of ``Config`` with which it works on the embedded world where its encoders begin with
      random weights; what a user gives goes before. A class that states none has that of InfoNCE.

    ``terms`` are the keys of what ``forward`` returns under the options given. A sum of several papers
    (``"ditm+dias.dim"``) takes some of them: it calls ``select``, and ``forward`` asks ``wants`` before it
    computes what costs something.
    """

    terms: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    scores_parts: bool = False
    captions_per_image: int = 1
    momentum: float = 0.0
    soft_labels: bool = False
    reads_negatives: bool = False
    constant_targets: tuple[str, ...] = ()
    calibrates: bool = False
    recipe: Mapping[str, Any] = settings(
        epochs=3, lr=4e-3, lr_warmup_steps=30, warmup_epochs=0, captions_per_image=2
    )
    warming: bool = False
    selected: frozenset[str] | None = None
    local_scorer: Scorer | None = None
    reranker: Scorer | None = None

    def __call__(
        self, image: Embedding | Tensor, text: Embedding | Tensor, batch: Batch | Tensor, **fields: Any
    ) -> dict[str, Tensor]:
        """Return the weighted terms by name, of records or of plain tensors.

        Args:
            image: images, or ``(I, D)`` unit vectors.
            text: captions, or ``(T, D)`` unit vectors.
            batch: a batch, or ``(I, T)`` bool, True where the caption is right for the image. Images with
                the same captions are one image, and a caption was written for the first that it is right for.
            fields: with plain tensors, what the objective reads beside vectors, under the names of the
                records: ``log_var``, ``parts`` and ``mask`` as pairs (of images, of captions); ``entities``,
                ``owner`` and ``labels`` of captions; each signal and each relevance by its name; ``momentum``
                as a pair of vectors; ``negatives``, vectors of further texts.

        Raises:
            TypeError: a field that it reads is missing, or one that it does not know.
        """
        if isinstance(image, Tensor) and isinstance(text, Tensor) and isinstance(batch, Tensor):
            image, text, batch = records_of(self, image, text, batch, fields)
        return super().__call__(image, text, batch)  # type: ignore[no-any-return]

    def select(self, terms: Iterable[str]) -> None:
        """Compute only these of ``terms``, and need only what they need."""
        self.selected = frozenset(terms)
        self.declare()

    def declare(self) -> None:
        """State what the wanted terms need (``inputs``, ``needs``, ...), where that is not fixed."""

    def wants(self, *terms: str) -> bool:
        """Return whether ``forward`` must return one of these terms: the options leave it in, and nobody
        selected others.
        """
        return any(term in self.terms and (self.selected is None or term in self.selected) for term in terms)

    @property
    def reads(self) -> tuple[str, ...]:
        """``inputs``, and what evaluation compares."""
        return tuple(dict.fromkeys([*self.inputs, *self.compares]))

    @property
    def compares(self) -> tuple[str, ...]:
        """What ``scores`` and ``reranker`` read beside the pooled vectors."""
        scorers: tuple[Scorer | None, ...] = (self.local_scorer, self.reranker)
        read = chain.from_iterable(scorer.reads for scorer in scorers if scorer)
        return *(["parts"] if self.scores_parts else []), *read

    def score_by(self, scorer: Form | Mapping[str, Any]) -> None:
        """Let ``scores`` compare parts or entities.

        Args:
            scorer: see ``scorer_of``.

        Raises:
            ValueError: the objective makes scores of its own, or no such form; TypeError: no such field.
        """
        made = scorer_of(scorer)
        own = f"scorer={scorer!r}: {type(self).__name__} makes its scores itself; leave scorer out"
        require(type(self).scores is Objective.scores, own)
        require(
            self.local_scorer is None,
            f"scorer={scorer!r}: the options of {type(self).__name__} name a scorer already; leave one out",
        )
        self.local_scorer, self.scores_parts = made, "parts" in made.reads
        self.declare()

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Take the weights of the terms; a term of weight 0 is left out.

        Raises:
            ValueError: no term is left.
        """
        self.weights = {term: weight for term, weight in weights.items() if weight}
        self.terms = tuple(self.weights)
        require(
            self.terms, f"{type(self).__name__}: all weights are 0; give at least one of {', '.join(weights)}"
        )

    def weighted_terms(self, **terms: Callable[[], Tensor]) -> dict[str, Tensor]:
        """Return the wanted terms, each times its weight; the others are not computed."""
        return {name: self.weights[name] * term() for name, term in terms.items() if self.wants(name)}

    @property
    def mining(self) -> Literal["all", "hardest"]:
        """Which negatives a triplet loss takes: all in the warm-up epochs, the hardest afterwards."""
        return "all" if self.warming else "hardest"

    def triplets(
        self,
        scores: Tensor,
        positives: Tensor,
        margin: float,
        reduction: ScalarReduction = "sum",
        *,
        negatives: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return triplet losses ``i2t`` and ``t2i`` of ``(I, T)`` scores, with the negatives of ``mining``;
        an image is also held against ``(I, N)`` scores of further texts.
        """
        loss = partial(triplet, margin=margin, negatives=self.mining, reduction=reduction)
        i2t, t2i = both_ways(loss, scores, positives, negatives=negatives)
        return {"i2t": i2t, "t2i": t2i}

    def scores_of_negatives(self, image: Embedding, batch: Batch) -> Tensor | None:
        """Return ``(I, N)`` scores of the batch's further texts; ``None`` where it has none."""
        return None if batch.negatives is None else self.scores(image, batch.negatives)

    def setup(self, embed_dim: int) -> None:
        """Make what depends on the width ``D`` of the embeddings (prototypes, banks, layers); most objectives
        have nothing.

        Called once, after the encoders are made and before anything else.
        """

    def begin(self, logits: tuple[float, float] | None) -> None:
        """Take over what an image encoder says of the scores that its weights were trained with; most
        objectives have nothing to begin from it.

        Called once, after ``setup``.

        Args:
            logits: scale and shift; ``None`` = not known.
        """

    def text_features(self) -> dict[str, dict[str, object]]:
        """Return signals in ``needs`` with the options for ``text.load(name, **options)``."""
        return {name: {} for name in self.needs}

    def relevance_sources(self) -> dict[str, dict[str, object]]:
        """Return relevance by name: judgements of the training split, or a maker of the text registry with
        options.
        """
        return {}

    def warm_up(self, warming: bool) -> None:
        """Set whether training is in its warm-up epochs (hinge summed over all negatives).

        Called by the training loop at epoch boundaries, never inside ``forward``.
        """
        self.warming = warming

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` scores, larger = more alike; training and evaluation both call this."""
        if self.local_scorer:
            return self.local_scorer.scores(image, text)
        return similarity.cosine(image.mean, text.mean)

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return weighted scalar terms by name; the loss is their sum."""
        raise NotImplementedError

    def calibrate(self, image: Embedding, text: Embedding, quality: Callable[[Tensor], float]) -> None:
        """Choose, on the validation split and after training, what only evaluation uses; most objectives
        choose nothing.

        Args:
            image: embeddings of the split's images.
            text: embeddings of its captions.
            quality: of ``(I, T)`` scores, larger = better.
        """

    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Update memory (banks, momentum encoders) after an optimiser step; most objectives have none."""


def records_of(
    objective: Objective, image: Tensor, text: Tensor, positives: Tensor, fields: Mapping[str, Any]
) -> tuple[Embedding, Embedding, Batch]:
    """Return plain tensors as the records that ``forward`` takes; the arguments are those of a call."""
    name, graded = type(objective).__name__, tuple(objective.relevance_sources())
    reads = *objective.reads, *objective.needs, *graded, *(["momentum"] if objective.momentum else [])
    for field in reads:
        require(field in fields, f"{name} reads {field}; give it as a keyword, {field}=...", TypeError)
    further = ["negatives"] if objective.reads_negatives else []
    for field in fields:
        require_known(f"{name} has no keyword", field, [*reads, *OF_BOTH, *OF_TEXT, *further], TypeError)
    require(bool(positives.any(dim=0).all()), f"{name}: each caption must be right for at least one image")
    both = {field: fields[field] for field in OF_BOTH if field in fields}
    if "parts" in both:
        both.setdefault("mask", [torch.ones_like(side[..., 0], dtype=torch.bool) for side in both["parts"]])
    seen, read = fields.get("momentum", (image, text))
    v = Embedding(image, **{field: pair[0] for field, pair in both.items()})
    u = Embedding(text, **{field: pair[1] for field, pair in both.items()})
    images: Tensor = torch.unique(positives, dim=0, return_inverse=True)[1]
    negatives = Embedding(fields["negatives"]) if "negatives" in fields else None
    batch = Batch(
        [str(number) for number in images.tolist()],
        [f"{row:09}" for row in range(len(text))],
        positives.int().argmax(dim=0),
        signals={signal: fields[signal] for signal in objective.needs},
        relevance={source: fields[source] for source in graded},
        momentum=(Embedding(seen), Embedding(read)) if objective.momentum else None,
        also=positives,
        negatives=negatives,
    )
    return v, replace(u, **{field: fields[field] for field in OF_TEXT if field in fields}), batch
