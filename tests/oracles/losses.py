"""Losses written out as loops over plain lists, from the papers; no line is shared with the package."""

from __future__ import annotations

import math

Matrix = list[list[float]]
Mask = list[list[bool]]


def transpose(matrix):
    return [list(row) for row in zip(*matrix, strict=True)]


def triplet(scores: Matrix, positives: Mask, margin, hardest: bool) -> list[float]:
    """Terms of all anchor-positive pairs, row by row; ``margin(anchor, positive, negative)``."""
    terms = []
    for a, row in enumerate(scores):
        for p in range(len(row)):
            if not positives[a][p]:
                continue
            negatives = [n for n in range(len(row)) if not positives[a][n]]
            if hardest and negatives:
                best = max(row[n] for n in negatives)
                negatives = [next(n for n in negatives if row[n] == best)]
            terms.append(sum(max(0.0, margin(a, p, n) - row[p] + row[n]) for n in negatives))
    return terms


def contrastive(scores: Matrix, positives: Mask, extra_positives: str) -> list[float]:
    """One term for every row that has a positive."""
    terms = []
    for a, row in enumerate(scores):
        own = [c for c in range(len(row)) if positives[a][c]]
        if not own:
            continue
        everything = sum(math.exp(s) for s in row)
        others = sum(math.exp(row[c]) for c in range(len(row)) if not positives[a][c])
        total = 0.0
        for p in own:
            below = everything if extra_positives == "uniform" else math.exp(row[p]) + others
            total += -math.log(math.exp(row[p]) / below)
        terms.append(total / len(own))
    return terms


def ranked(scores: Matrix, ranks: list[list[int]], temperatures, variant: str) -> list[float]:
    """RINCE: one term for every row that has a positive; rank 0 is a negative, -1 is in no sum."""
    terms = []
    for row, places in zip(scores, ranks, strict=True):
        if max(places) < 1:
            continue
        total = 0.0
        for rank, tau in enumerate(temperatures, start=1):
            chosen = [math.exp(s / tau) for s, r in zip(row, places, strict=True) if r == rank]
            lower = sum(math.exp(s / tau) for s, r in zip(row, places, strict=True) if r == 0 or r > rank)
            if not chosen:
                continue
            if variant == "in" or (variant == "out_in" and rank > 1):
                total += -math.log(sum(chosen) / (sum(chosen) + lower))
            else:
                total += -sum(math.log(e / (e + lower)) for e in chosen) / len(chosen)
        terms.append(total)
    return terms


def sigmoid(scores: Matrix, positives: Mask, scale: float, shift: float) -> float:
    """SigLIP: every pair by itself, over the number of images."""
    total = 0.0
    for row, belongs in zip(scores, positives, strict=True):
        for score, own in zip(row, belongs, strict=True):
            total += math.log(1 + math.exp(-(1 if own else -1) * (scale * score + shift)))
    return total / len(scores)


def ditm_triplet(
    scores: Matrix, positives: Mask, delta: list[float], tau: float, hardest: bool
) -> tuple[float, float]:
    """DITM's adaptive triplet, image-to-text and text-to-image, summed."""
    i2t = triplet(scores, positives, lambda _, p, n: (delta[p] + delta[n]) / tau, hardest)
    t2i = triplet(
        transpose(scores), transpose(positives), lambda t, _p, _n: (delta[t] + delta[t]) / tau, hardest
    )
    return sum(i2t), sum(t2i)


def ditm_ordering(scores: Matrix, positives: Mask, delta: list[float], eps: float) -> list[float]:
    """DITM's ordering over unordered pairs of captions of an image."""
    terms = []
    for i, row in enumerate(scores):
        own = [t for t in range(len(row)) if positives[i][t]]
        for a in range(len(own)):
            for b in range(a + 1, len(own)):
                d = [math.sqrt(max(2 - 2 * row[t], 1e-12)) for t in (own[a], own[b])]
                w = [max(delta[t], eps) for t in (own[a], own[b])]
                terms.append((math.log(d[0] / d[1]) - math.log(w[1] / w[0])) ** 2)
    return terms


def semantic_margins(
    scores: Matrix, positives: Mask, phi: Matrix, own: list[int], closest: bool, tau: float
) -> list:
    """SAM's terms of every pair, row by row: image-to-text and text-to-image."""
    found = []
    for i, row in enumerate(scores):
        for t in range(len(row)):
            if not positives[i][t]:
                continue
            captions = [c for c in range(len(row)) if not positives[i][c]]
            images = [j for j in range(len(scores)) if not positives[j][t]]
            pair = [0.0, 0.0]
            pick = max if closest else min
            if captions:
                m = pick(captions, key=lambda c: row[c])
                pair[0] = max(0.0, min(1.0, (phi[i][t] - phi[i][m]) / tau) + row[m] - row[t])
            if images:
                other = pick(images, key=lambda j: scores[j][t])
                theirs = [phi[i][c] for c in range(len(row)) if own[c] == other]
                mean = sum(theirs) / len(theirs) if theirs else 0.0
                pair[1] = max(0.0, min(1.0, (phi[i][t] - mean) / tau) + scores[other][t] - row[t])
            found.append(pair)
    return found


def average_semantic_precision(scores: Matrix, relevance: Matrix, temperature: float) -> float:
    """DAA's differentiable ASP, query by query and candidate by candidate."""

    def rank(row, c):
        return 1 + sum(
            1 / (1 + math.exp(-(row[o] - row[c]) / temperature)) for o in range(len(row)) if o != c
        )

    ratios = []
    for s, y in zip(scores, relevance, strict=True):
        for c in range(len(s)):
            a, b = rank(s, c), rank(y, c)
            ratios.append(min(a, b) / max(a, b))
    return sum(ratios) / len(ratios)


def divergence(image: Matrix, text: Matrix, to_text: Matrix, to_image: Matrix) -> float:
    """HREM: of learnt relevance from ``exp(-|v - t|)``, mean over rows, both directions summed."""
    guide = [[math.exp(-math.dist(v, u)) for u in text] for v in image]
    turned = [[row[t] for row in guide] for t in range(len(text))]
    total = 0.0
    for learnt, target in ((to_text, guide), (to_image, turned)):
        for row, wanted in zip(learnt, target, strict=True):
            p, q = [[math.exp(x) / sum(map(math.exp, side)) for x in side] for side in (row, wanted)]
            total += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)) / len(learnt)
    return total
