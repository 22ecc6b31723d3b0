"""Our numbers are those of the package ``eccv-caption``; the whole split is compared in
tools/benchmarks/bench_eccv.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import workbench as wb

pytest.importorskip(
    "eccv_caption", reason="needs the package eccv-caption, pip install 'itm-workbench[eccv]'"
)
from tests.metrics.families import by_key, crossed, map_at_r, r_precision, ranking
from tests.oracles import eccv
from workbench.metrics.ranks import Ranked


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return eccv.whole_split(tmp_path_factory.mktemp("coco"))


@pytest.fixture(scope="module")
def sample(whole):
    """Asked and other images, and the two whose sixth captions are positives."""
    sixth = np.unique(whole.judgements["eccv"].missing_captions)
    assert len(sixth) == 2
    others = np.random.default_rng(0).choice(5000, 78, replace=False)
    return eccv.cut(whole, np.union1d(others, sixth)[:80])


@pytest.fixture(scope="module")
def package(sample):
    return eccv.package(sample)


@pytest.mark.parametrize("case", ["random", "negative", "worst", "model", "hub"])
def test_all_numbers_equal_those_of_the_package(case, sample, package):
    scores = eccv.case(case, np.random.default_rng(1), sample)
    expected, found = eccv.theirs(package, eccv.retrieved(scores, sample)), eccv.ours(scores, sample)
    assert len(expected) == 24
    assert expected.keys() == found.keys()
    for key, value in expected.items():
        assert_allclose(found[key], value, rtol=0, atol=1e-9, err_msg=key)


def test_a_sixth_caption_counts_into_r_and_is_never_found(sample):
    # a perfect model: of an image with R positives, one of them outside of the gallery, R - 1 of the R best
    # are right
    judged = sample.judgements["eccv"]
    ranks = Ranked(judged.dense(), [judged]).by(judged)["i2t"]
    row = judged.missing_captions[0]
    listed = int((judged.images == row).sum())
    assert ranks.counts[row] == listed + 1
    assert r_precision(ranks)[row] == listed / (listed + 1)
    assert map_at_r(ranks)[row] == listed / (listed + 1)


def test_only_the_queries_of_eccv_caption_are_asked_and_the_contract_counts_them(whole):
    judged, equal = whole.judgements["eccv"], np.broadcast_to(np.float32(0), (5000, 25000))
    found = by_key(ranking(equal, judged, graded=False, rounds=0))
    first, second = found["i2t/map_at_r"], found["t2i/map_at_r"]
    assert (first.queries, first.left_out, first.gallery) == (1261, 3739, 25000)
    assert (second.queries, second.left_out, second.gallery) == (1332, 23668, 5000)
    found = by_key(crossed(equal, whole.judgements["cxc"], rounds=0))
    assert (found["t2i/R@1"].queries, found["t2i/R@1"].left_out, found["t2i/R@1"].value) == (24972, 28, 0)


@pytest.mark.parametrize("depth", [None, 3])
def test_the_dictionaries_of_the_package_are_measured_as_by_the_package(depth, sample, package):
    scores = eccv.case("model", np.random.default_rng(2), sample)
    whole = eccv.retrieved(scores, sample)
    i2t, t2i = ({query: items[:depth] for query, items in lists.items()} for lists in whole)
    result = wb.evaluate(runs={"i2t": i2t, "t2i": t2i}, data=sample, rounds=0)
    targets = ("coco_5k_recalls", "cxc_recalls", "eccv_map_at_r", "eccv_rprecision", "eccv_r1")
    expected = eccv.theirs(package, whole, targets)
    groups = {"": "coco_5k", "cxc:": "cxc", "eccv:": "eccv"}
    names = {"R@1": "r1", "R@5": "r5", "R@10": "r10", "map_at_r": "map_at_r", "r_precision": "rprecision"}
    compared = 0
    for label in result:
        start, _, rest = label.rpartition(":")
        way, _, metric = rest.partition("/")
        key = f"{groups.get(f'{start}:' if start else '')}_{names.get(metric)}/{way}"
        if key in expected:
            assert_allclose(result[label], expected[key], rtol=0, atol=1e-9, err_msg=label)
            compared += 1
    # three items determine R@1, and mAP@R and R-Precision of captions, which have at most three images here
    assert compared == (len(expected) if depth is None else 8)
