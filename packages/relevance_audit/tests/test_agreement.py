import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from relevance_audit import agreement
from relevance_audit.agreement import order_differences, pooled_judgements, values_per_query

from tests.metrics.families import plausible, ranking, recall, semantic
from tests.oracles import semantic as oracle
from workbench.records import Judgements, MetricKey

OWN = np.repeat(np.arange(8), 2)
TRUE = {side: str(MetricKey("map_at_r", side, "truth")) for side in ("i2t", "t2i")}


@pytest.fixture
def truth(rng):
    true = rng.random((8, 16)) < 0.3
    true[OWN, np.arange(16)] = True
    images, captions = np.nonzero(true)
    return Judgements("exact", "x", (8, 16), images, captions, np.ones(len(images), np.float32))


def models(*columns, key="i2t/R@1"):
    """Models with these values by query; the truth says 3, 2, 1."""
    right = [np.full(4, value) for value in (0.3, 0.2, 0.1)]
    return {
        name: {TRUE["i2t"]: t, key: np.array(c)} for name, t, c in zip("abc", right, columns, strict=True)
    }


def test_the_order_of_a_metric_by_hand():
    # means .5, .75, .25: one pair of three is turned, a and b: tau = (2 - 1) / 3
    order = agreement.order_agreement(
        models([1, 0, 1, 0.0], [1, 1, 1, 0.0], [1, 0, 0, 0.0]), np.arange(4), rounds=0
    )
    assert_allclose(order.loc["i2t/R@1", ["tau", "distance"]].astype(float), [1 / 3, 0.3])
    assert order.loc[TRUE["i2t"], "tau"] == 1
    # equal values are neither: two pairs right, one tied
    order = agreement.order_agreement(
        models([1, 1, 0, 0.0], [1, 1, 0, 0.0], [1, 0, 0, 0.0]), np.arange(4), rounds=0
    )
    assert_allclose(order.loc["i2t/R@1", "tau"], 2 / 3)


def test_a_metric_that_gives_the_same_order_in_every_resample_is_certain():
    order = agreement.order_agreement(models([3.0] * 4, [2.0] * 4, [1.0] * 4), np.arange(4), rounds=50).loc[
        "i2t/R@1"
    ]
    assert order[["tau", "low", "high", "order", "best"]].tolist() == [1, 1, 1, 1, 1]
    # a model that shares the top is not on top
    tied = agreement.order_agreement(models([3.0] * 4, [3.0] * 4, [1.0] * 4), np.arange(4), rounds=50).loc[
        "i2t/R@1"
    ]
    assert tied[["order", "best"]].tolist() == [0, 0]
    reverse = agreement.order_agreement(models([1.0] * 4, [2.0] * 4, [3.0] * 4), np.arange(4), rounds=50).loc[
        "i2t/R@1"
    ]
    assert reverse[["tau", "low", "high", "order", "best"]].tolist() == [-1, -1, -1, 0, 0]


def test_queries_that_do_not_count_change_nothing_but_the_number():
    nan = np.nan
    order = agreement.order_agreement(
        models([1, 0, nan, nan], [1, 1, nan, nan], [0, 0, nan, nan]), np.arange(4), rounds=20
    ).loc["i2t/R@1"]
    assert order.queries == 2
    assert_allclose(order.distance, (0.5 + 1 + 0) / 3 - 0.2)


def test_tau_equals_the_loops_and_resamples_are_shared(rng):
    table = {}
    for name in "abcd":
        table[name] = {TRUE["t2i"]: rng.random(30), "t2i/copied": np.zeros(0), "t2i/R@1": rng.random(30)}
    for model in table.values():
        model["t2i/copied"] = 5 * model[TRUE["t2i"]] + 1
    order = agreement.order_agreement(table, np.repeat(np.arange(6), 5), rounds=40)
    means = {}
    for key in table["a"]:
        means[key] = [float(np.mean(model[key])) for model in table.values()]
    assert_allclose(order.loc["t2i/R@1", "tau"], oracle.tau(means["t2i/R@1"], means[TRUE["t2i"]]))
    columns = ["tau", "low", "high", "order", "best"]
    assert order.loc["t2i/copied", columns].tolist() == order.loc[TRUE["t2i"], columns].tolist()
    assert order.low.le(order.high).all()


def test_differences_go_from_better_to_worse_by_the_truth():
    table = models([1, 0, 1, 0.0], [1, 1, 1, 0.0], [1, 0, 0, 0.0])
    differences = order_differences(table, np.arange(4), rounds=30).set_index(["key", "better", "worse"])
    assert_allclose(differences.difference["i2t/R@1"]["a"]["b"], -0.25)
    assert_allclose(differences.difference["i2t/R@1"]["b"]["c"], 0.5)
    assert_allclose(differences.difference[TRUE["i2t"]]["a"]["b"], 0.1)
    assert (differences.low <= differences.difference + 1e-12).all()


def test_one_model_has_no_order():
    with pytest.raises(ValueError, match="1 model has no order"):
        agreement.order_agreement({"a": {TRUE["i2t"]: np.ones(3)}}, np.arange(3))


def test_the_values_of_queries_have_the_metrics_as_their_means(truth, rng):
    scores, phi = rng.standard_normal((8, 16)), rng.random((8, 16))
    codes = rng.random((8, 3)) < 0.6
    codes[:, 0] = True
    means = {
        key: np.nanmean(v)
        for key, v in values_per_query(scores, OWN, truth, phi=phi, categories=codes).items()
    }
    several = recall(scores, Judgements.from_own(OWN, 8), rounds=0) + ranking(
        scores, truth, graded=False, rounds=0
    )
    several = {m.label: m.value for m in several + semantic(scores, phi, rounds=0)}
    several |= {m.key.local: m.value for m in plausible(scores, codes, OWN, rounds=0)}
    for direction in ("i2t", "t2i"):
        assert_allclose(means[TRUE[direction]], several[f"exact:{direction}/map_at_r"])
        assert_allclose(means[f"{direction}/R@5"], several[f"{direction}/R@5"])
        assert_allclose(means[f"phi:{direction}/ncs@10"], several[f"grades:{direction}/ncs@10"])
        assert_allclose(means[f"categories:{direction}/pmrp"], several[f"{direction}/pmrp"])


def test_the_pool_finds_what_its_models_put_first_and_the_truth_confirms(truth, rng):
    first, second = rng.standard_normal((8, 16)), rng.standard_normal((8, 16))
    labels = pooled_judgements(truth, OWN, [first, second], depth=2, images=0.5, captions=0.25, seed=3)
    assert (len(labels.image_queries), len(labels.caption_queries)) == (4, 4)
    true, listed = truth.dense() == 1, set(zip(labels.images.tolist(), labels.captions.tolist(), strict=True))
    expected = {(int(OWN[t]), t) for t in range(16)}
    for scores in (first, second):
        for i in labels.image_queries.tolist():
            expected |= {(i, t) for t in np.argsort(-scores[i])[:2].tolist() if true[i, t]}
        for t in labels.caption_queries.tolist():
            expected |= {(i, t) for i in np.argsort(-scores[:, t])[:2].tolist() if true[i, t]}
    assert listed == expected
    values = values_per_query(first, OWN, truth, labels=labels)["pooled:t2i/map_at_r"]
    assert_array_equal(np.flatnonzero(~np.isnan(values)), labels.caption_queries)


def test_a_pool_of_everything_is_the_truth(truth, rng):
    scores = rng.standard_normal((8, 16))
    labels = pooled_judgements(truth, OWN, [scores], depth=16, images=1, captions=1)
    values = values_per_query(scores, OWN, truth, labels=labels)
    assert_allclose(values["pooled:i2t/map_at_r"], values[TRUE["i2t"]])
