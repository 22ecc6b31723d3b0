"""Step 4, first half: mistakes of the parser that captions provoke are put right, words before lists."""

from collections.abc import Callable
from functools import cache

from workbench.text.scene_graph.tree import Tree
from workbench.text.scene_graph.wording import known

Rule = Callable[[Tree, int], None]
THINGS = known.portable | known.ridden | known.clothes
# Prepositions after which a participle stands before its noun; after "by" it says how.
OPENERS = (known.placing | known.motion | {"of", "with"}) - {"by", "from"}


def repaired(tree: Tree) -> Tree:
    """The tree with the usual mistakes put right.

    Args:
        tree: one sentence; it is changed.
    """
    for i in range(len(tree.words)):
        done = 0
        while done < len(RULES):
            look = tree.tags[i], tree.deps[i]
            for number, rule in _due(*look, done):
                done = number
                rule(tree, i)
                if look != (tree.tags[i], tree.deps[i]):
                    break
            else:
                break
        # A second phrase hangs on what the first one hangs on: "off the rocks and into the water".
        if tree.deps[i] == "conj" and tree.tags[i] == "IN" and tree.tags[tree.heads[i]][:2] in ("VB", "NN"):
            tree.deps[i] = "prep"
    return tree


@cache
def _due(tag: str, dep: str, done: int) -> list[tuple[int, Rule]]:
    """The rules that may say something of a word with this tag and relation, after the first ``done``; each
    with the number of rules up to it.
    """
    return [
        (number, rule)
        for number, (rule, (tags, deps)) in enumerate(RULES.items(), 1)
        if number > done and tag.startswith(tags) and (not deps or dep in deps)
    ]


def _complete(tree: Tree, i: int) -> None:
    """A preposition that was left without its noun: "flying over | a toy"; one that has it is no adverb."""
    if tree.tags[i] in ("IN", "TO", "RP") and tree.deps[i] == "advmod" and tree.below(i, "pobj"):
        tree.deps[i] = "prep"
    left = tree.tags[i] == "IN" and tree.deps[i] in ("prep", "advmod", "prt") and not tree.children[i]
    for noun in tree.below(tree.heads[i], "dobj", "attr", "npadvmod") if left else ():
        if min([noun, *tree.children[noun]]) == i + 1:
            tree.deps[i] = "prep"
            tree.hang(noun, i, "pobj")


def _tagged_verb(tree: Tree, i: int) -> None:
    """Verbs whose relation is right and whose tag is not, or the reverse: a participle that was read as a
    preposition, "a girl | following a boat".
    """
    if tree.tags[i] == "VBG" and tree.deps[i] == "prep" and tree.root(i) in known.deeds:
        tree.deps[i] = "acl" if tree.noun(tree.heads[i]) else "advcl"
    for noun in tree.below(i, "pobj") if tree.deps[i] != "prep" else ():
        tree.deps[noun] = "dobj"
    if tree.tags[i] == "VBG" and tree.deps[i] == "pcomp" and tree.given(i) in known.gerund_nouns:
        # "topped with | icing"
        tree.tags[i], tree.deps[i] = "NN", "pobj"
    alone = not tree.below(i, *(("nsubj", "compound") if tree.deps[i] == "dobj" else ("nsubj",)))
    if tree.tags[i] == "VBZ" and tree.deps[i] in ("dobj", "pobj") and alone:
        tree.tags[i] = "NNS"


def _exclaimed(tree: Tree, i: int) -> None:
    """A noun that was read as an exclamation."""
    if tree.deps[i] not in ("intj", "ROOT"):
        tree.tags[i] = "NN"


def _after_preposition(tree: Tree, i: int) -> None:
    """A noun that was read as a look, although a preposition is without its noun."""
    if tree.tags[tree.heads[i]] == "IN" and not tree.below(tree.heads[i], "pobj"):
        tree.tags[i], tree.deps[i] = "NN", "pobj"


def _noun_look(tree: Tree, i: int) -> None:
    """A look that was read as a noun: "a dog who is | wet"."""
    if tree.tags[i] == "NN" and not tree.children[i]:
        tree.tags[i] = "JJ"


def _look_noun(tree: Tree, i: int) -> None:
    """A noun that was read as a look."""
    before = tree.deps[i] == "compound" and i < tree.heads[i]
    named = tree.deps[i] in ("nsubj", "dobj", "pobj") and tree.below(i, "compound")
    if named or (tree.tags[i] == "JJ" and before):
        tree.tags[i] = "NN"
    if tree.tags[i] == "JJ" and tree.deps[i] == "amod" and tree.given(i) in THINGS:
        # "a skateboard | trick"
        tree.tags[i], tree.deps[i] = "NN", "compound"


def _no_receiver(tree: Tree, i: int) -> None:
    """A thing that is given nothing: "wearing ear | defenders"."""
    given = i + 1 in tree.below(tree.heads[i], "dobj") and not tree.children[i + 1]
    if given and not tree.animate(i):
        tree.put({i: (i + 1, "compound")} | {c: (i + 1, tree.deps[c]) for c in tree.children[i]})


def _look_alone(tree: Tree, i: int) -> None:
    """An adjective or a participle after a noun in a caption without a verb: "a rider | airborne on a ramp";
    after a part of the body it is that part's: "with his mouth | open", "with its head | cocked to the side".
    """
    look, noun, with_ = tree.adjective(i), i - 1, tree.heads[i - 1]
    if not (look or tree.tags[i] == "VBN"):
        return
    part = (
        i > 1 and tree.deps[noun] == "pobj" and tree.given(with_) == "with" and tree.name(noun) in known.body
    )
    subjects = tree.below(i, "nsubj", "nsubjpass") if tree.heads[i] == i else []
    if subjects and not tree.below(i, "aux", "auxpass", "dobj") and (look or part):
        others = dict.fromkeys(tree.below(i, "advcl"), (subjects[0], "acl"))
        tree.put({subjects[0]: (subjects[0], "ROOT"), i: (subjects[0], "amod" if look else "acl"), **others})
    if part and tree.deps[i] in ("amod", "acl", "acomp", "advcl") and tree.heads[i] < with_:
        phrases = {p: (tree.heads[i], "prep") for p in tree.below(i, "prep") if look}
        tree.put({**phrases, i: (noun, "amod" if look else "acl")})


def _relative(tree: Tree, i: int) -> None:
    """A clause that lost its object to the verb of the sentence, or swallowed that verb: "a girl that has | a
    ball sits in a park".
    """
    noun, verb = tree.heads[i], tree.heads[tree.heads[i]]
    relative = any(tree.given(c) in known.relatives for c in tree.below(i, "nsubj"))
    if tree.deps[i] != "relcl" or not relative or tree.below(i, "dobj", "prep", "acomp", "attr"):
        return
    alone = [c for c in tree.below(i, "ccomp") if verb == noun and tree.tags[c] in ("VBZ", "VBP")]
    verb = alone[0] if alone else verb
    for subject in [s for s in tree.below(verb, "nsubj") if i < s < verb and verb != noun]:
        tree.put({subject: (i, "dobj")} | ({verb: (verb, "ROOT"), noun: (verb, "nsubj")} if alone else {}))


def _particle(tree: Tree, i: int) -> None:
    """A particle that was given the verb's object: "drying off | his face with a towel"; or one of the noun
    before it, "with its legs | up in the air".
    """
    above = tree.heads[i - 1]
    after = i > 1 and tree.deps[i - 1] == "pobj" and tree.given(above) == "with" and tree.heads[i] < above
    if after and tree.deps[i] in ("prt", "advmod") and tree.given(i) in known.particles:
        for place in [p for p in tree.below(tree.heads[i], "prep") if p == i + 1]:
            tree.hang(place, i - 1, "prep")
        tree.hang(i, i - 1, "advmod")
    split = tree.deps[i] == "prt" and tree.verb(tree.heads[i])
    for noun in tree.below(i, "pobj") if split and tree.root(tree.heads[i]) not in known.moving else ():
        if any(tree.tags[c] == "PRP$" for c in tree.children[noun]):
            tree.hang(noun, tree.heads[i], "dobj")


def _of_last(tree: Tree, i: int) -> None:
    """The noun before "of" is the one that has it: "plates of food and glasses | of wine"."""
    after = i > 0 and tree.noun(i - 1) and tree.noun(tree.heads[i]) and tree.heads[i] < i
    if tree.given(i) == "of" and tree.deps[i] == "prep" and after:
        tree.hang(i, i - 1, "prep")


def _after_noun(tree: Tree, i: int) -> None:
    """A participle without a subject that was made an object, or hung on another verb, although a noun stands
    before it: "holding a racket | playing", "out of a tent | pitched near a mountain".
    """
    own = ("nsubj", "nsubjpass", "aux", "auxpass", "mark", "det")
    free = i > 0 and tree.noun(i - 1) and not tree.below(i, *own)
    object_of = tree.tags[i] == "VBG" and tree.deps[i] in ("dobj", "pobj") and i - 1 not in tree.children[i]
    suffers = tree.tags[i] in ("VBN", "VBD") and tree.deps[i] == "advcl" and not tree.below(i, "dobj", "cc")
    place = tree.deps[i - 1] in ("dobj", "pobj") and not tree.animate(i - 1)
    if free and (object_of or (suffers and place)):
        tree.hang(i, i - 1, "acl")


def _colour(tree: Tree, i: int) -> None:
    """A colour that was read as a noun although a noun follows: "a small pink | spotted ball"."""
    if tree.said(i) not in known.colours or not tree.noun(i) or tree.deps[i] in ("compound", "amod", "nmod"):
        return
    between, after = ("JJ", "VBN", "VBG", "NN", "NNS"), range(i + 1, len(tree.words))
    own = [*tree.below(tree.heads[i], "acl", "advcl"), *tree.below(i, "acl")]  # "in white | playing tennis"
    last = {k for k in after if tree.noun(k) and tree.deps[k] != "compound"}
    ends = (k for k in after if tree.tags[k] not in between or k in last.union(own))
    j = next(ends, i)
    if j != i and tree.noun(j):
        above = j if tree.heads[i] == i else tree.heads[i]
        noun = {j: (above, tree.deps[i])} if tree.heads[j] == i else {}
        before = {c: (j, tree.deps[c]) for c in tree.children[i] if c < i}
        tree.tags[i] = "JJ"
        tree.put(noun | before | {i: (j, "amod")})


def _clause(tree: Tree, i: int) -> None:
    """What "as" opens may be a clause, and the noun its subject: "as a horse tramples him"."""
    opens = tree.given(i) in ("as", "while") and tree.deps[i] == "prep"
    for noun in tree.below(i, "pobj") if opens else ():
        near = enumerate(tree.tags[noun + 1 : noun + 3], noun + 1)
        verbs = [v for v, tag in near if tag in ("VBZ", "VBP", "VBD")]
        if verbs and not tree.below(verbs[0], "nsubj", "nsubjpass"):
            tree.deps[noun], tree.deps[i] = "nsubj", "mark"
            tree.hang(noun, verbs[0], "nsubj")


def _participle(tree: Tree, i: int) -> None:
    """Verbs read as nouns or nouns' adjectives read as verbs: "singing and playing", "washed clothing is
    hung".
    """
    head, dep = tree.heads[i], tree.deps[i]
    if tree.tags[i] == "VBG" and head == i and not tree.below(i, "nsubj", "nsubjpass", "aux"):
        # "brown and white dog | biting a jacket"
        for noun in [c for c in tree.below(i, "compound", "npadvmod", "nmod") if c == i - 1 and tree.noun(c)]:
            looks = {c: (noun, tree.deps[c]) for c in tree.children[i] if c < noun}
            tree.put(looks | {noun: (i, "nsubj")})
    if tree.tags[i] in ("VBD", "VBN") and i == 0 and dep == "ROOT" and not tree.below(i, "nsubj", "aux"):
        # "grilled | chicken on a plate"
        for noun in [c for c in tree.below(i, "dobj") if c == 1 or tree.adjective(1)]:
            moved = {c: (noun, tree.deps[c]) for c in tree.children[i]}
            tree.put(moved | {noun: (noun, "ROOT"), i: (noun, "amod")})
    elif tree.tags[i] in ("VBD", "VBN") and i == 0 and dep in ("nsubj", "nsubjpass"):
        for noun in tree.below(i, "dobj")[:1]:
            tree.put({noun: (head, dep), i: (noun, "amod")})
    elif tree.noun(i) and dep == "conj" and tree.given(i).endswith("ing") and not tree.below(i, "det"):
        above = tree.heads[head] if tree.deps[head] in ("dobj", "pobj") else head
        above = tree.heads[above] if tree.deps[above] == "prep" else above
        if tree.tags[above] == "VBG" and tree.root(i) in known.verbs:
            tree.tags[i] = "VBG"
            tree.hang(i, above, "conj")


def _bare_verb(tree: Tree, i: int) -> None:
    """What several do besides, read as a thing: "two people stand in a city and | hug"."""
    listed = tree.tags[i] == "NN" and tree.deps[i] == "conj" and not tree.children[i]
    deed = tree.given(i) in known.deeds | known.moving | known.postures
    if not (listed and deed and tree.given(i - 1) == "and"):
        return
    above = tree.heads[i]
    while tree.heads[above] != above and not tree.verb(above):
        above = tree.heads[above]
    if tree.tags[above] in ("VBP", "VB") and tree.below(above, "nsubj"):
        tree.tags[i] = "VBP"
        tree.hang(i, above, "conj")


def _sport(tree: Tree, i: int) -> None:
    """A verb with a noun before it, read as a thing that someone is: "a man is rock | climbing"."""
    be = tree.heads[i]
    if tree.below(be, "nsubj") and tree.below(i, "compound"):
        above = {i: (i, "ROOT")} if tree.heads[be] == be else {i: (tree.heads[be], tree.deps[be])}
        tree.put({c: (i, tree.deps[c]) for c in tree.children[be]} | above | {be: (i, "aux")})


def _held_so(tree: Tree, i: int) -> None:
    """What was done to a thing, read as the verb of who has it: "holding a phone | tucked in a bag"."""
    subjects = tree.below(i, "nsubj") if tree.tags[i] in ("VBN", "VBD") and tree.heads[i] == i else []
    own = known.postures | known.settled | known.clothing | known.filling | known.beginnings
    if not subjects or tree.root(i) in own or tree.below(i, "dobj", "aux", "auxpass"):
        return
    for verb in tree.below(subjects[0], "acl"):
        if tree.tags[verb] == "VBG" and i - 1 in tree.below(verb, "dobj") and not tree.animate(i - 1):
            tree.put({subjects[0]: (subjects[0], "ROOT"), i: (i - 1, "acl")})


def _second_subject(tree: Tree, i: int) -> None:
    """Of two subjects the one after "and" goes on a list: "with a red shirt and long hair is"; where one is
    and not several are, the list is not that of the subject: "a boat with paddles and no passengers is".
    """
    subjects = tree.below(i, "nsubj", "nsubjpass")[:2] if len(tree.children[i]) > 1 else []
    if len(subjects) < 2 or subjects[1] > i:
        return
    singular = tree.tags[i] == "VBZ" or any(tree.tags[c] == "VBZ" for c in tree.below(i, "aux", "auxpass"))
    for conjunction in _conjunctions(tree, *subjects)[:1]:
        inner = tree.phrases(tree.heads[conjunction], before=conjunction)
        own = singular and tree.heads[conjunction] == subjects[0] and inner
        tree.hang(subjects[1], inner[-1] if own else tree.heads[conjunction], "conj")


def _second_clause(tree: Tree, i: int) -> None:
    """What was joined to the first clause's object does what the second says: "a woman is blowing bubbles and
    a girl | is playing".
    """
    bare = tree.verb(i) and tree.below(i, "aux") and not tree.below(i, "nsubj", "nsubjpass", "mark")
    for first in [c for c in tree.below(i, "ccomp") if c < i] if bare else ():
        things = [t for t in (*tree.below(first, "dobj"), *tree.phrases(first)) if t < i]
        for noun in [n for t in things for n in tree.below(t, "conj") if tree.animate(n) and n < i][:1]:
            phrases = {p: (noun, "prep") for p in tree.below(first, "prep") if noun < p < i}
            tree.put({noun: (i, "nsubj"), **phrases})


def _conjunctions(tree: Tree, start: int, end: int) -> list[int]:
    """Positions of "and" and the like between two words, where they join nouns."""
    return [c for c in range(start, end) if tree.deps[c] == "cc" and tree.noun(tree.heads[c])]


def _lost_verb(tree: Tree, i: int) -> None:
    """A noun that was given a subject: "a plate with potatoes and meat on it"; or a verb that was taken for
    one: "a person in skis flies".
    """
    alone = tree.noun(i) and tree.heads[i] == i
    doers = [s for s in tree.below(i, "nsubj", "dep") if s < i and tree.noun(s)] if alone else []
    bare = not tree.below(i, "det", "amod", "compound", "nummod", "cc") and tree.root(i) in known.verbs
    for doer in doers[:1]:
        several = tree.tags[doer] == "NNS"
        told = tree.deps[doer] == "nsubj" and not several and not _conjunctions(tree, doer, i)
        told |= bare and tree.animate(doer)
        if tree.tags[i] == ("NN" if several else "NNS") and (tree.root(i) in known.hardly_nouns or told):
            tree.tags[i] = "VBZ"
            tree.put({doer: (i, "nsubj")})
            return
    for subject in [s for s in tree.below(i, "nsubj") if s < i and tree.noun(s)][:1] if alone else ():
        for conjunction in _conjunctions(tree, subject, i)[-1:]:
            if tree.heads[conjunction] not in (i, subject):
                tree.put({subject: (subject, "ROOT"), i: (tree.heads[conjunction], "conj")})


def _measures(tree: Tree, i: int) -> None:
    """What is measured is not joined with a measure: in "plates of food and glasses of wine" the glasses are
    the plates', in "a bowl of soup and a sandwich" the sandwich is the bowl's companion.
    """
    food = tree.heads[i]
    of = tree.heads[food]
    listed = tree.deps[i] == "conj" and tree.noun(i) and tree.deps[food] == "pobj" and tree.given(of) == "of"
    after = [*range(i + 1, len(tree.words))[:1], *tree.below(i, "prep")]
    told = any(tree.given(c) in known.one for c in tree.below(i, "det"))
    told |= any(tree.given(c) == "of" for c in after)
    bare = not tree.below(food, "det", "nummod", "poss") and not tree.animate(food)
    if listed and told and bare and tree.noun(tree.heads[of]):
        tree.hang(i, tree.heads[of], "conj")


def _pair(tree: Tree, i: int) -> None:
    """Two nouns read as one name although "and" stands between: "in a hat and red shirt"; or two names where
    none does: "a black and white | police dog".
    """
    head = tree.heads[i]
    look = (
        tree.deps[i] == "conj" and tree.noun(i) and tree.adjective(head) and tree.said(head) in known.colours
    )
    while look and tree.deps[head] == "conj":
        head = tree.heads[head]
    if look and tree.deps[head] == "amod" and tree.heads[head] == i + 1:
        tree.hang(i, i + 1, "compound")
    head = tree.heads[i]
    named = tree.deps[i] in ("compound", "nmod", "amod") and head > i and tree.said(i) not in known.colours
    if named and tree.noun(i) and tree.noun(head) and tree.given(i + 1) in ("and", "or", ","):
        above = i if tree.heads[head] == head else tree.heads[head]
        before = {c: (i, tree.deps[c]) for c in tree.children[head] if c < i}
        between = {c: (head, "amod") for c in tree.below(i, "conj") if i < c < head}
        tree.put({i: (above, tree.deps[head]), head: (i, "conj")} | before | between)


def _of_doing(tree: Tree, i: int) -> None:
    """A participle before its noun, read as a clause: "of wilting flowers", "beside | stacked boxes"."""
    if tree.given(i) not in OPENERS:
        return
    lost = [v for v in tree.below(tree.heads[i], "xcomp", "advcl") if v == i + 1 and not tree.children[i]]
    for verb in [*(v for v in tree.below(i, "pcomp") if tree.tags[v] in ("VBG", "VBN")), *lost]:
        if tree.below(verb, "nsubj", "nsubjpass"):
            continue
        for noun in tree.below(verb, "dobj")[:1]:
            if noun > verb and not any(tree.tags[c] in ("DT", "PRP$") for c in tree.children[noun]):
                inner = {c: (noun, tree.deps[c]) for c in tree.children[verb]}
                tree.put({**inner, noun: (i, "pobj"), verb: (noun, "amod")})


def _list(tree: Tree, i: int) -> None:
    """A list goes on where it began: "a man with overalls and a hat"."""
    head = tree.heads[i]
    room = (
        tree.deps[i] in ("appos", "conj", "dep") and tree.below(i, "conj") and tree.name(head) in known.places
    )
    for thing in _things_there(tree, head)[-1:] if room else ():
        # "a kitchen with a stove, | a sink and an oven"
        if thing < i and not tree.animate(i):
            tree.hang(i, thing, "conj")
            return
    if tree.deps[i] != "conj" or not tree.noun(i):
        return
    ands = tree.below(head, "cc") if tree.verb(head) and not tree.below(i, "nsubj", "det") else []
    for noun in [a - 1 for a in ands if head < a < i and tree.noun(a - 1)][-1:]:
        # "next to a man with a cap | and shirt"
        tree.hang(i, noun, "conj")
    agents = [
        t for c in tree.below(head, "acl") for by in tree.below(c, "agent") for t in tree.below(by, "pobj")
    ]
    if agents and agents[-1] < i and tree.animate(agents[-1]) and tree.animate(i):
        tree.hang(i, agents[-1], "conj")
    elif tree.tags[head] == "PRP":
        while tree.deps[head] in ("pobj", "prep") and not tree.verb(tree.heads[head]):
            head = tree.heads[head]
        tree.hang(i, head, "conj")
    elif tree.name(head) in known.clothes and tree.animate(i) and tree.animate(_wearer(tree, head)):
        # "men in hats and a woman"
        tree.hang(i, _wearer(tree, head), "conj")
    elif tree.noun(head) and tree.animate(head) and not tree.animate(i) and _beside(tree, head, i):
        # "a man standing next to a bike | and a car"
        tree.hang(i, _beside(tree, head, i), "conj")
    elif tree.noun(head):
        ours = any(tree.tags[t] == "PRP" for t in tree.phrases(i))
        inner = [t for t in tree.phrases(head, before=i) if not tree.animate(t) and t < i]
        moves = ours or (tree.animate(head) and not tree.animate(i))
        if moves and inner and tree.given(tree.heads[inner[-1]]) in ("in", "with"):
            tree.hang(i, inner[-1], "conj")


def _second_thing(tree: Tree, i: int) -> None:
    """A thing beside what is in a place, and not in it: "a box in a field | and a banana next to a tree"."""
    listed = tree.deps[i] == "conj" and tree.noun(i)
    if listed and (there := _there(tree, i)):
        tree.hang(i, there, "conj")
        for after in [p for p in tree.below(there, "prep") if p > i]:
            tree.hang(after, i, "prep")


def _there(tree: Tree, i: int) -> int:
    """What the place before "and" has in it, beside which a second thing is named; 0 where there is none."""
    ands = [a for a in range(tree.heads[i] + 1, i) if tree.tags[a] == "CC"]
    place = ands[-1] - 1 if ands else 0
    above = tree.heads[place]
    open_ = known.places - known.surfaces - known.containers
    of_place = (
        tree.deps[place] == "pobj"
        and tree.given(above) in ("in", "on", "at")
        and tree.noun(tree.heads[above])
    )
    named = tree.below(i, "det", "nummod") and tree.name(i) not in known.places
    if not (tree.name(place) in open_ and of_place and named):
        return 0
    owner = tree.heads[above]
    while tree.deps[owner] in ("pobj", "prep") and owner != tree.heads[i]:
        owner = tree.heads[owner]
    return owner if tree.noun(owner) and tree.heads[i] in (place, owner) else 0


def _things_there(tree: Tree, place: int) -> list[int]:
    """What a place is said to be with, or to have."""
    clauses = [c for c in tree.below(place, "relcl") if tree.root(c) == "have"]
    tied = [p for p in tree.below(place, "prep") if tree.given(p) == "with"]
    return [t for c in (*clauses, *tied) for t in tree.below(c, "dobj", "pobj")]


def _beside(tree: Tree, someone: int, i: int) -> int:
    """The thing before "and" that someone does something to or stands beside; 0 where there is none."""
    ands = [c for c in tree.below(someone, "cc") if c < i]
    thing = ands[-1] - 1 if ands else 0
    above = tree.heads[thing]
    verb = tree.heads[above] if tree.deps[above] == "prep" else above
    own = tree.heads[verb] == someone and tree.deps[verb] in ("acl", "relcl") and someone < verb < thing
    plain = tree.deps[thing] in ("pobj", "dobj") and tree.name(thing) not in known.places
    return thing if own and plain and not tree.animate(thing) else 0


def _wearer(tree: Tree, worn: int) -> int:
    """Who is in what is worn: the noun that its preposition hangs on."""
    while tree.deps[worn] == "conj":
        worn = tree.heads[worn]
    return tree.heads[tree.heads[worn]] if tree.deps[worn] == "pobj" else worn


# The rules in their order, words before lists, each with the tags (their beginnings) and the relations of the
# words that it may say something of; no relations are all relations.
ANY = ("",)
NOUN, VERB, PAST, PARTICIPLE = ("NN",), ("VB",), ("VBD", "VBN"), ("VBD", "VBN", "VBG")
RULES: dict[Rule, tuple[tuple[str, ...], tuple[str, ...]]] = {
    _complete: (("IN", "TO", "RP"), ()),
    _tagged_verb: (VERB, ()),
    _exclaimed: (("UH",), ()),
    _after_preposition: (ANY, ("amod",)),
    _noun_look: (("NN",), ("acomp",)),
    _look_noun: (("JJ",), ("compound", "amod", "nsubj", "dobj", "pobj")),
    _no_receiver: (NOUN, ("dative",)),
    _look_alone: (ANY, ()),
    _relative: (ANY, ("relcl",)),
    _particle: (ANY, ("prt", "advmod")),
    _of_last: (ANY, ("prep",)),
    _colour: (NOUN, ()),
    _clause: (ANY, ("prep",)),
    _participle: (PARTICIPLE + NOUN, ()),
    _after_noun: (PARTICIPLE, ()),
    _of_doing: (ANY, ()),
    _bare_verb: (("NN",), ("conj",)),
    _sport: (("VBG",), ("attr",)),
    _held_so: (PAST, ()),
    _second_subject: (ANY, ()),
    _second_clause: (VERB, ()),
    _lost_verb: (NOUN, ()),
    _pair: (NOUN, ("conj", "compound", "nmod", "amod")),
    _list: (ANY, ("appos", "conj", "dep")),
    _second_thing: (NOUN, ("conj",)),
    _measures: (NOUN, ("conj",)),
}
