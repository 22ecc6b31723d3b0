"""The advice on judges is what the recorded agreement says."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest
import relevance_audit as audit
from relevance_audit import judges

from workbench import assets, text

COLUMNS = ["judge", "data", "key", "pairs", "value", "low", "high"]
ROWS = [
    ("far", "people", judges.KEY, 40, 0.2, 0.1, 0.3),
    ("near", "people", judges.KEY, 40, 0.5, 0.4, 0.6),
    ("near, a part left out", "people", judges.KEY, 40, 0.9, 0.8, 1.0),
    ("far", "truth", judges.KEY, 30, 0.75, 0.7, 0.8),
    ("near", "truth", judges.KEY, 30, 0.5, 0.4, 0.6),
    ("near, a part left out", "truth", judges.KEY, 30, 0.1, 0.0, 0.2),
]


@pytest.fixture
def recorded(monkeypatch):
    table = pd.DataFrame(ROWS, columns=COLUMNS)
    monkeypatch.setattr(assets, "read_recorded", lambda name: table)
    return table


def test_the_best_with_people_and_the_best_with_the_truth_are_named(recorded):
    advice = audit.judge_advice()
    assert advice.startswith(
        "Take `near` for captions of photographs. It agrees best with people's ratings of 40 pairs"
    )
    assert "(Pearson: near 0.500, far 0.200)" in advice
    assert "`far` agrees best (far 0.750, near 0.500)." in advice
    assert "left out" not in advice
    recorded.loc[3, "value"] = 0.4
    assert "the same judge agrees best (near 0.500, far 0.400)." in audit.judge_advice()
    recorded["key"] = "spearman"
    assert "(Spearman: near 0.500, far 0.200)" in audit.judge_advice("spearman")


def test_the_table_is_in_the_order_of_people(recorded):
    table = audit.judge_agreement()
    assert table.index.tolist() == ["near, a part left out", "near", "far"]
    assert table.loc["far", "truth"] == "0.750 (0.700 to 0.800)"


def test_what_is_recorded_covers_every_judge_with_its_interval():
    table = assets.read_recorded("judges")
    assert table.columns.tolist() == COLUMNS
    assert set(table.data) == {"people", "truth", "levels"}
    assert len(table.judge[~table.judge.str.contains(",")].unique()) == len(text.judge_names())
    assert ((table.low <= table.value) & (table.value <= table.high)).all()
    assert "trained on captions" in audit.judge_advice()


def test_objectives_are_judged_in_the_direction_of_the_truth(monkeypatch):
    runs = [("a", 0, "own"), ("b", 0, "own"), ("b", 0, "exact")]
    columns = ["objective", "seed", "positives"]
    keys = ("t2i/ncs@10", "i2t/ncs@10[without own]")
    by_judge = [
        (*run, judge, key, 0.1 * i)
        for (i, run), judge, key in product(enumerate(runs), ("near", "far"), keys)
    ]
    ncs = pd.DataFrame(by_judge, columns=[*columns, "judge", "key", "value"])
    by_truth = [
        (*run, key, 0.5 - 0.1 * i)
        for (i, run), key in product(enumerate(runs), ("exact:t2i/map_at_r", "rsum"))
    ]
    exact = pd.DataFrame(by_truth, columns=[*columns, "key", "value"])
    tables = {"judge_orders": ncs, "comparison_scenes": exact}
    monkeypatch.setattr(assets, "read_recorded", tables.__getitem__)
    choices = audit.choices_by_judge("exact:t2i/map_at_r")
    assert choices.index.tolist() == ["exact:t2i/map_at_r", "t2i/ncs@10 by far", "t2i/ncs@10 by near"]
    assert choices.chosen.tolist() == ["a", "b, every true pair", "b, every true pair"]
    assert choices.tau.tolist() == pytest.approx([1, -1, -1])
