"""NCS, Semantic Recall, ASP, PMRP and correlations as loops over queries and items, written from their
definitions.

``grades[q][g]`` may be ``None``: not judged, the item is taken out of the lists. No line is shared with the
package.
"""

import math


def lists(scores, grades, removed=()):
    """Two orders of the items that are listed: by score (a tie: the smaller grade, then the later item
    first), and by grade."""
    items = [g for g in range(len(grades)) if grades[g] is not None and g not in removed]
    by_score = sorted(items, key=lambda g: (-scores[g], grades[g], -g))
    by_grade = sorted(items, key=lambda g: (-grades[g], g))
    return by_score, by_grade


def ncs(scores, grades, k, removed=()):
    found, best = lists(scores, grades, removed)
    ideal = sum(grades[g] for g in best[:k])
    return sum(grades[g] for g in found[:k]) / ideal if ideal else 0.0


def ncs_top(scores, grades, k, m, removed=()):
    found, best = lists(scores, grades, removed)
    extended = best[:m]
    ideal = sum(grades[g] for g in extended)
    return sum(grades[g] for g in found[:k] if g in extended) / ideal if ideal else None


def semantic_recall(scores, grades, k, m, removed=()):
    found, best = lists(scores, grades, removed)
    relevant = [g for g in best[:m] if grades[g] > 0]
    return sum(g in relevant for g in found[:k]) / len(relevant) if relevant else None


def recall_of_set(scores, relevant, k, removed=()):
    """Share of a set among the K best; of equal scores an item outside the set comes first."""
    relevant = [g for g in relevant if g not in removed]
    items = [g for g in range(len(scores)) if g not in removed]
    order = sorted(items, key=lambda g: (-scores[g], g in relevant))
    return sum(g in relevant for g in order[:k]) / len(relevant) if relevant else None


def voted_images(phi, own, image, m, ballots=30, gone=False):
    """``phi[i][t]``: the m images with the most votes of an image's captions; ``gone``: itself aside."""
    box = [0.0] * len(phi)
    for t in range(len(own)):
        if own[t] == image:
            best = sorted(range(len(phi)), key=lambda i: (-phi[i][t], i))[:ballots]
            for i in best:
                box[i] += phi[i][t]
    others = [i for i in range(len(phi)) if not (gone and i == image)]
    return sorted(others, key=lambda i: (-box[i], i))[:m]


def asp(scores, grades):
    """Equal grades stand in the order of the scores; of equal scores the smaller grade comes first."""
    found, _ = lists(scores, grades)
    by_grade = []
    for value in sorted({grades[g] for g in found}, reverse=True):
        by_grade += [g for g in found if grades[g] == value]
    shares = []
    for g in found:
        a, b = found.index(g) + 1, by_grade.index(g) + 1
        shares.append(min(a, b) / max(a, b))
    return sum(shares) / len(shares) if shares else None


def pmrp(scores, query_code, codes, zeta):
    """R-precision; plausible = Hamming distance at most zeta; of equal scores the larger distance comes
    first."""
    far = [sum(a != b for a, b in zip(query_code, code)) for code in codes]
    total = sum(d <= zeta for d in far)
    order = sorted(range(len(codes)), key=lambda g: (-scores[g], -far[g]))
    return sum(far[g] <= zeta for g in order[:total]) / total if total else None


def pearson(x, y):
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    sxy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    sxx, syy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in y)
    return sxy / math.sqrt(sxx * syy) if sxx and syy else None


def average_ranks(values):
    return [1 + sum(v < x for v in values) + (sum(v == x for v in values) - 1) / 2 for x in values]


def spearman(x, y):
    return pearson(average_ranks(x), average_ranks(y))


def tau(first, second):
    """Share of pairs in the same order less the share in the opposite order; a pair tied in either counts
    0."""
    total, pairs = 0, 0
    for a in range(len(first)):
        for b in range(a):
            one, two = first[a] - first[b], second[a] - second[b]
            total += ((one > 0) - (one < 0)) * ((two > 0) - (two < 0))
            pairs += 1
    return total / pairs
