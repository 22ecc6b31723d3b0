"""Heads that say log sigma squared: of every encoder, and of copies of a tower's last blocks."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from tests.encoders.test_towers import ALL, a_batch
from workbench.encoders import load
from workbench.encoders._open_clip_towers import text_tower
from workbench.encoders.pooling import LogVar
from workbench.records import Batch

COPIED = ["vit", "vit-custom-text", "vit-siglip", "timm-vit", "coca"]


@pytest.fixture
def towers(towers):
    return partial(towers, log_var=True)


def test_one_part_is_mapped_and_pooled_without_a_norm():
    head = LogVar(2, 3, "mean")
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]))
        head.linear.bias.zero_()
    # The mean of (2, 2) and (4, 0) is (3, 1); the third row is 2 (3 + 1) = 8. The padded part does not count.
    parts, mask = torch.tensor([[[2.0, 2.0], [4.0, 0.0], [9.0, 9.0]]]), torch.tensor([[True, True, False]])
    torch.testing.assert_close(head(parts, mask), torch.tensor([[3.0, 1.0, 8.0]]))


@pytest.mark.parametrize("width", [16, 1024])
def test_the_variances_of_every_embedding_add_up_to_a_tenth_at_the_start_and_then_part(width):
    torch.manual_seed(0)
    head, parts = LogVar(width, width), torch.randn(8, 5, width)
    made = head(parts, torch.ones(8, 5, dtype=torch.bool)).exp().sum(1)
    torch.testing.assert_close(made, torch.full((8,), 0.1))
    (made * torch.randn(8)).sum().backward()
    assert head.linear.weight.grad.abs().max() > 0


def test_regions_and_words_say_a_log_variance_only_where_asked():
    features = torch.randn(2, 5, 6)
    batch = Batch(
        ["a", "b"],
        ["c", "d"],
        torch.arange(2),
        {"regions": features},
        {"tokens": torch.tensor([[4, 5], [5, 0]])},
    )
    for log_var in (False, True):
        regions = load("regions", in_dim=6, embed_dim=4, hidden_dim=3, log_var=log_var).eval()
        words = load("sequence", vocabulary=("one", "two"), word_dim=5, embed_dim=4, log_var=log_var).eval()
        for encoder, made in ((regions, regions.encode_images(batch)), (words, words.encode_texts(batch))):
            assert (made.log_var is not None) is log_var is ("log_var" in encoder.output_fields)
            assert made.log_var is None or made.log_var.shape == (2, 4)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("head", ["pooled", "tokens"])
def test_towers_of_every_kind_say_one_and_leave_the_mean_as_it_is(towers, kind, head):
    options = {"embed_dim": 32, "log_var_blocks": 0} if head == "tokens" else {}
    encoder = towers(kind, head=head, **options).eval()
    plain = towers(kind, head=head, **options, log_var=False).eval()
    # The heads draw their weights in another order; the towers and their own pooled vectors are the same.
    plain.load_state_dict(
        {name: value for name, value in encoder.state_dict().items() if "log_var" not in name}
    )
    assert encoder.output_fields == ("parts", "log_var")
    assert plain.output_fields == ("parts",)
    for made, bare in (
        (encoder.encode_images(a_batch(encoder)), plain.encode_images(a_batch(encoder))),
        (encoder.encode_texts(a_batch(encoder)), plain.encode_texts(a_batch(encoder))),
    ):
        assert made.log_var.shape == made.mean.shape
        torch.testing.assert_close(made.mean, bare.mean)


@pytest.mark.parametrize("kind", COPIED)
@pytest.mark.parametrize("count", [1, 2])
def test_an_untrained_copy_says_what_the_tower_says(towers, kind, count):
    if kind == "coca" and count == 2:
        count = 1
    copied = towers(kind, head="tokens", embed_dim=32, log_var_blocks=count).eval()
    same = towers(kind, head="tokens", embed_dim=32, log_var_blocks=0).eval()
    same.load_state_dict({name: value for name, value in copied.state_dict().items() if "branch" not in name})
    batch = a_batch(copied)
    torch.testing.assert_close(copied.encode_images(batch).log_var, same.encode_images(batch).log_var)
    torch.testing.assert_close(copied.encode_texts(batch).log_var, same.encode_texts(batch).log_var)


def test_texts_of_many_lengths_keep_their_own_variances(towers):
    encoder = towers("vit", head="tokens", embed_dim=32).eval()
    with torch.no_grad():
        encoder.text_branch.blocks[0].mlp.c_fc.weight.add_(0.3)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 50, (11, 12), generator=generator)
    for row in range(11):
        ids[row, row + 1 :] = 0
    ids = ids[torch.randperm(11, generator=generator)]

    def texts(rows):
        return encoder.encode_texts(
            Batch([], ["x"] * len(rows), torch.zeros(len(rows)), signals={"tokens": rows})
        ).log_var

    torch.testing.assert_close(texts(ids), torch.cat([texts(row[None]) for row in ids]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["vit", "timm-vit"])
def test_every_trainable_parameter_is_in_one_group_and_takes_part(towers, kind):
    encoder = towers(kind, head="tokens", embed_dim=32)
    grouped = [p for group in encoder.groups() for p in group.parameters.values()]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {p for p in encoder.parameters() if p.requires_grad}
    made = encoder.encode_images(a_batch(encoder)), encoder.encode_texts(a_batch(encoder))
    sum(one.mean.sum() + one.log_var.exp().sum() for one in made).backward()
    assert [name for name, p in encoder.named_parameters() if p.requires_grad and p.grad is None] == []


def test_a_copy_is_as_deep_as_the_block_it_was_made_from(towers):
    groups = towers("vit", head="tokens", log_var_blocks=2).groups()
    found = {
        (group.role, group.depth)
        for group in groups
        for name in group.parameters
        if ".branch." in name and group.role == "image_backbone"
    }
    assert found == {("image_backbone", depth) for depth in (0, 1, 2)}


def test_a_copy_trains_beside_a_frozen_tower(towers):
    encoder = towers("vit", head="tokens", freeze_image=True, freeze_text=True).train()
    batch = a_batch(encoder)
    (encoder.encode_images(batch).log_var.sum() + encoder.encode_texts(batch).log_var.sum()).backward()
    assert encoder.image_branch.blocks[0].mlp.c_fc.weight.grad is not None
    assert encoder.text_branch.blocks[0].mlp.c_fc.weight.grad is not None
    assert all(p.grad is None for p in encoder.network.parameters())


def test_nothing_stays_on_the_tower_after_a_pass(towers):
    encoder = towers("vit", head="tokens")
    encoder.encode_images(a_batch(encoder)), encoder.encode_texts(a_batch(encoder))
    modules = [*encoder.network.visual.modules(), *text_tower(encoder.network).modules()]
    assert not any(module._forward_pre_hooks for module in modules)


@pytest.mark.parametrize("kind", ["resnet", "timm-resnet"])
def test_a_tower_without_blocks_to_copy_says_what_to_do(towers, kind):
    with pytest.raises(ValueError, match="set log_var_blocks=0 for a head without a copy"):
        towers(kind, head="tokens")
    with pytest.raises(ValueError, match="VisionTransformer has 3 blocks"):
        towers("vit", head="tokens", log_var_blocks=4)
