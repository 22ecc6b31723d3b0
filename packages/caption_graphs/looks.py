"""Step 2, adjectives: ages, shades and looks of two words that are one: "dark blue", "snow covered"."""

from caption_graphs.vocabulary import BEFORE, ENDS, FINITE, NO_NOUN, Word, acts, ends, known

_NO_FIRST = (
    BEFORE | known.placing | known.motion | known.have | known.person_pronouns | {"its", "their", "my"}
)
_NOT_FIRST = BEFORE | known.be | known.animate | known.particles | known.negations
_NOT_NAMED = ENDS | {"like", "as"}
# what may follow "a wall painted white", which ends there
_TOLD = NO_NOUN | known.have | known.be | {".", "next", "beside"}
_THINGS = known.places | known.clothes | known.portable | known.containers
_AROUND = known.particles | known.placing | known.motion | known.sideways
_UNITS_OF = ("deep", "high", "length")
SHADES = known.shades | known.numbers | known.depths | known.patterned | known.colours
SHADES |= {",", "little", "pretty", "number"}
SHADED = known.compounded | known.units | known.made | known.ages | {"hair", "looking", "like", "number"}

# What a rule makes of the words from a place on: how many it replaces (0 = the rule does not apply), and by
# what.
Folded = tuple[int, list[Word]]
NOTHING: Folded = (0, [])


def aged(words: list[str], at: int) -> Folded:
    """An age: an adjective in "a two year old girl", who is meant in "a two year old plays"."""
    told = words[at + 1] in known.ages and words[at + 2 : at + 3] == ["old"]
    if not told or words[at] in ("a", "an", "the"):
        return NOTHING
    after, old = (*words[at + 3 :], ".")[0], " ".join(words[at : at + 3])
    named = at == 0 or words[at - 1] in known.articles
    alone = named and (ends(after) or acts(after))
    return 3, [Word("child", old, "name") if alone else Word("red", old, "attribute")]


def people(words: list[str], at: int) -> Folded:
    """Who is named by where their people come from: "an african american | stands by a car"."""
    after = (*words[at + 2 :], ".")[0]
    one = at > 0 and words[at - 1] in ("a", "an", "the")
    named = one and words[at + 1 : at + 2] == ["american"] and (ends(after) or acts(after) or after in FINITE)
    return (2, [Word("man", f"{words[at]} american", "name")]) if named else NOTHING


def shade(words: list[str], at: int) -> Folded:
    """One adjective of two words: "dark blue"; a colour that may be a noun is given as one that may not, and
    no comma stands in "a brown, white, and black dog".
    """
    first, second = (*words[at : at + 2], "")[:2]
    colour = {words[at - 1], *words[at + 1 : at + 3]} - {"and"} if first == "," and at else {""}
    if colour <= known.colours:
        return 1, []
    if both := _of_two(words, at):
        return 1, [Word("red", both, "attribute")]
    if covers := _both_cover(words, at):
        return 4, [Word("red", covers[0], "attribute"), Word("and"), Word("red", covers[1], "attribute")]
    inside = at + 2 < len(words)
    painted = at + 2 + (words[at + 2 : at + 3] != [] and words[at + 2] in known.shades)
    if painted < len(words) and words[painted] in known.colours:
        after = (*words[_colours(words, painted)[1] :], ".")[0]
        inside &= after not in _TOLD and not acts(after)
    if second and _one_look(words, at, inside=inside):
        return 2, [Word("red", f"{first} {second}", "name" if _worn_colour(words, at) else "attribute")]
    # before a noun these are no verbs and no amounts: "two spotted birds", "three little striped pears"
    before = second[:1].isalpha() and second not in BEFORE
    few = first == "little" and second in known.patterned | known.colours
    few |= first == "pretty" and second in known.young | known.colours
    if before and (few or first in known.patterned):
        return 1, [Word("small", first, "attribute")]
    noun = first in known.colour_nouns and (second in known.stoppers or not second[:1].isalnum())
    around = {*words[max(at - 2, 0) : at], *words[at + 1 : at + 4]}
    if noun and at and words[at - 1] in ("a", "an", "the", ",", "and") and not around & known.colours:
        # "a mango, orange, and banana"
        return 1, [Word("box", first, "name")]
    return (1, [Word("red", first)]) if first in known.colours and not noun and first != "red" else NOTHING


def two_of_them(words: list[str], at: int) -> Folded:
    """What colours two have: "two dogs| , one white and one dark brown, | run"."""
    comma = words[at] == ","
    if at == 0 or words[at + comma : at + comma + 1] != ["one"]:
        return NOTHING
    first, at_second = _colours(words, at + comma + 1)
    at_second += words[at_second : at_second + 1] == [","]
    at_second += words[at_second : at_second + 1] == ["and"]
    other = 2 if words[at_second : at_second + 2] == ["the", "other"] else 1
    second, end = _colours(words, at_second + other)
    after = (*words[end:], ".")[0]
    told = words[at_second : at_second + 1] in (["one"], ["another"]) or other == 2
    alone = ends(after) or after in FINITE or after.endswith("ing")
    # but not "two cats on a bed, one black and one gray", where the bed is near
    several = max((i for i in range(at) if words[i] in known.numbers | {"couple"}), default=0)
    near = not {*words[several:at]} & (known.placing | known.motion | {"with", "of"})
    if not (first and second and told and alone and near):
        return NOTHING
    both = [Word("red", colour, "attribute") for colour in (*first, *second)]
    return end - at, [word for colour in both for word in (Word("and"), colour)][1:]


def _colours(words: list[str], at: int) -> tuple[list[str], int]:
    """The colours that are joined from a place on, and where they end."""
    found = list[str]()
    while True:
        start = at + (bool(found) and words[at : at + 1] == ["and"])
        dark = start + (words[start : start + 1] != [] and words[start] in known.shades)
        coloured = dark > start and words[dark : dark + 1] == ["colored"]
        if not coloured and not (words[dark : dark + 1] and words[dark] in known.colours):
            # "one light and one dark"
            alone = not found and dark > start and words[start] in ("light", "dark")
            return ([words[start]], dark) if alone else (found, at)
        found.append(" ".join(words[start : dark + 1]))
        at = dark + 1


def _of_two(words: list[str], at: int) -> str:
    """The first of two shades of a colour, or nothing: "light blue" in "a light and dark blue slide"."""
    first, ahead = words[at], words[at + 1 : at + 4]
    two = len(ahead) == 3 and ahead[0] == "and" and {first, ahead[1]} <= known.shades
    return f"{first} {ahead[2]}" if two and ahead[2] in known.colours else ""


def _both_cover(words: list[str], at: int) -> tuple[str, str] | None:
    """Two looks that share their last word: "a | dirt and gravel covered | field"."""
    first, both, second, does, after = (*words[at : at + 5], ".", ".", ".", ".")[:5]
    named = at > 0 and words[at - 1] in known.articles and both == "and"
    if named and does in known.compounded and first in known.coverings and not ends(after):
        return f"{first} {does}", f"{second} {does}"
    return None


def _one_look(words: list[str], at: int, *, inside: bool) -> bool:
    """Whether two words are one adjective.

    Args:
        words: of the sentence.
        at: position of the first.
        inside: whether what follows them may be a noun.
    """
    first, second, after = (*words[at : at + 3], "")[:3]
    # "a snow topped mountain", but not "a pizza topped with cheese"
    # "a long haired, bearded man"
    listed = after in (",", "and") and at > 0 and words[at - 1] in known.articles and second == "haired"
    named = listed or (inside and after not in _NOT_NAMED)
    bare = named and first not in _NOT_FIRST
    does = first.endswith("ing") and first not in known.participles
    part = first.endswith(("ly", "ing", "ful")) or first in known.apart
    said = second in known.compounded
    return (
        (second in known.colours and (_ish(first) or (first in known.shades and _shaded(first, second))))
        or (first in known.depths and second in _UNITS_OF)
        # "snow covered mountains", but not "a large painted tower"; "a two lane road"
        or (bare and said and not part)
        or (named and (first in known.numbers or first.isdigit()) and second in known.units)
        # "a brown hair woman"
        or (first in known.colours and second == "hair" and after in known.animate - {"band"})
        # "a long haired dog", but not "holding colored flags"
        or (named and second in known.made and not does and first not in _NO_FIRST and not (part and said))
        or (named and _like(words, at))
        # "a hill that is snow covered", "a red uniformed player"
        or (_told_alone(words, at) and said and not part)
        or (named and second in known.worn_looks and first in known.colours | {"military"})
        or (inside and second == "looking" and _looks_so(first, after, bare=bare))
    )


def _worn_colour(words: list[str], at: int) -> bool:
    """Whether a colour of two words stands for what is worn: "a girl in | navy blue | is posing"."""
    after = (*words[at + 2 :], ".")[0]
    alone = after in FINITE or after.endswith("ing") or (ends(after) and after not in ("and", "or", ","))
    return words[at + 1] in known.colours and words[at - 1 : at] in (["in"], ["wearing"], ["wears"]) and alone


def _like(words: list[str], at: int) -> bool:
    """Whether two words tell what something is like, or which one it is: "a castle like building", "dog like
    animals", "the number 23 jersey".
    """
    first, second, after = words[at : at + 3]
    numbered = first == "number" and (second.isdigit() or second in known.numbers)
    # "two cup like things", but "two cats like milk"
    thing = (
        second == "like" and not first.endswith("s") and first not in ("people", "men", "women", "children")
    )
    if (
        at > 0
        and (
            words[at - 1] in known.articles
            or (words[at - 1] in known.numbers | {"several", "many"} and thing)
        )
        and (second == "like" or numbered)
        and not (acts(after) or after.endswith("ed"))
    ):
        return True
    return second == "like" and after.endswith("s") and first in known.animals


def _looks_so(first: str, after: str, *, bare: bool) -> bool:
    """Whether a word before "looking" tells how something looks: "a nice looking bike", but not "sits by a
    beach looking sad".
    """
    if first in known.looks:
        return True
    plural = first.endswith("s") and not first.endswith("ous")
    return bare and not plural and not {first, after} & _AROUND and first not in _THINGS


def _shaded(shade: str, colour: str) -> bool:
    """Whether a shade is one of a colour: "baby blue", but not "a baby | black bear"."""
    return shade not in ("baby", "sky") or colour in ("blue", "pink")


def _told_alone(words: list[str], at: int) -> bool:
    """Whether two words stand alone after "is": "a hill that is | snow covered"."""
    after = (*words[at + 2 :], ".")[0]
    before = words[at - 1] if at else ""
    before = words[at - 2] if at > 1 and before.endswith("ly") else before
    return (
        before in known.be
        and words[at] not in _NOT_FIRST | {"well"}
        and (not after[0].isalnum() or after == "and")
    )


def _ish(word: str) -> bool:
    """Whether a word is nearly a colour: "greenish", "reddish", "orangish", but not "british"."""
    base = word.removesuffix("ish")
    return base != word and not known.colours.isdisjoint((base, base[:-1], f"{base}e"))
