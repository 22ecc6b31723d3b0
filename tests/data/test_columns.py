"""The one table of names that columns, fields and arrays have."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.data.columns import (
    NAMES,
    column_notes,
    field,
    find_columns,
    matching_columns,
    unread_columns,
)


@pytest.mark.parametrize("ours", NAMES)
def test_every_accepted_name_is_found_and_no_name_means_two_things(ours):
    for name in NAMES[ours]:
        columns = find_columns({"image": 0, "caption": 0, name: 0}, "t.csv", {})
        assert ours in columns
        assert matching_columns([name.upper().replace("_", " ")], ours) or ours in ("level", "chain")
        assert [other for other in NAMES if name in NAMES[other]] == [ours]


def test_the_id_of_an_image_names_it_where_nothing_else_does():
    assert find_columns(["image_id", "caption"], "t.csv", {}) == {
        "image": ("image_id",),
        "caption": ("caption",),
    }
    columns = find_columns(["image", "image_id", "caption"], "t.csv", {})
    assert (columns["image"], columns["image_id"]) == (("image",), ("image_id",))


def test_a_chosen_column_that_is_not_there_and_a_name_that_is_not_ours_are_refused():
    names = ["image", "caption", "id"]
    with pytest.raises(ValueError, match=r"''\W+names none"):
        find_columns(names, "t.csv", {"id": ""})
    with pytest.raises(ValueError, match=r"'captoin'.*did you mean caption"):
        find_columns(names, "t.csv", {"captoin": "caption"})
    with pytest.raises(ValueError, match="image, caption are needed"):
        find_columns(names, "t.csv", {"image": None})
    assert "id" not in find_columns(names, "t.csv", {"id": None})


def test_candidates_are_named_and_one_can_be_chosen():
    names = ["image", "text", "title"]
    with pytest.raises(ValueError, match=r"text and title.*may hold the caption.*'caption': 'text'"):
        find_columns(names, "t.csv", {})
    columns = find_columns(names, "t.csv", {"caption": "title"})
    assert columns["caption"] == ("title",)
    assert unread_columns(names, columns) == ["text"]
    assert column_notes(columns, ["text"]) == ("columns: caption = title", "columns that were not read: text")


def test_a_field_inside_a_column_is_read_by_its_path():
    path = ("caption.en",)
    assert find_columns(["image", "caption"], "t.json", {"caption": "caption.en"})["caption"] == path
    assert column_notes({"image": ("image",), "caption": path}, []) == ("columns: caption = caption.en",)
    assert field({"caption": {"en": "a thing", "de": "ein Ding"}}, path) == "a thing"
    assert field({"caption": [{"en": "one"}, {"en": "two"}]}, path) == ["one", "two"]
    assert (
        field({"caption.en": "a column of that name", "caption": {"en": "no"}}, path)
        == "a column of that name"
    )
    assert field({"caption": [{"en": "one"}, {"de": "eins"}]}, path) == ["one"]
    assert field({"caption": None}, path) is None
    for other in ({"de": "ein Ding"}, [{"de": "ein Ding"}], "a text"):
        with pytest.raises(ValueError, match=r"de, and without en|'a text', and no object with en"):
            field({"caption": other}, path)


def test_the_guide_lists_every_accepted_name():
    lines = (
        (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text(encoding="utf-8").splitlines()
    )
    cells = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in lines if line.startswith("| ")}
    for ours, names in NAMES.items():
        assert cells[ours][1] == ", ".join(f"`{name}`" for name in names)
