"""Mixed images: what is blended with what, what the labels say, and that draws depend on seed and batch
alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training import toy
from workbench.objectives.pcmepp import MEMBER as PCMEPP
from workbench.records import Split
from workbench.training.batches import Shards, Source, loader
from workbench.training.mixing import blend, draw_mixture, exchange_regions, paste

IMAGES = 10


def source(shape=(3, 8, 8)):
    own = np.repeat(np.arange(IMAGES), 2)
    ids = tuple(f"i{n}" for n in range(IMAGES))
    captions = tuple(f"c{n}" for n in range(len(own)))
    values = torch.rand(IMAGES, *shape, generator=torch.Generator().manual_seed(0)) * 255
    values = values.to(torch.uint8) if len(shape) == 3 else values
    split = Split("toy/train", ids, captions, captions, own, lambda row: None)
    return Source(split, {"pixels": lambda rows: values[torch.as_tensor(rows)]}, {})


def test_mixup_is_the_weighted_mean_rounded():
    # .75 * 100 + .25 * 41 = 85.25
    made = blend(
        torch.full((3, 1, 1), 100, dtype=torch.uint8), torch.full((3, 1, 1), 41, dtype=torch.uint8), 0.75
    )
    assert made.dtype == torch.uint8
    assert made.flatten().tolist() == [85] * 3
    assert blend(torch.tensor([100.0]), torch.tensor([41.0]), 0.75).item() == 85.25


def test_cutmix_pastes_a_rectangle_of_the_area_that_the_weight_leaves():
    # A weight of .75 leaves a quarter: 4 x 4 of 8 x 8, whose corner lies at (1/4, 1) of the 4 places on each
    # side: rows 1-4.
    made = paste(torch.zeros(3, 8, 8), torch.ones(3, 8, 8), 0.75, np.array([0.25, 1.0]))
    assert made[:, 1:5, 4:].eq(1).all()
    assert made.sum() == 3 * 16


@pytest.mark.parametrize("corner", [0.0, 0.3, 0.999])
@pytest.mark.parametrize("weight", [0.0, 0.2, 0.64, 0.97, 1.0])
def test_the_rectangle_lies_inside_and_its_area_is_the_weight_up_to_a_row(corner, weight):
    made = paste(torch.zeros(1, 64, 64), torch.ones(1, 64, 64), weight, np.array([corner, corner]))
    assert made.mean().item() == pytest.approx(1 - weight, abs=2 * 2 / 64)


def test_regions_are_exchanged_in_a_run_that_goes_round():
    # (1 - .6) * 5 = 2 regions from place 4 on: 4 and 0.
    made = exchange_regions(torch.zeros(5, 2), torch.ones(5, 2), 0.6, 0.9)
    assert made[:, 0].tolist() == [1, 0, 0, 0, 1]


def test_a_quarter_of_the_images_is_mixed_each_with_another():
    how = draw_mixture(np.arange(128), 128, share=0.25, seed=0)
    mixed = how.partner != np.arange(128)
    assert mixed.sum() == 32
    assert np.array_equal(how.weight < 1, mixed)


def test_the_weights_are_those_of_beta_two_two():
    weight = draw_mixture(np.arange(20000), 20000, share=1.0, seed=0).weight
    assert weight.mean() == pytest.approx(0.5, abs=0.01)
    assert weight.var() == pytest.approx(1 / 20, abs=0.002)


def test_a_batch_of_one_image_stays_as_it_is_and_one_of_two_is_mixed():
    assert draw_mixture(np.arange(3), 1, share=1.0, seed=0).weight.tolist() == [1]
    assert (draw_mixture(np.arange(3), 2, share=0.25, seed=0).partner != np.arange(2)).sum() == 1


def test_draws_depend_on_the_seed_and_the_batch_alone():
    first, again = (draw_mixture(np.arange(8), 8, share=0.5, seed=1) for _ in range(2))
    assert np.array_equal(first.partner, again.partner)
    assert np.array_equal(first.weight, again.weight)
    for other in (
        draw_mixture(np.arange(8), 8, share=0.5, seed=2),
        draw_mixture(np.arange(1, 9), 8, share=0.5, seed=1),
    ):
        assert not np.array_equal(first.weight, other.weight)


def test_labels_are_shared_by_weight_with_the_captions_of_the_partner():
    how = draw_mixture(np.arange(6), 3, share=0.0, seed=0)
    how = replace(how, partner=np.array([0, 2, 2]), weight=np.array([1.0, 0.75, 1.0]))
    positives = torch.tensor([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]).bool()
    assert how.labels(positives).tolist() == [
        [1, 1, 0, 0, 0, 0],
        [0, 0, 0.75, 0.75, 0.25, 0.25],
        [0, 0, 0, 0, 1, 1],
    ]


@pytest.mark.parametrize("shape", [(3, 8, 8), (5, 4)], ids=["pixels", "regions"])
@pytest.mark.parametrize("world", [2, 3])
def test_the_shares_of_several_processes_are_the_batch_of_one(shape, world):
    rows = np.array([3, 0, 5, 9, 14, 18, 16])
    whole = Shards(source(shape), mix=0.6, seed=4)[rows]
    assert whole.images == [whole.batch]
    parts = []
    for rank in range(world):
        shares = Shards(source(shape), mix=0.6, seed=4)
        shares.world, shares.rank = world, rank
        parts.append(shares[rows])
    assert torch.equal(
        torch.cat([one.inputs["pixels"] for part in parts for one in part.images]),
        whole.batch.inputs["pixels"],
    )
    assert [name for part in parts for one in part.images for name in one.image_ids] == list(
        whole.batch.image_ids
    )
    for part in parts:
        assert torch.equal(part.batch.labels, whole.batch.labels)
        assert part.batch.inputs == {}


def test_without_mixing_there_are_no_labels_and_the_images_are_as_they_are():
    (plain,) = loader(Shards(source()), [np.arange(6)])
    (mixed,) = loader(Shards(source(), mix=1.0), [np.arange(6)])
    assert plain.batch.labels is None
    assert torch.equal(plain.batch.targets, plain.batch.positives.float())
    assert mixed.batch.inputs["pixels"].shape == plain.batch.inputs["pixels"].shape
    assert not torch.equal(mixed.batch.inputs["pixels"], plain.batch.inputs["pixels"])
    assert mixed.batch.targets is mixed.batch.labels


def test_only_wanted_images_and_their_partners_are_read():
    seen = []
    one = source()
    read = one.inputs["pixels"]
    one = replace(one, inputs={"pixels": lambda rows: (seen.extend(rows.tolist()), read(rows))[1]})
    how = replace(
        draw_mixture(np.arange(6), 6, share=0.0, seed=0),
        partner=np.array([0, 5, 2, 3, 4, 5]),
        weight=np.full(6, 0.5),
    )
    Shards(one)._read_images(np.arange(6), np.array([0, 1]), how)
    assert sorted(seen) == [0, 1, 5]


def test_training_with_mixed_images_lowers_the_loss_and_is_repeatable():
    losses = []
    for _ in range(2):
        objective = PCMEPP(distance="mean_only")
        _, history = toy.train(
            None, objective=objective, epochs=8, mix=0.25, lr=0.01, of=toy.grid_source(), warmup_epochs=0
        )
        losses.append([row["loss"] for row in history[1:]])
    assert losses[0] == losses[1]
    assert losses[0][-1] < 0.8 * losses[0][0]
