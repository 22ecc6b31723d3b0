import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.metrics.families import hit_at_k, recall, recall_at_k
from tests.oracles import metrics as oracle
from workbench.metrics import Evidence, evaluate
from workbench.metrics.ranks import Ranks, rank, ranks_of
from workbench.metrics.registry import all_metrics
from workbench.records import Judgements

# METHODS 11.1: two images, three captions each
SCORES = np.array([[0.9, 0.2, 0.6, 0.8, 0.1, 0.7], [0.3, 0.4, 0.5, 0.45, 0.2, 0.35]])
OWN = np.array([0, 0, 0, 1, 1, 1])
RELEVANT = np.arange(2)[:, None] == OWN


def values(measurements):
    return {m.key.local: m.value for m in measurements}


def world(rng, images=20, captions=5, noise=1.0):
    own = np.repeat(np.arange(images), captions)
    scores = rng.standard_normal((images, len(own))) * noise + (own == np.arange(images)[:, None])
    return scores, own, Judgements.from_own(own, images)


def test_the_worked_example_of_both_conventions():
    # image 0 ranks captions 0 3 5 2 1 4: a hit at 1; its own at ranks 1, 4, 5: recall 1/3, 1/3, 1/3
    # image 1 ranks captions 2 3 1 5 0 4: first hit at 2; its own at ranks 2, 4, 6: recall 0, 1/3, 1/3
    ranks = rank(SCORES, RELEVANT)
    assert [hit_at_k(ranks, k).mean() for k in (1, 2, 3)] == [0.5, 1.0, 1.0]
    assert_allclose([recall_at_k(ranks, k).mean() for k in (1, 2, 3)], [1 / 6, 1 / 3, 1 / 3])
    # captions 0 1 2 prefer images 0 1 0, captions 3 4 5 image 0 1 0 of .8/.45, .1/.2, .7/.35: three of six at
    # rank 1
    ranks = rank(SCORES.T, RELEVANT.T)
    assert [hit_at_k(ranks, k).mean() for k in (1, 2, 3)] == [0.5, 1.0, 1.0]


def test_measure_reports_both_directions_their_sum_and_the_contract():
    found = recall(SCORES, Judgements.from_own(OWN, 2), ks=(1, 2))
    numbers = values(found)
    assert_allclose([numbers[f"i2t/R@{k}"] for k in (1, 2)], [0.5, 1.0])
    assert_allclose([numbers[f"i2t/recall@{k}"] for k in (1, 2)], [1 / 6, 1 / 3])
    assert_allclose([numbers[f"t2i/R@{k}"] for k in (1, 2)], [0.5, 1.0])
    assert numbers["rsum"] == 5.0  # .5 + 1 + 1 in both directions: every list is shorter than 5
    first = next(m for m in found if m.key.local == "t2i/R@1")
    assert (first.queries, first.gallery, first.left_out, first.key.folds, first.key.judgements) == (
        6,
        2,
        0,
        1,
        "own",
    )
    assert "among the 1 best" in first.hit


def test_the_rank_of_the_best_relevant_item_is_given_in_both_directions():
    judged = Judgements.from_own(OWN, 2)
    assert ranks_of(SCORES, judged, "i2t").first.tolist() == [1.0, 2.0]
    assert ranks_of(SCORES, judged, "t2i").first.tolist() == [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]


def test_the_median_rank_is_rounded_down():
    # image ranks 1 and 2: median 1.5, printed 1; caption ranks 1 2 1 2 1 2: the same
    numbers = values(recall(SCORES, Judgements.from_own(OWN, 2)))
    assert (numbers["i2t/medr"], numbers["t2i/medr"]) == (1.0, 1.0)


def test_a_query_with_nothing_relevant_is_left_out_and_counted():
    judged = Judgements("one", "x", (2, 2), np.array([0]), np.array([0]), np.ones(1, np.float32))
    found = {m.key.local: m for m in recall(np.array([[1.0, 0.0], [1.0, 0.0]]), judged, rounds=0)}
    assert (found["i2t/R@1"].value, found["i2t/R@1"].queries, found["i2t/R@1"].left_out) == (1.0, 1, 1)
    assert (found["t2i/R@1"].value, found["t2i/R@1"].left_out) == (0.0, 1)  # image 1 ties with image 0


def test_judgements_without_any_relevant_pair_are_refused():
    nothing = Judgements("none", "x", (2, 2), np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32))
    with pytest.raises(ValueError, match="no query has an answer"):
        recall(np.eye(2), nothing)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 2, 5])
def test_both_conventions_equal_the_double_loop_with_ties_and_uneven_captions(seed, k):
    rng = np.random.default_rng(seed)
    own = np.sort(np.concatenate([np.arange(5), rng.integers(0, 5, 7)]))
    scores, relevant = rng.integers(-3, 3, (5, 12)) / 4, own == np.arange(5)[:, None]
    for s, r in ((scores, relevant), (scores.T, relevant.T)):
        ranks = rank(s, r)
        assert_allclose(hit_at_k(ranks, k), oracle.hit(s, r, k))
        assert_allclose(recall_at_k(ranks, k), oracle.recall(s, r, k))


@pytest.mark.parametrize("folds", [1, 5])
@pytest.mark.parametrize("seed", range(3))
def test_hit_rates_folds_and_rsum_equal_the_double_loop_with_ties_negative_scores_and_uneven_captions(
    folds, seed
):
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.concatenate([np.arange(25), rng.integers(0, 25, 40)]))
    scores = rng.integers(-6, 2, (25, 65)) / 3 + (rng.random((25, 65)) < 0.3) * (
        own == np.arange(25)[:, None]
    )
    expected = oracle.rates(scores.tolist(), own.tolist(), folds)
    found = values(recall(scores, Judgements.from_own(own, 25), own=own, folds=folds, rounds=0))
    assert_allclose(
        [found[f"{d}/R@{k}"] for d in ("i2t", "t2i") for k in (1, 5, 10)], [*expected.values()][:-1]
    )
    assert_allclose(found["rsum"], expected["rsum"])


def test_five_folds_are_the_mean_of_five_separate_galleries(rng):
    scores, own, judged = world(rng)
    whole = values(recall(scores, judged, own=own, folds=5, rounds=0))
    parts = []
    for fold in range(5):
        rows, columns = slice(4 * fold, 4 * fold + 4), slice(20 * fold, 20 * fold + 20)
        cut = Judgements.from_own(own[columns] - 4 * fold, 4)
        parts.append(values(recall(scores[rows, columns], cut, rounds=0)))
    assert whole.keys() == parts[0].keys()
    for key, value in whole.items():
        assert_allclose(value, np.mean([part[key] for part in parts]))


def test_folds_report_the_gallery_of_one_fold_and_the_queries_of_all(rng):
    scores, own, judged = world(rng)
    found = {m.key.local: m for m in recall(scores, judged, own=own, folds=5, rounds=0)}
    assert (found["i2t/R@1"].gallery, found["i2t/R@1"].queries, found["i2t/R@1"].key.folds) == (20, 20, 5)
    assert (found["t2i/R@1"].gallery, found["t2i/R@1"].queries) == (4, 100)


@pytest.mark.parametrize("folds", [1, 5])
def test_a_model_that_gives_all_captions_one_place_scores_chance_in_both_directions(rng, folds):
    # 50 images, 5 captions each: every caption finds the same image first, every image the same caption
    own = np.repeat(np.arange(50), 5)
    judged, options = Judgements.from_own(own, 50), {"own": own, "folds": folds, "rounds": 0}
    images = values(recall(np.repeat(rng.permutation(50)[:, None], 250, axis=1), judged, **options))
    captions = values(recall(np.repeat(rng.permutation(250)[None], 50, axis=0), judged, **options))
    gallery = 50 // folds
    assert_allclose([images[f"t2i/R@{k}"] for k in (1, 5, 10)], [k / gallery for k in (1, 5, 10)])
    assert_allclose(captions["i2t/R@1"], 1 / gallery)
    # where all scores are equal a tie counts against the model: its own image is last, found where the whole
    # gallery is looked at
    equal = values(recall(np.zeros((50, 250)), judged, **options))
    assert [equal[f"t2i/R@{k}"] for k in (1, 5, 10)] == [float(k >= gallery) for k in (1, 5, 10)]


def test_the_interval_of_rsum_is_that_of_the_joint_sample(rng):
    scores, _, judged = world(rng)
    found = {m.key.local: m for m in recall(scores, judged, seed=3)}
    rates = [found[f"{d}/R@{k}"] for d in ("i2t", "t2i") for k in (1, 5, 10)]
    assert_allclose(found["rsum"].value, sum(m.value for m in rates))
    width = found["rsum"].high - found["rsum"].low
    assert 0 < width < sum(m.high - m.low for m in rates)


@pytest.mark.parametrize("folds", [1, 2])
def test_chance_is_what_random_scores_have_on_average(rng, folds):
    own = np.repeat(np.arange(12), [1, 2, 3, 1, 4, 1, 1, 2, 3, 1, 4, 1])
    judged = Judgements.from_own(own, 12)

    def rows(scores):
        return evaluate(Evidence(scores, judged, folds=folds), ["R", "rsum"], rounds=0)

    drawn = [rows(rng.random((12, len(own)))) for _ in range(100)]
    for several in zip(*drawn, strict=True):
        values = [one.value for one in several]
        assert np.mean(values) == pytest.approx(
            several[0].chance, abs=np.std(values) / 2
        )  # 5 standard errors
    # one caption each: k of 4 both ways
    found = {
        m.label: m.chance
        for m in evaluate(Evidence(np.eye(4), Judgements.from_own(np.arange(4), 4)), ["R", "rsum"])
    }
    assert found["t2i/R@1"] == found["i2t/R@1"] == 0.25
    assert (found["i2t/R@5"], found["rsum"]) == (1, 4.5)


@pytest.mark.parametrize("absent", [0, 1])
@pytest.mark.parametrize(("relevant", "size"), [(1, 1), (1, 4), (2, 4), (3, 5), (5, 5)])
def test_chance_of_map_at_r_and_its_like_is_the_mean_over_all_orders(relevant, size, absent):
    """By a plain loop over every choice of places; ``absent`` items are relevant and not in the gallery."""
    counted = relevant + absent
    found = {"map_at_r": [], "r_precision": [], "recall": []}
    for places in itertools.combinations(range(1, size + 1), relevant):
        hits = [sum(place <= k for place in places) for k in range(1, counted + 1)]
        precise = [hits[k - 1] / k for k in range(1, counted + 1) if k in places]
        found["map_at_r"].append(sum(precise) / counted)
        found["r_precision"].append(hits[-1] / counted)
        found["recall"].append(sum(place <= 2 for place in places) / counted)
    ranks = Ranks(np.zeros(relevant, int), np.arange(1, relevant + 1), np.array([counted]), size)
    for name, values in found.items():
        assert all_metrics()[name]().by_chance(ranks, 2) == pytest.approx(np.mean(values))


def test_chance_of_map_at_r_is_what_random_scores_have_and_stands_in_the_table(rng):
    image, caption = np.nonzero(rng.random((30, 60)) < rng.random((30, 1)))
    grades = np.ones(len(image), dtype=np.float32)
    judged = Judgements("true", "binary: it is", (30, 60), image, caption, grades)
    drawn = [
        evaluate(
            Evidence(rng.random((30, 60)), judged, own=np.arange(60) % 30),
            ["map_at_r", "r_precision"],
            rounds=0,
        )
        for _ in range(60)
    ]
    for several in zip(*drawn, strict=True):
        values = [one.value for one in several]
        assert np.mean(values) == pytest.approx(several[0].chance, abs=np.std(values) / 1.5)


def test_what_nobody_knows_by_chance_says_so():
    evidence = Evidence(np.eye(4), Judgements.from_own(np.arange(4), 4))
    assert [m.chance for m in evaluate(evidence, ["medr"], rounds=0)] == [None, None]
