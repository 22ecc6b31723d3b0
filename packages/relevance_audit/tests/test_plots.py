from itertools import product

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose
from relevance_audit import plots as audit


def test_metrics_before_and_after_have_a_hollow_and_a_filled_mark_with_their_intervals():
    index = pd.MultiIndex.from_product([["a", "b"], ["t2i/R@1", "t2i/medr"]], names=["run", "key"])
    columns = pd.MultiIndex.from_product([["before", "after"], ["value", "low", "high"]])
    row, median = [0.4, 0.3, 0.6, 0.5, 0.45, 0.55], [1.0] * 6
    fig = audit.draw_before_and_after(pd.DataFrame([row, median, row, median], index, columns), title="t")
    assert [trace.name for trace in fig.data] == ["before", "after"] * 2
    assert [trace.marker.symbol for trace in fig.data[:2]] == ["circle-open", "circle"]
    assert [list(trace.y) for trace in fig.data] == [["t2i/R@1"]] * 4
    assert_allclose(fig.data[0].error_x.array, [20])
    assert_allclose(fig.data[0].error_x.arrayminus, [10])


def test_shares_that_read_scores_are_drawn_for_each_run_and_the_others_once_with_what_is_expected():
    rows = []
    for size, (key, expected) in product((8, 16), (("pairs", 0.2), ("t2i/hardest", np.nan))):
        interval = {"value": 0.2, "low": 0.1, "high": 0.4}
        rows.append({"size": size, "key": key, **interval, "expected": expected, "batches": 5})
    tables = {"vsepp": pd.DataFrame(rows), "ditm <b>": pd.DataFrame(rows)}
    fig = audit.shares_by_batch_size(tables, title="t")
    assert [trace.name for trace in fig.data] == ["all models", "expected", "vsepp", "ditm &lt;b&gt;"]
    assert_allclose(fig.data[0].error_y.array, [20, 20])
    assert fig.layout.xaxis.ticktext == ("8", "16")
    assert [note.text for note in fig.layout.annotations] == [
        "negative pairs",
        "hardest negative of a caption",
    ]
