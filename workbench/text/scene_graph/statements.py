"""What verbs and prepositions say of objects: relations where there is something to relate, else an attribute
of the subject.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from workbench.text.scene_graph.tree import Tree
from workbench.text.scene_graph.wording import known

SUBJECTS = ("nsubj", "nsubjpass")
MODIFIERS = ("acl", "relcl")
CLIMBING = ("conj", "advcl", "xcomp", "ccomp", "pcomp", "dep", "parataxis")
# A preposition with the position of its last word, and the nouns it points at.
Tie = tuple[str, int, list[int]]


class Statement(NamedTuple):
    """A statement about words: of the one at ``subject``, perhaps in relation to the one at ``object``."""

    subject: int
    says: str
    object: int | None = None


def joined(tree: Tree, nouns: Iterable[int]) -> list[int]:
    """Some nouns and those joined to them by "and" or commas; "who" means what its clause describes."""
    found: list[int] = []
    for i in nouns:
        if tree.given(i) in known.relatives and tree.tags[i].startswith("W"):
            clauses = [j for j in (tree.heads[i], tree.heads[tree.heads[i]]) if tree.deps[j] == "relcl"]
            found += described(tree, tree.heads[clauses[0]]) if clauses and clauses[0] != i else []
        else:
            more = [c for c in tree.below(i, "conj", "appos") if c > i and not tree.verb(c)]
            found += [i, *joined(tree, more)]
    return found


def subjects(tree: Tree, verb: int, depth: int = 0) -> list[int]:
    """Who does what the verb says: its own subject, the noun it describes, or the subject of the verb it
    hangs on.
    """
    own = tree.below(verb, *SUBJECTS)
    if not own and tree.heads[verb] == verb:
        own = [c for c in tree.below(verb, "npadvmod", "dep") if c < verb and tree.noun(c)]
    named = joined(tree, [child for child in own if tree.given(child) not in known.relatives])
    head, dep = tree.heads[verb], tree.deps[verb]
    if named or dep not in MODIFIERS + CLIMBING or (dep in CLIMBING and (head == verb or depth >= 20)):
        return named
    if dep in CLIMBING and not tree.verb(head):
        prepositional = tree.tags[head] in ("IN", "TO", "RB") or tree.deps[head] == "prep"
        head = tree.heads[head] if prepositional else head
    elif dep in CLIMBING:
        controlled = dep == "xcomp" and tree.root(head) in known.controlling
        things = joined(tree, tree.below(head, "dobj")) if controlled else []
        if things:
            return things
    return subjects(tree, head, depth + 1) if dep in CLIMBING and tree.verb(head) else described(tree, head)


def described(tree: Tree, noun: int) -> list[int]:
    """The nouns that a clause after ``noun`` describes: all of "a man and a woman walking"."""
    first = noun
    while tree.deps[first] == "conj" and not tree.verb(tree.heads[first]):
        first = tree.heads[first]
    found = joined(tree, [first])
    plain = all(not tree.below(other, *MODIFIERS, "prep") for other in found if other < noun)
    return [other for other in found if other <= noun] if plain and found[-1:] == [noun] else [noun]


def passive(tree: Tree, verb: int) -> bool:
    """Whether the verb's subject suffers what it says."""
    if tree.below(verb, "auxpass", "nsubjpass"):
        return True
    participle = tree.tags[verb] == "VBN" or (tree.tags[verb] == "VBD" and tree.deps[verb] == "acl")
    having = any(tree.given(c) in known.have for c in tree.below(verb, "aux"))
    return participle and not having and not tree.below(verb, "dobj")


def phrase(tree: Tree, verb: int) -> str:
    """The verb's dictionary form, with its particle and its negation."""
    particles = [tree.given(c) for c in tree.below(verb, "prt") if not tree.below(c, "pobj")]
    after = [c for c in tree.below(verb, "advmod") if c == verb + 1 and tree.given(c) in known.particles]
    words = [tree.root(verb), *(particles or map(tree.given, after))]
    return " ".join(["not", *words] if _negated(tree, verb) else words)


def _negated(tree: Tree, verb: int) -> bool:
    return any(tree.given(c) in known.negations for c in tree.below(verb, "neg"))


def ties(tree: Tree, *words: int) -> list[Tie]:
    """Prepositions that hang on words, each joined with its own ("from behind"), and what they point at."""
    tags = ("IN", "TO", "RP", "RB", "JJ", "VBG", "RBR")
    return [
        tie
        for i in words
        for child in tree.below(i, "prep", "dative", "agent", "prt")
        if tree.tags[child] in tags or tree.words[child].kind == "preposition"
        for tie in _tie(tree, child, "")
    ]


def _tie(tree: Tree, i: int, before: str) -> Iterator[Tie]:
    name = f"{before}{tree.said(i)}"
    clauses = tree.below(i, "pcomp") if name in ("with", "without") else []
    things = joined(tree, [*tree.below(i, "pobj"), *(s for c in clauses for s in tree.below(c, *SUBJECTS))])
    if things:
        yield name, i, things
    for child in tree.below(i, "prep"):
        yield from _tie(tree, child, "" if things else f"{name} ")
    for child in tree.below(i, "conj"):
        if tree.tags[child] == "IN":
            yield from _tie(tree, child, "")


def of_verb(tree: Tree, verb: int) -> Iterator[Statement]:
    """What a verb says."""
    doers, root, objects = subjects(tree, verb), tree.root(verb), tree.below(verb, "dobj")
    suffering = passive(tree, verb)
    shown = root in known.shown and (not doers or suffering)
    if root in known.be or tree.given(verb) in known.be or shown:
        yield from _copula(tree, verb, doers)
        return
    if root in known.beginnings and any(map(tree.verb, tree.below(verb, "xcomp"))) and not objects:
        return
    name, things = phrase(tree, verb), joined(tree, objects)
    for look in tree.below(verb, "acomp"):
        if tree.adjective(look):
            yield from (statement for doer in doers for statement in _look(tree, look, doer, ""))
    own = [c for c in tree.below(verb, *SUBJECTS) if tree.given(c) not in known.relatives]
    gap = tree.deps[verb] == "relcl" and not suffering and not things and not ties(tree, verb)
    if gap and tree.heads[verb] not in doers and own:
        # A clause without an object of its own is about what it describes: "the toy it fetched".
        things = described(tree, tree.heads[verb])
    tied = ties(tree, verb, *tree.below(verb, "advmod", "prt")) or _shared(tree, verb, root)
    for doer in doers:
        yield from (Statement(doer, name, thing) for thing in things)
        for tie, position, targets in tied:
            by = suffering and tree.deps[position] == "agent" and root not in known.settled
            for target in targets:
                yield Statement(target, name, doer) if by else Statement(doer, f"{name} {tie}", target)
    if not things and not tied and not tree.below(verb, "ccomp", "acomp"):
        yield from (Statement(doer, name) for doer in doers)


def _shared(tree: Tree, verb: int, root: str) -> list[Tie]:
    """What only the second verb of motion is tied to: "running and jumping through the woods"."""
    if root not in known.moving or tree.below(verb, "dobj"):
        return []
    seconds = [c for c in tree.below(verb, "conj") if verb < c <= verb + 2 and tree.root(c) in known.moving]
    return ties(tree, *seconds)


def _copula(tree: Tree, verb: int, doers: list[int]) -> Iterator[Statement]:
    """What "is" says: "is red", "is on a table"; "there is" says nothing by itself."""
    negated = "not " if _negated(tree, verb) else ""
    shown = filter(tree.adjective, tree.below(verb, "acomp", "attr", "oprd"))
    looks = [a for child in shown for a in (*tree.below(child, "amod"), child, *tree.below(child, "conj"))]
    places = ties(tree, verb, *tree.below(verb, "advmod"))
    for doer in doers or joined(tree, tree.below(verb, "attr", "dobj")):
        for look in looks:
            yield from _look(tree, look, doer, negated)
        for tie, _, targets in places:
            yield from (Statement(doer, negated + tie, target) for target in targets)


def _look(tree: Tree, look: int, noun: int, negated: str, *, alone: bool = True) -> list[Statement]:
    """What an adjective says of a noun: "full of" is a relation, but in "clean with white walls" the walls
    are the noun's.

    Args:
        tree: the sentence.
        look: position of the adjective.
        noun: position of the noun.
        negated: ``"not "`` or nothing.
        alone: whether to say too what the adjective, and its prepositions, say by themselves.
    """
    said = tree.said(look)
    together: list[Statement] = []
    apart: list[Statement] = []
    for tie, _, targets in ties(tree, look):
        loose = tie in known.placing or (tie == "with" and said not in known.busy) or said in known.colours
        words = tie if loose else f"{negated}{said} {tie}"
        (apart if loose else together).extend(Statement(noun, words, target) for target in targets)
    return together or ([Statement(noun, negated + said), *apart] if alone else [])


def of_noun(tree: Tree, noun: int) -> Iterator[Statement]:
    """What the prepositions after a noun, and an owner before it, say."""
    for tie, position, targets in ties(tree, noun):
        if position > noun:
            yield from (Statement(one, tie, target) for one in described(tree, noun) for target in targets)
    for look in tree.below(noun, "amod"):
        if look > noun and tree.tags[look].startswith("JJ"):
            yield from _look(tree, look, noun, "", alone=False)
    yield from (Statement(one, "have", noun) for one in joined(tree, tree.below(noun, "poss")))
