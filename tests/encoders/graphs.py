"""Batches of scene graphs that are given, not parsed, and small encoders for them."""

from __future__ import annotations

import numpy as np
import torch

from workbench import encoders, text
from workbench.records import Batch, SceneGraph

WORDS = (
    "dog",
    "ball",
    "brown",
    "big",
    "red",
    "chase",
    "man",
    "men",
    "horse",
    "tree",
    "ride",
    "near",
    "hot",
    "bun",
    "plate",
    "old",
    "in",
    "on",
    "dogs",
    "box",
    "boxes",
)
GRAPHS = (
    SceneGraph(("dog", "ball"), ((0, "brown"), (0, "big"), (1, "red")), ((0, "chase", 1),)),
    SceneGraph(("man",)),
    SceneGraph(("man", "horse", "tree"), ((1, "brown"),), ((0, "ride", 1), (0, "near", 2), (1, "near", 2))),
    SceneGraph(("hot dog", "bun", "plate", "man"), ((3, "old"),), ((0, "in", 1), (1, "on", 2))),
)


def signal(graphs, **options):
    """The signal ``graph_tokens`` of these graphs."""
    maker = text.load("graph_tokens", **{"tokens": {"vocabulary": WORDS}, **options})
    maker.graphs = lambda captions: tuple(graphs)
    return maker.transform([""] * len(graphs))


def batch(*graphs, rows=None):
    """A batch of captions with these graphs, or of some rows of them."""
    rows = np.arange(len(graphs)) if rows is None else np.array(rows)
    taken = {"graph_tokens": signal(graphs).take(rows)}
    return Batch([], [str(row) for row in rows], torch.arange(len(rows)), signals=taken)


def made(*, seed=0, structure=None, **options):
    """A small encoder with fixed weights, in evaluation mode."""
    chosen = {"vocabulary": WORDS, "embed_dim": 8, "concepts": {"word_dim": 6}, **options}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return encoders.load("graph", structure={"heads": 2, **(structure or {})}, **chosen).eval()
