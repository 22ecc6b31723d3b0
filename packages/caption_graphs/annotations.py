"""How well parsed scene graphs agree with those that people annotated."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workbench.io import expand_home, parse_json, read_csv, read_text, reading_errors
from workbench.records import SceneGraph, require
from workbench.text.tuple_f1 import PARTS, TupleScore, tuple_scores

TEXTS = {
    "flickr8k": "flickr8k/Flickr8k.token.txt",
    "coco": "coco/captions_val2017.json",
    "hierarcaps": "hierarcaps/hierarcaps_test.csv",
}
Part = Literal["dev", "test", "seen", "held", "fresh", "late", "last", "fresh2"]


class Agreement(NamedTuple):
    """Micro-averaged figures in [0, 1]; a figure over nothing is 0."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Annotated:
    """Captions with the graphs that an annotator gave them.

    Args:
        ids: ``(source, id)`` of each caption.
        captions: their texts.
        graphs: one a caption.
    """

    ids: tuple[tuple[str, str], ...]
    captions: tuple[str, ...]
    graphs: tuple[SceneGraph, ...]


def read_annotated(file: Path | str, root: Path | str = "", part: Part = "test") -> Annotated:
    """Return annotated captions; the file holds their graphs, and their texts are looked up.

    Args:
        file: JSON lines, such as ``tools/caption_graphs/data/annotated.jsonl`` of the repository.
        root: the folder that holds the files of ``TEXTS`` that the part is drawn from; empty = the one that
            ``WORKBENCH_DATA`` names.
        part: ``"dev"`` (60 captions), ``"seen"`` (150), ``"fresh"`` (200) or ``"late"`` (8,300), for writing
            rules; ``"test"`` (200), ``"held"`` (150) or ``"last"`` (300), for measuring; ``"fresh2"`` (100),
            on which parsers are compared.

    Raises:
        FileNotFoundError: a file of captions is absent.
        ValueError: a caption is absent, or its text is not the one that was annotated.
    """
    rows = [row for row in records(file) if row["part"] == part]
    base = expand_home(root or os.environ.get("WORKBENCH_DATA", ""))
    drawn = dict.fromkeys(row["source"] for row in rows)
    known = {source: texts(base / TEXTS[source], source) for source in drawn}
    graphs = tuple(SceneGraph.from_lists(row["objects"], row["attributes"], row["relations"]) for row in rows)
    captions = tuple(_require_text(row, known[row["source"]]) for row in rows)
    return Annotated(tuple((row["source"], row["id"]) for row in rows), captions, graphs)


def records(file: Path | str) -> list[dict[str, Any]]:
    """Return every annotated caption of all parts, as the file has it."""
    return [parse_json(line, file) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def texts(path: Path, source: str) -> dict[str, str]:
    """Return all captions of a source by id.

    Args:
        path: its file of captions.
        source: ``"flickr8k"``, ``"coco"`` or ``"hierarcaps"``; the last has four texts a row, from ``"0#0"``,
            the most generic of row 0, to ``"0#3"``.

    Raises:
        FileNotFoundError: the file is absent.
        ValueError: it is damaged, or something else.
    """
    absent = f"annotated captions: no {path}; the texts of {source} are looked up there"
    require(path.is_file(), absent, FileNotFoundError)
    with reading_errors(path, f"does not hold the texts of {source}"):
        if source == "coco":
            return {str(row["id"]): row["caption"].strip() for row in coco_annotations(path)}
        captions: dict[str, str] = {}
        if source == "hierarcaps":
            for row, chain in read_csv(path).set_index("id")["captions"].items():
                captions |= {f"{row}#{level}": text for level, text in enumerate(chain.split(" => "))}
        else:
            lines = (line for line in read_text(path).splitlines() if "\t" in line)
            captions = dict(line.split("\t", 1) for line in lines)
        return {name: caption.strip() for name, caption in captions.items()}


def coco_annotations(path: Path) -> list[dict[str, Any]]:
    """Return the captions of a file of COCO, each with its id and that of its image."""
    return list(parse_json(read_text(path), path)["annotations"])


def _require_text(row: dict[str, Any], texts: dict[str, str]) -> str:
    name = f"{row['source']} {row['id']!r}"
    require(row["id"] in texts, f"annotated captions: there is no caption {name}; is the file complete?")
    text = texts[row["id"]]
    same = hashlib.sha256(text.encode()).hexdigest()[:16] == row["sha256"]
    require(same, f"annotated captions: the text of {name} is not the one that was annotated")
    return text


def agreement(parsed: Sequence[SceneGraph], truth: Sequence[SceneGraph]) -> dict[str, Agreement]:
    """Return precision, recall and F1 of tuples over all captions together, as sets within a caption.

    Args:
        parsed: ``N`` graphs.
        truth: ``N`` graphs of the same captions.

    Returns:
        ``"objects"``, ``"attributes"`` and ``"relations"``, an ``Agreement`` each.

    Raises:
        ValueError: the numbers of graphs differ.

    Example:
        >>> found = SceneGraph(("man", "dog"), ((0, "tall"),))
        >>> agreement([found], [SceneGraph(("man", "hat"))])["objects"]
        Agreement(precision=0.5, recall=0.5, f1=0.5)
    """
    require(
        len(parsed) == len(truth),
        f"agreement: {len(parsed)} parsed graphs, {len(truth)} annotated ones; give the same captions",
    )
    scores = [tuple_scores(mine, [theirs]) for mine, theirs in zip(parsed, truth, strict=True)]
    figures = {}
    for part in PARTS:
        total = sum((score[part] for score in scores), TupleScore(0, 0, 0))
        figures[part] = Agreement(total.precision, total.recall, total.f1)
    return figures
