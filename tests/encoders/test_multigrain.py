"""Multigrain: guided pooling and gate by hand, what is frozen, and every base it can wrap."""

from __future__ import annotations

import pytest
import torch
from torch import tensor

from tests.oracles import aahr as oracle
from workbench import encoders
from workbench.encoders.base import Pair
from workbench.encoders.pooling import Gate, GuidedPooling, meeting_layer
from workbench.records import Batch

REGIONS = {
    "base": "regions", "base_options": {"in_dim": 10, "embed_dim": 8, "hidden_dim": 0, "pooling": "mean"},
    "text_base": "sequence",
    "text_base_options": {"features": "minilm-package", "word_dim": 7, "embed_dim": 8, "layer": "linear"},
    "fusion": {"maps": 2, "map_dim": 3, "hidden_dim": 12},
}  # fmt: skip


def close(found, expected, atol=1e-6):
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), rtol=0, atol=atol)


def made(**options):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return encoders.load("multigrain", **{**REGIONS, **options})


def towers(**options):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return encoders.load("multigrain", **options)


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(4, 5, 7, generator=generator)
    mask = torch.arange(5) < tensor([5, 3, 1, 2])[:, None]
    regions = torch.randn(3, 6, 10, generator=generator)
    pixels = torch.randint(0, 256, (3, 3, 96, 96), dtype=torch.uint8, generator=generator)
    ids = tensor([[2, 7, 8, 9, 3], [2, 10, 3, 0, 0], [2, 3, 0, 0, 0], [2, 9, 9, 3, 0]])
    signals = {"word_features": {"values": words * mask[..., None], "mask": mask}, "tokens": ids}
    return Batch(
        ["a", "b", "c"],
        ["d", "e", "f", "g"],
        tensor([0, 1, 2, 2]),
        {"regions": regions, "pixels": pixels},
        signals,
    )


def identity(maps):
    return {f"{side}.weight": torch.eye(2).repeat(maps, 1) for side in ("of_guide", "of_parts")}


def test_guided_pooling_by_hand():
    # Cosines of (1,0) with (1,0), (1,1), (0,2): 1, .707107, 0; softmax (.473041, .352937, .174022).
    # Sum of the unmapped features: .473041 + .352937 = .825978 and .352937 + 2 * .174022 = .700981.
    guide, parts = tensor([[1.0, 0.0]]), tensor([[[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]])
    for maps in (1, 3):
        pooling = GuidedPooling(2, maps, 2)
        pooling.load_state_dict(identity(maps))
        mask = torch.ones(1, 3, dtype=torch.bool)
        close(pooling.weights(guide, parts, mask), [[0.473041, 0.352937, 0.174022]])
        close(pooling(guide, parts, mask), [[0.825978, 0.700981]])


def test_the_gate_by_hand():
    # W = [[.5,0,0,0],[0,0,0,1]], b = (0,-1): g = sigmoid(.412989) = .601804 and sigmoid(0 - 1) = .268941.
    gate = Gate(2)
    gate.load_state_dict(
        {"linear.weight": tensor([[0.5, 0, 0, 0], [0, 0, 0, 1.0]]), "linear.bias": tensor([0.0, -1.0])}
    )  # fmt: skip
    local, guide = tensor([[0.825978, 0.700981]]), tensor([[1.0, 0.0]])
    close(gate(local, guide), [[0.895273, 0.188523]])
    for bias, chosen in ((40.0, local), (-40.0, guide)):
        torch.nn.init.constant_(gate.linear.bias, bias)
        close(gate(local, guide), chosen)


@pytest.mark.parametrize("seed", range(3))
def test_guided_pooling_is_the_loop(seed):
    torch.manual_seed(seed)
    pooling = GuidedPooling(5, 3, 4).double()
    guide, parts = torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 6, 5, dtype=torch.float64)
    mask = torch.rand(2, 6) < 0.7
    mask[:, 0] = True
    found = pooling(guide, parts, mask)
    maps = [side.weight.detach().view(3, 4, 5).tolist() for side in (pooling.of_guide, pooling.of_parts)]
    for row in range(2):
        shares, expected = oracle.guided(guide[row].tolist(), parts[row].tolist(), mask[row].tolist(), *maps)
        close(found[row], expected, atol=1e-6)
        close(pooling.weights(guide, parts, mask)[row][mask[row]], shares, atol=1e-6)


def test_weights_do_not_ask_how_long_a_vector_is_nor_what_the_padding_holds():
    torch.manual_seed(0)
    pooling = GuidedPooling(5, 2, 3)
    guide, parts = torch.randn(2, 5), torch.randn(2, 4, 5)
    mask = tensor([[True, True, True, False]] * 2)
    weights = pooling.weights(guide, parts, mask)
    close(weights.sum(1), [1.0, 1.0])
    assert (weights[:, 3] == 0).all()
    spoilt = parts * tensor([3.0, 1.0, 0.5, 1e6])[:, None]
    torch.testing.assert_close(pooling.weights(7 * guide, spoilt, mask), weights)
    assert not torch.allclose(
        pooling(guide, spoilt.masked_fill(~mask[..., None], 0), mask), pooling(guide, parts, mask)
    )
    order = tensor([2, 0, 1, 3])
    torch.testing.assert_close(pooling.weights(guide, parts[:, order], mask), weights[:, order])


def test_the_gate_stays_between_its_inputs():
    torch.manual_seed(0)
    local, guide = torch.randn(9, 4), torch.randn(9, 4)
    for scalar in (False, True):
        out = Gate(4, scalar=scalar)(local, guide)
        assert (out >= torch.minimum(local, guide) - 1e-6).all()
        assert (out <= torch.maximum(local, guide) + 1e-6).all()


def test_heads_divide_the_width():
    assert meeting_layer(1024, 16, 8, 0.0).self_attn.num_heads == 16
    assert meeting_layer(12, 16, 8, 0.0).self_attn.num_heads == 6


@pytest.mark.parametrize(
    "options", [{}, {"embed_dim": 12}, {"fusion": {"layers": 0}}, {"fusion": {"gate": "scalar"}}]
)
def test_regions_and_words_are_fused_into_unit_vectors_with_unit_parts(batch, options):
    encoder = made(**options).eval()
    for out, count, mask in (
        (encoder.encode_images(batch), 3, torch.ones(3, 6, dtype=torch.bool)),
        (encoder.encode_texts(batch), 4, batch.signals["word_features"]["mask"]),
    ):
        assert out.mean.shape == (count, encoder.embed_dim)
        torch.testing.assert_close(out.mean.norm(dim=1), torch.ones(count))
        torch.testing.assert_close(out.parts.norm(dim=2), mask.float())
        assert torch.equal(out.mask, mask)


def test_padding_changes_nothing(batch):
    encoder = made().eval()
    words = batch.signals["word_features"]
    longer = {name: torch.cat([value, torch.zeros_like(value[:, :2])], 1) for name, value in words.items()}
    padded = Batch(batch.image_ids, batch.caption_ids, batch.own, batch.inputs, {"word_features": longer})
    torch.testing.assert_close(encoder.encode_texts(padded).mean, encoder.encode_texts(batch).mean)


def test_the_order_of_regions_changes_nothing(batch):
    encoder = made().eval()
    turned = Batch(
        batch.image_ids, [], torch.empty(0, dtype=torch.long), {"regions": batch.inputs["regions"].flip(1)}
    )
    torch.testing.assert_close(encoder.encode_images(turned).mean, encoder.encode_images(batch).mean)


def test_gradients_reach_the_local_features_and_the_fusion_but_no_frozen_weight(batch):
    for encoder in (made(), towers(fusion={"dropout": 0.0}), towers(guide="copy")):
        encoder.train()
        (
            encoder.encode_images(batch).mean[:, 0].sum() + encoder.encode_texts(batch).mean[:, 0].sum()
        ).backward()
        named = dict(encoder.named_parameters())
        assert all(p.grad is None for name, p in named.items() if not p.requires_grad)
        for side in ("image_grain", "text_grain"):
            for what in (
                "of_guide.weight",
                "pooling.of_parts.weight",
                "gate.linear.weight",
                "layers.0.linear1.weight",
            ):
                assert named[f"{side}.{what}"].grad.abs().sum() > 0


def test_the_global_branch_starts_as_the_pretrained_pair(batch):
    encoder, pretrained = towers(fusion={"branches": "global"}).eval(), encoders.load("towers").eval()
    torch.testing.assert_close(encoder.encode_images(batch).mean, pretrained.encode_images(batch).mean)
    torch.testing.assert_close(encoder.encode_texts(batch).mean, pretrained.encode_texts(batch).mean)


def test_the_base_is_frozen_where_it_guides_and_trains_where_a_copy_does():
    frozen, copied = towers().train(), towers(guide="copy").train()
    assert not any(p.requires_grad for p in frozen.base.parameters())
    assert not frozen.base.training
    assert any(p.requires_grad for p in copied.base.parameters())
    assert not any(p.requires_grad for p in copied.guide.parameters())
    assert copied.base.training
    assert not copied.guide.training


def test_a_copy_stays_what_the_base_was(batch):
    encoder = towers(guide="copy").eval()
    before = encoder._side_features("image", batch)[1]
    with torch.no_grad():
        for parameter in encoder.base.parameters():
            parameter.mul_(1.1)
    assert torch.equal(encoder._side_features("image", batch)[1], before)
    assert not torch.equal(encoder.base.image.encode_images(batch).mean, before)


def test_word_vectors_that_are_learnt_guide_by_their_mean_and_learn_nothing_from_it(batch):
    words = tuple("abcdefgh")
    encoder = made(text_base_options={"vocabulary": words, "word_dim": 7, "embed_dim": 8, "layer": "linear"})
    ids, table = batch.signals["tokens"], encoder.base.text.words.weight
    means = [table[row[row != 0]].mean(0) for row in ids]
    guide = encoder.train()._side_features("text", batch)[1]
    torch.testing.assert_close(guide, torch.nn.functional.normalize(torch.stack(means), dim=1))
    assert not guide.requires_grad


def test_regions_and_words_may_be_guided_by_frozen_towers(batch):
    # The setting of the paper: detector regions and a text encoder's words, guided by a frozen CLIP.
    encoder = made(guide="towers").eval()
    assert encoder.image_input == "regions+pixels"
    assert encoder.transform is not None
    wanted = encoders.member("multigrain").text_features(**{**REGIONS, "guide": "towers"})
    assert set(wanted) == {"tokens", "word_features"}
    pretrained = encoders.load("towers").eval()
    torch.testing.assert_close(
        encoder._side_features("image", batch)[1], pretrained.encode_images(batch).mean
    )
    assert encoder.encode_images(batch).mean.shape == (3, 8)
    assert encoder.encode_texts(batch).parts.shape == (4, 5, 8)


def test_every_trainable_parameter_is_in_one_group():
    for encoder in (made(), towers(), towers(guide="copy"), made(guide="towers")):
        named = [p for group in Pair(encoder, encoder).groups() for p in group.parameters.values()]
        assert {id(p) for p in named if p.requires_grad} == {
            id(p) for p in encoder.parameters() if p.requires_grad
        }
        assert len({id(p) for p in named}) == len(named)


@pytest.mark.parametrize("branches", ["both", "local", "global"])
@pytest.mark.parametrize("pooling", ["ggla", "mean"])
def test_the_arms_of_the_ablation_differ_only_in_what_they_fuse(batch, branches, pooling):
    encoder = made(fusion={"branches": branches, "pooling": pooling}).eval()
    out = encoder.encode_images(batch)
    local, mask, guide = encoder.image_grain.local_features(*encoder._side_features("image", batch))
    if branches == "global":
        torch.testing.assert_close(out.mean, torch.nn.functional.normalize(guide, dim=1))
    if branches == "local" and pooling == "mean":
        torch.testing.assert_close(out.mean, torch.nn.functional.normalize(local.mean(1), dim=1))
    assert (encoder.image_grain.gate is None) == (branches != "both")
    assert mask.all()


def test_weights_over_regions_and_words_can_be_shown(batch):
    encoder = made().eval()
    regions, seen = encoder.weights("image", batch)
    words, real = encoder.weights("text", batch)
    assert seen.all()
    assert torch.equal(real, batch.signals["word_features"]["mask"])
    for weights, mask in ((regions, seen), (words, real)):
        torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))
        assert (weights[~mask] == 0).all()
        assert not weights.requires_grad
    with pytest.raises(ValueError, match="set pooling='ggla'"):
        made(fusion={"pooling": "mean"}).weights("image", batch)


def test_facts_of_the_experiment_reach_the_wrapped_encoders():
    complete = encoders.member("multigrain").complete
    out = complete(
        {"base": "regions", "text_base": "sequence", "guide": "towers"},
        {"in_dim": 5, "vocabulary": ("a",), "pretrained": ""},
    )
    assert out["base_options"] == {"in_dim": 5}
    assert out["text_base_options"] == {"vocabulary": ("a",), "pretrained": ""}
    assert out["guide_options"] == {"pretrained": ""}
    assert complete({}, {"pretrained": ""}) == {"base_options": {"pretrained": ""}}
    kept = complete({"base": "regions", "base_options": {"in_dim": 3}}, {"in_dim": 5})
    assert kept["base_options"] == {"in_dim": 3}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"base": "region"}, KeyError, "did you mean regions"),
        ({"base_options": {"in_dims": 3}}, TypeError, "did you mean in_dim"),
        ({"fusion": {"map": 3}}, TypeError, "fusion has no option 'map'; did you mean maps"),
        ({"fusion": {"gate": "matrix"}}, ValueError, "choose one of vector, scalar"),
        ({"guide": "base"}, ValueError, "no guide; set guide='features' or 'towers'"),
        (
            {"base": "towers", "base_options": {}, "text_base": "", "guide": "features"},
            ValueError,
            "needs bases that read features and words",
        ),
        ({"text_base": ""}, ValueError, "encodes no captions"),
        (
            {"text_base_options": {**REGIONS["text_base_options"], "embed_dim": 9}},
            ValueError,
            "set the same embed_dim",
        ),
    ],
)
def test_encoders_that_do_not_fit_are_refused_with_the_remedy(options, error, message):
    with pytest.raises(error, match=message):
        made(**options)


def test_two_readings_of_the_tokens_are_refused():
    with pytest.raises(ValueError, match="read 'tokens' in two ways"):
        encoders.member("multigrain").text_features(base="regions", text_base="sequence", guide="towers")
