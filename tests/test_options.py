"""Every option of every shelf member and of every grid is held to its name, type and range by the configuration
alone: before data is read, and before a kernel starts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from workbench import data, encoders, objectives, text
from workbench.execution.grid import plan, read_grid
from workbench.experiment import Config
from workbench.registry import Group, check_options

GRIDS = sorted((Path(__file__).parent.parent / "notebooks" / "grids").glob("*.yaml"))
HOLDER = {"objective": "objective_options", "data": "data_options", "image_encoder": "image_options"}
SHELVES = {"objective": objectives, "data": data, "image_encoder": encoders}
# Options whose type says all: names, files and sentences, which only the data or another shelf know, switches,
# numbers that may be anything, and groups that are read in several forms.
NO_RANGE = {
    ("aahr", "alignment"), ("aahr", "contrast"), ("aahr", "graph"), ("cxc", "complete"), ("cxc", "coco"),
}  # fmt: skip


def options(member: Any) -> dict[str, Any]:
    """The annotation of each option."""
    hints = get_type_hints(member.__init__ if inspect.isclass(member) else member, include_extras=True)
    return {name: hints.get(name, Any) for name in inspect.signature(member).parameters}


def parts(kind: Any) -> Iterator[Any]:
    """All that an annotation is made of."""
    yield kind
    for part in () if get_origin(kind) is Literal else (*get_args(kind), *getattr(kind, "__metadata__", ())):
        yield from parts(part)


def has_range(kind: Any) -> bool:
    """Whether an annotation says more than a type."""
    return any(get_origin(part) is Literal or hasattr(part, "__metadata__") for part in parts(kind))


def walk(member: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Path and annotation of every option, those of groups included."""
    for name, kind in options(member).items():
        yield f"{path}.{name}", kind
        for mark in getattr(kind, "__metadata__", ()):
            if isinstance(mark, Group):
                yield from walk(mark.kind, f"{path}.{name}")


def given(path: str, value: Any) -> dict[str, Any]:
    """``"a.b", 1`` as ``{"a": {"b": 1}}``."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


CASES = [
    (field, name, path, kind)
    for field, shelf in SHELVES.items()
    for name in shelf.names()
    for path, kind in walk(shelf.member(name), HOLDER[field])
]
IDS = [f"{name}-{path}" for _, name, path, _ in CASES]


@pytest.mark.parametrize(("field", "name", "path", "kind"), CASES, ids=IDS)
def test_an_option_is_refused_by_name_type_and_range_with_its_path(field, name, path, kind):
    chosen = {field: name} | ({"text_encoder": "sequence"} if field == "image_encoder" and name != "sequence" else {})
    with pytest.raises(TypeError, match=rf"{path}z.* has no option '{path.rpartition('.')[2]}z'; (did you mean|known)"):
        Config(**chosen, **given(f"{path}z", 1))
    if kind is not Any:
        with pytest.raises((TypeError, ValueError), match=f"{path} is <object"):
            Config(**chosen, **given(path, object()))
    for part in parts(kind):
        for bound in getattr(part, "__metadata__", ()):
            outside = beyond(bound)
            if outside is not None:
                with pytest.raises(ValueError, match=f"{path}.* is {outside}; it should be"):
                    Config(**chosen, **given(path, outside))
        if get_origin(part) is Literal and str in map(type, get_args(part)) and get_origin(kind) is Literal:
            with pytest.raises(ValueError, match=f"{path} is .*; did you mean .* choose one of"):
                Config(**chosen, **given(path, get_args(part)[0] + "x"))


def holding(kind: Any, part: Any, value: Any) -> Any:
    """A value of the kind with another in the place of one of its parts."""
    if kind is part:
        return value
    inner = next(one for one in get_args(kind) if part in parts(one))
    held = holding(inner, part, value)
    origin = get_origin(kind)
    if origin is tuple:
        return [held] * len(get_args(kind))
    if origin is Mapping:
        return {get_args(get_args(kind)[0])[0]: held}
    return [held] if origin is Sequence else held


def beyond(bound: Any) -> float | None:
    """A number that a bound leaves out."""
    for side, step in (("ge", -1), ("gt", 0), ("le", 1), ("lt", 0)):
        if getattr(bound, side, None) is not None:
            return getattr(bound, side) + step
    return None
