"""ARO's order sets: each caption of a test split against four shuffles of its own words.

Nouns are shuffled among their places and adjectives among theirs, or everything else, or the words within
each trigram, or the trigrams. A shuffle that gives the caption back is left out, since it is not false. The
authors draw their shuffles anew in each run; here they are drawn once, by the caption, so that two models are
asked the same.

Source: M. Yuksekgonul et al., When and why vision-language models behave like bags-of-words, ICLR 2023,
section 2.2, and its code: the caption is shuffled as it is written, and signs are taken away afterwards.
Departures: words are spaCy's in all four, where the authors' trigrams are of NLTK's; the draws are other
draws.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from caption_graphs.tree import plain_model

from workbench.records import require

NOUNS = ("NN", "NNS", "NNP", "NNPS")
ADJECTIVES = ("JJ", "JJR", "JJS")
SIGNS = re.compile(r"([.!\"()*#:;~])")
MOST_WORDS = 30
# of a trigram
SIZE = 3
Place = tuple[str, dict[str, Any]]


def shuffled(rows: Sequence[Place]) -> Iterator[Place]:
    """Yield each caption of each row with its shuffles, as ``caption`` and ``shuffles``.

    Args:
        rows: with ``image`` and a list ``caption``.

    Raises:
        ValueError: a row has no captions.
    """
    captions = []
    for where, row in rows:
        texts = row.get("caption")
        is_list = isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)
        require(is_list, f"{where} is malformed: caption is {texts!r:.40}, and no list of texts")
        for number, text in enumerate(texts or ()):
            captions.append((f"{where}, caption {number}", row, " ".join(text.split())))
    pipeline, _ = plain_model()
    with pipeline.select_pipes(enable=["tok2vec", "tagger"]):
        docs = pipeline.pipe((text for _, _, text in captions), batch_size=256)
        for (where, row, text), doc in zip(captions, docs, strict=True):
            words, tags = [token.text for token in doc], [token.tag_ for token in doc]
            variants = map(plain_words, shuffles(words, tags, zlib.crc32(text.encode())))
            true, in_order = plain_words(text), plain_words(" ".join(words))
            false = [variant for variant in dict.fromkeys(variants) if variant not in (true, in_order)]
            if false:
                yield where, {**row, "caption": true, "shuffles": false}


def plain_words(caption: str) -> str:
    """Return a caption in lower case, without signs, cut to thirty words, as ARO reads it.

    >>> plain_words("A man (left) rides.  ")
    'a man left rides'
    """
    words = SIGNS.sub(" ", caption.lower()).split()
    return " ".join(words[:MOST_WORDS])


def shuffles(words: Sequence[str], tags: Sequence[str], seed: int) -> list[str]:
    """Return the four shuffles of a caption, without repetition.

    Args:
        words: of the caption.
        tags: part of speech of each, as the Penn Treebank calls it.
        seed: of the draws.

    >>> shuffles(["a"], ["DT"], 0)
    ['a']
    """
    rng = np.random.default_rng(seed)
    tag = np.array(tags, dtype=object)
    nouns, adjectives = np.isin(tag, NOUNS), np.isin(tag, ADJECTIVES)
    trigrams = [list(words[first : first + SIZE]) for first in range(0, len(words), SIZE)]
    within = []
    for trigram in trigrams:
        within += rng.permutation(np.array(trigram, dtype=object)).tolist()
    among = []
    for number in rng.permutation(len(trigrams)):
        among += trigrams[number]
    named = _permute(_permute(words, nouns, rng), adjectives, rng)
    variants = [named, _permute(words, ~(nouns | adjectives), rng), within, among]
    return list(dict.fromkeys(" ".join(variant) for variant in variants))


def _permute(words: Sequence[str], mask: Any, rng: np.random.Generator) -> list[str]:
    """Return the words with those of a mask in another order."""
    out = np.array(words, dtype=object)
    out[mask] = rng.permutation(out[mask])
    return list(map(str, out))
