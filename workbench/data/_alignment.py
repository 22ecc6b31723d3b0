"""Whether captions stand at their own images, told from the captions alone."""

from __future__ import annotations

import re

from workbench.data._rows import Row

# Of COCO's and Flickr8k's captions 93 % and 96 % share more words with their own image's than with the next
# image's, of shuffled ones 31 % and 41 %, and of COCO's moved by one line 76 %.
SIBLINGS, LEAST, SAMPLE = 0.8, 50, 500
WORD = re.compile(r"[a-z]+")
COMMON = frozenset(["a", "an", "the", "of", "in", "on", "with", "and", "is", "are", "to", "at"])


def check_order(name: str, rows: list[Row]) -> None:
    """Refuse captions that are not those of the images they stand at: captions of one image share words.

    Args:
        name: of the split, for the message.
        rows: captions; fewer than 50 images, or an image with a single caption, tell nothing and pass.

    Raises:
        ValueError: too few captions are like the others of their image; the message names file, expected and
            found.
    """
    blocks: dict[str, list[str]] = {}
    for row in rows:
        blocks.setdefault(row.image, []).append(row.caption)
    images = list(blocks.values())
    if len(images) < LEAST or min(map(len, images)) < 2:
        return
    right: list[bool] = []
    for n in range(0, len(images), max(1, len(images) // SAMPLE)):
        own, other = _words(images[n]), _words(images[n - 1])
        right += [
            _common(words, own[:t] + own[t + 1 :]) > _common(words, other) for t, words in enumerate(own)
        ]
    share = sum(right) / len(right)
    if share < SIBLINGS:
        raise ValueError(
            f"{name}, from {rows[0].where.split()[0]}: expected at least {SIBLINGS:.0%} of the captions to share more words with "
            f"the others of their image than with another image's, found {share:.0%}; the captions are shuffled or moved"
        )


def _words(captions: list[str]) -> list[set[str]]:
    return [set(WORD.findall(caption.lower())) - COMMON for caption in captions]


def _common(caption: set[str], others: list[set[str]]) -> float:
    return sum(len(caption & other) for other in others) / len(others)
