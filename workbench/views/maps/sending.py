"""What the browser gets of maps, numbers as binary arrays, and what comes back as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.registry import did_you_mean
from workbench.views.maps.alignment import most_moved
from workbench.views.maps.space_map import SpaceMap
from workbench.views.plots.embedding_map import Marks, common_ends, common_looks
from workbench.views.plots.theme import INK, LEVELS

COLOURS = ("kind", "level", "descriptiveness", "cluster", "hubness", "gap", "moved")
SHARED = ("id", "kind", "text", "image", "level", "descriptiveness", "cluster")
FARTHEST = 20


def config(maps: Sequence[SpaceMap], first: str) -> dict[str, Any]:
    """Places, neighbours, colours and captions of several maps.

    Args:
        maps: of the same items.
        first: the colour that is chosen at the start.

    Raises:
        ValueError: no map, maps of different items, or an unknown colour.
    """
    if not maps:
        raise ValueError("there is no map to show")
    for one in maps[1:]:
        if one.items["id"].tolist() != maps[0].items["id"].tolist():
            raise ValueError(
                f"{maps[0].name} and {one.name} map different items; map runs of one split together"
            )
    items = maps[0].items
    known = [name for name in COLOURS if name in items and items[name].notna().any()]
    if first not in known:
        raise ValueError(f"no colour {first!r}; {did_you_mean(first, known)}")
    images = int((items["kind"] == "image").sum())
    sent = {
        "size": len(items),
        "images": images,
        "own": items["image"].to_numpy(dtype=np.int32).tobytes(),
        "captions": items["text"].tolist()[images:],
        "k": min(one.neighbours.shape[1] for one in maps),
        "colours": [_colour(maps, name) for name in sorted(known, key=lambda name: name != first)],
        "ramp": list(LEVELS),
        "unknown": INK,
        "pictures": True,
    }
    if "moved" in items:
        sent["moved"] = most_moved(items["moved"].to_numpy(), FARTHEST).astype(np.int32).tobytes()
    return {**sent, "maps": [_map(one, sent["k"]) for one in maps]}


def rows(maps: Sequence[SpaceMap], chosen: Iterable[int]) -> pd.DataFrame:
    """Some rows of the items as a table.

    Args:
        maps: of the same items.
        chosen: rows.

    Returns:
        One line a row: what all maps share, and of each map the other columns and the places ``x`` and ``y``,
        named by the run where there are several.
    """
    listed = list(chosen)
    parts = [maps[0].items[list(SHARED)].iloc[listed]]
    for one in maps:
        own = one.items.drop(columns=list(SHARED)).assign(x=one.points[:, 0], y=one.points[:, 1]).iloc[listed]
        parts.append(own.add_suffix(f" of {one.name}") if len(maps) > 1 else own)
    return pd.concat(parts, axis=1).rename_axis("row").reset_index()


def _map(one: SpaceMap, k: int) -> dict[str, Any]:
    kept, cut = one.quality.overlap, one.quality.k
    about = f"trustworthiness {one.quality.trustworthiness:.3f}, keeps {kept:.0%} of the {cut} nearest, gap {one.gap.distance:.2f}"
    near = np.ascontiguousarray(one.neighbours[:, :k], dtype=np.int32)
    return {
        "name": one.name,
        "about": about,
        "points": one.points.astype(np.float32).tobytes(),
        "near": near.tobytes(),
    }


def _colour(maps: Sequence[SpaceMap], name: str) -> dict[str, Any]:
    marks = [Marks(one.items["kind"].tolist(), (), one.items[name].tolist(), name) for one in maps]
    if marks[0].numeric:
        values = [np.asarray(one.values, dtype=np.float32).tobytes() for one in marks]
        return {"name": name, "ends": list(common_ends(marks)), "data": values}
    looks = dict(common_looks(marks))
    unknown = {
        kind for one in marks for kind, value in zip(one.kind, one.values, strict=True) if value != value
    }
    if unknown:
        looks[""] = (INK, "circle")
    code = {category: number for number, category in enumerate(looks)}
    data = [
        np.array([code[category] for category in one.categories()], dtype=np.uint8).tobytes() for one in marks
    ]
    labels = [
        f"{name} {one}" if one.isdigit() else one or ("image" if unknown == {"image"} else "unknown")
        for one in looks
    ]
    return {"name": name, "labels": labels, "looks": [list(look) for look in looks.values()], "data": data}
