"""The embedded world: small drawn scenes, English captions made from their graphs, and the exact truth of
every caption.

Nothing is downloaded and nothing is stored: an image is made from its seed, split and number, and drawn when
it is opened.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from workbench.data.scenes.dice import Dice
from workbench.data.scenes.drawing import picture
from workbench.data.scenes.language import LEVELS, chain, short_phrase, statement, verbalise
from workbench.data.scenes.layout import Scene, graph_of, make_scene
from workbench.data.scenes.truth import canonical, judgements
from workbench.records import Rows, SceneGraph, Split

__all__ = ["canonical", "load"]

SIZES = {"train": 8000, "val": 500, "test": 1000}
_SCENE, _CAPTIONS, _CHAINS = range(3)
Told = list[tuple[int, str, SceneGraph]]


class _Pictures:
    """Opens image ``row`` of a split by drawing it."""

    def __init__(self, scenes: tuple[Scene, ...], side: int) -> None:
        self.scenes, self.side = scenes, side

    def __call__(self, row: int) -> Image.Image:
        return picture(self.scenes[row], self.side)


def _captions(dice: Dice, scene: SceneGraph, levels: Sequence[int]) -> Told:
    """Captions of a scene, one of each of these levels, in random order."""
    told = [(level, statement(dice, scene, level)) for level in levels]
    return [(level, verbalise(graph, dice), graph) for level, graph in dice.shuffled(told)]


def _chain(dice: Dice, scene: SceneGraph, _: Sequence[int]) -> Told:
    """The chain of a scene: two bare phrases, a caption, a full sentence."""
    graphs = chain(dice, scene)
    return [(i, (short_phrase if i < 3 else verbalise)(g, dice), g) for i, g in enumerate(graphs, 1)]


_TEXTS = {"captions": (_CAPTIONS, _captions), "chains": (_CHAINS, _chain)}
ALL_LEVELS = tuple(range(1, LEVELS + 1))


def _checked(
    split: str, size: int | None, texts: str, seed: int, image_size: int, levels: Sequence[int]
) -> int:
    """The number of images, once the options are known to make sense."""
    if split not in SIZES:
        raise ValueError(f"scenes: no split {split!r}; choose one of {', '.join(SIZES)}")
    if texts not in _TEXTS:
        raise ValueError(
            f"scenes: no texts {texts!r}; choose 'captions' (five an image) or 'chains' (four, generic to specific)"
        )
    if size is not None and size < 1:
        raise ValueError(f"scenes: size is {size}; give at least 1, or None for the default {SIZES[split]}")
    if seed < 0:
        raise ValueError(f"scenes: seed is {seed}; give 0 or more")
    if not 32 <= image_size <= 1024:
        raise ValueError(f"scenes: image_size is {image_size} pixels; give 32 to 1024")
    if not levels or not set(levels) <= set(ALL_LEVELS):
        raise ValueError(
            f"scenes: levels are {list(levels)}; give one or more of 1 (generic) to {LEVELS} (everything)"
        )
    if texts == "chains" and tuple(levels) != ALL_LEVELS:
        raise ValueError("scenes: levels are those of captions; leave them out with texts='chains'")
    return SIZES[split] if size is None else size


def load(
    split: str = "train",
    size: int | None = None,
    texts: str = "captions",
    seed: int = 0,
    image_size: int = 192,
    levels: Sequence[int] = ALL_LEVELS,
) -> Split:
    """A split of the embedded world.

    Args:
        split: "train", "val" or "test": streams of scenes that have nothing in common.
        size: number of images; ``None`` = 8000, 500 or 1000. A smaller split is the beginning of a larger
            one.
        texts: "captions": five captions an image, of detail ``level`` 1 (one thing, mostly by its kind) to 5
            (everything), in random order; "chains": four texts an image, ``level`` 1 (generic) to 4
            (specific); each follows from the next.
        seed: another seed is another world, drawn from the same vocabulary.
        image_size: side of an image in pixels, 32 to 1024.
        levels: of ``texts="captions"``: the detail of each caption of an image, repeats allowed; by default
            one of each.

    Returns:
        The split, with the whole graph of every scene (its last node is the backdrop), the graph of what
        every caption states, and three judgements: ``"own"``, ``"exact"`` (binary truth) and ``"graded"``
        (share of the statements that hold), each computed when it is asked for.

    Raises:
        ValueError: an option is out of its range.
    """
    count = _checked(split, size, texts, seed, image_size, levels)
    stream, tell = _TEXTS[texts]
    key = (seed, list(SIZES).index(split))
    scenes = tuple(make_scene(Dice(*key, i, _SCENE)) for i in range(count))
    image_graphs = tuple(map(graph_of, scenes))
    told = [tell(Dice(*key, i, stream), graph, levels) for i, graph in enumerate(image_graphs)]
    level, captions, graphs = zip(*[one for several in told for one in several], strict=True)
    each = len(told[0])
    own: Rows = np.repeat(np.arange(count, dtype=np.int64), each)
    return Split(
        name=f"scenes/{split}",
        image_ids=tuple(f"{split}-{seed}-{i}" for i in range(count)),
        captions=captions,
        caption_ids=tuple(f"{split}-{seed}-{i}-{texts}-{k}" for i in range(count) for k in range(each)),
        own=own,
        open_image=_Pictures(scenes, image_size),
        level=np.array(level, dtype=np.int64),
        chain=own.copy() if texts == "chains" else None,
        judgements=judgements(own, graphs, image_graphs),
        image_graphs=image_graphs,
        caption_graphs=graphs,
    )


MEMBER = load
