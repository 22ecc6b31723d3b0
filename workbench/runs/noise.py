"""A result made worse by chance: random numbers are added to its vectors, or to its scores where these are
not the cosines of one vector an item.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.metrics.blocks import AnyScores, RowScores, by_rows
from workbench.records import Array, Embedding, Split
from workbench.runs.encoder_model import EncoderModel
from workbench.runs.lists import SavedLists, known_numbers
from workbench.runs.measure import evaluate_split
from workbench.runs.model import Model
from workbench.runs.scores import SavedScores

Contents = tuple[Model, Embedding, Embedding]


def add_noise(contents: Contents, split: Split, scores: AnyScores, amount: float, seed: int) -> Contents:
    """Add random numbers to vectors, or to scores in their standard deviations.

    Args:
        contents: a model and its embeddings of a split.
        split: that was embedded.
        scores: ``(I, T)`` of the model.
        amount: length of what is added to each vector of length 1, or standard deviations of the scores; 0
            changes nothing.
        seed: of the random numbers.
    """
    model, image, text = contents
    by_vectors = model.of_unit_length and not model.directed and model.scorer is None
    if by_vectors or isinstance(model, EncoderModel):
        generator = torch.Generator().manual_seed(seed)
        return model, _add_vector_noise(image, amount, generator), _add_vector_noise(text, amount, generator)
    generator_of_scores = np.random.default_rng(seed)
    ids = split.image_ids, split.caption_ids
    changed: SavedScores
    if isinstance(model, SavedLists):
        lists = {}
        for way, part in model.lists.items():
            lists[way] = part._replace(values=_add_score_noise(part.values, amount, generator_of_scores))
        changed = SavedLists(lists, ids)
    else:
        rows = by_rows(scores)
        i2t = _add_score_noise(rows.rows(), amount, generator_of_scores)
        values: Any = i2t
        if not isinstance(scores, np.ndarray):
            t2i = _add_score_noise(rows.T.rows(), amount, generator_of_scores)
            values = RowScores(lambda row, item: i2t[row][:, item], i2t.shape, other=by_rows(t2i))
        changed = SavedScores(values, ids)
        changed.directed = model.directed
    return changed, *changed.embed(changed.source(split))


def measure_lists(contents: Contents, split: Split) -> dict[str, Any]:
    """Measure what lists determine, as fields of a result; nothing of another model, which is measured when
    it is compared.

    Args:
        contents: a model and its embeddings of a split.
        split: that was embedded.
    """
    model, image, text = contents
    if not isinstance(model, SavedLists):
        return {}
    scores = by_rows(model.scores_of_split(image, text))
    measured = evaluate_split(scores, split, strict=False)
    measurements, values, _ = known_numbers(model, scores, split, measured, (), "")
    return {"measurements": measurements, "values": values}


def _add_vector_noise(side: Embedding, amount: float, generator: torch.Generator) -> Embedding:
    """Vectors with others of some length added."""
    noise: Tensor = normalize(torch.randn(side.mean.shape, generator=generator), dim=1)
    return replace(side, mean=normalize(side.mean + amount * noise, dim=1))


def _add_score_noise(scores: Array, amount: float, generator: np.random.Generator) -> Array:
    """Scores with normal numbers added, as wide as some share of their standard deviation."""
    noise = generator.standard_normal(scores.shape, np.float32)
    shifted: Array = scores + np.float32(amount * scores.std()) * noise
    return shifted
