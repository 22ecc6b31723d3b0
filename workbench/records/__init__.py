"""The records that every registry speaks: what a data set, a signal, a batch and an embedding are.

Conventions, kept everywhere. ``scores[i, t]``: images are rows, captions are columns, larger = more alike.
Sizes are ``I`` images, ``T`` captions, ``D`` dimensions, ``K`` regions, ``L`` words. ``own[t]`` is the row of
the image that caption ``t`` belongs to. Records check their own shapes when they are made, so that a
misaligned array fails where it enters and not three files later.
"""

from typing import TYPE_CHECKING

from workbench.registry import lazy_getattr, require

if TYPE_CHECKING:
    from workbench.records._arrays import Array, Mask, Rows, Values
    from workbench.records.batch import Batch, Embedding, Signal
    from workbench.records.fields import Field
    from workbench.records.judgements import Computed, Graded, Judgements, LazyJudgements, Truth
    from workbench.records.measurement import Measurement
    from workbench.records.metric_key import MetricKey, densest_judgements
    from workbench.records.scene_graph import SceneGraph
    from workbench.records.split import NoImageError, Split

__all__ = [
    "Array",
    "Batch",
    "Computed",
    "Embedding",
    "Field",
    "Graded",
    "Judgements",
    "LazyJudgements",
    "Mask",
    "Measurement",
    "MetricKey",
    "NoImageError",
    "Rows",
    "SceneGraph",
    "Signal",
    "Split",
    "Truth",
    "Values",
    "densest_judgements",
    "require",
]

MODULES = {
    "Array": "_arrays",
    "Mask": "_arrays",
    "Rows": "_arrays",
    "Values": "_arrays",
    "Batch": "batch",
    "Embedding": "batch",
    "Signal": "batch",
    "Field": "fields",
    "Computed": "judgements",
    "Graded": "judgements",
    "Judgements": "judgements",
    "LazyJudgements": "judgements",
    "Truth": "judgements",
    "Measurement": "measurement",
    "MetricKey": "metric_key",
    "densest_judgements": "metric_key",
    "SceneGraph": "scene_graph",
    "NoImageError": "split",
    "Split": "split",
}
# each name is imported when it is first asked for: numpy is slow to import
__getattr__ = lazy_getattr(__name__, MODULES)
