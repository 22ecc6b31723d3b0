"""Step 1: misspelt words of a caption are put right where it is obvious what is meant: "a feild" is a field.

Slips that captions are known to make are listed with what is meant (``assets/spelling.toml``).
Another word is misspelt if neither the dictionary of spaCy's lemmatiser knows it, in any form, nor the words
that captions use. The word of captions that is one slip away, a letter put in, left out, changed or swapped
with its neighbour, and begins alike takes its place; of several the most frequent. Where there is none, or
the word has fewer than five letters, it stays as it is.

Some slips are words themselves: "a brow and white dog". A word that has been seen to be such a slip is read
as what is meant where that is likelier between its neighbours than the word itself, or where a thing would do
what only the living do: "a white puddle wearing a coat".

Source: that most slips are single is Damerau, "A technique for computer detection and correction of spelling
errors", Communications of the ACM 7, 1964; that neighbours tell of slips that are words, Mays, Damerau and
Mercer, "Context based spelling correction", Information Processing & Management 27, 1991.
"""

import tomllib
from collections.abc import Iterator, Set
from difflib import get_close_matches
from functools import cache, lru_cache
from math import log
from string import ascii_lowercase
from zlib import crc32

from safetensors.numpy import load_file

from caption_graphs import tree, wording
from caption_graphs.naming import SIZES
from caption_graphs.vocabulary import ASSETS, known, word_at

SHORTEST = 5  # a shorter word is too often a name: elsa, ipad
# what may be taken from the end of a word, and put there, to find its dictionary form
ENDINGS = (
    ("s", ""),
    ("es", ""),
    ("ed", ""),
    ("d", ""),
    ("er", ""),
    ("r", ""),
    ("est", ""),
    ("st", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ies", "y"),
    ("ied", "y"),
    ("ier", "y"),
    ("iest", "y"),
)
TINY = 2  # letters of words such as "no", which are not among those that captions use
NEAR = 3  # words that are offered for one that captions do not use
ALIKE = 0.66  # how alike they are at least, as difflib has it: "dgo" and "dog" share two letters of three
NEIGHBOURS = ASSETS / "neighbours.safetensors"
UNSEEN = 0.2  # added to how often two words stand next to each other, so that it is never nothing
_TABLES = tomllib.loads((ASSETS / "spelling.toml").read_text(encoding="utf-8"))
# words of captions with their rank
FREQUENT = {word: rank for rank, word in enumerate(_TABLES["frequent"].split())}
# known slips with what is meant
SLIPS: dict[str, str] = _TABLES["slips"]
# words that are slips in some places, with what may be meant and how much likelier it has to be there
DOUBTFUL: dict[str, dict[str, float]] = _TABLES["doubtful"]
# things whose name is a slip where they do what only the living do
ALIVE: dict[str, str] = _TABLES["alive"]


def corrected_words(caption: str) -> list[str]:
    """Return the words of a caption as ``wording.tokens`` gives them, misspelt ones put right.

    Raises:
        OSError: no English spaCy model is installed.

    >>> corrected_words("A brow dog runs acros a feild.")
    ['a', 'brown', 'dog', 'runs', 'across', 'a', 'field', '.']
    """
    written = corrected_alone(caption)
    right = written.copy()
    for at, word in enumerate(written):
        before, after = word_at(written, at - 1), word_at(written, at + 1)
        if word in DOUBTFUL:
            right[at] = meant_word(before, word, after)
        elif word in ALIVE and _is_done_by_living(before, after):
            right[at] = ALIVE[word]
    return right


def corrected_alone(caption: str) -> list[str]:
    """Return the words of a caption, each put right by itself."""
    return " ".join(map(spell, wording.tokens(caption))).split()


def _is_done_by_living(before: str, after: str) -> bool:
    """Return whether what stands between two words does what only the living do: "a white puddle |
    wearing".
    """
    described = before in known.colours | SIZES | {"colored"}
    return (
        described
        and after.endswith(("ing", "s"))
        and tree.lemma(after, "VERB") in known.lively | known.moving
    )


@lru_cache(maxsize=1 << 16)
def meant_word(before: str, word: str, after: str) -> str:
    """Return a word as it is meant between two others; ``""`` is the edge of a caption.

    >>> words = (("a", "brow", "and"), ("raised", "brow", "."), ("electronic", "devise", "."))
    >>> tuple(meant_word(*word) for word in words)
    ('brown', 'brow', 'device')
    """
    own = _log_likelihood(before, word, after)
    likelier = DOUBTFUL.get(word, {}).items()
    # the word itself, which stands first, remains where nothing gains
    gains = {word: 0.0} | {
        other: _log_likelihood(before, other, after) - own - least for other, least in likelier
    }
    return max(gains, key=gains.__getitem__)


def _log_likelihood(before: str, word: str, after: str) -> float:
    """Return the logarithm of how likely a word is between two others, but for what all words share there."""
    often = _word_counts().get
    beside = [often(word_number(*pair), 0) + UNSEEN for pair in ((before, word), (word, after))]
    return log(beside[0] * beside[1] / (often(word_number(word), 0) + 1))


def word_number(*words: str) -> int:
    """Return the number under which a word, or two next to each other, are counted."""
    return crc32(" ".join(words).encode())


@cache
def _word_counts() -> dict[int, int]:
    """Return how often words of captions, and two next to each other, were counted, by their number."""
    table = load_file(NEIGHBOURS)
    return dict(zip(table["numbers"].tolist(), table["counts"].tolist(), strict=True))


@cache
def spell(word: str) -> str:
    """Return a lower-case word as it is meant; where two were run together, both.

    >>> spell("cemetary"), spell("bicyle"), spell("lookingin"), spell("frisbee"), spell("qwxz")
    ('cemetery', 'bicycle', 'looking in', 'frisbee', 'qwxz')
    """
    return SLIPS.get(word) or guess_word(word)


def guess_word(word: str) -> str:
    """Return the most frequent word of captions that is one slip away from one that looks misspelt and is no
    known slip; else the word itself.
    """
    plain = len(word) >= SHORTEST and word.isascii() and word.isalpha()
    if not plain or word in FREQUENT or _in_dictionary(word):
        return word
    near = [other for other in _one_slip_away(word) if other in FREQUENT and other[0] == word[0]]
    return min(near, key=FREQUENT.__getitem__, default=word)


def unusual_words(caption: str, usual: Set[str] = frozenset()) -> dict[str, tuple[str, ...]]:
    """Return the words of a caption that captions do not use, each with those near to it, one slip away
    first.

    Args:
        caption: any text.
        usual: lower-case words that are usual besides.
    """
    parts = " ".join(wording.tokens(caption)).replace("-", " ").split()
    strange = (word for word in parts if word.isalpha() and len(word) > TINY and word not in usual)
    return {word: _near_words(word, frozenset(usual)) for word in strange if word not in FREQUENT}


@lru_cache(maxsize=1 << 10)
def _near_words(word: str, usual: Set[str]) -> tuple[str, ...]:
    known = FREQUENT.keys() | usual
    slips = sorted(
        known.intersection(_one_slip_away(word)), key=lambda other: FREQUENT.get(other, len(FREQUENT))
    )
    alike = get_close_matches(word, sorted(known), NEAR, ALIKE)
    return tuple(dict.fromkeys([*slips[:NEAR], *alike]))[:NEAR]


def _in_dictionary(word: str) -> bool:
    """Return whether the dictionary has a word or what it may be a form of."""
    forms = {word[: -len(end)] + put for end, put in ENDINGS if word.endswith(end)}
    return not tree.dictionary().isdisjoint(forms | {word})


def _one_slip_away(word: str) -> Iterator[str]:
    """Yield all that is one slip away from a word."""
    for i in range(len(word) + 1):
        before, after = word[:i], word[i:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in ascii_lowercase:
            yield before + letter + after
            yield before + letter + after[1:]
