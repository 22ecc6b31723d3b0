"""Slow metrics, one query and one pair at a time, written from their definitions and sharing no code with the
package.

``scores`` and ``relevant`` are lists of rows, one row a query. A function returns one value a query, ``None``
where the query has no answer.
"""

import math


def reranked(scores, k, score):
    """Scores ``[query][item]`` whose best are scored again: an item is among the best where fewer than ``k``
    others of its query score more. The others keep their order, below."""
    whole = []
    for query, row in enumerate(scores):
        again = {item for item, value in enumerate(row) if sum(other > value for other in row) < k}
        order = sorted({value for item, value in enumerate(row) if item not in again}, reverse=True)
        new = [score(query, item) if item in again else None for item in range(len(row))]
        least = min(value for value in new if value is not None)
        places = [least - 1 - order.index(row[item]) if item not in again else 0 for item in range(len(row))]
        whole.append([places[item] if value is None else value for item, value in enumerate(new)])
    return whole


def worst_order(scores, goods):
    """Items from best to worst score; among equal scores the less relevant first. Insertion sort, comparing
    pairs."""
    placed = []
    for item in range(len(scores)):
        at = 0
        while at < len(placed):
            other = placed[at]
            before = scores[item] > scores[other] or (
                scores[item] == scores[other] and goods[item] < goods[other]
            )
            if before:
                break
            at += 1
        placed.insert(at, item)
    return placed


def ranks(scores, relevant):
    """1-based ranks of the relevant items, ascending."""
    order = worst_order(scores, [bool(r) for r in relevant])
    return [place for place, item in enumerate(order, start=1) if relevant[item]]


def hit(scores, relevant, k):
    return [
        None if not any(r) else float(any(place <= k for place in ranks(s, r)))
        for s, r in zip(scores, relevant)
    ]


def recall(scores, relevant, k):
    out = []
    for s, r in zip(scores, relevant):
        total = sum(bool(x) for x in r)
        out.append(None if not total else sum(place <= k for place in ranks(s, r)) / total)
    return out


def map_at_r(scores, relevant):
    out = []
    for s, r in zip(scores, relevant):
        total = sum(bool(x) for x in r)
        order = worst_order(s, [bool(x) for x in r])
        value = 0.0
        for k in range(1, total + 1):
            if r[order[k - 1]]:
                value += sum(bool(r[item]) for item in order[:k]) / k
        out.append(value / total if total else None)
    return out


def r_precision(scores, relevant):
    out = []
    for s, r in zip(scores, relevant):
        total = sum(bool(x) for x in r)
        top = worst_order(s, [bool(x) for x in r])[:total]
        out.append(sum(bool(r[item]) for item in top) / total if total else None)
    return out


def ndcg(scores, grades, k=None, exponential=False):
    """``grades`` may hold ``None``: not judged, the item is taken out of the list."""
    out = []
    for s, g in zip(scores, grades):
        kept = [item for item in range(len(g)) if g[item] is not None]
        s, g = [s[item] for item in kept], [g[item] for item in kept]
        gain = [2**x - 1 if exponential else x for x in g]
        order = worst_order(s, g)
        best = sorted(gain, reverse=True)
        depth = len(g) if k is None else min(k, len(g))
        found = sum(gain[order[p]] / math.log2(p + 2) for p in range(depth))
        ideal = sum(best[p] / math.log2(p + 2) for p in range(depth))
        out.append(found / ideal if ideal > 0 else None)
    return out


def kendall_tau(scores, grades):
    out = []
    for s, g in zip(scores, grades):
        right = wrong = 0
        for a in range(len(g)):
            for b in range(len(g)):
                if g[a] is None or g[b] is None or not g[a] > g[b]:
                    continue
                if s[a] > s[b]:
                    right += 1
                else:
                    wrong += 1
        out.append((right - wrong) / (right + wrong) if right + wrong else None)
    return out


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def far(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))


def radius_sweep(image, texts, names, root, steps=50):
    """Set of names found by the ball that grows around the root."""
    radii = [far(text, root) for text in texts]
    low, high = min(radii), max(radii)
    found = []
    for step in range(steps):
        threshold = low + (high - low) * step / (steps - 1) if step < steps - 1 else high
        inside = [row for row in range(len(texts)) if radii[row] <= threshold]
        best = inside[0]
        for row in inside:
            if dot(image, texts[row]) > dot(image, texts[best]):
                best = row
        found.append(names[best])
    return list(dict.fromkeys(found))


def traversal(image, texts, names, root, *, start, root_in_pool, steps=50):
    """Names found on the way from the image, or from its nearest text, to the root; the root's name is
    ``None``."""
    begin = image if start == "image" else max(texts, key=lambda text: dot(image, text))
    pool = [*zip(texts, names), *([(root, None)] if root_in_pool else [])]
    found = []
    for step in range(steps):
        t = step / (steps - 1)
        point = [(1 - t) * x + t * y for x, y in zip(begin, root)]
        length = math.sqrt(dot(point, point))
        point = [x / length for x in point]
        nearest = min(pool, key=lambda entry: far(point, entry[0]))
        found.append(nearest[1])
    return list(dict.fromkeys(found))


def nearest(query, gallery, k):
    """Rows of the ``k`` largest inner products; among equal ones the lower row first."""
    order = sorted(range(len(gallery)), key=lambda row: (-dot(query, gallery[row]), row))
    return order[:k]


def within(scores, rated, own, k):
    """Hits among all others of a kind; ``rated`` = pairs in either order, ``own`` = group of each item or
    ``None``."""
    out = []
    for query in range(len(scores)):
        others = [item for item in range(len(scores)) if item != query]
        relevant = []
        for item in others:
            pair = (query, item) in rated or (item, query) in rated
            relevant.append(pair or (own is not None and own[query] == own[item]))
        out += hit([[scores[query][item] for item in others]], [relevant], k)
    return out


def rates(scores, own, folds=1, ks=(1, 5, 10)):
    """``(direction, k)`` -> mean over the folds of the share of queries with a hit; ``"rsum"`` -> sum at 1,
    5, 10."""
    images = len(scores) // folds
    found = {}
    for fold in range(folds):
        rows = range(fold * images, (fold + 1) * images)
        captions = [t for t in range(len(own)) if own[t] in rows]
        i2t = (
            [[scores[i][t] for t in captions] for i in rows],
            [[own[t] == i for t in captions] for i in rows],
        )
        t2i = (
            [[scores[i][t] for i in rows] for t in captions],
            [[own[t] == i for i in rows] for t in captions],
        )
        for direction, (table, relevant) in (("i2t", i2t), ("t2i", t2i)):
            for k in ks:
                hits = hit(table, relevant, k)
                found[direction, k] = found.get((direction, k), 0) + sum(hits) / len(hits) / folds
    return found | {"rsum": sum(found[direction, k] for direction in ("i2t", "t2i") for k in (1, 5, 10))}


def counterfactual_accuracy(scores, own, pairs):
    """Mean over images of the share of pairs (caption, counterfactual) in the right order; equal: 1/2."""
    by_image = {}
    for caption, counterfactual in pairs:
        first, second = scores[own[caption]][caption], scores[own[caption]][counterfactual]
        right = 1 if first > second else 0.5 if first == second else 0
        by_image.setdefault(own[caption], []).append(right)
    return sum(sum(right) / len(right) for right in by_image.values()) / len(by_image)
