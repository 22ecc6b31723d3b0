import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.oracles import metrics as oracle
from workbench.retrieval import blocks, top_k


def test_the_nearest_rows_come_first_and_equal_ones_in_their_order():
    scores, rows = top_k(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.5, 0.0], [-1.0, 0.0], [0.5, 1.0]]), 3)
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
