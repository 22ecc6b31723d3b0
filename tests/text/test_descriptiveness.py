from __future__ import annotations

import csv
import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tests.oracles import text as oracle
from workbench import text

POOL = ["a dog", "a dog runs", "a black dog runs on the grass", "a man rides a horse", "horse"]
SCORERS = ["l2_sum", "raw_sum", "printed", "printed_tokens"]
CAPTIONS = st.lists(st.text("ab cdé'’1,-", max_size=25), min_size=3, max_size=8)


def fitted(scorer, pool=POOL, **options):
    return text.load("descriptiveness", scorer=scorer, **options).fit(pool)


def test_one_caption_gives_what_the_formula_gives_by_hand():
    # "a dog" in a pool of five: "a" stands in 4 sentences, "dog" in 3. (log 5/4 + log 5/3) / 2
    assert fitted("printed").raw_scores(["a dog"])[0] == pytest.approx(
        (math.log(5 / 4) + math.log(5 / 3)) / 2
    )


@pytest.mark.parametrize(
    ("scorer", "raw", "scaled"),
    [
        ("printed", [0.366985, 0.550087, 1.155430, 0.916291, 0.916291], [0, 0.232232, 1, 0.696695, 0.696695]),
        ("printed_tokens", [0.366985, 0.550087, 1.155430, 1.005548, 0.916291], None),
        ("raw_sum", [0.733969, 1.650260, 8.088012, 4.581454, 0.916291], [0, 0.124597, 1, 0.523180, 0.024792]),
        ("l2_sum", [1.408985, 1.713750, 2.595113, 1.986617, 1.000000], [0.256399, 0.447460, 1, 0.618525, 0]),
    ],
)
def test_the_pool_of_five_sentences_gives_the_worked_scores(scorer, raw, scaled):
    maker = fitted(scorer)
    np.testing.assert_allclose(maker.raw_scores(POOL), raw, atol=1e-6)
    if scaled is not None:
        np.testing.assert_allclose(maker.transform(POOL).values, scaled, atol=1e-6)


def test_a_repeated_word_tells_the_two_readings_of_the_printed_formula_apart():
    # Pool of four; the last sentence has 9 words, "a" three times and "horse" twice.
    # a: in all 4 sentences, idf 0. man, rides, brown, past: log 4 each. horse: log 4, twice.
    # distinct words: (4 + 2) log 4 / 9 = .924196; word positions: (4 + 2 * 2) log 4 / 9 = 1.232262
    pool = ["a dog", "a dog runs", "a black dog runs on the grass", "a man rides a brown horse past a horse"]
    assert fitted("printed", pool).raw_scores(pool[3:])[0] == pytest.approx(0.924196, abs=1e-6)
    assert fitted("printed_tokens", pool).raw_scores(pool[3:])[0] == pytest.approx(1.232262, abs=1e-6)


@pytest.mark.parametrize("scorer", SCORERS)
@given(pool=CAPTIONS)
def test_it_equals_a_loop_over_words_inside_and_outside_the_pool(scorer, pool):
    maker = text.load("descriptiveness", scorer=scorer)
    learnt = [f"{caption} w{n}{' x' * n}" for n, caption in enumerate(pool)]
    outside = ["a stranger b", "x x y", *pool]
    found = maker.fit(learnt).raw_scores([*learnt, *outside])
    expected = [oracle.descriptiveness(caption, learnt, scorer) for caption in [*learnt, *outside]]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_least_of_the_pool_is_exactly_0_and_the_greatest_exactly_1(scorer):
    values = fitted(scorer).transform(POOL).values
    assert (values.min(), values.max()) == (0, 1)


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_order_of_words_does_not_matter(scorer):
    maker = fitted(scorer)
    assert maker.raw_scores(["grass the on runs dog black a"])[0] == pytest.approx(
        maker.raw_scores(["a black dog runs on the grass"])[0]
    )


@pytest.mark.parametrize("scorer", ["raw_sum", "printed", "printed_tokens"])
def test_a_word_in_every_sentence_adds_nothing_and_a_doubled_pool_changes_nothing(scorer):
    pool = ["a dog", "a dog runs", "a horse"]
    maker = fitted(scorer, pool)
    assert dict(maker.contributions("a dog"))["a"] == 0
    np.testing.assert_allclose(fitted(scorer, pool * 2).raw_scores(pool), maker.raw_scores(pool))


def test_l2_sum_is_the_row_sum_of_a_normalised_tfidf_vector_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = TfidfVectorizer(token_pattern=r"\w+").fit_transform(POOL)
    np.testing.assert_allclose(fitted("l2_sum").raw_scores(POOL), np.asarray(rows.sum(axis=1)).ravel())


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_contributions_of_the_words_sum_to_the_score(scorer):
    maker = fitted(scorer)
    made = maker.contributions("A dog, a horse and a stranger")
    assert [word for word, _ in made] == ["a", "dog", "horse", "and", "stranger"]
    assert sum(weight for _, weight in made) == pytest.approx(
        maker.raw_scores(["A dog, a horse and a stranger"])[0]
    )


def test_an_unseen_word_counts_as_if_one_sentence_of_the_pool_held_it():
    maker = fitted("raw_sum")
    assert maker.raw_scores(["zebra"])[0] == maker.raw_scores(["black"])[0] == pytest.approx(math.log(5))


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_caption_without_words_scores_0_and_may_lie_below_the_pool(scorer):
    assert fitted(scorer).raw_scores(["", "...", "!?"]).tolist() == [0, 0, 0]
    assert fitted("l2_sum").transform([""]).values[0] < 0
    assert fitted("l2_sum", clip=True).transform([""]).values[0] == 0


def test_a_batch_takes_what_was_asked_for_and_nothing_requires_a_gradient():
    rows = np.array([4, 2])
    both = fitted("l2_sum", scale="both").transform(POOL).take(rows)
    assert both["minmax"].tolist() == [0, 1]
    assert both["raw"].tolist() == pytest.approx([1.0, 2.595113], abs=1e-6)
    assert fitted("l2_sum", scale="raw").transform(POOL).take(rows).tolist() == both["raw"].tolist()
    taken = fitted("l2_sum").transform(POOL).take(rows)
    assert (taken.tolist(), str(taken.dtype), taken.requires_grad) == ([0, 1], "torch.float32", False)
    assert len(fitted("l2_sum").transform(POOL).values) == 5


@pytest.mark.parametrize("scorer", SCORERS)
def test_what_was_learnt_survives_json(scorer):
    maker = fitted(scorer)
    again = text.load("descriptiveness", scorer=scorer).restore(json.loads(json.dumps(maker.state())))
    captions = [*POOL, "a zebra on the grass"]
    assert again.transform(captions).values.tolist() == maker.transform(captions).values.tolist()


def test_mistakes_are_refused_by_name():
    with pytest.raises(ValueError, match="scorer is 'l2sum'; did you mean l2_sum"):
        text.load("descriptiveness", scorer="l2sum")
    with pytest.raises(ValueError, match="scale is 'row'; did you mean raw"):
        text.load("descriptiveness", scale="row")
    with pytest.raises(ValueError, match="call fit"):
        text.load("descriptiveness").transform(["a dog"])
    with pytest.raises(ValueError, match="all 2 captions of the pool score the same"):
        fitted("l2_sum", ["a dog", "a dog"])
    with pytest.raises(ValueError, match="made with scorer 'l2_sum', this one has 'printed'"):
        text.load("descriptiveness", scorer="printed").restore(fitted("l2_sum").state())


# DITM's descriptiveness on the texts of HierarCaps, with the minimum and maximum of a pool of 23,479 MS-COCO
# validation captions. That pool is the last text of every positive chain in hierarcaps_test_expanded.csv.gz.
# The 25,014 captions of captions_val2017.json, nearly the same texts, give the same tau but shift the means
# of l2_sum by .05. An apostrophe inside a word must belong to it: the greatest of the pool under the printed
# formula is "... Scott Brown's campaign trailer."
TABLE = {
    "printed": ([0.700, 0.567, 0.350, 0.275], -0.671, 0.005, 0.093),
    "printed_tokens": ([0.679, 0.547, 0.342, 0.278], -0.625, 0.006, 0.092),
    "raw_sum": ([-0.025, -0.020, 0.053, 0.132], 0.849, 0.596, 0.037),
    "l2_sum": ([-0.199, -0.153, 0.103, 0.296], 0.907, 0.553, 0.085),
}
OWN_POOL = {
    "printed": [0.525, 0.489, 0.318, 0.264],
    "raw_sum": [0.024, 0.036, 0.139, 0.257],
    "l2_sum": [0.031, 0.081, 0.368, 0.580],
}


@pytest.fixture(scope="module")
def chains(real_data):
    with (real_data / "hierarcaps" / "hierarcaps_test.csv").open(encoding="utf-8", newline="") as file:
        return [[level.strip() for level in row["captions"].split("=>")] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def pool(real_data):
    with gzip.open(
        real_data / "hierarcaps" / "hierarcaps_test_expanded.csv.gz", "rt", encoding="utf-8", newline=""
    ) as file:
        return [row["positive"].split("=>")[-1].strip() for row in csv.DictReader(file)]


@pytest.mark.real_data
@pytest.mark.parametrize("scorer", SCORERS)
def test_the_printed_formula_contradicts_the_papers_figure_and_the_sums_agree_with_it(scorer, chains, pool):
    assert (len(chains), len(pool)) == (1000, 23_479)
    means, tau, increasing, margin = TABLE[scorer]
    maker = fitted(scorer, pool)
    levels = maker.transform([level for chain in chains for level in chain]).values.reshape(-1, 4)
    np.testing.assert_allclose(levels.mean(axis=0), means, atol=0.001)
    assert np.mean([kendalltau([1, 2, 3, 4], row).statistic for row in levels]) == pytest.approx(
        tau, abs=0.001
    )
    assert (np.diff(levels, axis=1) > 0).all(axis=1).mean() == pytest.approx(increasing, abs=0.001)
    # The mean margin of DITM at tau = 6 is twice the mean descriptiveness of the pool over 6.
    assert 2 * maker.transform(pool).values.mean() / 6 == pytest.approx(margin, abs=0.001)


@pytest.mark.real_data
@pytest.mark.parametrize("scorer", OWN_POOL)
def test_with_the_chains_as_their_own_pool_the_sums_rise_from_near_zero(scorer, chains):
    texts = [level for chain in chains for level in chain]
    levels = fitted(scorer, texts).transform(texts).values.reshape(-1, 4)
    np.testing.assert_allclose(levels.mean(axis=0), OWN_POOL[scorer], atol=0.002)
