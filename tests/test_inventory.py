"""What users could name before the library was made thin is there, or stands here with its reason."""

from __future__ import annotations

import json
from typing import Any

from tests.inventory import KEPT, inventory

# place: why it is no longer there
GONE: dict[str, str] = {
    "settings/shard": "FSDP of our own is gone",
    "notebooks/08_relevance/labelled": "labels are corrected in 09_relevance_audit",
    "notebooks/08_relevance/ratings": "ratings are read in 09_relevance_audit",
    "notebooks/06_retrieval_explorer/seed": "the explorer draws nothing at random",
    **{f"parameter files/08_{name}": f"09_{name} has it" for name in ("cxc", "flickr8k", "sentence")},
}


def places(value: Any, prefix: str = "") -> set[str]:
    if isinstance(value, dict):
        below = (places(item, f"{prefix}{name}/") | {f"{prefix}{name}"} for name, item in value.items())
        return set().union(*below)
    return {f"{prefix}{item}" for item in value}


def test_nothing_that_a_user_can_name_is_lost():
    before = places(json.loads(KEPT.read_text(encoding="utf-8")))
    assert before - places(inventory()) == set(GONE)
