"""Computed fields: what each member of the registry gives, by hand and by contract."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw

import workbench as wb
from workbench.records import Field, SceneGraph, Split
from workbench.runs.fields import AllFields, field_extractors
from workbench.runs.slices import slices_of

CAPTIONS = ("two red cats sit on a mat", "a dog without a hat", "собака", "a red car left of a blue house")
GRAPHS = (
    SceneGraph(("cat", "mat"), ((0, "two"), (0, "red")), ((0, "sit on", 1),)),
    SceneGraph(("dog", "hat"), (), ()),
    SceneGraph(("собака",)),
    SceneGraph(("car", "house"), ((0, "red"), (1, "blue")), ((0, "left of", 1),)),
)


def drawing(row: int) -> Image.Image:
    image = Image.new("RGB", (20, 10), "black")
    if row == 2:
        ImageDraw.Draw(image).rectangle((10, 0, 19, 9), fill="white")
    return image


def split(**more) -> Split:
    ids = tuple("0123")
    return Split("x", tuple("abc"), CAPTIONS, ids, np.array([0, 1, 2, 2]), drawing, **more)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("words", [7, 5, 1, 8]),
        ("script", ["latin", "latin", "cyrillic", "latin"]),
        ("negation", [False, True, False, False]),
        ("things", [2, 2, 1, 2]),
        ("attributes", [2, 0, 0, 2]),
        ("counts", [1, 0, 0, 0]),
        ("colours", [1, 0, 0, 2]),
        ("relations", [1, 0, 0, 1]),
        ("places", [1, 0, 0, 1]),
        ("relevant_images", [1, 1, 1, 1]),
        ("relevant_captions", [1, 1, 2]),
        ("aspect", [2, 2, 2]),
        ("near_duplicates", [1, 1, 0]),
        ("level", [1, 2, 1, 2]),
    ],
)
def test_a_field_says_what_one_counts_by_hand(name, expected):
    field = AllFields(split(caption_graphs=GRAPHS, level=np.array([1, 2, 1, 2])))[name]
    assert field.cells() == expected
    assert field.source == "computed"


def test_brightness_is_that_of_the_pixels():
    values = AllFields(split())["brightness"].values
    assert values[:2].tolist() == [0, 0]
    assert values[2] == pytest.approx(0.5, abs=0.05)


def test_what_a_model_answers_is_there_where_a_model_is():
    scores = np.array([[3.0, 2, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0]])
    result = wb.evaluate(scores=scores, data=split(), rounds=0)
    assert not {"i2t_rank", "image_hubness"} & set(AllFields(split()))
    fields = AllFields(split(), result)
    assert fields["i2t_rank"].cells() == [1, 2, 3]
    assert fields["t2i_rank"].cells() == [3, 3, 3, 3]
    assert fields["image_hubness"].cells() == [4, 4, 4]
    with pytest.raises(KeyError, match="'i2t_rank' is computed of the answers of a model"):
        slices_of(split(), "i2t_rank", "i2t")


def test_tokens_and_cuts_are_those_of_the_model():
    maker = SimpleNamespace(
        count_truncated=lambda captions, signal: len(captions[0].split()) > 6, transform=len
    )
    model = SimpleNamespace(
        token_texts=lambda captions: [caption.split()[:6] for caption in captions],
        source=lambda split: None,
        count_truncated=lambda source: (2, 6),
        makers={"tokens": maker},
        reads=["tokens"],
    )
    fields = AllFields(split(), SimpleNamespace(model=model))
    assert fields["tokens"].cells() == [6, 5, 1, 6]
    assert fields["cut"].cells() == [True, False, False, True]


def test_a_column_of_the_data_goes_before_a_computed_field_of_its_name():
    fields = AllFields(split(fields={"words": Field.from_cells("words", [1, 2, 3, 4])}))
    assert fields["words"].cells() == [1, 2, 3, 4]
    assert list(fields).count("words") == 1


@pytest.fixture(scope="module")
def evaluated():
    data = wb.load_data("scenes", split="test", size=12)
    rng = np.random.default_rng(0)
    sides = (rng.normal(size=(len(ids), 4)) for ids in (data.image_ids, data.captions))
    return wb.evaluate(images=next(sides), texts=next(sides), data=data, rounds=0)


@pytest.mark.parametrize("name", field_extractors())
def test_every_member_has_a_value_a_row_and_its_slices_are_the_whole(name, evaluated):
    data = evaluated.split
    fields = AllFields(data, evaluated)
    if name not in fields:
        assert field_extractors()[name].needs == "tokens"  # vectors have no tokenizer
        return
    field = fields[name]
    assert (field.name, field.kind, field.owner) == (
        name, field_extractors()[name].kind, field_extractors()[name].owner
    )  # fmt: skip
    assert len(field.values) == len(data.image_ids if field.owner == "image" else data.captions)
    for direction in ("i2t", "t2i"):
        masks = np.array(list(slices_of(data, name, direction, fields=fields).values()))
        assert (masks.sum(axis=0) == 1).all()


def test_the_guide_lists_every_computed_field():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "fields.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)`", guide))
    assert set(field_extractors()) <= listed
