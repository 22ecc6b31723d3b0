"""What every objective offers."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from torch import Tensor, nn

from workbench.losses import similarity
from workbench.records import Batch, Embedding
from workbench.registry import Checked


def settings(**fields: Any) -> Mapping[str, Any]:
    """Fields of ``Config`` for a ``recipe``, which nobody can change."""
    return MappingProxyType(fields)


class Objective(Checked, nn.Module):
    """A training objective: weighted terms whose sum is the loss, and the one place where a score matrix is
    made.

    What it needs is declared, and checked when an experiment is built:

    - ``needs``: the signals that ``forward`` reads from ``Batch.signals``;
    - ``relevance_sources()``: the graded relevance that it reads from ``Batch.relevance``;
    - ``inputs``: optional fields of ``Embedding`` (``"log_var"``, ``"parts"``, ``"entities"``) that the
      encoders must give;
    - ``scores_parts``: ``scores`` compares the parts, so evaluation must keep them;
    - ``captions_per_image``: the least number of captions that a batch must hold of each image;
    - ``momentum``: share of itself that a momentum copy of the encoders keeps after a step; 0 = no such copy.
      Where it is not 0, ``Batch.momentum`` holds what the copy makes of the batch;
    - ``soft_labels``: it reads ``Batch.targets``, so that training may mix images;
    - ``constant_targets``: terms whose targets are made from the embeddings and are constants of a step, so
      that finite differences do not give their gradient;
    - ``calibrates``: after training it chooses something on the validation split, by ``calibrate``;
    - ``recipe``: fields of ``Config`` with which it works on the embedded world where its encoders begin with
      random weights; what a user gives goes before.

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
    constant_targets: tuple[str, ...] = ()
    calibrates: bool = False
    recipe: Mapping[str, Any] = settings()
    warming: bool = False
    selected: frozenset[str] | None = None

    def select(self, terms: Iterable[str]) -> None:
        """Compute these terms only, and need only what they need.

        Args:
            terms: some of ``self.terms``.
        """
        self.selected = frozenset(terms)
        self.declare()

    def declare(self) -> None:
        """State what the wanted terms need (``inputs``, ``needs``, ...), where that is not fixed."""

    def wants(self, term: str) -> bool:
        """Whether ``forward`` must return this term: the options leave it in, and nobody selected others."""
        return term in self.terms and (self.selected is None or term in self.selected)

    @property
    def mining(self) -> Literal["all", "hardest"]:
        """Which negatives a triplet loss takes: all in the warm-up epochs, the hardest afterwards."""
        return "all" if self.warming else "hardest"

    def fit_width(self, embed_dim: int) -> None:
        """Make what depends on the width ``D`` of the embeddings (prototypes, banks, layers); most objectives
        have nothing.

        Called once, after the encoders are made and before anything else.
        """

    def text_features(self) -> dict[str, dict[str, object]]:
        """Signals in ``needs`` with the options for ``text.load(name, **options)``."""
        return {name: {} for name in self.needs}

    def relevance_sources(self) -> dict[str, dict[str, object]]:
        """Relevance by name: judgements of the training split, or a maker of the text shelf with options."""
        return {}

    def warm_up(self, warming: bool) -> None:
        """Tell the objective whether training is in its warm-up epochs (hinge summed over all negatives).

        Called by the training loop at epoch boundaries, never inside ``forward``.
        """
        self.warming = warming

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """``(I, T)`` scores, larger = more alike; training and evaluation both call this."""
        return similarity.cosine(image.mean, text.mean)

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Weighted scalar terms by name; the loss is their sum."""
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
