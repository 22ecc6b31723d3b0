"""How long it takes to score the best of a dual model again by a cross scorer: ``python -m
tools.benchmarks.bench_rerank [I T K FORM]``.

5,000 images of 36 regions by 25,000 captions of 12 words, width 256, the best 100 of every query in both
directions, by ``cross``. Vectors are random. One thread.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
from torch import nn
from torch.nn.functional import normalize

from tools.benchmarks.recorded import record
from workbench.records import Embedding
from workbench.runs import Config
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.resolve import make_objective
from workbench.runs.scoring import score_split


def _embedding(count: int, parts: int, width: int = 256) -> Embedding:
    made = torch.randn(count, parts, width)
    mask = torch.ones(count, parts, dtype=torch.bool)
    return Embedding(normalize(torch.randn(count, width), dim=1), parts=made, mask=mask)


def main(images: int = 5_000, captions: int = 25_000, k: int = 100, form: str = "cross") -> None:
    """Write the figures.

    Args:
        images: of the gallery.
        captions: of the gallery.
        k: the best so many of each query are scored again.
        form: of the scorer.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = Config(objective="vsepp", rerank=k, reranker=form)
    pair: Any = nn.Linear(1, 1)
    model = TrainedModel(pair, {}, (), objective=make_objective(config), config=config)
    image, text, told = _embedding(images, 36), _embedding(captions, 12), list[str]()
    start = time.perf_counter()
    score_split(model, image, text, say=told.append)
    seconds = time.perf_counter() - start
    sys.stdout.write(f"{told[0]}\n")
    pairs = int(told[0].split()[1].replace(",", ""))
    about = {"images": images, "captions": captions, "k": k, "form": form, "pairs": pairs}
    record("rerank", {**about, "seconds": seconds})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
