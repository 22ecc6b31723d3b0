"""What is true of every objective, as one function for the tests of this package and those of a user.

    from workbench.objectives.contract import check_objective

    def test_my_loss_keeps_the_contract():
        check_objective("my_module:MyLoss", temperature=0.1)

Everything is checked on a batch of four images and eight captions of random embeddings, in training and in
warm-up epochs, in double precision.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.objectives import load
from workbench.objectives.base import Objective
from workbench.records import Batch, Embedding
from workbench.registry import make

World = tuple[Embedding, Embedding, Batch]
Fresh = Callable[[], Objective]
WIDTH = 6
OWN = (0, 0, 1, 2, 2, 2, 3, 3)


def check_objective(objective: str | type[Objective], **options: Any) -> None:
    """Hold an objective to the contract of the shelf.

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
        objective: a name of the shelf, ``"my_module:MyLoss"`` included, or the class.
        options: of the objective.

    Raises:
        AssertionError: names what does not hold.
    """

    def fresh() -> Objective:
        with seeded():
            made: Objective = (
                load(objective, **options)
                if isinstance(objective, str)
                else make(objective.__name__, objective, options)
            )
            made.fit_width(WIDTH)
        made.warm_up(warming)
        # Evaluation mode: dropout inside an objective would make every comparison a comparison of draws.
        return made.double().eval()

    name = objective if isinstance(objective, str) else objective.__name__
    for warming in (False, True):
        for check in CHECKS:
            if problem := check(fresh):
                raise AssertionError(
                    f"objective {name!r}{' in warm-up epochs' if warming else ''}: {problem}"
                )


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """Draws from PyTorch's global generator are the same each time, and nothing outside notices."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(torch.Generator().manual_seed(seed).get_state())
        yield


def world(objective: Objective | None = None, own: tuple[int, ...] = OWN, seed: int = 0) -> World:
    """Embeddings of images and captions, and their batch with all that the objective reads."""
    given = batch(own, objective=objective, seed=seed)
    return embedding(len(given.image_ids), seed=seed + 1), embedding(len(own), seed=seed + 2), given


def batch(
    own: Any,
    images: int | None = None,
    *,
    seed: int = 0,
    image_ids: list[str] | None = None,
    objective: Objective | None = None,
) -> Batch:
    """A batch of captions that belong to the images ``own``, with random signals and relevance.

    Args:
        own: ``(T,)`` image row of each caption.
        images: how many; ``None`` = as many as ``own`` names.
        seed: of the random values.
        image_ids: ids of the images; an id that stands there twice is one image.
        objective: whose signals and relevances the batch holds beside those that the package knows.
    """
    generator, own = torch.Generator().manual_seed(seed), torch.as_tensor(own)
    count = images or int(own.max()) + 1
    ids = image_ids or [f"i{n}" for n in range(count)], [f"t{n}" for n in range(len(own))]
    wanted = objective.signals() if objective else {}
    given = {name: torch.rand(len(own), generator=generator) for name in wanted} | signals(
        len(own), generator
    )
    momentum = [Embedding(embedding(n, seed=seed + 50 + n).mean.detach()) for n in (count, len(own))]
    made = Batch(*ids, own, signals=given, momentum=(momentum[0], momentum[1]))
    # An image's own captions have the highest grades.
    grades = {
        name: torch.rand(made.positives.shape, generator=generator) + made.positives
        for name in dict.fromkeys(("cider", "tfidf", *(objective.relevances() if objective else ())))
    }
    return replace(made, relevance=grades)


def signals(captions: int, generator: torch.Generator) -> dict[str, Any]:
    """Random values of every signal that an objective of the shelf may read, by name."""
    graphs = {"objects": torch.randint(1, 4, (captions, 2), generator=generator)}
    graphs["attributes"] = torch.randint(0, 4, (captions, 2, 1), generator=generator)
    return {"descriptiveness": torch.rand(captions, generator=generator), "graph_tokens": graphs}


def embedding(
    count: int,
    *,
    seed: int,
    dimensions: int = WIDTH,
    parts: int = 4,
    dtype: torch.dtype = torch.float64,
    mean: Tensor | None = None,
) -> Embedding:
    """Unit means, log variances, parts and two entities an item, all differentiable.

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

    mean = normalize(draw(count), dim=1).requires_grad_() if mean is None else mean
    log_var, tokens = (draw(count) - 3).requires_grad_(), draw(count, parts).requires_grad_()
    entities = normalize(draw(2 * count), dim=1).requires_grad_()
    owner, labels = (
        torch.arange(count).repeat_interleave(2),
        torch.randint(1, 4, (2 * count, 2), generator=generator),
    )
    return Embedding(
        mean, log_var, tokens, torch.ones(count, parts, dtype=torch.bool), entities, owner, labels
    )


def rows(made: Embedding, order: Tensor) -> Embedding:
    """Some items of an embedding in another order, with their entities."""
    place = torch.full((len(made),), -1).index_copy(0, order, torch.arange(len(order)))
    moved = {name: getattr(made, name)[order] for name in ("mean", "log_var", "parts", "mask")}
    if made.owner is not None and made.entities is not None and made.labels is not None:
        kept = place[made.owner] >= 0
        moved |= {"entities": made.entities[kept], "labels": made.labels[kept]}
        moved["owner"] = place[made.owner][kept]
    return replace(made, **moved)


def pick(signal: Any, order: Tensor) -> Any:
    """The signal of these captions, a tensor or a mapping of tensors."""
    if isinstance(signal, Mapping):
        return {key: value[order] for key, value in signal.items()}
    return signal[order]


def permuted(given: World, images: Tensor, captions: Tensor) -> World:
    """The same world with its images and its captions in another order."""
    image, text, of = given
    seen, read = of.momentum or (image, text)
    moved = Batch(
        [of.image_ids[i] for i in images],
        [of.caption_ids[t] for t in captions],
        images.argsort()[of.own[captions]],
        signals={name: pick(value, captions) for name, value in of.signals.items()},
        relevance={name: value[images][:, captions] for name, value in of.relevance.items()},
        momentum=(Embedding(seen.mean[images]), Embedding(read.mean[captions])),
    )
    return rows(image, images), rows(text, captions), moved


def loss(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> Tensor:
    """The sum of the terms; an objective that draws negatives draws the same ones every time."""
    with seeded():
        return torch.stack(list(objective(image, text, given).values())).sum()


def lead(objective: Objective, v: Tensor, u: Tensor, given: Batch) -> float:
    """Mean score of the positives less that of the negatives, for images ``(I, D)`` and captions ``(T, D)``."""
    with torch.no_grad():
        scores = objective.scores(embedding(len(v), seed=1, mean=v), embedding(len(u), seed=2, mean=u))
    return float(scores[given.positives].mean() - scores[~given.positives].mean())


def _terms(fresh: Fresh) -> str:
    objective = fresh()
    given = world(objective)
    with seeded():
        terms = objective(*given)
    if set(terms) != set(objective.terms):
        return f"forward gives the terms {sorted(terms)}, and `terms` names {sorted(objective.terms)}"
    if bad := [name for name, term in terms.items() if term.shape != () or not term.isfinite()]:
        return f"the terms {bad} are not finite scalars"
    if set(objective.signals()) != set(objective.needs) or objective.captions_per_image < 1:
        return "signals() must name what `needs` names, and captions_per_image must be at least 1"
    return ""


def _gradient(fresh: Fresh) -> str:
    objective = fresh()
    objective.select(set(objective.terms) - set(objective.constant_targets))
    image, text, given = world(objective)

    def of(v: Tensor, u: Tensor) -> Tensor:
        return loss(objective, embedding(4, seed=1, mean=v), embedding(8, seed=2, mean=u), given)

    try:
        torch.autograd.gradcheck(of, (image.mean, text.mean), atol=1e-6)
    except RuntimeError as error:
        return f"the gradient is not that of finite differences: {error}"
    return ""


def _order(fresh: Fresh) -> str:
    objective = fresh()
    given = world(objective)
    moved = permuted(given, torch.tensor([2, 0, 3, 1]), torch.tensor([7, 1, 4, 0, 2, 6, 5, 3]))
    same = torch.isclose(loss(objective, *moved), loss(objective, *given), rtol=1e-7, atol=1e-7)
    return "" if same else "the loss changes with the order of images and captions"


def _direction(fresh: Fresh) -> str:
    objective = fresh()
    image, text, given = world(objective)
    # Negatives start above positives, so that every ranking loss has something to say.
    mean = normalize(torch.roll(text.mean.detach(), 1, 0) + 0.3 * image.mean.detach().sum(0), dim=1)
    v, u = normalize(mean[[2, 3, 6, 0]], dim=1).requires_grad_(), text.mean.detach().requires_grad_()
    before = lead(objective, v, u, given)
    loss(objective, embedding(4, seed=1, mean=v), replace(text, mean=u), given).backward()  # type: ignore[no-untyped-call]
    steps = [{"params": [p], "lr": 0.05 / float(p.grad.norm())} for p in (v, u) if p.grad is not None]
    torch.optim.SGD(steps).step()
    if lead(objective, normalize(v.detach(), dim=1), normalize(u.detach(), dim=1), given) > before:
        return ""
    return "one step of gradient descent does not raise the scores of the positives against the negatives"


def _no_negative(fresh: Fresh) -> str:
    for own, what in (((0,), "one pair"), ((0, 0), "one image with two captions")):
        objective = fresh()
        if not _finite(objective, *world(objective, own)):
            return f"a batch of {what} gives a loss or a gradient that is not finite"
    return ""


def _equal_embeddings(fresh: Fresh) -> str:
    objective = fresh()
    one = normalize(torch.ones(1, WIDTH, dtype=torch.float64), dim=1)
    image, text = (embedding(n, seed=n // 4, mean=one.repeat(n, 1).requires_grad_()) for n in (4, 8))
    if _finite(objective, image, text, world(objective)[2]):
        return ""
    return "equal embeddings give a loss or a gradient that is not finite"


def _finite(objective: Objective, image: Embedding, text: Embedding, given: Batch) -> bool:
    total = loss(objective, image, text, given)
    found = torch.autograd.grad(total, (image.mean, text.mean), allow_unused=True)
    return all(bool(value.isfinite().all()) for value in (total, *found) if value is not None)


def _same_image(fresh: Fresh) -> str:
    # Rows 0 and 3 are one image that stands twice; captions 0, 1 and 4 are its own. Raising the score of any
    # of those six pairs must not raise the loss, and raising any other must not lower it.
    objective = fresh()
    given = batch([0, 0, 1, 2, 3], image_ids=["a", "b", "c", "a"], objective=objective)
    # A graded relevance may well ask that one negative stand above another; here all are equally wrong.
    given = replace(given, relevance={key: given.positives.float() for key in given.relevance})
    matrix = torch.full((4, 5), 0.5, dtype=torch.float64, requires_grad=True)
    objective.scores = lambda image, text: matrix  # type: ignore[method-assign]
    total = loss(objective, embedding(4, seed=1), embedding(5, seed=2), given)
    (pull,) = torch.autograd.grad(total, matrix, allow_unused=True) if total.requires_grad else (None,)
    if pull is None or not pull[~given.positives].sum() > 0:
        return "forward does not push down the scores that `scores` gives to negatives"
    if (pull[given.positives] > 1e-12).any() or (pull[~given.positives] < -1e-12).any():
        return "captions of the same image are pushed away from it, or other captions drawn to it"
    return ""


def _gradients_arrive(fresh: Fresh) -> str:
    objective = fresh()
    image, text, given = world(objective)
    leaves = {
        name: value.clone().requires_grad_()
        for name, value in {**given.signals, **given.relevance}.items()
        # A graph is whole numbers, through which no gradient can pass.
        if isinstance(value, Tensor)
    }
    given = replace(
        given,
        signals={**given.signals, **{name: leaves[name] for name in given.signals if name in leaves}},
        relevance={name: leaves[name] for name in given.relevance},
    )
    loss(objective, image, text, given).backward()  # type: ignore[no-untyped-call]
    if reached := [name for name, value in leaves.items() if value.grad is not None]:
        return f"the gradient reaches {reached}, which are given and not learnt; detach them"
    if any(made.mean.grad is None or not made.mean.grad.abs().sum() > 0 for made in (image, text)):
        return "the gradient does not reach both encoders"
    return ""


def _repeatable(fresh: Fresh) -> str:
    objective = fresh()
    before = copy.deepcopy(objective.state_dict())
    first, second = (loss(objective, *world(objective)) for _ in range(2))
    if not torch.equal(first, second):
        return "two forwards on one batch disagree"
    if not all(torch.equal(before[key], value) for key, value in objective.state_dict().items()):
        return "forward changes the state; memory is written in after_step alone"
    return ""


def _half_precision(fresh: Fresh) -> str:
    objective = fresh().float()
    given = world(objective)[2]
    image, text = (embedding(n, seed=n, dtype=torch.float32) for n in (4, 8))
    with torch.autocast("cpu", torch.bfloat16):
        total = loss(objective, image, text, given)
    exact = loss(objective, image, text, given)
    if total.dtype == torch.float32 and torch.isclose(total, exact, rtol=0.05, atol=0.05):
        return ""
    return f"scores of half precision give a loss of {total.item()} ({total.dtype}) instead of {exact.item()}"


def _selected(fresh: Fresh) -> str:
    whole = fresh()
    given = world(whole)
    with seeded(1):
        expected = whole(*given)
    for term in whole.terms:
        part = fresh()
        part.select([term])
        with seeded(1):
            found = part(*given)
        if term not in found or not torch.isclose(found[term], expected[term], rtol=1e-7, atol=1e-7):
            return f"the term {term!r} selected alone is missing or has another value"
        if set(part.signals()) != set(part.needs) or part.captions_per_image > whole.captions_per_image:
            return f"the term {term!r} selected alone needs more than the whole"
    return ""


def _scores_of_pairs(fresh: Fresh) -> str:
    objective = fresh()
    image, text, _ = world(objective)
    few, some = torch.tensor([2, 0]), torch.tensor([7, 1, 4])
    with torch.no_grad():
        whole, part = objective.scores(image, text), objective.scores(rows(image, few), rows(text, some))
    if whole.shape == (len(image), len(text)) and torch.allclose(part, whole[few][:, some]):
        return ""
    return "a score must depend on its pair alone, since evaluation scores a block of pairs at a time"


CHECKS = (
    _terms, _gradient, _order, _direction, _no_negative, _equal_embeddings, _same_image, _gradients_arrive,
    _repeatable, _half_precision, _selected, _scores_of_pairs,
)  # fmt: skip
