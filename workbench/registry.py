"""A shelf is a folder whose bare file names are its menu.

Every shelf offers two verbs: ``names()`` lists it, ``load(name, **options)`` makes one member. A member's
file says what it offers in one line, ``MEMBER = TheClassOrFunction``; files that begin with ``_`` are
plumbing and not on the menu.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


OFFER = re.compile(r"^MEMBER = ", re.MULTILINE)


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of an error message: the near names if there are any, else all of them."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"


class Shelf:
    """The menu of one package, e.g. ``Shelf("workbench.objectives")``.

    Args:
        package: dotted name of the package whose files are the members.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.kind = package.rpartition(".")[2]

    def names(self) -> list[str]:
        """Names of the members, sorted. Reads the folder only: no member is imported."""
        return sorted(
            place.stem if place.name != "__init__.py" else place.parent.name
            for root in import_module(self.package).__path__
            for place in (*Path(root).glob("[!_]*.py"), *Path(root).glob("[!_]*/__init__.py"))
            if OFFER.search(place.read_text(encoding="utf-8"))
        )

    def member(self, name: str) -> Any:
        """The class or function behind a name.

        Raises:
            KeyError: no such member; the message lists the near names.
        """
        if name not in self.names():
            raise KeyError(f"{self.kind}: no {name!r}; {did_you_mean(name, self.names())}")
        return import_module(f"{self.package}.{name}").MEMBER

    def load(self, name: str, **options: Any) -> Any:
        """Call the member with options.

        Raises:
            KeyError: no such member.
            TypeError: an unknown option; the message lists the near ones.
        """
        member = self.member(name)
        check_options(f"{self.kind} {name!r}", member, options)
        return member(**options)


def check_options(what: str, member: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse options that a callable does not take.

    Raises:
        TypeError: names the option and the near ones.
    """
    parameters = inspect.signature(member).parameters
    for option in options:
        if option not in parameters:
            raise TypeError(f"{what} has no option {option!r}; {did_you_mean(option, list(parameters))}")
