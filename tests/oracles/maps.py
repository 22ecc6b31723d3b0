"""Neighbours and k-occurrence as loops over pairs; no line is shared with the package."""

from __future__ import annotations

import math


def nearest(vectors, row):
    """Other rows by inner product, nearest first; of equal ones the lower first."""
    scores = {
        other: sum(a * b for a, b in zip(vectors[row], vectors[other]))
        for other in range(len(vectors))
        if other != row
    }
    return sorted(scores, key=lambda other: (-scores[other], other))


def nearest_points(points, row):
    """Other points by distance, nearest first."""
    distances = {other: math.dist(points[row], points[other]) for other in range(len(points)) if other != row}
    return sorted(distances, key=lambda other: (distances[other], other))


def k_occurrence(queries, gallery, k):
    """Counts by walking through every query's list."""
    counts = [0] * len(gallery)
    for query in queries:
        scores = [sum(a * b for a, b in zip(query, item)) for item in gallery]
        for row in sorted(range(len(gallery)), key=lambda row: (-scores[row], row))[:k]:
            counts[row] += 1
    return counts
