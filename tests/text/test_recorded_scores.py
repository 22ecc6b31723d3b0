"""What word statistics were before scikit-learn counted the words, value by value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from workbench import text
from workbench.text import cider

RECORDED = json.loads((Path(__file__).parent / "recorded_scores.json").read_text(encoding="utf-8"))
CAPTIONS, OWN = RECORDED["captions"], np.array(RECORDED["own"])


@pytest.mark.parametrize("scorer", RECORDED["descriptiveness"])
def test_descriptiveness_is_what_it_was_to_the_last_digits(scorer):
    found = text.load("descriptiveness", scorer=scorer).fit(CAPTIONS[:7]).raw_scores(CAPTIONS)
    np.testing.assert_allclose(found, RECORDED["descriptiveness"][scorer], rtol=1e-12, atol=0)


@pytest.mark.parametrize("options", RECORDED["cider"])
def test_cider_is_what_it_was_to_the_last_digit_of_single_precision(options):
    variant, tokens, left_out = options.split()
    maker = text.load("cider", variant=variant, tokens=tokens, leave_one_out=left_out == "True")
    found = maker.fit(CAPTIONS, OWN).transform(CAPTIONS, OWN).dense().T
    np.testing.assert_allclose(found, RECORDED["cider"][options], rtol=2e-7, atol=0)


def test_the_cosine_of_words_is_what_it_was_to_the_last_digit_of_single_precision():
    found = text.load("tfidf").fit(CAPTIONS, OWN).transform(CAPTIONS, OWN).dense().T
    np.testing.assert_allclose(found, RECORDED["tfidf"], rtol=2e-7, atol=0)


def test_ngrams_are_counted_as_scikit_learn_counts_them():
    split = cider.SPLITS["whitespace"]
    counter = CountVectorizer(tokenizer=split, token_pattern=None, lowercase=False, ngram_range=(1, 4))
    theirs = counter.fit_transform(CAPTIONS)
    ours = cider.count_ngrams(CAPTIONS, split)
    order = [counter.vocabulary_[gram] for gram in ours.grams]
    assert len(order) == theirs.shape[1]
    assert abs(sparse.csr_array(theirs)[:, order] - ours.counts).sum() == 0
    assert ours.order.tolist() == [gram.count(" ") + 1 for gram in ours.grams]
