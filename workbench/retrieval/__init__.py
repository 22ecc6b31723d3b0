"""Nearest neighbours: exact, by blocks, on any torch device; faiss for galleries that are too large for that,
with its recall.

Index(gallery).top_k(query, 10)        exact
Approximate(gallery).top_k(query, 10)  faiss; states the recall@10 that it measured against the exact answer
"""

from workbench.retrieval._exact import Index, blocks, top_k
from workbench.retrieval._faiss import Approximate
from workbench.retrieval._found import Found

__all__ = ["Approximate", "Found", "Index", "blocks", "top_k"]
