"""What is true of every row of the table of metrics, and what a metric of a user's own needs: one class."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.objectives.worlds import source
from workbench import data, metrics, objectives
from workbench.formatting import UNITS
from workbench.metrics import blocks, corrections
from workbench.metrics.blocks import products
from workbench.metrics.categories import Categories
from workbench.metrics.evaluation import Evidence, Subset, evaluate, walk
from workbench.metrics.registry import Metric
from workbench.records import Judgements
from workbench.runs import measure as evaluation

ROWS = {
    name: row
    for name, row in metrics.all_metrics().items()
    if row.requires not in ("pairs", "chains", "counterfactuals", "space")
}
# their best order is not that of the grades, or equal grades have an order: the earlier row first
OTHERWISE = {"sr_votes", "false_negatives", "pmrp", "ncs_top", "sr_top"}
BY_ROW = {"ncs_top", "sr_top", "same_list"}
# what is corrected reads how far apart scores are, and the scores of other queries
CORRECTED = {row.name for row in corrections.MEMBER}
every_row = pytest.mark.parametrize("name", ROWS)
OWN = np.arange(24) % 8


@pytest.fixture
def world(rng):
    """Scores of both signs that are products of small whole numbers, own pairs, grades and categories."""
    image, text = (
        rng.integers(-3, 4, (8, 4)).astype(np.float32),
        rng.integers(-3, 4, (24, 4)).astype(np.float32),
    )
    labels, grades = Judgements.from_own(OWN, 8), rng.integers(0, 4, (8, 24)).astype(np.float32)
    grades[OWN, np.arange(24)] = 3
    rows, columns = np.nonzero(grades)
    judged = Judgements("exact", "x", (8, 24), rows, columns, grades[rows, columns], relevant_from=2)
    codes = rng.random((8, 4)) < 0.5
    codes[:, 0] = True
    return image, text, labels, judged, Categories(codes, OWN)


def values(name, scores, world, order=None):
    """Values by query of one metric, by key."""
    _, _, labels, judged, categories = world
    given = categories if "categories" in ROWS[name].by else judged
    evidence = Evidence(scores, given, OWN, labels)
    return {m.label: column for m, column in walk(evidence, [name], rounds=0)}


def perfect(world):
    """Scores in the order of the grades, a query's own items first among equals."""
    _, _, labels, judged, _ = world
    return 2 * judged.dense() + labels.dense() - 50


@every_row
def test_a_row_says_what_it_is(name):
    row = metrics.load(name)
    assert isinstance(row, Metric)
    assert row.name
    assert row.face in UNITS
    assert row.phrase(row.ks[0], "own")
    assert type(row).__doc__


@pytest.mark.parametrize("name", [name for name in ROWS if name not in CORRECTED])
@pytest.mark.parametrize(
    "change", [lambda s: s + 100, lambda s: s - 100, lambda s: s * 4, lambda s: np.exp(s / 8)]
)
def test_only_the_order_of_the_scores_matters(name, change, world):
    scores = (world[0] @ world[1].T).astype(np.float64)
    assert scores.min() < 0 < scores.max()
    before, after = values(name, scores, world), values(name, change(scores), world)
    for key, column in before.items():
        assert_allclose(after[key], column)


@every_row
def test_scores_by_blocks_give_what_the_whole_matrix_gives(name, world, monkeypatch):
    whole = values(name, world[0] @ world[1].T, world)
    monkeypatch.setattr(blocks, "COMPUTED", 50)
    monkeypatch.setattr("workbench.metrics.grades.COPIED", 50)
    for key, column in values(name, products(world[0], world[1]), world).items():
        assert_allclose(column, whole[key])


@every_row
def test_values_lie_in_their_range_and_constant_scores_are_never_better(name, world):
    row, scores = metrics.load(name), world[0] @ world[1].T
    equal, found = values(name, np.zeros_like(scores), world), values(name, scores, world)
    for key, column in found.items():
        if row.face == "share":
            assert np.nanmin(column) >= 0
            assert np.nanmax(column) <= 1 + 1e-12
        sign = -1 if row.smaller_is_better else 1
        # the share of errors that are none has other queries; in ASP equal scores contradict every grade
        if name not in {"false_negatives", "asp", *CORRECTED}:
            assert not (sign * equal[key] > sign * column + 1e-12).any()


@pytest.mark.parametrize("name", [name for name in ROWS if name not in OTHERWISE | CORRECTED])
def test_no_order_is_better_than_that_of_the_grades(name, world):
    best, found = values(name, perfect(world), world), values(name, world[0] @ world[1].T, world)
    sign = -1 if metrics.load(name).smaller_is_better else 1
    for key, column in found.items():
        assert not (sign * best[key] < sign * column - 1e-12).any()


@pytest.mark.parametrize("name", [name for name in ROWS if name not in BY_ROW])
def test_the_order_of_images_and_captions_does_not_matter(name, world, rng):
    image, text, labels, judged, categories = world
    rows, columns = rng.permutation(8), rng.permutation(24)
    back = np.argsort(rows)
    own = back[OWN[columns]]
    given = (
        Categories(categories.codes[rows], own)
        if "categories" in ROWS[name].by
        else judged.restrict(rows, columns)
    )
    moved = Evidence((image @ text.T)[np.ix_(rows, columns)], given, own, labels.restrict(rows, columns))
    before = values(name, image @ text.T, world)
    for m, column in walk(moved, [name], rounds=0):
        order = {"i2t": rows, "t2i": columns, "": np.concatenate([rows, 8 + columns])}[m.key.direction]
        assert_allclose(column, before[m.label][order])


def test_a_subset_of_another_length_is_refused(world):
    with pytest.raises(ValueError, match="t2i: the subset 'few' has 3 rows for 24 queries"):
        evaluate(
            Evidence(perfect(world), world[2]), ["R"], subset=Subset("few", captions=np.ones(3, dtype=bool))
        )


def test_an_unknown_metric_and_an_unknown_option_are_refused_with_the_near_ones():
    with pytest.raises(KeyError, match="no 'kendal_tau'; did you mean kendall_tau"):
        metrics.load("kendal_tau")
    with pytest.raises(ValueError, match="gain is 'linaer'; did you mean linear"):
        metrics.load("ndcg", gain="linaer")
    with pytest.raises(ValueError, match="m is 0"):
        metrics.load("ncs_top", m=0)


MINE = '''
"""A metric of one's own."""
from workbench.metrics import Metric

class Reciprocal(Metric):
    """1 / rank of the best relevant item."""

    name, hit = "mrr", "1 / rank of the best relevant item"

    def per_query(self, ranks, k=None):
        return 1 / ranks.first
'''


def test_a_metric_from_outside_is_measured_by_all_judgements_with_its_interval(tmp_path, monkeypatch):
    (tmp_path / "my_metrics.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    split = data.load("scenes", split="test", size=12)
    scores = np.random.default_rng(0).standard_normal(split.judgements["own"].shape)
    found, _ = evaluation.evaluate_split(scores, split, metrics=("my_metrics:Reciprocal",), rounds=20)
    by_label = {m.label: m for m in found}
    assert {"i2t/mrr", "t2i/mrr", "exact:i2t/mrr", "exact:t2i/mrr"} <= set(by_label)
    assert by_label["t2i/mrr"].low <= by_label["t2i/mrr"].value <= by_label["t2i/mrr"].high
    assert json.dumps(by_label["t2i/mrr"].as_dict())


# The sum of cxc has the name of the usual one, which every data set has.
@pytest.mark.parametrize(("name", "judgements"), [("ncs", "graded"), ("cxc", "cxc")])
def test_an_asked_metric_that_the_data_cannot_answer_is_refused(name, judgements):
    world = source(objectives.load("vsepp")).split
    scores = np.zeros(world.judgements["own"].shape)
    with pytest.raises(ValueError, match=f"measured by {judgements}, and toy has only the judgements own"):
        evaluation.evaluate_split(scores, world, metrics=(name,), rounds=0)


def test_values_by_query_are_returned_beside_the_numbers_and_make_them():
    split = data.load("scenes", split="test", size=12)
    scores = np.random.default_rng(0).standard_normal(split.judgements["own"].shape)
    measurements, by_query = evaluation.evaluate_split(scores, split, rounds=0)
    means = {m.label: m.value for m in measurements if m.face == "share"}
    assert set(means) <= set(by_query)
    for label, value in means.items():
        assert_allclose(np.nanmean(by_query[label]), value)
