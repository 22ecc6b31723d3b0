"""Do intervals hold the truth as often as they say? Captions of one image are alike, as they are in life.

A world without end is simulated: an image is easy or hard, and its captions and the image itself are found
early or late accordingly. Of 1,000 samples of 200 images with five captions each, the 95 % interval is to
hold the number of the whole world in 93 to 97 of 100. A bootstrap that draws captions one by one does not.
"""

import numpy as np
import pytest

from workbench import metrics
from workbench.metrics.intervals import Draws, percentile_interval
from workbench.metrics.ranks import Ranks

SAMPLES, IMAGES, CAPTIONS = 1000, 200, 5
OWN = np.repeat(np.arange(IMAGES), CAPTIONS)
NUMBERS = {"t2i/R@1": ("R", "t2i"), "i2t/map_at_r": ("map_at_r", "i2t"), "rsum": ("rsum", "")}


def found(rng, images):
    """Ranks of captions for images, and of the image for each caption: hard images are found late by all."""
    hard = 1.2 * rng.standard_normal((images, 1))
    late = np.floor(np.exp(hard + 0.8 * rng.standard_normal((images, CAPTIONS)))).astype(np.int64)
    # the captions of an image stand at different places
    places = np.sort(late, axis=1) + np.arange(1, CAPTIONS + 1)
    i2t = Ranks(np.repeat(np.arange(images), CAPTIONS), places.ravel(), np.full(images, CAPTIONS), 5 * images)
    late = np.floor(np.exp(hard + 0.8 * rng.standard_normal((images, CAPTIONS)))).astype(np.int64)
    rows = np.arange(images * CAPTIONS)
    return {"i2t": i2t, "t2i": Ranks(rows, 1 + late.ravel(), np.ones(len(rows), np.int64), images)}


def by_query(ranks, images):
    """``(samples, queries of a sample)`` values of each number."""
    out = {}
    for key, (name, direction) in NUMBERS.items():
        sides = [direction] if direction else ["i2t", "t2i"]
        columns = [metrics.load(name).per_query(ranks[side], 1 if name == "R" else None) for side in sides]
        share = images / len(ranks["i2t"].counts)
        out[key] = np.concatenate([one.reshape(-1, round(len(one) * share)) for one in columns], axis=1)
    return out


@pytest.fixture(scope="module")
def world():
    """The truth, from 400,000 images, and the values by query of all samples."""
    rng, many = np.random.default_rng(11), 400_000
    whole = by_query(found(rng, many), many)
    draws = Draws(np.repeat(np.arange(many), CAPTIONS), many, rounds=0)
    truth = {key: draws.value(whole[key][0], direction) for key, (_, direction) in NUMBERS.items()}
    return truth, by_query(found(rng, SAMPLES * IMAGES), IMAGES)


def coverage(world, key, draws, direction):
    """Share of the samples whose interval holds the truth."""
    truth, samples = world
    ends = np.array(
        [
            percentile_interval(draws[n % len(draws)].resample(one, direction))
            for n, one in enumerate(samples[key])
        ]
    )
    return float(((ends[:, 0] <= truth[key]) & (truth[key] <= ends[:, 1])).mean())


@pytest.mark.parametrize("key", NUMBERS)
def test_intervals_of_images_with_their_captions_hold_the_truth_in_93_to_97_of_100_samples(world, key):
    draws = [Draws(OWN, IMAGES, seed=seed) for seed in range(4)]
    assert 0.93 <= coverage(world, key, draws, NUMBERS[key][1]) <= 0.97


def test_intervals_of_single_captions_are_too_narrow_and_hold_it_less_often(world):
    captions = [Draws(np.arange(IMAGES * CAPTIONS), IMAGES * CAPTIONS, seed=seed) for seed in range(4)]
    assert coverage(world, "t2i/R@1", captions, "t2i") < 0.85
