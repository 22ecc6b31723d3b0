"""Small batches and embeddings with all that an objective on the shelf may ask for."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn import functional

from workbench import objectives
from workbench.records import Batch, Embedding, Split
from workbench.training.batches import Source

WIDTH = 6


def batch(own, images=None, *, seed=0, image_ids=None):
    """A batch of captions that belong to the images ``own``, with random signals."""
    generator = torch.Generator().manual_seed(seed)
    own = torch.as_tensor(own)
    count = images or int(own.max()) + 1
    made = signals(len(own), generator)
    ids = image_ids or [f"i{n}" for n in range(count)], [f"t{n}" for n in range(len(own))]
    momentum = tuple(Embedding(embedding(n, seed=seed + 50 + n).mean.detach()) for n in (count, len(own)))
    given = Batch(*ids, own, signals=made, momentum=momentum)
    return replace(given, relevance=relevance(given.positives, generator))


def embedding(count, *, seed, dimensions=WIDTH, parts=4, dtype=torch.float64, mean=None):
    """Unit means, log variances, parts and two entities an item, all differentiable."""
    generator = torch.Generator().manual_seed(seed)
    if mean is None:
        mean = functional.normalize(
            torch.randn(count, dimensions, generator=generator, dtype=dtype), dim=1
        ).requires_grad_()
    log_var = (torch.randn(count, dimensions, generator=generator, dtype=dtype) - 3).requires_grad_()
    tokens = torch.randn(count, parts, dimensions, generator=generator, dtype=dtype).requires_grad_()
    entities = functional.normalize(
        torch.randn(2 * count, dimensions, generator=generator, dtype=dtype), dim=1
    ).requires_grad_()
    owner = torch.arange(count).repeat_interleave(2)
    labels = torch.randint(1, 4, (2 * count, 2), generator=generator)
    return Embedding(
        mean, log_var, tokens, torch.ones(count, parts, dtype=torch.bool), entities, owner, labels
    )


class Columns:
    """A signal of fixed values, one row a caption."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    def __len__(self):
        return len(self.values)

    def take(self, rows):
        return pick(self.values, torch.as_tensor(rows))


class Grades:
    """Relevance of fixed values."""

    def __init__(self, values):
        self.values = values

    def take(self, images, captions):
        return self.values[images][:, captions]


def source(objective, own=(0, 0, 1, 2, 2, 2, 3, 3, 4, 4)):
    """All that training batches are made from, with vectors as inputs; captions an image are uneven."""
    generator = torch.Generator().manual_seed(5)
    own = torch.tensor(own)
    images = int(own.max()) + 1
    split = Split(
        name="toy",
        image_ids=tuple(f"i{n}" for n in range(images)),
        captions=tuple(f"caption {n}" for n in range(len(own))),
        caption_ids=tuple(f"t{n}" for n in range(len(own))),
        own=own.numpy(),
        open_image=lambda row: None,
    )
    pictures = torch.randn(images, 6, generator=generator, dtype=torch.float64)
    made = signals(len(own), generator) | {
        "vectors": torch.randn(len(own), 6, generator=generator, dtype=torch.float64)
    }
    grades = torch.rand(images, len(own), generator=generator)
    return Source(
        split,
        {"vectors": lambda rows: pictures[torch.as_tensor(rows)]},
        {name: Columns(name, value) for name, value in made.items()},
        {name: Grades(grades) for name in objective.relevances()},
    )


def signals(captions, generator):
    """Random values of every signal that an objective may read, by name."""
    graphs = {"objects": torch.randint(1, 4, (captions, 2), generator=generator)}
    graphs["attributes"] = torch.randint(0, 4, (captions, 2, 1), generator=generator)
    return {"descriptiveness": torch.rand(captions, generator=generator), "graph_tokens": graphs}


def pick(signal, rows):
    """The signal of these captions, a tensor or a mapping of tensors."""
    return {key: value[rows] for key, value in signal.items()} if isinstance(signal, dict) else signal[rows]


def relevance(positives, generator):
    """Every relevance that an objective reads by default; an image's own captions have the highest grades."""
    return {name: torch.rand(positives.shape, generator=generator) + positives for name in ("cider", "tfidf")}


def loss(objective, image, text, given):
    """The sum of the terms; an objective that draws negatives draws the same ones every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.stack(list(objective(image, text, given).values())).sum()


def load(name, **options):
    """An objective with its own random weights fixed and in double precision."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = objectives.load(name, **options)
        made.fit_width(WIDTH)
    # Evaluation mode: dropout inside an objective would make every comparison a comparison of draws.
    return made.double().eval()


def permuted(given, image, text, images, captions):
    """The same batch with its images and its captions in another order."""
    place = torch.empty_like(images)
    place[images] = torch.arange(len(images))
    moved = Batch(
        [given.image_ids[i] for i in images],
        [given.caption_ids[t] for t in captions],
        place[given.own[captions]],
        signals={name: pick(value, captions) for name, value in given.signals.items()},
        relevance={name: value[images][:, captions] for name, value in given.relevance.items()},
        momentum=tuple(
            Embedding(made.mean[order])
            for made, order in zip(given.momentum, (images, captions), strict=True)
        ),
    )
    return moved, rows(image, images), rows(text, captions)


def rows(made, order):
    """Some rows of an embedding."""
    moved = replace(made, **{f: getattr(made, f)[order] for f in ("mean", "log_var", "parts", "mask")})
    return replace(moved, owner=order.argsort()[made.owner])
