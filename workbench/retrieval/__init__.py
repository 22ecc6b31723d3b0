"""Nearest neighbours: exact, by blocks, on any torch device; faiss for galleries that are too large for that,
with its recall.

Index(gallery).top_k(query, 10)        exact
Approximate(gallery).top_k(query, 10)  faiss; states the recall@10 that it measured against the exact answer
"""

from workbench.retrieval.neighbours import Approximate, Found, Index, blocks, top_k

__all__ = ["Approximate", "Found", "Index", "blocks", "top_k"]
