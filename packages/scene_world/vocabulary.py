"""What the synthetic scenes can show and say: nouns with their kinds, attributes, backdrops, relations, and
the words for them.

A *canonical* word stands in scene graphs (``"rabbit"``, ``"large"``, ``"left of"``); captions choose among
its synonyms. A noun's ``kinds`` are its hypernyms from near to far: an apple is a fruit, a fruit is food.
"""

from dataclasses import dataclass

Range = tuple[int, int, int]


@dataclass(frozen=True)
class Noun:
    """One thing that a scene can hold.

    Args:
        kinds: hypernyms, nearest first.
        width: width of its pictogram in percent of the height.
        says: words for it, the canonical one first.
        places: where it may be: ``"ground"``, ``"air"``, ``"top"`` (on another thing), ``"inside"`` (in
            another thing).
        carries: ``(y, x0, x1)`` in percent of its box: the surface that another thing can stand on.
        holds: ``(y, x0, x1)`` in percent of its box: the opening that another thing can look out of.
    """

    kinds: tuple[str, ...]
    width: int
    says: tuple[str, ...]
    places: tuple[str, ...] = ("ground",)
    carries: Range | None = None
    holds: Range | None = None


_LIGHT = ("ground", "top", "inside")

NOUNS: dict[str, Noun] = {
    "cat": Noun(("animal",), 85, ("cat",), _LIGHT),
    "dog": Noun(("animal",), 100, ("dog",), _LIGHT),
    "rabbit": Noun(("animal",), 75, ("rabbit", "bunny"), _LIGHT),
    "elephant": Noun(("animal",), 125, ("elephant",), carries=(24, 8, 52)),
    "turtle": Noun(("animal",), 150, ("turtle", "tortoise"), _LIGHT, carries=(12, 16, 66)),
    "bird": Noun(("animal",), 110, ("bird",), ("ground", "air", "air", "top", "inside")),
    "butterfly": Noun(("animal",), 115, ("butterfly",), ("air", "top")),
    "car": Noun(("vehicle",), 170, ("car", "automobile"), carries=(10, 26, 74)),
    "bus": Noun(("vehicle",), 160, ("bus",), carries=(6, 8, 92)),
    "truck": Noun(("vehicle",), 165, ("truck", "lorry"), carries=(4, 4, 60)),
    "boat": Noun(("vehicle",), 140, ("boat",), holds=(58, 14, 90)),
    "airplane": Noun(("vehicle",), 170, ("airplane", "plane"), ("ground", "air", "air")),
    "rocket": Noun(("vehicle",), 55, ("rocket",), ("ground", "air")),
    "tree": Noun(("plant",), 80, ("tree",)),
    "flower": Noun(("plant",), 65, ("flower",), ("ground", "inside")),
    "cactus": Noun(("plant",), 80, ("cactus",)),
    "bush": Noun(("plant",), 130, ("bush", "shrub")),
    "house": Noun(("building",), 100, ("house",)),
    "castle": Noun(("building",), 100, ("castle",)),
    "lighthouse": Noun(("building",), 50, ("lighthouse",)),
    "windmill": Noun(("building",), 85, ("windmill",)),
    "apple": Noun(("fruit", "food"), 92, ("apple",), _LIGHT),
    "banana": Noun(("fruit", "food"), 125, ("banana",), _LIGHT),
    "pear": Noun(("fruit", "food"), 75, ("pear",), _LIGHT),
    "carrot": Noun(("food",), 60, ("carrot",), _LIGHT),
    "cake": Noun(("food",), 110, ("cake",), ("ground", "top")),
    "ball": Noun(("toy",), 100, ("ball",), _LIGHT),
    "kite": Noun(("toy",), 70, ("kite",), ("air",)),
    "balloon": Noun(("toy",), 65, ("balloon",), ("air",)),
    "table": Noun(("furniture",), 150, ("table",), carries=(9, 4, 96)),
    "chair": Noun(("furniture",), 75, ("chair",), carries=(54, 22, 96)),
    "box": Noun(("container",), 120, ("box", "crate"), ("ground", "top"), holds=(40, 10, 90)),
    "basket": Noun(("container",), 110, ("basket",), ("ground", "top"), holds=(46, 8, 92)),
    "bucket": Noun(("container",), 90, ("bucket", "pail"), ("ground", "top"), holds=(32, 8, 92)),
}
KINDS: dict[str, tuple[str, ...]] = {
    "animal": ("animal", "creature"), "vehicle": ("vehicle",), "plant": ("plant",), "building": ("building",),
    "fruit": ("fruit",), "food": ("food",), "toy": ("toy",), "furniture": ("furniture",),
    "container": ("container",),
}  # fmt: skip
MASS = ("food", "furniture", "fruit")

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (224, 58, 52), "yellow": (250, 206, 48), "green": (66, 168, 80), "blue": (52, 118, 224),
    "pink": (247, 142, 190), "brown": (146, 94, 54), "white": (246, 246, 242), "black": (62, 62, 70),
}  # fmt: skip
SIZES: dict[str, tuple[str, ...]] = {"small": ("small", "little"), "large": ("large", "big")}
PATTERNS: dict[str, tuple[str, ...]] = {
    "plain": ("plain",),
    "striped": ("striped", "stripy"),
    "spotted": ("spotted", "dotted"),
}
COUNTS = {2: "two", 3: "three"}
PLURAL = "plural"
ATTRIBUTES = (*COLOURS, *SIZES, *PATTERNS, *COUNTS.values(), PLURAL)

BACKDROPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "meadow": ("in", ("a meadow", "a field", "the meadow")),
    "beach": ("on", ("a beach", "the beach")),
    "snow": ("in", ("the snow",)),
    "street": ("on", ("a street", "the street", "a city street")),
    "desert": ("in", ("the desert", "a desert")),
    "mountain": ("in", ("the mountains",)),
    "night": ("at", ("night",)),
    "sunset": ("at", ("sunset",)),
}
RELATIONS: dict[str, tuple[str, ...]] = {
    "left of": ("to the left of", "on the left of", "left of"),
    "right of": ("to the right of", "on the right of", "right of"),
    "above": ("above", "over"),
    "below": ("below", "under", "beneath"),
    "in front of": ("in front of",),
    "behind": ("behind",),
    "on": ("on", "on top of"),
    "in": ("in", "inside"),
    "next to": ("next to", "beside"),
    "at": ("at",),
}
CONVERSE = {
    "left of": "right of",
    "right of": "left of",
    "above": "below",
    "below": "above",
    "in front of": "behind",
    "behind": "in front of",
    "next to": "next to",
}


def is_a(noun: str, word: str) -> bool:
    """Return whether a thing of this noun may be called by this canonical word: its own noun or one of its
    kinds.

    Args:
        noun: a key of ``NOUNS`` or ``BACKDROPS``, e.g. ``"apple"``.
        word: a noun, kind or backdrop, e.g. ``"food"``.

    Returns:
        True for ``("apple", "apple")``, ``("apple", "fruit")`` and ``("apple", "food")``.
    """
    return noun == word or (noun in NOUNS and word in NOUNS[noun].kinds)
