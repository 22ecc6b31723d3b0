"""Step 2, what a caption says of itself as a picture, "an aerial view of": it is left out."""

from caption_graphs.looks import NOTHING, Folded
from caption_graphs.vocabulary import FINITE, Word, known, word_at

# what may stand before pictures that are many, "a series of photos"
_MANY = known.seen | known.articles
# what ends the beginning of a caption
_GOES_ON = frozenset({"with", "on", "in", "at", "near", "holding"})


def opening_frame(words: list[str]) -> int:
    """Return how many words at the beginning only name the picture.

    >>> opening_frame("a collage of photos of a dog".split()), opening_frame("a dog in a photo".split())
    (5, 0)
    """
    for i, word in enumerate(words[:7]):
        opens = word in known.articles or word.endswith("ing")
        if i and opens and words[0] not in ("this", "here", "there", "it"):
            break
        # "three men take pictures of a dog" -> 0
        if word in known.frames and word.endswith("s") and not _MANY.issuperset(words[:i]):
            break
        if length := _count_frame_words(words, i):
            # "a collage of | photos of"
            return length + (opening_frame(words[length:]) if word_at(words, length) in known.frames else 0)
        if word in _GOES_ON:
            break
    return 0


def _count_frame_words(words: list[str], at: int) -> int:
    """Return how many words of a caption only frame it, where the word at a position may name the picture."""
    word, after = words[at], word_at(words, at + 1)
    then = word_at(words, at + 2)
    if word == "scene":
        plain = known.pictorial.issuperset(words[:at]) and after in ("of", "with")
        return at + 2 if plain else 0
    if word not in known.frames and words[max(at - 1, 0) : at + 1] != ["close", "up"]:
        return 0
    if (after, then) == ("is", "of"):
        return at + 3
    bare = known.seen | known.pictorial >= {*words[:at]}
    taken = bare and after == "taken" and then not in known.particles | {"by"}
    seen = bare and (word, after) == ("view", "from")
    return at + 2 if taken or seen or after in known.showing or (after == "of" and then != "") else 0


def closing_frame(words: list[str], at: int) -> Folded:
    """Return what is said of the picture after what it shows: "the people | in the photo | are", "a boy
    running | , blurry picture"; "we see" also after a place.
    """
    if words[at : at + 2] == ["we", "see"]:
        return 2, [Word("there"), Word("is")]
    thing, after = word_at(words, at + 2), word_at(words, at + 3, ".")
    here = words[at] == "in" and word_at(words, at + 1) in ("the", "this")
    ends = after in FINITE | {"as"} or not after[0].isalnum()
    if here and (
        (thing in known.pictured and at and ends) or (words[at + 1] == "this" and thing in known.frames)
    ):
        return 3, []
    if at == 0 or words[at] not in ("in", ","):
        return NOTHING
    between = {*words[at + 1 : -1]}
    pictured = words[-1] in known.pictured and known.pictorial >= between
    # but not "a couch, a lamp, and a picture"
    pictured &= words[at] == "in" or not between & (known.articles | {"and"})
    old = words[at:] == ["in", "black", "and", "white"] and words[at - 1] in known.places | known.framed
    return (len(words) - at, []) if pictured or old else NOTHING
