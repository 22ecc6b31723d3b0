"""Every objective in the registry keeps the contract, and whatever breaks a part of it is found out."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize, softplus

from tests.objectives.worlds import load, seed_draws
from workbench import objectives
from workbench.objectives import Objective
from workbench.objectives.contract import check_objective
from workbench.records import Batch, Embedding


@pytest.mark.parametrize("name", objectives.names())
def test_it_keeps_the_contract(name):
    check_objective(name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dias", {"rows": "pooled", "selection": "dense"}),
        ("infonce", {"scale": "fixed", "extra_positives": "mask"}),
        ("vsepp", {"negatives": "sum", "reduction": "mean"}),
    ],
)
def test_it_keeps_the_contract_with_other_options(name, options):
    check_objective(name, **options)


@pytest.mark.parametrize("name", objectives.names())
def test_an_unknown_option_is_refused_with_the_near_names(name):
    option = next(iter(inspect.signature(type(load(name))).parameters))
    with pytest.raises(
        TypeError, match=rf"objective '{name}' has no option '{option}s'; did you mean .*{option}"
    ):
        objectives.load(name, **{f"{option}s": 1})


PLAIN = {
    "daa": {"tfidf": torch.rand(3, 5)},
    "sam": {"cider": torch.rand(3, 5)},
    "ditm": {"descriptiveness": torch.linspace(0, 1, 5)},
    "pcme": {"log_var": (torch.zeros(3, 6), torch.zeros(5, 6))},
    "pcmepp": {"log_var": (torch.zeros(3, 6), torch.zeros(5, 6))},
    "dias": {"parts": (torch.rand(3, 4, 6), torch.rand(5, 2, 6))},
    "hrem": {"parts": (torch.rand(3, 4, 6), torch.rand(5, 2, 6))},
    "aahr": {
        "parts": (torch.rand(3, 4, 6), torch.rand(5, 2, 6)),
        "momentum": (torch.rand(3, 6), torch.rand(5, 6)),
    },
    "cora": {
        "entities": torch.rand(5, 6),
        "owner": torch.arange(5),
        "labels": torch.randint(1, 3, (5, 2)),
        "graph_tokens": {
            "objects": torch.randint(1, 3, (5, 2)),
            "attributes": torch.randint(0, 3, (5, 2, 1)),
        },
    },
}


@pytest.mark.parametrize("name", objectives.names())
def test_plain_tensors_give_the_terms_of_records(name):
    objective, fields = load(name).float(), PLAIN.get(name, {})
    image, text = normalize(torch.rand(3, 6), dim=1), normalize(torch.rand(5, 6), dim=1)
    given = Batch(["b", "a", "c"], list("vwxyz"), torch.tensor([0, 0, 1, 2, 2]))
    with seed_draws():
        found = objective(image, text, given.positives, **fields)
    both = {key: [fields[key][0], fields[key][1]] for key in ("log_var", "parts") if key in fields}
    if "parts" in both:
        both["mask"] = [torch.ones(part.shape[:2], dtype=torch.bool) for part in both["parts"]]
    alone = {key: fields[key] for key in ("entities", "owner", "labels") if key in fields}
    records = replace(
        given,
        signals={key: fields[key] for key in objective.needs},
        relevance={key: fields[key] for key in objective.relevance_sources()},
        momentum=tuple(map(Embedding, fields["momentum"])) if objective.momentum else None,
    )
    sides = (Embedding(v, **{k: pair[n] for k, pair in both.items()}) for n, v in enumerate((image, text)))
    with seed_draws():
        image, text = sides
        expected = objective(image, replace(text, **alone), records)
    assert found.keys() == expected.keys() == set(objective.terms)
    for term, value in expected.items():
        torch.testing.assert_close(found[term], value)
    for field in fields.keys() - {"owner", "labels"}:
        with pytest.raises(TypeError, match=f"reads {field}; give it as a keyword, {field}=..."):
            objective(
                image.mean, text.mean, given.positives, **{k: v for k, v in fields.items() if k != field}
            )


def test_a_keyword_that_is_not_read_and_a_caption_without_an_image_are_refused():
    ditm, vectors = load("ditm"), torch.eye(2)
    with pytest.raises(TypeError, match="DITM has no keyword 'descriptivness'; did you mean descriptiveness"):
        ditm(vectors, vectors, vectors > 0, descriptiveness=vectors[0], descriptivness=vectors[0])
    with pytest.raises(ValueError, match="each caption must be right for at least one image"):
        load("vsepp")(vectors, vectors, vectors > 1)


class Sound(Objective):
    """Every negative against every positive, by a smooth hinge; what follows breaks one thing each."""

    terms = ("hinge",)

    def forward(self, image, text, batch):
        return {"hinge": self.hinge(self.scores(image, text), batch.positives)}

    def hinge(self, scores, positives):
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        chosen = positives.to(scores.dtype)
        lead = scores.flatten()[None, :] - scores.flatten()[:, None]
        return (softplus(lead) * (chosen.flatten()[:, None] * (1 - chosen.flatten())[None, :])).sum()


class Unnamed(Sound):
    terms = ("other",)


class Vector(Sound):
    def forward(self, image, text, batch):
        return {"hinge": super().forward(image, text, batch)["hinge"][None]}


class WrongGradient(Sound):
    def forward(self, image, text, batch):
        found = super().forward(image, text, batch)["hinge"]
        return {"hinge": found + found.detach() * found}


class Positional(Sound):
    def hinge(self, scores, positives):
        return (super().hinge(scores, positives) + 1) * (1 + scores[0, 0].square())


class Backwards(Sound):
    def hinge(self, scores, positives):
        return super().hinge(-scores, positives)


class NeedsNegatives(Sound):
    def hinge(self, scores, positives):
        return super().hinge(scores, positives) / (~positives).any().to(scores.dtype)


class InfiniteAtZero(Sound):
    def forward(self, image, text, batch):
        found = torch.cdist(image.mean, text.mean).pow(-1).mean()
        return {"hinge": super().forward(image, text, batch)["hinge"] + 1e-9 * found}


class Diagonal(Sound):
    def forward(self, image, text, batch):
        own = torch.zeros_like(batch.positives)
        own[batch.own, torch.arange(len(batch.own))] = True
        return {"hinge": self.hinge(self.scores(image, text), own)}


class OwnScores(Sound):
    def forward(self, image, text, batch):
        return {"hinge": self.hinge(image.mean @ text.mean.T, batch.positives)}


class OneSided(Sound):
    def scores(self, image, text):
        return image.mean @ text.mean.detach().T


class LearnsItsSignal(Sound):
    needs = ("descriptiveness",)

    def forward(self, image, text, batch):
        found = super().forward(image, text, batch)["hinge"]
        return {"hinge": found * (1 + batch.signals["descriptiveness"].mean())}


class Forgetful(Sound):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, image, text, batch):
        self.seen += 1
        return super().forward(image, text, batch)


class HalfPrecise(Sound):
    def hinge(self, scores, positives):
        return super().hinge(scores, positives).to(scores.dtype)


class Unselectable(Sound):
    terms = ("hinge", "again")

    def forward(self, image, text, batch):
        found = super().forward(image, text, batch)["hinge"]
        return {"hinge": found / len(self.selected or self.terms), "again": found}


class BatchScores(Sound):
    def scores(self, image, text):
        found = super().scores(image, text)
        return found - found.mean()


BROKEN = {
    Unnamed: "forward gives the terms",
    Vector: "not finite scalars",
    WrongGradient: "not that of finite differences",
    Positional: "order of images and captions",
    Backwards: "does not raise the scores of the positives",
    NeedsNegatives: "a batch of one pair",
    InfiniteAtZero: "equal embeddings",
    Diagonal: "captions of the same image are pushed away",
    OwnScores: "does not push down the scores that `scores` gives",
    OneSided: "finite differences|both encoders",
    LearnsItsSignal: "the gradient reaches",
    Forgetful: "forward changes the state",
    HalfPrecise: "half precision",
    Unselectable: "selected alone",
    BatchScores: "a score must depend on its pair alone",
}


def test_a_sound_objective_of_ones_own_keeps_the_contract():
    check_objective(Sound)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda kind: kind.__name__)
def test_each_way_to_break_the_contract_is_named(broken):
    with pytest.raises(AssertionError, match=rf"objective '{broken.__name__}'.*({BROKEN[broken]})"):
        check_objective(broken)


@pytest.mark.parametrize("name", ["vsepp", "infonce", "pcmepp"])
def test_an_optimiser_that_does_nothing_fails_the_contract(name, monkeypatch):
    monkeypatch.setattr(torch.optim.SGD, "step", lambda self: None)
    with pytest.raises(AssertionError, match="one step of gradient descent does not raise"):
        check_objective(name)
