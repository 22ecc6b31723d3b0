"""How well each judge agrees with people and with the exact truth: ``WORKBENCH_DATA=... python -m
tools.benchmarks.bench_judges``.

People: the crowd's ratings of Flickr8k, of the half of the images that was not looked at when the judges'
parameters were fixed. Truth: the share of a caption's statements that hold of a scene of the embedded world,
for own pairs and three random others a caption; no encoder was trained on these captions. Levels: of the
texts of HierarCaps' chains, generic to specific, and of wrong ones, none of them own. All over pairs
that are not own, where binary labels say nothing, and over all; the intervals draw images with all their
pairs. The bars: sentence above symbolic above CIDEr-D, with people.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench import assets, data, text
from workbench.io import write_recorded
from workbench.metrics import correlation
from workbench.records import Judgements, Split
from workbench.text.tuple_f1 import package_parser

ROUNDS = 500
JUDGES: dict[str, tuple[str, dict[str, Any]]] = {
    "CIDEr-D": ("cider", {}),
    "TF-IDF": ("tfidf", {}),
    "tuple F1": ("tuple_f1", {}),
    "symbolic": ("symbolic", {}),
    "symbolic, CIDEr-D left out": ("symbolic", {"tuples": 1.0}),
    "symbolic, words as they stand": ("symbolic", {"synonyms": False}),
    "symbolic, statements weigh the same": ("symbolic", {"weighted": False}),
    "symbolic, relations left out": ("symbolic", {"relations": 0.0}),
    "symbolic, attributes left out": ("symbolic", {"attributes": 0.0}),
    "sentence": ("sentence", {}),
    "sentence, mean": ("sentence", {"over": "mean"}),
    "sentence, soft-best": ("sentence", {"over": "soft-best"}),
}
Pairs = tuple[Split, Judgements]


def halves(split: Split, rated: Judgements, seed: int = 0) -> tuple[Judgements, Judgements]:
    """The ratings of one half of the images, on which parameters were fixed, and those of the other."""
    images = len(split.image_ids)
    first = np.zeros(images, dtype=bool)
    first[np.random.default_rng(seed).permutation(images)[: images // 2]] = True
    fixed = first[rated.images]
    return tuple(
        replace(rated, images=rated.images[rows], captions=rated.captions[rows], grades=rated.grades[rows])
        for rows in (fixed, ~fixed)
    )  # type: ignore[return-value]


def read() -> dict[str, Pairs]:
    """Ratings by name: ``people``, ``truth`` and ``levels``."""
    crowd = data.load("flickr8k", split="test")
    world = data.load("scenes", split="test").first(500)
    exact = correlation.judged_sample(world.judgements["graded"], world.own, 3, np.random.default_rng(0))
    people = halves(crowd, crowd.judgements["human"])[1]
    chains = data.load("hierarcaps", texts="levels")
    return {
        "people": (crowd, people),
        "truth": (world, exact),
        "levels": (chains, chains.judgements["levels"]),
    }


def main() -> None:
    """Print and record the agreement of every judge."""
    table: list[dict[str, Any]] = []
    parser = package_parser()
    for source, (split, rated) in read().items():
        not_own = int((split.own[rated.captions] != rated.images).sum())
        graphs = dict(zip(split.captions, parser(split.captions), strict=True))
        for title, (name, options) in JUDGES.items():
            if name in ("tuple_f1", "symbolic"):
                options = options | {
                    "parser": lambda captions, known=graphs: [known[one] for one in captions]
                }
            began = time.perf_counter()
            pool = (split.captions, split.own)
            values = correlation.grades_at_pairs(
                text.load(name, **options).fit(*pool).transform(*pool), rated
            )
            took = time.perf_counter() - began
            rows = ("pearson", "spearman", *([correlation.TauC()] if source == "levels" else []))
            found = correlation.correlations(values, rated, split.own, metrics=rows, rounds=ROUNDS)
            for m in found:
                pairs = not_own if m.key.subset else len(rated.grades)
                about = {"judge": title, "data": source, "key": m.key.local, "pairs": pairs}
                numbers = {"value": m.value, "low": m.low, "high": m.high}
                table.append(about | {key: float(f"{value:.4g}") for key, value in numbers.items()})
            shown = ", ".join(f"{m.key.local} {m.value:.3f} [{m.low:.3f}, {m.high:.3f}]" for m in found)
            sys.stdout.write(f"{source}: {title} ({took:.1f} s): {shown}\n")
            sys.stdout.flush()
    file = assets.path("results") / "judges.tsv"
    write_recorded(file, pd.DataFrame(table), "python -m tools.benchmarks.bench_judges")


if __name__ == "__main__":
    main()
