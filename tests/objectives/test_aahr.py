"""AAHR: prototypes, banks, neighbourhood, and what is left when a component is off."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import tensor

from tests.objectives.worlds import WIDTH, load, make_batch, random_embedding, total_loss
from tests.oracles import aahr as oracle
from workbench import objectives
from workbench.losses.triplet import triplet
from workbench.objectives.parts.bank import Bank, id_numbers, momentum_contrast
from workbench.objectives.parts.neighbourhood import (
    Graph,
    Neighbourhood,
    attention_bias,
    biased_attention,
    cross_similarity,
    intra_similarity,
    is_upper_half,
    normalise,
)
from workbench.objectives.parts.sinkhorn import Alignment, Prototypes, prediction_loss, sinkhorn
from workbench.records import Embedding

OWN = [0, 0, 1, 2, 2, 2, 3, 3]
SCORES = tensor([[0.9, 0.1, 0.2], [0.8, 0.3, 0.1]], dtype=torch.float64)
IMAGE = tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.1]], dtype=torch.float64)
TEXT = tensor([[0.7, 0.2, 0.4], [0.2, 0.9, 0.0]], dtype=torch.float64)
BLOCK = tensor(
    [[1, 0.6, 0.2, 0.4], [0.6, 1, 0.3, 0.5], [0.2, 0.3, 1, 0.7], [0.4, 0.5, 0.7, 1]], dtype=torch.float64
)


def close(found, expected, atol=1e-6):
    torch.testing.assert_close(
        torch.as_tensor(found), torch.as_tensor(expected, dtype=found.dtype), rtol=0, atol=atol
    )


def world(own=OWN, seed=0):
    given = make_batch(own, seed=seed)
    return (
        random_embedding(len(given.image_ids), seed=seed + 1),
        random_embedding(len(own), seed=seed + 2),
        given,
    )


def test_sinkhorn_by_hand_at_both_epsilons():
    # METHODS 8.4: rows sum to 1; columns to 2/3 once it has converged, and not yet after 3 iterations at
    # 0.05.
    wide, narrow = (sinkhorn(SCORES, epsilon=epsilon, iterations=3) for epsilon in (0.5, 0.05))
    close(wide, [[0.366336, 0.267328, 0.366336], [0.300331, 0.399339, 0.300331]])
    close(wide.sum(0), [2 / 3] * 3, atol=1e-5)
    close(narrow, [[0.496971, 0.006059, 0.496971], [0.144546, 0.710909, 0.144546]])
    close(narrow.sum(0)[:2], [0.641516, 0.716967])
    close(narrow.sum(1), [1.0, 1.0])


def test_the_swapped_prediction_by_hand_in_both_forms():
    to_image, to_text = (sinkhorn(side, epsilon=0.05, iterations=3) for side in (IMAGE, TEXT))
    forward, back = prediction_loss(to_text, IMAGE, 0.1).mean(), prediction_loss(to_image, TEXT, 0.1).mean()
    close(forward, 1.758548695, atol=1e-9)
    close(back, 1.590487877, atol=1e-9)
    close(forward + back, 3.349036572, atol=1e-9)
    # The printed form predicts with a softmax of a softmax; here from the same targets.
    close(prediction_loss(to_text, IMAGE.softmax(1), 0.1).mean(), 0.820824612, atol=1e-9)
    close(prediction_loss(to_image, TEXT.softmax(1), 0.1).mean(), 0.818545376, atol=1e-9)


@pytest.mark.parametrize(("prototypes", "top"), [(384, 0.982909), (768, 0.966350)])
def test_the_printed_form_can_never_be_sure(prototypes, top):
    # The first softmax gives at most 1 and the others 0, so that the second has exp(10) against k - 1 ones.
    best = torch.zeros(1, prototypes, dtype=torch.float64)
    best[0, 0] = 1
    close((best / 0.1).softmax(1).max(), top)


def test_momentum_contrast_by_hand():
    # e^8 / (e^8 + e^0 + e^-6): METHODS 8.5.
    scores = (
        tensor([[1.0, 0.0]], dtype=torch.float64)
        @ tensor([[0.8, 0.6], [0, 1], [-0.6, 0.8]], dtype=torch.float64).T
    )
    own, usable = tensor([[True, False, False]]), torch.ones(3, dtype=torch.bool)
    close(momentum_contrast(scores, own, own, usable, tau=0.1, reduction="mean"), 0.000336238, atol=1e-9)


def test_a_bank_of_four_forgets_the_oldest():
    bank = Bank(4, 1)
    for pair in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        bank.push(tensor(pair)[:, None], tensor(pair).long())
    assert bank.vectors.flatten().tolist() == [3, 4, 5, 6]
    assert bank.image_ids.tolist() == [3, 4, 5, 6]
    assert int(bank.filled) == 4


def test_what_a_bank_will_hold_is_what_it_holds_after_the_push():
    bank = Bank(5, 2)
    for step in range(6):
        new, ids = torch.full((2, 2), float(step)), torch.full((2,), step)
        vectors, numbers, kept = bank.with_new(new, ids)
        bank.push(new, ids)
        stored = bank.image_ids[5 - int(bank.filled) :]
        assert sorted(numbers[kept].tolist()) == sorted(stored.tolist())
        assert vectors.shape == (7, 2)


def test_a_batch_larger_than_its_bank_is_contrasted_whole():
    bank = Bank(2, 1)
    _, numbers, kept = bank.with_new(torch.zeros(3, 1), torch.arange(3))
    assert numbers[kept].tolist() == [0, 1, 2]
    bank.push(torch.zeros(3, 1), torch.arange(3))
    assert bank.image_ids.tolist() == [1, 2]


def test_image_numbers_are_the_same_in_every_run():
    # blake2b with 8 bytes, read as a signed big-endian number.
    assert id_numbers(["a", "b", "a"], torch.device("cpu")).tolist() == [
        4681665781835383343, -8902839231844102283, 4681665781835383343,
    ]  # fmt: skip


def test_the_graph_within_a_modality_by_hand():
    # Squared distances .4, 2, .8; exp(-.4) = .670320, exp(-2) = .135335, exp(-.8) = .449329.
    similarity = intra_similarity(tensor([[1, 0], [0.8, 0.6], [0, 1]], dtype=torch.float64), 1.0)
    close(similarity, [[1, 0.670320, 0.135335], [0.670320, 1, 0.449329], [0.135335, 0.449329, 1]])
    close(similarity.sum(1), [1.805655, 2.119649, 1.584664])
    close(normalise(similarity)[0], [0.553816, 0.342636, 0.080006])


def test_the_upper_half_of_a_block_and_the_biased_attention_by_hand():
    # Sixteen values with .5, .5, .6, .6 around the middle: median .55. With no query, weights are
    # softmax(1.5, .9).
    heard = is_upper_half(BLOCK, by_row=False)
    assert heard.tolist() == [[True, True, False, False]] * 2 + [[False, False, True, True]] * 2
    bias = (1.5 * BLOCK).masked_fill(~heard, -torch.inf)
    close(bias[0, :2], [1.5, 0.9])
    nothing = torch.zeros(1, 4, 2, dtype=torch.float64)
    out = biased_attention(nothing, nothing, torch.eye(4, dtype=torch.float64)[None], bias)
    close(out[0, 0], [0.645656, 0.354344, 0, 0])


def test_regions_and_words_by_hand():
    # Regions (1,0), (0,2); words (1,0), (.6,.8): best words 1 and .8, mean .9; best regions 1 and .8, mean
    # .9. Padding: (0,9).
    image = Embedding(
        torch.eye(1, 2), parts=tensor([[[1.0, 0.0], [0.0, 2.0]]]), mask=torch.ones(1, 2, dtype=torch.bool)
    )
    words = tensor([[[1.0, 0.0], [0.6, 0.8], [0.0, 9.0]]])
    to_text, to_image = cross_similarity(
        image, Embedding(torch.eye(1, 2), parts=words, mask=tensor([[True, True, False]]))
    )
    close(to_text, [[0.9]])
    close(to_image, [[0.9]])
    three = Embedding(torch.eye(1, 2), parts=words, mask=torch.ones(1, 3, dtype=torch.bool))
    close(torch.cat(cross_similarity(image, three)), [[1.0], [14 / 15]])


def masked(count, parts, seed):
    made = random_embedding(count, seed=seed, parts=parts)
    mask = torch.rand(count, parts, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[:, 0] = True
    return replace(made, mask=mask)


@pytest.mark.parametrize("seed", range(3))
def test_sinkhorn_and_alignment_are_the_loops(seed):
    image, text = (random_embedding(5, seed=seed + n).mean.detach() for n in (1, 9))
    for form in ("swav", "printed"):
        torch.manual_seed(seed)
        prototypes = Prototypes(WIDTH, Alignment(prototypes=7, form=form)).double()
        expected = oracle.alignment(
            image.tolist(), text.tolist(), prototypes.vectors.tolist(), 0.1, 0.05, 3, form == "printed"
        )
        close(prototypes(image, text), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_contrast_is_the_loop_with_a_bank_that_knows_images_of_the_batch(seed):
    objective = load("aahr", triplet=0, pga=0, nsi=0, contrast={"bank": 12})
    image, text, given = world(seed=seed)
    earlier = make_batch([0, 1, 1, 2], image_ids=["i2", "x", "i0"], seed=seed + 7)
    objective.after_step(image, text, earlier)
    of = [given.image_ids[i] for i in given.own]
    earlier_of = [earlier.image_ids[i] for i in earlier.own]
    seen_image, seen_text = (made.mean.tolist() for made in given.momentum)
    old_image, old_text = (made.mean.tolist() for made in earlier.momentum)
    expected = oracle.contrast(image.mean.tolist(), given.image_ids, seen_text, of, old_text, earlier_of, 0.1)
    expected += oracle.contrast(
        text.mean.tolist(), of, seen_image, given.image_ids, old_image, earlier.image_ids, 0.1
    )
    close(total_loss(objective, image, text, given), expected, atol=1e-9)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_the_neighbourhood_is_the_loops(seed, residual, monkeypatch):
    # Few cells at a time, so that the table of regions and words is made in pieces.
    monkeypatch.setattr("workbench.objectives.parts.neighbourhood.block_entries", lambda _: 40)
    image, text = masked(3, 4, seed), masked(5, 3, seed + 5)
    torch.manual_seed(seed)
    layer = Neighbourhood(WIDTH, Graph(epsilon=0.7, alpha=1.3, residual=residual)).double().eval()
    plain = [[made.mean.tolist(), made.parts.tolist(), made.mask.tolist()] for made in (image, text)]
    (v, regions, seen), (u, words, real) = plain
    to_text, to_image = oracle.cross(regions, seen, words, real)
    whole = oracle.graph(v, u, to_text, to_image, 0.7)
    of_images, of_texts = [row[:3] for row in whole[:3]], [row[3:] for row in whole[3:]]
    hidden = oracle.convolved(of_images, v, layer.of_images[0].weight.tolist())
    hidden += oracle.convolved(of_texts, u, layer.of_texts[0].weight.tolist())
    hidden = oracle.convolved(whole, hidden, layer.joint[0].weight.tolist())
    maps = [
        [
            [oracle.dot(w, h) + b for w, b in zip(m.weight.tolist(), m.bias.tolist(), strict=True)]
            for h in hidden
        ]
        for m in (layer.query, layer.key, layer.value)
    ]
    heard = oracle.attended(*maps, oracle.bias(whole, 3, 1.3))
    if residual:
        heard = [
            [a + b for a, b in zip(row, said, strict=True)] for row, said in zip(heard, v + u, strict=True)
        ]
    expected = [oracle.unit(row) for row in heard]
    close(torch.cat(layer(image, text)), expected, atol=1e-9)


def test_the_terms_are_the_sum_that_the_paper_writes():
    objective = load("aahr", mcl=2.0, nsi=0.5)
    image, text, given = world()
    found = objective(image, text, given)
    v, u = objective.neighbourhood(image, text)

    def tri(a, b):
        s, p = a @ b.T, given.positives
        return sum(
            triplet(x, y, margin=0.2, negatives="hardest", reduction="mean") for x, y in ((s, p), (s.T, p.T))
        )  # fmt: skip

    close(found["triplet"], tri(image.mean, text.mean))
    close(found["nsi"], 0.5 * tri(v, u))
    close(found["nsi_cross"], 0.5 * (tri(image.mean, u) + tri(v, text.mean)))
    close(found["nsi_pga"], 0.5 * objective.prototypes(v[given.own], u))
    close(found["mcl"], 2 * load("aahr")(image, text, given)["mcl"])


def test_with_everything_off_but_the_triplet_it_is_vse_plus_plus():
    image, text, given = world()
    found = total_loss(load("aahr", pga=0, mcl=0, nsi=0), image, text, given)
    scores = objectives.load("vsepp", margin=0.2)(image, text, given)
    close(found * len(OWN), sum(scores.values()), atol=1e-9)


def test_swapping_the_sides_or_renumbering_the_prototypes_changes_no_alignment():
    torch.manual_seed(0)
    prototypes = Prototypes(WIDTH, Alignment(prototypes=7)).double()
    image, text = (random_embedding(5, seed=n).mean.detach() for n in (1, 2))
    value = prototypes(image, text)
    close(prototypes(text, image), value, atol=1e-12)
    with torch.no_grad():
        prototypes.vectors.copy_(3 * prototypes.vectors.flip(0))
    close(prototypes(image, text), value, atol=1e-12)


def test_the_swapped_prediction_is_at_least_the_entropy_of_its_target():
    target = sinkhorn(SCORES, epsilon=0.05, iterations=3)
    assert (prediction_loss(target, IMAGE, 0.1) >= -(target * target.log()).sum(1)).all()


def test_the_targets_take_no_gradient_and_the_rest_is_that_of_finite_differences(monkeypatch):
    torch.manual_seed(0)
    prototypes = Prototypes(WIDTH, Alignment(prototypes=5)).double()
    image, text = (random_embedding(3, seed=n).mean for n in (1, 2))
    own = torch.autograd.grad(prototypes(image, text), (image, text))
    fixed = [sinkhorn(prototypes.scores(side), epsilon=0.05, iterations=3) for side in (image, text)]
    assert not any(target.requires_grad for target in fixed)
    calls = iter(fixed * 100)
    monkeypatch.setattr("workbench.objectives.parts.sinkhorn.sinkhorn", lambda *_, **__: next(calls))
    assert torch.autograd.gradcheck(prototypes, (image, text), atol=1e-6)
    torch.testing.assert_close(torch.autograd.grad(prototypes(image, text), (image, text)), own)


def test_neither_bank_nor_momentum_outputs_take_a_gradient():
    objective = load("aahr", pga=0, nsi=0)
    image, text, given = world()
    leaves = [made.mean.clone().requires_grad_() for made in given.momentum]
    given = replace(given, momentum=tuple(Embedding(leaf) for leaf in leaves))
    total_loss(objective, image, text, given).backward()
    assert all(leaf.grad is None for leaf in leaves)
    assert not any(buffer.requires_grad for buffer in objective.buffers())


def test_what_the_bank_holds_of_the_anchors_own_image_is_no_negative():
    objective = load("aahr", triplet=0, pga=0, nsi=0)
    image, text = random_embedding(1, seed=1), random_embedding(1, seed=2)
    given, other = make_batch([0], image_ids=["a"]), make_batch([0], image_ids=["b"], seed=3)
    assert objective(image, text, given)["mcl"].item() == pytest.approx(0, abs=1e-12)
    objective.after_step(image, text, given)
    assert objective(image, text, given)["mcl"].item() == pytest.approx(0, abs=1e-12)
    objective.after_step(image, text, other)
    assert objective(image, text, given)["mcl"].item() > 1e-6


def test_forward_writes_nothing_and_a_step_enqueues_the_batch():
    objective = load("aahr", contrast={"bank": 16})
    image, text, given = world()
    objective(image, text, given)
    assert int(objective.images.filled) == int(objective.texts.filled) == 0
    objective.after_step(image, text, given)
    assert (int(objective.images.filled), int(objective.texts.filled)) == (4, 8)
    torch.testing.assert_close(objective.texts.vectors[-8:], given.momentum[1].mean)
    ids = id_numbers(given.image_ids, torch.device("cpu"))
    assert torch.equal(objective.texts.image_ids[-8:], ids[given.own])
    state = objective.state_dict()
    assert {"images.vectors", "texts.image_ids", "texts.filled", "steps", "prototypes.vectors"} <= set(state)


def test_the_order_of_nodes_permutes_the_enhanced_embeddings():
    torch.manual_seed(0)
    layer = Neighbourhood(WIDTH, Graph(heads=2)).double().eval()
    image, text = masked(4, 3, 1), masked(6, 4, 2)
    order, other = tensor([2, 0, 3, 1]), tensor([5, 1, 0, 3, 2, 4])
    moved = [
        Embedding(made.mean[rows], parts=made.parts[rows], mask=made.mask[rows])
        for made, rows in ((image, order), (text, other))
    ]
    v, u = layer(image, text)
    found = layer(*moved)
    torch.testing.assert_close(found, (v[order], u[other]))
    torch.testing.assert_close(v.norm(dim=1), torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("keep", ["block", "row", "all"])
def test_every_node_listens_to_somebody_even_where_all_are_alike(keep):
    alike = torch.full((5, 5), 0.5)
    alike[:2, 2:] -= 1
    bias = attention_bias(alike - torch.rand(5, 5) * 1e-7, 2, alpha=1.5, keep=keep)
    assert bias.isfinite().any(1).all()
    assert bias.diagonal().isfinite().all()


def test_without_the_plain_embedding_all_nodes_say_nearly_the_same():
    # Why the print is not the default: the enhanced embeddings of random nodes have a mean cosine near 1
    # without it.
    image, text = random_embedding(8, seed=1), random_embedding(8, seed=2)
    found = []
    for residual in (False, True):
        torch.manual_seed(0)
        enhanced = torch.cat(
            Neighbourhood(WIDTH, Graph(residual=residual)).double().eval()(image, text)
        ).detach()
        found.append((enhanced @ enhanced.T).mean())
    assert found[0] > 0.95
    assert found[1] < 0.5


def test_negative_similarities_are_no_neighbours_in_the_convolution():
    found = normalise(tensor([[1.0, -0.5], [0.2, 1.0]]))
    close(found, [[1.0, 0.0], [0.2 / 1.2**0.5, 1 / 1.2]])


def test_regions_take_a_gradient_only_when_asked():
    image, text, given = world()
    total_loss(load("aahr"), image, text, given).backward()
    assert image.parts.grad is None
    total_loss(load("aahr", graph={"detach": False}), image, text, given).backward()
    assert image.parts.grad.abs().sum() > 0
    assert text.parts.grad.abs().sum() > 0


def test_the_neighbourhood_waits_for_its_step():
    objective = load("aahr", graph={"after": 1})
    image, text, given = world()
    assert objective(image, text, given)["nsi"].item() == 0
    objective.after_step(image, text, given)
    assert objective(image, text, given)["nsi"].item() > 0


def test_retrieval_does_not_look_at_the_neighbours():
    image, text, _ = world()
    objective = load("aahr")
    scores = objective.scores(image, text)
    close(scores, image.mean @ text.mean.T)
    torch.testing.assert_close(objective.scores(Embedding(image.mean[:1]), text)[0], scores[0])


def test_a_summed_contrast_is_the_mean_times_the_anchors():
    scores, own = torch.rand(3, 5), torch.eye(3, 5, dtype=torch.bool)
    usable = torch.ones(5, dtype=torch.bool)
    summed, mean, each = (
        momentum_contrast(scores, own, own, usable, tau=0.1, reduction=r) for r in ("sum", "mean", "none")
    )
    close(summed, 3 * mean.item(), atol=1e-5)
    close(each.mean(), mean.item(), atol=1e-5)
    image, text, given = world()
    two = [
        load("aahr", triplet=0, pga=0, nsi=0, contrast={"reduction": r})(image, text, given)["mcl"]
        for r in ("sum", "mean")
    ]
    assert two[0] > 4 * two[1]


@pytest.mark.parametrize(
    ("options", "terms", "inputs", "momentum"),
    [
        ({}, ("triplet", "pga", "mcl", "nsi", "nsi_cross", "nsi_pga"), ("parts",), 0.999),
        ({"nsi": 0}, ("triplet", "pga", "mcl"), (), 0.999),
        ({"pga": 0}, ("triplet", "mcl", "nsi", "nsi_cross"), ("parts",), 0.999),
        ({"mcl": 0, "graph": {"cross": False}}, ("triplet", "pga", "nsi", "nsi_pga"), ("parts",), 0.0),
        ({"pga": 0, "mcl": 0, "nsi": 0}, ("triplet",), (), 0.0),
    ],
)
def test_a_component_that_is_off_takes_its_needs_with_it(options, terms, inputs, momentum):
    objective = load("aahr", **options)
    assert (objective.terms, objective.inputs, objective.momentum) == (terms, inputs, momentum)
    assert set(objective(*world())) == set(terms)
    assert hasattr(objective, "prototypes") is ("pga" in terms)


def test_a_selection_takes_back_momentum_and_parts():
    objective = load("aahr")
    objective.select(["pga"])
    assert (objective.momentum, objective.inputs) == (0.0, ())


def test_a_batch_without_momentum_outputs_is_refused_with_the_remedy():
    image, text, given = world()
    with pytest.raises(ValueError, match=r"train with .*, or leave them out with mcl=0"):
        load("aahr")(image, text, replace(given, momentum=None))


def test_regions_and_words_of_different_widths_are_refused_with_the_remedy():
    image, text, given = world()
    narrow = replace(text, parts=text.parts[..., :3])
    with pytest.raises(
        ValueError, match=r"must have one width, here \[6, 3\]; choose the encoder 'multigrain'"
    ):
        load("aahr")(image, narrow, given)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"graph": {"alfa": 1}}, TypeError, "'aahr': graph has no option 'alfa'; did you mean alpha"),
        ({"alignment": {"form": "double"}}, ValueError, "choose one of swav, printed"),
        ({"contrast": {"momentum": 1.0}}, ValueError, "momentum is 1.0; it should be less than 1"),
        ({"contrast": {"reduction": "none"}}, ValueError, "choose one of mean, sum"),
        ({"graph": {"keep": "half"}}, ValueError, "choose one of block, row, all"),
        ({"triplet": 0, "pga": 0, "mcl": 0, "nsi": 0}, ValueError, "all weights are 0"),
        ({"graph": {"heads": 4}}, ValueError, "4 heads do not divide the width 6"),
    ],
)
def test_wrong_options_are_refused_with_the_remedy(options, error, message):
    with pytest.raises(error, match=message):
        load("aahr", **options)
