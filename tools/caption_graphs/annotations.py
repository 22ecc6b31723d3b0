"""The captions that were annotated for the parser, and the images that they are of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from caption_graphs import annotations
from caption_graphs.annotations import (
    TEXTS,
    Agreement,
    Annotated,
    Part,
    agreement,
    coco_annotations,
    texts,
)

__all__ = [
    "DATA",
    "MEASURING",
    "TEXTS",
    "Agreement",
    "Annotated",
    "Part",
    "agreement",
    "annotated",
    "image_keys",
    "records",
    "texts",
]

DATA = Path(__file__).parent / "data"
MEASURING: tuple[Part, ...] = ("test", "held", "last")


def annotated(root: Path | str = "", part: Part = "test") -> Annotated:
    """Those of a part, see ``caption_graphs.annotations``."""
    return annotations.read_annotated(DATA / "annotated.jsonl", root, part)


def records() -> list[dict[str, Any]]:
    """Every annotated caption of all parts."""
    return annotations.records(DATA / "annotated.jsonl")


def image_keys(root: Path) -> Callable[[str, str], tuple[str, str]]:
    """Which image a caption is of, by its source and id; the chain of a row of HierarCaps counts as one.

    Args:
        root: the folder that holds the files of ``TEXTS``.
    """
    of = {str(one["id"]): str(one["image_id"]) for one in coco_annotations(root / TEXTS["coco"])}
    return lambda source, name: (source, of[name] if source == "coco" else name.partition("#")[0])
