import pytest

from workbench.english import participle, plural


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("play with", "playing with"), ("run through", "running through"), ("look at", "looking at"),
        ("see", "seeing"), ("in front of", "in front of"), ("be", "being"), ("fill with", "filled with"),
        ("surround by", "surrounded by"), ("chase by", "chased by"), ("throw", "throwing"),
    ],
)  # fmt: skip
def test_verbs_stand_as_participles(relation: str, said: str):
    assert participle(relation) == said


@pytest.mark.parametrize(
    ("word", "many"),
    [
        ("box", "boxes"), ("bus", "buses"), ("child", "children"), ("toy", "toys"), ("sheep", "sheep"),
        ("butterfly", "butterflies"), ("bunny", "bunnies"), ("cat", "cats"), ("cactus", "cacti"),
    ],
)  # fmt: skip
def test_plurals(word: str, many: str):
    assert plural(word) == many
