"""What recorded comparisons say, in figures, tables and sentences."""

from __future__ import annotations

import pandas as pd
import pytest
from paper_tables import findings

from workbench.metrics import seeds

BY_NUMBER = {
    "exact:i2t/map_at_r": ("a", 1.0, 0.7, 0.0, 3),
    "graded:i2t/ndcg": ("a", 0.9, 0.7, 0.0, 3),
    "t2i/R@1": ("b", -0.2, 0.6, 0.1, 3),
    "rsum": ("c", 0.4, 0.4, 0.3, 3),
}
COLUMNS = ["chosen", "tau", "truth", "lost", "among"]
CHOICES = pd.DataFrame.from_dict(BY_NUMBER, orient="index", columns=COLUMNS)


def test_what_each_number_would_choose_is_said_dearest_first():
    said = findings.describe_choices(CHOICES, "exact:i2t/map_at_r")
    assert "chooses a: 70.0 percent." in said
    first = "`rsum` would choose c, with 40.0 percent: a loss of 30 "
    assert said.index(first) < said.index("`t2i/R@1` would choose b")
    assert "`graded:i2t/ndcg` orders the 3 ways of training most like the truth" in said
    assert "`t2i/R@1` orders them least like it (-0.200)" in said
    same = findings.describe_choices(CHOICES.assign(chosen="a", truth=0.7, lost=0.0), "exact:i2t/map_at_r")
    assert "Every other number chooses the same" in same
    columns = findings.choice_columns(CHOICES)
    assert [column[-1] for column in columns.values()] == ["rsum", "c", "0.400", "40.0", "30.0"]


def test_components_that_help_or_harm_are_said():
    rows = pd.DataFrame(
        {
            "objective": ["a", "b", "c"],
            "component": ["x", "y", "z"],
            "difference": [0.1, -0.02, 0.0],
            "verdict": ["helps", "harms", "undecided"],
        }
    )
    assert findings.describe_components(rows, "k") == (
        "By `k`, in percentage points: a's x (+10.0) helps. b's y (-2.0) harms. "
        "1 of 3 components is undecided."
    )
    assert "no component makes a significant difference" in findings.describe_components(rows[2:], "k")


def test_a_table_over_seeds_has_a_row_an_objective_and_a_column_a_number():
    rows = [("b", 0, 0.2), ("b", 1, 0.4), ("a", 0, 0.5), ("a", 1, 0.7)]
    names = ["objective", "seed", "value"]
    made = [pd.DataFrame(rows, columns=names).assign(key=key) for key in ("t2i/R@1", "seconds")]
    both = pd.concat({"binary labels": seeds.seed_statistics(pd.concat(made))}, names=["positives"])
    found = findings.objective_columns(both, ["t2i/R@1", "seconds"])
    assert list(found) == ["positives", "objective", "t2i/R@1, percent", "seconds"]
    assert found["objective"] == ["a", "b"]
    assert found["t2i/R@1, percent"][0].startswith("60.0 (")
    assert found["seconds"] == ["1", "0"]


def test_a_table_of_components_has_signed_differences():
    tested = {"difference": 0.1, "low": 0.05, "high": 0.15, "p_holm": 0.01, "verdict": "helps"}
    row = {"objective": "a", "component": "x", "with": 0.5, "without": 0.4, **tested}
    columns = findings.component_rows(pd.DataFrame([row]))
    cells = [column[0] for column in columns.values()]
    assert cells == ["a", "x", "50.0", "40.0", "+10.0 (+5.0 to +15.0)", "helps"]


def long_table(values, key="rsum"):
    rows = []
    for name, column in values.items():
        rows += [(name, seed, key, value) for seed, value in enumerate(column)]
    return pd.DataFrame(rows, columns=["objective", "seed", "key", "value"])


def test_a_component_helps_harms_or_is_undecided():
    whole = long_table({"a": [0.50, 0.51, 0.52, 0.51, 0.50]})
    without = long_table(
        {"a - good": [0.30, 0.31, 0.32], "a - bad": [0.70, 0.71, 0.72], "a - idle": [0.5, 0.52, 0.51]}
    )
    found = findings.component_table(whole, without.rename(columns={"objective": "arm"}), "rsum").set_index(
        "component"
    )
    assert found["verdict"].to_dict() == {"good": "helps", "bad": "harms", "idle": "undecided"}
    # by hand: .508 - .31
    assert found.loc["good", ["with", "without", "difference"]].tolist() == pytest.approx(
        [0.508, 0.31, 0.198]
    )
    assert found.loc["good", "low"] < 0.198 < found.loc["good", "high"]
