import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.oracles import metrics as oracle
from workbench.retrieval import Index, blocks, top_k


def test_the_nearest_rows_come_first_and_equal_ones_in_their_order():
    scores, rows = top_k(
        np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.5, 0.0], [-1.0, 0.0], [0.5, 1.0]]), 3
    )
    assert scores.tolist() == [[0.5, 0.5, 0.0]]
    assert rows.tolist() == [[1, 3, 0]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 14))
def test_every_chunk_size_finds_what_the_double_loop_finds(seed, k, chunk):
    rng = np.random.default_rng(seed)
    # whole numbers: products are exact, and there are many ties
    query, gallery = rng.integers(-2, 3, (5, 3)).astype(float), rng.integers(-2, 3, (12, 3)).astype(float)
    scores, rows = top_k(query, gallery, k, chunk=chunk)
    assert rows.tolist() == [oracle.nearest(q, gallery, k) for q in query]
    assert_array_equal(scores, np.take_along_axis(query @ gallery.T, rows, 1))


def test_float32_stays_float32_and_equals_the_sorted_matrix():
    rng = np.random.default_rng(0)
    query, gallery = (rng.standard_normal((n, 16)).astype(np.float32) for n in (30, 500))
    scores, rows = top_k(query, gallery, 7, chunk=64)
    assert scores.dtype == np.float32
    assert_allclose(scores, -np.sort(-(query @ gallery.T), axis=1)[:, :7], rtol=1e-5)
    assert_allclose(np.einsum("qd,qkd->qk", query, gallery[rows]), scores, rtol=1e-5)


@pytest.mark.parametrize("k", [0, 5])
def test_more_rows_than_the_gallery_has_are_refused(k):
    with pytest.raises(ValueError, match=r"k = \d must lie in 1..4"):
        top_k(np.eye(4), np.eye(4), k)


def test_a_nan_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        top_k(np.array([[np.nan, 0.0]]), np.eye(2), 1)


def test_no_query_gives_no_row():
    assert top_k(np.zeros((0, 2)), np.eye(2), 1)[1].shape == (0, 1)


@pytest.mark.parametrize(("size", "step"), [(0, 3), (7, 3), (6, 3), (2, 10)])
def test_blocks_cover_every_row_once(size, step):
    assert [row for block in blocks(size, step) for row in range(size)[block]] == list(range(size))


def test_a_block_of_no_rows_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        list(blocks(3, 0))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_memory_mapped_gallery_gives_what_the_array_in_float32_gives(tmp_path, kind):
    rng = np.random.default_rng(1)
    query, gallery = rng.standard_normal((3, 24)), rng.standard_normal((9001, 24)).astype(kind)
    np.save(tmp_path / "gallery.npy", gallery)
    index = Index(np.load(tmp_path / "gallery.npy", mmap_mode="r"))
    precise = np.float64 if kind == np.float64 else np.float32
    found = index.top_k(query, 5)
    expected = query.astype(precise) @ gallery.astype(precise).T
    assert found.scores.dtype == precise
    assert found.rows.tolist() == np.argsort(-expected, axis=1, kind="stable")[:, :5].tolist()
    assert_allclose(index.scores(query[:1])[0], expected[0], rtol=1e-4, atol=1e-5)
    assert str(found) == "exact"


def test_excluded_rows_are_never_found():
    gallery = np.array([[1.0], [0.9], [0.8], [0.7]])
    index = Index(gallery, chunk=2)
    assert index.top_k(np.ones((1, 1)), 2, exclude=np.array([0, 2])).rows.tolist() == [[1, 3]]
    # each stored vector without itself: its own row is left out
    own = np.arange(4)[:, None]
    assert index.top_k(gallery, 1, exclude=own).rows.tolist() == [[1], [0], [0], [0]]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40))
def test_excluding_each_its_own_rows_equals_searching_without_them(seed, chunk):
    rng = np.random.default_rng(seed)
    query, gallery = rng.integers(-2, 3, (4, 3)).astype(float), rng.integers(-2, 3, (9, 3)).astype(float)
    exclude = rng.integers(0, 9, (4, 3))
    rows = Index(gallery, chunk=chunk).top_k(query, 4, exclude=exclude).rows
    for one, banned, found in zip(query, exclude, rows, strict=True):
        left = np.setdiff1d(np.arange(9), banned)
        assert found.tolist() == left[oracle.nearest(one, gallery[left], 4)].tolist()


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        ([4], "outside the 4 rows"),
        ([[0], [1]], r"\(1, E\)"),
        ([0, 1], r"1\.\.2, the size of the gallery less"),
    ],
)
def test_rows_that_cannot_be_excluded_are_refused(exclude, message):
    with pytest.raises(ValueError, match=message):
        Index(np.eye(4)).top_k(np.eye(4)[:1], 3, exclude=np.array(exclude))


def test_places_are_those_of_the_order():
    index = Index(np.array([[0.5], [0.9], [0.5], [-1.0]]))
    assert index.places(np.array([[1.0], [-1.0]]), np.array([2, 0, 3])).tolist() == [[3, 2, 4], [3, 2, 1]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gallery_is_checked_when_it_is_made(bad):
    gallery = np.eye(3)
    gallery[1, 2] = bad
    with pytest.raises(ValueError, match="row 1 of the gallery holds a NaN or an infinite number"):
        Index(gallery)


def test_what_is_no_table_of_floating_point_numbers_is_refused():
    with pytest.raises(ValueError, match=r"float16, float32 or float64, got \(3, 3\) in int64"):
        Index(np.eye(3, dtype=np.int64))
    with pytest.raises(ValueError, match="do not fit a gallery of width 3"):
        Index(np.eye(3)).top_k(np.ones(3), 1)


@pytest.mark.gpu
def test_a_gpu_finds_what_the_cpu_finds():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    rng = np.random.default_rng(2)
    query, gallery = (
        rng.integers(-2, 3, (50, 16)).astype(np.float32),
        rng.integers(-2, 3, (5000, 16)).astype(np.float16),
    )
    cpu, gpu = (Index(gallery, device=device, chunk=9999).top_k(query, 20) for device in ("cpu", "cuda"))
    assert_array_equal(cpu.scores, gpu.scores)
    assert_array_equal(cpu.rows, gpu.rows)
