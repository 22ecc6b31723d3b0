"""Step 5, second half: what verbs, prepositions and owners say of the words they belong to."""

from collections.abc import Iterable, Iterator
from itertools import chain, product
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
Preposition = tuple[str, int, list[int]]


class Statement(NamedTuple):
    """A statement about words: of the one at ``subject``, perhaps in relation to the one at ``object``."""

    subject: int
    says: str
    object: int | None = None


def joined_nouns(tree: Tree, nouns: Iterable[int]) -> list[int]:
    """Return some nouns and those joined to them by "and" or commas; "who" means what its clause
    describes.
    """
    together: list[int] = []
    for i in nouns:
        if tree.token(i) in known.relatives and tree.tags[i].startswith("W"):
            clauses = [j for j in (tree.heads[i], tree.heads[tree.heads[i]]) if tree.deps[j] == "relcl"]
            together += described_nouns(tree, tree.heads[clauses[0]]) if clauses and clauses[0] != i else []
        else:
            more = [c for c in tree.children_by(i, "conj", "appos") if c > i and not tree.is_verb(c)]
            together += [i, *joined_nouns(tree, more)]
    return together


def subjects(tree: Tree, verb: int, depth: int = 0) -> list[int]:
    """Return who does what the verb says: its own subject, the noun it describes, or the subject of the verb
    it hangs on.
    """
    own = [child for child in tree.children_by(verb, *SUBJECTS) if tree.token(child) not in known.relatives]
    named = joined_nouns(tree, own)
    head, dep = tree.heads[verb], tree.deps[verb]
    if named or dep not in MODIFIERS + CLIMBING or (dep in CLIMBING and (head == verb or depth >= 20)):
        return named
    if dep in CLIMBING and not tree.is_verb(head):
        # "is bent | doing a trick"
        prepositional = tree.tags[head] in ("IN", "TO", "RB") or tree.deps[head] in ("prep", "acomp")
        head = tree.heads[head] if prepositional else head
    elif dep == "xcomp" and tree.verb_lemma(head) in known.controlling:
        things = joined_nouns(tree, tree.children_by(head, "dobj"))
        if things:
            return things
    if dep in CLIMBING and tree.is_verb(head):
        return subjects(tree, head, depth + 1)
    # "a man and a girl | surrounded by fruit", hung on the man
    more = [noun for noun in joined_nouns(tree, [head]) if noun < verb]
    start = min([verb, *tree.children[verb]])
    last = last_of_phrase(tree, max(more, default=head), start)
    for preposition in [p for p in tree.children_by(head, "prep") if last < p < start]:
        # "a man and a girl | at a party | dressed in red"
        last = last_of_phrase(tree, preposition, start)
    return more if len(more) > 1 and last == start - 1 and min(more) == head else described_nouns(tree, head)


def last_of_phrase(tree: Tree, i: int, before: int) -> int:
    """Return the last word of the phrase that begins with a word, as far as another."""
    while below := [c for c in tree.children[i] if i < c < before]:
        i = max(below)
    return i


def described_nouns(tree: Tree, noun: int) -> list[int]:
    """Return the nouns that a clause after ``noun`` describes: all of "a man and a woman walking"."""
    first = noun
    while tree.deps[first] == "conj" and not tree.is_verb(tree.heads[first]):
        first = tree.heads[first]
    several = joined_nouns(tree, [first])
    before = [other for other in several if other < noun]
    # "with its mouth open and tongue | hanging out"
    looks = [look for look in tree.children_of_all(before, "amod") if tree.heads[look] < look]
    # "a man and a woman in a boat | on a river", hung on the man
    own = [*looks, *tree.children_of_all(before, *MODIFIERS, "prep", "advmod")]
    if several[-1:] != [noun] or any(c <= noun for c in own):
        return [noun]
    return [other for other in several if other <= noun]


def is_passive(tree: Tree, verb: int) -> bool:
    """Return whether the verb's subject suffers what it says."""
    past = tree.tags[verb] == "VBD" and (tree.deps[verb] == "acl" or tree.children_by(verb, "agent"))
    participle = past or tree.tags[verb] == "VBN"
    active = tree.children_by(verb, "dobj") or any(
        tree.token(c) in known.have for c in tree.children_by(verb, "aux")
    )
    return bool(tree.children_by(verb, "auxpass", "nsubjpass") or (participle and not active))


def verb_phrase(tree: Tree, verb: int) -> str:
    """Return the verb's dictionary form, with its particle and its negation."""
    particles = [tree.token(c) for c in tree.children_by(verb, "prt") if not tree.children_by(c, "pobj")]
    ends = [
        verb,
        *(
            t
            for t in tree.children_by(verb, "dobj")
            if not tree.children_by(t, "prep", "acl", "relcl", "conj")
        ),
    ]
    # "walk casually | around"
    ends += [c for c in tree.children_by(verb, "advmod") if c - 1 == verb and tree.token(c).endswith("ly")]
    after = [
        c for c in tree.children_by(verb, "advmod") if c - 1 in ends and tree.token(c) in known.particles
    ]
    after += [c for c in tree.children_by(verb, "acomp") if _completes_verb(tree, verb, c)]
    first = [tree.token(c) for c in tree.children_by(verb, "compound") if c < verb]
    words = [*first, tree.verb_lemma(verb), *(particles or map(tree.token, after))]
    return " ".join(["not", *words] if _is_negated(tree, verb) else words)


def _completes_verb(tree: Tree, verb: int, look: int) -> bool:
    """Return whether an adjective belongs to its verb: "falls | asleep", "gets | ready for a ride"."""
    return COMPLETED.get(tree.verb_lemma(verb)) == tree.token(look)


def _is_negated(tree: Tree, verb: int) -> bool:
    return any(tree.token(c) in known.negations for c in tree.children_by(verb, "neg"))


def find_prepositions(tree: Tree, *words: int) -> list[Preposition]:
    """Return prepositions that hang on words, each joined with its own ("from behind"), and what they point
    at.
    """
    tags = ("IN", "TO", "RP", "RB", "JJ", "VBG", "RBR")
    several: list[Preposition] = []
    for child in tree.children_of_all(words, "prep", "dative", "agent", "prt"):
        if tree.tags[child] in tags or tree.words[child].kind == "preposition":
            several += _prepositions_of(tree, child, "")
    return several


def _prepositions_of(tree: Tree, i: int, before: str) -> Iterator[Preposition]:
    # "including bright colors"
    name = before + (tree.verb_lemma(i) if tree.tags[i] == "VBG" else tree.text(i))
    clauses = tree.children_by(i, "pcomp") if name in ("with", "without") else []
    things = joined_nouns(tree, [*tree.children_by(i, "pobj"), *tree.children_of_all(clauses, *SUBJECTS)])
    if things:
        yield name, i, things
    for child in tree.children_by(i, "prep"):
        yield from _prepositions_of(tree, child, "" if things else f"{name} ")
    for child in [c for c in tree.children_by(i, "conj") if tree.tags[c] == "IN"]:
        yield from _prepositions_of(tree, child, "")


def statements_of_verb(tree: Tree, verb: int) -> Iterator[Statement]:
    """Yield what a verb says."""
    doers, objects = _doers(tree, verb), tree.children_by(verb, "dobj")
    root = tree.verb_lemma(verb)
    suffering = is_passive(tree, verb)
    shown = root in known.shown and (not doers or suffering) and not tree.children_by(verb, "agent")
    if root in known.be or tree.token(verb) in known.be or shown:
        is_so = _statements_of_copula(tree, verb, doers)
        yield from filter(_is_about_a_thing, is_so) if shown else is_so
        return
    if root in known.beginnings and any(map(tree.is_verb, tree.children_by(verb, "xcomp"))) and not objects:
        return
    name, things = verb_phrase(tree, verb), joined_nouns(tree, objects or _helped_subjects(tree, verb, root))
    if root == "have" and not things:
        # "has | his leg wrapped in a cloth"
        things = [s for s in tree.children_of_all(tree.children_by(verb, "ccomp"), *SUBJECTS) if verb < s]
    for look, doer in product(_adjectives_of_doer(tree, verb), doers):
        yield from _statements_of_adjective(tree, look, doer, "")
    adverbs = tree.children_by(verb, "advmod", "prt")
    tied = find_prepositions(
        tree, verb, *adverbs, *(c for c in tree.children_by(verb, "acomp") if _completes_verb(tree, verb, c))
    )
    by = suffering and root not in known.settled
    agents = {position for _, position, _ in tied if by and tree.deps[position] == "agent"}
    for doer in doers:
        yield from (Statement(doer, name, thing) for thing in things)
        yield from _statements_of_prepositions(doer, name, tied, agents)
    # not "looks like it works", "says it works": such verbs say nothing without what follows
    follows = [c for c in tree.children_by(verb, "ccomp", "acomp") if not _completes_verb(tree, verb, c)]
    if not (things or tied or follows or root == "have"):
        yield from (Statement(doer, name) for doer in doers)


def _doers(tree: Tree, verb: int) -> list[int]:
    """Return who does what a verb says: in "a man stands while | some sit" not the man."""
    doers = subjects(tree, verb)
    if all(tree.token(c) != "some" for c in tree.children_by(verb, *SUBJECTS)):
        return doers
    return [d for d in doers if tree.tags[d] == "NNS" or tree.name(d) in known.gathers | {"people"}]


def _is_about_a_thing(statement: Statement) -> bool:
    """Return whether "is shown | with cabinets" is said, and not "is shown | in a mirror", which is of the
    image.
    """
    return statement.object is None or statement.says in ("with", "of")


def _statements_of_prepositions(
    doer: int, name: str, tied: list[Preposition], agents: set[int]
) -> Iterator[Statement]:
    """Yield what a verb with its prepositions says of who does it; agents do it to them."""
    for tie, position, targets in tied:
        if position in agents:
            yield from (Statement(target, name, doer) for target in targets)
        else:
            # "holds it | up to his face"
            says = f"{name.removesuffix(f' {tie.split()[0]}')} {tie}"
            yield from (Statement(doer, says, target) for target in targets)


def _adjectives_of_doer(tree: Tree, verb: int) -> list[int]:
    """Return the adjectives that stand with a verb and tell of who does it: "looks happy", "painted white and
    red", "runs barefoot".
    """
    own: list[int] = []
    for look in joined_nouns(tree, tree.children_by(verb, "acomp", "oprd")):
        # "painted | red white and blue", "a kitchen that is cluttered and | messy"
        own += [*tree.children_by(look, "amod"), look]
    own += tree.children_by(verb, "conj") if tree.tags[verb] == "VBN" else []
    shown = [a for a in own if tree.is_adjective(a) and not _completes_verb(tree, verb, a)]
    beside = [a for a in tree.children_by(verb, "advmod") if tree.token(a) in known.beside_verbs]
    return [a for a in (*shown, *beside) if tree.token(a) not in known.heights]


def _helped_subjects(tree: Tree, verb: int, root: str) -> list[int]:
    """Return who is helped to do something: the subject of what follows, "a sign to help | people know"."""
    clauses = tree.children_by(verb, "ccomp") if root in known.controlling else []
    bare = [c for c in clauses if not tree.children_by(c, "mark", "aux")]
    return [subject for subject in tree.children_of_all(bare, *SUBJECTS) if verb < subject]


def _statements_of_copula(tree: Tree, verb: int, doers: list[int]) -> Iterator[Statement]:
    """Yield what "is" says: "is red", "is on a table"; "there is" says nothing by itself."""
    negated = "not " if _is_negated(tree, verb) else ""
    looks: list[int] = []
    for look in filter(tree.is_adjective, tree.children_by(verb, "acomp", "attr", "oprd")):
        looks += [*tree.children_by(look, "amod"), *_joined_adjectives(tree, look)]
    # "is up | in the air"
    moved = {c + 1: f"{tree.token(c)} " for c in tree.children_by(verb, "advmod") if tree.token(c) in MOVED}
    places = find_prepositions(tree, verb, *tree.children_by(verb, "advmod"))
    places = [(moved.get(at, "") + tie, at, things) for tie, at, things in places]
    for doer in doers or joined_nouns(tree, tree.children_by(verb, "attr", "dobj")):
        for look in looks:
            yield from _statements_of_adjective(tree, look, doer, negated)
        for tie, _, targets in places:
            yield from (Statement(doer, negated + tie, target) for target in targets)


def _joined_adjectives(tree: Tree, look: int) -> list[int]:
    """Return an adjective with those joined to it: "white, black and brown"."""
    others = [c for c in tree.children_by(look, "conj") if not tree.is_verb(c)]
    return [look, *chain.from_iterable(_joined_adjectives(tree, other) for other in others)]


def _statements_of_adjective(
    tree: Tree, look: int, noun: int, negated: str, *, alone: bool = True
) -> list[Statement]:
    """Return what an adjective says of a noun: "full of" is a relation, but in "clean with white walls" the
    walls are the noun's.

    Args:
        tree: the sentence.
        look: position of the adjective.
        noun: position of the noun.
        negated: ``"not "`` or nothing.
        alone: whether to say too what the adjective, and its prepositions, say by themselves.
    """
    adjective = tree.text(look)
    together, apart = list[Statement](), list[Statement]()
    for tie, _, targets in find_prepositions(tree, look):
        loose = tie in known.placing and adjective not in known.engaged
        loose |= (tie == "with" and adjective not in known.busy) or adjective in known.colours
        words = tie if loose else f"{negated}{adjective} {tie}"
        (apart if loose else together).extend(Statement(noun, words, target) for target in targets)
    return together or ([Statement(noun, negated + adjective), *apart] if alone else [])


def statements_of_noun(tree: Tree, noun: int) -> Iterator[Statement]:
    """Yield what the prepositions after a noun, and an owner before it, say."""
    for tie, position, targets in find_prepositions(tree, noun):
        if position > noun:
            # "fruits and vegetables | in a pot | on a table", hung on the first of them
            more = [n for n in joined_nouns(tree, [noun]) if noun < n < position]
            start = min((p for p in tree.children_by(noun, "prep") if p > max(more, default=p)), default=0)
            last = (
                more
                and start == last_of_phrase(tree, more[-1], start) + 1
                and tie not in ("with", "without", "of")
            )
            near = position - 1 if position - 1 in more else noun
            alone = tie in ("with", "without") and not tree.is_animate(near)
            if near == position - 1 and (alone or tie == "of"):
                # "sinks and mirrors | with lights", "a knife and a cup | of tea"
                yield from (Statement(near, tie, target) for target in targets)
                continue
            # "a desk with a computer, a laptop and boxes | in the background", hung on the second
            shared = last and not tree.children_by(noun, *MODIFIERS)
            owners = described_nouns(tree, more[-1] if shared else noun)
            owners = owners if noun in owners else [noun, *more]
            yield from (Statement(owner, tie, target) for owner, target in product(owners, targets))
    for look in [c for c in tree.children_by(noun, "amod") if c > noun and tree.tags[c].startswith("JJ")]:
        yield from _statements_of_adjective(tree, look, noun, "", alone=False)
    things = [c for c in tree.children_by(noun, "conj") if not tree.children_by(c, "det", "poss", "nummod")]
    for owner in joined_nouns(tree, tree.children_by(noun, "poss")):
        yield from (Statement(owner, "have", thing) for thing in (noun, *things))
