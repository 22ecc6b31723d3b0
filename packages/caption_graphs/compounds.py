"""Step 2, verbs of several words, "hula hoops", and numbers that tell which one, "runner number 281"."""

import re
from collections.abc import Iterator

from caption_graphs.looks import NOTHING, Folded
from caption_graphs.vocabulary import COMPOUND_VERBS, FINITE, Word, acts, ends, known, plural

# what a verb of several words is given as, alone and before an object, by the end of its last word
GIVEN = {
    "": ("jump", "kick"),
    "s": ("jumps", "kicks"),
    "ing": ("jumping", "kicking"),
    "ed": ("jumped", "kicked"),
}
_SHORT = re.compile(r"[^aeiou]*[aeiou][bdgmnpt]")  # "swimming" has two letters m
_OBJECTS = known.articles | known.determiners | known.person_pronouns | {"each"}
# what may stand before a verb, beside whoever does something
_BEFORE = known.relatives | known.clothes | {"he", "she", "they", "to", "will"}
# what may stand before what is done as a thing: "a poster about scuba diving"
_WATCHED = known.doing | known.articles | {"about", "teach", "teaches", "the", "watch", "watches", "watching"}
# what goes on after a number: "the number 6 | drawn on a wall"
_SAID_OF = FINITE | {"drawn", "hung", "lit", "made", "sewn", "shown", "worn", "written"}
_NUMBERS = known.numbers | {"one"}
_NUMBERED = known.animate | known.ridden | known.clothes | {"car", "engine", "train", "bus"}
_GOING = {"go": "", "goes": "s", "going": "ing", "gone": "ed", "went": "ed"}


def _forms(verb: str) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """The forms of a verb of several words, each with its dictionary form and its end."""
    *first, last = verb.split()
    stem = last.removesuffix("e")
    stem += stem[-1] if _SHORT.fullmatch(last) else ""
    for end, form in (("", last), ("s", plural(last)), ("ing", f"{stem}ing"), ("ed", f"{stem}ed")):
        for said in (" ".join((*first, form)), "-".join((*first, form)), f"{'-'.join(first)} {form}"):
            yield tuple(said.split()), (verb, end)


_FORMS = dict(form for verb in COMPOUND_VERBS for form in _forms(verb))
FIRST = frozenset(form[0] for form in _FORMS) | _GOING.keys()


def compound_verb(words: list[str], at: int) -> Folded:
    """A verb of several words, given as one that no tagger takes for a thing: "a girl | hula hoops", "they |
    go ice skating".
    """
    if words[at] in _GOING:
        length, made = compound_verb(words, at + 1) if words[at + 1 : at + 2] else NOTHING
        ing = length and words[at + length].endswith("ing")
        given = Word(GIVEN[_GOING[words[at]]][0], made[0].says, "verb") if ing else None
        return (length + 1, [given]) if given else NOTHING
    for length in range(min(3, len(words) - at), 0, -1):
        verb, end = _FORMS.get(tuple(words[at : at + length]), ("", ""))
        after = (*words[at + length :], ".")[0]
        if verb and _does(words, at, end, after):
            return length, [Word(GIVEN[end][after in _OBJECTS], verb, "verb")]
    return NOTHING


def _does(words: list[str], at: int, end: str, after: str) -> bool:
    """Whether a verb of several words is no thing where it stands, "on roller skates", "an ice skating rink".

    Args:
        words: of the sentence.
        at: where it begins.
        end: how it ends.
        after: the word after it.
    """
    if at == 0 or not (ends(after) or after in _OBJECTS | known.particles):
        return False
    before = words[at - 1]
    if end == "ing":
        # but not "a crowd watches ice skating"
        return before not in _WATCHED and (before not in known.stoppers or before in ("and", ","))
    joined = before in known.animate and "and" in words[max(at - 4, 0) : at]
    several = joined or before.endswith("s") or before in ("men", "women", "people", "children", "they")
    doer = before in known.animate or before.removesuffix("s") in known.animate or before in _BEFORE
    doer |= end == "ed" and before in FINITE
    # "a girl in jeans | roller skates", "a lady in black | hula hoops"
    worn = before in known.clothes or (before in known.colours and words[at - 2 : at - 1] == ["in"])
    return doer and (
        end == "ed" or before in ("to", "will") or (worn and end == "s") or several == (end == "")
    )


def numbered(words: list[str], at: int) -> Folded:
    """A number that tells which one: "with the number six", "runner number 281"."""
    start = at if words[at] == "number" else at + 1
    told, after = (*words[start + 1 : start + 3], ".", ".")[:2]
    which = words[start] == "number" and (told.isdigit() or told in _NUMBERS)
    if (
        not which
        or after in known.clothes
        or (told == "one" and not (ends(after) or after.endswith("ed") or after in _SAID_OF))
    ):
        return NOTHING
    said = Word("red", f"number {told}", "attribute")
    if start > at:
        return (3, [said, Word(words[at])]) if words[at] in _NUMBERED else NOTHING
    # "a race car | number 7" is one name before it, "number 75 | racer" one behind it
    named = at > 0 and words[at - 1] in _NUMBERED
    behind = at == 0 or words[at - 1] in known.articles | known.colours
    named |= behind and not (ends(after) or acts(after) or after.endswith(("ing", "ed")) or after in _SAID_OF)
    return 2, [said] if named else [Word("red", told, "attribute"), Word("number")]
