"""Maps of a space: where images and captions lie, how far the picture can be trusted, and what moves between
two runs.
"""

from workbench.views.maps.coordinates import Settings, most_moved, procrustes
from workbench.views.maps.space_map import SpaceMap, change, exemplars, map_runs, metrics
from workbench.views.maps.widget import EmbeddingMap

__all__ = [
    "EmbeddingMap",
    "Settings",
    "SpaceMap",
    "change",
    "exemplars",
    "map_runs",
    "metrics",
    "most_moved",
    "procrustes",
]
