from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.oracles import metrics as oracle
from workbench import metrics
from workbench.metrics import hierarchy
from workbench.metrics.hierarchy import ROOT as NO_TEXT
from workbench.metrics.hierarchy import (
    Chains,
    describe_retrieval,
    hierarcaps_radius,
    hierarcaps_traversal,
    recall,
)
from workbench.metrics.hierarchy import precision as share_of_retrieved
from workbench.records import Split

d_corr_radius, d_corr_image, d_corr_other, d_corr_gain = (
    metrics.load(f"d_corr_{name}").per_query for name in ("radius", "image", "other", "gain")
)


def precision(chains, retrieved):
    """Precision of texts that were retrieved already."""
    return share_of_retrieved(retrieved, chains.first[chains.rows])


def level_recall(chains, retrieved):
    """``(C, L)`` recall of each level of texts that were retrieved already."""
    names = chains.first[chains.rows]
    return np.stack([recall(retrieved, names, k) for k in range(1, names.shape[1] + 1)], axis=1)


def unit(vectors):
    vectors = np.asarray(vectors, dtype=float)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


# METHODS 11.6, the toy in three dimensions
NAMES = ("a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4")
TEXT = unit([
    (-0.1, 0.2, 0.3), (0.5, 0.4, 0.8), (0.1, 0.1, 0.7), (0.4, 0.7, 0.4),
    (0.0, 0.1, 0.4), (-0.6, 0.4, 0.6), (-0.7, 0.8, 0.3), (0.8, 0.2, 0.9),
])  # fmt: skip
IMAGE = unit([(0.3, -0.1, -0.9), (-0.7, 0.9, 0.3)])
ROOT = np.array([0.0, 0.0, 1.0])
LEVEL, CHAIN = np.tile([1, 2, 3, 4], 2), np.repeat([0, 1], 4)


def chains_of(image, text, root, captions, level, chain, own=None):
    """Chains of a split of these captions; a chain describes the image of its number."""
    own, ids = chain if own is None else own, tuple(map(str, range(len(captions))))
    split = Split(
        "toy/test", ids[: len(image)], tuple(captions), ids, own, lambda row: None, level=level, chain=chain
    )
    return Chains(split, image, text, root)


@pytest.fixture
def toy():
    return chains_of(IMAGE, TEXT, ROOT, NAMES, LEVEL, CHAIN)


def random_chains(rng, images=6, levels=4, size=5, distinct=17):
    """Chains of texts of which some are the same string, with the same vector."""
    count = images * levels
    kind = rng.integers(0, distinct, count)
    text = unit(rng.standard_normal((distinct, size)))[kind]
    captions = [f"text {k}" for k in kind]
    level, chain = np.tile(np.arange(levels), images), np.repeat(np.arange(images), levels)
    image, root = unit(rng.standard_normal((images, size))), unit(rng.standard_normal(size))
    shuffled = rng.permutation(count)
    rows = [np.asarray(x)[shuffled] for x in (text, captions, level, chain)]
    return chains_of(image, rows[0], root, rows[1].tolist(), rows[2], rows[3])


@pytest.mark.parametrize(
    ("start", "root_in_pool", "expected"),
    [
        ("text", True, (0.8750, 0.7500)),
        ("text", False, (0.8000, 0.7500)),
        ("image", True, (0.7083, 0.6250)),
        ("image", False, (0.6333, 0.6250)),
    ],
)
def test_the_traversal_of_the_toy_in_its_four_variants(toy, start, root_in_pool, expected):
    found = hierarcaps_traversal(toy, start=start, root_in_pool=root_in_pool)
    assert_allclose((precision(toy, found).mean(), level_recall(toy, found).mean()), expected, atol=5e-5)


def test_the_radius_sweep_of_the_toy(toy):
    found = hierarcaps_radius(toy)
    assert_allclose((precision(toy, found).mean(), level_recall(toy, found).mean()), (0.6750, 0.7500))


def test_both_correlations_of_the_toy(toy):
    assert_allclose(d_corr_radius(toy), [1 / 3, 1 / 3])
    assert_allclose(d_corr_image(toy), [2 / 3, 0.0], atol=1e-12)
    # with the other image the cosines are .771 .207 .273 .443 and -.941 -.849 -.531 -.507
    assert_allclose(d_corr_other(toy), [0, 1], atol=1e-12)
    assert_allclose(d_corr_gain(toy), [2 / 3, -1], atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_the_correlation_with_other_images_equals_a_double_loop(rng, shared):
    chains = random_chains(rng)
    if shared:  # two chains of one image, whose own it is for both
        split = chains.split
        own = np.where(split.chain == 5, 0, split.chain)
        split = replace(split, image_ids=split.image_ids[:5], own=own, judgements={})
        chains = replace(chains, split=split, image=chains.image[:5])
    other, gain = d_corr_other(chains), d_corr_gain(chains)
    for chain, rows in enumerate(chains.rows.tolist()):
        own, taus = int(chains.split.own[rows[0]]), {}
        for image in set(chains.split.own.tolist()):
            near = [float(np.dot(chains.text[row], chains.image[image])) for row in rows]
            same = [chains.split.captions[row] for row in rows]
            signs = [
                0 if same[a] == same[b] else (1 if near[b] > near[a] else -1)
                for a in range(4) for b in range(a + 1, 4)
            ]  # fmt: skip
            taus[image] = sum(signs) / 6
        expected = np.mean([tau for image, tau in taus.items() if image != own])
        assert_allclose((other[chain], gain[chain]), (expected, taus[own] - expected), atol=1e-12)


def test_a_model_that_reads_no_image_gains_nothing_and_one_image_has_no_other():
    text = unit([[1, 0, 0], [1, 0, 1], [1, 1, 1], [1, 2, 2]])
    text = np.concatenate([text, text[::-1]])
    blind = chains_of(unit([[-1, 0, 0.0], [-1, 0, 0.0]]), text, ROOT, NAMES, LEVEL, CHAIN)
    assert_array_equal(d_corr_image(blind), [1, -1])
    assert_array_equal(d_corr_gain(blind), [0, 0])
    alone = chains_of(IMAGE[:1], TEXT[:4], ROOT, NAMES[:4], LEVEL[:4], CHAIN[:4])
    assert np.isnan(d_corr_other(alone)).all()
    found = {m.key.metric: m for m in hierarchy.hierarchy_scores(alone)}
    assert (found["d_corr_gain"].queries, found["d_corr_gain"].left_out) == (0, 1)


def test_measure_reports_both_protocols_and_both_correlations(toy):
    found = {m.key.local: m for m in hierarchy.hierarchy_scores(toy)}
    assert_allclose(found["hierarcaps_radius_P"].value, 0.675)
    assert_allclose(found["hierarcaps_traversal_R"].value, 0.75)
    assert_allclose(found["d_corr_image"].value, 1 / 3)
    # a2 a3 a4 and b1 b2 b3 are found: levels 1 to 4 in 1, 2, 2, 1 of two chains
    assert_allclose(
        [found[f"hierarcaps_traversal_R_level@{k}"].value for k in (1, 2, 3, 4)], [0.5, 1.0, 1.0, 0.5]
    )
    assert (found["hierarcaps_radius_P"].queries, found["hierarcaps_radius_P"].gallery) == (2, 8)
    assert all(m.low <= m.value <= m.high for m in found.values())
    assert "from the image to the root, root not in the pool" in next(
        m.hit
        for m in hierarchy.hierarchy_scores(toy, start="image", root_in_pool=False)
        if m.key.metric == "hierarcaps_traversal_P"
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("start", ["text", "image"])
@pytest.mark.parametrize("root_in_pool", [True, False])
def test_the_traversal_equals_the_slow_walk(seed, start, root_in_pool):
    chains = random_chains(np.random.default_rng(seed))
    names = [chains.split.captions[row] for row in chains.pool]
    texts = chains.text[chains.pool].tolist()
    for chain, path in enumerate(hierarcaps_traversal(chains, start=start, root_in_pool=root_in_pool)):
        image = chains.image[chains.image_rows[chain]].tolist()
        walk = oracle.traversal(
            image, texts, names, chains.root.tolist(), start=start, root_in_pool=root_in_pool
        )
        assert [None if row == NO_TEXT else chains.split.captions[row] for row in path] == walk


@pytest.mark.parametrize("seed", range(5))
def test_the_radius_sweep_equals_the_slow_one_over_all_texts(seed):
    chains = random_chains(np.random.default_rng(seed))
    for chain, path in enumerate(hierarcaps_radius(chains)):
        image = chains.image[chains.image_rows[chain]].tolist()
        found = oracle.radius_sweep(
            image, chains.text.tolist(), list(chains.split.captions), chains.root.tolist()
        )
        assert [chains.split.captions[row] for row in path] == found


@pytest.mark.parametrize("seed", range(3))
def test_precision_and_recall_compare_strings(seed):
    chains = random_chains(np.random.default_rng(seed))
    found = hierarcaps_radius(chains)
    for chain, rows in enumerate(chains.rows):
        wanted, got = (
            [chains.split.captions[row] for row in rows],
            {chains.split.captions[row] for row in found[chain]},
        )
        assert_allclose(precision(chains, found)[chain], len(got & set(wanted)) / len(got))
        assert_array_equal(level_recall(chains, found)[chain], [text in got for text in wanted])


def test_the_first_retrieved_text_is_the_nearest_and_the_last_is_the_root(rng):
    chains = random_chains(rng)
    nearest = chains.pool[(chains.image[chains.image_rows] @ chains.text[chains.pool].T).argmax(axis=1)]
    paths = hierarcaps_traversal(chains)
    assert [path[0] for path in paths] == nearest.tolist()
    assert {int(path[-1]) for path in paths} == {NO_TEXT}


def test_what_was_retrieved_is_told_in_words_with_levels(toy):
    found = hierarcaps_traversal(toy)
    texts, levels, true = describe_retrieval(toy, found[1], 1)
    assert (texts, levels, true) == (["b3", "b2", "a1", "b1"], [3, 2, 0, 1], [True, True, False, True])
    everything = np.ones((2, 8), dtype=bool)
    assert describe_retrieval(toy, found[1], 1, everything)[2] == [True] * 4


def test_an_unknown_start_is_refused(toy):
    with pytest.raises(ValueError, match="start='root': choose 'text' or 'image'"):
        hierarcaps_traversal(toy, start="root")


def test_a_split_without_chains_is_refused():
    split = Split("some/test", ("i",), ("a text",), ("t",), np.zeros(1, int), lambda row: None)
    with pytest.raises(ValueError, match="the captions of some/test form no chains"):
        Chains(split, IMAGE[:1], TEXT[:1], ROOT)


def test_a_chain_in_order_correlates_fully_and_a_reversed_one_negatively():
    angles = np.array([0.2, 0.5, 0.9, 1.3])
    text = np.stack(
        [np.sin(angles), np.cos(angles)], axis=1
    )  # away from the root (0, 1), towards the image (1, 0)
    image, root, chain = np.array([[1.0, 0.0]]), np.array([0.0, 1.0]), np.zeros(4, dtype=int)
    right = chains_of(image, text, root, list("abcd"), np.arange(4), chain)
    wrong = chains_of(image, text[::-1], root, list("abcd"), np.arange(4), chain)
    assert (d_corr_radius(right)[0], d_corr_image(right)[0]) == (1.0, 1.0)
    assert (d_corr_radius(wrong)[0], d_corr_image(wrong)[0]) == (-1.0, -1.0)


def test_a_collapsed_model_has_no_correlation_and_finds_one_text():
    same = np.tile(unit([1.0, 2.0]), (4, 1))
    chains = chains_of(same[:1], same, np.array([0.0, 1.0]), list("abcd"), np.arange(4), np.zeros(4, int))
    assert (d_corr_radius(chains)[0], d_corr_image(chains)[0]) == (0.0, 0.0)
    assert [path.tolist() for path in hierarcaps_radius(chains)] == [[0]]


def test_recall_is_a_multiple_of_a_quarter_and_the_order_of_the_captions_does_not_matter(rng, toy):
    chains = random_chains(rng)
    assert_allclose(level_recall(chains, hierarcaps_traversal(chains)).mean(axis=1) * 4 % 1, 0)
    rows = rng.permutation(8)
    moved = chains_of(IMAGE, TEXT[rows], ROOT, [NAMES[r] for r in rows], LEVEL[rows], CHAIN[rows])
    first, second = ({m.key: m.value for m in hierarchy.hierarchy_scores(c, rounds=0)} for c in (toy, moved))
    assert first == pytest.approx(second)


def test_a_second_block_of_images_is_retrieved_like_the_first(rng):
    chains = random_chains(rng, images=300, distinct=60)
    names, texts = [chains.split.captions[row] for row in chains.pool], chains.text[chains.pool].tolist()
    found = hierarcaps_traversal(chains)
    assert len(found) == 300
    for chain in (255, 256, 299):
        image = chains.image[chains.image_rows[chain]].tolist()
        walk = oracle.traversal(image, texts, names, chains.root.tolist(), start="text", root_in_pool=True)
        assert [None if row == NO_TEXT else chains.split.captions[row] for row in found[chain]] == walk


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": TEXT * 2}, "text vectors must have length 1"),
        ({"root": np.full(3, np.nan)}, "root vectors must have length 1"),
        ({"text": TEXT[:-1]}, "7 vectors for 8 captions"),
        ({"level": np.array([1, 2, 3, 4, 1, 2, 3, 3])}, "every chain must have the levels"),
        ({"level": np.array([1, 2, 3, 4, 5, 1, 2, 3])}, "do not make chains of 5 levels"),
        ({"own": np.array([0, 0, 0, 1, 1, 1, 1, 1])}, "a chain describes two images"),
    ],
)
def test_what_is_not_a_set_of_chains_is_refused(change, message):
    parts = {
        "image": IMAGE,
        "text": TEXT,
        "root": ROOT,
        "captions": NAMES,
        "level": LEVEL,
        "chain": CHAIN,
        "own": CHAIN,
    }
    with pytest.raises(ValueError, match=message):
        chains_of(**(parts | change))
