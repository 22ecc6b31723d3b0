"""What this machine does in a second: the short table of ``workbench doctor --bench``.

Each row sets what the package takes beside a reference on the same machine in the same minute. The scripts of
``tools/benchmarks/`` measure more, on real data.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, pairwise
from statistics import median
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from workbench import data, objectives, text
from workbench.formatting import format_count, format_number
from workbench.metrics.blocks import RowScores, blocks, products, top_k
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.metrics.ranks import Ranked
from workbench.objectives import contract
from workbench.objectives.base import Objective
from workbench.records import Array, Embedding, Judgements, Rows, Split
from workbench.runs import Config
from workbench.runs.build import prepare
from workbench.training import batches, fit, samplers
from workbench.training.loop import Training

# pairs of a step, and of a large batch
PAIRS, MANY = 128, 1024
# width of ViT-B/32's embeddings; tokens of an image and of a caption
WIDTH = 512
PARTS, WORDS = 50, 32
# pairs of ViT-B/32 at a time, so that its step fits a small machine
SLICE = 16
IMAGES, CAPTIONS = 1000, 500
GALLERY = (100_000, 512)
# images of a pass over all pairs, five captions each; width of vectors where their products are no matter
SIZES, SMALL = (2_500, 5_000, 10_000), 64
# steps on frozen features: objectives, their encoders and captions of an image
STEPS = ("infonce", "pcmepp", "aahr")
SLIM = {"embed_dim": 256}
BASES = {"base": "regions", "text_base": "sequence"}
MULTIGRAIN = BASES | {f"{part}_options": SLIM for part in BASES}
EACH = 5
# what PyTorch calls a matrix product, attention included
PRODUCTS = {
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::_scaled_dot_product_flash_attention_for_cpu",
}
# fields of an embedding by what an objective reads
FIELDS = {"log_var": ["log_var"], "parts": ["parts", "mask"], "entities": ["entities", "owner", "labels"]}


@dataclass(frozen=True)
class Figure:
    """What something takes, beside a reference.

    Args:
        name: what.
        seconds: of it.
        beside: the reference.
        reference: seconds of that.
        limit: how many times the reference it may take, where that is bounded.
        most: seconds that it may take, where these are bounded.
    """

    name: str
    seconds: float
    beside: str
    reference: float
    limit: float | None = None
    most: float | None = None


def table_lines(rows: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return the rows as cells, with a heading."""

    def cells(row: Figure) -> tuple[str, ...]:
        visible = row.seconds > 0.01 * row.reference
        share = format_number(row.seconds / row.reference, 2 if visible else 5)
        limit = format_number(row.limit, 1) if row.limit else ""
        if row.most:
            limit = f"{format_milliseconds(row.most)} ms"
        return (
            row.name,
            format_milliseconds(row.seconds),
            row.beside,
            format_milliseconds(row.reference),
            share,
            limit,
        )

    table = [("what", "ms", "reference", "ms", "times the reference", "limit"), *map(cells, rows)]
    return table if any(row[-1] for row in table[1:]) else [row[:-1] for row in table]


def measure_all() -> tuple[list[dict[str, Any]], list[tuple[str, ...]]]:
    """Return all figures as JSON values, and as cells with a heading."""
    rows = list(figures())
    return [asdict(row) for row in rows], table_lines(rows)


def format_milliseconds(seconds: float) -> str:
    """Return a time as it is shown."""
    return format_number(1000 * seconds, 0 if seconds > 0.1 else 1)


def figures() -> Iterator[Figure]:
    """Yield all rows, each as soon as it is measured: start-up, training steps, losses, an evaluation, passes
    over all pairs, parsing, search.
    """
    python = partial(subprocess.run, [sys.executable, "-c", "pass"], check=True)
    ours = partial(
        subprocess.run, [sys.executable, "-m", "workbench", "--help"], check=True, stdout=subprocess.DEVNULL
    )
    alone = median_seconds(python)
    yield Figure("workbench --help", median_seconds(ours), "python -c pass", alone, most=0.15)
    face = partial(subprocess.run, [sys.executable, "-c", "import workbench"], check=True)
    yield Figure("import workbench", median_seconds(face), "python -c pass", alone, most=0.03)
    yield training_figure()
    yield from map(frozen_figure, STEPS)
    step, losses = (
        vit_seconds(SLICE) / SLICE,
        {name: loss_seconds(name, PAIRS) for name in objectives.names()},
    )
    slowest = max(losses, key=losses.__getitem__)
    for name, pairs in ((slowest, PAIRS), ("infonce", PAIRS), ("infonce", MANY), ("ditm", MANY)):
        what = f"loss at batch {format_count(pairs)}, {name}{', the slowest' * (name == slowest)}"
        taken = losses[name] if pairs == PAIRS else loss_seconds(name, pairs)
        yield Figure(what, taken, "a training step of ViT-B/32", step * pairs)
    split = data.load("scenes", split="train", size=IMAGES)
    yield evaluation_figure(split)
    yield from pass_figures()
    if find_spec("caption_graphs"):
        some = split.captions[:CAPTIONS]
        parsed = median_seconds(lambda: text.load("scene_graph").transform(some))
        spacy = median_seconds(partial(run_spacy_alone, some))
        yield Figure(f"scene graphs of {CAPTIONS} captions", parsed, "spaCy's tagger and parser", spacy)
    yield search_figure()


def median_seconds(call: Callable[[], object], rounds: int = 3) -> float:
    """Return the median of some rounds after one to warm up."""
    return medians_in_turns(call, rounds=rounds)[0]


def medians_in_turns(*calls: Callable[[], object], rounds: int) -> list[float]:
    """Return medians of calls that take turns, since other work on the machine comes and goes; the first
    round of all warms up.
    """
    rounds_of_times = []
    for _ in range(1 + rounds):
        times = [time.perf_counter()]
        for call in calls:
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            times.append(time.perf_counter())
        rounds_of_times.append([end - began for began, end in pairwise(times)])
    return [median(times) for times in zip(*rounds_of_times[1:], strict=True)]


def training_figure() -> Figure:
    """Return a step of InfoNCE with its default encoders, beside a bare loop with the same modules and
    batches.
    """
    config = Config(
        objective="infonce", train_images=2 * PAIRS, val_images=8, test_images=8, batch_size=PAIRS, epochs=1
    )
    prepared = prepare(config, progress=False)
    pair, objective = prepared.model.pair, prepared.model.objective
    train = prepared.train
    assert train is not None
    optimiser, device = torch.optim.AdamW(pair.parameters()), prepared.model.device
    settings = prepared.config
    each = settings.captions_per_image
    order = samplers.epoch_batches(train.split.own, size=PAIRS, captions_per_image=each, seed=0, number=0)

    def bare() -> None:
        for rows in order:
            batch = batches.move_batch(train.batch(rows), device)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                image, text = pair.image.encode_images(batch), pair.text.encode_texts(batch)
            terms = objective(image.in_float32(device), text.in_float32(device), batch)
            torch.autograd.backward(list(terms.values()))
            optimiser.step()
            optimiser.zero_grad()

    times = []
    for _ in range(3):  # in turns, since other work on the machine comes and goes
        before, after = fit(pair, objective, train, lambda: {"rsum": 0.0}, settings, progress=False)
        began = time.perf_counter()
        bare()
        times.append((after["seconds"] - before["seconds"], time.perf_counter() - began))
    ours, reference = (min(several) / len(order) for several in zip(*times, strict=True))
    return Figure(f"training step, InfoNCE, {PAIRS} pairs", ours, "a bare loop", reference)


def frozen_figure(name: str) -> Figure:
    """Return a step of an objective from frozen features to its update, beside the matrix products in it; one
    thread on the processor.
    """
    image, words = {"name": "regions", **SLIM}, {"name": "sequence", **SLIM}
    if name == "aahr":
        image, words = {"name": "multigrain", **MULTIGRAIN}, {"name": "multigrain"}
    options: dict[str, Any] = {"features": "scenes_backbone", "image_encoder": image, "text_encoder": words}
    options |= {"train_images": PAIRS, "val_images": 8, "test_images": 8}
    options |= {"batch_size": PAIRS, "captions_per_image": EACH, "epochs": 1}
    config = Config(objective=name, device="cpu", **options)
    prepared = prepare(config, progress=False)
    assert prepared.train is not None
    run = Training(prepared.model.pair, prepared.model.objective, prepared.train, prepared.config, None)
    rows, shards = run.epoch_order(0)[:1], batches.Shards(prepared.train)
    threads = torch.get_num_threads()
    run.model.train()

    def step() -> None:
        run.train_step(next(batches.loader(shards, rows)))

    # PyTorch's profiler writes to the terminal otherwise
    os.environ["KINETO_LOG_LEVEL"] = "99"
    torch.set_num_threads(1)
    try:
        taken = median_seconds(step)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            step()
    finally:
        torch.set_num_threads(threads)
    events = [event for event in profile.key_averages() if event.key in PRODUCTS]
    products = sum(event.self_cpu_time_total for event in events) / 1e6
    what = f"training step on frozen features, {name}, {PAIRS} images x {EACH} captions, one thread"
    return Figure(what, taken, "its matrix products", products, limit=1.5)


def vit_seconds(pairs: int, rounds: int = 3) -> float:
    """Return seconds of a training step of open_clip's ViT-B/32 with random weights, 224 pixels, 77 tokens,
    in the precision of training.
    """
    import open_clip

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = open_clip.CLIP(**open_clip.get_model_config("ViT-B-32")).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)
    pixels = torch.randn(pairs, 3, 224, 224, device=device)
    tokens, labels = torch.randint(1, 49000, (pairs, 77), device=device), torch.arange(pairs, device=device)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            image, text, scale = model(pixels, tokens)
            logits = scale * image @ text.T
        torch.autograd.backward([cross_entropy(logits, labels), cross_entropy(logits.T, labels)])
        optimiser.step()
        optimiser.zero_grad()

    return median_seconds(step, rounds)


def loss_seconds(objective: str | Objective, pairs: int, *, width: int = WIDTH, rounds: int = 1) -> float:
    """Return seconds of an objective's forward and backward pass, from embeddings to their gradients.

    Args:
        objective: one before its ``setup``, or a name, for its defaults.
        pairs: images of the batch; captions too, where the objective does not need more of each image.
        width: of the embeddings; ``PARTS`` of an image and ``WORDS`` of a caption, where they are read.
        rounds: of which the median counts.
    """
    objective = objectives.load(objective) if isinstance(objective, str) else objective
    objective.setup(width)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    objective.to(device).train()
    captions = pairs * objective.captions_per_image
    unused = [fields for what, fields in FIELDS.items() if what not in objective.reads]
    nothing: dict[str, Any] = dict.fromkeys(chain.from_iterable(unused))

    def embedding(count: int, parts: int) -> Embedding:
        vectors = contract.random_embedding(
            count, seed=count, dimensions=width, parts=parts, dtype=torch.float32
        )
        moved = replace(vectors, **nothing).in_float32(device)
        # leaves of their own, or every gradient would be copied to where the first ones were made
        leaves = {name: v.detach() for name, v in vars(moved).items() if getattr(v, "requires_grad", False)}
        return replace(moved, **{name: value.requires_grad_() for name, value in leaves.items()})

    image, words = embedding(pairs, PARTS), embedding(captions, WORDS)
    batch = batches.move_batch(
        contract.make_batch(torch.arange(captions) % pairs, objective=objective), device
    )
    if objective.momentum:
        batch = replace(batch, momentum=(image, words))

    def run_once() -> None:
        torch.autograd.backward(list(objective(image, words, batch).values()))
        objective.after_step(image, words, batch)

    return median_seconds(run_once, rounds)


def evaluation_figure(split: Split) -> Figure:
    """Return recalls and RSUM with intervals, beside sorting in numpy without them."""
    images, captions = len(split.image_ids), len(split.captions)
    scores = np.random.default_rng(0).standard_normal((images, captions), dtype=np.float32)
    own = Judgements.from_own(split.own, images)
    right = split.own == np.arange(images)[:, None]

    def sort() -> None:
        for table, hits in ((scores, right), (scores.T, right.T)):
            sorted_hits = np.take_along_axis(hits, np.argsort(-table, axis=1), 1)
            for k in (1, 5, 10):
                sorted_hits[:, :k].any(1).mean()

    ours = median_seconds(lambda: evaluate(Evidence(scores, own), ["R", "rsum"]))
    name = f"RSUM with intervals, {format_count(images, 'image')} x {format_count(captions, 'caption')}"
    return Figure(name, ours, "numpy without intervals", median_seconds(sort))


def pass_figures() -> Iterator[Figure]:
    """Yield all pairs without a matrix: ranks, the ten best of every query and numbers with intervals, beside
    the bare products of the same blocks. The last of three sizes says with which power of the pairs time
    grows.
    """
    figures = list[Figure]()
    for images in SIZES:
        own = np.repeat(np.arange(images), 5)
        image, text = random_unit_vectors(images, WIDTH), random_unit_vectors(5 * images, WIDTH)
        scores, judged = products(image, text), Judgements.from_own(own, images)

        def whole(scores: RowScores = scores, judged: Judgements = judged, own: Rows = own) -> None:
            evaluate(Evidence(scores, judged, own, ranked=Ranked(scores, [judged], 10)), ["R", "rsum"])

        def bare(scores: RowScores = scores) -> None:
            for rows in (scores, scores.T):
                for _ in blocks(rows, rows.shape, checked=False):
                    pass

        name = f"ranks, ten best and intervals, {format_count(images)} x {format_count(len(own))}"
        figures.append(
            Figure(name, median_seconds(whole, 1), "bare products", median_seconds(bare, 1), limit=1.3)
        )
    # pairs grow as the square of the images
    power = float(np.polyfit(2 * np.log(SIZES), np.log([figure.seconds for figure in figures]), 1)[0])
    figures[-1] = replace(
        figures[-1], name=f"{figures[-1].name}; pairs to the power {format_number(power, 2)}"
    )
    yield from figures


def random_unit_vectors(rows: int, width: int = SMALL) -> Array:
    """Return ``(rows, width)`` random vectors of unit length."""
    drawn = np.random.default_rng(rows).standard_normal((rows, width), dtype=np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def run_spacy_alone(captions: Sequence[str]) -> None:
    """Run SpaCy's tagger and parser, nothing after them."""
    from caption_graphs import tree

    nlp, _ = tree.model()
    with nlp.select_pipes(disable="lemmatizer"):
        for _ in nlp.pipe(captions, batch_size=tree.BATCH):
            pass


def search_figure() -> Figure:
    """Return one question to a gallery, exactly, beside numpy's product and partition."""
    drawn = np.random.default_rng(0).standard_normal(GALLERY, dtype=np.float32)
    query = drawn[:1]

    def plain() -> Any:
        scores = (drawn @ query.T)[:, 0]
        best = np.argpartition(scores, -10)[-10:]
        return best[np.argsort(-scores[best])]

    ours, numpy = medians_in_turns(lambda: top_k(query, drawn, 10), plain, rounds=9)
    return Figure(f"search, 1 of {format_count(GALLERY[0])}", ours, "numpy", numpy, limit=1.1)
