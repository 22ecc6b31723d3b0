"""From a scene graph to an English sentence.

``verbalise`` says everything that a graph states, and nothing else. The first relation makes the sentence,
later ones are added as further clauses or sentences that name a thing again by the same word ("the cat"), so
that no phrase can be attached to the wrong noun.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.data._scene_dice import Dice
from workbench.data._scene_vocabulary import (
    BACKDROPS,
    COLOURS,
    COUNTS,
    KINDS,
    MASS,
    NOUNS,
    PATTERNS,
    PLURAL,
    RELATIONS,
    SIZES,
)
from workbench.records import SceneGraph

Triple = tuple[int, str, int]
_FRAMES = (
    "",
    "",
    "",
    "there is",
    "a photo of",
    "a picture of",
    "an image of",
    "this picture shows",
    "we see",
)
_PLURALS = {
    "butterfly": "butterflies",
    "bus": "buses",
    "cactus": "cacti",
    "box": "boxes",
    "bush": "bushes",
    "lorry": "lorries",
    "bunny": "bunnies",
}
_STANDING = ("elephant", "tree", "house", "castle", "lighthouse", "windmill", "table", "chair", "cactus")
_SITTING = ("cat", "dog", "rabbit", "bird")
_FLYING = ("bird", "butterfly", "airplane", "rocket", "kite")


def article(phrase: str) -> str:
    """The phrase with *a* or *an* before it.

    >>> article("orange cat"), article("big elephant")
    ('an orange cat', 'a big elephant')
    """
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def plural(word: str) -> str:
    """The plural of a noun of the vocabulary.

    >>> plural("bus"), plural("cat")
    ('buses', 'cats')
    """
    return _PLURALS.get(word, word + "s")


@dataclass
class _Speaker:
    """The words chosen for one graph: each node keeps its noun throughout the caption."""

    dice: Dice
    graph: SceneGraph
    nouns: dict[int, str] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    later: int | None = None
    verbs: int = 0

    def has(self, node: int, words: tuple[str, ...]) -> list[str]:
        """Those of the words that are attributes of the node."""
        return [a for n, a in self.graph.attributes if n == node and a in words]

    def many(self, node: int) -> bool:
        """Whether the node is spoken of in the plural."""
        return bool(self.has(node, (*COUNTS.values(), PLURAL)))

    def noun(self, node: int) -> str:
        """The node's noun, chosen once among its synonyms."""
        if node not in self.nouns:
            name = self.graph.objects[node]
            word = self.dice.pick(
                KINDS[name] if name in KINDS else NOUNS[name].says if name in NOUNS else (name,)
            )
            self.nouns[node] = plural(word) if self.many(node) else word
        return self.nouns[node]

    def modified(self, node: int) -> str:
        """The noun with its adjectives: size, then pattern and colour in either order."""
        size = [self.dice.pick(SIZES[s]) for s in self.has(node, tuple(SIZES))]
        rest = [self.dice.pick(PATTERNS[p]) for p in self.has(node, tuple(PATTERNS))]
        rest += [] if node == self.later else self.has(node, tuple(COLOURS))
        if self.dice.chance(25):
            rest.reverse()
        known = {*SIZES, *PATTERNS, *COLOURS, *COUNTS.values(), PLURAL}
        other = [a for n, a in self.graph.attributes if n == node and a not in known]
        return " ".join([*size, *other, *rest, self.noun(node)])

    def phrase(self, node: int) -> str:
        """The node as a noun phrase: in full the first time, as "the cat" from then on; a backdrop by its own
        phrase.
        """
        name = self.graph.objects[node]
        if name in BACKDROPS:
            return self.dice.pick(BACKDROPS[name][1])
        if node in self.told:
            return "the " + self.noun(node)
        self.told.add(node)
        count = self.has(node, tuple(COUNTS.values()))
        if count:
            return f"{count[0]} {self.modified(node)}"
        some = self.many(node) or name in MASS
        return f"some {self.modified(node)}" if some else article(self.modified(node))

    def verb(self, subject: int, relation: str) -> str:
        """A verb for the clause: is, sits, stands, flies or is parked, agreeing in number."""
        name, dice, many = self.graph.objects[subject], self.dice, self.many(subject)
        options = [("is", "are")] * 2
        if relation == "above" and name in _FLYING:
            options += [("flies", "fly"), ("is flying", "are flying")]
        elif relation != "above" and name in _SITTING:
            options += (
                [("sits", "sit"), ("is sitting", "are sitting")]
                if name != "bird" or relation in ("on", "in")
                else []
            )
        elif relation not in ("above", "on", "in") and name in _STANDING:
            options += [("stands", "stand")]
        elif relation in ("next to", "behind", "in front of") and name in ("car", "bus", "truck"):
            options += [("is parked", "are parked")]
        self.verbs += 1
        return dice.pick(options)[many]

    def tie(self, triple: Triple) -> str:
        """Preposition and object of a relation."""
        _, relation, node = triple
        says = (relation,) if self.graph.objects[node] in BACKDROPS else RELATIONS.get(relation, (relation,))
        return f"{self.dice.pick(says)} {self.phrase(node)}"

    def clause(self, triple: Triple, verb: bool) -> str:
        """Subject, perhaps a verb, and the relation."""
        subject = self.phrase(triple[0])
        middle = f" {self.verb(triple[0], triple[1])} " if verb else " "
        return subject + middle + self.tie(triple)

    def exist(self, nodes: list[int]) -> str:
        """A clause that says that things are there."""
        self.verbs += 1
        return f"there {'are' if self.many(nodes[0]) else 'is'} {_listed([self.phrase(n) for n in nodes])}"

    def keep_for_later(self) -> None:
        """Now and then one thing's colour gets a sentence of its own."""
        coloured = [n for n in range(len(self.graph.objects)) if self.has(n, tuple(COLOURS))]
        if coloured and self.dice.chance(15):
            self.later = self.dice.pick(coloured)

    def kept(self) -> str:
        """That sentence, or nothing."""
        if self.later is None:
            return ""
        colours = " and ".join(self.has(self.later, tuple(COLOURS)))
        return f". {self.phrase(self.later)} {'are' if self.many(self.later) else 'is'} {colours}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _listed(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " and " + phrases[-1]


def _framed(speaker: _Speaker, first: Triple | None, clauses: bool) -> tuple[str, bool]:
    """The first clause, and whether it is a sentence that a place may stand before ("at night, ...")."""
    dice, graph = speaker.dice, speaker.graph
    frame = dice.pick(_FRAMES)
    if first is None:
        backdrops = {n for n, name in enumerate(graph.objects) if name in BACKDROPS}
        things = [n for n in range(len(graph.objects)) if n not in backdrops] or sorted(backdrops)
        core = speaker.exist(things) if frame == "there is" else _listed([speaker.phrase(n) for n in things])
    elif clauses or dice.chance(40):
        return speaker.clause(first, True), True
    else:
        rest = speaker.exist([first[0]]) if frame == "there is" else speaker.phrase(first[0])
        core = f"{rest} {speaker.tie(first)}"
    speaker.verbs += frame in ("we see", "this picture shows")
    return core if frame in ("", "there is") else f"{frame} {core}", frame in ("there is", "we see")


def _connected(ties: list[Triple]) -> list[Triple]:
    """The relations in an order in which each one after the first names something already told, as far as
    that is possible.
    """
    left, told, out = list(ties), set[int](), list[Triple]()
    while left:
        following = next((t for t in left if told & {t[0], t[2]}), left[0])
        left.remove(following)
        told |= {following[0], following[2]}
        out.append(following)
    return out


def verbalise(graph: SceneGraph, dice: Dice) -> str:
    """An English caption that says what a graph states.

    Args:
        graph: objects, attributes and relations in canonical words; words outside the vocabulary are said as
            they are.
        dice: chooses among synonyms and sentence patterns.

    Returns:
        A noun phrase in lower case, or one or more sentences.
    """
    speaker = _Speaker(dice, graph)
    stages = [t for t in graph.relations if graph.objects[t[2]] in BACKDROPS]
    ties = _connected([t for t in graph.relations if t not in stages])
    later = ties[1:] + stages[1:]
    if ties:
        speaker.keep_for_later()
    text, sentence = _framed(speaker, ties[0] if ties else None, bool(later) or speaker.later is not None)
    if stages:
        place = speaker.tie(stages[0])
        text = f"{place}, {text}" if sentence and dice.chance(55) else f"{text} {place}"
    for triple in later:
        text += dice.pick((", and ", ". ", ". ")) + speaker.clause(triple, True)
    linked = {node for s, _, o in graph.relations for node in (s, o)}
    lone = [n for n in range(len(graph.objects)) if n not in linked]
    text += f". {speaker.exist(lone)}" if lone and ties else ""
    text += speaker.kept()
    return " ".join(map(_sentence, text.split(". "))) if speaker.verbs else text


def short_phrase(graph: SceneGraph, dice: Dice) -> str:
    """A one-object graph as a bare phrase without article, e.g. ``"white rabbit"``; the style of the upper
    levels of a chain.
    """
    return _Speaker(dice, graph).modified(0)
