"""Step 2: a caption as the words that the tagger and parser get to read.

Set phrases are folded before the parser sees them, since it attaches "near a tree" more surely than "to the
left of a tree": each is replaced by one plain word of the same kind, which remembers what it stands for.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from caption_graphs.compounds import FIRST, compound_verb, numbered
from caption_graphs.frames import aside, frame
from caption_graphs.looks import NOTHING, SHADED, SHADES, Folded, aged, people, shade, two_of_them
from caption_graphs.vocabulary import (
    ADJECTIVES,
    ADVERBS,
    ENDS,
    FINITE,
    NAMES,
    NO_NOUN,
    PREPOSITIONS,
    SINGULARS,
    STAND_INS,
    Word,
    acts,
    ends,
    known,
    plural,
)

LONGEST = 120
COUNTED = (["two"], ["three"], ["some"])
_AFTER = known.stoppers | known.placing | known.motion
# "a t.v." is one word
_TOKEN = re.compile(
    r"\b(?:[a-z]\.){2,}|\d+(?:[:./]\d+)+|[^\W_]+(?:['\-][^\W_]+)*|'(?:s|re|ve|ll|d)\b|[.;:!?,\"()&/]"
)
# "with it's head" is meant as its head.
_ITS = re.compile(r"\b(\w+ing|with|in|on|of|from|out|off|over|by|at) it's (?!(?:an?|the|not|\w+ing)\b)(?=\w)")
# "a black-and-white dog"
_COLOURS_JOINED = re.compile(rf"\b({'|'.join(known.colours)})-and-({'|'.join(known.colours)})\b")
_STOPS = frozenset(".!?;")
_APOSTROPHE = re.compile(r"^(.+?)('s|n't|'re|'ve|'ll|'d)$")
_OVER = ("over", "behind", "above", "under")
_NO_PLURAL = FINITE | ENDS | known.motion | {"always"}
# what is written twice by mistake; "puts a hat on on the beach" and "duck duck goose" are right
TWICE = known.articles | known.placing | known.animate | known.be | {"of", "and", "to", "with"}
TWICE -= known.particles | {"duck", "on"}
_OWNED = known.openers - {"two", "some"}
_ARTICLED = ("slip and slide", "thumbs up")
_TIGHT = ("off white", "over easy")
_TURNED = known.be | {"put", "show", "shown", "turned", "flipped"}
_TIES = {"tie": "hat", "ties": "hats"}

Rule = Callable[[list[str], int], Folded]


def tokens(text: str) -> list[str]:
    """Lower-cased words and the punctuation that shapes a sentence; everything else (symbols, control
    characters) is left out.
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    plain = _COLOURS_JOINED.sub(r"\1 and \2", plain)
    found = _TOKEN.findall(_ITS.sub(r"\1 its ", plain))
    clitics = ((token, _APOSTROPHE.match(token)) for token in found)
    return [part for token, clitic in clitics for part in (clitic.groups() if clitic else (token,))]


def sentences(words: list[str]) -> list[list[str]]:
    """The words cut at full stops, and at ``LONGEST`` words; the stops are left out."""
    found: list[list[str]] = [[]]
    for word in words:
        if word in _STOPS or len(found[-1]) == LONGEST:
            found.append([])
        if word not in _STOPS:
            found[-1].append(word)
    return [sentence for sentence in found if any(word[0].isalnum() for word in sentence)]


def fold(words: list[str]) -> list[Word]:
    """A sentence's words for the parser.

    Args:
        words: of one sentence, lower case.

    Returns:
        The words with set phrases folded, and a full stop.
    """
    found: list[Word] = []
    at, gathers = 0, [i for i, word in enumerate(words) if word in known.gathers]
    while at < len(words):
        word, after = words[at], (*words[at + 1 : at + 2], ".")[0]
        # "a dirt | and gravel covered field"
        shaded = after in SHADED or (
            after == "and" and not known.compounded.isdisjoint(words[at + 3 : at + 4])
        )
        near = gathers != [] and any(at <= i <= at + 3 for i in gathers)
        for rule in _due(word, at == 0, shaded, near):
            length, made = rule(words, at)
            if length:
                found += made
                at += length
                break
        else:
            found.append(_hyphenated(word))
            at += 1
    return [*found, Word(".")]


@cache
def _due(word: str, begins: bool, shaded: bool, gathers: bool) -> list[Rule]:
    """The rules that may apply at a word, in their order.

    Args:
        word: lower case.
        begins: whether a sentence begins with it.
        shaded: whether the next word is one that makes an adjective with what stands before it.
        gathers: whether a noun that gathers stands here or soon.
    """
    asked = {
        _twice: word in TWICE,
        frame: begins,
        aside: word in ("we", "in", ","),
        compound_verb: word in FIRST,
        _something: word in known.indefinite,
        _in_front: word == "in",
        _outdoors: word == "outdoors",
        people: word in ("african", "native", "asian"),
        _phrase: word in _PHRASES,
        _gathering: gathers,
        two_of_them: word in ("one", ","),
        _another: word in ("a", "the", "two"),
        _partitive: word in known.partitives | known.numbers or word == "one" or word.isdigit(),
        aged: shaded,
        shade: shaded or word in SHADES or word.endswith("ish"),
        numbered: shaded or word == "number",
        _some: word in known.numbers,
        _both: word in ("both", "all"),
        _counted: word in _OVER,
        _couple: word == "couple",
        _owner: word.endswith("s") and word[:-1] in known.animate,
        _each: word == "each",
        _tie: word in _TIES,
        _glasses: word == "glasses",
        _sport: word in known.doing,
        _alike: word == "her" or word in known.sideways or word in STAND_INS,
    }
    return [rule for rule, may in asked.items() if may]


def _phrases() -> dict[str, list[tuple[list[str], Word]]]:
    """All set phrases by their first word, the longest first."""
    table = {
        text: Word(given, text, "preposition")
        for given, several in PREPOSITIONS.items()
        for text in several.split("|")
    }
    table |= {
        f"{start} {side} {end}": Word("near", f"{side} of", "preposition")
        for side in ("left", "right")
        for start in ("to the", "on the", "at the", "to", "on")
        for end in ("of", "side of", "hand side of")
    }
    table["in middle of"] = Word("in", "in the middle of", "preposition")
    # What is about to happen will happen.
    beginnings = ("is getting", "are getting", "is", "are", "being", "gets", "get", "getting")
    prepared = ("ready", "about", "set", "poised", "preparing", "going")
    moods = {f"{be} {ready} to" for be in beginnings for ready in prepared} | {"ready to", "about to"}
    table |= dict.fromkeys(moods, Word("will"))
    table |= dict.fromkeys(("each other", "one another"), Word("themselves"))
    table |= dict.fromkeys((*ADVERBS, *(told.replace(" ", "-") for told in ADVERBS)), Word("together"))
    table["to try and"] = Word("to")
    table |= {"no one": Word("nobody", "no one", "name"), "as well": Word("too"), "as well as": Word("and")}
    table["glasses of"] = Word("cups", "glass", "name")
    for name in NAMES:
        several = [plural(name)] if name.split()[-1] not in known.enacted else []
        table |= {one: Word(_plain(one.split()[-1]), one, "name") for one in (name, *several)}
    table |= {words: Word("red", words, "attribute") for words in ADJECTIVES}
    found: dict[str, list[tuple[list[str], Word]]] = {}
    for text, word in sorted(table.items(), key=lambda item: -len(item[0].split())):
        found.setdefault(text.split()[0], []).append((text.split(), word))
    return found


def _plain(noun: str) -> str:
    """A noun that no tagger takes for another word: "street sign" is given as a box, "cacti" as boxes."""
    rare = noun in SINGULARS or (noun.endswith("s") and noun[:-1] in known.verbs)
    return "box" if noun in known.verbs | known.be else "boxes" if rare else noun


_PHRASES = _phrases()


def _phrase(words: list[str], at: int) -> Folded:
    """The longest set phrase that begins at a word: prepositions of several words, names, "about to", and
    adjectives of several words, which stand before a noun: "two door".
    """
    before = words[at - 1] if at else ""
    if before == "the" and words[at] in ("inside", "outside") and words[at + 1 : at + 2] == ["of"]:
        return 1, [Word("side", words[at], "name")]
    begin = (
        (len(phrase), [word])
        for phrase, word in _PHRASES.get(words[at], ())
        if _fits(words, at, phrase, word)
    )
    length, made = next(begin, NOTHING)
    after = (*words[at + length :], ".")[0]
    if length and words[at] == "from" and (after in known.stoppers or not after[0].isalnum()):
        return length, [Word("together")]
    return (length - 1, made) if words[at : at + length] == ["glasses", "of"] else (length, made)


def _fits(words: list[str], at: int, phrase: list[str], word: Word) -> bool:
    """Whether a set phrase stands at a place, and is one there."""
    if words[at : at + len(phrase)] != phrase:
        return False
    before, after = words[at - 1] if at else "", (*words[at + len(phrase) :], ".")[0]
    if word.given == "together":
        # "has his | face down"
        return before not in known.openers
    if word.says in _ARTICLED:
        # "gives a | thumbs up", but "children slip and slide"
        return before in known.articles | known.colours
    if word.says in SINGULARS and acts(phrase[-1]):
        # "a boy | walking sticks", "a | boy scouts the area"
        return before not in known.animate and not (phrase[0] in known.animate and after in known.articles)
    if word.kind != "attribute":
        return True
    if (_does(phrase) or word.says in _TIGHT) and before not in known.openers:
        # "a blow up raft", but "children blow up balloons", "turns | off white lights"
        return False
    told = phrase == ["cross", "legged"] or (phrase == ["upside", "down"] and before in _TURNED)
    return after not in NO_NOUN or told or (before in known.be and after in (".", ","))


def _outdoors(words: list[str], at: int) -> Folded:
    """A place where it has an article, "in the great outdoors", else no thing."""
    named = at > 0 and words[at - 1] in ("the", "great")
    return 1, [Word("box", "outdoors", "name") if named else Word("outdoors")]


def _twice(words: list[str], at: int) -> Folded:
    """A word that was written twice, "a dog in in a bed", is said once."""
    return (1, []) if words[at + 1 : at + 2] == [words[at]] else NOTHING


def _in_front(words: list[str], at: int) -> Folded:
    """A place where "of" is forgotten, "in front a building", or that is one word: "in side a fence"."""
    place, after = (*words[at + 1 : at + 3], "", "")[:2]
    # but not "with trees | in front a house stands"
    stays = at > 0 and (
        words[at - 1].endswith(("ing", "ed"))
        or words[at - 1] in known.be | {"sit", "sits", "stand", "stands"}
    )
    if after not in known.articles or not stays:
        return NOTHING
    says = {"front": ("near", "in front of"), "side": ("inside", "inside")}.get(place)
    return (2, [Word(*says, "preposition")]) if says else NOTHING


def _does(phrase: list[str]) -> bool:
    """Whether an adjective may also be what is done, "blow up", or where something is, "above ground"."""
    return phrase[0] in known.placing or (phrase[0] in known.verbs and phrase[-1] in known.particles | {"on"})


def _gathering(words: list[str], at: int) -> Folded:
    """A noun that gathers: "a large group of" becomes an adjective, "pair of shoes" one name."""
    until = (i for i in range(at, len(words)) if words[i] in known.gathers or words[i] in known.stoppers)
    start = min(next(until, len(words)), at + 3)
    if start == at and words[at + 1 : at + 4] == ["and", words[at], "of"]:
        # "rows and rows of"
        return 2, []
    # "of single slices of"
    begins = at == 0 or (words[at - 1] in known.stoppers and start == at + 1 and _describes(words[at]))
    inside = start > at and not begins and words[at] not in known.opening
    inside |= not all(map(_describes, words[at + 1 : start]))
    if inside or words[start + 1 : start + 2] != ["of"] or words[start] not in known.gathers:
        return NOTHING
    definite = "the" in words[max(at - 1, 0) : start] and words[start + 2 : start + 3] == ["the"]
    if definite and words[start] in known.wholes:
        return NOTHING
    after = next((i for i in range(start + 2, len(words)) if words[i] not in known.determiners), len(words))
    ahead = words[after : after + 3]
    noun = next((i for i, word in enumerate(ahead) if word in known.paired), None)
    does, then = (*ahead[1:3], ".", ".")[:2]
    alone = does.endswith("ing") and ends(then)
    if ahead[:1] and ahead[0] in known.numbers and alone:
        # "a group of four | hiking"
        return after + 1 - at, [
            Word("several", _one(words[start]), "attribute"),
            Word("people", ahead[0], "name"),
        ]
    if words[start] in ("pair", "pairs") and noun is not None:
        plain = [word for word in (*words[at:start], *ahead[:noun]) if word not in known.articles]
        adjectives = fold([*plain, ahead[noun]])[:-2]
        return after + noun + 1 - at, [*adjectives, Word(ahead[noun], f"pair of {ahead[noun]}", "name")]
    if not ahead or ahead[0] in known.stoppers or (words[start] == "family" and ahead[0] in known.numbers):
        return NOTHING
    return after - at, [Word("several", _one(words[start]), "attribute")]


def _describes(word: str) -> bool:
    """Whether a word between an article and a noun that gathers may be an adjective."""
    noun = word in known.animate or (word.endswith("s") and word not in known.counted)
    verb = word in known.have | known.be or (word.endswith("ing") and word not in known.participles)
    return not noun and not verb


def _one(gathers: str) -> str:
    """The singular of a noun that gathers."""
    singulars = (gathers[:-1], gathers[:-2], f"{gathers[:-3]}y") if gathers.endswith("s") else ()
    return next((one for one in singulars if one in known.gathers), gathers)


def _partitive(words: list[str], at: int) -> Folded:
    """A part of a whole: of "some of the men" goes "of the"."""
    if words[at + 1 : at + 2] != ["of"] or at + 2 >= len(words):
        return NOTHING
    if words[at + 2] in ("them", "which", "whom", "it"):
        return 3, [_counted_ones(words[at])]
    if words[at] == "one":
        return NOTHING
    return 2 + (words[at + 2] in ("the", "these", "those", "his", "her", "their")), [Word(words[at])]


def _counted_ones(number: str) -> Word:
    """Some of those that were told of, with their number, unless it is one."""
    return Word("they", number, "count") if number in known.numbers or number.isdigit() else Word("they")


def _some(words: list[str], at: int) -> Folded:
    """Some of those that were told of: "three women, two with tattoos"."""
    after = (*words[at + 1 :], ".")[0]
    # but not "in a park, two are playing chess"
    goes_on = after in known.after_some or (after.endswith("ing") and after not in known.unworked)
    some = at > 0 and words[at - 1] == "," and goes_on and words[0] not in known.placing
    return (1, [_counted_ones(words[at])]) if some else NOTHING


def _both(words: list[str], at: int) -> Folded:
    """All that were told of: "a man touches a boy; both | are smiling"."""
    told = (*words[at + 1 :], ".")[0] in ("are", "have")
    alone = words[at - 1] in ("and", ",", "while", "as") if at else words[at] == "both"
    return (1, [Word("they")]) if told and alone else NOTHING


def _counted(words: list[str], at: int) -> Folded:
    """A place before a number, which taggers take for "more than": "over two cars"."""
    counted = words[at] in _OVER and words[at + 1 : at + 2] in COUNTED
    return (1, [Word("near", words[at], "preposition")]) if counted else NOTHING


def _couple(words: list[str], at: int) -> Folded:
    """An amount without "of": "a couple umbrellas"."""
    after = (*words[at + 1 :], ".")[0]
    amount = at > 0 and words[at - 1] == "a" and after.endswith("s") and after not in _NO_PLURAL
    # "a couple slices", but "a couple plays"
    things = not acts(after) or (at > 1 and words[at - 2] in ("has", "holding", "eating"))
    return (1, [Word("several", "couple", "attribute")]) if amount and things else NOTHING


def _owner(words: list[str], at: int) -> Folded:
    """An owner without an apostrophe: "the dogs mouth"."""
    after = (*words[at + 1 :], ".")[0]
    before = words[at - 1] if at else ""
    if words[at] in ("someones", "somebodys"):
        return NOTHING if ends(after) else (1, [Word("someone"), Word("'s")])
    part = after in known.clothes and before in ("his", "her", "their") and words[at][:-1] in known.persons
    part |= after in known.body and (before == "a" or (before in _OWNED and after not in known.verbs))
    owner = words[at][:-1]
    return (1, [*(_alike([owner], 0)[1] or [Word(owner)]), Word("'s")]) if part else NOTHING


def _each(words: list[str], at: int) -> Folded:
    """Two who have something of each other's: "bite each others faces"."""
    length = 2 if words[at + 1 : at + 2] == ["others"] else 3
    own = length == 2 or words[at + 1 : at + 3] == ["other", "'s"]
    after = (*words[at + length :], ".")[0]
    return (length, [Word("their")]) if own and not ends(after) else NOTHING


def _another(words: list[str], at: int) -> Folded:
    """One, or some, of those that were told of: "while | a third | watches", "one drinking, | the other |
    reading", "dogs with | two | sitting".
    """
    told, after = (*words[at + 1 : at + 3], ".", ".")[:2]
    if words[at] == "two":
        some = at > 1 and words[at - 1] == "with" and told.endswith("ing")
        some &= (ends(after) or after == "next") and told not in known.unworked
        # but not "a bench with two sitting on it"
        some &= any(word.endswith("s") or word in known.numbers for word in words[: at - 1])
        return (1, [Word("them", "two", "count")]) if some else NOTHING
    does = acts(after) and at > 0 and words[at - 1] in ("while", "as", "and", ",")
    # "a third | leaning back", "with a third | carrying a stick"
    then = (*words[at + 3 :], ".")[0]
    acting = after.endswith("ing") and after not in known.unworked | {"missing", "painting", "drawing"}
    does |= acting and (ends(then) or then in known.particles)
    if (words[at], told) == ("a", "third") and (does or after in known.be):
        return 2, [Word("another", "third", "count")]
    if (words[at], told) == ("the", "next") and ends(after) and at > 0 and words[at - 1] == "to":
        return 2, [Word("another", "next", "count")]
    other = (words[at], told) == ("the", "other") and after.endswith("ing")
    # but not "one hand on a wheel and the other holding a phone"
    other &= any(words[i] == "one" and words[i + 1].endswith("ing") for i in range(at))
    return (2, [Word("one")]) if other else NOTHING


def _something(words: list[str], at: int) -> Folded:
    """What colour something has, said after it, "something blue", and what somebody does with a thing, said
    without "that": "a frisbee someone is holding".
    """
    after, then = (*words[at + 1 : at + 3], ".", ".")[:2]
    if after in known.colours and then != "and" and (then in ENDS or not then[0].isalnum()):
        return 2, [Word("red", after, "attribute"), Word(words[at])]
    before = words[at - 1] if at else "."
    bare = before[0].isalnum() and before not in NO_NOUN | known.be | known.motion | known.placing
    # but not "in the park | someone is singing"
    begins = max((i + 1 for i in range(at) if words[i] in (",", "and")), default=0)
    bare &= words[begins] not in known.placing | known.motion | {"after", "before"}
    told = bare and not before.endswith(("ing", "ly")) and after in ("is", "was", "has", "had")
    return (1, [Word("that"), Word(words[at])]) if told else NOTHING


def _tie(words: list[str], at: int) -> Folded:
    """A tie that is no verb: "in shirt and tie"."""
    plain = _TIES.get(words[at], "")
    worn = plain and at > 0 and words[at - 1] not in ("is", "are", "to", "they")
    return (1, [Word(plain, words[at], "name")]) if worn else NOTHING


def _glasses(words: list[str], at: int) -> Folded:
    """Glasses that one drinks from: "two glasses", "holding glasses", "glasses full of"."""
    before, after = words[at - 1] if at else "", (*words[at + 1 :], ".")[0]
    worn = before in ("wearing", "wears", "wear", "his", "her")
    drunk = before in known.drinking or (after in ("full", "filled") and not worn)
    return (1, [Word("cups", "glass", "name")]) if drunk else NOTHING


def _sport(words: list[str], at: int) -> Folded:
    """What somebody does is a thing: "practicing rock climbing"."""
    for length in (1, 2):
        name = words[at + 1 : at + 1 + length]
        after = (*words[at + 1 + length :], ".")[0]
        sport = name[-1:] != [] and name[-1] in known.sports and name[0] not in known.articles
        if sport and (after in ENDS or not after[0].isalnum()):
            return 1 + length, [Word(words[at]), Word("box", " ".join(name), "name")]
    return NOTHING


def _alike(words: list[str], at: int) -> Folded:
    """A word that is given as another of its kind, which the tagger knows better, and so that "her" and "him"
    are read alike: "her" is "him" where no noun of hers follows.
    """
    word, after = words[at], (*words[at + 1 :], ".")[0]
    if word in known.sideways and at and words[at - 1] not in known.be | known.articles | {"the"}:
        return 1, [Word("quickly")]
    if word == "her":
        alone = after in (known.followers | known.articles | _AFTER) - {"two"} or not after[0].isalnum()
        return 1, [Word("him" if alone else "his", word)]
    if word not in STAND_INS:
        return NOTHING
    return 1, [Word(STAND_INS[word], word, "" if word in known.pronouns else "name")]


@cache
def _hyphenated(word: str) -> Word:
    """A hyphenated word is one adjective or noun, whatever its parts."""
    last, looks = word.rpartition("-")[2], ("old", "style", "year", "size", "like", "up", "free", "deep")
    if last == word:
        return Word(word)
    adjective = last.endswith(("ed", "ing")) and last not in known.unworked
    adjective |= last in known.colours | known.compounded | known.made
    adjective |= last in looks or word.endswith("ed-in") or word.replace("-", " ") in ADJECTIVES
    return Word("large", word, "attribute") if adjective else Word(last, word, "name")
