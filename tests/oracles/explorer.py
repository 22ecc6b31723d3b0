"""Slow rankings and walks, written without the package."""

from __future__ import annotations

import math


def ranking(scores):
    """Rows from best to worst, one swap at a time; a row without a score has no place."""
    rows = [row for row, score in enumerate(scores) if not math.isnan(score)]
    for end in range(len(rows), 0, -1):
        for i in range(1, end):
            if scores[rows[i - 1]] < scores[rows[i]]:
                rows[i - 1], rows[i] = rows[i], rows[i - 1]
    return rows


def on_the_circle(start, end, share):
    """The point that lies ``share`` of the angle from ``start`` to ``end``, by turning ``start`` in their
    plane."""
    dot = sum(a * b for a, b in zip(start, end))
    across = [b - dot * a for a, b in zip(start, end)]
    length = math.sqrt(sum(value * value for value in across))
    angle = share * math.atan2(length, dot)
    return [math.cos(angle) * a + math.sin(angle) * b / length for a, b in zip(start, across)]
