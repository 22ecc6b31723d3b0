"""Distances within and between modalities, after DIAS's Fig. 4."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from workbench.formatting import format_count
from workbench.records import Array, Values
from workbench.runs.result import Result
from workbench.views.plots.descriptiveness import distributions

# images that are measured
MOST = 1000


def distances(run: Result, *, most: int = MOST) -> dict[str, Values]:
    """Measure distances within and between images and captions, of images with their first caption.

    Args:
        run: an open run.
        most: the first N images.

    Returns:
        Kind of pair -> Euclidean distances of unit vectors, in [0, 2]; each pair once.
    """
    first = np.unique(run.split.own, return_index=True)[1][:most]
    image, text = run.image.mean.numpy()[: len(first)], run.text.mean.numpy()[first]
    within, one_way = np.triu_indices(len(first), 1), ~np.eye(len(first), dtype=bool)
    between = _euclidean(image, text)
    return {
        "an image and its caption": between.diagonal(),
        "an image and another's caption": between[one_way],
        "two images": _euclidean(image, image)[within],
        "two captions": _euclidean(text, text)[within],
    }


def _euclidean(rows: Array, others: Array) -> Array:
    """Return the distances of unit vectors, from their cosines."""
    return np.sqrt(np.maximum(2 - 2 * (rows.astype(np.float64) @ others.T), 0))


def histograms(by_run: Mapping[str, Mapping[str, Array]], *, images: int) -> go.Figure:
    """Draw one panel a run: how far apart images and captions are.

    Args:
        by_run: run -> kind of pair -> distances, from ``distances``.
        images: number of images.
    """
    return distributions(
        by_run,
        items="pairs",
        x="Euclidean distance of unit vectors",
        bins=np.linspace(0, 2, 81),
        title=f"Distances within and between modalities, {format_count(images, 'image')} with a caption each",
    )
