"""The synthetic scenes: small drawn scenes, English captions made from their graphs, and the exact truth of
every caption.

Nothing is downloaded and nothing is stored: an image is made from its seed, split and number, and drawn when
it is opened.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval, MinLen
from caption_graphs.swaps import swapped

from scene_world.dice import Dice
from scene_world.drawing import draw_scene
from scene_world.language import LEVELS, chain, short_phrase, statement, verbalise
from scene_world.placement import Scene, graph_of, make_scene
from scene_world.truth import judgements
from scene_world.typed import canonical_graph, grade
from workbench.data.loader import SHARE, loader
from workbench.data.reading import draw_numbers
from workbench.records import Field, Rows, SceneGraph, Split, require
from workbench.registry import Count, Natural

__all__ = ["canonical_graph", "load", "placements"]

SIZES = {"train": 8000, "val": 500, "test": 1000}
# each question about a scene has its own stream of choices
_SCENE, _CAPTIONS, _CHAINS = range(3)
Caption = tuple[int, str, SceneGraph]
ALL_LEVELS = tuple(range(1, LEVELS + 1))


def _captions(dice: Dice, scene: SceneGraph, levels: Sequence[int]) -> list[Caption]:
    """Return captions of a scene, one of each of these levels, in random order."""
    stated = dice.shuffled([(level, statement(dice, scene, level)) for level in levels])
    return [(level, verbalise(graph, dice), graph) for level, graph in stated]


def _chain_captions(dice: Dice, scene: SceneGraph, _: Sequence[int]) -> list[Caption]:
    """Return the chain of a scene: two bare phrases, a caption, a full sentence."""
    captions = []
    for level, graph in enumerate(chain(dice, scene), 1):
        write = short_phrase if level < 3 else verbalise
        captions.append((level, write(graph, dice), graph))
    return captions


def placements(split: str, rows: Iterable[int], seed: int = 0) -> list[Scene]:
    """Return what stands where in these rows of a split, without captions."""
    return [make_scene(Dice(seed, list(SIZES).index(split), row, _SCENE)) for row in rows]


@loader(positives=("own", "exact", "graded"), unjudged={"texts": "swaps"}, training=SHARE)
def load(
    split: Literal["train", "val", "test"] = "train",
    size: Natural | None = None,
    share: Annotated[float, Interval(gt=0, le=1)] = 1.0,
    share_seed: Count = 0,
    texts: Literal["captions", "chains", "swaps"] = "captions",
    seed: Count = 0,
    image_size: Annotated[int, Interval(ge=32, le=1024)] = 192,
    levels: Annotated[Sequence[Annotated[int, Interval(ge=1, le=LEVELS)]], MinLen(1)] = ALL_LEVELS,
) -> Split:
    """Return a split of the synthetic scenes.

    Args:
        split: "train", "val" or "test": streams of scenes that have nothing in common.
        size: number of images; ``None`` = 8000, 500 or 1000. A smaller split is the beginning of a larger
            one.
        share: of the training images, e.g. 0.1 for a reduced split.
        share_seed: which images a share takes; a run gives its own seed.
        texts: "captions": five captions an image, of detail ``level`` 1 (one thing, mostly by its kind) to 5
            (everything), in random order; "chains": four texts an image, ``level`` 1 (generic) to 4
            (specific); each follows from the next. "swaps": the captions, and of each its counterfactuals
            with two attributes, two things or the sides of a relation exchanged that are false of the image.
        seed: another seed is another world, drawn from the same vocabulary.
        image_size: side of an image in pixels, 32 to 1024.
        levels: of ``texts="captions"``: the detail of each caption of an image, repeats allowed; by default
            one of each.

    Returns:
        The split, with the whole graph of every scene (its last node is the backdrop), the graph of what
        every caption states, and three judgements: ``"own"``, ``"exact"`` (binary truth) and ``"graded"``
        (share of the statements that hold), each computed when it is asked for.

    Raises:
        ValueError: an option is out of its range, levels are given for chains, or a share of a split that is
            not for training.
    """
    require(share == 1 or split == "train", f"scenes: share is {share} of {split!r}; leave it to training")
    require(
        texts != "chains" or tuple(levels) == ALL_LEVELS,
        "scenes: levels are those of captions; leave them out with texts='chains'",
    )
    rows = draw_numbers(SIZES[split] if size is None else size, share, share_seed)
    stream, write = (_CHAINS, _chain_captions) if texts == "chains" else (_CAPTIONS, _captions)
    key = (seed, list(SIZES).index(split))
    scenes = placements(split, rows, seed)
    image_graphs = tuple(map(graph_of, scenes))
    written = [write(Dice(*key, i, stream), graph, levels) for i, graph in zip(rows, image_graphs)]
    caption_levels, captions, graphs = zip(*itertools.chain.from_iterable(written), strict=True)
    image_ids = tuple(f"{split}-{seed}-{i}" for i in rows)
    own: Rows = np.repeat(np.arange(len(rows), dtype=np.int64), len(written[0]))
    loaded = Split(
        name=f"scenes/{split}",
        image_ids=image_ids,
        captions=captions,
        caption_ids=_caption_ids(image_ids, texts, len(written[0])),
        own=own,
        open_image=lambda row: draw_scene(scenes[row], image_size),
        level=np.array(caption_levels, dtype=np.int64),
        chain=own.copy() if texts == "chains" else None,
        judgements=judgements(own, graphs, image_graphs),
        image_graphs=image_graphs,
        caption_graphs=graphs,
        grade=grade,
        fields=_fields(scenes),
    )
    return swapped(loaded) if texts == "swaps" else loaded


def _fields(scenes: Sequence[Scene]) -> dict[str, Field]:
    """Name the backdrop of each scene, and count the things before it."""
    cells: dict[str, list[Any]] = {
        "backdrop": [scene.backdrop for scene in scenes],
        "drawn_things": [len(scene.things) for scene in scenes],
    }
    source = "the scenes"
    return {
        name: Field.from_cells(name, values, owner="image", source=source) for name, values in cells.items()
    }


def _caption_ids(image_ids: Sequence[str], texts: str, each: int) -> tuple[str, ...]:
    return tuple(f"{image}-{texts}-{k}" for image, k in itertools.product(image_ids, range(each)))
