import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as t_distribution
from scipy.stats import ttest_1samp

from workbench.metrics import seeds
from workbench.metrics.seeds import t_interval


def long_table(values, key="rsum"):
    rows = [(name, seed, key, value) for name, column in values.items() for seed, value in enumerate(column)]
    return pd.DataFrame(rows, columns=["objective", "seed", "key", "value"])


def test_the_worked_interval_of_three_seeds():
    # mean 0.6, sd 0.1, t(2) = 4.302653: half width 4.302653 * 0.1 / 1.7320508 = 0.248414
    low, high = t_interval(np.array([0.5, 0.6, 0.7]))
    assert (low, high) == pytest.approx((0.351586, 0.848414), abs=1e-6)


def test_means_and_their_scatter():
    table = long_table({"a": [0.5, 0.6, 0.7], "b": [0.90, 0.91, 0.92], "c": [0.1, 0.11, 0.12]})
    found = seeds.seed_statistics(table).loc["rsum"]
    assert list(found.index) == ["b", "a", "c"]  # best mean first
    assert found["mean"].tolist() == pytest.approx([0.91, 0.6, 0.11])
    assert found["sd"].tolist() == pytest.approx([0.01, 0.1, 0.01])
    assert found.loc["a", ["low", "high"]].tolist() == pytest.approx([0.351586, 0.848414], abs=1e-6)


def test_the_interval_is_that_of_scipys_one_sample_test(rng):
    values = rng.standard_normal(7)
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert t_interval(values) == pytest.approx((expected.low, expected.high))


def test_about_95_of_100_intervals_hold_the_true_mean(rng):
    held = [
        low <= 2.0 <= high for low, high in (t_interval(2.0 + rng.standard_normal(3)) for _ in range(2000))
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_a_single_seed_has_no_interval():
    found = seeds.seed_statistics(long_table({"a": [0.5]})).loc[("rsum", "a")]
    assert found["mean"] == 0.5
    assert math.isnan(found["low"])
    assert math.isnan(found["sd"])


def test_seeds_that_agree_have_no_interval():
    found = seeds.seed_statistics(long_table({"a": [0.5, 0.5, 0.5]})).loc[("rsum", "a")]
    assert np.isnan([found["low"], found["high"]]).all()


def test_keys_are_kept_apart():
    table = pd.concat([long_table({"a": [1.0, 2.0]}), long_table({"a": [3.0, 5.0]}, key="t2i/R@1")])
    found = seeds.seed_statistics(table)
    assert found["mean"].to_dict() == {("rsum", "a"): 1.5, ("t2i/R@1", "a"): 4.0}


def test_a_table_that_cannot_be_read_is_refused_by_name():
    table = long_table({"a": [0.5, 0.6]})
    with pytest.raises(ValueError, match=r"missing: \['value'\]"):
        seeds.seed_statistics(table.drop(columns="value"))
    with pytest.raises(ValueError, match=r"not finite, first .*'seed': 1"):
        seeds.seed_statistics(long_table({"a": [0.5, math.nan]}))
    with pytest.raises(ValueError, match="seed 0 of a comes twice for rsum"):
        seeds.seed_statistics(pd.concat([table, table]))


def test_pairs_are_told_apart_by_welchs_test_adjusted_by_holm():
    a, b, c = map(pd.Series, ([0.5, 0.6, 0.7], [0.90, 0.91, 0.92], [0.52, 0.61, 0.68]))
    found = seeds.compared_pairs([(b, a), (b, c), (c, a)])
    # by hand, b - a: difference 0.31, standard error sqrt((0.01 + 0.0001) / 3) = 0.058023
    assert found.loc[0, "difference"] == pytest.approx(0.31)
    t, df = 0.31 / 0.058023, 2 * (0.01 + 0.0001) ** 2 / (0.01**2 + 0.0001**2)
    assert found.loc[0, "p"] == pytest.approx(2 * t_distribution.sf(t, df), rel=1e-4)
    # the smallest of three p values counts three times
    least = found["p"].idxmin()
    assert found.loc[least, "p_holm"] == pytest.approx(3 * found.loc[least, "p"])
    assert not found.loc[2, "apart"]


def test_a_do_nothing_comparison_tells_nothing_apart():
    same = pd.Series([0.5, 0.6, 0.7])
    assert not seeds.compared_pairs([(same, same), (same, same)])["apart"].any()


def test_the_choice_of_a_metric_costs_what_the_truth_says():
    # the truth's order is c b a, RSUM's is a b c: tau -1, and a is chosen instead of c
    true = long_table({"a": [0.1, 0.3], "b": [0.4, 0.4], "c": [0.7, 0.7]}, key="exact:i2t/map_at_r")
    binary = long_table({"a": [4.0, 4.2], "b": [3.0, 3.0], "c": [2.0, 2.0]})
    found = seeds.choice_by_number(pd.concat([true, binary]), "exact:i2t/map_at_r")
    assert found.loc["rsum", "chosen"] == "a"
    assert found.loc["rsum", ["tau", "truth", "lost"]].tolist() == pytest.approx([-1.0, 0.2, 0.5])
    assert found.loc["exact:i2t/map_at_r", ["tau", "lost"]].tolist() == pytest.approx([1.0, 0.0])
    with pytest.raises(KeyError, match="it has rsum"):
        seeds.choice_by_number(binary, "exact:i2t/map_at_r")


def test_every_true_pair_as_positive_makes_another_arm_of_an_objective():
    table = pd.concat([long_table({"a": [0.5]}).assign(positives=name) for name in ("own", "exact")])
    assert seeds.table_over_seeds(table)["objective"].tolist() == ["a", "a, every true pair"]
    assert seeds.seed_statistics(seeds.table_over_seeds(table)).loc["rsum", "mean"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("key", "values", "expected"), [
    ("rsum", [0.1, 1.0], (0.0, 6.0)),
    ("t2i/R@1", [0.9, 1.0], (0.314690, 1.0)),  # 0.95 - 12.706205 * 0.070711 / sqrt(2)
    ("t2i/medr", [1.0, 3.0], (1.0, 14.706205)),
    ("seconds", [40.0, 42.0], (28.293795, 53.706205)),
])  # fmt: skip
def test_no_interval_leaves_the_range_of_its_number(key, values, expected):
    found = seeds.seed_statistics(long_table({"a": values}, key)).loc[(key, "a")]
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-5)
    assert t_interval(np.array(values), unit="number") == t_interval(np.array(values))
