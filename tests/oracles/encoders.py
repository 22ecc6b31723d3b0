"""Slow double loops for pooling, projection and word augmentation, written from the papers."""

from __future__ import annotations

import math


def position_code(length, size):
    """PE[p, 2k] = sin(p * 10000^(-2k/size)), PE[p, 2k+1] = cos of the same."""
    table = []
    for p in range(length):
        row = []
        for i in range(size):
            angle = p * 10000 ** (-2 * (i // 2) / size)
            row.append(math.sin(angle) if i % 2 == 0 else math.cos(angle))
        table.append(row)
    return table


def weighted_order_statistics(rows, weights):
    """sum_k weights[k] * (k-th largest value), dimension by dimension; ``rows`` is a list of real vectors."""
    out = []
    for d in range(len(rows[0])):
        column = sorted((row[d] for row in rows), reverse=True)
        total = 0.0
        for value, weight in zip(column, weights, strict=True):
            total += value * weight
        out.append(total)
    return out


def gru_direction(codes, w_in, w_hidden, b_in, b_hidden):
    """Hidden states of one direction of a GRU (Cho et al. 2014, as torch documents its gates r, z, n)."""
    size = len(w_hidden[0])
    hidden, states = [0.0] * size, []
    for code in codes:
        a = [
            sum(w * x for w, x in zip(row, code, strict=True)) + b for row, b in zip(w_in, b_in, strict=True)
        ]
        h = [
            sum(w * x for w, x in zip(row, hidden, strict=True)) + b
            for row, b in zip(w_hidden, b_hidden, strict=True)
        ]
        new = []
        for i in range(size):
            reset = 1 / (1 + math.exp(-(a[i] + h[i])))
            update = 1 / (1 + math.exp(-(a[size + i] + h[size + i])))
            candidate = math.tanh(a[2 * size + i] + reset * h[2 * size + i])
            new.append((1 - update) * candidate + update * hidden[i])
        hidden = new
        states.append(hidden)
    return states


def gpo_weights(length, parameters, *, temperature=0.1):
    """theta of a set of ``length``: codes -> bidirectional GRU -> mean of directions -> scalar -> softmax.

    ``parameters``: nested lists ``forward`` and ``backward`` (w_in, w_hidden, b_in, b_hidden), ``score`` and
    ``d_pe``.
    """
    codes = position_code(length, parameters["d_pe"])
    forward = gru_direction(codes, *parameters["forward"])
    backward = gru_direction(codes[::-1], *parameters["backward"])[::-1]
    scores = []
    for left, right in zip(forward, backward, strict=True):
        scores.append(sum(w * (a + b) / 2 for w, a, b in zip(parameters["score"], left, right, strict=True)))
    powers = [math.exp(score / temperature) for score in scores]
    return [power / sum(powers) for power in powers]


def projection(part, weights, bias):
    """One linear layer on one vector."""
    return [
        sum(w * x for w, x in zip(row, part, strict=True)) + b for row, b in zip(weights, bias, strict=True)
    ]
