"""Step 4, first half: mistakes of the parser that captions provoke are put right, words before lists."""

from workbench.text.scene_graph.tree import Tree
from workbench.text.scene_graph.wording import known


def repaired(tree: Tree) -> Tree:
    """The tree with the usual mistakes put right.

    Args:
        tree: one sentence; it is changed.
    """
    words = (_complete, _particle, _of_last, _colour, _clause, _participle, _after_noun, _of_doing)
    lists = (_second_subject, _lost_verb, _pair, _list, _measures)
    for i in range(len(tree.words)):
        for rule in words + lists:
            rule(tree, i)
        # A second phrase hangs on what the first one hangs on: "off the rocks and into the water".
        if tree.deps[i] == "conj" and tree.tags[i] == "IN" and tree.tags[tree.heads[i]][:2] in ("VB", "NN"):
            tree.deps[i] = "prep"
    return tree


def _complete(tree: Tree, i: int) -> None:
    """A preposition that was left without its noun: "flying over | a toy"."""
    left = tree.tags[i] == "IN" and tree.deps[i] in ("prep", "advmod", "prt") and not tree.children[i]
    for noun in tree.below(tree.heads[i], "dobj", "attr", "npadvmod") if left else ():
        if min([noun, *tree.children[noun]]) == i + 1:
            tree.deps[i] = "prep"
            tree.hang(noun, i, "pobj")


def _particle(tree: Tree, i: int) -> None:
    """A particle that was given the verb's object: "drying off | his face with a towel"."""
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
    ends = (k for k in after if tree.tags[k] not in between or (tree.noun(k) and tree.deps[k] != "compound"))
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
    if tree.tags[i] in ("VBD", "VBN") and i == 0 and dep in ("nsubj", "nsubjpass"):
        for noun in tree.below(i, "dobj")[:1]:
            tree.put({noun: (head, dep), i: (noun, "amod")})
    elif tree.noun(i) and dep == "conj" and tree.given(i).endswith("ing") and not tree.below(i, "det"):
        above = tree.heads[head] if tree.deps[head] == "dobj" else head
        if tree.tags[above] == "VBG" and tree.root(i) in known.verbs:
            tree.tags[i] = "VBG"
            tree.hang(i, above, "conj")


def _second_subject(tree: Tree, i: int) -> None:
    """Of two subjects the one after "and" goes on a list: "with a red shirt and long hair is"; where one is
    and not several are, the list is not that of the subject: "a boat with paddles and no passengers is".
    """
    subjects = tree.below(i, "nsubj", "nsubjpass")[:2]
    two = len(subjects) == 2 and subjects[1] < i
    singular = tree.tags[i] == "VBZ" or any(tree.tags[c] == "VBZ" for c in tree.below(i, "aux", "auxpass"))
    for conjunction in _conjunctions(tree, *subjects)[:1] if two else ():
        inner = tree.phrases(tree.heads[conjunction], before=conjunction)
        own = singular and tree.heads[conjunction] == subjects[0] and inner
        tree.hang(subjects[1], inner[-1] if own else tree.heads[conjunction], "conj")


def _conjunctions(tree: Tree, start: int, end: int) -> list[int]:
    """Positions of "and" and the like between two words, where they join nouns."""
    return [c for c in range(start, end) if tree.deps[c] == "cc" and tree.noun(tree.heads[c])]


def _lost_verb(tree: Tree, i: int) -> None:
    """A noun that was given a subject: "a plate with potatoes and meat on it"; or a verb that was taken for
    one: "a person in skis flies".
    """
    alone = tree.noun(i) and tree.heads[i] == i
    if alone and tree.tags[i] == "NNS" and tree.root(i) in known.hardly_nouns and tree.below(i, "nsubj"):
        tree.tags[i] = "VBZ"
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
    told = any(tree.given(c) in known.one for c in tree.below(i, "det")) or any(
        tree.given(c) == "of" for c in tree.below(i, "prep")
    )
    bare = not tree.below(food, "det", "nummod", "poss") and not tree.animate(food)
    if listed and told and bare and tree.noun(tree.heads[of]):
        tree.hang(i, tree.heads[of], "conj")


def _pair(tree: Tree, i: int) -> None:
    """Two nouns read as one name although "and" stands between: "in a hat and red shirt"."""
    head = tree.heads[i]
    named = tree.deps[i] in ("compound", "nmod", "amod") and head > i and tree.said(i) not in known.colours
    if named and tree.noun(i) and tree.noun(head) and tree.given(i + 1) in ("and", "or"):
        above = i if tree.heads[head] == head else tree.heads[head]
        before = {c: (i, tree.deps[c]) for c in tree.children[head] if c < i}
        between = {c: (head, "amod") for c in tree.below(i, "conj") if i < c < head}
        tree.put({i: (above, tree.deps[head]), head: (i, "conj")} | before | between)


def _of_doing(tree: Tree, i: int) -> None:
    """A participle before its noun, read as a clause: "of wilting flowers"."""
    opens = tree.given(i) in ("of", "near", "with", "on", "over", "under", "at", "through", "behind")
    for verb in [v for v in tree.below(i, "pcomp") if tree.tags[v] == "VBG"] if opens else ():
        for noun in tree.below(verb, "dobj")[:1]:
            if noun > verb and not any(tree.tags[c] in ("DT", "PRP$") for c in tree.children[noun]):
                inner = {c: (noun, tree.deps[c]) for c in tree.children[verb]}
                tree.put({**inner, noun: (i, "pobj"), verb: (noun, "amod")})


def _list(tree: Tree, i: int) -> None:
    """A list goes on where it began: "a man with overalls and a hat"."""
    head = tree.heads[i]
    if tree.deps[i] != "conj" or not tree.noun(i):
        return
    if tree.tags[head] == "PRP":
        while tree.deps[head] in ("pobj", "prep") and not tree.verb(tree.heads[head]):
            head = tree.heads[head]
        tree.hang(i, head, "conj")
    elif tree.noun(head):
        ours = any(tree.tags[t] == "PRP" for t in tree.phrases(i))
        inner = [t for t in tree.phrases(head, before=i) if not tree.animate(t) and t < i]
        moves = ours or (tree.animate(head) and not tree.animate(i))
        if moves and inner and tree.given(tree.heads[inner[-1]]) in ("in", "with"):
            tree.hang(i, inner[-1], "conj")
