"""What verbs and prepositions say of objects: relations where there is something to relate, else an attribute
of the subject.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.text.scene_graph.tree import Tree
from workbench.text.scene_graph.wording import known

SUBJECTS = ("nsubj", "nsubjpass")
MODIFIERS = ("acl", "relcl")
CLIMBING = ("conj", "advcl", "xcomp", "ccomp", "pcomp", "dep", "parataxis")


@dataclass(frozen=True)
class Said:
    """A statement about words: of the thing at ``subject``, perhaps in relation to the thing at ``object``."""

    subject: int
    says: str
    object: int | None = None


def joined(tree: Tree, i: int) -> list[int]:
    """A noun and those that are joined to it by "and" or commas."""
    if tree.given(i) in known.relatives and tree.tags[i].startswith("W"):
        clause = next((j for j in (tree.heads[i], tree.heads[tree.heads[i]]) if tree.deps[j] == "relcl"), i)
        return described(tree, tree.heads[clause]) if clause != i else []
    found = [i]
    for child in tree.below(i, "conj", "appos"):
        if child > i and not tree.verb(child):
            found += joined(tree, child)
    return found


def subjects(tree: Tree, verb: int, depth: int = 0) -> list[int]:
    """Who does what the verb says: its own subject, the noun it describes, or the subject of the verb it
    hangs on.
    """
    own = tree.below(verb, *SUBJECTS)
    if not own and tree.heads[verb] == verb:
        own = [c for c in tree.below(verb, "npadvmod", "dep") if c < verb and tree.noun(c)]
    said = [noun for child in own if tree.given(child) not in known.relatives for noun in joined(tree, child)]
    if said:
        return said
    head, dep = tree.heads[verb], tree.deps[verb]
    if dep in MODIFIERS:
        return described(tree, head)
    if dep in CLIMBING and head != verb and depth < 20:
        return _inherited(tree, verb, head, depth)
    return []


def _inherited(tree: Tree, verb: int, head: int, depth: int) -> list[int]:
    if tree.verb(head):
        things = (
            tree.below(head, "dobj")
            if tree.deps[verb] == "xcomp" and tree.root(head) in known.controlling
            else []
        )
        return [noun for thing in things for noun in joined(tree, thing)] or subjects(tree, head, depth + 1)
    if tree.tags[head] in ("IN", "TO", "RB") or tree.deps[head] == "prep":
        above = tree.heads[head]
        return subjects(tree, above, depth + 1) if tree.verb(above) else described(tree, above)
    return described(tree, head)


def described(tree: Tree, noun: int) -> list[int]:
    """The nouns that a clause after ``noun`` describes: all of "a man and a woman walking"."""
    first = noun
    while tree.deps[first] == "conj" and not tree.verb(tree.heads[first]):
        first = tree.heads[first]
    found = joined(tree, first)
    plain = all(not tree.below(other, *MODIFIERS, "prep") for other in found if other < noun)
    return [other for other in found if other <= noun] if plain and found[-1:] == [noun] else [noun]


def passive(tree: Tree, verb: int) -> bool:
    """Whether the verb's subject suffers what it says."""
    if tree.below(verb, "auxpass", "nsubjpass"):
        return True
    if tree.tags[verb] != "VBN" and not (tree.tags[verb] == "VBD" and tree.deps[verb] == "acl"):
        return False
    having = any(tree.given(c) in known.have for c in tree.below(verb, "aux"))
    return not having and not tree.below(verb, "dobj")


def phrase(tree: Tree, verb: int) -> str:
    """The verb's dictionary form, with its particle and its negation."""
    words = [tree.root(verb)]
    words += [tree.given(c) for c in tree.below(verb, "prt") if not tree.below(c, "pobj")]
    words += [
        tree.given(c)
        for c in tree.below(verb, "advmod")
        if c == verb + 1 and tree.given(c) in known.particles and len(words) == 1
    ]
    negated = any(tree.given(c) in known.negations for c in tree.below(verb, "neg"))
    return " ".join(["not", *words] if negated else words)


def _shared(tree: Tree, verb: int, root: str) -> list[tuple[str, int, list[int]]]:
    """What a second verb of motion is tied to and the first one not: "running and jumping through the woods"."""
    if root not in known.moving or tree.below(verb, "dobj"):
        return []
    seconds = [c for c in tree.below(verb, "conj") if verb < c <= verb + 2 and tree.root(c) in known.moving]
    return [tie for second in seconds for tie in ties(tree, second)]


def ties(tree: Tree, i: int) -> list[tuple[str, int, list[int]]]:
    """Prepositions that hang on a word, each with its own words joined ("from behind") and what it points at.

    Returns:
        For each the preposition, its position, the nouns.
    """
    found: list[tuple[str, int, list[int]]] = []
    for child in tree.below(i, "prep", "dative", "agent", "prt"):
        if (
            tree.tags[child] in ("IN", "TO", "RP", "RB", "JJ", "VBG", "RBR")
            or tree.words[child].kind == "preposition"
        ):
            found += _tie(tree, child, "")
    return found


def _tie(tree: Tree, i: int, before: str) -> Iterator[tuple[str, int, list[int]]]:
    name = f"{before}{tree.said(i)}"
    things = [noun for child in tree.below(i, "pobj") for noun in joined(tree, child)]
    things += [
        noun
        for child in tree.below(i, "pcomp")
        if name in ("with", "without")
        for s in tree.below(child, *SUBJECTS)
        for noun in joined(tree, s)
    ]
    if things:
        yield name, i, things
    for child in tree.below(i, "prep"):
        yield from _tie(tree, child, "" if things else f"{name} ")
    for child in tree.below(i, "conj"):
        if tree.tags[child] == "IN":
            yield from _tie(tree, child, "")


def of_verb(tree: Tree, verb: int) -> Iterator[Said]:
    """What a verb says."""
    doers = subjects(tree, verb)
    root = tree.root(verb)
    if (
        root in known.be
        or tree.given(verb) in known.be
        or (root in known.shown and (not doers or passive(tree, verb)))
    ):
        yield from _copula(tree, verb, doers)
        return
    if (
        root in known.beginnings
        and any(tree.verb(c) for c in tree.below(verb, "xcomp"))
        and not tree.below(verb, "dobj")
    ):
        return
    suffering = passive(tree, verb)
    name, related = phrase(tree, verb), False
    things = [noun for child in tree.below(verb, "dobj") for noun in joined(tree, child)]
    for look in tree.below(verb, "acomp"):
        if tree.tags[look].startswith("JJ") or tree.words[look].kind == "attribute":
            yield from (said for doer in doers for said in _look(tree, look, doer, ""))
    if (
        tree.deps[verb] == "relcl"
        and not suffering
        and not things
        and not ties(tree, verb)
        and tree.heads[verb] not in doers
    ):
        things = _gap(tree, verb)
    for doer in doers:
        for thing in things:
            related = True
            yield Said(doer, name, thing)
        beside = [tie for c in tree.below(verb, "advmod", "prt") for tie in ties(tree, c)]
        for tie, position, targets in [*ties(tree, verb), *beside] or _shared(tree, verb, root):
            related = True
            by = suffering and tree.deps[position] == "agent" and root not in known.settled
            for target in targets:
                yield Said(target, name, doer) if by else Said(doer, f"{name} {tie}", target)
    if not related and not tree.below(verb, "ccomp", "acomp"):
        for doer in doers:
            yield Said(doer, name)


def _gap(tree: Tree, verb: int) -> list[int]:
    """What a clause without an object of its own is about: "the toy it fetched"."""
    own = [c for c in tree.below(verb, *SUBJECTS) if tree.given(c) not in known.relatives]
    return described(tree, tree.heads[verb]) if own else []


def _copula(tree: Tree, verb: int, doers: list[int]) -> Iterator[Said]:
    """What "is" says: "is red", "is on a table"; "there is" says nothing by itself."""
    negated = "not " if any(tree.given(c) in known.negations for c in tree.below(verb, "neg")) else ""
    shown = [
        c
        for c in tree.below(verb, "acomp", "attr", "oprd")
        if tree.tags[c].startswith("JJ") or tree.words[c].kind == "attribute"
    ]
    looks = [a for child in shown for a in (*tree.below(child, "amod"), child, *tree.below(child, "conj"))]
    places = [place for i in (verb, *tree.below(verb, "advmod")) for place in ties(tree, i)]
    doers = doers or [noun for child in tree.below(verb, "attr", "dobj") for noun in joined(tree, child)]
    for doer in doers:
        for look in looks:
            yield from _look(tree, look, doer, negated)
        for tie, _, targets in places:
            yield from (Said(doer, negated + tie, target) for target in targets)


def _look(tree: Tree, look: int, doer: int, negated: str) -> list[Said]:
    """What an adjective says of a noun: "full of" is a relation, but in "clean with white walls" the walls
    are the noun's.
    """
    own, other = _adjective(tree, look, doer, negated)
    return own or [Said(doer, negated + tree.said(look)), *other]


def _adjective(tree: Tree, look: int, noun: int, negated: str) -> tuple[list[Said], list[Said]]:
    """Relations that an adjective makes together with its preposition, and those that its preposition makes
    alone.
    """
    own: list[Said] = []
    other: list[Said] = []
    for tie, _, targets in ties(tree, look):
        alone = (
            tie in known.placing
            or (tie == "with" and tree.said(look) not in known.busy)
            or tree.said(look) in known.colours
        )
        for target in targets:
            (other if alone else own).append(
                Said(noun, tie if alone else f"{negated}{tree.said(look)} {tie}", target)
            )
    return own, other


def of_noun(tree: Tree, noun: int) -> Iterator[Said]:
    """What the prepositions after a noun, and an owner before it, say."""
    for tie, position, targets in ties(tree, noun):
        if position > noun:
            yield from (Said(one, tie, target) for one in described(tree, noun) for target in targets)
    for look in tree.below(noun, "amod"):
        if look > noun and tree.tags[look].startswith("JJ"):
            yield from _adjective(tree, look, noun, "")[0]
    for owner in tree.below(noun, "poss"):
        yield from (Said(one, "have", noun) for one in joined(tree, owner))
