"""Whether two results were measured on the same data, by what ``results.json`` keeps of a split: its name,
its counts and its checksums. Nothing here needs torch.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.formatting import format_count

if TYPE_CHECKING:
    from workbench.records import Split

# by the checksum that differs, what differs
PARTS = {
    "ids": "images or captions have other ids",
    "own": "captions belong to other images",
    "captions": "captions have other texts",
    "images": "images have another content",
}


def facts_of(split: "Split", *parts: str) -> dict[str, Any]:
    """Return what a result keeps of the split that it was measured on.

    Args:
        split: that was measured on.
        parts: of the checksums; none = all of them.
    """
    return {"name": split.name, **split.fingerprint(), "checksums": split.checksums(*parts)}


def differing_facts(first: Any, second: Any) -> list[str]:
    """Return the names of what differs between what two results keep of their splits: ``"data"`` for name or
    counts, and those of ``PARTS``. What one of them does not keep is not known to differ.

    Args:
        first: ``results["split"]``.
        second: likewise.

    >>> differing_facts({"checksums": {"ids": "1", "own": "1"}}, {"checksums": {"ids": "2"}})
    ['ids']
    """
    facts, checksums = list[Any](), list[Mapping[str, str]]()
    for split in (first, second):
        facts.append(split)
        checksums.append({})
        if isinstance(split, Mapping):
            facts[-1] = {name: fact for name, fact in split.items() if name != "checksums"}
            checksums[-1] = split.get("checksums", {})
    names = [] if facts[0] == facts[1] else ["data"]
    for part in PARTS:
        both = part in checksums[0] and part in checksums[1]
        if both and checksums[0][part] != checksums[1][part]:
            names.append(part)
    return names


def name_of(split: Any) -> str:
    """Return the name of a split; one that measured captions alone is named by a word."""
    return str(split.get("name", "")) if isinstance(split, Mapping) else str(split or "")


def describe_data(results: Mapping[str, Any]) -> str:
    """Describe what a run was measured on: the split and its size.

    Args:
        results: what ``results.json`` holds.
    """
    split = results.get("split")
    if not isinstance(split, Mapping):
        return str(split or results.get("dataset", "unknown data"))
    return f"{name_of(split)} ({format_count(split.get('images', 0), 'image')})"
