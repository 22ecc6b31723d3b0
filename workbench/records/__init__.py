"""The records that every shelf speaks: what a data set, a signal, a batch and an embedding are.

Conventions, kept everywhere. ``scores[i, t]``: images are rows, captions are columns, larger = more alike.
Sizes are ``I`` images, ``T`` captions, ``D`` dimensions, ``K`` regions, ``L`` words. ``own[t]`` is the row of
the image that caption ``t`` belongs to. Records check their own shapes when they are made, so that a
misaligned array fails where it enters and not three files later.
"""

from workbench.records._checks import Array, Mask, Rows, Values, require
from workbench.records.batch import Batch, Embedding, Signal
from workbench.records.judgements import Computed, Graded, Judgements, LazyJudgements, Truth, densest
from workbench.records.measurement import Measurement
from workbench.records.metric_key import MetricKey
from workbench.records.scene_graph import SceneGraph
from workbench.records.split import NoPictureError, Split

__all__ = [
    "Array",
    "Batch",
    "Computed",
    "Embedding",
    "Graded",
    "Judgements",
    "LazyJudgements",
    "Mask",
    "Measurement",
    "MetricKey",
    "NoPictureError",
    "Rows",
    "SceneGraph",
    "Signal",
    "Split",
    "Truth",
    "Values",
    "densest",
    "require",
]
