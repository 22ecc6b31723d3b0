import pytest

from workbench.english import plural


@pytest.mark.parametrize(
    ("word", "many"),
    [
        ("box", "boxes"), ("bus", "buses"), ("child", "children"), ("toy", "toys"), ("sheep", "sheep"),
        ("butterfly", "butterflies"), ("bunny", "bunnies"), ("cat", "cats"), ("cactus", "cacti"),
    ],
)  # fmt: skip
def test_plurals(word: str, many: str):
    assert plural(word) == many
