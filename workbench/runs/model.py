"""What every model offers, whoever made it.

A model embeds a split, loose images or loose texts, and scores images by texts: at once where the scores fit
into memory, by blocks of rows where they do not.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from PIL import Image

from workbench import devices
from workbench.losses import similarity
from workbench.metrics.blocks import AnyScores, RowScores, by_rows, image_by_image, reranked
from workbench.objectives.parts.attention import Scorer
from workbench.records import Array, Embedding, Rows, Split, require
from workbench.runs.config import Config
from workbench.runs.protocol import ModelProtocol
from workbench.runs.ways import WAYS, TwoWays, one_way, view_for_way
from workbench.runs.weights import name_with_note
from workbench.text.signal import SignalMaker
from workbench.training.batches import Source

# scores that are made at once and kept: 1 GiB of float32, more than 5,000 x 25,000
WHOLE = 2**28
Say = Callable[[str], None]


def silent(line: str) -> None:
    """Take a line of progress, and show it to nobody."""


class Model:
    """A model of ``open_model``: what the protocol says, and how a whole split is read and scored.

    Attributes:
        name: how tables call it.
        origin: ``model``, ``pretrained`` and maybe ``random_weights``, by which ``open_model`` opens it
            again; empty = it has no name.
        notes: facts of the weights worth printing, in words.
        precision: in which it computes, see ``devices``; empty = as chosen there.
        encodes: whether it takes images and texts that are not of the data.
        of_unit_length: whether ``Embedding.mean`` holds vectors whose products are cosines.
        scorer: how several vectors an item are compared; ``None`` = the vectors are one an item, or the model
            scores in its own way.
        scores_itself: whether it has scores of its own, which no scorer replaces.
        rescored: by what it scores in place of what it was opened with, see ``rescoring.rescore``.
        makers: fitted signal makers by name, of what it reads of texts.
        extras: what of an embedding beside the mean it was trained for; ``compares`` = what its scores read.
        embed_dim: width of its vectors; ``None`` = it does not say so before it embeds.
        ways: the directions in which it scores.
        directed: whether each direction has scores of its own, which one matrix may not hold.
        floor: score of the pairs that it leaves open; all others lie above.
        config: that it was trained with here; ``None`` = it was not.
        reranks: how many best items of every query it scores again, by ``pair_scores``; 0 = none.
        weight: of these scores, which are added to those of the first stage; ``None`` = they replace them.
    """

    name: str = ""
    origin: Mapping[str, Any] = {}
    notes: Sequence[str] = ()
    precision: str = ""
    encodes: bool = True
    of_unit_length: bool = True
    scorer: Scorer | None = None
    scores_itself: bool = False
    rescored: Mapping[str, Any] = {}
    makers: Mapping[str, SignalMaker] = {}
    extras: Sequence[str] = ()
    compares: Sequence[str] = ()
    embed_dim: int | None = None
    ways: Sequence[str] = WAYS
    directed: bool = False
    floor: float = -np.inf
    config: Config | None = None
    reranks: int = 0
    weight: float | None = None

    def to(self, device: str = "", precision: str = "") -> Self:
        """Choose where it computes, and in which precision.

        Raises:
            ValueError: no such precision, or no such device on this machine.
        """
        devices.find_device(device)
        self.precision = precision
        return self

    def write(self, folder: Path) -> None:
        """Write into the folder of an evaluation what the model is, where nothing else keeps it."""

    @property
    def device(self) -> torch.device:
        """Where scores are computed."""
        return torch.device("cpu")

    def source(self, split: Split, *, every_signal: bool = False) -> Source:
        """Make a split ready for ``embed``.

        Args:
            split: any with what the model reads.
            every_signal: also compute what training alone reads.
        """
        return Source(split, {}, {})

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split; the result is on the CPU in float32.

        Args:
            source: what ``source()`` made.
        """
        return self.embed_images_of(source), self.embed_texts(source.split.captions)

    def completed(self, split: Split, image: Embedding, text: Embedding) -> tuple[Embedding, Embedding]:
        """Return vectors of a split that were kept, with what the model reads beside them."""
        return image, text

    def embed_images_of(self, source: Source) -> Embedding:
        """Embed all images of a split."""
        raise NotImplementedError(f"{type(self).__name__} embeds no split")

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images; ``features`` names the frozen backbone of a model that reads some."""
        raise NotImplementedError(f"{type(self).__name__} embeds no images")

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed loose texts; the empty one is allowed (it is the root of the hierarchy)."""
        raise NotImplementedError(f"{type(self).__name__} embeds no texts")

    @torch.no_grad()
    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of embeddings: cosines, or those of a scorer or of the model itself."""
        image, text = one_way(image, text)
        images, texts = image.in_float32(self.device), text.in_float32(self.device)
        scores = (
            self.scorer.scores(images, texts) if self.scorer else similarity.cosine(images.mean, texts.mean)
        )
        matrix: Array = scores.cpu().numpy()
        return matrix

    def with_prompts(self, prompts: Mapping[str, str]) -> "Model":
        """Return the model with prompts for its queries.

        Raises:
            ValueError: it takes none.
        """
        raise ValueError(f"prompts: {self.name} encodes no texts; leave prompts out")

    def scored_by(self, scorer: Scorer) -> Self:
        """Return the model with several vectors an item compared by a scorer.

        Args:
            scorer: takes the place of the cosine.

        Raises:
            ValueError: the model has scores of its own.
        """
        own = f"scorer={scorer.name!r}: {self.name} makes its scores itself; leave scorer out"
        require(not self.scores_itself, own)
        changed = copy(self)
        changed.scorer = scorer
        return changed

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
        """Return ``(I, T)`` scores of a whole split, see ``scores_in_blocks``, maybe re-ranked.

        Args:
            image: embeddings of all its images.
            text: embeddings of all its captions.
            say: is told what scores of pairs cost.
        """
        image, text = image.in_float32(self.device), text.in_float32(self.device)
        first = scores_in_blocks(self, image, text)
        if not self.reranks:
            return first
        score = partial(self.pair_scores, image, text, say=say)
        return reranked(first, self.reranks, score, self.weight)

    def pair_scores(
        self, image: Embedding, text: Embedding, rows: Rows, items: Rows, *, say: Say = silent
    ) -> Array:
        """Return ``(N,)`` scores of pairs, image by image.

        Args:
            image: embeddings of images.
            text: embeddings of texts.
            rows: ``(N,)`` image of each pair, ascending.
            items: ``(N,)`` its text.
            say: is told what it costs.
        """

        def score(row: Rows, texts: Rows) -> Array:
            scores: Array = self.scores(image.take(row), text.take(texts))[0]
            return scores

        return image_by_image(score, rows, items)

    def matrix(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of a whole split, in one matrix.

        Raises:
            ValueError: each direction has scores of its own.
        """
        held = f"{self.name} scores pairs by direction, which one matrix cannot hold; read any_scores()"
        require(not self.directed, held)
        return by_rows(self.scores_of_split(image, text)).rows()

    def title(self, name: str = "") -> str:
        """Return its name for tables, which says so if the weights are random.

        Args:
            name: that was given; empty = its own.
        """
        name = name or self.name
        return name_with_note(name) if self.origin.get("random_weights") else name

    def count_truncated(self, source: Source) -> tuple[int, int]:
        """Count the captions that are cut, and say after how many tokens; ``(0, 0)`` = not known."""
        return 0, 0


def scores_in_blocks(model: ModelProtocol, image: Embedding, text: Embedding) -> AnyScores:
    """Return ``(I, T)`` scores: a matrix where it has at most 2 ** 28 entries, else blocks of rows.

    Pairs are scored one by one, so that slices give what the whole gives, up to rounding of products.

    Args:
        model: scores embeddings.
        image: embeddings of images.
        text: embeddings of captions.
    """
    if isinstance(image, TwoWays) or isinstance(text, TwoWays):
        i2t, t2i = (
            by_rows(scores_in_blocks(model, view_for_way(image, way), view_for_way(text, way)))
            for way in WAYS
        )
        return replace(i2t, other=t2i.T)
    if len(image) * len(text) <= WHOLE:
        return model.scores(image, text)

    def block(rows: Any, items: Any) -> Array:
        return model.scores(image.take(rows), text.take(items))

    return RowScores(block, (len(image), len(text)))
