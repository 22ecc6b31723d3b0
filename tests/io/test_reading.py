"""Content that others wrote is understood, or refused under its name."""

from __future__ import annotations

import zlib

import pytest

from workbench.io import parse_json, parse_yaml, read_options, read_text, reading_errors, validate


def test_what_a_parser_raises_names_the_file_and_what_we_do_wrong_is_not_called_damage():
    for error in (ValueError("a\n b"), RecursionError(), EOFError("x"), zlib.error("y")):
        with (
            pytest.raises(ValueError, match=r"^a.json is not whole: .+$"),
            reading_errors("a.json", "is not whole"),
        ):
            raise error
    for error in (KeyError("x"), TypeError("x"), AttributeError("x"), AssertionError("x"), MemoryError()):
        with pytest.raises(type(error)), reading_errors("a.json"):
            raise error
    with pytest.raises(FileNotFoundError), reading_errors("a.json"):
        raise FileNotFoundError("no a.json")


def test_content_of_another_form_is_refused_by_its_place():
    assert validate({"1": [2, "3"]}, dict[int, list[int]], "a.json") == {1: [2, 3]}
    with pytest.raises(ValueError, match=r"^a.json cannot be read: 1.0: Input should be .*, found 'x'$"):
        validate({"1": ["x"]}, dict[int, list[int]], "a.json")


def test_a_text_that_is_not_in_utf8_is_named(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfred")
    assert read_text(tmp_path / "a.txt") == "red"
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"a.txt is not a text in UTF-8: .* byte 0xe9 in position 3"):
        read_text(tmp_path / "a.txt")


def test_options_keep_what_yaml_has_for_them(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("base: &base {a: 1, b: [x, y]}\nmore: {<<: *base, a: 2}\nsame: *base\n")
    base = {"a": 1, "b": ["x", "y"]}
    assert read_options(file) == {"base": base, "more": {**base, "a": 2}, "same": base}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "seed: 1\nseed: 2", "cannot be read: 'seed' stands twice in one place"),
        ("a.json", '{"a": {"seed": 1, "seed": 2}}', "cannot be read: 'seed' stands twice in one place"),
        ("a.yaml", "on: 1", "valid string, found True"),
        ("a.yaml", "grid: {margin: [0.1, .nan]}", r"grid.*margin.*1.*finite number, found nan"),
        ("a.json", '{"lr": NaN}', "lr.*finite number, found nan"),
        ("a.yaml", "a: &a {b: *a}", "cyclic reference"),
        ("a.yaml", f"a: {'[' * 500}{']' * 500}", "cannot be read: maximum recursion"),
        ("a.json", "[" * 100_000, "cannot be read: maximum recursion"),
        ("a.yaml", "a: !!bool maybe", "cannot be read: 'maybe'"),
        ("a.yaml", "a: 2001-99-99", "cannot be read: month must be in"),
        ("a.yaml", "a: \x07", "cannot be read: unacceptable character"),
        ("a.yaml", "[1, 2]", r" holds \[1, 2\]; write names with their values"),
    ],
)
def test_options_that_cannot_be_are_refused_by_file_and_place(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=rf"{name}.*{said}"):
        read_options(tmp_path / name)


def test_json_of_a_reader_is_whole():
    assert parse_json('{"a": [1, null]}', "a.json") == {"a": [1, None]}
    with pytest.raises(ValueError, match=r"a.json cannot be read: Expecting"):
        parse_json('{"a": 1', "a.json")


def test_yaml_reads_numbers_by_the_rule_of_its_version_1_2():
    text = "[1e-4, -2E3, 1.5e2, 3, 1e, e3, 12e5x, '1e3', v1e3]"
    assert parse_yaml(text, "x") == [1e-4, -2000.0, 150.0, 3, "1e", "e3", "12e5x", "1e3", "v1e3"]
