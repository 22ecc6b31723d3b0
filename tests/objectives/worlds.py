"""Small batches and embeddings with all that an objective on the shelf may ask for."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn import functional

from workbench import objectives
from workbench.records import Batch, Embedding


def batch(own, images=None, *, seed=0, image_ids=None):
    """A batch of captions that belong to the images ``own``, with random signals."""
    generator = torch.Generator().manual_seed(seed)
    own = torch.as_tensor(own)
    count = images or int(own.max()) + 1
    signals = {"descriptiveness": torch.rand(len(own), generator=generator)}
    return Batch(image_ids or [f"i{n}" for n in range(count)], [f"t{n}" for n in range(len(own))], own, signals=signals)


def embedding(count, *, seed, dimensions=6, parts=4, dtype=torch.float64, mean=None):
    """Unit means, log variances and parts, all differentiable."""
    generator = torch.Generator().manual_seed(seed)
    if mean is None:
        mean = functional.normalize(torch.randn(count, dimensions, generator=generator, dtype=dtype), dim=1).requires_grad_()
    log_var = (torch.randn(count, dimensions, generator=generator, dtype=dtype) - 3).requires_grad_()
    tokens = torch.randn(count, parts, dimensions, generator=generator, dtype=dtype).requires_grad_()
    return Embedding(mean, log_var, tokens, torch.ones(count, parts, dtype=torch.bool))


def loss(objective, image, text, given):
    """The sum of the terms."""
    return torch.stack(list(objective(image, text, given).values())).sum()


def load(name, **options):
    """An objective with its own random weights fixed and in double precision."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return objectives.load(name, **options).double()


def permuted(given, image, text, images, captions):
    """The same batch with its images and its captions in another order."""
    place = torch.empty_like(images)
    place[images] = torch.arange(len(images))
    moved = Batch(
        [given.image_ids[i] for i in images],
        [given.caption_ids[t] for t in captions],
        place[given.own[captions]],
        signals={name: value[captions] for name, value in given.signals.items()},
    )
    return moved, rows(image, images), rows(text, captions)


def rows(made, order):
    """Some rows of an embedding."""
    return replace(made, **{f: getattr(made, f)[order] for f in ("mean", "log_var", "parts", "mask")})
