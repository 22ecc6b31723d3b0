"""The live map: a widget for JupyterLab, drawn by ``map.js`` in the browser and asking nothing of any other
place.

It needs a running kernel for thumbnails and for what ``selection()`` gives. In a batch run
``workbench.views.plots.embedding_map`` draws the same points in the same colours and shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import pandas as pd
import traitlets

from workbench.experiment import runs
from workbench.views.maps import sending
from workbench.views.maps.space_map import SpaceMap
from workbench.views.plots.theme import data_uri

HERE = Path(__file__).parent
SIDE = 150


class EmbeddingMap(anywidget.AnyWidget):
    """Maps of one or several runs over the same items, side by side; what is selected on one is selected on
    all.

    Args:
        maps: what ``map_spaces`` gives.
        colour: column of the items that is the first colour.

    Raises:
        ValueError: no map, maps of different items, or an unknown column.

    Attributes:
        selected_rows: rows of the items that are selected, images first and then captions, in the order of
        selection.
        selected_ids: their ids.
        selected_idx: rows of their images, each once; the same as in the explorer, and may be linked with it.
            All three may be observed and set.
    """

    _esm = HERE / "map.js"
    _css = HERE / "map.css"
    config = traitlets.Dict().tag(sync=True)
    selected_rows = traitlets.List(traitlets.Int()).tag(sync=True)
    selected_ids = traitlets.List(traitlets.Unicode())
    selected_idx = traitlets.List(traitlets.Int())

    def __init__(self, maps: SpaceMap | Sequence[SpaceMap], *, colour: str = "kind") -> None:
        self.maps = [maps] if isinstance(maps, SpaceMap) else list(maps)
        config = sending.config(self.maps, colour)
        self._ids, self._image = (self.maps[0].items[name].tolist() for name in ("id", "image"))
        self._rows_of: dict[str, list[int]] = {}
        for row, one in enumerate(self._ids):
            self._rows_of.setdefault(one, []).append(row)
        self._links: list[traitlets.link] = []
        super().__init__()
        self.config = config
        self.on_msg(self._on_message)

    def selection(self) -> pd.DataFrame:
        """The selected items in the order of selection: what is known of them, with their places ``x`` and
        ``y`` on each map.

        Columns that differ between runs carry the run's name: ``hubness of ditm``.
        """
        return sending.rows(self.maps, self.selected_rows)

    def select(self, ids: Sequence[str]) -> None:
        """Select items by their ids; those that are not on the map are left out."""
        self.selected_rows = [row for one in dict.fromkeys(ids) for row in self._rows_of.get(one, ())]

    def link(self, other: traitlets.HasTraits) -> None:
        """Keep the selection the same here and in another map or explorer over the same split.

        Another map is linked by its ids; an explorer by the rows of images, where a caption stands for its
        image.

        Raises:
            ValueError: the other has neither ``selected_ids`` nor ``selected_idx``.
        """
        name = next((name for name in ("selected_ids", "selected_idx") if other.has_trait(name)), None)
        if name is None:
            raise ValueError(f"{type(other).__name__} has neither selected_ids nor selected_idx to link with")
        self._links.append(traitlets.link((self, name), (other, name)))

    def export(self, path: Path | str) -> Path:
        """Write the selected items, or all where none is selected; the file appears whole or not at all.

        Args:
            path: ends with ``.csv``, ``.json`` or ``.parquet``.

        Raises:
            ValueError: another ending.
        """
        return runs.write_table(path, sending.rows(self.maps, self.selected_rows or range(len(self._ids))))

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
            images = len(self.maps[0].space.split.image_ids)
            self.selected_rows = [row for row in change["new"] if 0 <= row < images]

    def _on_message(self, _: Any, message: dict[str, Any], __: list[memoryview]) -> None:
        """Send the thumbnail that the browser asks for."""
        split, image = self.maps[0].space.split, int(message["image"])
        if message["kind"] == "thumbnail" and 0 <= image < len(split.image_ids):
            self.send({"kind": "thumbnail", "image": image, "src": data_uri(split.open_image(image), SIDE)})
