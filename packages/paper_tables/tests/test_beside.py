"""One's own runs above the printed rows."""

from __future__ import annotations

from dataclasses import replace

from paper_tables import beside, published

from tests.metrics.families import recall
from tests.runs import test_compare as toys
from tests.runs.test_compare import OWN, mean
from workbench.formatting import format_value

split, spaces = toys.split, toys.spaces


def test_ones_own_runs_stand_above_the_printed_rows(spaces):
    columns = beside.rows_beside_printed(
        spaces, published.load(paper="AAHR", dataset="MS-COCO 5K", protocol="full")
    )
    assert columns["method"][:2] == ["good", "bad"]
    assert columns["paper"][1:3] == ["measured here", "AAHR, table 2"]
    assert columns["rsum"][0] == format_value(mean(spaces[0], "rsum"), "sum")
    at = columns["method"].index("VSE++")
    assert (columns["rsum"][at], columns["i2t/R@1"][at]) == ("409.8", "41.3")
    assert "its parts add up to 355.7" in columns["beside"][at]


def test_runs_of_another_test_set_do_not_stand_among_the_rows_of_a_named_protocol(spaces):
    columns, remarks, reason = beside.table_with_printed(spaces, "MS-COCO 5K, full")
    assert columns == beside.rows_beside_printed([], published.load(dataset="MS-COCO 5K", protocol="full"))
    assert "measured here" not in columns["paper"]
    assert set(remarks) <= {"DITM", "CORA", "DIAS", "SAM", "AAHR"}
    assert reason.startswith(
        "the printed rows are measured on coco, 5,000 test images with 25,000 captions; "
    )
    assert beside.table_with_printed(spaces, "") == ({}, {}, "No rows were asked for.")


def test_folds_are_measured_as_the_printed_rows_are(spaces):
    rows = published.load(paper="DITM", dataset="MS-COCO 1K", protocol="5-fold mean")
    whole, folded = (beside.rows_beside_printed(spaces, rows, folds=folds)["rsum"][1] for folds in (1, 5))
    own = spaces[1].split.judgements["own"]
    expected = recall(spaces[1].scores, own, own=OWN, folds=5, rounds=0)[-1]
    assert folded == f"{100 * expected.value:.1f}" != whole


def test_numbers_that_are_not_known_of_ones_own_runs_stay_empty(spaces):
    for dataset in ("ECCV Caption", "CxC", "HierarCaps"):
        columns = beside.rows_beside_printed(spaces, published.load(dataset=dataset))
        assert {columns[name][0] for name in columns if name not in ("paper", "method")} == {""}


def test_eccv_caption_is_measured_by_its_own_positives(spaces):
    split = spaces[0].split
    judged = {"own": split.judgements["own"], "eccv": replace(split.judgements["exact"], name="eccv")}
    graded = replace(spaces[0], split=replace(split, judgements=judged))
    columns = beside.rows_beside_printed([graded], published.load(dataset="ECCV Caption"))
    assert columns["i2t/map_at_r"][0] == format_value(mean(spaces[0], "exact:i2t/map_at_r"))
    # R@1 for many relevant items: the best scored one is relevant
    assert columns["t2i/R@1"][0] == format_value(mean(spaces[0], "exact:t2i/R@1"))


def test_cxc_is_measured_by_its_positives(spaces):
    split = spaces[0].split
    judged = {"own": split.judgements["own"], "cxc": replace(split.judgements["exact"], name="cxc")}
    columns = beside.rows_beside_printed(
        [replace(spaces[0], split=replace(split, judgements=judged))], published.load(dataset="CxC")
    )
    assert columns["i2t/R@1"][0] == format_value(mean(spaces[0], "exact:i2t/R@1"))
    assert columns["i2i/R@1"][0] == "", "who was shown with whom is not known here"
