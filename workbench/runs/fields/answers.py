"""What a model's answers tell: hubs, ranks, clusters of its space, and the tokens that it reads."""

from collections.abc import Callable, Iterable

import numpy as np

from workbench.records import Values
from workbench.runs.fields.base import FieldExtractor, Material
from workbench.training.batches import Source

CLUSTERS = 8
SEED = 0


def _hubness_counter(direction: str) -> Callable[[Material], Iterable[float]]:
    """Return what counts in how many lists of the ten best each item stands."""

    def count(material: Material) -> Iterable[float]:
        split = material.split
        items = len(split.captions) if direction == "i2t" else len(split.image_ids)
        counts: Iterable[float] = np.bincount(material.best_items(direction).ravel(), minlength=items)
        return counts

    return count


def _rank_reader(direction: str) -> Callable[[Material], Values]:
    """Return what gives the rank of each query's best relevant item, 1 = first."""
    return lambda material: np.asarray(material.run.ranks(direction))


def _cluster_namer(side: str) -> Callable[[Material], list[str]]:
    """Return what names the cluster of each vector, by k-means."""

    def name(material: Material) -> list[str]:
        from sklearn.cluster import KMeans

        vectors = getattr(material.run, side).mean.numpy()
        count = min(CLUSTERS, len(vectors))
        numbers = KMeans(count, random_state=SEED, n_init=1).fit_predict(vectors.astype(np.float64))
        return [f"cluster {number + 1}" for number in numbers]

    return name


def count_tokens(material: Material) -> Values:
    """Return ``(T,)`` tokens of each caption that the model reads."""
    return material.tokens


def is_cut(material: Material) -> Iterable[float]:
    """Return ``(T,)`` whether a caption is longer than the model reads."""
    model, split = material.run.model, material.split
    source: Source = model.source(split)
    cut, longest = model.count_truncated(source)
    out = np.zeros(len(split.captions))
    if not cut:
        return out
    maker = model.makers[model.reads[0]]
    for row in np.flatnonzero(material.tokens >= longest - 1).tolist():
        caption = [split.captions[row]]
        out[row] = maker.count_truncated(caption, maker.transform(caption))
    return out


MEMBER = (
    FieldExtractor(
        "image_hubness",
        "captions that have it among their ten best",
        "image",
        "number",
        _hubness_counter("t2i"),
        "model",
    ),
    FieldExtractor(
        "caption_hubness",
        "images that have it among their ten best",
        "caption",
        "number",
        _hubness_counter("i2t"),
        "model",
    ),
    FieldExtractor("i2t_rank", "rank of its best caption", "image", "number", _rank_reader("i2t"), "model"),
    FieldExtractor("t2i_rank", "rank of its best image", "caption", "number", _rank_reader("t2i"), "model"),
    FieldExtractor(
        "image_cluster",
        "one of eight clusters of images",
        "image",
        "category",
        _cluster_namer("image"),
        "model",
    ),
    FieldExtractor(
        "caption_cluster",
        "one of eight clusters of captions",
        "caption",
        "category",
        _cluster_namer("text"),
        "model",
    ),
    FieldExtractor("tokens", "tokens that the model reads", "caption", "number", count_tokens, "tokens"),
    FieldExtractor("cut", "whether it is longer than the model reads", "caption", "flag", is_cut, "tokens"),
)
