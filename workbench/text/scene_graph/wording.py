"""Step 2: a caption as the words that the tagger and parser get to read.

Set phrases are folded before the parser sees them, since it attaches "near a tree" more surely than "to the
left of a tree": each is replaced by one plain word of the same kind, which remembers what it stands for. The
words that the rules know by name come from ``assets/scene_graphs/words.toml``.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

from workbench import assets

LONGEST = 120
COUNTED = (["two"], ["three"], ["some"])
_TABLES = tomllib.loads(assets.path("scene_graphs/words.toml").read_text(encoding="utf-8"))
SINGULARS: dict[str, str] = _TABLES.pop("singulars")
ROOTS: dict[str, str] = _TABLES.pop("roots")
_PREPOSITIONS: dict[str, str] = _TABLES.pop("prepositions")
_STAND_INS: dict[str, str] = _TABLES.pop("stand_ins")
_NAMES, _ADJECTIVES, _ADVERBS = (
    [" ".join(phrase.split()) for phrase in _TABLES.pop(key).split(",")]
    for key in ("names", "adjectives", "adverb_phrases")
)
# Every class of the file as a set of words: ``"dog" in known.animals``.
known = SimpleNamespace(**{key: frozenset(text.split()) for key, text in _TABLES.items()})
known.animate = known.persons | known.animals
known.personal = known.body | known.clothes
known.opening |= known.articles
known.followers |= known.openers

_AFTER = known.stoppers | known.placing | known.motion
# Joined once: these are asked of every word.
_ENDS = known.stoppers | known.followers | known.relatives
_BEFORE = known.stoppers | known.articles
_NO_FIRST = (
    _BEFORE | known.placing | known.motion | known.have | known.person_pronouns | {"its", "their", "my"}
)
_NOT_FIRST = _BEFORE | known.be | known.animate | known.particles | known.negations
_NO_NOUN = _ENDS | known.articles
_NOT_NAMED = _ENDS | {"like", "as"}
# what may follow "a wall painted white", which ends there
_TOLD = _NO_NOUN | known.have | known.be | {".", "next", "beside"}
_THINGS = known.places | known.clothes | known.portable | known.containers
_AROUND = known.particles | known.placing | known.motion | known.sideways
# "a t.v." is one word
_TOKEN = re.compile(r"\b(?:[a-z]\.){2,}|[^\W_]+(?:['\-][^\W_]+)*|'(?:s|re|ve|ll|d)\b|[.;:!?,\"()&/]")
# "with it's head" is meant as its head.
_ITS = re.compile(r"\b(\w+ing|with|in|on|of|from|out|off|over|by|at) it's (?!(?:an?|the|not|\w+ing)\b)(?=\w)")
# "a black-and-white dog"
_COLOURS_JOINED = re.compile(rf"\b({'|'.join(known.colours)})-and-({'|'.join(known.colours)})\b")
_STOPS = frozenset(".!?;")
_APOSTROPHE = re.compile(r"^(.+?)('s|n't|'re|'ve|'ll|'d)$")


@dataclass(frozen=True)
class Word:
    """One word for the parser.

    Args:
        given: what the parser reads.
        says: what it stands for, where that is something else: a preposition, an adjective, a name.
        kind: ``"preposition"``, ``"attribute"``, ``"name"`` or ``""``.
    """

    given: str
    says: str = ""
    kind: str = ""


_UNITS_OF = ("deep", "high", "length")
_SHADES = known.shades | known.numbers | known.depths | known.patterned | known.colours
_SHADES |= {",", "little", "pretty", "number"}
_SHADED = known.compounded | known.units | known.made | known.ages | {"hair", "looking", "like"}
_OVER = ("over", "behind", "above", "under")
_NO_PLURAL = known.be | known.have | _ENDS | known.motion | {"always"}
_OWNED = known.openers - {"two", "some"}
_TIES = {"tie": "hat", "ties": "hats"}

# What a rule makes of the words from a place on: how many it replaces (0 = the rule does not apply), and by
# what.
Folded = tuple[int, list[Word]]
NOTHING: Folded = (0, [])
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
        shaded = words[at + 1 : at + 2] != [] and words[at + 1] in _SHADED
        near = any(at <= i <= at + 3 for i in gathers)
        tried = (rule(words, at) for rule in _due(words[at], begins=at == 0, shaded=shaded, gathers=near))
        length, made = next((folded for folded in tried if folded[0]), (1, [_hyphenated(words[at])]))
        found += made
        at += length
    return [*found, Word(".")]


@cache
def _due(word: str, *, begins: bool, shaded: bool, gathers: bool) -> list[Rule]:
    """The rules that may apply at a word, in their order.

    Args:
        word: lower case.
        begins: whether a sentence begins with it.
        shaded: whether the next word is one that makes an adjective with what stands before it.
        gathers: whether a noun that gathers stands here or soon.
    """
    asked = {
        _frame: begins or word in ("we", "in"),
        _phrase: word in _PHRASES,
        _gathering: gathers,
        _partitive: word in known.partitives or word == "one",
        _aged: shaded,
        _shade: shaded or word in _SHADES or word.endswith("ish"),
        _counted: word in _OVER,
        _couple: word == "couple",
        _owner: word.endswith("s") and word[:-1] in known.animate,
        _tie: word in _TIES,
        _sport: word in known.doing,
        _alike: word == "her" or word in known.sideways or word in _STAND_INS,
    }
    return [rule for rule, may in asked.items() if may]


def _phrases() -> dict[str, list[tuple[list[str], Word]]]:
    """All set phrases by their first word, the longest first."""
    table = {
        text: Word(given, text, "preposition")
        for given, several in _PREPOSITIONS.items()
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
    table |= dict.fromkeys((*_ADVERBS, *(told.replace(" ", "-") for told in _ADVERBS)), Word("together"))
    table |= {"no one": Word("nobody", "no one", "name"), "as well": Word("too"), "as well as": Word("and")}
    table["glasses of"] = Word("cups", "glass", "name")
    for name in _NAMES:
        several = [plural(name)] if name.split()[-1] not in known.enacted else []
        table |= {one: Word(_plain(one.split()[-1]), one, "name") for one in (name, *several)}
    table |= {words: Word("red", words, "attribute") for words in _ADJECTIVES}
    found: dict[str, list[tuple[list[str], Word]]] = {}
    for text, word in sorted(table.items(), key=lambda item: -len(item[0].split())):
        found.setdefault(text.split()[0], []).append((text.split(), word))
    return found


def plural(noun: str) -> str:
    """The plural of a noun by the common rule.

    >>> plural("life vest"), plural("high bench"), plural("sippy cup"), plural("wild berry")
    ('life vests', 'high benches', 'sippy cups', 'wild berries')
    """
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _plain(noun: str) -> str:
    """A noun that no tagger takes for another word: "street sign" is given as a box, "cacti" as boxes."""
    rare = noun in SINGULARS or (noun.endswith("s") and noun[:-1] in known.verbs)
    return "box" if noun in known.verbs | known.be else "boxes" if rare else noun


SINGULARS |= {plural(name): name for name in _NAMES}
_PHRASES = _phrases()


def _phrase(words: list[str], at: int) -> Folded:
    """The longest set phrase that begins at a word: prepositions of several words, names, "about to", and
    adjectives of several words, which stand before a noun: "two door".
    """
    before = words[at - 1] if at else ""
    if before == "the" and words[at] in ("inside", "outside") and words[at + 1 : at + 2] == ["of"]:
        return 1, [Word("side", words[at], "name")]
    does = before in known.animate
    begin = (
        (len(phrase), [word])
        for phrase, word in _PHRASES.get(words[at], ())
        if words[at : at + len(phrase)] == phrase
        and (word.kind != "attribute" or (*words[at + len(phrase) :], ".")[0] not in _NO_NOUN)
        # "a blow up raft", but "children blow up balloons"
        and not (word.kind == "attribute" and _does(phrase) and before not in known.openers)
        # "a boy | walking sticks"
        and not (does and word.says in SINGULARS and _acts(phrase[-1]))
    )
    length, made = next(begin, NOTHING)
    after = (*words[at + length :], ".")[0]
    if length and words[at] == "from" and (after in known.stoppers or not after[0].isalnum()):
        return length, [Word("together")]
    return (length - 1, made) if words[at : at + length] == ["glasses", "of"] else (length, made)


def _does(phrase: list[str]) -> bool:
    """Whether an adjective may also be what is done, "blow up", or where something is, "above ground"."""
    return phrase[0] in known.placing or (phrase[0] in known.verbs and phrase[-1] in known.particles | {"on"})


def _acts(word: str) -> bool:
    """Whether the plural of a noun is also what somebody does: "boards", "fries"."""
    return word.endswith("s") and not known.verbs.isdisjoint((word[:-1], word[:-2], f"{word[:-3]}y"))


def _gathering(words: list[str], at: int) -> Folded:
    """A noun that gathers: "a large group of" becomes an adjective, "pair of shoes" one name."""
    ends = (i for i in range(at, len(words)) if words[i] in known.gathers or words[i] in known.stoppers)
    start = min(next(ends, len(words)), at + 3)
    inside = at > 0 and start > at and words[at] not in known.opening
    inside |= not all(map(_describes, words[at + 1 : start]))
    if inside or words[start + 1 : start + 2] != ["of"] or words[start] not in known.gathers:
        return NOTHING
    definite = "the" in words[max(at - 1, 0) : start] and words[start + 2 : start + 3] == ["the"]
    if definite and words[start] in known.wholes:
        return NOTHING
    after = next((i for i in range(start + 2, len(words)) if words[i] not in known.determiners), len(words))
    ahead = words[after : after + 3]
    noun = next((i for i, word in enumerate(ahead) if word in known.paired), None)
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


def _aged(words: list[str], at: int) -> Folded:
    """An age: an adjective in "a two year old girl", who is meant in "a two year old plays"."""
    aged = words[at + 1] in known.ages and words[at + 2 : at + 3] == ["old"]
    if not aged or words[at] in ("a", "an", "the"):
        return NOTHING
    after, old = (*words[at + 3 :], ".")[0], " ".join(words[at : at + 3])
    named = at == 0 or words[at - 1] in known.articles
    alone = named and (not after[0].isalnum() or after in _NO_NOUN or _acts(after))
    return 3, [Word("child", old, "name") if alone else Word("red", old, "attribute")]


def _shade(words: list[str], at: int) -> Folded:
    """One adjective of two words: "dark blue"; a colour that may be a noun is given as one that may not, and
    no comma stands in "a brown, white, and black dog".
    """
    first, second = (*words[at : at + 2], "")[:2]
    colour = {words[at - 1], *words[at + 1 : at + 3]} - {"and"} if first == "," and at else {""}
    if colour <= known.colours:
        return 1, []
    inside = at + 2 < len(words)
    shade = at + 2 + (words[at + 2 : at + 3] != [] and words[at + 2] in known.shades)
    if shade < len(words) and words[shade] in known.colours:
        after = (*words[shade + 1 :], ".")[0]
        inside &= after not in _TOLD and not _acts(after)
    if second and _one_look(words, at, inside=inside):
        return 2, [Word("red", f"{first} {second}", "attribute")]
    # before a noun these are no verbs and no amounts: "two spotted birds", "three little striped pears"
    before = second[:1].isalpha() and second not in _BEFORE
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


def _one_look(words: list[str], at: int, *, inside: bool) -> bool:
    """Whether two words are one adjective.

    Args:
        words: of the sentence.
        at: position of the first.
        inside: whether what follows them may be a noun.
    """
    first, second, after = (*words[at : at + 3], "")[:3]
    # "a snow topped mountain", but not "a pizza topped with cheese"
    named = inside and after not in _NOT_NAMED
    bare = named and first not in _NOT_FIRST
    does = first.endswith("ing") and first not in known.participles
    part = first.endswith(("ly", "ing", "ful")) or first in known.apart
    said = second in known.compounded
    numbered = first == "number" and (second.isdigit() or second in known.numbers)
    looking = inside and second == "looking"
    return (
        ((first in known.shades or _ish(first)) and second in known.colours)
        or (first in known.depths and second in _UNITS_OF)
        # "snow covered mountains", but not "a large painted tower"; "a two lane road"
        or (bare and said and not part)
        or (named and (first in known.numbers or first.isdigit()) and second in known.units)
        # "a brown hair woman"
        or (first in known.colours and second == "hair" and after in known.animate)
        # "a long haired dog", but not "holding colored flags"
        or (named and second in known.made and not does and first not in _NO_FIRST and not (part and said))
        # "a castle like building", "the number 23 jersey"
        or (
            (named and at > 0 and words[at - 1] in known.articles)
            and (second == "like" or numbered)
            and not _acts(after)
        )
        or (looking and first in known.looks)
        # but not "sits by a beach looking sad"
        or (
            looking
            and bare
            and not first.endswith("s")
            and not {first, after} & _AROUND
            and first not in _THINGS
        )
    )


def _ish(word: str) -> bool:
    """Whether a word is nearly a colour: "greenish", "reddish", "orangish", but not "british"."""
    base = word.removesuffix("ish")
    return base != word and not known.colours.isdisjoint((base, base[:-1], f"{base}e"))


def _frame(words: list[str], at: int) -> Folded:
    """The beginning that says nothing: "an aerial view of"; "we see" also after a place."""
    if words[at : at + 2] == ["we", "see"]:
        return 2, [Word("there"), Word("is")]
    if words[at : at + 2] == ["in", "this"] and {*words[at + 2 : at + 3]} & known.frames:
        return 3, []
    if (
        at
        and words[at] == "in"
        and words[-1] in known.pictured
        and known.pictorial.issuperset(words[at + 1 : -1])
    ):
        # "in an old black and white photo" at the end
        return len(words) - at, []
    for i, word in enumerate(words[:7] if at == 0 else ()):
        opened = word in known.articles or word.endswith("ing")
        if i and opened and words[0] not in ("this", "here", "there", "it"):
            break
        after = words[i + 1] if i + 1 < len(words) else ""
        # "three men take pictures of a dog"
        if word in known.frames and word.endswith("s") and not known.seen.issuperset(words[:i]):
            break
        if word in known.frames or (word == "up" and i > 0 and words[i - 1] == "close"):
            shows = after in ("shows", "showing", "depicts", "depicting", "features")
            if shows or (after == "of" and len(words) > i + 2):
                return i + 2, []
        if word in ("with", "on", "in", "at", "near", "holding"):
            break
    return NOTHING


def _partitive(words: list[str], at: int) -> Folded:
    """A part of a whole: of "some of the men" goes "of the"."""
    if words[at + 1 : at + 2] != ["of"] or at + 2 >= len(words):
        return NOTHING
    if words[at + 2] in ("them", "which", "whom", "it"):
        return 3, [Word("they")]
    if words[at] == "one":
        return NOTHING
    return 2 + (words[at + 2] in ("the", "these", "those", "his", "her", "their")), [Word(words[at])]


def _counted(words: list[str], at: int) -> Folded:
    """A place before a number, which taggers take for "more than": "over two cars"."""
    counted = words[at] in _OVER and words[at + 1 : at + 2] in COUNTED
    return (1, [Word("near", words[at], "preposition")]) if counted else NOTHING


def _couple(words: list[str], at: int) -> Folded:
    """An amount without "of": "a couple umbrellas"."""
    after = (*words[at + 1 :], ".")[0]
    amount = at > 1 and words[at - 1] == "a" and after.endswith("s") and after not in _NO_PLURAL
    return (1, [Word("several", "couple", "attribute")]) if amount and not _acts(after) else NOTHING


def _owner(words: list[str], at: int) -> Folded:
    """An owner without an apostrophe: "the dogs mouth"."""
    after = (*words[at + 1 :], ".")[0]
    before = words[at - 1] if at else ""
    part = after in known.body and (before == "a" or (before in _OWNED and after not in known.verbs))
    owner = words[at][:-1]
    return (1, [*(_alike([owner], 0)[1] or [Word(owner)]), Word("'s")]) if part else NOTHING


def _tie(words: list[str], at: int) -> Folded:
    """A tie that is no verb: "in shirt and tie"."""
    plain = _TIES.get(words[at], "")
    worn = plain and at > 0 and words[at - 1] not in ("is", "are", "to", "they")
    return (1, [Word(plain, words[at], "name")]) if worn else NOTHING


def _sport(words: list[str], at: int) -> Folded:
    """What somebody does is a thing: "practicing rock climbing"."""
    for length in (1, 2):
        name = words[at + 1 : at + 1 + length]
        after = (*words[at + 1 + length :], ".")[0]
        sport = name[-1:] != [] and name[-1] in known.sports and name[0] not in known.articles
        if sport and (after in _ENDS or not after[0].isalnum()):
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
    if word not in _STAND_INS:
        return NOTHING
    return 1, [Word(_STAND_INS[word], word, "" if word in known.pronouns else "name")]


@cache
def _hyphenated(word: str) -> Word:
    """A hyphenated word is one adjective or noun, whatever its parts."""
    last, looks = word.rpartition("-")[2], ("old", "style", "year", "size", "like", "up", "free")
    if last == word:
        return Word(word)
    adjective = last.endswith(("ed", "ing")) and last not in known.unworked
    adjective |= last in known.colours | known.compounded | known.made
    adjective |= last in looks or word.endswith("ed-in") or word.replace("-", " ") in _ADJECTIVES
    return Word("large", word, "attribute") if adjective else Word(last, word, "name")
