"""The live map: a widget for JupyterLab, drawn by ``map.js`` in the browser and asking nothing of any other
place.

It needs a running kernel for thumbnails and for what ``selection()`` gives. In a batch run
``workbench.views.plots.embedding_map`` draws the same points in the same colours and shapes.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pandas as pd
import traitlets

from workbench.formatting import format_number, format_value
from workbench.io import write_table
from workbench.records import require
from workbench.registry import require_known
from workbench.views.maps.coordinates import most_moved
from workbench.views.maps.space_map import SpaceMap
from workbench.views.pages import data_uri, module
from workbench.views.photographs import picture
from workbench.views.plots.embedding_map import Marks, common_ends, common_looks
from workbench.views.plots.theme import INK, LEVELS

HERE = Path(__file__).parent
# one module for the browser, in this order
SCRIPTS = ("shapes.js", "colours.js", "panel.js", "map.js")
SIDE = 150
# a question lies amid so many of its nearest; so many images and as many captions are selected as found
AMID, FOUND = 5, 12
COLOURS = ("kind", "level", "descriptiveness", "cluster", "hubness", "gap", "moved")
SHARED = ("id", "kind", "text", "image", "level", "descriptiveness", "cluster")
FARTHEST = 20


class EmbeddingMap(anywidget.AnyWidget):
    """Maps of one or several runs over the same items, side by side; what is selected on one is selected on
    all.

    Args:
        maps: what ``map_runs`` gives.
        colour: column of the items that is the first colour.

    Raises:
        ValueError: no map, maps of different items, or an unknown column.

    Attributes:
        selected_rows: rows of the items that are selected, images first and then captions, in the order of
        selection.
        selected_ids: their ids.
        selected_idx: rows of their images, each once; the same as in the explorer, and may be linked with it.
            All three may be observed and set.
        asked: the sentence that was asked last, and the rows nearest to it on each map.
    """

    _esm = module(HERE, SCRIPTS)
    _css = HERE / "map.css"
    config = traitlets.Dict().tag(sync=True)
    selected_rows = traitlets.List(traitlets.Int()).tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    selected_ids = traitlets.List(traitlets.Unicode())
    selected_idx = traitlets.List(traitlets.Int())

    def __init__(self, maps: SpaceMap | Sequence[SpaceMap], *, colour: str = "kind") -> None:
        self.maps = [maps] if isinstance(maps, SpaceMap) else list(maps)
        super().__init__(config=config(self.maps, colour))
        self._ids, self._image = (self.maps[0].items[name].tolist() for name in ("id", "image"))
        self._rows_of = self.maps[0].items.groupby("id").indices
        self.on_msg(self._on_message)

    def selection(self) -> pd.DataFrame:
        """The selected items in the order of selection: what is known of them, with their places ``x`` and
        ``y`` on each map.

        Columns that differ between runs carry the run's name: ``hubness of ditm``.
        """
        return rows(self.maps, self.selected_rows)

    def ask(self, text: str, *, select: bool = True) -> None:
        """Mark where a sentence lies, and select the images and captions that the first run finds for it.

        Its place is the mean place of the five items, images or captions, that are nearest to it in the full
        space.

        Args:
            text: the sentence.
            select: also select the first twelve images by score, and the first twelve captions by cosine.

        Raises:
            ValueError: there are no words.
        """
        require(text.strip(), "the question is empty; give words")
        embedded = [one.run.model.embed_texts([text]) for one in self.maps]
        order = [
            np.argsort(-(one.vectors @ asked.mean[0].numpy()), kind="stable")
            for one, asked in zip(self.maps, embedded, strict=True)
        ]
        self.asked = {"text": text, "near": [rows[:AMID].tolist() for rows in order]}
        if select:
            run = self.maps[0].run
            scores = run.model.scores(run.image, embedded[0])[:, 0]
            captions = order[0][order[0] >= len(scores)]
            found = [np.argsort(-scores, kind="stable")[:FOUND], captions[:FOUND]]
            self.selected_rows = np.concatenate(found).tolist()

    def select(self, ids: Sequence[str]) -> None:
        """Select items by their ids; those that are not on the map are left out."""
        self.selected_rows = [
            row for one in dict.fromkeys(ids) for row in map(int, self._rows_of.get(one, ()))
        ]

    def link(self, other: traitlets.HasTraits) -> None:
        """Keep the selection the same here and in another map or explorer over the same split.

        Another map is linked by its ids; an explorer by the rows of images, where a caption stands for its
        image.

        Raises:
            ValueError: the other has neither ``selected_ids`` nor ``selected_idx``.
        """
        for name in ("selected_ids", "selected_idx"):
            if other.has_trait(name):
                traitlets.link((self, name), (other, name))
                return
        raise ValueError(f"{type(other).__name__} has neither selected_ids nor selected_idx to link with")

    def export(self, path: Path | str) -> Path:
        """Write the selected items, or all where none is selected; the file appears whole or not at all.

        Args:
            path: ends with ``.csv``, ``.json`` or ``.parquet``.

        Raises:
            ValueError: another ending.
        """
        return write_table(path, rows(self.maps, self.selected_rows or range(len(self._ids))))

    @traitlets.observe("selected_rows")
    def _rows_changed(self, change: dict[str, Any]) -> None:
        """Ids and images follow; where an id names both an image and a caption, only what was selected is."""
        self.selected_ids = [self._ids[row] for row in change["new"]]
        self.selected_idx = list(dict.fromkeys(self._image[row] for row in change["new"]))

    @traitlets.observe("selected_ids")
    def _ids_changed(self, change: dict[str, Any]) -> None:
        if [one for one in change["new"] if one in self._rows_of] != [
            self._ids[row] for row in self.selected_rows
        ]:
            self.select(change["new"])

    @traitlets.observe("selected_idx")
    def _images_changed(self, change: dict[str, Any]) -> None:
        if set(change["new"]) != {self._image[row] for row in self.selected_rows}:
            images = len(self.maps[0].run.split.image_ids)
            self.selected_rows = [row for row in change["new"] if 0 <= row < images]

    def _on_message(self, _: Any, message: dict[str, Any], __: list[memoryview]) -> None:
        """Send the thumbnail that the browser asks for, or ask its sentence."""
        if message["kind"] == "search":
            try:
                self.ask(str(message["text"]))
            except (ValueError, RuntimeError) as error:
                self.send({"kind": "said", "text": str(error)})
            return
        split, image = self.maps[0].run.split, int(message["image"])
        if message["kind"] == "thumbnail" and 0 <= image < len(split.image_ids):
            self.send({"kind": "thumbnail", "image": image, "src": data_uri(picture(split, image), SIDE)})


def config(maps: Sequence[SpaceMap], first: str) -> dict[str, Any]:
    """Places, neighbours, colours and captions of several maps.

    Args:
        maps: of the same items.
        first: the colour that is chosen at the start.

    Raises:
        ValueError: no map, maps of different items, or an unknown colour.
    """
    require(maps, "there is no map to show; give at least one")
    items = maps[0].items
    if strange := [one.name for one in maps if one.items["id"].tolist() != items["id"].tolist()]:
        raise ValueError(
            f"{maps[0].name} and {strange[0]} map different items; map runs of one split together"
        )
    known = [name for name in COLOURS if name in items and items[name].notna().any()]
    require_known("no colour", first, known, ValueError)
    images = int((items["kind"] == "image").sum())
    k = min(one.neighbours.shape[1] for one in maps)
    sent = {
        "size": len(items),
        "images": images,
        "own": items["image"].to_numpy(dtype=np.int32).tobytes(),
        "captions": items["text"].tolist()[images:],
        "k": k,
        "colours": [_colour(maps, name) for name in sorted(known, key=lambda name: name != first)],
        "ramp": list(LEVELS),
        "unknown": INK,
        "maps": [_map(one, k) for one in maps],
    }
    if "moved" in items:
        sent["moved"] = most_moved(items["moved"].to_numpy(), FARTHEST).astype(np.int32).tobytes()
    return sent


def rows(maps: Sequence[SpaceMap], chosen: Iterable[int]) -> pd.DataFrame:
    """Some rows of the items as a table: what all maps share, and of each map the other columns and the
    places ``x`` and ``y``, named by the run where there are several.
    """
    parts = [maps[0].items[list(SHARED)]]
    for one in maps:
        own = one.items.drop(columns=list(SHARED)).assign(x=one.points[:, 0], y=one.points[:, 1])
        parts.append(own.add_suffix(f" of {one.name}") if len(maps) > 1 else own)
    return pd.concat(parts, axis=1).iloc[list(chosen)].rename_axis("row").reset_index()


def _map(one: SpaceMap, k: int) -> dict[str, Any]:
    return {
        "name": one.name,
        "about": f"trustworthiness {format_number(one.quality['trustworthiness'], 3)}, "
        f"keeps {format_value(one.quality['overlap'])} % "
        f"of the {one.neighbours.shape[1]} nearest neighbours, "
        f"modality gap {format_number(one.gap.distance, 2)}",
        "points": one.points.astype(np.float32).tobytes(),
        "near": np.ascontiguousarray(one.neighbours[:, :k], dtype=np.int32).tobytes(),
    }


def _colour(maps: Sequence[SpaceMap], name: str) -> dict[str, Any]:
    marks = [Marks(one.items["kind"].tolist(), (), one.items[name].tolist(), name) for one in maps]
    if marks[0].numeric:
        values = [np.asarray(one.values, dtype=np.float32).tobytes() for one in marks]
        return {"name": name, "ends": list(common_ends(marks)), "data": values}
    unknown = {
        kind for one in marks for kind, value in zip(one.kind, one.values, strict=True) if value != value
    }
    looks = dict(common_looks(marks)) | ({"": (INK, "circle")} if unknown else {})
    return {
        "name": name,
        "labels": [
            f"{name} {one}" if one.isdigit() else one or ("image" if unknown == {"image"} else "unknown")
            for one in looks
        ],
        "looks": [list(look) for look in looks.values()],
        "data": [
            np.array([list(looks).index(one) for one in of.categories()], dtype=np.uint8).tobytes()
            for of in marks
        ],
    }
