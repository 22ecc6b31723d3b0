"""TF-IDF cosine: two captions by hand, scikit-learn's matrix, and what it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench import text

CAPTIONS = [
    "a dog runs on the grass", "a brown dog is running",
    "a man rides a horse", "a person riding a brown horse",
    "a plate of food on a table", "food on a white plate",
]  # fmt: skip
OWN = np.array([0, 0, 1, 1, 2, 2])


def made():
    return text.load("tfidf").fit(CAPTIONS, OWN)


def test_two_captions_give_the_worked_cosine():
    # "dog runs" and "dog sits" over a corpus of these two: idf(dog) = log(3/3) + 1 = 1, the others log(3/2) +
    # 1 = 1.405465. cosine = 1 / (1 + 1.405465^2) = .336097; a caption's own image holds itself: 1.
    found = (
        text.load("tfidf")
        .fit(["dog runs", "dog sits"], [0, 1])
        .transform(["dog runs", "dog sits"], [0, 1])
        .dense()
    )
    cosine = 1 / (1 + (math.log(1.5) + 1) ** 2)
    np.testing.assert_allclose(found, [[1, cosine], [cosine, 1]], rtol=1e-6)


def test_it_is_the_mean_cosine_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer().fit_transform(CAPTIONS).toarray()
    cosines = vectors @ vectors.T
    expected = np.stack([cosines[image == OWN].mean(axis=0) for image in range(3)])
    np.testing.assert_allclose(made().transform(CAPTIONS, OWN).dense(), expected, rtol=1e-6)


def test_blocks_and_batches_are_parts_of_the_whole():
    relevance = made().transform(CAPTIONS, OWN)
    whole = relevance.dense()
    np.testing.assert_array_equal(
        np.concatenate([scores for _, scores in relevance.blocks(4)], axis=1), whole
    )
    images, captions = np.array([2, 0, 2]), np.array([5, 0, 0, 3])
    np.testing.assert_allclose(relevance.take(images, captions), whole[images][:, captions], rtol=1e-6)
    assert relevance.take(images, captions).shape == (3, 4)


def test_words_of_one_letter_and_words_from_elsewhere_count_nothing():
    found = made().compare(["a zebra", "DOG", ""], CAPTIONS, OWN).dense()
    assert (found[:, [0, 2]] == 0).all()
    assert found[0, 1] > 0
    assert (found[1:, 1] == 0).all()


def test_an_image_without_captions_scores_nothing():
    assert (made().transform(CAPTIONS, OWN, images=4).dense()[3] == 0).all()


def test_what_was_learnt_survives_its_state():
    maker = made()
    again = text.load("tfidf").restore(maker.state())
    np.testing.assert_array_equal(
        again.transform(CAPTIONS, OWN).dense(), maker.transform(CAPTIONS, OWN).dense()
    )
    assert again.state() == maker.state()
    assert text.load("tfidf").state() == {"idf": {}}


def test_it_must_be_fitted_first():
    with pytest.raises(ValueError, match=r"call fit\(captions, own\) first"):
        text.load("tfidf").transform(CAPTIONS, OWN)
