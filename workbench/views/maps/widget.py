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
from workbench.views.maps.coordinates import most_moved_rows
from workbench.views.maps.space_map import SpaceMap
from workbench.views.pages import data_uri, join_scripts
from workbench.views.photographs import image_or_card
from workbench.views.plots.embedding_map import Marks, category_styles, scale_ends
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
        question: the sentence that was asked last, and the rows nearest to it on each map.
    """

    _esm = join_scripts(HERE, SCRIPTS)
    _css = HERE / "map.css"
    config = traitlets.Dict().tag(sync=True)
    selected_rows = traitlets.List(traitlets.Int()).tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    selected_ids = traitlets.List(traitlets.Unicode())
    selected_idx = traitlets.List(traitlets.Int())

    def __init__(self, maps: SpaceMap | Sequence[SpaceMap], *, colour: str = "kind") -> None:
        self.maps = [maps] if isinstance(maps, SpaceMap) else list(maps)
        super().__init__(config=config(self.maps, colour))
        self._ids = self.maps[0].items["id"].tolist()
        self._image = self.maps[0].items["image"].tolist()
        self._rows_of = self.maps[0].items.groupby("id").indices
        self.on_msg(self._on_message)

    def selection(self) -> pd.DataFrame:
        """Return the selected items in the order of selection: what is known of them, with their places ``x``
        and ``y`` on each map.

        Columns that differ between runs carry the run's name: ``hubness of ditm``.
        """
        return table_of_rows(self.maps, self.selected_rows)

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
        embedded = [space.run.model.embed_texts([text]) for space in self.maps]
        orders = []
        for space, query in zip(self.maps, embedded, strict=True):
            cosines = space.vectors @ query.mean[0].numpy()
            orders.append(np.argsort(-cosines, kind="stable"))
        self.question = {"text": text, "near": [rows[:AMID].tolist() for rows in orders]}
        if select:
            run = self.maps[0].run
            scores = run.model.scores(run.image, embedded[0])[:, 0]
            images = np.argsort(-scores, kind="stable")[:FOUND]
            captions = orders[0][orders[0] >= len(scores)][:FOUND]
            self.selected_rows = np.concatenate([images, captions]).tolist()

    def select(self, ids: Sequence[str]) -> None:
        """Select items by their ids; those that are not on the map are left out."""
        rows: list[int] = []
        for name in dict.fromkeys(ids):
            rows += map(int, self._rows_of.get(name, ()))
        self.selected_rows = rows

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
        return write_table(path, table_of_rows(self.maps, self.selected_rows or range(len(self._ids))))

    @traitlets.observe("selected_rows")
    def _rows_changed(self, change: dict[str, Any]) -> None:
        """Let ids and images follow the rows; where an id names both kinds, only what was selected is."""
        self.selected_ids = [self._ids[row] for row in change["new"]]
        self.selected_idx = list(dict.fromkeys(self._image[row] for row in change["new"]))

    @traitlets.observe("selected_ids")
    def _ids_changed(self, change: dict[str, Any]) -> None:
        known = [name for name in change["new"] if name in self._rows_of]
        if known != [self._ids[row] for row in self.selected_rows]:
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
        split = self.maps[0].run.split
        image = int(message["image"])
        if message["kind"] == "thumbnail" and 0 <= image < len(split.image_ids):
            self.send(
                {"kind": "thumbnail", "image": image, "src": data_uri(image_or_card(split, image), SIDE)}
            )


def config(maps: Sequence[SpaceMap], first: str) -> dict[str, Any]:
    """Return places, neighbours, colours and captions of several maps.

    Args:
        maps: of the same items.
        first: the colour that is chosen at the start.

    Raises:
        ValueError: no map, maps of different items, or an unknown colour.
    """
    require(maps, "there is no map to show; give at least one")
    items = maps[0].items
    for other in maps:
        require(
            other.items["id"].tolist() == items["id"].tolist(),
            f"{maps[0].name} and {other.name} map different items; map runs of one split together",
        )
    known = [name for name in COLOURS if name in items and items[name].notna().any()]
    require_known("no colour", first, known, ValueError)
    images = int((items["kind"] == "image").sum())
    k = min(space.neighbours.shape[1] for space in maps)
    names = sorted(known, key=lambda name: name != first)
    own = items["image"].to_numpy(dtype=np.int32)
    captions = items["text"].tolist()[images:]
    values = {
        "size": len(items),
        "images": images,
        "own": own.tobytes(),
        "captions": captions,
        "k": k,
        "colours": [_colour_values(maps, name) for name in names],
        "ramp": list(LEVELS),
        "unknown": INK,
        "maps": [_map_values(space, k) for space in maps],
    }
    if "moved" in items:
        values["moved"] = most_moved_rows(items["moved"].to_numpy(), FARTHEST).astype(np.int32).tobytes()
    return values


def table_of_rows(maps: Sequence[SpaceMap], chosen: Iterable[int]) -> pd.DataFrame:
    """Return some rows of the items as a table: what all maps share, and of each map the other columns and
    the places ``x`` and ``y``, named by the run where there are several.
    """
    parts = [maps[0].items[list(SHARED)]]
    for space in maps:
        own = space.items.drop(columns=list(SHARED))
        own = own.assign(x=space.points[:, 0], y=space.points[:, 1])
        parts.append(own.add_suffix(f" of {space.name}") if len(maps) > 1 else own)
    return pd.concat(parts, axis=1).iloc[list(chosen)].rename_axis("row").reset_index()


def _map_values(space: SpaceMap, k: int) -> dict[str, Any]:
    trust = format_number(space.quality["trustworthiness"], 3)
    overlap = format_value(space.quality["overlap"])
    gap = format_number(space.gap.distance, 2)
    near = np.ascontiguousarray(space.neighbours[:, :k], dtype=np.int32)
    count = space.neighbours.shape[1]
    return {
        "name": space.name,
        "about": f"trustworthiness {trust}, keeps {overlap} % of the {count} nearest neighbours, "
        f"modality gap {gap}",
        "points": space.points.astype(np.float32).tobytes(),
        "near": near.tobytes(),
    }


def _colour_values(maps: Sequence[SpaceMap], name: str) -> dict[str, Any]:
    marks = [Marks(space.items["kind"].tolist(), (), space.items[name].tolist(), name) for space in maps]
    if marks[0].is_numeric:
        values = [np.asarray(of_map.values, dtype=np.float32).tobytes() for of_map in marks]
        return {"name": name, "ends": list(scale_ends(marks)), "data": values}
    unknown: set[str] = set()
    for of_map in marks:
        kinds = zip(of_map.kind, of_map.values, strict=True)
        unknown |= {kind for kind, value in kinds if pd.isna(value)}
    looks = dict(category_styles(marks))
    if unknown:
        looks[""] = (INK, "circle")
    number = {category: place for place, category in enumerate(looks)}
    data = []
    for of_map in marks:
        numbers = [number[category] for category in of_map.categories()]
        data.append(np.array(numbers, dtype=np.uint8).tobytes())
    nothing = "image" if unknown == {"image"} else "unknown"
    return {
        "name": name,
        "labels": [_category_label(name, category) or nothing for category in looks],
        "looks": [list(look) for look in looks.values()],
        "data": data,
    }


def _category_label(colour: str, category: str) -> str:
    """Return a category as the legend has it: a bare number with the name of the colour before it."""
    return f"{colour} {category}" if category.isdigit() else category
