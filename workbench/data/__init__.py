"""Data sets: one data set, one file; and any other data by the place where they lie.

``names()`` lists the data sets, ``load(name_or_path, split=..., **options)`` gives a ``Split``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.data.loader import Loader
from workbench.io import resolve_input
from workbench.progress import during
from workbench.records import Split, require
from workbench.registry import Registry, check_arguments, check_options, make

_registry = Registry(__name__)
names, members_with_option = _registry.names, _registry.members_with_option


def path_of(name: str) -> Path | None:
    """Return the path that a name stands for; ``None`` = it is a name of the registry, which goes before a
    folder of the same name, or can only be one.

    Raises:
        FileNotFoundError: what can only be a path leads nowhere.
    """
    path = resolve_input(name)
    if name in names() or not (path.exists() or path.is_absolute() or name.startswith(".") or "/" in name):
        return None
    require(path.exists(), f"data: there is no file or folder {path}", FileNotFoundError)
    return path


def require_existing(name: str, options: Mapping[str, Any]) -> None:
    """Raise if data lead nowhere, without reading any.

    Args:
        name: of the data, or a path.
        options: of the data; ``root`` is a folder.

    Raises:
        FileNotFoundError: there is no such path or folder.
    """
    path_of(name)
    if root := options.get("root"):
        missing = f"data.root: there is no folder {root}"
        require(resolve_input(root).is_dir(), missing, FileNotFoundError)


def member(name: str) -> Loader:
    """Return the loader of a data set of the registry, or of what lies at a path.

    Args:
        name: of the registry, ``"my_module:my_loader"``, or a path, see ``path_of``.

    Raises:
        KeyError: no such name, and nothing lies there; the message lists the near names.
        FileNotFoundError: what can only be a path leads nowhere.
    """
    if (path := path_of(name)) is None:
        try:
            entry = _registry.member(name)
        except KeyError as error:
            raise KeyError(f"{error.args[0]}; and there is no file or folder {name}") from None
        return entry if isinstance(entry, Loader) else Loader(entry)
    # slow to import
    from workbench.data import cards, opening

    if path.suffix in cards.SUFFIXES and path.is_file():
        return cards.loader_of(path)
    return opening.loader_at(path)


@check_arguments("load_data")
@during("reading the data")
def load(data: Any, **options: Any) -> Split:
    """Load one split of any data: the one door.

    Args:
        data: a name of the registry, a path (a folder or a file; what lies there is recognised), either with
            its options, ``{"name": "coco", "root": "mine"}``, a pandas ``DataFrame``, a ``datasets.Dataset``
            or ``DatasetDict``, or a ``Split``, returned as it is.
        options: ``split``, and those of the data set, of ``opening.loader_at`` or of ``memory.load_table``.

    Raises:
        KeyError: no such data set.
        FileNotFoundError: the data are not there.
        TypeError, ValueError: an option that is refused, or data that cannot be read; the message names what
            is wrong and the remedy.
    """
    if isinstance(data, Split):
        require(not options, f"{data.name} is loaded already; it takes no {', '.join(options)}")
        return data
    if isinstance(data, Mapping) and isinstance(data.get("name"), str):
        options = {**data, **options}
        data = options.pop("name")
    if isinstance(data, str | Path):
        split: Split = make(f"data {str(data)!r}", member(str(data)), options)
        return split
    from workbench.data.memory import TABLE, load_table  # slow to import

    check_options(TABLE, load_table, {"data": data, **options})
    return load_table(data, **options)
