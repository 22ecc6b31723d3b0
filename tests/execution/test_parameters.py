"""Parameters are read from the tagged cell and checked before any kernel starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.execution.parameters import (
    Parameter,
    ParameterError,
    complete_parameters,
    parse_values,
    read_data_options,
    read_parameters,
)

Make = Callable[..., Path]


def test_names_types_defaults_and_help_are_those_of_the_cell(make_notebook: Make) -> None:
    path = make_notebook(
        parameters='lr: float = 1e-3  # learning rate\nkind: str = "a#b"  # which one\nsizes: list = [1, 2]'
    )
    assert list(read_parameters(path).values()) == [
        Parameter("lr", "float", 1e-3, "learning rate"),
        Parameter("kind", "str", "a#b", "which one"),
        Parameter("sizes", "list", [1, 2], ""),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("epochs = 3", "write `name: type = value"),
        ("epochs: int", "write `name: type = value"),
        ("print(1)", "write `name: type = value"),
        ("x: float | None = None", "type float | None is none of str, int"),
        ("x: int = 2 * 3", "not a literal"),
        ("x: int = '3'", "x is int, got '3'"),
    ],
)
def test_a_line_that_breaks_the_rules_is_named(make_notebook: Make, line: str, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        read_parameters(make_notebook(parameters=line))
    assert message in str(error.value)


def test_a_notebook_without_a_parameters_cell_is_refused(make_notebook: Make) -> None:
    with pytest.raises(ParameterError, match="exactly one cell must be tagged 'parameters', found 0"):
        read_parameters(make_notebook(parameters=None))


def test_a_notebook_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.ipynb"):
        read_parameters(tmp_path / "none.ipynb")


KNOWN = {
    p.name: p
    for p in (
        Parameter("epochs", "int", 1, ""), Parameter("lr", "float", 0.5, ""),
        Parameter("name", "str", "a", ""),
        Parameter("fast", "bool", False, ""), Parameter("options", "dict", {}, ""),
        Parameter("sizes", "list", [], ""),
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("epochs", "3", 3), ("lr", "1e-3", 1e-3), ("lr", "2", 2.0), ("name", "3", "3"),
        ("fast", "true", True),
        ("options", "{margin: 0.2}", {"margin": 0.2}), ("options", '{"a": [1]}', {"a": [1]}),
        ("sizes", "[1, 2]", [1, 2]),
    ],
)  # fmt: skip
def test_text_from_the_command_line_takes_the_declared_type(name: str, text: str, value: object) -> None:
    found = complete_parameters(KNOWN, {name: text})[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", "3.5"),
        ("epochs", 3.0),
        ("epochs", True),
        ("lr", "fast"),
        ("name", 3),
        ("fast", "1"),
        ("sizes", "a"),
        ("options", []),
    ],
)
def test_an_ill_typed_value_is_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"parameter {name} is {KNOWN[name].type}, got"):
        complete_parameters(KNOWN, {name: value})


@pytest.mark.parametrize(("kind", "least"), [("Count", 0), ("Natural", 1)])
def test_a_count_is_a_whole_number_that_is_not_too_small(kind: str, least: int) -> None:
    known = {"images": Parameter("images", kind, 5, "")}
    assert complete_parameters(known, {"images": str(least)}) == {"images": least}
    for wrong in (least - 1, str(least - 1)):
        with pytest.raises(ParameterError, match=f"images is {least - 1}; give {least} or more"):
            complete_parameters(known, {"images": wrong})
    for wrong in (True, 5.5, "many"):
        with pytest.raises(ParameterError, match="images is int, got"):
            complete_parameters(known, {"images": wrong})


def test_an_unknown_name_is_refused_with_the_near_ones() -> None:
    with pytest.raises(ParameterError, match="no parameter 'epoch'; did you mean epochs"):
        complete_parameters(KNOWN, {"epoch": 3})


def test_what_is_not_given_keeps_its_default() -> None:
    assert complete_parameters(KNOWN, {"epochs": 4}) == {
        "epochs": 4,
        "lr": 0.5,
        "name": "a",
        "fast": False,
        "options": {},
        "sizes": [],
    }


@pytest.mark.parametrize("text", ['{"lr": 1e-3}', "{lr: 1e-3}", "{lr: +1E-3}", "{lr: 1.e-3}", "{lr: .1e-2}"])
def test_numbers_with_an_exponent_are_numbers_wherever_they_stand(text):
    known = {"config": Parameter("config", "dict", {}, "")}
    assert complete_parameters(known, {"config": text}) == {"config": {"lr": 0.001}}
    assert parse_values({}, {"config": text}) == {"config": {"lr": 0.001}}


@pytest.mark.parametrize("text", [".3", "0.3", "3.e-1", "0.30"])
def test_a_number_alone_is_read_as_one_in_brackets(text):
    known = {"lr": Parameter("lr", "float", 0.0, "")}
    assert parse_values({}, {"lr": text}) == {"lr": 0.3}
    assert parse_values({}, {"of": f"{{lr: {text}}}"}) == {"of": {"lr": 0.3}}
    assert parse_values(known, {"lr": text}) == {"lr": 0.3}


@pytest.mark.parametrize("text", ['{"lr": 1', "[1, 2", "{a: b: c}"])
def test_broken_json_is_one_line_that_shows_it(text):
    with pytest.raises(ValueError, match=r"the value .* cannot be read") as refused:
        parse_values({}, {"data": text})
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)


def test_options_of_data_are_read_by_the_name_that_a_configuration_has_for_them_and_once():
    words = ({"data.size": "8"}, {"data": "{size: 8}"}, {"data.size": "8", "data": "{size: 8}"})
    assert [read_data_options(one) for one in words] == [{"size": 8}] * 3
    with pytest.raises(ValueError, match=r"data\.size is 8 and data\.size is 9"):
        read_data_options({"data.size": "8", "data": "{size: 9}"})
    with pytest.raises(TypeError, match=r"written data\.size"):
        read_data_options({"size": "8"})
    with pytest.raises(TypeError, match="the data have their name already"):
        read_data_options({"data": "8"})
