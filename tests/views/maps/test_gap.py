"""The modality gap on toy vectors."""

from __future__ import annotations

import numpy as np

from workbench.views.maps.measures import modality_gap


def test_two_clouds_on_one_axis_are_told_apart_by_the_gap_alone():
    # centres (1, 0) and (0, 0): the gap is 1 along the first axis, half way is 0.5
    image, text = np.array([[1.0, 1], [1, -1]]), np.array([[0.0, 1], [0, -1]])
    gap = modality_gap(image, text)
    assert gap.distance == 1
    assert gap.image.tolist() == [0.5, 0.5]
    assert gap.text.tolist() == [-0.5, -0.5]
    assert (gap.auc, gap.accuracy) == (1, 1)


def test_kinds_that_overlap_are_sorted_in_part():
    # centres 2 and 1, half way 1.5: images at 0.5 and -0.5 + ... -> places (1, 3) - 1.5 = -0.5, 1.5; captions
    # (0, 2) -> -1.5, 0.5
    gap = modality_gap(np.array([[1.0], [3]]), np.array([[0.0], [2]]))
    assert gap.image.tolist() == [-0.5, 1.5]
    assert gap.text.tolist() == [-1.5, 0.5]
    # an image beats a caption in 3 of 4 pairs; one of two is on the right side, for each kind
    assert (gap.auc, gap.accuracy) == (0.75, 0.5)


def test_equal_clouds_have_no_gap():
    vectors = np.eye(3)
    gap = modality_gap(vectors, vectors)
    assert (gap.distance, gap.auc, gap.accuracy) == (0, 0.5, 0)
    assert (gap.image.tolist(), gap.text.tolist()) == ([0, 0, 0], [0, 0, 0])
