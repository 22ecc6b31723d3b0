import numpy as np
import pytest

from tests.metrics.families import errors
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.records import Judgements


def judged(name, matrix):
    images, captions = np.nonzero(matrix)
    return Judgements(name, "x", matrix.shape, images, captions, np.ones(len(images), np.float32))


# captions 0..3 belong to images 0, 0, 1, 2; caption 1 is also true of image 1, caption 3 of every image
OWN = judged("own", np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
TRUE = judged("exact", np.array([[1, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]]))
# best images of the captions: 0 (own), 1 (not own but true), 0 (wrong), 1 (not own but true)
SCORES = np.array([[0.9, 0.2, 0.8, 0.1], [0.1, 0.7, 0.3, 0.6], [0.2, 0.3, 0.4, 0.5]])


def values(found):
    return {m.key.local: (round(m.value, 6), m.queries) for m in found}


def test_the_errors_of_the_labels_are_told_from_those_of_the_model():
    found = values(errors(SCORES, OWN, TRUE, rounds=0))
    assert found["t2i/own@1"] == (0.25, 4)
    assert found["t2i/true@1"] == (0.75, 4)
    assert found["t2i/errors"] == (0.75, 4)
    assert found["t2i/false_negatives"] == (round(2 / 3, 6), 3)
    # best captions of the images: 0 (own), 1 (not own but true), 3 (own)
    assert found["i2t/own@1"] == (round(2 / 3, 6), 3)
    assert found["i2t/true@1"] == (1.0, 3)
    assert found["i2t/false_negatives"] == (1.0, 1)


def test_queries_can_be_restricted_while_the_gallery_stays_whole():
    found = errors(SCORES, OWN, TRUE, captions=np.array([False, False, True, True]), part="last", rounds=0)
    by_key = {m.key.local: m for m in found}
    assert (by_key["t2i/true@1[last]"].value, by_key["t2i/true@1[last]"].queries) == (0.5, 2)
    assert by_key["t2i/true@1[last]"].gallery == 3
    assert by_key["i2t/true@1[last]"].queries == 3


def test_a_tie_with_a_true_item_is_right_by_the_truth_and_wrong_by_the_labels():
    # caption 1: image 0 is its own, image 1 equally scored and also true
    scores = np.array([[0.9, 0.7, 0.1, 0.1], [0.1, 0.7, 0.3, 0.1], [0.2, 0.3, 0.1, 0.5]])
    found = values(errors(scores, OWN, TRUE, rounds=0))
    assert found["t2i/own@1"] == (0.75, 4)
    assert found["t2i/true@1"] == (1.0, 4)
    assert found["t2i/false_negatives"] == (1.0, 1)


def test_without_errors_there_is_no_share_of_them():
    found = values(errors(OWN.dense(), OWN, TRUE, rounds=0))
    assert found["t2i/errors"] == (0.0, 4)
    assert "t2i/false_negatives" not in found


def test_intervals_enclose_the_shares_and_the_names_stand_in_the_contract():
    for m in errors(SCORES, OWN, TRUE):
        assert m.low <= m.value <= m.high
        assert m.key.judgements == "exact"
        assert "own" in m.hit or "exact" in m.hit


def test_without_the_data_set_s_own_pairs_nothing_is_compared():
    with pytest.raises(ValueError, match="true: give labels, the data set's own pairs"):
        evaluate(Evidence(SCORES, TRUE, np.arange(4)), ["true"], rounds=0)
