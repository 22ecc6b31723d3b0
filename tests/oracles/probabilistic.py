"""PCME and PCME++ written out as loops over plain lists, from the papers; no line is shared with the
package."""

from __future__ import annotations

import math


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def csd(mean_v, var_v, mean_t, var_t):
    """Closed-form sampled distance of two diagonal Gaussians."""
    total = 0.0
    for a, b, p, q in zip(mean_v, mean_t, var_v, var_t, strict=True):
        total += (a - b) ** 2 + p + q
    return total


def cross_entropy(logit, label):
    """-label log sigmoid(logit) - (1 - label) log(1 - sigmoid(logit))."""
    return -label * math.log(sigmoid(logit)) - (1 - label) * math.log(sigmoid(-logit))


def vib(means, log_vars):
    """KL(N(mu, sigma^2) || N(0, 1)) of every entry, in one list."""
    return [
        0.5 * (m * m + math.exp(v) - v - 1)
        for ms, vs in zip(means, log_vars, strict=True)
        for m, v in zip(ms, vs, strict=True)
    ]


def pseudo(logits, labels):
    """Labels of each row in which whatever scores no less than a labelled positive gets the largest label."""
    out = []
    for row, marks in zip(logits, labels, strict=True):
        top = max(marks)
        bar = min(s for s, m in zip(row, marks, strict=True) if m == top)
        out.append([top if s >= bar else m for s, m in zip(row, marks, strict=True)])
    return out


def pcmepp(logits, labels, alpha):
    """Twice the mean cross-entropy, and alpha times those of both kinds of pseudo-positives."""

    def mean(matrix, marks):
        terms = [
            cross_entropy(s, m)
            for row, ms in zip(matrix, marks, strict=True)
            for s, m in zip(row, ms, strict=True)
        ]
        return sum(terms) / len(terms)

    def turned(matrix):
        return [list(row) for row in zip(*matrix, strict=True)]

    columns = turned(logits)
    return 2 * mean(logits, labels), alpha * (
        mean(logits, pseudo(logits, labels)) + mean(columns, pseudo(columns, turned(labels)))
    )


def pcme_nll(image_samples, text_samples, a, b, matched):
    """log J^2 - log sum_kl exp(m s - log(e^s + e^-s)) of one pair."""
    m = 1 if matched else -1
    total, count = 0.0, 0
    for z in image_samples:
        for w in text_samples:
            s = -a * math.dist(z, w) + b
            total += math.exp(m * s) / (math.exp(s) + math.exp(-s))
            count += 1
    return math.log(count) - math.log(total)
