"""Descriptiveness of one caption as loops over words, from the paper; no line is shared with the package."""

from __future__ import annotations

import math


def tokens(caption: str) -> list[str]:
    """Words by walking over the characters: letters, digits, and an apostrophe with a letter on both
    sides."""
    found, word = [], ""
    text = caption.lower().replace("’", "'")
    for n, sign in enumerate(text):
        inside = sign == "'" and word and n + 1 < len(text) and text[n + 1].isalnum()
        if sign.isalnum() or inside:
            word += sign
        elif word:
            found.append(word)
            word = ""
    return [*found, word] if word else found


def descriptiveness(caption: str, pool: list[str], scorer: str) -> float:
    """Score before the scaling; a word outside the pool counts as if one sentence held it."""
    everyone = tokens(caption)
    holding = {w: max(1, sum(w in tokens(sentence) for sentence in pool)) for w in everyone}
    n, m = len(everyone), len(pool)
    if n == 0:
        return 0.0
    if scorer == "printed":
        return sum(everyone.count(w) / n * math.log(m / holding[w]) for w in set(everyone))
    if scorer == "printed_tokens":
        return sum(everyone.count(w) / n * math.log(m / holding[w]) for w in everyone)
    if scorer == "raw_sum":
        return sum(math.log(m / holding[w]) for w in everyone)
    vector = [everyone.count(w) * (math.log((1 + m) / (1 + holding[w])) + 1) for w in sorted(set(everyone))]
    return sum(vector) / math.sqrt(sum(x * x for x in vector))
