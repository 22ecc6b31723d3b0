"""AAHR as its authors released it: each line of METHODS 8.8, against loops of our own."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from tests.objectives.worlds import WIDTH, load, make_batch, random_embedding, recorded_draws
from tests.oracles import aahr as oracle
from workbench import objectives
from workbench.encoders.multigrain import Fusion, ReleasedGrain, two_largest
from workbench.encoders.pooling import ValuePooling
from workbench.objectives.contract import check_objective
from workbench.objectives.parts.neighbourhood import attention_bias
from workbench.objectives.parts.released_graph import (
    Convolution,
    best_matches,
    mean_matches,
    similarity_within,
)
from workbench.records import Embedding

OWN = [0, 0, 1, 2, 2, 2, 3, 3]
NOW = {"alignment": {"after": 0}, "graph": {"after": 0}, "contrast": {"bank": 8}}


def close(found, expected, atol=1e-9):
    expected = torch.as_tensor(expected, dtype=found.dtype)
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


def world(seed=0, **options):
    """Pairs whose vectors have any length, an objective with full banks, and its batch."""
    given = make_batch(OWN, seed=seed)
    sides = [random_embedding(n, seed=seed + 1 + k) for k, n in enumerate((4, len(OWN)))]
    image, text = (Embedding(1.3 * s.mean, parts=s.parts, mask=s.mask, local=s.local) for s in sides)
    objective = load("aahr", variant="released", **NOW | options)
    for step in range(3):
        objective.after_step(image, text, make_batch(OWN, seed=10 + step))
    return objective, image, text, given


def pairs(linear, heads):
    width = linear.in_features
    return list(
        zip(linear.weight.view(heads, width, width).tolist(), linear.bias.view(heads, width).tolist())
    )


def test_the_settings_are_those_of_the_released_code():
    made = objectives.load("aahr", variant="released")
    assert made.weights == {"triplet": 1, "pga": 0.2, "mcl": 1, "nsi": 1, "nsi_cross": 1}
    assert (made.margin, made.cutoff) == (0.2, 1.7)
    a, c, g = made.alignment, made.contrast, made.graph
    assert (a.epsilon, a.iterations, a.tau, a.after, a.prototypes) == (0.1, 3, 0.1, 2200, 384)
    assert (a.unit, objectives.load("aahr").alignment.unit) == (True, False)
    assert (c.tau, c.bank, c.momentum) == (0.07, 2048, 0.999)
    assert (g.alpha, g.heads, g.dropout, g.attention_dropout, g.after) == (1.0, 16, 0.6, 0.1, 8000)
    assert objectives.load("aahr", variant="released", pga=1.0).weights["pga"] == 1


def test_the_two_largest_by_hand_and_of_a_single_part():
    parts = torch.tensor([[[1.0, 5.0], [3.0, -1.0], [2.0, 4.0]]])
    close(two_largest(parts, torch.tensor([[True, True, True]])), [[2.5, 4.5]])
    close(two_largest(parts, torch.tensor([[True, False, False]])), [[1.0, 5.0]])
    close(two_largest(parts, torch.tensor([[True, True, False]])), [[2.0, 2.0]])


@pytest.mark.parametrize("padding", [False, True])
def test_one_side_is_that_of_the_loops(padding):
    fusion = Fusion(variant="released", maps=2, heads=1, dropout=0.0, padding=padding)
    torch.manual_seed(3)
    grain = ReleasedGrain(5, 3, 4, fusion, aligned=False).double().eval()
    parts, guide = torch.randn(2, 3, 5, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    made = grain(Embedding(torch.zeros(2, 5, dtype=torch.float64), parts=parts, mask=mask), guide)
    plain, asked = grain.of_parts(parts), grain.of_guide(guide)
    met = grain.layers[0](plain, src_key_padding_mask=~mask)
    maps = [pairs(one, 2) for one in (grain.pooling.query, grain.pooling.key, grain.pooling.value)]
    for n in range(2):
        heard = [True] * 3 if padding else mask[n].tolist()
        ggla = oracle.valued(asked[n].tolist(), met[n].tolist(), heard, *maps)
        r = oracle.two_largest(plain[n].tolist(), mask[n].tolist())
        local = oracle.unit([0.8 * a + 0.2 * b for a, b in zip(r, ggla, strict=True)])
        close(made.local[n], local)
        c = torch.tensor(oracle.unit(asked[n].tolist()), dtype=torch.float64)
        g = grain.gate.linear(torch.cat([made.local[n], c])).sigmoid()
        # not normalised
        close(made.mean[n], g * made.local[n] + (1 - g) * c)
    assert (made.mean.norm(dim=1) < 1 - 1e-6).all()
    assert made.parts is not None


def test_heads_are_averaged_and_their_weights_sum_to_one():
    pooling = ValuePooling(4, 8).double()
    guide, parts = torch.randn(2, 4, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    weights = pooling.weights(guide, parts, mask)
    close(weights.sum(1), [1.0, 1.0])
    close(weights[1], [1.0, 0.0, 0.0])
    assert pooling.query.weight.shape == (32, 4)


def test_scores_are_dot_products():
    objective, image, text, _ = world()
    close(objective.scores(image, text), image.mean @ text.mean.T)


def test_relevance_across_and_within_is_that_of_the_loops():
    image, text = random_embedding(3, seed=1), random_embedding(4, seed=2)
    mask = torch.tensor([[True, True, True, False]] * 3)
    image = Embedding(image.mean, parts=image.parts, mask=mask, local=image.local)
    found = mean_matches(best_matches(image, text), image, text)
    expected = oracle.scan_relevance(
        image.parts.tolist(), mask.tolist(), text.parts.tolist(), text.mask.tolist()
    )
    for one, other in zip(found, expected, strict=True):
        close(one, other)
        assert not one.requires_grad
    close(similarity_within(image.local), oracle.near(image.local.tolist()), atol=2e-6)


def test_the_convolution_and_the_bias_are_those_of_the_loops():
    torch.manual_seed(1)
    layer = Convolution(3, 0.6).double().eval()
    with torch.no_grad():
        layer.bias.uniform_(-1, 1)
    relevance = torch.rand(5, 5, dtype=torch.float64) - 0.3
    hidden = torch.randn(5, 3, dtype=torch.float64)
    expected = oracle.released_convolution(
        relevance.tolist(), hidden.tolist(), layer.weight.weight.tolist(), layer.bias.tolist()
    )
    close(layer(hidden, relevance), expected)
    bias = attention_bias(relevance, 2, alpha=1.5, keep="row")
    said = [
        [float("-inf") if v is None else v for v in row]
        for row in oracle.row_bias(relevance.tolist(), 2, 1.5)
    ]
    close(bias, said)


def test_enhanced_vectors_are_what_the_parts_of_the_graph_make_of_the_local_vectors():
    objective, image, text, _ = world()
    graph = objective.neighbourhood
    v, u = graph(image, text)
    to_text, to_image = mean_matches(best_matches(image, text), image, text)
    a, b = similarity_within(image.local), similarity_within(text.local)
    whole = torch.cat([torch.cat([a, to_text], 1), torch.cat([to_image, b], 1)])
    hidden = torch.cat([graph.of_images(image.local, a), graph.of_texts(text.local, b)])
    nodes = normalize(graph.joint(hidden, whole), dim=1) + torch.cat([image.local, text.local])
    bias = attention_bias(whole, len(image), alpha=1.0, keep="row")
    expected = normalize(graph.layer(nodes[None], src_mask=bias)[0], dim=1)
    close(torch.cat([v, u]), expected)
    assert (graph.layer.linear1.out_features, graph.layer.norm_first) == (1024, False)


def test_the_terms_read_what_the_released_code_reads(monkeypatch):
    objective, image, text, given = world()
    tables, values = recorded_draws(monkeypatch)
    terms = objective(image, text, given)
    scores = image.mean @ text.mean.T
    v, u = objective.neighbourhood(image, text)
    expected = [scores, v @ u.T, image.local @ u.T, v @ text.local.T]
    for found, table in zip(tables[::2], expected, strict=True):
        close(found, table)
    for found, table in zip(tables[1::2], expected, strict=True):
        close(found, table.T)
    close(terms["triplet"], sum(values[:2]))
    close(terms["nsi"], sum(values[2:4]))
    close(terms["nsi_cross"], sum(values[4:]))
    # prototypes read the fused vectors, at weight .2 and Sinkhorn's .1
    vectors = objective.prototypes.vectors.tolist()
    aligned = oracle.alignment(
        image.mean[given.own].tolist(), text.mean.tolist(), vectors, 0.1, 0.1, 3, False
    )
    close(terms["pga"], 0.2 * aligned)
    # local vectors ask; keys are unit momentum outputs; the bank holds what came before
    seen, read = (normalize(side.mean, dim=1) for side in given.momentum)
    own = torch.tensor(OWN)
    sides = [
        oracle.bank_contrast(asks.tolist(), keys.tolist(), bank.vectors.tolist(), 0.07)
        for asks, keys, bank in (
            (image.local[own], read, objective.texts),
            (text.local, seen[own], objective.images),
        )
    ]
    close(terms["mcl"], sum(sides))
    close(objective.texts.vectors.norm(dim=1), [1.0] * 8)


def test_terms_begin_at_their_steps_and_the_bank_when_it_is_full():
    given = make_batch(OWN, seed=0)
    image, text = random_embedding(4, seed=1), random_embedding(len(OWN), seed=2)
    options = {"alignment": {"after": 2}, "graph": {"after": 3}, "contrast": {"bank": 16}}
    objective = load("aahr", variant="released", **options)
    begun = []
    for _ in range(5):
        terms = objective(image, text, given)
        begun.append({name for name, value in terms.items() if value != 0})
        objective.after_step(image, text, given)
    assert [("pga" in one, "nsi" in one) for one in begun] == [
        (False, False), (False, False), (True, False), (True, True), (True, True),
    ]  # fmt: skip
    # 4 images a step fill 16 entries in four steps
    assert ["mcl" in one for one in begun] == [False] * 4 + [True]


def stepped(steps, **options):
    """Prototypes that the alignment of one batch has trained, before and after every step."""
    torch.manual_seed(7)
    alignment = {"after": 0, "prototypes": 5, **options}
    objective = load("aahr", variant="released", triplet=0, mcl=0, nsi=0, alignment=alignment)
    given, image, text = (
        make_batch(OWN, seed=0),
        random_embedding(4, seed=1),
        random_embedding(len(OWN), seed=2),
    )
    optimiser = torch.optim.SGD([objective.prototypes.vectors], lr=0.5)
    seen = [objective.prototypes.vectors.detach().clone()]
    for _ in range(steps):
        optimiser.zero_grad()
        sum(objective(image, text, given).values()).backward()
        optimiser.step()
        objective.after_step(image, text, given)
        seen.append(objective.prototypes.vectors.detach().clone())
    return seen, image.mean[given.own], text.mean


def test_prototypes_are_written_back_as_unit_vectors_and_turn_as_in_the_loops():
    seen, image, text = stepped(4)
    prototypes = seen[0].tolist()
    # they begin in single precision
    for vectors in seen:
        close(vectors.norm(dim=1), [1.0] * 5, atol=1e-6)
    for vectors in seen[1:]:
        prototypes = oracle.turned(image.tolist(), text.tolist(), prototypes, 0.1, 0.1, 3, step=0.5 * 0.2)
        close(vectors, prototypes, atol=1e-6)


def test_prototypes_of_free_length_turn_less_and_grow():
    (start, *_, end), *_ = stepped(4)
    (free, *_, last), *_ = stepped(4, unit=False)
    close(normalize(free, dim=1), start, atol=1e-6)
    turned, less = ((a * b).sum(1).acos() for a, b in ((start, end), (start, normalize(last, dim=1))))
    assert less.mean() < 0.9 * turned.mean()
    assert (last.norm(dim=1) >= free.norm(dim=1)).all()


def test_a_run_of_before_reads_its_prototypes_by_direction():
    objective, image, text, given = world()
    value = objective(image, text, given)["pga"]
    with torch.no_grad():
        objective.prototypes.vectors.mul_(30)
    close(objective(image, text, given)["pga"], value)
    objective.after_step(image, text, given)
    close(objective.prototypes.vectors.norm(dim=1), torch.ones(len(objective.prototypes.vectors)))


def test_triplets_and_alignment_keep_the_contract():
    check_objective("aahr", variant="released", mcl=0, nsi=0, **NOW)


def test_an_embedding_without_local_vectors_is_refused():
    objective, image, text, given = world()
    with pytest.raises(ValueError, match="no local vectors; choose the encoder 'multigrain'"):
        objective(Embedding(image.mean, parts=image.parts, mask=image.mask), text, given)
    assert objective.inputs == ("parts", "local")
    assert WIDTH == 6
