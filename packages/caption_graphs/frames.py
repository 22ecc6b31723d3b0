"""Step 2, what a caption says of itself as a picture, "an aerial view of": it is left out."""

from caption_graphs.looks import NOTHING, Folded
from caption_graphs.vocabulary import FINITE, Word, known

# what may stand before pictures that are many, "a series of photos"
_MANY = known.seen | known.articles
# what ends the beginning of a caption
_GOES_ON = frozenset({"with", "on", "in", "at", "near", "holding"})


def frame(words: list[str], at: int) -> Folded:
    """The beginning that says nothing: "an aerial view of", "a photo taken"."""
    if at:
        return NOTHING
    for i, word in enumerate(words[:7]):
        opened = word in known.articles or word.endswith("ing")
        if i and opened and words[0] not in ("this", "here", "there", "it"):
            break
        # "three men take pictures of a dog"
        if word in known.frames and word.endswith("s") and not _MANY.issuperset(words[:i]):
            break
        if length := _framed(words, i):
            inner = {*words[length : length + 1]} & known.frames
            # "a collage of | photos of"
            return length + (frame(words[length:], 0)[0] if inner else 0), []
        if word in _GOES_ON:
            break
    return NOTHING


def _framed(words: list[str], at: int) -> int:
    """How many words of a caption only frame it, where the word at a place may name the picture."""
    word, after, then = (*words[at : at + 3], "", "")[:3]
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


def aside(words: list[str], at: int) -> Folded:
    """What is said of the picture elsewhere: "the people | in the photo | are", "| in an old photo", "a boy
    running| , blurry picture"; "we see" also after a place.
    """
    if words[at : at + 2] == ["we", "see"]:
        return 2, [Word("there"), Word("is")]
    told, after = (*words[at + 2 : at + 3], "")[0], (*words[at + 3 : at + 4], ".")[0]
    here = words[at] == "in" and words[at + 1 : at + 2] in (["the"], ["this"])
    ends = after in FINITE | {"as"} or not after[0].isalnum()
    if here and (
        (told in known.pictured and at and ends) or (words[at + 1] == "this" and told in known.frames)
    ):
        return 3, []
    if at == 0 or words[at] not in ("in", ","):
        return NOTHING
    told_so = {*words[at + 1 : -1]}
    pictured = words[-1] in known.pictured and known.pictorial >= told_so
    # but not "a couch, a lamp, and a picture"
    pictured &= words[at] == "in" or not told_so & (known.articles | {"and"})
    old = words[at:] == ["in", "black", "and", "white"] and words[at - 1] in known.places | known.framed
    return (len(words) - at, []) if pictured or old else NOTHING
