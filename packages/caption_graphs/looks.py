"""Step 2, adjectives of two words that are one: "dark blue", "snow covered"."""

from caption_graphs.vocabulary import BEFORE, ENDS, FINITE, Word, ends_noun_phrase, known, word_at

# What a rule makes of the words from a position on: how many it replaces (0 = the rule does not apply), and
# by what.
Folded = tuple[int, list[Word]]
NOTHING: Folded = (0, [])

_NO_FIRST = (
    BEFORE | known.placing | known.motion | known.have | known.person_pronouns | {"its", "their", "my"}
)
_NOT_FIRST = BEFORE | known.be | known.animate | known.particles | known.negations
_NOT_NAMED = ENDS | {"like", "as"}
_STEMS = (*known.colours, *(c.removesuffix("e") for c in known.colours), *(c + c[-1] for c in known.colours))
_ISH = {f"{stem}ish" for stem in _STEMS}
_SHADES = known.shades | _ISH
SHADES = _SHADES | known.numbers | known.patterned | known.colours | {",", "little", "number", "pretty"}
SHADED = known.compounded | known.units | known.made | {"hair", "looking"}


def two_word_adjective(words: list[str], at: int) -> Folded:
    """Return one adjective of two words: "dark blue"; a colour that may be a noun is given as one that may
    not, and no comma stands in "a brown, white, and black dog".
    """
    first, second = words[at], word_at(words, at + 1)
    if first == ",":
        around = {word_at(words, at - 1), *words[at + 1 : at + 3]} - {"and"}
        return (1, []) if around <= known.colours else NOTHING
    if second and _is_single_adjective(words, at):
        return 2, [Word("red", f"{first} {second}", "name" if _is_worn_colour(words, at) else "attribute")]
    # before a noun these are no verbs and no amounts: "two spotted birds", "three little striped pears"
    before = second[:1].isalpha() and second not in BEFORE
    few = first in ("little", "pretty") and second in known.patterned | known.colours | known.young
    if before and (few or first in known.patterned):
        return 1, [Word("small", first, "attribute")]
    noun = first in known.colour_nouns and (second in known.stoppers or not second[:1].isalnum())
    return (1, [Word("red", first)]) if first in known.colours and not noun and first != "red" else NOTHING


def _is_single_adjective(words: list[str], at: int) -> bool:
    """Return whether two words are one adjective."""
    first, second = words[at], word_at(words, at + 1)
    after = word_at(words, at + 2)
    if second in known.colours:
        # "baby blue", but not "a baby | black bear"
        return first in _SHADES and (first not in ("baby", "sky") or second in ("blue", "pink"))
    if second == "hair":
        # "a brown hair woman"
        return first in known.colours and after in known.animate
    named = after != "" and after not in _NOT_NAMED
    bare = named and first not in _NOT_FIRST
    if first == "number":
        # "the number 23 jersey"
        return named and (second.isdigit() or second in known.numbers)
    part = first.endswith(("ly", "ing", "ful")) or first in known.apart
    if second == "looking":
        # "a nice looking bike", but not "sits by a beach looking sad"
        return first in known.looks or (bare and not first.endswith("s"))
    if first in known.numbers or first.isdigit():
        # "a two lane road"
        return named and second in known.units
    # "snow covered mountains", but not "a large painted tower"
    covered = bare and second in known.compounded and not part
    # "a long haired dog", but not "holding colored flags"
    does = first.endswith("ing") and first not in known.participles
    return covered or (named and second in known.made and not does and first not in _NO_FIRST)


def _is_worn_colour(words: list[str], at: int) -> bool:
    """Return whether a colour of two words stands for what is worn: "a girl in | navy blue | is posing"."""
    after = word_at(words, at + 2, ".")
    alone = (
        after in FINITE
        or after.endswith("ing")
        or (ends_noun_phrase(after) and after not in ("and", "or", ","))
    )
    return words[at + 1] in known.colours and word_at(words, at - 1) in ("in", "wearing", "wears") and alone
