from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.encoders.graphs import GRAPHS, WORDS, batch, made, signal
from tests.oracles import cora as oracle
from tests.toys import close
from workbench import encoders, text
from workbench.encoders.graph.concepts import inflect, mask_and_delete, plural_ids
from workbench.encoders.graph.layers import (
    GraphAttention,
    aggregate,
    attention_weights,
    drop_at_random,
    edge_context,
    limit_attributes,
    pack,
    same_caption,
    segment_mean,
    segment_softmax,
)
from workbench.records import Batch, SceneGraph

DOUBLE = torch.float64
VARIANTS = [
    {},
    {"joint": True},
    {"fully_connected": True},
    {"joint": True, "fully_connected": True},
    {"context": "roles"},
    {"residual": False},
    {"position": False},
    {"attribute_layers": 2, "object_layers": 1},
    {"object_layers": 3},
]
every_variant = pytest.mark.parametrize(
    "structure", VARIANTS, ids=lambda s: "-".join(map(str, s)) or "default"
)
NODES = torch.tensor([[1.0, 2], [0, 1], [2, 0]], dtype=DOUBLE)
SWAP, VALUE = torch.tensor([[0.0, 1], [1, 0]], dtype=DOUBLE), torch.tensor([[1.0, 1], [0, 1]], dtype=DOUBLE)
EDGES = torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 0, 0]])


def test_attention_by_hand():
    # Row 0: W_t x_0 + W_s x_j = (3, 3), (2, 2), (1, 4); times (1, -1) = 0, 0, -3. Rows 1 and 2 see W_v x_0 =
    # (3, 2) alone.
    target, source, values = (x[:, None] for x in (NODES, NODES @ SWAP.T, NODES @ VALUE.T))
    weights = attention_weights(
        target, source, torch.tensor([[1.0, -1]], dtype=DOUBLE), torch.zeros(1, dtype=DOUBLE), EDGES
    )
    torch.testing.assert_close(
        weights[:, 0], torch.tensor([0.487856, 0.487856, 0.024289, 1, 1], dtype=DOUBLE), atol=1e-6, rtol=0
    )
    gathered = aggregate(weights, values, EDGES)[:, 0]
    torch.testing.assert_close(
        gathered, torch.tensor([[2, 1.463567], [3, 2], [3, 2]], dtype=DOUBLE), atol=1e-6, rtol=0
    )
    before_norm = torch.tensor([[3, 3.463567], [3, 3], [5, 2]], dtype=DOUBLE)
    torch.testing.assert_close(NODES + gathered, before_norm, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        ("roles", [[2.25, 1.25], [0.125, 1.875], [2, 3.5]]),
        ("joint", [[2.25, 1.25], [0.125, 1.875], [1.5, 2.25]]),
    ],
)
def test_edge_context_by_hand(mean, expected):
    # Node 0 is the subject of two relations: ((.5, 1.5) + (2, 1)) / 2. Node 2 is the object of one, (1, .5),
    # and the subject of another, (0, 2): added, or averaged.
    entities = torch.tensor([[1.0, 0], [0, 1], [1, 1]], dtype=DOUBLE)
    relations = torch.tensor([[0.5, 0.5], [1, 0], [0, 1]], dtype=DOUBLE)
    subject, thing = torch.tensor([0, 0, 2]), torch.tensor([1, 2, 1])
    active = relations + entities[thing]
    close(entities + edge_context(active, active / 2, subject, thing, 3, mean=mean), expected)


@pytest.mark.parametrize("seed", range(3))
def test_a_layer_is_that_of_loops_head_by_head(seed):
    generator = torch.Generator().manual_seed(seed)
    layer = GraphAttention(6, heads=2).double().eval()
    nodes = torch.randn(5, 6, dtype=DOUBLE, generator=generator)
    adjacent = (torch.rand(5, 5, generator=generator) < 0.4) | torch.eye(5, dtype=torch.bool)
    gathered = torch.zeros(5, 6, dtype=DOUBLE)
    for head in range(2):
        # The linear maps have biases; a constant 1 beside every node carries them.
        part = slice(3 * head, 3 * head + 3)
        maps = (layer.target, layer.source, layer.value)
        weights = [torch.cat([m.weight[part], m.bias[part, None]], 1).tolist() for m in maps]
        rows = [[*row, 1.0] for row in nodes.tolist()]
        _, sums = oracle.attention(
            rows, adjacent.tolist(), *weights, layer.affinity[head].tolist(), layer.bias[head].item()
        )
        gathered[:, part] = torch.tensor(sums, dtype=DOUBLE)
    expected = layer.norm(layer.target(nodes) + gathered).relu()
    torch.testing.assert_close(layer(nodes, adjacent.nonzero().T), expected)


@pytest.mark.parametrize("mean", ["roles", "joint"])
def test_edge_context_is_that_of_loops(mean):
    generator = torch.Generator().manual_seed(1)
    entities, relations = (torch.randn(n, 3, dtype=DOUBLE, generator=generator) for n in (4, 6))
    w_active, w_passive = (torch.randn(3, 6, dtype=DOUBLE, generator=generator) for _ in range(2))
    subject, thing = torch.tensor([0, 0, 1, 2, 0, 2]), torch.tensor([1, 1, 0, 2, 2, 0])
    told = torch.cat([relations, entities[thing]], 1)
    found = edge_context(told @ w_active.T, told @ w_passive.T, subject, thing, 4, mean=mean)
    triples = list(zip(subject.tolist(), relations.tolist(), thing.tolist(), strict=True))
    expected = oracle.edge_context(
        entities.tolist(),
        triples,
        lambda x: oracle.product(w_active.tolist(), x),
        lambda x: oracle.product(w_passive.tolist(), x),
        mean,
    )
    close(found, expected)
    assert found[3].tolist() == [0, 0, 0]


def test_the_printed_layer_is_the_weighted_sum_of_the_source_side():
    layer = GraphAttention(4, heads=1, residual=False).eval()
    alone = torch.tensor([[0], [0]])
    nodes = torch.randn(1, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(layer(nodes, alone), layer.source(nodes).relu())


def test_segments_sum_to_one_and_means_of_nothing_are_zero():
    scores, segment = torch.tensor([[1000.0], [1000.0], [-1000.0]]), torch.tensor([0, 0, 2])
    assert segment_softmax(scores, segment, 3).tolist() == [[0.5], [0.5], [1.0]]
    assert segment_softmax(scores.bfloat16(), segment, 3).dtype == torch.float32
    assert segment_mean(scores, segment, 3).tolist() == [[1000], [0], [-1000]]


@every_variant
def test_a_caption_is_embedded_as_alone_whatever_its_batch(structure):
    encoder = made(structure=structure)
    together = encoder.encode_texts(batch(*GRAPHS))
    assert together.mean.norm(dim=1).allclose(torch.ones(4))
    for row, graph in enumerate(GRAPHS):
        alone = encoder.encode_texts(batch(graph))
        torch.testing.assert_close(alone.mean[0], together.mean[row])
        torch.testing.assert_close(alone.entities, together.entities[together.owner == row])
        torch.testing.assert_close(alone.parts[0], together.parts[row][together.mask[row]])


@every_variant
def test_every_parameter_learns(structure):
    encoder = made(structure=structure).train()
    out = encoder.encode_texts(batch(*GRAPHS))
    (out.mean.sum() + out.entities.sum()).backward()
    # What attends to its own object alone weighs it with 1, whatever the scores; the softmax of one head
    # cancels its bias.
    cancels = ("bias", "affinity", "source")
    without = [
        name
        for name, p in encoder.named_parameters()
        if p.grad is None and not any(part in name for part in cancels)
    ]
    assert without == []
    assert all(p.grad is None or p.grad.isfinite().all() for p in encoder.parameters())


def changed(structure=None, *, attribute="old", first=GRAPHS[0]):
    """Embeddings of two graphs that differ in one attribute of object 0."""
    encoder = made(structure=structure)
    other = replace(first, attributes=((0, attribute), *first.attributes[1:]))
    return encoder.encode_texts(batch(first)), encoder.encode_texts(batch(other))


def test_the_attributes_of_an_object_change_its_entity_and_no_other():
    before, after = changed()
    assert not torch.allclose(before.entities[0], after.entities[0])
    assert torch.equal(before.entities[1], after.entities[1])
    joint_before, joint_after = changed({"joint": True})
    assert not torch.allclose(joint_before.entities[1], joint_after.entities[1])


def test_an_object_hears_of_another_only_along_relations_unless_all_are_connected():
    apart = replace(GRAPHS[0], relations=())
    before, after = changed(first=apart)
    torch.testing.assert_close(before.parts[0, 1], after.parts[0, 1])
    before, after = changed({"fully_connected": True}, first=apart)
    assert not torch.allclose(before.parts[0, 1], after.parts[0, 1])
    before, after = changed()
    assert not torch.allclose(before.parts[0, 1], after.parts[0, 1])


def test_an_object_alone_is_the_same_in_every_caption_without_relations():
    encoder = made(structure={"position": False})
    one, two = encoder.encode_texts(batch(SceneGraph(("man",)), SceneGraph(("tree", "man")))).parts
    torch.testing.assert_close(one[0], two[1])


@pytest.mark.parametrize(("position", "same"), [(False, True), (True, False)])
def test_the_order_of_the_objects_matters_only_to_their_position(position, same):
    first = GRAPHS[2]
    turned = SceneGraph(
        ("tree", "man", "horse"), ((2, "brown"),), ((2, "near", 0), (1, "ride", 2), (1, "near", 0))
    )
    means = made(structure={"position": position}).encode_texts(batch(first, turned)).mean
    assert torch.allclose(means[0], means[1], atol=1e-6) == same


def test_who_does_what_to_whom_matters():
    there = SceneGraph(("dog", "man"), (), ((0, "chase", 1),))
    back = SceneGraph(("dog", "man"), (), ((1, "chase", 0),))
    means = made().encode_texts(batch(there, back)).mean
    assert not torch.allclose(means[0], means[1], atol=1e-4)


def test_entities_say_what_they_are():
    out = made().encode_texts(batch(*GRAPHS))
    phrases = ("", *signal(GRAPHS).phrases)
    said = [[phrases[n] for n in row if n] for row in out.labels.tolist()]
    assert said[:4] == [["dog", "brown", "big"], ["ball", "red"], ["man"], ["man"]]
    assert out.owner.tolist() == [0, 0, 1, 2, 2, 2, 3, 3, 3, 3]
    assert made().output_fields == ("parts", "entities")


HOSTILE = [
    "",
    " ",
    "!!!",
    "\U0001f984\U0001f984",
    "the of and",
    "7",
    "a" * 400,
    "dog dog dog " * 60,
    "ein Hund läuft",
    "<b>&amp;</b>",
    "\t\n",
]


def test_every_caption_has_an_embedding_whatever_it_says():
    maker = text.load("graph_tokens").fit(["A brown dog chases a ball."])
    encoder = made(vocabulary=maker.vocabulary)
    taken = maker.transform(HOSTILE).take(np.arange(len(HOSTILE)))
    for mode in (True, False):
        given = Batch(
            [], HOSTILE, torch.zeros(len(HOSTILE), dtype=torch.long), signals={"graph_tokens": taken}
        )
        out = encoder.train(mode).encode_texts(given)
        assert out.mean.isfinite().all()
        assert out.owner.unique().tolist() == list(range(len(HOSTILE)))


def test_graphs_are_packed_end_to_end():
    graphs = pack(batch(*GRAPHS).signals["graph_tokens"])
    assert graphs.owner.tolist() == [0, 0, 1, 2, 2, 2, 3, 3, 3, 3]
    assert graphs.mask.nonzero()[:, 1].tolist() == [0, 1, 0, 0, 1, 2, 0, 1, 2, 3]
    assert list(zip(graphs.subject.tolist(), graphs.thing.tolist(), strict=True)) == [
        (0, 1),
        (3, 4),
        (3, 5),
        (4, 5),
        (6, 7),
        (7, 8),
    ]
    phrases, edges = graphs.stars()
    assert len(phrases) == 5
    # Ten loops, and each of five attributes both ways; the sixth column of row 0 is object 5's loop.
    assert edges.shape == (2, 20)
    assert edges[:, 10:12].tolist() == [[0, 0], [10, 11]]
    assert edges[:, 15:17].tolist() == [[10, 11], [0, 0]]
    assert graphs.links().shape == (2, 10 + 2 * 6)
    assert same_caption(graphs.owner).shape == (2, 4 + 1 + 9 + 16)


def test_a_relation_said_twice_is_one_link():
    graph = SceneGraph(("man", "horse"), (), ((0, "ride", 1), (0, "on", 1), (1, "near", 0)))
    assert pack(batch(graph).signals["graph_tokens"]).links().shape == (2, 4)


def test_thinning_keeps_one_object_a_caption_and_drops_what_hangs_on_the_others():
    graphs = pack(batch(*GRAPHS).signals["graph_tokens"])
    bare = drop_at_random(graphs, objects=1, attributes=0, relations=0)
    assert bare.owner.tolist() == [0, 1, 2, 3]
    assert len(bare.relations) == 0
    assert drop_at_random(graphs, objects=0, attributes=1, relations=1).attributes.sum() == 0
    same = drop_at_random(graphs, objects=0, attributes=0, relations=0)
    assert torch.equal(same.objects, graphs.objects)
    assert torch.equal(same.attributes, graphs.attributes)
    assert torch.equal(same.thing, graphs.thing)


def test_thinning_leaves_out_what_it_should_as_often_as_it_should():
    graphs = pack(batch(*GRAPHS * 500).signals["graph_tokens"])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        thinned = drop_at_random(graphs, objects=0.1, attributes=0.2, relations=0)
    # An only object always stays; of two, both are drawn in one of a hundred captions and one of them stays.
    assert len(thinned.owner) / len(graphs.owner) == pytest.approx(1 - 0.1 * (9 - 0.2) / 10, abs=0.01)
    kept = (thinned.attributes != 0).sum() / (graphs.attributes != 0).sum()
    assert kept.item() == pytest.approx(0.8 * 0.9, abs=0.02)
    pairs = zip(thinned.subject.tolist(), thinned.thing.tolist(), strict=True)
    assert all(thinned.owner[s] == thinned.owner[o] for s, o in pairs)


def test_words_are_masked_and_deleted_but_one_of_a_phrase_stays():
    ids = torch.tensor([[2, 16, 4, 3, 0], [2, 5, 3, 0, 0], [2, 3, 0, 0, 0]])
    for seed in range(5):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            masked, deleted = (mask_and_delete(ids, mask=m, delete=d) for m, d in ((1.0, 0.0), (0.0, 1.0)))
        assert sorted(masked[0, 1:3].tolist())[0] == 1
        assert {masked[0, 1].item(), masked[0, 2].item()} & {16, 4}
        assert deleted[0].tolist() in ([2, 16, 3, 0, 0], [2, 4, 3, 0, 0])
        assert torch.equal(masked[1:], ids[1:])
        assert torch.equal(deleted[1:], ids[1:])
    assert torch.equal(mask_and_delete(ids, mask=0, delete=0), ids)


def test_words_of_relations_are_masked_alone_where_they_are_treated_as_in_the_released_code():
    # Words of objects: one stays. Words of relations: all may be masked, none is deleted.
    ids = torch.tensor([[2, 16, 4, 3, 0], [2, 5, 3, 0, 0]])
    for alone in (False, True):
        reader = made(augmentation={"mask": 0.4, "delete": 0.6, "mask_relations": alone}).reader
        with torch.random.fork_rng():
            torch.manual_seed(0)
            found = [reader._augment("relations", ids) for _ in range(50)]
            names = [reader._augment("objects", ids) for _ in range(50)]
        assert all((one[1] == ids[1]).all() for one in names)
        assert any((one[0, -2:] == 0).all() for one in names)
        assert any(one[1, 1] == 1 for one in found) is alone
        assert all(((one != 0) == (ids != 0)).all() for one in found) is alone


def test_drawn_attributes_are_four_of_those_left_in_and_the_first_four_in_evaluation():
    many = SceneGraph(("dog", "ball"), (*((0, word) for word in WORDS[2:9]), (1, "red")))
    graphs = pack(signal([many], attributes=16).take(np.array([0])))
    first = limit_attributes(graphs, 4, at_random=False)
    assert torch.equal(first.attributes, graphs.attributes[:, :4])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        drawn = torch.stack([limit_attributes(graphs, 4, at_random=True).attributes for _ in range(200)])
    assert (drawn[:, 1] == graphs.attributes[1, :4]).all()
    assert ((drawn[:, 0] != 0).sum(1) == 4).all()
    counts = torch.stack([(drawn[:, 0] == phrase).sum() for phrase in graphs.attributes[0, :7]])
    assert (counts.float() / 200 - 4 / 7).abs().max() < 0.12
    lost = replace(graphs, attributes=graphs.attributes * torch.tensor([[1, 0, 0, 1, 0, 1, 0] + 9 * [0]]))
    kept = limit_attributes(lost, 4, at_random=True).attributes
    assert sorted(kept[0].tolist()) == sorted([0, *graphs.attributes[0, [0, 3, 5]].tolist()])


def test_a_drawing_of_attributes_asks_the_signal_for_more_of_them():
    member, drawn = encoders.member("graph"), {"augmentation": {"draw_attributes": True}}
    assert member.text_features(**drawn)["graph_tokens"]["attributes"] == 16
    assert "attributes" not in member.text_features()["graph_tokens"]
    many = SceneGraph(("dog",), tuple((0, word) for word in WORDS[2:9]))
    few = SceneGraph(("dog",), many.attributes[:4])
    encoder = made(**drawn)
    whole = Batch(["a"], ["b"], torch.tensor([0]), {}, {"graph_tokens": _taken(many)})
    cut = Batch(["a"], ["b"], torch.tensor([0]), {}, {"graph_tokens": _taken(few)})
    torch.testing.assert_close(encoder.encode_texts(whole).mean, encoder.encode_texts(cut).mean)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        seen = {tuple(encoder.train().encode_texts(whole).labels[0].tolist()) for _ in range(20)}
    assert len(seen) > 5
    assert all(len(one) == 5 for one in seen)


def _taken(graph):
    return signal([graph], attributes=16).take(np.array([0]))


def test_the_last_word_of_a_name_changes_its_number():
    place = {word: 4 + row for row, word in enumerate(WORDS)}
    assert plural_ids(WORDS) == {
        place[one]: place[many] for one, many in (("dog", "dogs"), ("man", "men"), ("box", "boxes"))
    }
    encoder = made()
    ids = torch.tensor(
        [[2, place["hot"], place["dog"], 3], [2, place["men"], 3, 0], [2, place["tree"], 3, 0]]
    )
    tables = encoder.reader.singular, encoder.reader.plural
    assert inflect(ids, *tables, singularise=0, pluralise=1)[:, 1:3].tolist()[0] == [
        place["hot"],
        place["dogs"],
    ]
    assert inflect(ids, *tables, singularise=1, pluralise=1)[1].tolist() == [2, place["man"], 3, 0]
    assert torch.equal(inflect(ids, *tables, singularise=1, pluralise=1)[2], ids[2])
    assert torch.equal(inflect(ids, *tables, singularise=0, pluralise=0), ids)


def test_augmentation_is_for_training_alone():
    encoder = made(dropout=0.0, augmentation={"objects": 0.9, "attributes": 0.9, "mask": 0.5})
    first, second = (encoder.encode_texts(batch(*GRAPHS)) for _ in range(2))
    assert torch.equal(first.mean, second.mean)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert len(encoder.train().encode_texts(batch(*GRAPHS)).entities) < len(first.entities)


def test_distinct_phrases_read_once_are_phrases_read_each_time():
    words = batch(*GRAPHS).signals["graph_tokens"]["words"]
    rows = {"objects": torch.tensor([2, 0, 2, 5])}
    once, each = (
        made(augmentation={"mask": mask, "delete": 0.0}).reader.train()(words, rows)["objects"]
        for mask in (0.0, 1e-12)
    )
    torch.testing.assert_close(each, once)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_concept_is_the_last_state_of_its_gru(bidirectional):
    reader = made(concepts={"word_dim": 6, "bidirectional": bidirectional}).reader
    given = batch(*GRAPHS).signals["graph_tokens"]
    found = reader(given["words"], {"objects": torch.arange(len(given["words"]))})["objects"]
    for row, ids in enumerate(given["words"]):
        _, hidden = reader.readers["objects"](reader.words(ids[ids != 0])[None])
        torch.testing.assert_close(found[row], hidden[:, 0].mean(0))


def test_a_phrase_may_be_read_by_the_text_tower_as_a_caption():
    concepts = {"kind": "towers", "name": "scenes"}
    wanted = encoders.member("graph").text_features(concepts=concepts)["graph_tokens"]
    towers = encoders.load("towers").eval()
    encoder = made(vocabulary=None, concepts=concepts, pretrained="scenes", embed_dim=0)
    assert encoder.embed_dim == towers.embed_dim
    given = signal(GRAPHS, tokens=wanted["tokens"]).take(np.arange(4))
    phrases = [signal(GRAPHS).phrases[n - 1] for n in given["phrases"]]
    ids = text.load("tokens", **wanted["tokens"]).transform(phrases).take(np.arange(len(phrases)))
    expected = towers.encode_texts(
        Batch([], phrases, torch.zeros(len(phrases), dtype=torch.long), signals={"tokens": ids})
    ).mean
    found = encoder.reader(given["words"], {"objects": torch.arange(len(phrases))})["objects"]
    torch.testing.assert_close(found, expected)


def test_the_graph_may_add_to_what_the_tower_makes_of_the_whole_caption():
    concepts = {"kind": "towers", "name": "scenes", "whole": True}
    wanted = encoders.member("graph").text_features(concepts=concepts)
    assert set(wanted) == {"graph_tokens", "tokens"}
    captions = ["a big brown dog", "two men"]
    graphs = (SceneGraph(("dog",), ((0, "brown"), (0, "big"))), SceneGraph(("man",)))
    taken = {
        "graph_tokens": signal(graphs, tokens=wanted["graph_tokens"]["tokens"]).take(np.arange(2)),
        "tokens": text.load("tokens", **wanted["tokens"]).transform(captions).take(np.arange(2)),
    }
    given = Batch([], captions, torch.arange(2), signals=taken)
    encoder = made(vocabulary=None, concepts=concepts, pretrained="scenes", embed_dim=0)
    tower = encoders.load("towers").eval().encode_texts(given).mean
    torch.testing.assert_close(encoder.encode_texts(given).mean, tower)
    read = encoder.reader.read(
        text.load("tokens", **wanted["tokens"]).transform(["dog", "brown", "big"]).take(np.arange(3))
    )
    torch.testing.assert_close(
        encoder.encode_texts(given).entities[0], torch.nn.functional.normalize(read.mean(0), dim=0)
    )
    with torch.no_grad():
        encoder.gate.fill_(0.1)
    moved = (encoder.encode_texts(given).mean * tower).sum(1)
    assert ((moved > 0.98) & (moved < 0.9999)).all()


def test_vectors_of_a_frozen_encoder_are_read_as_they_are():
    concepts = {"kind": "features", "name": "minilm-package", "word_dim": 5}
    assert (
        encoders.member("graph").text_features(concepts=concepts)["graph_tokens"]["features"]
        == "minilm-package"
    )
    given = batch(*GRAPHS).signals["graph_tokens"]
    vectors = torch.randn(len(given["phrases"]), 5, generator=torch.Generator().manual_seed(0))
    as_batch = Batch([], list("abcd"), torch.arange(4), signals={"graph_tokens": {**given, "words": vectors}})
    encoder = made(vocabulary=None, concepts=concepts)
    assert encoder.encode_texts(as_batch).mean.isfinite().all()
    with pytest.raises(ValueError, match=r"features have width 5; set concepts\.word_dim=5"):
        made(vocabulary=None, concepts={**concepts, "word_dim": 7}).encode_texts(as_batch)


def of_bert(bert, backbone):
    """Options of the concepts, and the graphs as this encoder reads them."""
    concepts = {"kind": "features", "name": bert, "word_dim": 8, "backbone": backbone}
    asked = encoders.member("graph").text_features(concepts=concepts)["graph_tokens"]
    taken = signal(GRAPHS, **{"tokens": None, **asked, "cache": None}).take(np.arange(len(GRAPHS)))
    own = torch.arange(len(GRAPHS))
    return concepts, Batch([], list("abcd"), own, signals={"graph_tokens": taken})


def test_a_text_encoder_that_trains_reads_phrases_as_a_frozen_one_does(bert):
    concepts, given = of_bert(bert, "trained")
    encoder = made(vocabulary=None, concepts=concepts)
    kept, vectors = of_bert(bert, "frozen")
    frozen = made(vocabulary=None, concepts=kept)
    frozen.load_state_dict(encoder.state_dict(), strict=False)
    torch.testing.assert_close(
        encoder.encode_texts(given).mean, frozen.encode_texts(vectors).mean, atol=5e-3, rtol=0
    )
    encoder.train().encode_texts(given).entities.sum().backward()
    assert encoder.reader.backbone.network.encoder.layer[0].attention.self.value.weight.grad.abs().sum() > 0


def test_where_weights_follow_the_text_encoder_of_phrases_is_made_without_its_own(bert):
    given = {"concepts": of_bert(bert, "trained")[0]}
    member = encoders.member("graph")
    assert member.complete(given, {"pretrained": ""})["concepts"]["backbone"] == "random"
    assert member.complete(given, {})["concepts"]["backbone"] == "trained"


def test_every_trainable_parameter_has_one_group(tmp_path, bert):
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 2 3\n", encoding="utf-8")
    warm = made(pretrained=str(file), concepts={"word_dim": 3})
    tower = made(vocabulary=None, concepts={"kind": "towers", "name": "scenes"}, pretrained="scenes")
    for encoder, roles in (
        (made(), {"head"}),
        (warm, {"head", "text_backbone"}),
        (tower, {"head", "text_backbone"}),
        (made(vocabulary=None, concepts=of_bert(bert, "trained")[0]), {"head", "text_backbone"}),
    ):
        named = [id(p) for group in encoder.groups() for p in group.parameters.values()]
        assert sorted(named) == sorted(id(p) for p in encoder.parameters() if p.requires_grad)
        assert {group.role for group in encoder.groups()} == roles
    assert warm.reader.words.weight[4].tolist() == [1, 2, 3]
    assert len({group.depth for group in tower.groups() if group.role == "text_backbone"}) > 1


def test_half_precision_gives_almost_the_same_embedding():
    encoder = made()
    exact = encoder.encode_texts(batch(*GRAPHS)).mean
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(
            encoder.encode_texts(batch(*GRAPHS)).mean.float(), exact, atol=0.05, rtol=0
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"structure": {"head": 2}},
            TypeError,
            "structure has no option 'head'; did you mean heads",
        ),
        ({"structure": {"heads": 3}}, ValueError, "3 heads do not divide the width 8"),
        ({"structure": {"context": "both"}}, ValueError, "context is 'both'"),
        ({"structure": {"object_layers": 0}}, ValueError, "object_layers is 0; it should be greater"),
        ({"augmentation": {"mask": 2}}, ValueError, "augmentation: mask is 2"),
        ({"concepts": {"kind": "grus"}}, ValueError, "concepts: kind is 'grus'; did you mean gru"),
        ({"concepts": {"kind": "towers"}}, ValueError, "need a name"),
        ({"concepts": {"name": "minilm-package"}}, ValueError, "take no name"),
        ({"vocabulary": None}, ValueError, "graph: give the vocabulary"),
        ({"concepts": {"whole": True}}, ValueError, "do not read whole captions"),
        ({"concepts": {"backbone": "trained"}}, ValueError, "kind 'gru' have no backbone='trained'"),
        (
            {"concepts": {"kind": "towers", "name": "scenes", "whole": True}},
            ValueError,
            r"have width \d+; set embed_dim=0",
        ),
    ],
)
def test_bad_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        made(**options)
