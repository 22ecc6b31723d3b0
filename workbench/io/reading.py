"""Files that others wrote: whatever a parser says of them becomes a ``ValueError`` that names the file."""

import csv
import json
import logging
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# what parsers raise on damaged content; where a library has errors of its own, its call names them
PARSER_ERRORS: tuple[type[Exception], ...] = (
    OSError, ValueError, EOFError, RecursionError, csv.Error, struct.error, zlib.error, BadZipFile, LZMAError
)  # fmt: skip
# what else numpy raises on files of arrays
NUMPY_ERRORS = (SyntaxError, TokenError, TypeError, LookupError, MemoryError, OverflowError, RuntimeError)
# seconds that the hub has to answer
HUB_ANSWERS = 3
EXPONENT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)[eE][-+]?\d+$", re.ASCII)


@contextmanager
def reading_errors(
    path: Path | str, message: str = "cannot be read", *errors: type[Exception]
) -> Iterator[None]:
    """Turn what a parser raises in the block into a ``ValueError`` that names the file.

    Args:
        path: of the file, with the place in it where that is known.
        message: what is wrong with it, e.g. ``"is not a readable image"``.
        errors: those that the parser raises beside the usual ones.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: anything else.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except (*PARSER_ERRORS, *errors) as error:
        if type(error) is ValueError and str(path) in str(error) and "\n" not in str(error):
            raise  # it says so already
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} {message}: {reason:.1000}") from error


@contextmanager
def hub_access(name: Path | str) -> Iterator[None]:
    """Fetch what a hub keeps within the block, or take it from its cache where the hub does not answer: its
    libraries would try for a minute and say so line by line.

    Args:
        name: of what is fetched; a path that exists, or an empty one, asks no hub.

    Raises:
        FileNotFoundError: the hub does not answer, and its cache lacks something.
    """
    if Path(name).exists():
        yield
        return
    from huggingface_hub import constants  # slow to import
    from huggingface_hub.utils import get_session  # type: ignore[attr-defined]

    reached = False
    offline = constants.HF_HUB_OFFLINE
    disabled = logging.root.manager.disable
    with suppress(Exception):  # its releases raise the errors of different libraries
        reached = get_session().head(constants.ENDPOINT, timeout=HUB_ANSWERS) is not None
    if not reached:
        constants.HF_HUB_OFFLINE = True
        logging.disable(logging.ERROR)
    try:
        yield
    except (OSError, RuntimeError) as error:
        if reached:
            raise
        raise FileNotFoundError(
            f"{name} is not on this machine, and the hub cannot be reached; give the path of its files, or "
            "try again where the hub answers"
        ) from error
    finally:
        constants.HF_HUB_OFFLINE = offline
        logging.disable(disabled)


def require_real_file(file: Path, wanted: str) -> None:
    """Raise if a large file is empty, a Git LFS pointer or a web page: its download went wrong.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is empty, a Git LFS pointer or a web page; the message names what is ``wanted``.
    """
    with reading_errors(file), file.open("rb") as opened:
        start = opened.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    kinds = {
        "empty": not start,
        "a Git LFS pointer": start.startswith(b"version https://git-lfs"),
        "a web page": start[:1] == b"<",
    }
    wrong = [kind for kind, applies in kinds.items() if applies]
    if wrong:
        raise ValueError(f"{file} holds no {wanted}: it is {wrong[0]}; download the file itself")


def read_text(file: Path | str) -> str:
    """Return a text in UTF-8, with or without the mark that spreadsheet programs put before it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not in UTF-8.
    """
    with reading_errors(file, "is not a text in UTF-8"):
        return Path(file).read_text(encoding="utf-8-sig")


def parse_json(text: str | bytes, name: Path | str, message: str = "cannot be read") -> Any:
    """Return JSON in which no name stands twice in one object, since one of the two values would be lost.

    Args:
        text: the content.
        name: of the file, for messages.
        message: what is wrong with it otherwise, see ``reading_errors``.

    Raises:
        ValueError: it breaks off, is nested too deeply, or a name stands twice.
    """
    with reading_errors(name, message):
        content = json.loads(text, object_pairs_hook=_require_unique)
        if (b"\\ud" if isinstance(text, bytes) else "\\ud") in text.lower():  # type: ignore[operator]
            json.dumps(content, ensure_ascii=False).encode()  # half of a pair of surrogates is no letter
    return content


def validate(value: Any, kind: Any, name: Path | str, message: str = "cannot be read") -> Any:
    """Return the content of a file as values of a type, e.g. ``dict[int, list[int]]`` or a dataclass.

    Args:
        value: what a parser gave.
        kind: the type; pydantic reads it.
        name: of the file, with the place in it where that is known.
        message: what is wrong with it otherwise, see ``reading_errors``.

    Raises:
        ValueError: the content has another form; the message says where, and what stands there.
    """
    from pydantic import ValidationError  # slow to import

    try:
        return type_adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{part}." for part in first["loc"])[:-1]
        ours = first.get("ctx", {}).get("error")  # raised by the type's own check
        reason = str(ours) if ours else f"{first['msg']}, found {first['input']!r:.60}"
        parts = [f"{name} {message}", place, reason]
        raise ValueError(": ".join(filter(None, parts))) from None


def fields_of(content: Any, kind: Any, where: str, *names: str) -> list[Any]:
    """Return what an object holds under some names.

    Args:
        content: what a parser gave.
        kind: the type of such an object, e.g. ``dict[str, int]``.
        where: file, and row in it, for messages.
        names: whose values are wanted.

    Raises:
        ValueError: it is no object, a name is missing, or its value is of another type.
    """
    fields = validate(content, dict[str, Any], where, "is malformed")
    wanted = validate({name: fields.get(name) for name in names}, kind, where, "is malformed")
    return list(wanted.values())


@cache
def type_adapter(kind: Any, *, strict: bool = False) -> Any:
    """Return what reads values by a type, without changing theirs where it is ``strict``; to make one takes a
    thousand times as long as to ask it.
    """
    from pydantic import ConfigDict, JsonValue, TypeAdapter

    exact = ConfigDict(arbitrary_types_allowed=True, strict=True)
    plain = ConfigDict(allow_inf_nan=False) if kind is JsonValue else None
    return TypeAdapter(kind, config=exact if strict else plain)


def read_options(path: Path | str) -> dict[str, Any]:
    """Return names and values from a JSON or YAML file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be read, or it holds something else: a name twice, a name that is no text, a
            number that is not finite, a date.
    """
    from pydantic import JsonValue  # slow to import

    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {path}")
    text = read_text(path)
    is_json = Path(path).suffix == ".json"
    values = validate(parse_json(text, path), JsonValue, path) if is_json else parse_yaml(text, path)
    if not isinstance(values, dict):
        raise ValueError(f"{path} holds {values!r:.60}; write names with their values, such as seed: 1")
    return values


def parse_yaml(text: str, name: Path | str) -> Any:
    """Return YAML of plain values, names that are texts, none twice in one mapping.

    Args:
        text: the content.
        name: of the file, for messages.

    Raises:
        ValueError: it cannot be read, or holds something else; see ``read_options``.
    """
    import yaml
    from pydantic import JsonValue

    class Loader(yaml.SafeLoader):
        """Raises if a name occurs twice; a name may replace one that ``<<`` brings."""

        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
            node: yaml.MappingNode = super().compose_mapping_node(anchor)
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            _require_unique([(name, None) for name in names if name != "<<"])
            return node

    # YAML 1.2 reads 1e-4 as a number, this library's 1.1 asks for a point and a sign
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))
    # what its constructors of plain values raise beside its own errors
    with reading_errors(name, "cannot be read", yaml.YAMLError, LookupError, AttributeError, TypeError):
        try:
            content = yaml.load(text, Loader)
        except yaml.MarkedYAMLError as error:
            place = error.problem_mark or error.context_mark
            where = f" in line {place.line + 1}, column {place.column + 1}" if place else ""
            raise ValueError(f"{error.problem or error.context}{where}") from error
    return validate(content, JsonValue, name)


def _require_unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one place")
    return content


def read_array(file: Path, message: str = "cannot be read") -> "NDArray[Any]":
    """Return the numbers of an ``.npy`` file, memory-mapped.

    Args:
        file: it holds integers or floats.
        message: see ``reading_errors``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged or empty, or holds something else.
    """
    import numpy as np  # slow to import

    with reading_errors(file.name, message, *NUMPY_ERRORS):
        array = np.load(file, mmap_mode="r")
    with reading_errors(file.name, message):
        return require_numeric(array)


def require_numeric(array: "NDArray[Any]") -> "NDArray[Any]":
    """Return an array of a file, if it holds integers or floats and is not empty; else a ``ValueError``."""
    if array.dtype.kind not in "fiu" or not array.size:
        raise ValueError(f"expected numbers, found {array.dtype} {array.shape}")
    return array


def read_csv(file: Path) -> "pd.DataFrame":
    """Return a CSV of texts in UTF-8, which gzip may have packed, under the names of its first line.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it breaks off, or is no such file.
    """
    import pandas as pd  # slow to import

    with reading_errors(file.name, "cannot be read to its end"):
        return pd.read_csv(file, dtype=str, keep_default_na=False, index_col=False)


def import_optional(name: str, extra: str) -> Any:
    """Return an optional library, imported when it is asked for.

    Args:
        name: of the library.
        extra: of this package that installs it.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module(name.replace("-", "_"))
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{name} is needed, and not installed; pip install 'itm-workbench[{extra}]'"
        ) from None
