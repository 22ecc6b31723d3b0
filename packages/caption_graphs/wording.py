"""Step 2: a caption as the words that the tagger and parser get to read.

Set phrases are folded before the parser sees them, since it attaches "near a tree" more surely than "to the
left of a tree": each is replaced by one plain word of the same kind, which remembers what it stands for.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Set
from functools import cache
from itertools import product
from typing import NamedTuple

from caption_graphs.frames import closing_frame, opening_frame
from caption_graphs.looks import NOTHING, SHADED, SHADES, Folded, two_word_adjective
from caption_graphs.vocabulary import (
    ADJECTIVES,
    ADVERBS,
    NAMES,
    NO_NOUN,
    PREPOSITIONS,
    SINGULARS,
    STAND_INS,
    Word,
    ends_noun_phrase,
    is_also_verb,
    known,
    word_at,
)
from workbench.english import plural

LONGEST = 120
_AFTER = known.stoppers | known.placing | known.motion
# "a t.v." is one word
_TOKEN = re.compile(
    r"\b(?:[a-z]\.){2,}|\d+(?:[:./]\d+)+|[^\W_]+(?:['\-][^\W_]+)*|'(?:s|re|ve|ll|d)\b|[.;:!?,\"()&/]"
)
_STOPS = frozenset(".!?;")
_APOSTROPHE = re.compile(r"^(.+?)('s|n't|'re|'ve|'ll|'d)$")


def tokens(text: str) -> list[str]:
    """Return lower-cased words and the punctuation that shapes a sentence; everything else (symbols, control
    characters) is left out.
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    parts: list[str] = []
    for token in _TOKEN.findall(plain):
        clitic = _APOSTROPHE.match(token)
        parts += clitic.groups() if clitic else [token]
    return parts


def sentences(words: list[str]) -> list[list[str]]:
    """Return the words cut at full stops, and at ``LONGEST`` words; the stops are left out."""
    cut: list[list[str]] = [[]]
    for word in words:
        if word in _STOPS or len(cut[-1]) == LONGEST:
            cut.append([])
        if word not in _STOPS:
            cut[-1].append(word)
    return [sentence for sentence in cut if _has_word(sentence)]


def _has_word(sentence: list[str]) -> bool:
    """Return whether a sentence has a word beside its punctuation."""
    return any(word[0].isalnum() for word in sentence)


def fold(words: list[str]) -> list[Word]:
    """Return a sentence's words for the parser.

    Args:
        words: of one sentence, lower case.

    Returns:
        The words with set phrases folded, and a full stop.

    >>> [word.token for word in fold(["a", "photo", "of", "a", "group", "of", "dogs"])]
    ['several', 'dogs', '.']
    """
    folded: list[Word] = []
    at = opening_frame(words)
    while at < len(words):
        due = [rule for rule in RULES if not rule.trigger.isdisjoint(words[at : at + rule.ahead + 1])]
        for rule in due:
            length, replacement = rule.apply(words, at)
            if length:
                folded += replacement
                at += length
                break
        else:
            folded.append(hyphenated_word(words[at]))
            at += 1
    return [*folded, Word(".")]


def _phrases_by_first_word() -> dict[str, list[tuple[list[str], Word]]]:
    """Return all set phrases by their first word, the longest first."""
    table: dict[str, Word] = {}
    for token, several in PREPOSITIONS.items():
        table |= {text: Word(token, text, "preposition") for text in several.split("|")}
    starts, ends = ("to the", "on the", "at the", "to", "on"), ("of", "side of", "hand side of")
    for side, start, end in product(("left", "right"), starts, ends):
        table[f"{start} {side} {end}"] = Word("near", f"{side} of", "preposition")
    table["in middle of"] = Word("in", "in the middle of", "preposition")
    # What is about to happen will happen.
    beginnings = ("is getting", "are getting", "is", "are", "being", "gets", "get", "getting")
    prepared = ("ready", "about", "set", "poised", "preparing", "going")
    moods = [f"{be} {ready} to" for be, ready in product(beginnings, prepared)] + ["ready to", "about to"]
    table |= dict.fromkeys(moods, Word("will"))
    table |= dict.fromkeys(("each other", "one another"), Word("themselves"))
    together = [*ADVERBS, *(phrase.replace(" ", "-") for phrase in ADVERBS)]
    table |= dict.fromkeys(together, Word("together"))
    table |= {"no one": Word("nobody", "no one", "name"), "as well": Word("too"), "as well as": Word("and")}
    for name in NAMES:
        table |= {form: Word(form.split()[-1], form, "name") for form in (name, plural(name))}
    table |= {words: Word("red", words, "attribute") for words in ADJECTIVES}
    by_first: dict[str, list[tuple[list[str], Word]]] = defaultdict(list)
    for text, word in sorted(table.items(), key=lambda item: -len(item[0].split())):
        by_first[text.split()[0]].append((text.split(), word))
    return dict(by_first)


_PHRASES = _phrases_by_first_word()


def set_phrase(words: list[str], at: int) -> Folded:
    """Return the longest set phrase that begins at a word: prepositions of several words, names, "about to",
    and adjectives of several words, which stand before a noun: "two door".
    """
    if word_at(words, at - 1) == "the" and words[at : at + 2] in (["inside", "of"], ["outside", "of"]):
        return 1, [Word("side", words[at], "name")]
    for phrase, word in _PHRASES[words[at]]:
        if words[at : at + len(phrase)] == phrase and _is_set_phrase(words, at, phrase, word):
            after = word_at(words, at + len(phrase), ".")
            # "seen from above," -> together: no preposition without its noun
            alone = words[at] == "from" and (after in known.stoppers or not after[0].isalnum())
            return len(phrase), [Word("together") if alone else word]
    return NOTHING


def _is_set_phrase(words: list[str], at: int, phrase: list[str], word: Word) -> bool:
    """Return whether words that are written as a set phrase are one where they stand."""
    before, after = word_at(words, at - 1), word_at(words, at + len(phrase), ".")
    if word.token == "together":
        # "has his | face down"
        return before not in known.openers
    if word.says in SINGULARS and is_also_verb(phrase[-1]):
        # "a boy | walking sticks", "a | boy scouts the area"
        return before not in known.animate and not (phrase[0] in known.animate and after in known.articles)
    if word.kind != "attribute":
        return True
    does = phrase[0] in known.placing or (phrase[0] in known.verbs and phrase[-1] in known.particles | {"on"})
    if does and before not in known.openers:
        # "a blow up raft", but "children blow up balloons"
        return False
    return after not in NO_NOUN or (before in known.be and after in (".", ","))


def gathering_noun(words: list[str], at: int) -> Folded:
    """Return a noun that gathers: "a large group of" becomes an adjective, "pair of shoes" one name."""
    until = (i for i in range(at, len(words)) if words[i] in known.gathers or words[i] in known.stoppers)
    start = min(next(until, len(words)), at + 3)
    if start == at and words[at + 1 : at + 4] == ["and", words[at], "of"]:
        # "rows and rows of"
        return 2, []
    # "of single slices of"
    begins = at == 0 or (words[at - 1] in known.stoppers and start == at + 1 and _may_describe(words[at]))
    inside = start > at and not begins and words[at] not in known.opening
    inside |= not all(map(_may_describe, words[at + 1 : start]))
    if inside or words[start + 1 : start + 2] != ["of"] or words[start] not in known.gathers:
        return NOTHING
    definite = "the" in words[max(at - 1, 0) : start] and words[start + 2 : start + 3] == ["the"]
    if definite and words[start] in known.wholes:
        return NOTHING
    after = next((i for i in range(start + 2, len(words)) if words[i] not in known.determiners), len(words))
    ahead = words[after : after + 3]
    noun = next((i for i, word in enumerate(ahead) if word in known.paired), None)
    does, then = (*ahead[1:3], ".", ".")[:2]
    alone = does.endswith("ing") and ends_noun_phrase(then)
    if ahead[:1] and ahead[0] in known.numbers and alone:
        # "a group of four | hiking"
        return after + 1 - at, [
            Word("several", _singular_of(words[start]), "attribute"),
            Word("people", ahead[0], "name"),
        ]
    if words[start] in ("pair", "pairs") and noun is not None:
        plain = [word for word in (*words[at:start], *ahead[:noun]) if word not in known.articles]
        adjectives = fold([*plain, ahead[noun]])[:-2]
        return after + noun + 1 - at, [*adjectives, Word(ahead[noun], f"pair of {ahead[noun]}", "name")]
    if not ahead or ahead[0] in known.stoppers or (words[start] == "family" and ahead[0] in known.numbers):
        return NOTHING
    return after - at, [Word("several", _singular_of(words[start]), "attribute")]


def _may_describe(word: str) -> bool:
    """Return whether a word between an article and a noun that gathers may be an adjective."""
    noun = word in known.animate or (word.endswith("s") and word not in known.counted)
    verb = word in known.have | known.be or (word.endswith("ing") and word not in known.participles)
    return not noun and not verb


def _singular_of(gathers: str) -> str:
    """Return the singular of a noun that gathers."""
    singulars = (gathers[:-1], gathers[:-2], f"{gathers[:-3]}y") if gathers.endswith("s") else ()
    return next(filter(known.gathers.__contains__, singulars), gathers)


def partitive_phrase(words: list[str], at: int) -> Folded:
    """Return a part of a whole: of "some of the men" goes "of the"; "two of them" are they, with their
    number.
    """
    number = words[at]
    counted = number in known.numbers or number.isdigit()
    if word_at(words, at + 1) != "of" or not (counted or number in known.partitives | {"one"}):
        return NOTHING
    whole = word_at(words, at + 2)
    if whole in ("them", "which", "whom", "it"):
        return 3, [Word("they", number, "count") if counted else Word("they")]
    if number == "one" or not whole:
        return NOTHING
    return 2 + (whole in ("the", "these", "those", "his", "her", "their")), [Word(number)]


def replaced_word(words: list[str], at: int) -> Folded:
    """Return a word that is given as another of its kind, which the tagger knows better, and so that "her"
    and "him" are read alike: "her" is "him" where no noun of hers follows.
    """
    word, after = words[at], word_at(words, at + 1, ".")
    if word == "her":
        alone = after in (known.followers | known.articles | _AFTER) - {"two"} or not after[0].isalnum()
        return 1, [Word("him" if alone else "his", word)]
    return 1, [Word(STAND_INS[word], word, "" if word in known.pronouns else "name")]


@cache
def hyphenated_word(word: str) -> Word:
    """Return a hyphenated word as one adjective or noun, whatever its parts are."""
    last, looks = word.rpartition("-")[2], ("old", "style", "year", "size", "like", "up", "free", "deep")
    if last == word:
        return Word(word)
    adjective = last.endswith(("ed", "ing")) and last not in known.unworked
    adjective |= last in known.colours | known.compounded | known.made
    adjective |= last in looks or word.endswith("ed-in") or word.replace("-", " ") in ADJECTIVES
    return Word("large", word, "attribute") if adjective else Word(last, word, "name")


class Rule(NamedTuple):
    """One folding rule.

    Args:
        apply: what it makes of the words from a position on.
        trigger: words without which it does nothing.
        ahead: how many words before a trigger it may begin.
    """

    apply: Callable[[list[str], int], Folded]
    trigger: Set[str]
    ahead: int = 0


# In the order in which they are tried at a word.
RULES = (
    Rule(closing_frame, frozenset({"we", "in", ","})),
    Rule(set_phrase, _PHRASES.keys()),
    Rule(gathering_noun, known.gathers, 3),
    Rule(partitive_phrase, frozenset({"of"}), 1),
    Rule(two_word_adjective, SHADES),
    Rule(two_word_adjective, SHADED, 1),
    Rule(replaced_word, STAND_INS.keys() | {"her"}),
)
