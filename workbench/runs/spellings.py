"""Settings as they are written: a name, with dots where it points into a mapping.

``objective=vsepp`` and ``objective.margin=0.3`` are two settings of one member of a registry: a bare name is
short for ``objective.name``. Dots and mappings are two ways to write one path. Within one layer (a file, the
words of a command, an arm of a grid) a setting is given once; between layers the later one wins. Another name
of a member begins it anew, since options belong to the member that takes them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.io import flatten
from workbench.records import require
from workbench.registry import merge

# settings that name a member of a registry, with its options beside the name
MEMBERS = ("data", "objective", "image_encoder", "text_encoder", "scorer", "reranker")
# parameter of a notebook that holds all fields of ``Config`` that have no parameter of their own
REST = "config"
Path = tuple[Any, ...]
Layer = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Setting:
    """One value, and how it was written.

    Args:
        path: the names that lead to it.
        value: no mapping, or an empty one.
        spelling: the path as written, with dots.
    """

    path: Path
    value: Any
    spelling: str


def nest(values: Layer, rest: str = "") -> dict[str, Any]:
    """Build mappings from names with dots.

    Args:
        values: by name, or pairs of a name and a value.
        rest: name of a mapping whose entries count as if they were written beside it.

    Raises:
        ValueError: a setting is given twice, with values that are not equal.
        TypeError: the value of ``rest`` is not a mapping.

    >>> nest({"objective": "vsepp", "objective.margin": 0.3, "epochs": 2})
    {'objective': {'name': 'vsepp', 'margin': 0.3}, 'epochs': 2}
    >>> nest({"o": 2, "o.a": 1})
    Traceback (most recent call last):
    ValueError: o is 2 and o.a is 1, which are one setting; give it once
    """
    settings: dict[Path, Setting] = {}
    for name, value in _pairs(values):
        for setting in _flatten_settings(tuple(name.split(".")), value, name):
            _add_setting(settings, _shorten_path(rest, setting))
    out: dict[str, Any] = {}
    for path, setting in settings.items():
        place = out
        for name in path[:-1]:
            place = place.setdefault(name, {})
        if path:
            place.setdefault(path[-1], setting.value)
    return out


def merge_layers(*layers: Layer, rest: str = "") -> dict[str, Any]:
    """Merge settings, mappings to any depth.

    Args:
        layers: the later ones win.
        rest: see ``nest``.

    Raises:
        TypeError, ValueError: as ``nest``; also where a name points into a value of an earlier layer.

    >>> merge_layers({"o": {"a": 1, "b": 1}}, {"o.b": 2})
    {'o': {'a': 1, 'b': 2}}
    >>> merge_layers({"objective": "vsepp", "objective.margin": 0.3}, {"objective": "ditm"})
    {'objective': {'name': 'ditm'}}
    """
    out: dict[str, Any] = {}
    for layer in layers:
        values = list(_pairs(layer))
        for name, _ in values:
            _require_open(out, name)
        fresh = nest(values, rest)
        earlier = {name: value for name, value in out.items() if not _begins_anew(name, value, fresh)}
        out = merge(earlier, fresh)
    return out


def _begins_anew(name: str, value: Any, later: Mapping[str, Any]) -> bool:
    """Return whether a later layer gives another name to a member."""
    if name not in MEMBERS:
        return False
    names = [name_of(value), name_of(later.get(name, {}))]
    return all(names) and names[0] != names[1]


def bare_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Write a member without options as its name alone.

    >>> bare_names({"objective": {"name": "vsepp"}, "data": {"name": "coco", "size": 8}})
    {'objective': 'vsepp', 'data': {'name': 'coco', 'size': 8}}
    """
    out = dict(values)
    for name in MEMBERS:
        member = out.get(name)
        if isinstance(member, Mapping) and [*member] == ["name"]:
            out[name] = member["name"]
    return out


def mapping_of(member: Any) -> dict[str, Any]:
    """Return a member, which is written with options or alone, as a mapping of its name and options."""
    return dict(member) if isinstance(member, Mapping) else {"name": member}


def name_of(member: Any) -> Any:
    """Return the name of a member, which is written with options or alone."""
    return mapping_of(member).get("name", "")


def options_of(member: Any) -> dict[str, Any]:
    """Return the options of a member, which is written with options or alone."""
    return {name: value for name, value in mapping_of(member).items() if name != "name"}


def fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a notebook with the entries of its ``config`` beside the others.

    >>> fields({"seed": 1, "config": {"epochs": 2}})
    {'seed': 1, 'epochs': 2}
    """
    rest = values.get(REST)
    others = {name: value for name, value in values.items() if name != REST}
    return others | dict(rest or {})


def require_data(values: Mapping[str, Any]) -> None:
    """Raise if the data of a run lead nowhere, without reading any.

    Args:
        values: fields of ``Config``, or parameters of a notebook.

    Raises:
        FileNotFoundError: there is no such path or folder.
    """
    chosen = fields(values).get("data")
    name = name_of(chosen)
    if isinstance(name, str) and name:
        from workbench import data  # slow to import

        data.require_existing(name, options_of(chosen))


def typed_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by the names under which they are typed, from mappings.

    >>> typed_settings({"objective": {"name": "vsepp", "margin": 0.3}, "config": {"data": "coco"}})
    {'objective': 'vsepp', 'objective.margin': 0.3, 'data': 'coco'}
    """
    members = {f"{name}.name": name for name in MEMBERS}
    return {members.get(name, name): value for name, value in flatten(fields(values)).items()}


def _pairs(values: Layer) -> Iterable[tuple[str, Any]]:
    return values.items() if isinstance(values, Mapping) else values


def _flatten_settings(path: Path, value: Any, spelling: str) -> Iterator[Setting]:
    """Yield a value, or those of a mapping to any depth."""
    if value and isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten_settings((*path, name), inner, f"{spelling}.{name}")
    else:
        yield Setting(path, value, spelling)


def _shorten_path(rest: str, setting: Setting) -> Setting:
    """Return a setting with its path outside ``rest``, and down to the name of a member."""
    path = setting.path
    if rest and path[0] == rest:
        path = path[1:]
        given = path or isinstance(setting.value, Mapping)
        require(given, f"{rest} is {setting.value!r:.200}; write fields with their values", TypeError)
    if len(path) == 1 and path[0] in MEMBERS and not isinstance(setting.value, Mapping):
        path = (path[0], "name")
    return Setting(path, setting.value, setting.spelling)


def _add_setting(settings: dict[Path, Setting], setting: Setting) -> None:
    """Add a setting of a layer.

    Raises:
        ValueError: the layer has another value at its path, above it or below it.
    """
    for other in settings.values():
        short, long = sorted((setting, other), key=lambda part: len(part.path))
        apart = long.path[: len(short.path)] != short.path
        same = short.path == long.path and repr(short.value) == repr(long.value)
        holds = len(short.path) < len(long.path) and isinstance(short.value, Mapping)
        if not (apart or same or holds):
            both = " and ".join(f"{part.spelling} is {part.value!r:.200}" for part in (other, setting))
            raise ValueError(f"{both}, which are one setting; give it once")
    settings.setdefault(setting.path, setting)


def _require_open(values: Mapping[str, Any], name: str) -> None:
    """Raise if a name points into a value that is not a mapping."""
    parts = name.split(".")
    place: Any = values
    for number, part in enumerate(parts[:-1], 1):
        place = place.get(part, {})
        above = ".".join(parts[:number])
        require(
            isinstance(place, Mapping),
            f"{name} points into {above}, which is {place!r:.200}; give the whole of {above} again",
        )
