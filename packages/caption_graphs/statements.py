"""Step 5, second half: what verbs, prepositions and owners say of the words they belong to."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from caption_graphs.naming import LIT
from caption_graphs.tree import Tree
from caption_graphs.vocabulary import known

SUBJECTS = ("nsubj", "nsubjpass")
MODIFIERS = ("acl", "relcl")
MOVED = known.particles - LIT
# verbs and the adjectives that belong to them
COMPLETED = {"fall": "asleep", "get": "ready"}
CLIMBING = ("conj", "advcl", "xcomp", "ccomp", "pcomp", "dep", "parataxis", "acomp")
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
    own = [child for child in tree.below(verb, *SUBJECTS) if tree.given(child) not in known.relatives]
    named = joined(tree, own)
    head, dep = tree.heads[verb], tree.deps[verb]
    if named or dep not in MODIFIERS + CLIMBING or (dep in CLIMBING and (head == verb or depth >= 20)):
        return named
    if dep in CLIMBING and not tree.verb(head):
        # "is bent | doing a trick"
        prepositional = tree.tags[head] in ("IN", "TO", "RB") or tree.deps[head] in ("prep", "acomp")
        head = tree.heads[head] if prepositional else head
    elif dep == "xcomp" and tree.root(head) in known.controlling:
        things = joined(tree, tree.below(head, "dobj"))
        if things:
            return things
    if dep in CLIMBING and tree.verb(head):
        return subjects(tree, head, depth + 1)
    # "a man and a girl | surrounded by fruit", hung on the man
    more = [noun for noun in joined(tree, [head]) if noun < verb]
    start = min([verb, *tree.children[verb]])
    last = end_of(tree, max(more, default=head), start)
    for preposition in [p for p in tree.below(head, "prep") if last < p < start]:
        # "a man and a girl | at a party | dressed in red"
        last = end_of(tree, preposition, start)
    return more if len(more) > 1 and last == start - 1 and min(more) == head else described(tree, head)


def end_of(tree: Tree, i: int, before: int) -> int:
    """The last word of the phrase that begins with a word, as far as another."""
    while below := [c for c in tree.children[i] if i < c < before]:
        i = max(below)
    return i


def described(tree: Tree, noun: int) -> list[int]:
    """The nouns that a clause after ``noun`` describes: all of "a man and a woman walking"."""
    first = noun
    while tree.deps[first] == "conj" and not tree.verb(tree.heads[first]):
        first = tree.heads[first]
    found = joined(tree, [first])
    before = [other for other in found if other < noun]
    # "with its mouth open and tongue | hanging out"
    own = [c for other in before for c in tree.below(other, "amod") if c > other]
    own += [c for other in before for c in tree.below(other, *MODIFIERS, "prep", "advmod")]
    # "a man and a woman in a boat | on a river", hung on the man
    plain = all(c > noun for c in own)
    return [other for other in found if other <= noun] if plain and found[-1:] == [noun] else [noun]


def passive(tree: Tree, verb: int) -> bool:
    """Whether the verb's subject suffers what it says."""
    past = tree.tags[verb] == "VBD" and (tree.deps[verb] == "acl" or tree.below(verb, "agent"))
    participle = past or tree.tags[verb] == "VBN"
    active = tree.below(verb, "dobj") or any(tree.given(c) in known.have for c in tree.below(verb, "aux"))
    return bool(tree.below(verb, "auxpass", "nsubjpass") or (participle and not active))


def phrase(tree: Tree, verb: int) -> str:
    """The verb's dictionary form, with its particle and its negation."""
    particles = [tree.given(c) for c in tree.below(verb, "prt") if not tree.below(c, "pobj")]
    ends = [verb, *(t for t in tree.below(verb, "dobj") if not tree.below(t, "prep", "acl", "relcl", "conj"))]
    # "walk casually | around"
    ends += [c for c in tree.below(verb, "advmod") if c - 1 == verb and tree.given(c).endswith("ly")]
    after = [c for c in tree.below(verb, "advmod") if c - 1 in ends and tree.given(c) in known.particles]
    after += [c for c in tree.below(verb, "acomp") if _completes(tree, verb, c)]
    first = [tree.given(c) for c in tree.below(verb, "compound") if c < verb]
    words = [*first, tree.root(verb), *(particles or map(tree.given, after))]
    return " ".join(["not", *words] if _negated(tree, verb) else words)


def _completes(tree: Tree, verb: int, look: int) -> bool:
    """Whether an adjective belongs to its verb: "falls | asleep", "gets | ready for a ride"."""
    return COMPLETED.get(tree.root(verb)) == tree.given(look)


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
    # "including bright colors"
    name = f"{before}{tree.root(i) if tree.tags[i] == 'VBG' else tree.said(i)}"
    clauses = tree.below(i, "pcomp") if name in ("with", "without") else []
    things = joined(tree, [*tree.below(i, "pobj"), *(s for c in clauses for s in tree.below(c, *SUBJECTS))])
    if things:
        yield name, i, things
    for child in tree.below(i, "prep"):
        yield from _tie(tree, child, "" if things else f"{name} ")
    for child in [c for c in tree.below(i, "conj") if tree.tags[c] == "IN"]:
        yield from _tie(tree, child, "")


def of_verb(tree: Tree, verb: int) -> Iterator[Statement]:  # noqa: C901
    """What a verb says."""
    doers, root, objects = subjects(tree, verb), tree.root(verb), tree.below(verb, "dobj")
    if any(tree.given(c) == "some" for c in tree.below(verb, *SUBJECTS)):
        # not "a man stands while | some sit"
        doers = [d for d in doers if tree.tags[d] == "NNS" or tree.name(d) in known.gathers | {"people"}]
    suffering = passive(tree, verb)
    shown = root in known.shown and (not doers or suffering) and not tree.below(verb, "agent")
    if root in known.be or tree.given(verb) in known.be or shown:
        told = _copula(tree, verb, doers)
        # "is shown | in a mirror" is about the picture, "is shown | with cabinets" about the thing
        yield from (one for one in told if not shown or one.object is None or one.says in ("with", "of"))
        return
    if root in known.beginnings and any(map(tree.verb, tree.below(verb, "xcomp"))) and not objects:
        return
    given = objects or _made_to_do(tree, verb, root)
    name, things = phrase(tree, verb), joined(tree, given)
    if root == "have" and not things:
        # "has | his leg wrapped in a cloth"
        things = [s for c in tree.below(verb, "ccomp") for s in tree.below(c, *SUBJECTS) if verb < s]
    for look in _told_by(tree, verb):
        yield from (statement for doer in doers for statement in _look(tree, look, doer, ""))
    adverbs = tree.below(verb, "advmod", "prt")
    tied = ties(tree, verb, *adverbs, *(c for c in tree.below(verb, "acomp") if _completes(tree, verb, c)))
    for doer in doers:
        yield from (Statement(doer, name, thing) for thing in things)
        for tie, position, targets in tied:
            by = suffering and tree.deps[position] == "agent" and root not in known.settled
            for target in targets:
                # "holds it | up to his face"
                says = f"{name.removesuffix(f' {tie.split()[0]}')} {tie}"
                yield Statement(target, name, doer) if by else Statement(doer, says, target)
    # not "looks like it works", "says it works": such verbs say nothing without what follows
    follows = [c for c in tree.below(verb, "ccomp", "acomp") if not _completes(tree, verb, c)]
    if not (things or tied or follows or root == "have"):
        yield from (Statement(doer, name) for doer in doers)


def _told_by(tree: Tree, verb: int) -> list[int]:
    """The adjectives that stand with a verb and tell of who does it: "looks happy", "painted white and red",
    "runs barefoot".
    """
    own = joined(tree, tree.below(verb, "acomp", "oprd"))
    # "painted | red white and blue", "a kitchen that is cluttered and | messy"
    own = [look for a in own for look in (*tree.below(a, "amod"), a)]
    own += tree.below(verb, "conj") if tree.tags[verb] == "VBN" else []
    shown = [a for a in own if tree.adjective(a) and not _completes(tree, verb, a)]
    beside = [a for a in tree.below(verb, "advmod") if tree.given(a) in known.beside_verbs]
    return [a for a in (*shown, *beside) if tree.given(a) not in known.heights]


def _made_to_do(tree: Tree, verb: int, root: str) -> list[int]:
    """Who is helped to do something: the subject of what follows, "a sign to help | people know"."""
    clauses = tree.below(verb, "ccomp") if root in known.controlling else []
    bare = [c for c in clauses if not tree.below(c, "mark", "aux")]
    return [subject for c in bare for subject in tree.below(c, *SUBJECTS) if verb < subject]


def _copula(tree: Tree, verb: int, doers: list[int]) -> Iterator[Statement]:
    """What "is" says: "is red", "is on a table"; "there is" says nothing by itself."""
    negated = "not " if _negated(tree, verb) else ""
    shown = filter(tree.adjective, tree.below(verb, "acomp", "attr", "oprd"))
    looks = [a for child in shown for a in (*tree.below(child, "amod"), *_joined_looks(tree, child))]
    places = ties(tree, verb, *tree.below(verb, "advmod"))
    # "is up | in the air"
    after = {c + 1: tree.given(c) for c in tree.below(verb, "advmod") if tree.given(c) in MOVED}
    places = [(f"{after[at]} {tie}" if at in after else tie, at, things) for tie, at, things in places]
    for doer in doers or joined(tree, tree.below(verb, "attr", "dobj")):
        for look in looks:
            yield from _look(tree, look, doer, negated)
        for tie, _, targets in places:
            yield from (Statement(doer, negated + tie, target) for target in targets)


def _joined_looks(tree: Tree, look: int) -> list[int]:
    """An adjective with those joined to it: "white, black and brown"."""
    joined_ones = (c for c in tree.below(look, "conj") if not tree.verb(c))
    return [look, *(a for c in joined_ones for a in _joined_looks(tree, c))]


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
    together, apart = list[Statement](), list[Statement]()
    for tie, _, targets in ties(tree, look):
        loose = tie in known.placing and said not in known.engaged
        loose |= (tie == "with" and said not in known.busy) or said in known.colours
        words = tie if loose else f"{negated}{said} {tie}"
        (apart if loose else together).extend(Statement(noun, words, target) for target in targets)
    return together or ([Statement(noun, negated + said), *apart] if alone else [])


def of_noun(tree: Tree, noun: int) -> Iterator[Statement]:
    """What the prepositions after a noun, and an owner before it, say."""
    for tie, position, targets in ties(tree, noun):
        if position > noun:
            # "fruits and vegetables | in a pot | on a table", hung on the first of them
            more = [n for n in joined(tree, [noun]) if noun < n < position]
            start = min((p for p in tree.below(noun, "prep") if p > max(more, default=p)), default=0)
            last = (
                more and start == end_of(tree, more[-1], start) + 1 and tie not in ("with", "without", "of")
            )
            near = position - 1 if position - 1 in more else noun
            alone = tie in ("with", "without") and not tree.animate(near)
            if near == position - 1 and (alone or tie == "of"):
                # "sinks and mirrors | with lights", "a knife and a cup | of tea"
                yield from (Statement(near, tie, target) for target in targets)
                continue
            # "a desk with a computer, a laptop and boxes | in the background", hung on the second
            shared = last and not tree.below(noun, *MODIFIERS)
            ones = described(tree, more[-1] if shared else noun)
            ones = ones if noun in ones else [noun, *more]
            yield from (Statement(one, tie, target) for one in ones for target in targets)
    for look in [c for c in tree.below(noun, "amod") if c > noun and tree.tags[c].startswith("JJ")]:
        yield from _look(tree, look, noun, "", alone=False)
    things = [c for c in tree.below(noun, "conj") if not tree.below(c, "det", "poss", "nummod")]
    for one in joined(tree, tree.below(noun, "poss")):
        yield from (Statement(one, "have", thing) for thing in (noun, *things))
