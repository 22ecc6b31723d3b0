"""Fields: their kinds, what is missing, and the rows that they keep."""

from dataclasses import replace

import numpy as np
import pytest

from workbench.records import Field, Split


@pytest.mark.parametrize(
    ("cells", "kind", "back"),
    [
        (["3", "", 4.5, None], "number", [3, None, 4.5, None]),
        ([True, "false", None], "flag", [True, False, None]),
        (["de", "en", "de", float("nan")], "category", ["de", "en", "de", None]),
        (
            ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"],
            "text",
            ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"],
        ),
        (["007", "008", "007", "008"], "category", ["007", "008", "007", "008"]),
        ([["cat", "dog"], [], ["cat", "dog"]], "category", ["cat, dog", None, "cat, dog"]),
        ([np.int64(1), np.float32(2)], "number", [1, 2]),
        (["true", "3"], "category", ["true", "3"]),
    ],
)
def test_a_kind_is_inferred_and_the_cells_come_back(cells, kind, back):
    field = Field.from_cells("x", cells)
    assert field.kind == kind
    assert field.cells() == back
    assert field.missing.tolist() == [cell is None for cell in back]


def test_values_of_another_form_than_their_kind_are_refused():
    with pytest.raises(ValueError, match="field 'x': a number has values of float64"):
        Field("x", np.array(["a"], dtype=object), kind="number")


def split_with_fields() -> Split:
    own, texts = np.array([0, 0, 1, 2]), tuple("abcd")
    fields = {
        "language": Field.from_cells("language", ["de", "en", "de", "en"]),
        "place": Field.from_cells("place", ["sea", "town", "sea"], owner="image"),
    }
    return Split("x", tuple("012"), texts, texts, own, lambda row: None, fields=fields)


def test_the_first_images_keep_their_fields():
    first = split_with_fields().first(2)
    assert first.fields["language"].cells() == ["de", "en", "de"]
    assert first.fields["place"].cells() == ["sea", "town"]


def test_a_field_of_another_length_is_refused():
    own, texts = np.array([0, 1]), ("a", "b")
    fields = {"place": Field.from_cells("place", ["sea"], owner="image")}
    with pytest.raises(ValueError, match="field 'place' has 1 rows, expected 2"):
        Split("x", texts, texts, texts, own, lambda row: None, fields=fields)


def test_a_part_of_a_split_has_its_rows_images_and_judgements():
    whole = replace(split_with_fields(), open_image=lambda row: f"image {row}", stamp=lambda row: 10 + row)
    part = whole.restrict(np.array([0, 2]), np.array([1, 3]))
    assert (part.image_ids, part.captions, part.own.tolist()) == (("0", "2"), ("b", "d"), [0, 1])
    assert [part.open_image(row) for row in range(2)] == ["image 0", "image 2"]
    assert part.stamps().tolist() == [10, 12]
    assert part.fields["language"].cells() == ["en", "en"]
    assert part.judgements["own"].dense().tolist() == [[1, 0], [0, 1]]
