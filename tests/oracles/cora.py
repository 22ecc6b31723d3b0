"""Slow loops for the graph encoder and CORA's losses, written from the paper and its released code's
rules."""

from __future__ import annotations

import math


def product(matrix, vector):
    """A matrix, a list of rows, times a vector."""
    return [sum(w * x for w, x in zip(row, vector, strict=True)) for row in matrix]


def attention(nodes, adjacent, w_target, w_source, w_value, affinity, bias):
    """One head: for every node the weights over all nodes (0 where not adjacent) and the weighted sum of
    values."""
    everybody = range(len(nodes))
    weights, sums = [], []
    for i in everybody:
        scores = {}
        for j in everybody:
            if adjacent[i][j]:
                pair = [
                    a + b
                    for a, b in zip(product(w_target, nodes[i]), product(w_source, nodes[j]), strict=True)
                ]
                bent = [x if x > 0 else 0.2 * x for x in pair]
                scores[j] = sum(a * x for a, x in zip(affinity, bent, strict=True)) + bias
        powers = {j: math.exp(score) for j, score in scores.items()}
        row = [powers.get(j, 0.0) / sum(powers.values()) for j in everybody]
        values = [product(w_value, node) for node in nodes]
        weights.append(row)
        sums.append([sum(row[j] * values[j][d] for j in everybody) for d in range(len(values[0]))])
    return weights, sums


def edge_context(entities, relations, active, passive, mean):
    """What is added to each entity; ``relations`` are (subject, vector, object), ``active`` and ``passive``
    functions."""
    out = []
    for i, own in enumerate(entities):
        first = [active([*r, *entities[o]]) for s, r, o in relations if s == i]
        second = [passive([*r, *own]) for s, r, o in relations if o == i]
        groups = [first, second] if mean == "roles" else [first + second]
        total = [0.0] * len(own)
        for group in groups:
            for d in range(len(own)):
                total[d] += sum(row[d] for row in group) / len(group) if group else 0.0
        out.append(total)
    return out


def says(entity, caption):
    """Whether a caption has an object of the entity's name with all its attributes; both are (name, set of
    attributes)."""
    return any(
        name == entity[0] and all(attribute in attributes for attribute in entity[1])
        for name, attributes in caption
    )


def contrastive(scores, positives, tau):
    """Mean over the rows of the mean over their positives of -log(own / (own + negatives))."""
    rows = []
    for row, belongs in zip(scores, positives, strict=True):
        terms = []
        for score, own in zip(row, belongs, strict=True):
            if own:
                others = sum(math.exp(s / tau) for s, other in zip(row, belongs, strict=True) if not other)
                terms.append(-math.log(math.exp(score / tau) / (math.exp(score / tau) + others)))
        rows.append(sum(terms) / len(terms))
    return sum(rows) / len(rows)


def specificity(scores, entity_scores, own, owner, margin):
    """Mean over the entities of how far each comes within the margin of its caption, at its caption's
    image."""
    terms = []
    for entity, caption in enumerate(owner):
        image = own[caption]
        terms.append(max(0.0, margin + entity_scores[image][entity] - scores[image][caption]))
    return sum(terms) / len(terms)


def reranked(scores, entity_scores, owner, beta):
    """beta s + (1 - beta) min over the caption's entities; captions without entities stay."""
    out = []
    for i, row in enumerate(scores):
        line = []
        for t, score in enumerate(row):
            of_caption = [entity_scores[i][e] for e, caption in enumerate(owner) if caption == t]
            line.append(beta * score + (1 - beta) * min(of_caption) if of_caption else score)
        out.append(line)
    return out
