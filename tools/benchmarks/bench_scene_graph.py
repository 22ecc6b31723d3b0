"""How fast and how well captions are parsed: ``python -m tools.benchmarks.bench_scene_graph DATA
[captions]``.

DATA is a folder of real data as ``WORKBENCH_DATA`` names it. The same captions of Flickr8k and MS-COCO go
through spaCy as it is installed, through it with NumPy's matrix product, which our parser gives it, and
through our parser, five times by turns, of which the median ratios count; through ours in two processes and
through ``scenegraphparser`` of PyPI in one and in two, which parses one caption at a time, and a tenth of
them. Then 3,000 go through ours in one process and in two, five times by turns, and
through the store that keeps graphs between runs, twice. The captions annotated by hand are scored with both
parsers. The bars: the faster way of ours is at least four times faster than the faster way of the other, and
the graphs are better in all three figures; ours in one process has at least 0.6 of spaCy's own rate; at 3,000
captions two processes are not slower than one, where no other work takes the cores.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from caption_graphs import tree
from machine_bench import run_spacy_alone

from tools.benchmarks.recorded import record
from tools.caption_graphs.annotations import TEXTS, agreement, annotated, texts
from workbench import text
from workbench.records import SceneGraph
from workbench.text.graph_tokens import cached_graphs

FEW, TURNS = 3_000, 5


@cache
def other():
    """Their parser, with the model that ours uses."""
    import sng_parser

    return sng_parser.Parser("spacy", model=tree.model()[1])


def theirs(caption: str) -> SceneGraph:
    """Their graph in our record: compound nouns joined as the guide asks, articles and possessives left
    out.
    """
    found = other().parse(caption)
    names, looks = [], []
    for node, entity in enumerate(found["entities"]):
        modifiers = [(m["dep"], m["lemma_span"].lower()) for m in entity["modifiers"]]
        names.append(
            " ".join([*(word for dep, word in modifiers if dep == "compound"), entity["lemma_head"].lower()])
        )
        looks += [(node, word) for dep, word in modifiers if dep not in ("det", "poss", "compound")]
    relations = [(r["subject"], r["lemma_relation"].lower(), r["object"]) for r in found["relations"]]
    return SceneGraph(tuple(names), tuple(dict.fromkeys(looks)), tuple(dict.fromkeys(relations)))


@cache
def installed_model():
    """SpaCy's tagger and parser with its own matrix product, which is slower than NumPy's."""
    import spacy

    return spacy.load(tree.model()[1], exclude=["ner", "attribute_ruler", "lemmatizer"])


def installed(captions: list[str]) -> None:
    """These alone."""
    for _ in installed_model().pipe(captions, batch_size=tree.BATCH):
        pass


def in_two(captions: list[str]) -> None:
    """Their parser in two processes."""
    with get_context("fork").Pool(2) as pool:
        pool.map(theirs, captions, chunksize=50)


def speed(what: str, captions: list[str], run: Callable[[list[str]], object]) -> float:
    """Captions a second."""
    start = time.perf_counter()
    run(captions)
    rate = len(captions) / (time.perf_counter() - start)
    sys.stdout.write(f"{rate:9.0f} captions/s  {what}, {len(captions)} captions\n")
    return rate


def of_few(captions: list[str]) -> dict[str, object]:
    """Two processes against one on few captions, by turns, and the store that has them: what each gains."""
    turns = list[dict[int, float]]()
    for turn in range(TURNS):
        turns.append({})
        for processes in (1, 2) if turn % 2 else (2, 1):
            parser = text.load("scene_graph", processes=processes)
            turns[-1][processes] = speed(f"ours, {count(processes)}", captions, parser.transform)
    ratio = median(turn[2] / turn[1] for turn in turns)
    with TemporaryDirectory() as folder:

        def kept(some: list[str]) -> object:
            return cached_graphs(text.load("scene_graph"), Path(folder), some)

        first, again = speed("ours, into the store", captions, kept), speed("from the store", captions, kept)
    sys.stdout.write(f"{ratio:9.2f} of one process's rate in two; store {again / first:.0f} x\n")
    return {"few": len(captions), "two_over_one": ratio, "store_over_parser": again / first}


def count(processes: int) -> str:
    """A number of processes in words."""
    return "one process" if processes == 1 else f"{processes} processes"


def main(root: Path, number: int) -> None:
    """Print the figures."""
    pool = sorted(
        {
            caption
            for source in ("flickr8k", "coco")
            for caption in texts(root / TEXTS[source], source).values()
        }
    )
    captions = random.Random(0).sample(pool, number)
    sys.stdout.write(
        f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, spaCy model {tree.model()[1]}\n"
    )
    theirs(captions[0])
    ours, shares, plainly = 0.0, list[float](), list[float]()
    for _ in range(TURNS):
        plain = speed("spaCy as it is installed", captions, installed)
        spacy = speed("spaCy alone, with NumPy's product", captions, run_spacy_alone)
        one = speed("ours", captions, lambda c: text.load("scene_graph").transform(c))
        ours, shares = max(ours, one), [*shares, one / spacy]
        plainly.append(one / plain)
    two = speed("ours, two processes", captions, lambda c: text.load("scene_graph", processes=2).transform(c))
    ours, share = max(ours, two), median(shares)
    few = captions[: number // 10]
    rate = speed("scenegraphparser", few, lambda c: [theirs(one) for one in c])
    rate = max(rate, speed("scenegraphparser, two processes", few, in_two))
    sys.stdout.write(
        f"{ours / rate:9.1f} times faster; in one process {median(plainly):.2f} of the rate of spaCy as it "
        f"is installed, {share:.2f} of its rate with NumPy's product\n"
    )
    figures: dict[str, object] = {"captions": number, "captions_a_second": ours, "times_faster": ours / rate}
    figures |= {"share_of_spacy": share, "share_of_installed": median(plainly), **of_few(captions[:FEW])}
    truth = annotated(root, "test")
    for what, graphs in (
        ("ours", text.load("scene_graph").transform(truth.captions).graphs),
        ("scenegraphparser", [theirs(caption) for caption in truth.captions]),
    ):
        said = ", ".join(f"{part} {found.f1:.3f}" for part, found in agreement(graphs, truth.graphs).items())
        sys.stdout.write(f"tuple F1, {what}: {said}\n")
        if what == "ours":
            found = agreement(graphs, truth.graphs)
            figures["f1"] = {part: round(one.f1, 4) for part, one in found.items()}
    record("scene_graph", figures)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 24_000)
