"""A notebook's parameters, read from its tagged cell and checked before any kernel starts.

papermill itself only logs an unknown parameter and runs on with the default; here a misspelt name or an
ill-typed value is refused.
"""

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.io import parse_json, parse_yaml, read_options, reading_errors, write_json
from workbench.records import require
from workbench.registry import require_known
from workbench.runs.spellings import REST, Layer, bare_names, mapping_of, merge_layers

# a member of a registry, see ``registry.Member``
MEMBER = "Member"
TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "Count": (int,),
    "Natural": (int,),
    "float": (float,),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    MEMBER: (str, dict),
}
# of the types that ``registry`` has for whole numbers
LEAST = {"Count": 0, "Natural": 1}
EXAMPLES = {
    str: "a word",
    int: "3",
    float: "0.5",
    bool: "true",
    list: '["one", "two"]',
    dict: '{"name": 3}',
}


# a number as Python writes it and JSON does not
POINT = re.compile(r"-?(\d*\.\d+|\d+\.)([eE][+-]?\d+)?")
# folder below the runs of what was typed for grids
WORDS = "grids"


class ParameterError(ValueError):
    """A parameters cell that breaks the rules, or a value that does not fit it."""


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: ``name: type = default  # help``.

    Args:
        name, help: as written.
        type: one of ``TYPES``; a ``Count`` is a whole number from 0, a ``Natural`` one from 1.
        default: the literal.
    """

    name: str
    type: str
    default: Any
    help: str

    def check(self, value: Any) -> Any:
        """Return the value, if it has the declared type; an ``int`` also serves as ``float``.

        Raises:
            ParameterError: another type, or a count that is too small.
        """
        if self.type == "float" and type(value) is int:
            return float(value)
        kinds = TYPES[self.type]
        names = " or ".join(kind.__name__ for kind in kinds)
        shown = f"{value!r:.200} ({type(value).__name__})"
        require(
            type(value) in kinds,
            f"parameter {self.name} is {names}, got {shown}; write for example {EXAMPLES[kinds[-1]]}",
            ParameterError,
        )
        least = LEAST.get(self.type)
        require(
            least is None or value >= least,
            f"parameter {self.name} is {value!r:.200}; give {least} or more",
            ParameterError,
        )
        return value

    def parse(self, text: str) -> Any:
        """Return a value typed on the command line: a string as it stands, all else as ``parse_value`` reads
        it.

        Raises:
            ParameterError: the text does not read as the declared type.
        """
        is_name = self.type == MEMBER and not text.startswith("{")
        if self.type == "str" or is_name:
            return text
        with suppress(ValueError):
            if self.type == "float":
                return float(text)
        value: Any = text
        with suppress(ValueError):
            value = parse_value(text)
        return self.check(value)


def read_parameters(path: Path | str) -> dict[str, Parameter]:
    """Return the parameters of a notebook, in the order of its cell.

    Args:
        path: the notebook.

    Raises:
        FileNotFoundError: no such notebook.
        ParameterError: not exactly one cell is tagged ``parameters``, or a line is not ``name: type =
            literal``; another ValueError: it is no notebook, or no Python.
    """
    import nbformat  # slow to import, and verbs that open no notebook read this module too

    require(Path(path).is_file(), f"no notebook {path}", FileNotFoundError)
    # it changes a damaged notebook as it reads
    damaged = (nbformat.ValidationError, LookupError, AttributeError, TypeError, UnboundLocalError)
    with reading_errors(path, "is no notebook", *damaged):
        book = nbformat.read(path, 4)
        nbformat.validate(book)
    sources = [cell.source for cell in book.cells if "parameters" in cell.metadata.get("tags", [])]
    require(
        len(sources) == 1,
        f"{path}: exactly one cell must be tagged 'parameters', found {len(sources)}",
        ParameterError,
    )
    with reading_errors(path, "has a cell of parameters that cannot be read", SyntaxError, MemoryError):
        lines = ast.parse(sources[0]).body
    read = [_parse_parameter(line, sources[0], f"{path}, parameters line {line.lineno}") for line in lines]
    return {parameter.name: parameter for parameter in read}


def _parse_parameter(line: ast.stmt, source: str, place: str) -> Parameter:
    if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value):
        raise ParameterError(f"{place}: write `name: type = value  # help`, got `{ast.unparse(line)}`")
    kind = ast.unparse(line.annotation)
    require(kind in TYPES, f"{place}: type {kind} is none of {', '.join(TYPES)}", ParameterError)
    # Python counts columns in bytes
    rest = source.split("\n")[(line.end_lineno or 0) - 1].encode()[line.end_col_offset :].decode()
    try:
        default = ast.literal_eval(line.value)
        parameter = Parameter(line.target.id, kind, default, rest.lstrip(" #"))
        parameter.check(default)
    except ParameterError as error:
        raise ParameterError(f"{place}: {error}") from None
    except (TypeError, ValueError):
        raise ParameterError(f"{place}: `{ast.unparse(line.value)}` is not a literal") from None
    return parameter


def complete_parameters(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters, the given ones checked and the others at their defaults.

    Args:
        parameters: from ``read_parameters``.
        given: name -> value of the declared type, or text to parse where the type is not ``str``.

    Raises:
        ParameterError: an unknown name (the message lists the near ones) or an ill-typed value.
    """
    values = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in given.items():
        require_known("no parameter", name, parameters, ParameterError)
        parameter = parameters[name]
        value = parameter.parse(value) if isinstance(value, str) else parameter.check(value)
        if parameter.type == MEMBER and "name" not in mapping_of(value):
            value = {**mapping_of(parameter.default), **value}
        values[name] = value
    return values


def parse_values(known: Mapping[str, Parameter], words: Mapping[str, str]) -> dict[str, Any]:
    """Return values typed on the command line: a parameter's has its declared type, any other as
    ``parse_value``.

    Args:
        known: parameters of a notebook, from ``read_parameters``; nothing where there is none.
        words: name -> text; a name may point into a mapping, ``objective.tau``.

    Raises:
        ParameterError: the text does not read as the declared type.
    """
    values = {}
    for name, text in words.items():
        parse = known[name].parse if name in known else parse_value
        values[name] = parse(text)
    return values


def parse_value(text: str) -> Any:
    """Return a text as JSON, as YAML in brackets, as Python's ``True`` and ``False``, or as it stands.

    >>> [parse_value(text) for text in ("1e-3", ".3", "[a, b]", "True", "no")]
    [0.001, 0.3, ['a', 'b'], True, 'no']
    """
    if POINT.fullmatch(text):
        return float(text)
    with suppress(ValueError):
        return parse_json(text.lower() if text in ("True", "False") else text, "")
    return parse_yaml(text, f"the value {text!r:.200}") if text.startswith(("[", "{")) else text


def as_words(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return values as they are typed on the command line, by name.

    >>> as_words({"seed": 0, "data": "coco", "objective": {"tau": 5}})
    [('data', 'coco'), ('objective', '{"tau": 5}'), ('seed', '0')]
    """
    words = []
    for name, value in sorted(values.items()):
        text = value if isinstance(value, str) else json.dumps(value)
        words.append((name, text))
    return words


def override(known: Mapping[str, Parameter], *layers: Layer) -> dict[str, Any]:
    """Merge values, mappings to any depth; nothing is dropped, and the later layer wins.

    Args:
        known: a notebook's parameters. Where ``config`` is one of them, it holds all fields of ``Config``
            that are no parameter. Nothing = the values are fields of ``Config``.
        layers: name -> value, or pairs of them; a name may point into a mapping, ``objective.tau``.

    Raises:
        ValueError: one layer gives a field twice; TypeError: ``config`` is no mapping.

    Example:
        >>> known = {name: Parameter(name, "dict", {}, "") for name in ("seed", "config")}
        >>> override(known, {"seed": 1, "config": {"mix": 0.5}}, {"options.tau": 5, "seed": 2})
        {'seed': 2, 'config': {'mix': 0.5, 'options': {'tau': 5}}}
    """
    values = bare_names(merge_layers(*layers, rest=REST if REST in known else ""))
    if REST not in known:
        return values
    rest = {name: values.pop(name) for name in list(values) if name not in known}
    return {**values, REST: rest} if rest else values


def has_field(values: Mapping[str, Any], field: str) -> bool:
    """Return whether a field of ``Config`` is among values.

    >>> [has_field(values, "seed") for values in ({"seed": 1}, {"config": {"seed": 1}}, {"epochs": 1})]
    [True, True, False]
    """
    return field in merge_layers(values, rest=REST)


def read_data_options(words: Mapping[str, str]) -> dict[str, Any]:
    """Read options of data that were typed on the command line, ``data.size``.

    Args:
        words: name -> text; a name may point into a mapping, ``data.files.train``.

    Raises:
        ValueError: one is given twice, or the text does not read. TypeError: another name than ``data``.
    """
    values = merge_layers(parse_values({}, words))
    for name, value in values.items():
        written = "data.NAME" if isinstance(value, Mapping) else f"data.{name}"
        require(name == "data", f"-p {name}: options of the data are written {written}", TypeError)
    chosen = values.get("data", {})
    require(
        "name" not in chosen, "-p data: the data have their name already; give options, data.NAME", TypeError
    )
    return dict(chosen)


def save_typed_words(root: Path | str, name: str, words: Mapping[str, str], *, paper: bool) -> None:
    """Keep what was typed for a grid, so that its table needs no repetition.

    Args:
        root: where runs lie; the file is ``grids/NAME.json`` below it, of the last time the grid was run.
        name: of the grid.
        words: values that go over those of every arm, as typed.
        paper: in the settings of its paper.
    """
    write_json(Path(root) / WORDS / f"{name}.json", {"parameters": dict(words), "paper": paper})


def read_typed_words(root: Path | str, name: str) -> tuple[dict[str, str], bool]:
    """Return what was typed when a grid was last run (see ``save_typed_words``); nothing if it was never run.

    Raises:
        ValueError: the file is truncated or foreign; the message names it.
    """
    file = Path(root) / WORDS / f"{name}.json"
    if not file.is_file():
        return {}, False
    found = read_options(file)
    words = found.get("parameters")
    if not isinstance(words, dict):
        raise ParameterError(f"{file} holds no parameters; delete it, and give the grid's -p")
    return {str(field): str(value) for field, value in words.items()}, bool(found.get("paper"))
