"""Low-rank adapters on the towers of a pre-trained model."""

import pytest
import torch

from tests.encoders.test_towers import a_batch
from workbench.encoders._lora import is_adapter, name_without_adapters

KINDS = ("vit", "vit-custom-text", "vit-siglip", "timm-vit", "coca")


def vectors(encoder, batch):
    encoder.eval()
    with torch.no_grad():
        return encoder.encode_images(batch).mean, encoder.encode_texts(batch).mean


def shaken(encoder):
    """Adapters as they are after training: B is no longer zero."""
    torch.manual_seed(1)
    for name, parameter in encoder.named_parameters():
        if ".lora_B." in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return encoder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["pooled", "tokens"])
def test_adapters_that_begin_at_zero_leave_every_bit_of_the_model(towers, kind, head):
    plain_model, adapted = (towers(kind, head=head, **lora) for lora in ({}, {"lora": {"rank": 2}}))
    if head == "tokens":  # the heads are drawn after the towers, and the adapters after the heads
        adapted.load_state_dict(plain_model.state_dict(), strict=False)
    batch = a_batch(adapted)
    for before, after in zip(vectors(plain_model, batch), vectors(adapted, batch), strict=True):
        assert torch.equal(before, after)


@pytest.mark.parametrize("kind", KINDS)
def test_merged_adapters_give_what_the_adapters_gave(towers, kind):
    adapted = shaken(towers(kind, lora={"rank": 2, "alpha": 4}))
    batch = a_batch(adapted)
    expected = vectors(adapted, batch)
    moved = vectors(towers(kind), batch)
    adapted.network = adapted.merge_adapters()
    assert not any(map(is_adapter, adapted.state_dict()))
    assert adapted.state_dict().keys() == towers(kind).state_dict().keys()
    for one, other, before in zip(vectors(adapted, batch), expected, moved, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
        assert (other - before).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_only_adapters_train_and_all_of_them_get_a_gradient(towers, kind):
    encoder = shaken(towers(kind, lora={"rank": 2})).train()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    groups = encoder.groups()
    assert [group.role for group in groups] == ["head"]
    trained = groups[0].parameters
    assert trained.keys() == {name for name, p in encoder.named_parameters() if p.requires_grad}
    assert all(map(is_adapter, trained))
    sides = {encoder.side_of(name.removeprefix("network.")) for name in trained}
    assert sides == {"image", "text"}
    optimiser = torch.optim.SGD(trained.values(), lr=0.1)
    batch = a_batch(encoder)
    (encoder.encode_images(batch).mean * encoder.encode_texts(batch).mean.roll(1, 0)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in trained.values())
    optimiser.step()
    # a decoder that takes no part has weights that nobody set
    after = {name: value for name, value in encoder.state_dict().items() if value.isfinite().all()}
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert moved == set(trained)


@pytest.mark.parametrize("side", ["image", "text"])
def test_adapters_on_one_side_leave_the_other_to_train_as_without_them(towers, side):
    other = {"image": "text", "text": "image"}[side]
    adapted, without = towers("vit", lora={"sides": side}), towers("vit")
    trained = {
        name_without_adapters(name)
        for name, p in adapted.network.named_parameters()
        if p.requires_grad and not is_adapter(name)
    }
    assert trained == {
        name
        for name, p in without.network.named_parameters()
        if p.requires_grad and without.side_of(name) == other
    }
    roles = {group.role for group in adapted.groups()}
    assert roles == {f"{other}_backbone", "head"}


def test_adapters_are_where_the_targets_say(towers):
    encoder = towers("vit", lora={"targets": ["c_fc", "1.attn"], "sides": "text"})
    wrapped = {name for name, part in encoder.network.named_modules() if hasattr(part, "lora_A")}
    blocks = "transformer.resblocks"
    assert wrapped == {f"{blocks}.0.mlp.c_fc", f"{blocks}.1.mlp.c_fc", f"{blocks}.1.attn"}


def test_the_update_is_alpha_over_rank_times_b_a(towers):
    encoder = shaken(towers("vit", lora={"rank": 2, "alpha": 6}))
    layer = encoder.network.visual.transformer.resblocks[0].attn
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    expected = layer.base_layer.in_proj_weight + 6 / 2 * b @ a
    merged = encoder.merge_adapters().visual.transformer.resblocks[0].attn.in_proj_weight
    torch.testing.assert_close(merged, expected)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("resnet", {"lora": {}}, "image tower"),
        ("vit", {"lora": {}, "freeze_image": True}, "freeze_image"),
        ("vit", {"lora": {"targets": ["c_fk"]}}, "c_fk"),
        ("vit", {"lora": {"targets": ["ln_1"]}}, "LayerNorm"),
        ("vit", {"lora": {"targets": ["out_proj"]}}, "out_proj"),
        ("resnet", {"lora": {"targets": ["attnpool.q_proj"]}}, "AttentionPool2d"),
        ("vit", {"lora": {"rank": 0}}, "rank"),
    ],
)
def test_adapters_that_would_reach_nothing_are_refused(towers, kind, options, message):
    with pytest.raises(ValueError, match=message):
        towers(kind, **options)


def test_adapters_stay_when_a_frozen_tower_is_on_the_other_side(towers):
    encoder = towers("vit", lora={"sides": "text"}, freeze_image=True)
    assert [group.role for group in encoder.groups()] == ["head"]
