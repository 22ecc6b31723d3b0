import numpy as np
import pytest
from numpy.testing import assert_allclose
from paper_tables.pmrp import Pmrp

from tests.metrics.families import by_key, plausible
from tests.oracles import semantic as oracle
from workbench.metrics.categories import Categories
from workbench.metrics.grades import Lists

OWN = np.repeat(np.arange(10), 3)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def codes(rng):
    codes = rng.random((10, 4)) < 0.4
    codes[:, 0] |= ~codes.any(axis=1)
    return codes


def apart(query, gallery):
    """Hamming distances by the loop."""
    return (query[:, None] != gallery[None]).sum(axis=2)


def r_precision(scores, query, gallery):
    """R-precision of each zeta by categories of queries and of items."""
    near = (3 - np.minimum(apart(query, gallery), 3)).astype(np.float32)
    found = Lists(scores, near)
    return {zeta: Pmrp(zetas=(zeta,)).per_query(found) for zeta in (0, 1, 2)}


def test_the_worked_example():
    codes = np.array([[1, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 0]], dtype=bool)
    ranking = np.array([[0.1, 0.9, 0.3, 0.5]])  # 1 3 2 0
    found = r_precision(ranking, codes[:1], codes)
    assert_allclose([found[zeta][0] for zeta in (0, 1, 2)], [0.5, 0.666667, 0.666667], atol=5e-7)
    # 1 counts and 3 does not; then 1, 2 of three; and the same
    assert_allclose(np.mean([found[zeta][0] for zeta in (0, 1, 2)]), 11 / 18)


def slow(scores, query, gallery):
    """The mean over the three distances, by the oracle."""
    return np.mean([oracle.pmrp(scores, query, gallery, zeta) for zeta in (0, 1, 2)])


@pytest.mark.parametrize("seed", range(3))
def test_both_directions_equal_the_double_loops_with_ties(seed, codes):
    scores = np.random.default_rng(seed).integers(-3, 3, (10, 30)) / 2
    found = by_key(plausible(scores, codes, OWN, rounds=0))
    i2t = np.mean([slow(scores[i], codes[i], codes[OWN]) for i in range(10)])
    t2i = np.mean([slow(scores[:, t], codes[OWN[t]], codes) for t in range(30)])
    assert_allclose([found["i2t/pmrp"].value, found["t2i/pmrp"].value], [i2t, t2i])
    one = np.mean([oracle.pmrp(scores[i], codes[i], codes[OWN], 1) for i in range(10)])
    assert_allclose(found["i2t/r_precision[zeta=1]"].value, one)


def test_images_without_categories_leave_the_queries_and_the_gallery(codes, rng):
    codes[4] = False
    scores = rng.standard_normal((10, 30))
    found = by_key(plausible(scores, codes, OWN, rounds=0))
    images, captions = np.delete(np.arange(10), 4), np.flatnonzero(OWN != 4)
    rest = plausible(scores[np.ix_(images, captions)], codes[images], np.repeat(np.arange(9), 3), rounds=0)
    assert_allclose([m.value for m in rest], [m.value for m in found.values()])
    one = found["t2i/pmrp"]
    assert (one.queries, one.left_out, one.gallery) == (27, 3, 9)


def test_folds_are_separate_galleries(codes, rng):
    scores = rng.standard_normal((10, 30))
    found = by_key(plausible(scores, codes, OWN, folds=2, rounds=0))
    halves = []
    for i in (0, 5):
        half = scores[i : i + 5, 3 * i : 3 * i + 15]
        halves.append(by_key(plausible(half, codes[i : i + 5], OWN[:15], rounds=0)))
    assert_allclose(found["t2i/pmrp"].value, np.mean([half["t2i/pmrp"].value for half in halves]))
    i2t = found["i2t/pmrp"]
    assert (i2t.key.folds, i2t.gallery, i2t.queries) == (2, 15, 10)


def test_the_order_by_categories_gives_one_and_a_collapsed_model_gives_least(codes, rng):
    perfect = -apart(codes, codes[OWN]).astype(float)
    collapsed, other = (
        r_precision(s, codes, codes[OWN]) for s in (np.zeros((10, 30)), rng.standard_normal((10, 30)))
    )
    for zeta, values in r_precision(perfect, codes, codes[OWN]).items():
        assert_allclose(values, 1)
        assert (collapsed[zeta] <= other[zeta]).all()


def test_distances_are_those_of_hamming(codes):
    grades = Categories(codes, OWN, far=9).take(np.arange(10), np.arange(30))
    assert_allclose(grades, 9 - apart(codes, codes[OWN]))


def test_shapes_and_folds_that_do_not_fit_are_refused(codes):
    with pytest.raises(ValueError, match=r"scores are \(3, 30\), the judgements are \(10, 30\)"):
        plausible(np.zeros((3, 30)), codes, OWN)
    with pytest.raises(ValueError, match="3 folds do not divide 10 images"):
        plausible(np.zeros((10, 30)), codes, OWN, folds=3)
    with pytest.raises(ValueError, match="no query has an answer"):
        plausible(np.zeros((10, 30)), np.zeros((10, 2), dtype=bool), OWN)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The first images of ECCV Caption."""
    pytest.importorskip("eccv_caption", reason="needs the package eccv-caption")
    from tests.oracles import eccv

    return eccv.cut(eccv.whole_split(tmp_path_factory.mktemp("coco")), np.arange(80))


@pytest.mark.parametrize("zeta", [0, 1, 2])
def test_plausible_matches_equal_those_of_the_package_eccv_caption(zeta, sample):
    from tests.oracles import eccv

    rng = np.random.default_rng(zeta)
    codes, scores = rng.random((80, 5)) < 0.4, eccv.case("random", rng, sample)
    near = (codes[:, None] != codes[None]).sum(axis=2) <= zeta
    images, captions = eccv.ids_of(sample)
    metrics = eccv.package(sample)
    of_image = {image: captions[near[row][sample.own]].tolist() for row, image in enumerate(images)}
    of_caption = {
        caption: images[near[own]].tolist() for caption, own in zip(captions, sample.own, strict=True)
    }
    metrics.pm_gts = {"i2t": of_image, "t2i": of_caption}
    # the package returns the directions themselves under this name
    expected = metrics.compute_all_metrics(*eccv.retrieved(scores, sample), target_metrics=["pmrp"])
    texts = codes[sample.own]
    for direction, given in (("i2t", (scores, codes, texts)), ("t2i", (scores.T, texts, codes))):
        assert_allclose(r_precision(*given)[zeta].mean(), expected[direction], rtol=0, atol=1e-9)
