from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.metrics.families import recall
from tests.objectives.worlds import make_batch, random_embedding, total_loss
from tests.oracles import cora as oracle
from tests.toys import S4, close, eye
from workbench import encoders, objectives
from workbench.encoders.base import Pair
from workbench.losses.contrastive import contrastive
from workbench.objectives.cora import (
    captions_saying,
    joint_contrastive,
    specificity,
)
from workbench.objectives.parts.attention import with_entities
from workbench.records import Embedding, Judgements
from workbench.runs.build import check_reads


def unit(*rows):
    return functional.normalize(torch.tensor(rows, dtype=torch.float64), dim=1)


IMAGE, CAPTION = unit((1, 0.2), (0.1, 1)), unit((0.9, 0.3), (0.3, 0.9))
ENTITY, OWNER = unit((1, 0), (0.5, 0.5), (0, 1)), torch.tensor([0, 0, 1])
SCORES, FOUND = IMAGE @ CAPTION.T, IMAGE @ ENTITY.T
OWN = torch.tensor([[True, False, True, True, False], [False, True, False, False, True]])


@pytest.mark.parametrize(
    ("tau", "epsilon", "expected"),
    [
        (0.01, "none", 0.000599009),
        (0.01, "released", 0.002108276),
        (0.1, "none", 0.158522862),
        (0.1, "released", 0.158523790),
        (1.0, "none", 1.350171001),
        (1.0, "released", 1.350171636),
    ],
)
def test_the_contrastive_loss_over_captions_and_entities_by_hand(tau, epsilon, expected):
    close(joint_contrastive(torch.cat([SCORES, FOUND], 1), OWN, tau=tau, epsilon=epsilon), expected)


@pytest.mark.parametrize(("epsilon", "expected"), [("none", 0.016471755), ("released", 0.016472835)])
def test_an_entity_that_belongs_to_both_images_is_pushed_from_neither_by_hand(epsilon, expected):
    shared = OWN.clone()
    shared[1, 3] = True
    close(joint_contrastive(torch.cat([SCORES, FOUND], 1), shared, tau=0.1, epsilon=epsilon), expected)


def test_specificity_by_hand():
    # [.35 + s(v, e) - s(v, t)]+ = .338303, .189772 and .369596.
    close(specificity(SCORES, FOUND, torch.tensor([0, 1]), OWNER, margin=0.35), 0.299223802)
    each = [
        specificity(SCORES, FOUND[:, e, None], torch.tensor([0, 1]), OWNER[e, None], margin=0.35).item()
        for e in range(3)
    ]
    assert each == pytest.approx([0.338303, 0.189772, 0.369596], abs=1e-6)


def test_the_hardest_triplet_by_hand_is_a_mean():
    # METHODS: image to text .3375, text to image .345; the weight is 4.
    objective = objectives.load("cora", contrastive=0, specificity=0)
    objective.scores = lambda image, text: S4
    out = objective(random_embedding(4, seed=1), random_embedding(4, seed=2), make_batch(range(4)))
    assert list(out) == ["hard"]
    close(out["hard"], 4 * (0.3375 + 0.345))


def test_the_total_by_hand():
    # 4 * 0 + .000599009 + 11 * .299223802
    out = objectives.load("cora", positives="own")(
        Embedding(IMAGE), Embedding(CAPTION, entities=ENTITY, owner=OWNER), make_batch([0, 1])
    )
    assert out["hard"] == 0
    close(torch.stack(list(out.values())).sum(), 3.292060826)


def test_reranking_by_hand():
    # .8 * .6 + .2 * min(.5, .2, .4) = .52
    image = Embedding(torch.eye(4, dtype=torch.float64)[:1])
    entities = torch.tensor([[0.5, 0, 0, 0], [0.2, 0, 0, 0], [0.4, 0, 0, 0]], dtype=torch.float64)
    text = Embedding(
        torch.tensor([[0.6, 0.8, 0, 0]], dtype=torch.float64),
        entities=entities,
        owner=torch.zeros(3, dtype=torch.long),
    )
    close(with_entities(image.mean @ text.mean.T, image, text, 0.8), [[0.52]])


def test_a_caption_says_an_entity_of_its_object_and_a_subset_of_its_attributes():
    # Phrases: 1 dog, 2 cat, 3 brown, 4 big. Captions: a big brown dog and a cat; a brown dog; a brown cat.
    objects = torch.tensor([[1, 2], [1, 0], [2, 0]])
    attributes = torch.tensor([[[3, 4], [0, 0]], [[3, 0], [0, 0]], [[3, 0], [0, 0]]])
    # Entities: brown dog, big brown dog, dog, cat, brown cat.
    labels = torch.tensor([[1, 3, 0], [1, 4, 3], [1, 0, 0], [2, 0, 0], [2, 3, 0]])
    assert captions_saying(labels, objects, attributes).tolist() == [
        [True, True, True, True, False],
        [True, False, True, False, False],
        [False, False, False, True, True],
    ]


@pytest.mark.parametrize("seed", range(3))
def test_what_captions_say_is_that_of_loops(seed):
    generator = torch.Generator().manual_seed(seed)
    objects = torch.randint(0, 3, (6, 3), generator=generator)
    attributes = torch.randint(0, 4, (6, 3, 2), generator=generator) * (objects != 0)[..., None]
    labels = torch.cat(
        [torch.randint(1, 3, (9, 1), generator=generator), torch.randint(0, 4, (9, 2), generator=generator)],
        1,
    )
    entities = [(row[0], {a for a in row[1:] if a}) for row in labels.tolist()]
    captions = [
        [(name, set(had)) for name, had in zip(names, given, strict=True) if name]
        for names, given in zip(objects.tolist(), attributes.tolist(), strict=True)
    ]
    expected = [[oracle.says(entity, caption) for entity in entities] for caption in captions]
    assert captions_saying(labels, objects, attributes).tolist() == expected


@pytest.mark.parametrize(("images", "seed"), [(3, 0), (5, 1)])
def test_the_losses_are_those_of_loops(images, seed):
    own = torch.arange(images).repeat_interleave(2)
    given, image, text = (
        make_batch(own, seed=seed),
        random_embedding(images, seed=seed + 1),
        random_embedding(2 * images, seed=seed + 2),
    )
    scores, found = (image.mean @ other.T for other in (text.mean, text.entities))
    belongs = given.positives[:, text.owner]
    expected = oracle.specificity(scores.tolist(), found.tolist(), own.tolist(), text.owner.tolist(), 0.35)
    assert specificity(scores, found, own, text.owner, margin=0.35).item() == pytest.approx(expected)
    whole, positive = torch.cat([scores, found], 1), torch.cat([given.positives, belongs], 1)
    expected = sum(
        oracle.contrastive(s.tolist(), p.tolist(), 0.1) for s, p in ((whole, positive), (whole.T, positive.T))
    )
    assert joint_contrastive(whole, positive, tau=0.1, epsilon="none").item() == pytest.approx(expected)


def test_reranking_is_that_of_loops_and_goes_by_blocks(monkeypatch):
    image, text = random_embedding(7, seed=1), random_embedding(5, seed=2)
    owner = torch.tensor([0, 0, 0, 1, 1, 3, 3, 3, 4, 4])
    text = replace(text, owner=owner)
    scores = image.mean @ text.mean.T
    expected = oracle.reranked(scores.tolist(), (image.mean @ text.entities.T).tolist(), owner.tolist(), 0.3)
    close(with_entities(scores, image, text, 0.3), expected)
    monkeypatch.setattr("workbench.objectives.parts.attention.BLOCK", 3)
    close(with_entities(scores, image, text, 0.3), expected)


def test_without_entities_the_contrastive_loss_is_infonce_with_whole_means():
    positives = eye(2)
    expected = contrastive(SCORES / 0.1, positives, reduction="mean") + contrastive(
        SCORES.T / 0.1, positives, reduction="mean"
    )
    close(joint_contrastive(SCORES, positives, tau=0.1, epsilon="none"), expected.item())


def test_one_more_positive_never_raises_what_an_image_is_compared_with():
    scores = torch.cat([SCORES, FOUND], 1)
    shared = OWN.clone()
    shared[1, 3] = True
    before, after = ((scores / 0.1).exp().masked_fill(p, 0).sum(1) for p in (OWN, shared))
    assert (after <= before).all()
    assert joint_contrastive(scores, shared, tau=0.1, epsilon="none") >= 0


def test_beta_of_one_is_the_plain_ranking_exactly():
    image, text = random_embedding(4, seed=1), random_embedding(6, seed=2)
    plain = objectives.load("cora").scores(image, text)
    assert torch.equal(plain, image.mean @ text.mean.T)
    assert not torch.allclose(objectives.load("cora", beta=0.5).scores(image, text), plain)


def test_training_never_re_ranks():
    given, image, text = make_batch([0, 0, 1, 2]), random_embedding(3, seed=1), random_embedding(4, seed=2)
    assert total_loss(objectives.load("cora", beta=0.3), image, text, given) == total_loss(
        objectives.load("cora"), image, text, given
    )


def test_beta_is_chosen_on_the_validation_split_and_kept_with_the_weights():
    # The caption's own image has all of its things, and another image fits the caption as a whole better.
    image = Embedding(unit((1, 0, 0.2), (0, 1, 0.4)))
    text = Embedding(unit((0.5, 0.6, 0)), entities=unit((1, 0, 0), (1, 0.3, 0)), owner=torch.tensor([0, 0]))
    own = Judgements.from_own(np.array([0]), 2)

    def rsum(scores):
        return next(m.value for m in recall(scores.numpy(), own, ks=(1,), rounds=0) if m.label == "t2i/R@1")

    objective = objectives.load("cora", beta=None)
    assert objective.calibrates
    assert objective.scores(image, text)[:, 0].argmax() == 1
    objective.calibrate(image, text, rsum)
    assert objective.scores(image, text)[:, 0].argmax() == 0
    assert 0 < objective.state_dict()["beta"] < 1
    objective.calibrate(image, text, lambda scores: 1.0)
    assert objective.state_dict()["beta"] == 1


def test_ablations_take_their_terms_and_needs_away():
    alone = objectives.load("cora", contrastive=0, specificity=0)
    assert (alone.terms, alone.inputs, alone.needs) == (("hard",), (), ())
    both = objectives.load("cora", specificity=0)
    assert (both.terms, both.inputs, both.needs) == (
        ("hard", "contrastive"),
        ("entities",),
        ("graph_tokens",),
    )
    assert objectives.load("cora", positives="own").needs == ()
    assert objectives.load("cora", contrastive=0, specificity=0, beta=None).inputs == ("entities",)
    whole = objectives.load("cora")
    whole.select(["specificity"])
    assert (whole.inputs, whole.needs) == (("entities",), ())


def test_entities_of_other_images_that_say_the_same_are_positives():
    # Captions 0 and 1 of two images both say "brown dog" (1, 3); caption 1 also says "cat" (2).
    graphs = {"objects": torch.tensor([[1, 0], [1, 2]]), "attributes": torch.tensor([[[3], [0]], [[3], [0]]])}
    text = Embedding(
        CAPTION, entities=ENTITY, owner=torch.tensor([0, 1, 1]), labels=torch.tensor([[1, 3], [1, 3], [2, 0]])
    )
    given = replace(make_batch([0, 1]), signals={"graph_tokens": graphs})
    shared = torch.tensor([[True, True, False], [True, True, True]])
    whole = torch.cat([SCORES, IMAGE @ ENTITY.T], 1)
    for positives, expected in (
        ("graphs", shared),
        ("own", eye(2)[:, [0, 1, 1]]),
    ):
        found = objectives.load("cora", positives=positives)(Embedding(IMAGE), text, given)["contrastive"]
        close(
            found, joint_contrastive(whole, torch.cat([eye(2), expected], 1), tau=0.01, epsilon="none").item()
        )


def test_text_encoders_without_entities_are_refused_with_the_remedy():
    pair = Pair(
        encoders.load("regions", embed_dim=8), encoders.load("sequence", vocabulary=["dog"], embed_dim=8)
    )
    with pytest.raises(ValueError, match=r"reads 'entities' and .* set text_encoder=.*graph"):
        check_reads("cora", objectives.load("cora"), pair)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hard": 0, "contrastive": 0, "specificity": 0}, "give at least one of hard"),
        ({"beta": 1.5}, "beta is 1.5; it should be less than or equal to 1"),
        ({"epsilon": "some"}, "epsilon is 'some'"),
        ({"positives": "all"}, "positives is 'all'"),
    ],
)
def test_options_outside_their_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        objectives.load("cora", **options)
