from __future__ import annotations

import pytest
import torch

from tests.oracles import encoders as oracle
from workbench import encoders
from workbench.encoders.packed import PackedIndex
from workbench.encoders.pooling import RegionAttention
from workbench.records import Batch


def batch(features):
    images = len(features)
    return Batch([str(i) for i in range(images)], [], torch.empty(0, dtype=torch.long), {"regions": features})


def made(seed=0, **options):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return encoders.load("regions", **{"in_dim": 6, "embed_dim": 4, "hidden_dim": 3, **options})


@pytest.fixture
def features():
    return torch.randn(5, 7, 6, generator=torch.Generator().manual_seed(1))


def test_a_linear_layer_and_the_maximum_by_hand():
    # Regions (1,0) and (0,2) under W = [[1,1],[0,3]], b = (0,1): (1,1) and (2,7). Maximum (2,7), length
    # sqrt(53).
    encoder = encoders.load("regions", in_dim=2, embed_dim=2, hidden_dim=0, pooling="max").eval()
    encoder.load_state_dict(
        {
            "projection.linear.weight": torch.tensor([[1.0, 1.0], [0.0, 3.0]]),
            "projection.linear.bias": torch.tensor([0.0, 1.0]),
        }
    )
    out = encoder.encode_images(batch(torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])))
    torch.testing.assert_close(out.parts, torch.tensor([[[1.0, 1.0], [2.0, 7.0]]]))
    torch.testing.assert_close(out.mean, torch.tensor([[2.0, 7.0]]) / 53**0.5)


def test_the_projection_is_the_double_loop_region_by_region(features):
    encoder = made().eval()
    parts = encoder.encode_images(batch(features)).parts
    expand, norm, _, contract = encoder.projection.mlp
    for i in range(5):
        for k in range(7):
            part = features[i, k].tolist()
            straight = oracle.projection(
                part, encoder.projection.linear.weight.tolist(), encoder.projection.linear.bias.tolist()
            )
            hidden = oracle.projection(part, expand.weight.tolist(), expand.bias.tolist())
            # Fresh batch statistics are mean 0 and variance 1.
            hidden = [max(value / (1 + norm.eps) ** 0.5, 0.0) for value in hidden]
            side = oracle.projection(hidden, contract.weight.tolist(), contract.bias.tolist())
            expected = torch.tensor([a + b for a, b in zip(straight, side, strict=True)])
            torch.testing.assert_close(parts[i, k], expected, atol=1e-5, rtol=1e-5)


def test_the_widths_are_those_of_the_papers():
    encoder = encoders.load("regions")
    assert encoder.projection.linear.weight.shape == (1024, 2048)
    assert encoder.projection.mlp[0].weight.shape == (512, 2048)
    assert encoder.projection.mlp[3].weight.shape == (1024, 512)
    assert encoder.embed_dim == 1024


@pytest.mark.parametrize("pooling", ["gpo", "max", "mean"])
def test_embeddings_have_unit_length_and_carry_their_parts(features, pooling):
    out = made(pooling=pooling).eval().encode_images(batch(features))
    torch.testing.assert_close(out.mean.norm(dim=1), torch.ones(5))
    assert out.parts.shape == (5, 7, 4)
    assert out.mask.all()


def test_the_order_of_regions_makes_no_difference(features):
    encoder = made().eval()
    torch.testing.assert_close(
        encoder.encode_images(batch(features)).mean, encoder.encode_images(batch(features.flip(1))).mean
    )


def test_evaluation_sees_every_region_and_is_repeatable(features):
    encoder = made(region_dropout=0.9).eval()
    first, second = encoder.encode_images(batch(features)), encoder.encode_images(batch(features))
    assert first.mask.all()
    assert torch.equal(first.mean, second.mean)


def test_training_leaves_out_the_stated_share_of_regions_but_never_all():
    encoder = made(region_dropout=0.2).train()
    mask = encoder.seen_mask(torch.zeros(4000, 10, 6))
    assert abs(mask.float().mean() - 0.8) < 0.01
    mask = made(region_dropout=1.0).train().seen_mask(torch.zeros(50, 10, 6))
    assert (mask.sum(1) == 1).all()


def test_regions_that_were_left_out_reach_neither_the_pooling_nor_the_batch_statistics(features):
    encoder = made().train()
    encoder.seen_mask = lambda _: torch.arange(7).expand(5, 7) < 4
    spoilt = features.clone()
    spoilt[:, 4:] = 1e9
    torch.testing.assert_close(
        encoder.encode_images(batch(features)).mean, encoder.encode_images(batch(spoilt)).mean
    )


def test_the_same_seed_gives_the_same_dropout(features):
    encoder = made().train()
    runs = []
    for _ in range(2):
        with torch.random.fork_rng():
            torch.manual_seed(7)
            runs.append(encoder.encode_images(batch(features)).mask)
    assert torch.equal(runs[0], runs[1])


def test_gradients_are_those_of_finite_differences():
    encoder = made(hidden_dim=0).double().eval()
    features = torch.randn(
        2, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2), requires_grad=True
    )
    assert torch.autograd.gradcheck(lambda x: encoder.encode_images(batch(x)).mean, features)


def test_every_trainable_parameter_is_in_one_group():
    encoder = made()
    named = [p for group in encoder.groups() for p in group.parameters.values()]
    assert {id(p) for p in named} == {id(p) for p in encoder.parameters()}
    assert len(named) == len(list(encoder.parameters()))


def test_features_of_another_width_are_refused_with_the_remedy(features):
    with pytest.raises(ValueError, match=r"must be \(I, K, 9\), got \(5, 7, 6\); set in_dim"):
        made(in_dim=9).encode_images(batch(features))


def test_regions_attend_to_those_that_this_pass_sees_and_to_no_other(features):
    encoder = made(embed_dim=8, attention_heads=2).eval()
    with_all = encoder.encode_images(batch(features)).parts
    assert not torch.allclose(with_all, encoder.projection(features.flatten(0, 1)).view(5, 7, -1))
    encoder.seen_mask = lambda _: torch.arange(7).expand(5, 7) < 4
    spoilt = features.clone()
    spoilt[:, 4:] = 1e9
    found, expected = (encoder.encode_images(batch(given)) for given in (spoilt, features))
    torch.testing.assert_close(found.mean, expected.mean)
    assert (found.parts[:, 4:] == 0).all()
    changed = features.clone()
    changed[:, 0] += 1
    assert not torch.allclose(encoder.encode_images(batch(changed)).parts[:, 1], expected.parts[:, 1])


def test_features_are_dropped_before_they_are_projected_and_in_training_alone(features):
    encoder = made(feature_dropout=0.5, region_dropout=0.0, hidden_dim=0)
    torch.testing.assert_close(
        encoder.eval().encode_images(batch(features)).mean,
        made(hidden_dim=0).eval().encode_images(batch(features)).mean,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        parts = encoder.train().encode_images(batch(features)).parts
        torch.manual_seed(0)
        dropped = torch.nn.functional.dropout(features.flatten(0, 1), 0.5).view_as(features)
    torch.testing.assert_close(parts, encoder.projection.linear(dropped))


def test_places_are_those_of_the_file_or_those_of_the_regions_that_are_seen():
    # Seen: places 1, 2 and 4. Numbered anew they are 0, 1 and 2, as of an image with these regions alone.
    rows, seen = torch.randn(3, 8, generator=torch.Generator().manual_seed(0)), [1, 2, 4]
    mask = torch.zeros(1, 5, dtype=torch.bool)
    mask[0, seen] = True
    for renumber in (False, True):
        torch.manual_seed(0)
        attention = RegionAttention(8, 2, renumber).eval()
        alone = attention(rows, PackedIndex(torch.ones(1, 3, dtype=torch.bool)))
        assert torch.allclose(attention(rows, PackedIndex(mask)), alone) is renumber


def test_places_are_the_same_where_every_region_is_seen(features):
    both = [made(attention_heads=2, renumber=renumber).eval() for renumber in (False, True)]
    kept, anew = (encoder.encode_images(batch(features)).mean for encoder in both)
    torch.testing.assert_close(kept, anew)
