"""What each rule of the parser is worth: ``python -m tools.caption_graphs.leave_one_out`` writes the table
into ``data/README.md``. A rule that can be taken out without a loss goes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from unittest.mock import patch

import caption_graphs
from caption_graphs import placement, spelling, tree, wording
from caption_graphs.looks import NOTHING
from caption_graphs.tree import Tree
from caption_graphs.vocabulary import Word

from tools.caption_graphs.annotations import DATA, MEASURING, Part, agreement, annotated
from workbench.records import SceneGraph

# captions that suggested no rule
PARTS: tuple[Part, ...] = (*MEASURING, "fresh2")
HEADING = "| rule | captions | objects | attributes | relations |"
MOVERS = (
    "attach_listed_noun",
    "attach_place_to_seen",
    "attach_phrase_to_held",
    "attach_surroundings",
)


class Worth(NamedTuple):
    """How many captions are read otherwise without a rule, and the points of F1 (of 100) that are lost."""

    captions: int
    objects: float
    attributes: float
    relations: float


def rules() -> dict[str, AbstractContextManager[Any]]:
    """Each rule by name, with what takes it out."""
    folding = dict.fromkeys(rule.apply for rule in wording.RULES)
    without = {apply.__name__: _without_folding(apply) for apply in folding}
    without["opening_frame"] = patch.object(wording, "opening_frame", lambda words: 0)
    without["hyphenated"] = patch.object(wording, "hyphenated_word", Word)
    without |= {name: patch.object(placement, name, lambda tree, i: None) for name in MOVERS}
    without["spelling: guess"] = patch.object(spelling, "guess_word", lambda word: word)
    without["spelling: slips"] = patch.dict(spelling.SLIPS, clear=True)
    without["spelling: meant"] = patch.object(spelling, "meant_word", lambda before, word, after: word)
    without["spelling: alive"] = patch.dict(spelling.ALIVE, clear=True)
    return without


def _without_folding(apply: Callable[..., Any]) -> AbstractContextManager[Any]:
    kept = (
        rule if rule.apply is not apply else rule._replace(apply=lambda words, at: NOTHING)
        for rule in wording.RULES
    )
    return patch.object(wording, "RULES", tuple(kept))


def measured(root: str = "") -> dict[str, Worth]:
    """What each rule is worth on the captions of ``PARTS`` together.

    Args:
        root: the folder of the captions; empty = the one that ``WORKBENCH_DATA`` names.
    """
    parts = [annotated(root, part) for part in PARTS]
    captions = [caption for part in parts for caption in part.captions]
    truth = [graph for part in parts for graph in part.graphs]
    with patch.object(tree, "parse_trees", _remembered(tree.parse_trees)):
        whole = _parse(captions)
        best = [part.f1 for part in agreement(whole, truth).values()]
        worth = {}
        for name, without in rules().items():
            with without:
                graphs = _parse(captions)
            losses = (f1 - part.f1 for f1, part in zip(best, agreement(graphs, truth).values(), strict=True))
            changed = sum(a != b for a, b in zip(graphs, whole, strict=True))
            worth[name] = Worth(changed, *(100 * loss for loss in losses))
    return worth


def _parse(captions: Sequence[str]) -> tuple[SceneGraph, ...]:
    spelling.spell.cache_clear()
    graphs = caption_graphs.parse(captions)
    spelling.spell.cache_clear()
    return graphs


def _remembered(trees: Callable[[Sequence[Sequence[Word]]], Iterator[Tree]]) -> Callable[..., Iterator[Tree]]:
    """The parser of sentences, which reads each only once."""
    parsed: dict[tuple[str, ...], Tree] = {}

    def remembered(sentences: Sequence[Sequence[Word]]) -> Iterator[Tree]:
        keys = [tuple(word.token for word in words) for words in sentences]
        new = {key: words for key, words in zip(keys, sentences, strict=True) if key not in parsed}
        parsed.update(zip(new, trees(list(new.values())), strict=True))
        for key, words in zip(keys, sentences, strict=True):
            one = parsed[key]
            yield Tree(words, one.tags.copy(), one.deps.copy(), one.heads.copy())

    return remembered


def table(worth: dict[str, Worth]) -> list[str]:
    """The rows of the table in the guide."""
    return [
        f"| {name} | {one.captions} | {one.objects:.2f} | {one.attributes:.2f} | {one.relations:.2f} |"
        for name, one in worth.items()
    ]


if __name__ == "__main__":
    guide = DATA / "README.md"
    lines = guide.read_text("utf-8").splitlines()
    begin = lines.index(HEADING) + 2
    end = next(i for i in range(begin, len(lines)) if not lines[i].startswith("|"))
    rows = table(measured(os.environ.get("WORKBENCH_DATA", "")))
    guide.write_text("\n".join([*lines[:begin], *rows, *lines[end:]]) + "\n", "utf-8")
