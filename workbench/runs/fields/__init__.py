"""Fields that are computed when they are asked for: what captions, images and a model's answers say of them.

A file of this folder offers one field, or a tuple of the few that one computation makes; other packages offer
theirs as entry points of ``workbench.runs.fields``.
"""

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from workbench.records import Field, Split
from workbench.registry import Registry
from workbench.runs.fields.base import NEEDS, FieldExtractor, Material
from workbench.runs.saved_slices import slices_with_queries

__all__ = [
    "NEEDS",
    "AllFields",
    "FieldExtractor",
    "Material",
    "field_extractors",
    "member",
    "names",
    "usual_fields",
]

_registry = Registry(__name__, FieldExtractor="base")
names = _registry.names
member = _registry.member


@cache
def field_extractors() -> dict[str, FieldExtractor]:
    """Return all fields of the registry by name, in the order of its files."""
    fields: dict[str, FieldExtractor] = {}
    for place in names():
        offer = member(place)
        for field in offer if isinstance(offer, tuple) else (offer,):
            fields[field.name] = field
    return fields


def usual_fields(split: Split) -> list[str]:
    """Return the names of the fields that are looked at where nobody names any: those of the data, saved
    slices, and what is computed of captions; not what asks images or a model, or parses captions.

    Args:
        split: whose fields.
    """
    cheap = {"captions", "level"} | ({"graphs"} if split.caption_graphs is not None else set())
    material = Material(split)
    offered = field_extractors().items()
    computed = [name for name, field in offered if field.needs in cheap and field.applies(material)]
    return list(dict.fromkeys([*split.fields, *slices_with_queries(split), *computed]))


class AllFields(Mapping[str, Field]):
    """The fields of a split, those that can be computed of it, each made at its first use, and saved slices.

    Args:
        split: whose fields go before computed ones of the same name.
        run: that has embedded the split, an open ``Result``; without, what needs a model is left out.
    """

    def __init__(self, split: Split, run: Any = None) -> None:
        self.split = split
        self._material = Material(split, run)
        saved = {name: part.field(split) for name, part in slices_with_queries(split).items()}
        self._stored = {**split.fields, **saved}
        self._fields = dict(self._stored)

    @cached_property
    def _extractors(self) -> dict[str, FieldExtractor]:
        # what applies may need the model, which an unasked question does not load
        computed = field_extractors().items()
        return {
            name: field
            for name, field in computed
            if name not in self._stored and field.applies(self._material)
        }

    def __getitem__(self, name: str) -> Field:
        if name not in self._fields:
            self._fields[name] = self._extractors[name].compute(self._material)
        return self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields or name in self._extractors

    def __iter__(self) -> Iterator[str]:
        return iter({**self._stored, **self._extractors})

    def __len__(self) -> int:
        return len({**self._stored, **self._extractors})
