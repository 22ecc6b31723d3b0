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

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from scene_world.dice import Dice
from scene_world.vocabulary import (
    ATTRIBUTES,
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
from workbench.english import article, join_words, plural
from workbench.records import SceneGraph

Triple = tuple[int, str, int]
LEVELS = 5
_SIDEWAYS = ("left of", "right of")
_COUNTED = (*COUNTS.values(),)
_NUMBERS = (*_COUNTED, PLURAL)


def part_of_scene(
    scene: SceneGraph, names: dict[int, str], attributes: list[tuple[int, str]], relations: list[Triple]
) -> SceneGraph:
    """Return the part of a scene that a caption tells.

    Args:
        scene: the whole truth.
        names: what to call each told node, in the order of telling.
        attributes: what to tell of them, with the scene's node numbers; a number of what English does not
            count is left out.
        relations: likewise.

    Returns:
        A graph whose nodes are numbered in the order of ``names``.
    """
    number = {node: i for i, node in enumerate(names)}
    # English does not count some kinds: two foods, two furnitures
    counted = [(n, a) for n, a in attributes if not (names[n] in MASS and a in _NUMBERS)]
    node_attributes = tuple((number[node], a) for node, a in counted)
    ties = tuple((number[s], r, number[o]) for s, r, o in relations)
    return SceneGraph(tuple(names.values()), node_attributes, ties)


def node_attributes(scene: SceneGraph, node: int, plain: bool = False) -> list[tuple[int, str]]:
    """Return the attributes of a node; that it is plain only when asked for."""
    return [(n, a) for n, a in scene.attributes if n == node and (plain or a != "plain")]


def _draw_attribute(dice: Dice, scene: SceneGraph, node: int) -> tuple[int, str]:
    """Return one attribute of a node, colour more often than the others."""
    tickets = []
    for look in node_attributes(scene, node, plain=dice.chance(15)):
        often = look[1] in COLOURS or look[1] in _COUNTED
        tickets += [look] * (3 if often else 1)
    return dice.pick(tickets)


def _draw_some_attributes(dice: Dice, scene: SceneGraph, node: int, percent: int) -> list[tuple[int, str]]:
    """Return each attribute of a node with this chance; a count is nearly always told, now and then only as a
    plural.
    """
    chosen = []
    for n, look in node_attributes(scene, node):
        if look in _COUNTED:
            chosen.append((n, look if dice.chance(75) else PLURAL))
        elif dice.chance(percent):
            chosen.append((n, look))
    return chosen


def _joining_relations(dice: Dice, scene: SceneGraph, nodes: list[int]) -> list[Triple]:
    """Return relations that join the nodes, each new one to an earlier one; in-column and *next to* before
    *left* and *right of* the one that was named last.
    """

    def ties(node: int, others: list[int]) -> list[Triple]:
        pairs = {(node, other) for other in others} | {(other, node) for other in others}
        return [tie for tie in scene.relations if (tie[0], tie[2]) in pairs]

    joined = []
    for i, node in enumerate(nodes[1:], 1):
        near = [tie for tie in ties(node, nodes[:i]) if tie[1] not in _SIDEWAYS]
        joined.append(dice.pick(near or ties(node, [nodes[i - 1]])))
    return joined


def _backdrop_relation(scene: SceneGraph, node: int) -> Triple:
    """Return the relation of a node to the backdrop."""
    return node, BACKDROPS[scene.objects[-1]][0], len(scene.objects) - 1


def _draw_names(dice: Dice, scene: SceneGraph, nodes: list[int], kind_percent: int) -> dict[int, str]:
    """Return names for nodes: the noun, or with this chance one of its kinds; no name twice, so that "the
    animal" is one of them.
    """
    names: dict[int, str] = {}
    for node in nodes:
        noun = scene.objects[node]
        kind = dice.pick(NOUNS[noun].kinds) if noun in NOUNS and dice.chance(kind_percent) else noun
        names[node] = noun if kind in names.values() else kind
    return names


def statement(dice: Dice, scene: SceneGraph, level: int) -> SceneGraph:
    """Return what a caption of this level says of a scene.

    Args:
        dice: the choices.
        scene: the whole truth, its last node the backdrop.
        level: 1 (generic) to 5 (specific).

    Returns:
        A graph that is true of the scene.
    """
    backdrop = len(scene.objects) - 1
    if level == 1:
        return part_of_scene(scene, _draw_names(dice, scene, [dice.below(backdrop)], 60), [], [])
    if level == 2:
        node = dice.below(backdrop)
        look = _draw_attribute(dice, scene, node)
        return part_of_scene(
            scene, _draw_names(dice, scene, [node], 0 if look[1] in _COUNTED else 20), [look], []
        )
    nodes = dice.shuffled(range(backdrop))[: {3: 2, 4: 3}.get(level)]
    staged = level == 5 or len(nodes) == 1 or dice.chance({3: 20, 4: 55}[level])
    if level == 3 and staged:
        names = _draw_names(dice, scene, [nodes[0], backdrop], 15)
        return part_of_scene(
            scene, names, [_draw_attribute(dice, scene, nodes[0])], [_backdrop_relation(scene, nodes[0])]
        )
    if level == 3:
        names = _draw_names(dice, scene, nodes, 15)
        chosen = [_draw_attribute(dice, scene, node) for node in nodes if dice.chance(55)]
    elif level == 4:
        names = _draw_names(dice, scene, [*nodes, backdrop] if staged else nodes, 5)
        chosen = list(
            itertools.chain.from_iterable(_draw_some_attributes(dice, scene, node, 55) for node in nodes)
        )
    else:
        chosen = list(
            itertools.chain.from_iterable(
                node_attributes(scene, node, plain=dice.chance(15)) for node in nodes
            )
        )
        names = _draw_names(dice, scene, [*nodes, backdrop], 0)
    ties = _joining_relations(dice, scene, nodes)
    return part_of_scene(
        scene, names, chosen, [*ties, _backdrop_relation(scene, nodes[0])] if staged else ties
    )


def chain(dice: Dice, scene: SceneGraph) -> list[SceneGraph]:
    """Return four statements about a scene, each of which follows from the next: a kind, a noun with a look,
    a relation, everything.
    """
    *things, backdrop = range(len(scene.objects))
    nodes = dice.shuffled(things)
    first = nodes[0]
    look = dice.pick([a for a in node_attributes(scene, first) if a[1] in COLOURS or a[1] in PATTERNS])
    ties = [*_joining_relations(dice, scene, nodes), _backdrop_relation(scene, first)]
    nouns = _draw_names(dice, scene, [*nodes, backdrop], 0)
    pair = {node: nouns[node] for node in [*nodes, backdrop][:2]}
    kind = {first: NOUNS[scene.objects[first]].kinds[-1]}
    every = list(itertools.chain.from_iterable(node_attributes(scene, node) for node in nodes))
    bare = part_of_scene(scene, kind, [], [])
    looked_at = part_of_scene(scene, {first: nouns[first]}, [look], [])
    return [
        bare,
        looked_at,
        part_of_scene(scene, pair, [look], ties[:1]),
        part_of_scene(scene, nouns, every, ties),
    ]


FRAMES = ("",) * 3 + (
    "there is",
    "a photo of",
    "a picture of",
    "an image of",
    "this picture shows",
    "we see",
)
_STANDING = ("elephant", "tree", "house", "castle", "lighthouse", "windmill", "table", "chair", "cactus")
_SITTING = ("cat", "dog", "rabbit", "bird")
_FLYING = ("bird", "butterfly", "airplane", "rocket", "kite")


@dataclass
class _Speaker:
    """The words chosen for one graph: each node keeps its noun throughout the caption."""

    dice: Dice
    graph: SceneGraph
    nouns: dict[int, str] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    later: int | None = None
    verbs: int = 0

    def attributes_among(self, node: int, words: tuple[str, ...]) -> list[str]:
        """Return those of the words that are attributes of the node."""
        return [a for n, a in self.graph.attributes if n == node and a in words]

    def is_plural(self, node: int) -> bool:
        """Return whether the node is spoken of in the plural."""
        return bool(self.attributes_among(node, _NUMBERS))

    def noun(self, node: int) -> str:
        """Return the node's noun, chosen once among its synonyms."""
        if node not in self.nouns:
            name = self.graph.objects[node]
            says = NOUNS[name].says if name in NOUNS else (name,)
            word = self.dice.pick(KINDS.get(name, says))
            self.nouns[node] = plural(word) if self.is_plural(node) else word
        return self.nouns[node]

    def modified_noun(self, node: int) -> str:
        """Return the noun with its adjectives: size, then pattern and colour in either order."""
        size = [self.dice.pick(SIZES[s]) for s in self.attributes_among(node, tuple(SIZES))]
        rest = [self.dice.pick(PATTERNS[p]) for p in self.attributes_among(node, tuple(PATTERNS))]
        rest += [] if node == self.later else self.attributes_among(node, tuple(COLOURS))
        if self.dice.chance(25):
            rest.reverse()
        other = [a for n, a in self.graph.attributes if n == node and a not in ATTRIBUTES]
        return " ".join([*size, *other, *rest, self.noun(node)])

    def phrase(self, node: int) -> str:
        """Return the node as a noun phrase: in full the first time, as "the cat" from then on; a backdrop by
        its own phrase.
        """
        name = self.graph.objects[node]
        if name in BACKDROPS:
            return self.dice.pick(BACKDROPS[name][1])
        if node in self.named:
            return "the " + self.noun(node)
        self.named.add(node)
        some = ["some"] if self.is_plural(node) or name in MASS else []
        number = (self.attributes_among(node, _COUNTED) or some)[:1]
        words = self.modified_noun(node)
        return f"{number[0]} {words}" if number else article(words)

    def verb(self, subject: int, relation: str) -> str:
        """Return a verb for the clause: is, sits, stands, flies or is parked, agreeing in number."""
        name, many = self.graph.objects[subject], self.is_plural(subject)
        options = [("is", "are")] * 2
        if relation == "above" and name in _FLYING:
            options += [("flies", "fly"), ("is flying", "are flying")]
        elif relation != "above" and name in _SITTING:
            sits = name != "bird" or relation in ("on", "in")
            options += [("sits", "sit"), ("is sitting", "are sitting")] if sits else []
        elif relation not in ("above", "on", "in") and name in _STANDING:
            options += [("stands", "stand")]
        elif relation in ("next to", "behind", "in front of") and name in ("car", "bus", "truck"):
            options += [("is parked", "are parked")]
        self.verbs += 1
        return self.dice.pick(options)[many]

    def tie(self, triple: Triple) -> str:
        """Return preposition and object of a relation."""
        _, relation, node = triple
        says = (relation,) if self.graph.objects[node] in BACKDROPS else RELATIONS.get(relation, (relation,))
        return f"{self.dice.pick(says)} {self.phrase(node)}"

    def clause(self, triple: Triple) -> str:
        """Return subject, verb and relation."""
        return f"{self.phrase(triple[0])} {self.verb(triple[0], triple[1])} {self.tie(triple)}"

    def existence_clause(self, nodes: list[int]) -> str:
        """Return a clause that says that things are there."""
        self.verbs += 1
        verb = "are" if self.is_plural(nodes[0]) else "is"
        return f"there {verb} {join_words([self.phrase(n) for n in nodes])}"


def _frame_clause(speaker: _Speaker, first: Triple | None, clauses: bool) -> tuple[str, bool]:
    """Return the first clause, and whether it is a sentence that a place may stand before ("at night,
    ...").
    """
    dice, names = speaker.dice, speaker.graph.objects
    frame = dice.pick(FRAMES)
    if first and (clauses or dice.chance(40)):
        return speaker.clause(first), True
    things = [n for n, name in enumerate(names) if name not in BACKDROPS] or list(range(len(names)))
    named = [first[0]] if first else things
    core = (
        speaker.existence_clause(named)
        if frame == "there is"
        else join_words([speaker.phrase(n) for n in named])
    )
    core += f" {speaker.tie(first)}" if first else ""
    speaker.verbs += frame in ("we see", "this picture shows")
    return core if frame in ("", "there is") else f"{frame} {core}", frame in ("there is", "we see")


def _order_connected(ties: list[Triple]) -> list[Triple]:
    """Return the relations in an order in which each one after the first names something already told, as far
    as that is possible.
    """
    left, out = list(ties), list[Triple]()
    while left:
        named = _nodes_of(out)
        following = (i for i, tie in enumerate(left) if named & {tie[0], tie[2]})
        out.append(left.pop(next(following, 0)))
    return out


def _nodes_of(ties: Iterable[Triple]) -> set[int]:
    """Return the nodes that relations name."""
    return set(itertools.chain.from_iterable((subject, thing) for subject, _, thing in ties))


def verbalise(graph: SceneGraph, dice: Dice) -> str:
    """Return an English caption that says what a graph states.

    Args:
        graph: objects, attributes and relations in canonical words; words outside the vocabulary are said as
            they are.
        dice: chooses among synonyms and sentence patterns.

    Returns:
        A noun phrase in lower case, or one or more sentences.
    """
    speaker = _Speaker(dice, graph)
    stages = [t for t in graph.relations if graph.objects[t[2]] in BACKDROPS]
    ties = _order_connected([t for t in graph.relations if t not in stages])
    later = ties[1:] + stages[1:]
    coloured = [n for n in range(len(graph.objects)) if speaker.attributes_among(n, tuple(COLOURS))]
    if ties and coloured and dice.chance(15):
        # now and then one thing's colour gets a sentence of its own
        speaker.later = dice.pick(coloured)
    text, sentence = _frame_clause(
        speaker, ties[0] if ties else None, bool(later) or speaker.later is not None
    )
    if stages:
        place = speaker.tie(stages[0])
        text = f"{place}, {text}" if sentence and dice.chance(55) else f"{text} {place}"
    for triple in later:
        text += dice.pick((", and ", ". ", ". ")) + speaker.clause(triple)
    linked = _nodes_of(graph.relations)
    lone = [n for n in range(len(graph.objects)) if n not in linked]
    text += f". {speaker.existence_clause(lone)}" if lone and ties else ""
    if speaker.later is not None:
        colours = " and ".join(speaker.attributes_among(speaker.later, tuple(COLOURS)))
        verb = "are" if speaker.is_plural(speaker.later) else "is"
        text += f". {speaker.phrase(speaker.later)} {verb} {colours}"
    if not speaker.verbs:
        return text
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in text.split(". "))


def short_phrase(graph: SceneGraph, dice: Dice) -> str:
    """Return a one-object graph as a bare phrase without article, e.g. ``"white rabbit"``; the style of the
    upper levels of a chain.
    """
    return _Speaker(dice, graph).modified_noun(0)
