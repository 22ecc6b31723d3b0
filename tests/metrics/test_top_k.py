import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.oracles import metrics as oracle
from workbench.metrics import blocks
from workbench.metrics.blocks import top_k


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 60))
def test_every_size_of_block_finds_what_the_double_loop_finds(seed, k, entries):
    rng = np.random.default_rng(seed)
    # whole numbers: products are exact, and there are many ties
    query, gallery = rng.integers(-2, 3, (5, 3)).astype(float), rng.integers(-2, 3, (12, 3)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "COMPUTED", entries)
        scores, rows = top_k(query, gallery, k)
    assert rows.tolist() == [oracle.nearest(q, gallery, k) for q in query]
    assert_array_equal(scores, np.take_along_axis(query @ gallery.T, rows, 1))


@pytest.mark.parametrize("k", [0, 5])
def test_more_rows_than_the_gallery_has_are_refused(k):
    with pytest.raises(ValueError, match=r"k = \d must lie in 1..4"):
        top_k(np.eye(4), np.eye(4), k)


def test_a_nan_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        top_k(np.array([[np.nan, 0.0]]), np.eye(2), 1)


def test_an_index_of_faiss_answers_for_its_gallery():
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    rng = np.random.default_rng(0)
    query, gallery = (rng.standard_normal((n, 16)).astype(np.float32) for n in (7, 400))
    index = faiss.IndexFlatIP(16)
    index.add(gallery)
    assert_array_equal(top_k(query, index, 5)[1], top_k(query, gallery, 5)[1])
