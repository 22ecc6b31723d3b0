"""CIDEr and tuple F1 of one caption against one image as loops over n-grams and tuples; no line is shared
with the package."""

from __future__ import annotations

import math
from collections import Counter


def ngrams(caption: str, n: int) -> Counter:
    words = caption.lower().split()
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def cider(
    hypothesis: str,
    references: list[str],
    corpus: list[list[str]],
    variant: str = "cider-d",
    sigma: float = 6.0,
) -> float:
    """The corpus is a list of images, each a list of captions."""

    def weights(caption, n):
        made = {}
        for gram, count in ngrams(caption, n).items():
            holding = sum(any(gram in ngrams(text, n) for text in image) for image in corpus)
            made[gram] = count * (math.log(len(corpus)) - math.log(max(1, holding)))
        return made

    total = 0.0
    for reference in references:
        for n in (1, 2, 3, 4):
            a, b = weights(hypothesis, n), weights(reference, n)
            norms = math.sqrt(sum(x * x for x in a.values())) * math.sqrt(sum(x * x for x in b.values()))
            if norms == 0:
                continue
            clipped = variant == "cider-d"
            shared = sum(
                (min(a[gram], b[gram]) if clipped else a[gram]) * b[gram] for gram in a.keys() & b.keys()
            )
            lengths = [max(len(text.split()) - 1, 0) for text in (hypothesis, reference)]
            penalty = math.exp(-((lengths[0] - lengths[1]) ** 2) / (2 * sigma**2)) if clipped else 1
            total += penalty * shared / norms / 4
    return 10 * total / len(references) if references else 0.0


def tuple_f1(candidate, references, synonyms=()) -> float:
    """F1 of two lists of tuples, by walking over the graphs."""

    def same(name):
        return next((sorted(names)[0] for names in synonyms if name in names), name)

    def listed(graphs):
        found = []
        for graph in graphs:
            names = [same(name) for name in graph.objects]
            found += [(name,) for name in names]
            found += [(names[node], same(attribute)) for node, attribute in graph.attributes]
            found += [(names[s], same(relation), names[o]) for s, relation, o in graph.relations]
        return [one for place, one in enumerate(found) if one not in found[:place]]

    mine, theirs = listed([candidate]), listed(references)
    matched = len([one for one in mine if one in theirs])
    if matched == 0:
        return 0.0
    precision, recall = matched / len(mine), matched / len(theirs)
    return 2 * precision * recall / (precision + recall)
