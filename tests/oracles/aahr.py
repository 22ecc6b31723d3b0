"""AAHR written out as loops over plain lists, from the paper; no line is shared with the package."""

from __future__ import annotations

import math


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def unit(a):
    length = math.sqrt(dot(a, a))
    return [x / length for x in a]


def softmax(values):
    top = max(values)
    powers = [math.exp(v - top) for v in values]
    return [p / sum(powers) for p in powers]


def sinkhorn(scores, epsilon, iterations):
    """SwAV's own order: the whole sums to 1, then prototypes share alike, then samples do."""
    samples, prototypes = len(scores), len(scores[0])
    q = [[math.exp(v / epsilon) for v in row] for row in scores]
    total = sum(map(sum, q))
    q = [[v / total for v in row] for row in q]
    for _ in range(iterations):
        column = [sum(row[k] for row in q) for k in range(prototypes)]
        q = [[row[k] / column[k] / prototypes for k in range(prototypes)] for row in q]
        q = [[v / sum(row) / samples for v in row] for row in q]
    return [[v * samples for v in row] for row in q]


def alignment(image, text, prototypes, tau, epsilon, iterations, printed):
    """Mean over pairs of both swapped cross-entropies; rows of ``image`` and ``text`` are pairs."""
    prototypes = [unit(p) for p in prototypes]
    sides = [[[dot(row, p) for p in prototypes] for row in side] for side in (image, text)]
    if printed:
        sides = [[softmax(row) for row in side] for side in sides]
    targets = [sinkhorn(side, epsilon, iterations) for side in sides]
    total = 0.0
    for side, other in ((0, 1), (1, 0)):
        for row, target in zip(sides[side], targets[other], strict=True):
            shares = softmax([v / tau for v in row])
            total -= sum(t * math.log(s) for t, s in zip(target, shares, strict=True))
    return total / len(image)


def turned(image, text, prototypes, tau, epsilon, iterations, *, step):
    """Unit prototypes after one step of plain descent on the swapped cross-entropies, made unit vectors
    again; scores are dot products and targets constants."""
    sides = [[[dot(row, p) for p in prototypes] for row in side] for side in (image, text)]
    targets = [sinkhorn(side, epsilon, iterations) for side in sides]
    moved = [list(p) for p in prototypes]
    for side, other, samples in ((0, 1, image), (1, 0, text)):
        for row, target, sample in zip(sides[side], targets[other], samples, strict=True):
            shares = softmax([v / tau for v in row])
            for k, (share, t) in enumerate(zip(shares, target, strict=True)):
                slope = (share - t) / tau / len(samples)
                moved[k] = [m - step * slope * x for m, x in zip(moved[k], sample, strict=True)]
    return [unit(p) for p in moved]


def contrast(anchors, ids, batch, batch_ids, old, old_ids, tau):
    """Mean over anchors of the mean over their positives; ``old`` is what stays of the bank when the batch is
    in it."""
    terms = []
    for anchor, number in zip(anchors, ids, strict=True):
        negatives = [key for key, other in [*zip(batch, batch_ids), *zip(old, old_ids)] if other != number]
        below = sum(math.exp(dot(anchor, key) / tau) for key in negatives)
        own = []
        for key, other in zip(batch, batch_ids, strict=True):
            if other == number:
                above = math.exp(dot(anchor, key) / tau)
                own.append(-math.log(above / (above + below)))
        terms.append(sum(own) / len(own))
    return sum(terms) / len(terms)


def cross(image, image_mask, text, text_mask):
    """S_IT by image and caption, S_TI by caption and image."""
    to_text = [[0.0] * len(text) for _ in image]
    to_image = [[0.0] * len(image) for _ in text]
    for i in range(len(image)):
        regions = [unit(r) for r, real in zip(image[i], image_mask[i], strict=True) if real]
        for t in range(len(text)):
            words = [unit(w) for w, real in zip(text[t], text_mask[t], strict=True) if real]
            to_text[i][t] = sum(max(dot(r, w) for w in words) for r in regions) / len(regions)
            to_image[t][i] = sum(max(dot(r, w) for r in regions) for w in words) / len(words)
    return to_text, to_image


def graph(image, text, to_text, to_image, epsilon):
    """The whole similarity matrix, images first."""

    def near(a, b):
        return math.exp(-sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / epsilon)

    rows = [[near(a, b) for b in image] + to_text[i] for i, a in enumerate(image)]
    return rows + [to_image[t] + [near(a, b) for b in text] for t, a in enumerate(text)]


def convolved(similarity, hidden, weight):
    """One graph convolution; ``weight[o]`` are the weights of output ``o``."""
    n = len(similarity)
    positive = [[max(v, 0.0) for v in row] for row in similarity]
    degree = [sum(row) for row in positive]
    mapped = [[dot(w, h) for w in weight] for h in hidden]
    out = []
    for i in range(n):
        shares = [positive[i][j] / math.sqrt(degree[i] * degree[j]) for j in range(n)]
        row = [sum(shares[j] * mapped[j][d] for j in range(n)) for d in range(len(weight))]
        out.append([v if v >= 0 else 0.01 * v for v in row])
    return out


def bias(similarity, images, alpha):
    """alpha * S from the median of each block up; ``None`` where a node is not heard."""
    n = len(similarity)
    parts = [range(images), range(images, n)]
    out = [[None] * n for _ in range(n)]
    for rows in parts:
        for columns in parts:
            values = sorted(similarity[i][j] for i in rows for j in columns)
            middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
            for i in rows:
                for j in columns:
                    if similarity[i][j] >= middle or i == j:
                        out[i][j] = alpha * similarity[i][j]
    return out


def attended(query, key, value, added):
    """One head of attention with an additive bias."""
    width = len(query[0])
    out = []
    for i, q in enumerate(query):
        heard = [j for j in range(len(key)) if added[i][j] is not None]
        shares = softmax([dot(q, key[j]) / math.sqrt(width) + added[i][j] for j in heard])
        out.append(
            [sum(s * value[j][d] for s, j in zip(shares, heard, strict=True)) for d in range(len(value[0]))]
        )
    return out


def guided(guide, parts, mask, of_guide, of_parts):
    """GGLA: mean over maps of cosines, softmax over real parts, weighted sum of the parts as they are."""
    real = [p for p, here in zip(parts, mask, strict=True) if here]
    cosines = []
    for part in real:
        each = []
        for a, b in zip(of_guide, of_parts, strict=True):
            left, right = unit([dot(row, guide) for row in a]), unit([dot(row, part) for row in b])
            each.append(dot(left, right))
        cosines.append(sum(each) / len(each))
    shares = softmax(cosines)
    return shares, [sum(s * p[d] for s, p in zip(shares, real, strict=True)) for d in range(len(guide))]


def two_largest(parts, mask):
    """The mean of the two largest values of each coordinate over the real parts of one item."""
    real = [p for p, here in zip(parts, mask, strict=True) if here]
    columns = [sorted((p[d] for p in real), reverse=True)[:2] for d in range(len(real[0]))]
    return [sum(column) / len(column) for column in columns]


def valued(guide, parts, heard, query, key, value):
    """GGLA with heads: each of ``query``, ``key`` and ``value`` holds a matrix and a bias a head."""

    def mapped(pair, x):
        matrix, bias = pair
        return [dot(row, x) + b for row, b in zip(matrix, bias, strict=True)]

    total = [0.0] * len(guide)
    for q, k, v in zip(query, key, value, strict=True):
        asked = unit(mapped(q, guide))
        some = [p for p, here in zip(parts, heard, strict=True) if here]
        shares = softmax([dot(asked, unit(mapped(k, p))) for p in some])
        for share, part in zip(shares, some, strict=True):
            total = [t + share * x / len(query) for t, x in zip(total, mapped(v, part), strict=True)]
    return total


def scan_relevance(image, image_mask, text, text_mask):
    """S_IT and S_TI of the released code."""
    of_regions, of_words = scan_matches(image, image_mask, text, text_mask)
    to_text = [[sum(best) / len(best) for best in row] for row in of_regions]
    of_image = [[sum(best) / len(best) for best in row] for row in of_words]
    return to_text, [list(column) for column in zip(*of_image, strict=True)]


def scan_matches(image, image_mask, text, text_mask):
    """Of every image and caption, how well its best match fits each real region, and each real word."""
    of_regions = [[[] for _ in text] for _ in image]
    of_words = [[[] for _ in text] for _ in image]
    for i in range(len(image)):
        regions = [unit(r) for r, real in zip(image[i], image_mask[i], strict=True) if real]
        for t in range(len(text)):
            words = [unit(w) for w, real in zip(text[t], text_mask[t], strict=True) if real]
            a = [[(c if c >= 0 else 0.1 * c) for c in (dot(r, w) for w in words)] for r in regions]
            by_word = [math.sqrt(sum(row[w] ** 2 for row in a)) for w in range(len(words))]
            by_region = [math.sqrt(sum(v**2 for v in row)) for row in a]
            of_regions[i][t] = [max(row[w] / by_word[w] for w in range(len(words))) for row in a]
            of_words[i][t] = [
                max(a[r][w] / by_region[r] for r in range(len(regions))) for w in range(len(words))
            ]
    return of_regions, of_words


def learnt(matches, layers, best):
    """HREM: the mean of the matches and a function of the ``best`` largest; ``layers`` are weights and bias
    of both maps.
    """
    (first, shift), (last, end) = layers
    chosen = sorted(matches, reverse=True)[:best] + [0.0] * (best - len(matches))
    hidden = [max(dot(row, chosen) + b, 0.0) for row, b in zip(first, shift, strict=True)]
    return sum(matches) / len(matches) + dot(last[0], hidden) + end[0]


def released_convolution(relevance, hidden, weight, bias):
    """``LeakyReLU(A X W + b)`` at slope .2; ``weight[o]`` are the weights of output ``o``."""
    n = len(relevance)
    mapped = [[dot(w, h) for w in weight] for h in hidden]
    out = []
    for i in range(n):
        row = [sum(relevance[i][j] * mapped[j][d] for j in range(n)) + bias[d] for d in range(len(weight))]
        out.append([v if v >= 0 else 0.2 * v for v in row])
    return out


def near(vectors):
    """``exp(-|a - b|)`` of all pairs."""
    return [[math.exp(-math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))) for b in vectors] for a in vectors]


def row_bias(relevance, images, alpha):
    """alpha * S for the upper half of each row of each block; ``None`` elsewhere."""
    n = len(relevance)
    out = [[None] * n for _ in range(n)]
    for i in range(n):
        for columns in (range(images), range(images, n)):
            values = sorted(relevance[i][j] for j in columns)
            middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
            for j in columns:
                if relevance[i][j] >= middle or i == j:
                    out[i][j] = alpha * relevance[i][j]
    return out


def bank_contrast(anchors, own, bank, tau):
    """Mean of ``-log softmax`` of the own key among itself and the bank."""
    total = 0.0
    for anchor, key in zip(anchors, own, strict=True):
        logits = [dot(anchor, key) / tau, *(dot(anchor, other) / tau for other in bank)]
        total -= math.log(softmax(logits)[0])
    return total / len(anchors)
