"""DIAS and its sampling written out as loops over plain lists; no line is shared with the package."""

from __future__ import annotations

import math


def draw_probabilities(sims, positives, cutoff, n=512):
    """Chances of one anchor's candidates, from distances."""
    logs = []
    for s, own in zip(sims, positives, strict=True):
        d = math.sqrt(max(2 - 2 * s, 0.0))
        if own or d >= cutoff:
            logs.append(None)
        else:
            d = max(d, 0.5)
            logs.append((2 - n) * math.log(d) - (n - 3) / 2 * math.log(1 - d * d / 4))
    present = [value for value in logs if value is not None]
    if not present:
        return [0.0] * len(sims)
    weights = [0.0 if value is None else math.exp(value - max(present)) for value in logs]
    return [weight / sum(weights) for weight in weights]


def cosine(a, b):
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths


def correlation(image, text):
    """Cosines of columns."""
    columns = [[[row[d] for row in rows] for d in range(len(rows[0]))] for rows in (image, text)]
    return [[cosine(v, t) for t in columns[1]] for v in columns[0]]


def alignment(c, printed):
    total = 0.0
    for i in range(len(c)):
        row = [c[i][j] for j in range(len(c))]
        column = [c[j][i] for j in range(len(c))]
        if not printed:
            row, column = [abs(x) for x in row], [abs(x) for x in column]
        total -= c[i][i] / sum(row) + c[i][i] / sum(column)
    return total


def sparse_constraint(difference, beta_rows, beta_columns, *, printed=False, diagonal=False):
    """Sum of kept squares, and which entries are kept."""
    n = len(difference)
    p = [[1 / (1 + math.exp(abs(x))) for x in row] for row in difference]

    def threshold(values, beta):
        mean = sum(values) / len(values)
        return mean + beta * math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))

    kept, total = [], 0.0
    for i in range(n):
        for j in range(n):
            row = [p[i][k] for k in range(n) if diagonal or k != i]
            column = [p[k][j] for k in range(n) if diagonal or k != j]
            value = abs(difference[i][j]) if printed else p[i][j]
            if (diagonal or i != j) and value > max(
                threshold(row, beta_rows), threshold(column, beta_columns)
            ):
                kept.append((i, j))
                total += difference[i][j] ** 2
    return total, kept


def attention(sims, temperature=0.1):
    """Softmax of one part's cosines with the parts of the other side."""
    weights = [math.exp(s / temperature) for s in sims]
    return [weight / sum(weights) for weight in weights]


def mixed(weights, vectors):
    return [sum(w * v[d] for w, v in zip(weights, vectors, strict=True)) for d in range(len(vectors[0]))]


def mean(vectors):
    return [sum(v[d] for v in vectors) / len(vectors) for d in range(len(vectors[0]))]


def cross_score(regions, words):
    """Eqs. 1-2 for one pair, real parts only."""
    of_words = [mixed(attention([cosine(r, w) for w in words]), words) for r in regions]
    of_regions = [mixed(attention([cosine(r, w) for r in regions]), regions) for w in words]
    return cosine(mean(of_words), mean(of_regions))


def chan_score(regions, words):
    best = [max(cosine(r, w) for r in regions) for w in words]
    return sum(best) / len(best)


def scan_score(asking, asked, focus):
    """Stacked cross attention of one pair: the mean over those that ask of the cosine with what each sees."""
    table = [[max(cosine(p, q), 0) for p in asking] for q in asked]
    table = [[s / (math.sqrt(sum(x * x for x in row)) or 1) for s in row] for row in table]
    found = []
    for p in range(len(asking)):
        weights = [math.exp(focus * row[p]) for row in table]
        found.append(cosine(asking[p], mixed([w / sum(weights) for w in weights], asked)))
    return sum(found) / len(found)
