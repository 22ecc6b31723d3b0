"""The ways to write a setting, brought into one form before any is laid over another.

A setting is a path, the name of a field and then the names within its value, with a value that is no mapping.
Dots and mappings are two ways to write a path. Names of groups are a third: where groups are given,
``objective.name``, ``objective.options.margin``, ``objective.margin`` and ``settings.objective`` point to the
fields that they mean.

Within one layer (a file, the words of a command, an arm of a grid, a call) a setting is given once. Between
layers the later one wins.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.records import require
from workbench.registry import did_you_mean

Path = tuple[Any, ...]
Layer = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Group:
    """A name under which other fields may be given.

    Args:
        fields: name there -> name of the field; ``None`` = every field by its own name.
        options: the field to which all other names there belong; ``""`` = there are no others.
    """

    fields: Mapping[str, str] | None = None
    options: str = ""


@dataclass(frozen=True)
class Setting:
    """One value, and how it was written.

    Args:
        path: name of the field, and the names within its value.
        value: no mapping, or an empty one.
        spelling: the path as written, with dots.
        depth: so many names of the path stood before the value; the others are names of a mapping.
    """

    path: Path
    value: Any
    spelling: str
    depth: int


def read(layer: Layer, groups: Mapping[str, Group]) -> list[Setting]:
    """Read the settings of one layer.

    Args:
        layer: name -> value, or pairs of them; a name may point into a mapping or a group with dots.
        groups: by name.

    Raises:
        TypeError: a group has no such field, or its value is no mapping where it must be one.
        ValueError: a setting is given twice, with values that are not equal.
    """
    pairs = layer.items() if isinstance(layer, Mapping) else layer
    root = Group()
    settings = [
        setting for name, value in pairs for setting in _within(root, name.split("."), value, name, groups)
    ]
    _require_once(settings)
    return settings


def lay(*layers: Layer, groups: Mapping[str, Group]) -> dict[str, Any]:
    """Lay settings over one another, mappings to any depth.

    Args:
        layers: the later ones win.
        groups: by name.

    Returns:
        Values by the name of their field.

    Raises:
        TypeError, ValueError: as ``read``; also where one points into a word of an earlier layer.

    >>> lay({"o": {"a": 1, "b": 1}}, {"o.b": 2}, groups={})
    {'o': {'a': 1, 'b': 2}}
    >>> lay({"o": 2, "o.a": 1}, groups={})
    Traceback (most recent call last):
    ValueError: o is 2 and o.a is 1, which are one setting; give it once
    """
    settings: dict[Path, Setting] = {}
    for layer in layers:
        for setting in read(layer, groups):
            _put(settings, setting)
    out: dict[str, Any] = {}
    for setting in settings.values():
        place = out
        for name in setting.path[:-1]:
            place = place.setdefault(name, {})
        if isinstance(setting.value, Mapping):
            place.setdefault(setting.path[-1], {})
        else:
            place[setting.path[-1]] = setting.value
    return out


def _within(
    group: Group, names: list[Any], value: Any, spelling: str, groups: Mapping[str, Group]
) -> Iterator[Setting]:
    """The settings of a name that stands in a group; ``names`` is what dots separate."""
    head, *rest = names
    field = head if group.fields is None else group.fields.get(head)
    if field is None:
        near = did_you_mean(str(head), list(group.fields or ()))
        require(group.options, f"config has no field {spelling!r}; {near}", TypeError)
        yield from _values((group.options, *names), value, spelling, 1 + len(names))
        return
    # the name of a member stands in the group that is called as its field
    inner = None if head == "name" else groups.get(field)
    if inner is None or not (rest or isinstance(value, Mapping)):
        whole = inner is not None and inner.fields is None
        require(not whole, f"{spelling} is {value!r:.200}; write fields with their values", TypeError)
        yield from _values((field, *rest), value, spelling, len(names))
    elif rest:
        yield from _within(inner, rest, value, spelling, groups)
    else:
        for name, one in value.items():
            parts = name.split(".") if inner.fields is None else [name]
            yield from _within(inner, parts, one, f"{spelling}.{name}", groups)


def _values(path: Path, value: Any, spelling: str, depth: int) -> Iterator[Setting]:
    """A value, or those of a mapping to any depth."""
    if not (value and isinstance(value, Mapping)):
        yield Setting(path, value, spelling, depth)
        return
    for name, inner in value.items():
        yield from _values((*path, name), inner, f"{spelling}.{name}", depth)


def _above(setting: Setting, settings: Mapping[Path, Setting]) -> list[Setting]:
    """The settings into whose values one points."""
    starts = [setting.path[:length] for length in range(1, len(setting.path))]
    return [settings[path] for path in starts if path in settings]


def _require_once(settings: Iterable[Setting]) -> None:
    first: dict[Path, Setting] = {}
    for setting in settings:
        other = first.setdefault(setting.path, setting)
        require(repr(other.value) == repr(setting.value), _both(other, setting))
    for setting in first.values():
        for above in _above(setting, first):
            require(isinstance(above.value, Mapping), _both(above, setting))


def _both(first: Setting, second: Setting) -> str:
    said = " and ".join(f"{one.spelling} is {one.value!r:.200}" for one in (first, second))
    return f"{said}, which are one setting; give it once"


def _put(settings: dict[Path, Setting], setting: Setting) -> None:
    """Lay a setting over those of earlier layers: a word replaces a mapping, and a mapping a word."""
    for above in _above(setting, settings):
        into = setting.depth > len(above.path) and not isinstance(above.value, Mapping)
        require(
            not into,
            f"{setting.spelling} points into {above.spelling}, which is {above.value!r:.200}; give the whole "
            f"of {above.spelling} anew",
        )
        del settings[above.path]
    if not isinstance(setting.value, Mapping):
        length = len(setting.path)
        for below in [path for path in settings if len(path) > length and path[:length] == setting.path]:
            del settings[below]
    settings[setting.path] = setting
