"""What a computed field is, and what it is computed of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench import text
from workbench.progress import each
from workbench.records import Array, Field, Rows, SceneGraph, Split, Values
from workbench.records.fields import Kind, Owner

COMPUTED = "computed"
PARSER = "scene_graph"
# a list of so many items is what a hub stands in; images are looked at in this size
DEPTH = 10
LOOK = (9, 8)
# what fields are computed of, in words
NEEDS = {
    "captions": "captions",
    "images": "the content of images",
    "level": "a column level",
    "graphs": "scene graphs of captions, or their parser",
    "model": "the answers of a model",
    "tokens": "the tokens of a model",
}


@dataclass
class Material:
    """A split, and a model that has embedded it; what several fields read is made once.

    Args:
        split: whose images and captions.
        run: an open ``Result`` on the split; ``None`` = no model is at hand.
    """

    split: Split
    run: Any = None

    @cached_property
    def graphs(self) -> tuple[SceneGraph, ...]:
        """``(T,)`` scene graphs of the captions: those of the data, else those of the parser."""
        if self.split.caption_graphs is not None:
            return self.split.caption_graphs
        maker = text.load(PARSER)
        signal = maker.fit(self.split.captions).transform(self.split.captions)
        return tuple(signal.graphs)

    @cached_property
    def image_statistics(self) -> tuple[Values, Array]:
        """``(I,)`` width divided by height, and ``(I, 8, 9)`` brightness of each image, 0 to 1."""
        aspects = np.full(len(self.split.image_ids), np.nan)
        grey = np.full((len(aspects), *LOOK[::-1]), np.nan)
        for row in each(range(len(aspects)), "looking at images", "images"):
            image = self.split.open_image(row)
            aspects[row] = image.width / image.height
            grey[row] = np.asarray(image.convert("L").resize(LOOK), dtype=np.float64) / 255
        return aspects, grey

    @cached_property
    def tokens(self) -> Values:
        """``(T,)`` how many tokens of each caption the model reads, start and end included."""
        return np.array(
            [len(tokens) for tokens in self.run.model.token_texts(self.split.captions)], dtype=float
        )

    def best_items(self, direction: str) -> Rows:
        """Return ``(queries, 10)`` rows of the best items of each query."""
        return np.asarray(self.run.best_items(DEPTH)[direction][1][:, :DEPTH])


@dataclass(frozen=True)
class FieldExtractor:
    """A field that is computed when it is asked for.

    Args:
        name: as it is typed.
        about: what a value is, one sentence.
        owner: what has a value.
        kind: what the values are.
        make: gives a value each, as ``Field.from_cells`` reads them.
        needs: a key of ``NEEDS``: the field is there where the material has it.
    """

    name: str
    about: str
    owner: Owner
    kind: Kind
    make: Callable[[Material], Iterable[Any]]
    needs: str = "captions"

    def applies(self, material: Material) -> bool:
        """Return whether the material has what the field is computed of."""
        return CHECKS[self.needs](material)

    def compute(self, material: Material) -> Field:
        """Return the field of a split."""
        values = np.asarray(list(self.make(material)), dtype=np.float64 if self._is_numeric else object)
        return Field(self.name, values, self.owner, self.kind, COMPUTED)

    @property
    def _is_numeric(self) -> bool:
        return self.kind in ("number", "flag")


def _reads_tokens(material: Material) -> bool:
    return material.run is not None and hasattr(material.run.model, "token_texts")


CHECKS: Mapping[str, Callable[[Material], bool]] = {
    "captions": lambda material: True,
    "images": lambda material: True,
    "level": lambda material: material.split.level is not None,
    "graphs": lambda material: material.split.caption_graphs is not None or PARSER in text.names(),
    "model": lambda material: material.run is not None,
    "tokens": _reads_tokens,
}
