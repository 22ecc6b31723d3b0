import sys

import numpy as np
import pytest

from workbench.retrieval import Approximate, Index


def vectors(rows, seed=0):
    made = np.random.default_rng(seed).standard_normal((rows, 16)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_a_flat_index_is_exact_and_says_so():
    pytest.importorskip("faiss", reason="faiss is not installed")
    gallery, query = vectors(400), vectors(7, seed=1)
    found = Approximate(gallery, kind="Flat").top_k(query, 5)
    assert found.rows.tolist() == Index(gallery).top_k(query, 5).rows.tolist()
    assert str(found) == "faiss Flat, recall@10 1.000 against the exact search on 200 queries"


def test_the_stated_recall_is_that_of_a_double_loop():
    pytest.importorskip("faiss", reason="faiss is not installed")
    gallery, query = vectors(3000), vectors(250, seed=1)
    index = Approximate(gallery.astype(np.float16), kind="IVF32,Flat", search="nprobe=2", queries=query)
    stored, hits = gallery.astype(np.float16).astype(np.float32), 0
    for one, rows in zip(query[:200], index.top_k(query[:200], 10).rows, strict=True):
        true = sorted(range(len(stored)), key=lambda row: -float(one @ stored[row]))[:10]
        hits += sum(row in true for row in rows.tolist())
    assert 0.2 < index.recall < 1
    assert index.recall == pytest.approx(hits / 2000)
    assert index.measured == 200
    assert "nprobe=2" in str(index.top_k(query[:1], 1))


@pytest.mark.parametrize("options", [{"kind": "Nonsense"}, {"search": "nonsense=3"}])
def test_what_faiss_does_not_know_is_refused(options):
    pytest.importorskip("faiss", reason="faiss is not installed")
    with pytest.raises(ValueError, match="faiss does not take kind"):
        Approximate(vectors(50), **options)


def test_without_faiss_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install itm-workbench\[faiss\]"):
        Approximate(vectors(50))
