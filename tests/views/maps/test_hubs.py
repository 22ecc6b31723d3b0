"""Hubness by hand and against loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import skew

from tests.oracles import maps as oracle
from workbench.metrics.space import third_moment
from workbench.views.maps import measures


def test_a_hub_is_counted_in_every_list():
    # All three captions point nearly at image 0, so it stands first in all lists of one; captions 0, 0 win
    # the images' lists.
    image = np.array([[1.0, 0], [-1, 0]])
    text = np.array([[1.0, 0.1], [1, 0.2], [0.5, 0.5]])
    of_images, of_texts = measures.hubness(image @ text.T, 1)
    assert of_images.tolist() == [3, 0]
    # image 0 scores the captions 1, 1, 0.5 and takes the first; image 1 scores them -1, -1, -0.5 and takes
    # the last
    assert of_texts.tolist() == [1, 0, 1]


def test_skewness_of_one_hub_by_hand():
    # counts 0 0 0 4: mean 1, deviations -1 -1 -1 3, variance 3, third moment (3 * -1 + 27) / 4 = 6, 6 / 3^1.5
    # = 1.1547
    assert third_moment(np.array([0, 0, 0, 4])) == pytest.approx(6 / 3**1.5)
    assert third_moment(np.full(5, 2)) == 0


def test_counts_and_skewness_are_those_of_loops_and_of_scipy():
    rng = np.random.default_rng(0)
    image, text = rng.normal(size=(13, 4)), rng.normal(size=(29, 4))
    of_images, of_texts = measures.hubness(image @ text.T, 5)
    assert of_images.tolist() == oracle.k_occurrence(text, image, 5)
    assert of_texts.tolist() == oracle.k_occurrence(image, text, 5)
    assert third_moment(of_images) == pytest.approx(skew(of_images))


def test_lists_longer_than_the_gallery_hold_all_of_it():
    of_images, of_texts = measures.hubness(np.eye(2), 10)
    assert (of_images.tolist(), of_texts.tolist()) == ([2, 2], [2, 2])
