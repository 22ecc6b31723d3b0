from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import encoders as oracle
from workbench.encoders import load
from workbench.encoders.pooling import GPO, POOLINGS, position_code, softmax_weights, sorted_sum

X = torch.tensor([[[1.0, 5.0], [3.0, 2.0], [2.0, 4.0], [9.0, 9.0]]])
THREE_REAL = torch.tensor([[True, True, True, False]])


def sets(sizes, dim=5, length=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    length = length or max(sizes)
    parts = torch.randn(len(sizes), length, dim, generator=generator, dtype=torch.float64)
    return parts, torch.arange(length) < torch.tensor(sizes)[:, None]


def double(name, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return POOLINGS[name]().double()


def test_sorted_columns_are_weighted_by_hand():
    # Columns sorted: 3 2 1 and 5 4 2. With theta .5 .3 .2: 1.5 + .6 + .2 = 2.3 and 2.5 + 1.2 + .4 = 4.1;
    # padding is unseen.
    theta = torch.tensor([[0.5, 0.3, 0.2]])
    torch.testing.assert_close(sorted_sum(X, THREE_REAL, theta), torch.tensor([[2.3, 4.1]]))


def test_scores_become_weights_by_a_softmax_at_a_tenth():
    # exp(1), exp(.5), exp(0) = 2.71828, 1.64872, 1; their sum is 5.36700.
    theta = softmax_weights(torch.tensor([0.1, 0.05, 0.0]), torch.tensor([True, True, True]), 0.1)
    torch.testing.assert_close(theta, torch.tensor([0.50648, 0.307196, 0.186324]), atol=1e-6, rtol=0)


def test_padded_positions_weigh_exactly_nothing():
    theta = softmax_weights(
        torch.tensor([[0.1, 0.05, 0.0, 50.0]]), torch.tensor([[True, True, True, False]]), 0.1
    )
    assert theta[0, 3] == 0
    torch.testing.assert_close(theta.sum(), torch.tensor(1.0))


def test_position_codes_are_those_of_the_worked_example():
    expected = [[0, 1, 0, 1], [0.841471, 0.540302, 0.01, 0.99995], [0.909297, -0.416147, 0.019999, 0.9998]]
    torch.testing.assert_close(position_code(3, 4), torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("length", "size"), [(1, 2), (7, 32), (49, 8)])
def test_position_codes_are_those_of_the_double_loop(length, size):
    torch.testing.assert_close(position_code(length, size), torch.tensor(oracle.position_code(length, size)))


@pytest.mark.parametrize("sizes", [(1,), (4, 2, 7, 2), (3, 3)])
def test_gpo_is_the_double_loop(sizes):
    gpo = double("gpo")
    parts, mask = sets(sizes, length=8)
    found = gpo(parts, mask)
    rnn = {name: value.tolist() for name, value in gpo.rnn.named_parameters()}
    names = [("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]
    directions = {
        "forward": [rnn[name] for name in names[0]],
        "backward": [rnn[f"{name}_reverse"] for name in names[0]],
    }
    for row, size in enumerate(sizes):
        theta = oracle.gpo_weights(size, {**directions, "score": gpo.score.weight[0].tolist(), "d_pe": 32})
        expected = oracle.weighted_order_statistics(parts[row, :size].tolist(), theta)
        torch.testing.assert_close(found[row], torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0)


def test_the_sizes_of_gpo_are_those_of_the_released_code():
    gpo = GPO()
    assert (gpo.d_pe, gpo.rnn.hidden_size, gpo.temperature) == (32, 32, 0.1)
    assert gpo.rnn.bidirectional
    assert gpo.rnn.num_layers == 1
    assert gpo.score.bias is None


def test_the_first_weight_alone_is_max_pooling():
    parts, mask = sets((4, 2, 6))
    first = torch.zeros(3, 6, dtype=torch.float64)
    first[:, 0] = 1
    torch.testing.assert_close(sorted_sum(parts, mask, first), POOLINGS["max"]()(parts, mask))


def test_equal_weights_are_mean_pooling():
    parts, mask = sets((4, 2, 6))
    equal = mask / mask.sum(1, keepdim=True)
    torch.testing.assert_close(sorted_sum(parts, mask, equal.double()), POOLINGS["mean"]()(parts, mask))


def test_equal_weights_on_the_first_k_are_k_max_pooling():
    parts, mask = sets((6,))
    two = torch.tensor([[0.5, 0.5, 0, 0, 0, 0]], dtype=torch.float64)
    torch.testing.assert_close(sorted_sum(parts, mask, two), parts.topk(2, dim=1).values.mean(1))


def test_weights_sum_to_one_and_depend_on_the_size_alone():
    gpo = double("gpo")
    weights = gpo.weights(torch.tensor([5, 1, 3, 5]))
    torch.testing.assert_close(weights.sum(1), torch.ones(4, dtype=torch.float64))
    torch.testing.assert_close(weights[0], weights[3])
    assert (weights[1, 1:] == 0).all()
    torch.testing.assert_close(gpo.weights(torch.tensor([3]))[0], weights[2, :3])


@pytest.mark.parametrize("name", POOLINGS)
def test_a_set_of_one_is_returned_as_it_is(name):
    parts, mask = sets((1, 1), length=3)
    torch.testing.assert_close(double(name)(parts, mask), parts[:, 0])


@pytest.mark.parametrize("name", POOLINGS)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    padding=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_order_and_padding_make_no_difference(name, sizes, padding, seed):
    pooling = double(name)
    parts, mask = sets(sizes, length=6, seed=seed)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    moved, moved_mask = parts[:, order], mask[:, order]
    rubbish = torch.full((len(sizes), padding, parts.shape[2]), 1e6, dtype=torch.float64)
    longer = torch.cat([moved, rubbish], dim=1)
    longer_mask = torch.cat([moved_mask, torch.zeros(len(sizes), padding, dtype=torch.bool)], dim=1)
    torch.testing.assert_close(pooling(longer, longer_mask), pooling(parts, mask))


@pytest.mark.parametrize("name", POOLINGS)
def test_no_gradient_reaches_padding(name):
    parts, mask = sets((2, 4))
    parts.requires_grad_()
    double(name)(parts, mask).square().sum().backward()
    assert (parts.grad[~mask] == 0).all()
    assert parts.grad[mask].abs().sum() > 0


@pytest.mark.parametrize("name", POOLINGS)
def test_gradients_are_those_of_finite_differences(name):
    pooling = double(name)
    parts, mask = sets((2, 3), dim=2)
    assert torch.autograd.gradcheck(lambda x: pooling(x, mask), parts.requires_grad_())


@pytest.mark.parametrize("name", ["max", "mean"])
def test_equal_parts_share_the_gradient_as_in_the_padded_form(name):
    parts, mask = sets([1 + n % 9 for n in range(64)], dim=16)
    parts = parts[:, torch.arange(9) % 3].requires_grad_()
    weight = torch.randn(64, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    padded = {
        "max": lambda: parts.masked_fill(~mask[..., None], -torch.inf).amax(1),
        "mean": lambda: (parts * mask[..., None]).sum(1) / mask.sum(1, keepdim=True),
    }
    found, expected = (
        torch.autograd.grad((made * weight).sum(), parts)[0]
        for made in (POOLINGS[name]()(parts, mask), padded[name]())
    )
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", POOLINGS)
def test_without_a_mask_all_parts_are_real(name):
    pooling = double(name)
    parts, mask = sets((3, 3))
    torch.testing.assert_close(pooling(parts), pooling(parts, mask))


@pytest.mark.parametrize("name", POOLINGS)
def test_an_empty_set_is_refused_by_its_row(name):
    parts, mask = sets((2, 0, 1))
    with pytest.raises(ValueError, match=r"set \[1\] has no real part"):
        POOLINGS[name]().double()(parts, mask)


def test_an_unknown_pooling_names_the_near_ones():
    with pytest.raises(ValueError, match="pooling is 'maxx'; did you mean max"):
        load("regions", pooling="maxx")
