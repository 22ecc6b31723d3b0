"""A registry is a folder whose bare file names are its menu, plus what other packages and a user's files
offer.

Every registry offers two verbs: ``names()`` lists it, ``load(name, **options)`` makes one member. A name is

- a file of the folder that says what it offers in one line, ``MEMBER = TheClassOrFunction``;
- an entry point of an installed distribution, in the group of the registry (``workbench.objectives``, ...);
- ``"my_module:MyLoss"``: a class or function of a module in the working directory or on ``PYTHONPATH``.
"""

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ParamSpec, Self, TypeVar, get_origin, get_type_hints

from annotated_types import Ge, Gt, Interval

from workbench.io import type_adapter

# Ranges that options may state in their annotations; ``check_options`` holds values to them.
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Interval(ge=0, le=1)]
Dropped = Annotated[float, Interval(ge=0, lt=1)]
Portion = Annotated[float, Interval(gt=0, le=1)]
Natural = Annotated[int, Ge(1)]
Count = Annotated[int, Ge(0)]
# a member of a registry as it is written: its name, or a mapping of its name and options
Member = str | dict[str, Any]

Made = TypeVar("Made")
P = ParamSpec("P")
T = TypeVar("T")
TYPES = ("_type", "_parsing", "is_instance_of")


@dataclass(frozen=True)
class Group:
    """Annotates an option that is itself a group of options, ``Annotated[Mapping[str, Any], Group(Fusion)]``,
    so that they are held to the group's signature.

    Args:
        kind: a function or class; its annotations say what each option may be.
    """

    kind: Callable[..., Any]


REFERENCE = re.compile(r"[^\W\d][\w.]*:\w+")
OFFER = re.compile(r"^MEMBER = ", re.MULTILINE)


def require(condition: object, message: str, kind: type[Exception] = ValueError) -> None:
    """Raise an error with this message unless the condition holds.

    Args:
        condition: anything that is true or false.
        message: names the thing and the remedy. It is made in either case, so what costs time or would fail
            where all is well, such as a search for near names, stands in an ``if`` instead.
        kind: of the error.
    """
    if not condition:
        raise kind(message)


def did_you_mean(name: str, known: list[str], otherwise: str = "", most: int = 3) -> str:
    """Return the end of an error message: the near names if there are any, else what is said ``otherwise``,
    or all names. Matching ignores case.
    """
    lower = {candidate.lower(): candidate for candidate in known}
    near = [lower[close] for close in difflib.get_close_matches(name.lower(), lower, n=most, cutoff=0.6)]
    return f"did you mean {', '.join(near)}?" if near else otherwise or f"known: {', '.join(known)}"


def require_known(
    what: str, name: str, known: Iterable[str], kind: type[Exception] = KeyError, remedy: str = ""
) -> None:
    """Raise if a name is not known, and list the near ones.

    Args:
        what: the message up to the name, such as ``"no executor"``.
        name: that somebody gave.
        known: names that there are.
        kind: of the error.
        remedy: the end of the message.

    >>> require_known("no colour", "rde", ["red", "green"])
    Traceback (most recent call last):
    KeyError: "no colour 'rde'; did you mean red?"
    """
    if name not in (names := list(known)):
        raise kind(f"{what} {name!r}; {did_you_mean(name, names)}{remedy}")


def check_arguments(name: str, remedy: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a public function raise for arguments that it does not take, by the name that users know it by.

    Args:
        name: of the function, e.g. ``"train"``.
        remedy: what is said of a keyword that is near to none.

    >>> @check_arguments("paint")
    ... def inner(colour: str = "") -> None: ...
    >>> inner(color="red")
    Traceback (most recent call last):
    TypeError: paint() takes no 'color'; did you mean colour?
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        shape = inspect.signature(function)
        known = [option for option in shape.parameters if option != "self"]
        any_name = any(option.kind is option.VAR_KEYWORD for option in shape.parameters.values())

        @wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            for option in options:
                if option not in known and not any_name:
                    raise TypeError(f"{name}() takes no {option!r}; {did_you_mean(option, known, remedy)}")
            try:
                shape.bind(*args, **options)
            except TypeError as error:
                raise TypeError(f"{name}(): {error}; it takes {', '.join(known)}") from None
            return function(*args, **options)

        return checked

    return decorate


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose public names are imported when they are first asked for.

    Args:
        package: dotted name.
        homes: public name -> the module of the package that has it, with ``:`` and its name there if that is
            another, e.g. ``{"Config": "runs", "load_data": "data:load"}``; ``"runs:*"`` is the module itself.
    """

    def public(name: str) -> Any:
        require(name in homes, f"module {package!r} has no attribute {name!r}", AttributeError)
        module, _, inside = homes[name].partition(":")
        home = import_module(f"{package}.{module}")
        return home if inside == "*" else getattr(home, inside or name)

    return public


class Registry:
    """The menu of one package, e.g. ``Registry("workbench.objectives", Objective="base")``.

    Args:
        package: dotted name of the package whose files are the members.
        bases: the public classes that members derive from, by name, each with the file of the package that
            holds it; without, a member from outside may be anything that can be called.
    """

    def __init__(self, package: str, **bases: str) -> None:
        self.package = package
        self.bases = bases
        self.kind = package.rpartition(".")[2]
        self.public = lazy_getattr(package, bases)

    def names(self) -> list[str]:
        """Return names of the members, sorted: files of the folder, and entry points whose package is there.
        None is imported.
        """
        there = {name for name, entry in self._entries.items() if find_spec(entry.module.split(".")[0])}
        return sorted(self.files | there)

    @cached_property
    def files(self) -> set[str]:
        """Names of the members that are files of the folder, which is read once in a process."""
        names = set()
        for root in map(Path, import_module(self.package).__path__):
            modules = {file.stem: file for file in root.glob("[!_]*.py")}
            modules |= {file.parent.name: file for file in root.glob("[!_]*/__init__.py")}
            names |= {
                name for name, file in modules.items() if OFFER.search(file.read_text(encoding="utf-8"))
            }
        return names

    @property
    def _entries(self) -> dict[str, EntryPoint]:
        return _entry_points_of(self.package, entry_points)

    def member(self, name: str) -> Any:
        """Return the class or function behind a name; a file of the folder goes before an entry point of its
        name.

        Raises:
            KeyError: no such member, or no such module or name in it; the message lists the near names.
            TypeError: what a name from outside stands for is no member of this registry.
        """
        if name in self.files:
            return import_module(f"{self.package}.{name}").MEMBER
        if name in self._entries:
            member = self._entries[name].load()
        elif ":" in name:
            member = import_named(self.kind, name)
        else:
            raise KeyError(f"{self.kind}: no {name!r}; {did_you_mean(name, self.names())}")
        bases = tuple(self.public(base) for base in self.bases) or (Callable,)
        if not (isinstance(member, bases) or (inspect.isclass(member) and issubclass(member, bases))):
            wanted = " or ".join(f"{self.package}.{base}" for base in self.bases) or "a function or a class"
            raise TypeError(f"{self.kind}: {name!r} is {member!r}; derive it from {wanted}")
        return member

    def members_with_option(self, option: str) -> dict[str, Any]:
        """Find the members that take an option, by name, which imports them all."""
        members = {name: self.member(name) for name in self.names()}
        return {name: member for name, member in members.items() if option in options_of(member)}

    def load(self, name: str, **options: Any) -> Any:
        """Call the member with options.

        Raises:
            KeyError: no such member.
            TypeError, ValueError: an option that the member's signature refuses, see ``check_options``.
        """
        return make(f"{self.kind} {name!r}", self.member(name), options)


@lru_cache
def _entry_points_of(group: str, source: Callable[..., Iterable[EntryPoint]]) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, looked up once a process."""
    return {entry.name: entry for entry in source(group=group)}


def import_named(kind: str, name: str) -> Any:
    """Import what ``"my_module:MyLoss"`` names; the working directory comes after the installed packages.

    Args:
        kind: of the registry, for messages.
        name: module and name.

    Raises:
        KeyError: the module is not there, or it has no such name; the message lists the near ones. An error
            inside the module is raised as it is.
    """
    require(REFERENCE.fullmatch(name), f"{kind}: cannot read {name!r}; write 'my_module:MyClass'", KeyError)
    module, _, wanted = name.partition(":")
    here = Path.cwd()
    if str(here) not in sys.path:
        sys.path.append(str(here))
    invalidate_caches()
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        near = did_you_mean(module, sorted(file.stem for file in here.glob("*.py")))
        raise KeyError(f"{kind}: no module {module!r} in {here} or on PYTHONPATH; {near}") from None
    if not hasattr(imported, wanted):
        near = did_you_mean(wanted, [public for public in vars(imported) if not public.startswith("_")])
        raise KeyError(f"{kind}: the module {module!r} has no {wanted!r}; {near}")
    return getattr(imported, wanted)


def merge(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge values with others that go before, mappings within mappings to any depth; nothing of the first is
    lost but what the second gives as well.

    Example:
        >>> merge({"seed": 0, "options": {"a": 1, "b": 1}}, {"options": {"b": 2}})
        {'seed': 0, 'options': {'a': 1, 'b': 2}}
    """
    both = [
        name for name in second if isinstance(first.get(name), Mapping) and isinstance(second[name], Mapping)
    ]
    return {**first, **second, **{name: merge(first[name], second[name]) for name in both}}


def make(
    what: str, member: Callable[..., Made], options: Mapping[str, Any] | None = None, path: str = ""
) -> Made:
    """Call a function or class with options that its signature allows; they are checked here, once.

    Args:
        what: how messages call it.
        member: the function or class.
        options: by name.
        path: where the options stand in a configuration, see ``check_options``.
    """
    check_options(what, member, options or {}, path)
    unchecked: Callable[..., Made] = getattr(member, "unchecked", member)
    return unchecked(**(options or {}))


def options_of(member: Callable[..., Any]) -> dict[str, Any]:
    """Read the options of a class or a function: name -> default, ``Parameter.empty`` where it has none."""
    return {name: option.default for name, option in inspect.signature(member).parameters.items()}


def check_options(
    what: str,
    member: Callable[..., Any],
    options: Mapping[str, Any],
    path: str = "",
) -> None:
    """Raise if a callable does not take options, by name, by type and by range, as its signature states.

    Args:
        what: how messages call it, e.g. ``"objective 'vsepp'"``.
        member: a function or class; its annotations say what an option may be, ranges included
            (``margin: Positive``).
        options: by name. A list stands for a tuple, as in JSON.
        path: where the options stand in a configuration, for messages, e.g. ``"objective"``.

    Raises:
        TypeError: an option that it does not take, with the near ones, or a value of another type.
        ValueError: a value out of range or not among the choices, with the near ones.
    """
    known = options_of(member)
    function = member.__init__ if inspect.isclass(member) else member
    hints = get_type_hints(function, include_extras=True) if options else {}
    for option, value in options.items():
        where = f"{path}.{option}: " if path else ""
        if option not in known:
            near = did_you_mean(str(option), list(known))
            raise TypeError(f"{where}{what} has no option {option!r}; {near}")
        place = f"{path}.{option}" if path else f"{what}: {option}"
        check_value(place, value, hints.get(option, Any))
        for mark in getattr(hints.get(option), "__metadata__", ()):
            if isinstance(mark, Group) and isinstance(value, Mapping):
                check_options(f"{what}: {option}", mark.kind, value, path and place)


def check_value(where: str, value: Any, kind: Any) -> None:
    """Raise if an annotation does not allow a value.

    Args:
        where: the path to the value, for the message.
        value: any value.
        kind: an annotation.

    Raises:
        TypeError: a value of another type; ValueError: one out of range or not among the choices.
    """
    from pydantic import ValidationError

    known = (type_adapter if isinstance(kind, Hashable) else type_adapter.__wrapped__)(kind, strict=True)
    try:
        known.validate_python(
            tuple(value) if get_origin(kind) is tuple and isinstance(value, list) else value
        )
    except ValidationError as error:
        raise describe_error(where, value, error.errors()) from None


def class_of(value: Any) -> str:
    """Return the name of the class of a value for a message, which says so if the value itself is a class.

    >>> class_of(3), class_of(int)
    ('int', 'the class int')
    """
    return f"the class {value.__name__}" if inspect.isclass(value) else type(value).__name__


def require_list(name: str, items: Any) -> None:
    """Raise if one text or image stands where a list of them belongs.

    Args:
        name: of the parameter.
        items: any value.

    >>> require_list("texts", "a dog")
    Traceback (most recent call last):
    TypeError: texts is 'a dog'; give a list, ['a dog']
    """
    if isinstance(items, str):
        raise TypeError(f"{name} is {items!r:.200}; give a list, [{items!r:.200}]")
    if not hasattr(items, "__len__"):
        raise TypeError(f"{name} is one {class_of(items)}; give a list of them")


def require_row(name: str, row: Any, count: int, least: int = 0) -> None:
    """Raise if the data do not have a row.

    Args:
        name: of the parameter.
        row: any value.
        count: so many rows there are.
        least: ``-1`` where that stands for no row.

    Raises:
        TypeError: it is no whole number. ValueError: there is no such row.

    >>> require_row("image", 7, 5)
    Traceback (most recent call last):
    ValueError: image is 7; the data have the rows 0 to 4
    """
    require(type(row) is int, f"{name} is {row!r:.200}; give the number of a row, from 0", TypeError)
    require(least <= row < count, f"{name} is {row}; the data have the rows 0 to {count - 1}")


def _error_distance(error: Any) -> int:
    """Return how far a value is from what one branch of a union wants: a word among words is near, a type
    far.
    """
    if error["type"] == "literal_error":
        return 0 if isinstance(error["input"], str) else 2
    return 2 if error["type"].endswith(TYPES) else 1


def describe_error(where: str, value: Any, errors: Sequence[Any]) -> Exception:
    """Return the first thing that is wrong, choices before types, with the path to it and what it may be.

    Args:
        where: the path to the value.
        value: what was checked.
        errors: what pydantic found wrong with it.
    """
    first = min(errors, key=_error_distance)
    if first["type"] == "value_error":  # raised by a check of our own, which has said all
        return ValueError(*first["ctx"]["error"].args)
    if first["loc"][-1:] == ("[key]",):
        value = {**value, first["loc"][-2]: first["loc"][-2]}
    for part in first["loc"]:
        # of a union pydantic also names the branch, which is no part of the path
        if isinstance(value, Mapping | list | tuple) and (part in value or isinstance(part, int)):
            where = f"{where}.{part}"
            value = value[part]
    if first["type"] == "literal_error":
        expected = first["ctx"]["expected"]
        known = re.findall(r"'([^']*)'", expected) or expected.split(" or ")
        near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.6)
        start = f"did you mean {near[0]}? " if near else ""
        return ValueError(f"{where} is {value!r}; {start}choose one of {', '.join(filter(None, known))}")
    kind = TypeError if first["type"].endswith(TYPES) else ValueError
    if first["type"].startswith("bool_"):
        return kind(f"{where} is {value!r}; write true or false, in Python True or False")
    return kind(f"{where} is {value!r}; {first['msg'].lower().replace('input', 'it', 1)}")


class Checked:
    """Classes whose options are held to the signature of ``__init__`` when they are made directly."""

    @classmethod
    def unchecked(cls, **options: Any) -> Self:
        """Make one with options that were checked already."""
        member = cls.__new__(cls)
        init: Any = member.__init__  # type: ignore[misc]
        getattr(init.__func__, "__wrapped__", init.__func__)(member, **options)
        return member

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the options of each class that defines ``__init__`` before it runs."""
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            init = cls.__init__

            @wraps(init)
            def checked(self: Any, *args: Any, **options: Any) -> None:
                check_options(type(self).__name__, init, options)
                init(self, *args, **options)

            cls.__init__ = checked  # type: ignore[method-assign]
