"""Maps of a space: where images and captions lie, how far a map can be trusted, and what moves between
two runs.
"""

from workbench.views.maps.coordinates import Settings, most_moved_rows, procrustes
from workbench.views.maps.space_map import SpaceMap, exemplars, map_runs, metrics, space_change
from workbench.views.maps.widget import EmbeddingMap

__all__ = [
    "EmbeddingMap",
    "Settings",
    "SpaceMap",
    "exemplars",
    "map_runs",
    "metrics",
    "most_moved_rows",
    "procrustes",
    "space_change",
]
