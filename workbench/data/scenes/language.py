"""From a scene to English: what a caption states, and the sentence that says it.

A caption states a part of a scene's graph, at one of five levels of detail or as one of a chain of four.
Level 1 names one thing, mostly by its kind; level 2 adds an attribute; level 3 tells of two things and their
relation (or of one and its backdrop); level 4 of up to three things with some of their looks; level 5 tells
everything that the picture shows, except now and then that a thing is plain, and one relation for each thing
where there may be several.

``verbalise`` then says everything that a graph states, and nothing else. The first relation makes the
sentence, later ones are added as further clauses or sentences that name a thing again by the same word ("the
cat"), so that no phrase can be attached to the wrong noun.
"""

from dataclasses import dataclass, field

from workbench.data.scenes.dice import Dice
from workbench.data.scenes.vocabulary import (
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
LEVELS = 5
_SIDEWAYS = ("left of", "right of")


def things_of(scene: SceneGraph) -> int:
    """How many nodes of a scene's graph are things; the backdrop comes after them."""
    return len(scene.objects) - 1


def part(
    scene: SceneGraph, names: dict[int, str], attributes: list[tuple[int, str]], relations: list[Triple]
) -> SceneGraph:
    """The part of a scene that a caption tells.

    Args:
        scene: the whole truth.
        names: what to call each told node, in the order of telling.
        attributes: what to tell of them, with the scene's node numbers.
        relations: likewise.

    Returns:
        A graph whose nodes are numbered in the order of ``names``.
    """
    number = {node: i for i, node in enumerate(names)}
    told = tuple((number[node], a) for node, a in attributes)
    return SceneGraph(tuple(names.values()), told, tuple((number[s], r, number[o]) for s, r, o in relations))


def looks(scene: SceneGraph, node: int, plain: bool = False) -> list[tuple[int, str]]:
    """The attributes of a node; that it is plain only when asked for."""
    return [(n, a) for n, a in scene.attributes if n == node and (plain or a != "plain")]


def _telling(dice: Dice, scene: SceneGraph, node: int) -> tuple[int, str]:
    """One attribute of a node, colour more often than the others."""
    often = {*COLOURS, *COUNTS.values()}
    return dice.pick(
        [
            look
            for look in looks(scene, node, plain=dice.chance(15))
            for _ in range(3 if look[1] in often else 1)
        ]
    )


def _some(dice: Dice, scene: SceneGraph, node: int, percent: int) -> list[tuple[int, str]]:
    """Each attribute of a node with this chance; a count is nearly always told, now and then only as a
    plural.
    """
    out = []
    for n, a in looks(scene, node):
        if a in COUNTS.values():
            out.append((n, a if dice.chance(75) else PLURAL))
        elif dice.chance(percent):
            out.append((n, a))
    return out


def _links(scene: SceneGraph, told: list[int], node: int) -> list[Triple]:
    """Relations that tie a node to those already told, either way round; in-column and *next to* before
    *left* and *right of*.
    """
    ties = [r for r in scene.relations if (r[0] == node and r[2] in told) or (r[2] == node and r[0] in told)]
    return [r for r in ties if r[1] not in _SIDEWAYS] or ties


def _joined(dice: Dice, scene: SceneGraph, nodes: list[int]) -> list[Triple]:
    """Relations that join the nodes, each new one to an earlier one."""
    chosen: list[Triple] = []
    for i, node in enumerate(nodes[1:], 1):
        near = [t for t in _links(scene, nodes[:i], node) if t[1] not in _SIDEWAYS] or _links(
            scene, nodes[i - 1 : i], node
        )
        chosen.append(dice.pick(near or _links(scene, nodes[:i], node)))
    return chosen


def _stage(scene: SceneGraph, node: int) -> Triple:
    """The relation of a node to the backdrop."""
    where = scene.objects[-1]
    return node, BACKDROPS[where][0], things_of(scene)


def _named(dice: Dice, scene: SceneGraph, nodes: list[int], kind_percent: int) -> dict[int, str]:
    """Names for nodes: the noun, or with this chance one of its kinds; no name twice, so that "the animal" is
    one of them.
    """
    names: dict[int, str] = {}
    for node in nodes:
        noun = scene.objects[node]
        kind = dice.pick(NOUNS[noun].kinds) if noun in NOUNS and dice.chance(kind_percent) else noun
        names[node] = noun if kind in names.values() else kind
    return names


def _speakable(names: dict[int, str], attributes: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The attributes without counts of what English does not count: two foods, two furnitures."""
    uncounted = {*COUNTS.values(), PLURAL}
    return [(n, a) for n, a in attributes if not (names[n] in MASS and a in uncounted)]


def _generic(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 1: one thing, mostly by its kind."""
    return part(scene, _named(dice, scene, [dice.below(things_of(scene))], 60), [], [])


def _attributed(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 2: one thing with one attribute."""
    node = dice.below(things_of(scene))
    look = _telling(dice, scene, node)
    return part(scene, _named(dice, scene, [node], 0 if look[1] in COUNTS.values() else 20), [look], [])


def _related(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 3: two things and how they stand to each other, or one thing on its backdrop."""
    nodes = dice.shuffled(range(things_of(scene)))[:2]
    if len(nodes) == 1 or dice.chance(20):
        names = _named(dice, scene, [nodes[0], things_of(scene)], 15)
        return part(
            scene, names, _speakable(names, [_telling(dice, scene, nodes[0])]), [_stage(scene, nodes[0])]
        )
    names = _named(dice, scene, nodes, 15)
    told = [a for node in nodes if dice.chance(55) for a in [_telling(dice, scene, node)]]
    return part(scene, names, _speakable(names, told), _joined(dice, scene, nodes))


def _detailed(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 4: up to three things with some of their looks."""
    nodes = dice.shuffled(range(things_of(scene)))[:3]
    staged = len(nodes) == 1 or dice.chance(55)
    names = _named(dice, scene, [*nodes, things_of(scene)] if staged else nodes, 5)
    told = _speakable(names, [a for node in nodes for a in _some(dice, scene, node, 55)])
    return part(
        scene, names, told, [*_joined(dice, scene, nodes), *([_stage(scene, nodes[0])] if staged else [])]
    )


def _complete(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 5: everything."""
    nodes = dice.shuffled(range(things_of(scene)))
    told = [a for node in nodes for a in looks(scene, node, plain=dice.chance(15))]
    names = _named(dice, scene, [*nodes, things_of(scene)], 0)
    return part(scene, names, told, [*_joined(dice, scene, nodes), _stage(scene, nodes[0])])


_TELL = (_generic, _attributed, _related, _detailed, _complete)


def statement(dice: Dice, scene: SceneGraph, level: int) -> SceneGraph:
    """What a caption of this level says of a scene.

    Args:
        dice: the choices.
        scene: the whole truth, its last node the backdrop.
        level: 1 (generic) to 5 (specific).

    Returns:
        A graph that is true of the scene.
    """
    return _TELL[level - 1](dice, scene)


def chain(dice: Dice, scene: SceneGraph) -> list[SceneGraph]:
    """Four statements about a scene, each of which follows from the next: a kind, a noun with a look, a
    relation, everything.
    """
    nodes = dice.shuffled(range(things_of(scene)))
    first = nodes[0]
    look = dice.pick([a for a in looks(scene, first) if a[1] in COLOURS or a[1] in PATTERNS])
    kind = {first: NOUNS[scene.objects[first]].kinds[-1]}
    ties = _joined(dice, scene, nodes)
    staged = _stage(scene, first)
    pair = [first, nodes[1] if len(nodes) > 1 else things_of(scene)]
    nouns = _named(dice, scene, [*nodes, things_of(scene)], 0)
    everything = part(scene, nouns, [a for node in nodes for a in looks(scene, node)], [*ties, staged])
    return [
        part(scene, kind, [], []),
        part(scene, {first: nouns[first]}, [look], []),
        part(scene, {n: nouns[n] for n in pair}, [look], [ties[0] if ties else staged]),
        everything,
    ]


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

    def clause(self, triple: Triple) -> str:
        """Subject, verb and relation."""
        return f"{self.phrase(triple[0])} {self.verb(triple[0], triple[1])} {self.tie(triple)}"

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
        return speaker.clause(first), True
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
        text += dice.pick((", and ", ". ", ". ")) + speaker.clause(triple)
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
