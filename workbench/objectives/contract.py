"""What is true of every objective, as one function for the tests of this package and those of a user.

    from workbench.objectives.contract import check_objective

    def test_my_loss_keeps_the_contract():
        check_objective("my_module:MyLoss", temperature=0.1)

Everything is checked on a batch of four images and eight captions of random embeddings, in training and in
warm-up epochs, in double precision.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.objectives import load
from workbench.objectives.base import Objective
from workbench.records import Batch, Embedding, require
from workbench.registry import make

WIDTH = 6
OWN = (0, 0, 1, 2, 2, 2, 3, 3)


def check_objective(objective: str | type[Objective], **options: Any) -> None:
    """Check an objective against the contract of the registry.

    - ``forward`` gives finite scalars under the names in ``terms``, also where a batch has no negative and
      where all embeddings are equal, and a loss of single precision where the scores are of half precision;
    - the gradient is that of finite differences, reaches both encoders, and reaches no signal;
    - one step of gradient descent raises the scores of the positives against those of the negatives;
    - the order of images and of captions does not matter; there may be more captions than images;
    - captions of the same image, by its id, are never negatives;
    - ``scores`` is what ``forward`` trains, and a score depends on its pair alone, as evaluation needs it;
    - two forwards agree and leave the state as it was; a term selected alone keeps its value.

    A signal or a relevance whose name this package does not know gets random values in [0, 1]. The pooled
    embeddings are what moves, so that scores made from parts alone (``scores_parts``) are beyond this check,
    and so are sums of objectives, whose papers are checked one by one.

    Args:
        objective: a name of the registry, ``"my_module:MyLoss"`` included, or the class.
        options: of the objective.

    Raises:
        AssertionError: names what does not hold.
    """
    name = objective if isinstance(objective, str) else objective.__name__
    with seed_draws():
        made = load(name, **options) if isinstance(objective, str) else make(name, objective, options)
        made.setup(WIDTH)
    # Evaluation mode: dropout inside an objective would make every comparison a comparison of draws.
    made.double().eval()
    for warming, check in product((False, True), CHECKS):
        made.warm_up(warming)
        try:
            check(deepcopy(made), *make_world(made))
        except AssertionError as problem:
            where = " in warm-up epochs" if warming else ""
            raise AssertionError(f"objective {name!r}{where}: {problem}") from None


# ``hold(condition, problem)`` raises also under ``python -O``, which leaves ``assert`` out
hold = partial(require, kind=AssertionError)


@contextmanager
def seed_draws(seed: int = 0) -> Iterator[None]:
    """Seed draws from PyTorch's global generator within the block, and restore its state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(torch.Generator().manual_seed(seed).get_state())
        yield


def make_world(objective: Objective, own: tuple[int, ...] = OWN) -> tuple[Embedding, Embedding, Batch]:
    """Return embeddings of images and captions, and their batch with all that the objective reads."""
    given = make_batch(own, objective=objective)
    return random_embedding(len(given.image_ids), seed=1), random_embedding(len(own), seed=2), given


def make_batch(
    own: Any,
    images: int | None = None,
    *,
    seed: int = 0,
    image_ids: list[str] | None = None,
    objective: Objective | None = None,
) -> Batch:
    """Return a batch of captions that belong to the images ``own``, with random signals and relevance.

    Args:
        own: ``(T,)`` image row of each caption.
        images: how many; ``None`` = as many as ``own`` names.
        seed: of the random values.
        image_ids: ids of the images; an id that stands there twice is one image.
        objective: whose signals and relevances the batch holds beside those that the package knows.
    """
    generator, own = torch.Generator().manual_seed(seed), torch.as_tensor(own)
    count = images or int(own.max()) + 1
    wanted = objective.text_features() if objective else ()
    given = {name: torch.rand(len(own), generator=generator) for name in wanted} | random_signals(
        len(own), generator
    )
    image, text = (
        Embedding(random_embedding(n, seed=seed + 50 + n).mean.detach()) for n in (count, len(own))
    )
    ids = image_ids or [f"i{n}" for n in range(count)], [f"t{n}" for n in range(len(own))]
    made = Batch(*ids, own, signals=given, momentum=(image, text))
    # An image's own captions have the highest grades.
    sources = objective.relevance_sources() if objective else {}
    grades = {
        name: torch.rand(made.positives.shape, generator=generator) + made.positives
        for name in dict.fromkeys(("cider", "tfidf", *sources))
    }
    return replace(made, relevance=grades)


def random_signals(captions: int, generator: torch.Generator) -> dict[str, Any]:
    """Return random values of every signal that an objective of the registry may read, by name."""
    return {
        "graph_tokens": {
            "objects": torch.randint(1, 4, (captions, 2), generator=generator),
            "attributes": torch.randint(0, 4, (captions, 2, 1), generator=generator),
        },
        "descriptiveness": torch.rand(captions, generator=generator),
    }


def random_embedding(
    count: int,
    *,
    seed: int,
    dimensions: int = WIDTH,
    parts: int = 4,
    dtype: torch.dtype = torch.float64,
    mean: Tensor | None = None,
) -> Embedding:
    """Return unit means, log variances, parts and two entities an item, all differentiable.

    Args:
        count: ``N``.
        seed: of the random values.
        dimensions: ``D``.
        parts: ``P``.
        dtype: of all values.
        mean: ``(N, D)``; ``None`` = random unit vectors.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dimensions, generator=generator, dtype=dtype)

    return Embedding(
        mean=normalize(draw(count), dim=1).requires_grad_() if mean is None else mean,
        log_var=(draw(count) - 3).requires_grad_(),
        parts=draw(count, parts).requires_grad_(),
        mask=torch.ones(count, parts, dtype=torch.bool),
        local=normalize(draw(count), dim=1).requires_grad_(),
        entities=normalize(draw(2 * count), dim=1).requires_grad_(),
        owner=torch.arange(count).repeat_interleave(2),
        labels=torch.randint(1, 4, (2 * count, 2), generator=generator),
    )


def take_captions(signal: Any, order: Tensor) -> Any:
    """Return the signal of these captions, a tensor or a mapping of tensors."""
    if isinstance(signal, Mapping):
        return {key: value[order] for key, value in signal.items()}
    return signal[order]


def total_loss(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> Tensor:
    """Return the sum of the terms; an objective that draws negatives draws the same ones every time."""
    with seed_draws():
        return torch.stack(list(objective(image, text, given).values())).sum()


@torch.no_grad()
def score_lead(objective: Objective, v: Tensor, u: Tensor, given: Batch) -> float:
    """Return the mean score of the positives less that of the negatives; images are ``(I, D)``, captions
    ``(T, D)``.
    """
    scores = objective.scores(
        random_embedding(len(v), seed=1, mean=v), random_embedding(len(u), seed=2, mean=u)
    )
    return float(scores[given.positives].mean() - scores[~given.positives].mean())


def _check_terms(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    with seed_draws():
        terms = objective(image, text, given)
    hold(
        set(terms) == set(objective.terms),
        f"forward gives the terms {sorted(terms)}, and `terms` names {sorted(objective.terms)}",
    )
    bad = [name for name, term in terms.items() if term.shape != () or not term.isfinite()]
    hold(not bad, f"the terms {bad} are not finite scalars")
    hold(
        set(objective.text_features()) == set(objective.needs) and objective.captions_per_image >= 1,
        "text_features() must name what `needs` names, and captions_per_image must be at least 1",
    )


def _check_gradient(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    objective.select(set(objective.terms) - set(objective.constant_targets))

    def of(v: Tensor, u: Tensor) -> Tensor:
        return total_loss(
            objective, random_embedding(4, seed=1, mean=v), random_embedding(8, seed=2, mean=u), given
        )

    try:
        torch.autograd.gradcheck(of, (image.mean, text.mean), atol=1e-6)
    except RuntimeError as error:
        raise AssertionError(f"the gradient is not that of finite differences: {error}") from None


def _check_order(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    images, captions = torch.tensor([2, 0, 3, 1]), torch.tensor([7, 1, 4, 0, 2, 6, 5, 3])
    seen, read = given.momentum or (image, text)
    moved = Batch(
        [given.image_ids[i] for i in images],
        [given.caption_ids[t] for t in captions],
        images.argsort()[given.own[captions]],
        signals={name: take_captions(value, captions) for name, value in given.signals.items()},
        relevance={name: value[images][:, captions] for name, value in given.relevance.items()},
        momentum=(Embedding(seen.mean[images]), Embedding(read.mean[captions])),
    )
    found = total_loss(objective, image.take(images.numpy()), text.take(captions.numpy()), moved)
    hold(
        torch.isclose(found, total_loss(objective, image, text, given), rtol=1e-7, atol=1e-7),
        "the loss changes with the order of images and captions",
    )


def _check_direction(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    # Negatives start above positives, so that every ranking loss has something to say.
    mean = normalize(torch.roll(text.mean.detach(), 1, 0) + 0.3 * image.mean.detach().sum(0), dim=1)
    v, u = normalize(mean[[2, 3, 6, 0]], dim=1).requires_grad_(), text.mean.detach().requires_grad_()
    before = score_lead(objective, v, u, given)
    total_loss(objective, random_embedding(4, seed=1, mean=v), replace(text, mean=u), given).backward()  # type: ignore[no-untyped-call]
    steps = [{"params": [p], "lr": 0.05 / float(p.grad.norm())} for p in (v, u) if p.grad is not None]
    torch.optim.SGD(steps).step()
    hold(
        score_lead(objective, normalize(v.detach(), dim=1), normalize(u.detach(), dim=1), given) > before,
        "one step of gradient descent does not raise the scores of the positives against the negatives",
    )


def _check_finite(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    one = normalize(torch.ones(1, WIDTH, dtype=torch.float64), dim=1)
    v, u = (random_embedding(n, seed=n // 4, mean=one.repeat(n, 1).requires_grad_()) for n in (4, 8))
    cases = {
        "a batch of one pair": make_world(objective, (0,)),
        "a batch of one image with two captions": make_world(objective, (0, 0)),
        "a batch of equal embeddings": (v, u, given),
    }
    for what, (image, text, given) in cases.items():
        total = total_loss(objective, image, text, given)
        found = torch.autograd.grad(total, (image.mean, text.mean), allow_unused=True)
        hold(
            all(value.isfinite().all() for value in (total, *found) if value is not None),
            f"{what} gives a loss or a gradient that is not finite",
        )


def _check_same_image(objective: Objective, *_: object) -> None:
    # Rows 0 and 3 are one image that stands twice; captions 0, 1 and 4 are its own. Raising the score of any
    # of those six pairs must not raise the loss, and raising any other must not lower it.
    given = make_batch([0, 0, 1, 2, 3], image_ids=["a", "b", "c", "a"], objective=objective)
    # A graded relevance may well ask that one negative stand above another; here all are equally wrong.
    given = replace(given, relevance={key: given.positives.float() for key in given.relevance})
    matrix = torch.full((4, 5), 0.5, dtype=torch.float64, requires_grad=True)
    objective.scores = lambda image, text: matrix  # type: ignore[method-assign]
    total = (
        total_loss(objective, random_embedding(4, seed=1), random_embedding(5, seed=2), given)
        + 0 * matrix.sum()
    )
    (pull,) = torch.autograd.grad(total, matrix)
    down = pull[~given.positives]
    hold(down.sum() > 0, "forward does not push down the scores that `scores` gives to negatives")
    hold(
        (pull[given.positives] <= 1e-12).all() and (down >= -1e-12).all(),
        "captions of the same image are pushed away from it, or other captions drawn to it",
    )


def _check_gradients_arrive(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    # A graph is whole numbers, through which no gradient can pass.
    both = {**given.signals, **given.relevance}.items()
    leaves = {name: value.requires_grad_() for name, value in both if isinstance(value, Tensor)}
    total_loss(objective, image, text, given).backward()  # type: ignore[no-untyped-call]
    reached = [name for name, value in leaves.items() if value.grad is not None]
    hold(not reached, f"the gradient reaches {reached}, which are given and not learnt; detach them")
    hold(
        all(made.mean.grad is not None and made.mean.grad.abs().sum() > 0 for made in (image, text)),
        "the gradient does not reach both encoders",
    )


def _check_repeatable(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    before = deepcopy(objective.state_dict())
    first, second = (total_loss(objective, image, text, given) for _ in range(2))
    hold(torch.equal(first, second), "two forwards on one batch disagree")
    hold(
        all(torch.equal(before[key], value) for key, value in objective.state_dict().items()),
        "forward changes the state; memory is written in after_step alone",
    )


def _check_half_precision(objective: Objective, *_: object) -> None:
    given = make_batch(OWN, objective=objective.float())
    image, text = (random_embedding(n, seed=n, dtype=torch.float32) for n in (4, 8))
    with torch.autocast("cpu", torch.bfloat16):
        half = total_loss(objective, image, text, given)
    exact = total_loss(objective, image, text, given)
    hold(
        half.dtype == torch.float32 and torch.isclose(half, exact, rtol=0.05, atol=0.05),
        f"scores of half precision give a loss of {half} ({half.dtype}) instead of {exact}",
    )


def _check_selected(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    with seed_draws(1):
        whole = objective(image, text, given)
    for term in objective.terms:
        part = deepcopy(objective)
        part.select([term])
        with seed_draws(1):
            found = part(image, text, given).get(term)
        hold(
            found is not None and torch.isclose(found, whole[term], rtol=1e-7, atol=1e-7),
            f"the term {term!r} selected alone is missing or has another value",
        )
        hold(
            set(part.text_features()) == set(part.needs)
            and part.captions_per_image <= objective.captions_per_image,
            f"the term {term!r} selected alone needs more than the whole",
        )


def _check_scores_of_pairs(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> None:
    few, some = torch.tensor([2, 0]), torch.tensor([7, 1, 4])
    with torch.no_grad():
        whole = objective.scores(image, text)
        part = objective.scores(image.take(few.numpy()), text.take(some.numpy()))
    hold(
        whole.shape == (len(image), len(text)) and torch.allclose(part, whole[few][:, some]),
        "a score must depend on its pair alone, since evaluation scores a block of pairs at a time",
    )


CHECKS: tuple[Callable[..., None], ...] = (
    _check_terms,
    _check_gradient,
    _check_order,
    _check_direction,
    _check_finite,
    _check_same_image,
    _check_gradients_arrive,
    _check_repeatable,
    _check_half_precision,
    _check_selected,
    _check_scores_of_pairs,
)
