import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tests.data import fixtures
from tests.oracles import semantic as oracle
from workbench import data
from workbench.metrics import correlation
from workbench.metrics.correlation import (
    Pearson,
    Spearman,
    SpearmanHalf,
    TauC,
    grades_at_pairs,
    judged_sample,
    kendall_tau_c,
    pearson,
    spearman,
)
from workbench.metrics.intervals import Draws
from workbench.records import Judgements


def judged(grades, images, captions, shape):
    return Judgements(
        "human", "x", shape, np.array(images), np.array(captions), np.array(grades, np.float32), unlisted=None
    )


# five pairs, the first two of which are own
TOY = judged([5, 4, 1, 2, 0], [0, 1, 0, 1, 2], [0, 1, 1, 0, 0], (3, 2))
VALUES = np.array([0.9, 0.5, 0.1, 0.4, 0.0])


OWN = np.array([0, 1])


def by_key(found):
    return {m.key.local: m for m in found}


def test_the_worked_correlation_with_human_judgement():
    assert_allclose(
        by_key(correlation.correlations(VALUES, TOY, OWN, rounds=0))["pearson"].value, 0.960776, atol=5e-7
    )
    binary = np.array([1.0, 1, 0, 0, 0])
    assert_allclose(
        by_key(correlation.correlations(binary, TOY, OWN, rounds=0))["pearson"].value, 0.924473, atol=5e-7
    )


def test_the_worked_spearman():
    assert_allclose(spearman(np.array([2, 1, 4, 3, 5]), np.array([1, 2, 3, 4, 5])), 0.8)


def test_kendalls_tau_c_by_hand_and_by_a_double_loop(rng):
    # 0.9 0.5 0.1 0.4 0.0 with 5 4 1 2 0: no pair discordant, 10 concordant, m = 5: 2 x 10 / (25 x 4 / 5).
    assert kendall_tau_c(VALUES, TOY.grades) == pytest.approx(1)
    # (1, 2), (2, 1), (2, 2): one discordant, one concordant or tied away: (0 - 1) + 0 + 0.
    assert kendall_tau_c(np.array([1, 2, 2]), np.array([2, 1, 2])) == pytest.approx(2 * -1 / (9 / 2))
    x, y = rng.integers(0, 4, 40), rng.integers(0, 3, 40)
    gap = sum(np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i in range(40) for j in range(i))
    assert kendall_tau_c(x, y) == pytest.approx(2 * gap / (40**2 * 2 / 3))
    assert np.isnan(kendall_tau_c(np.zeros(3), np.arange(3)))


def test_tau_c_has_an_interval_over_images_where_it_is_asked_for(rng):
    images, captions = np.repeat(np.arange(12), 3), np.arange(36)
    pairs = judged(rng.integers(1, 5, 36), images, captions, (12, 36))
    found = correlation.correlations(
        pairs.grades + rng.random(36), pairs, (images + captions % 2) % 12, metrics=[TauC()], rounds=30
    )
    whole = by_key(found)["kendall_tau_c"]
    assert whole.low < whole.value < whole.high
    assert "kendall_tau_c" not in by_key(correlation.correlations(VALUES, TOY, OWN, rounds=0))


def test_binary_labels_have_no_correlation_without_own_pairs():
    found = by_key(correlation.correlations(np.array([1.0, 1, 0, 0, 0]), TOY, OWN, rounds=0))
    assert np.isnan(found["pearson[without own]"].value)
    assert found["pearson[without own]"].gallery == 3
    assert found["pearson"].value > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_correlations_equal_the_loops_and_scipy_with_ties(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 5, 40) / 4, rng.integers(0, 3, 40)
    assert_allclose(pearson(x, y), oracle.pearson(x.tolist(), y.tolist()))
    assert_allclose(spearman(x, y), oracle.spearman(x.tolist(), y.tolist()))
    assert_allclose(
        [pearson(x, y), spearman(x, y)], [stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic]
    )


def test_a_weight_is_a_repetition(rng):
    x, y, weights = rng.integers(0, 6, 30), rng.integers(0, 6, 30), rng.integers(0, 4, 30)
    assert_allclose(pearson(x, y, weights), pearson(np.repeat(x, weights), np.repeat(y, weights)))


@pytest.mark.parametrize(("row", "statistic"), [(Pearson(), pearson), (Spearman(), spearman)])
def test_resamples_of_images_give_the_correlation_of_their_pairs(row, statistic, rng):
    x, y, image = rng.standard_normal(40) + 100, rng.integers(0, 4, 40), rng.integers(0, 10, 40)
    draws = Draws(np.arange(10), 10, rounds=6)
    drawn = [weights[image].astype(int) for weights in np.concatenate(list(draws.blocks()))]
    expected = [statistic(np.repeat(x, weights), np.repeat(y, weights)) for weights in drawn]
    assert_allclose(row.correlate_resamples(x, y, image, draws), expected)
    # two images, each with one value: a resample of one of them has no correlation
    draws, image = Draws(np.arange(2), 2, rounds=40), np.array([0, 0, 1, 1])
    found = row.correlate_resamples(np.array([0.1, 0.1, 0.3, 0.3]), np.arange(4.0), image, draws)
    assert 0.2 < np.isnan(found).mean() < 0.8


def test_a_constant_has_no_correlation_though_its_mean_is_rounded(rng):
    y = rng.standard_normal(40)
    assert np.isnan([pearson(np.full(40, value), y) for value in (0.1, 1 / 3, 1e9 + 0.1)]).all()
    images, captions = np.divmod(np.arange(40), 8)
    own = np.arange(8) % 5
    flat = correlation.correlations(np.full(40, 1 / 3), judged(y, images, captions, (5, 8)), own, rounds=10)
    assert [m.key.local for m in flat] == [
        f"{name}{part}" for part in ("", "[without own]") for name in ("pearson", "spearman")
    ]
    assert np.isnan([m.value for m in flat]).all()
    assert flat[0].low is None


def test_correlations_do_not_see_scale_and_spearman_no_monotone_change(rng):
    x, y = rng.standard_normal(50), rng.standard_normal(50)
    assert_allclose(pearson(3 * x - 7, y), pearson(x, y))
    assert_allclose(spearman(np.exp(x), y), spearman(x, y))
    assert_allclose([pearson(x, x), pearson(x, -x), spearman(x, np.exp(x))], [1, -1, 1])
    assert np.isnan(pearson(np.ones(50), y))


def halves(values, ratings, query, rounds):
    pairs = np.column_stack([values, ratings, query])
    return SpearmanHalf().aggregate(pairs, "t2i", Draws(np.arange(1), 1, rounds=rounds))[1]


def test_the_bootstrap_draws_half_of_the_queries_and_one_pair_of_each():
    # three pairs a query; the query decides the value, the pair adds nothing: any draw orders perfectly
    query = np.repeat(np.arange(20), 3)
    assert_allclose(halves(query * 1.0, query * 2, query, rounds=5), 1)
    # a query rated once and one rated often are drawn alike
    query = np.concatenate([np.zeros(1000, int), np.arange(1, 12)])
    values = np.where(query == 0, 100.0, query)
    found = halves(values, values, query, rounds=50)
    assert found.shape == (50,)
    assert_allclose(found, 1)
    assert halves(np.arange(3.0), np.arange(3.0), np.arange(3), rounds=1).size == 0


def test_the_bootstrap_lies_near_plain_spearman_where_pairs_are_alike(rng):
    query = np.repeat(np.arange(400), 2)
    x = rng.standard_normal(800)
    y = x + rng.standard_normal(800)
    found = halves(x, y, query, rounds=300)
    assert_allclose(found.mean(), spearman(x, y), atol=0.02)
    assert 0.01 < found.std() < 0.1


def test_the_same_seed_draws_the_same(rng):
    values, grades = rng.standard_normal((12, 20)), rng.integers(0, 5, (12, 20))
    images, captions = np.divmod(np.arange(240), 20)
    pairs, own = judged(grades.ravel(), images, captions, (12, 20)), np.arange(20) % 12
    one, two = (
        [m for m in correlation.correlations(values, pairs, own, rounds=20, seed=3) if not m.key.subset]
        for _ in "ab"
    )
    assert one == two
    found = by_key(one)
    assert set(found) == {"pearson", "spearman", "i2t/spearman_half", "t2i/spearman_half"}
    assert all(m.low <= m.value <= m.high for m in one)
    assert (found["pearson"].queries, found["t2i/spearman_half"].queries, found["pearson"].gallery) == (
        12,
        20,
        240,
    )


class Captions:
    name, shape = "phi", (3, 2)

    def take(self, images, captions):
        return np.arange(6.0).reshape(3, 2)[np.ix_(images, captions)]


def test_values_at_pairs_come_from_a_matrix_a_relevance_or_judgements():
    matrix = np.arange(6.0).reshape(3, 2)
    expected = [0, 3, 1, 2, 4]
    other = judged(matrix.ravel(), [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], (3, 2))
    for phi in (matrix, Captions(), other):
        assert_allclose(grades_at_pairs(phi, TOY), expected)
    with pytest.raises(ValueError, match=r"values are \(2, 2\), the judgements 'human' are \(3, 2\)"):
        grades_at_pairs(np.eye(2), TOY)
    with pytest.raises(ValueError, match="4 values for the 5 pairs"):
        correlation.correlations(np.zeros(4), TOY, OWN)


def test_a_sample_is_rated_as_people_rate(rng):
    own = np.repeat(np.arange(30), 2)
    whole = Judgements("graded", "x", (30, 60), own, np.arange(60), np.ones(60, np.float32))
    sample = judged_sample(whole, own, 4, rng)
    assert (len(sample.grades), sample.unlisted) == (300, None)
    assert (sample.images == own[sample.captions]).sum() == 60
    assert sample.grades.sum() == 60
    assert np.bincount(sample.captions).tolist() == [5] * 60
    assert len(judged_sample(whole, own, 99, rng).grades) == 30 * 60


def test_pairs_of_one_kind_ask_with_their_first(tmp_path):
    split = data.load("cxc", split="test", **fixtures.cxc(tmp_path))
    sts, sits = split.caption_judgements["sts"], split.judgements["sits"]
    found = by_key(
        correlation.correlations(np.array([0.9, 0.1]), sts, split.own, directions=("t2t",), rounds=0)
    )
    assert (found["spearman"].value, found["spearman"].gallery) == (1.0, 2)
    # ratings 4.8 (own), 2.9, 3.0 of the table, and binary labels
    binary = grades_at_pairs(split.judgements["own"], sits)
    expected = oracle.pearson(binary.tolist(), sits.grades.tolist())
    assert_allclose(
        by_key(correlation.correlations(binary, sits, split.own, rounds=0))["pearson"].value, expected
    )


@pytest.mark.real_data
def test_binary_labels_and_the_judgements_of_flickr8k(real_data):
    split = data.load("flickr8k", split="test", root=str(real_data / "flickr8k"))
    found = by_key(
        correlation.correlations(split.judgements["own"], split.judgements["human"], split.own, rounds=0)
    )
    assert found["pearson"].gallery == 47288
    assert 0 < found["pearson"].value < 1
    assert np.isnan(found["pearson[without own]"].value)
