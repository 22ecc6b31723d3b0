"""Steps 3 and 4: mistakes of the parser that captions provoke are put right; then phrases and participles are
moved to the word they belong to by meaning, where the parser hung them on the nearest one.

The rules of step 4 follow the annotation guide: what is true of the nearer noun only stays there; what fits
both belongs to the verb, or without a verb to the first noun.
"""

import re

from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import Word, known

RAISED = known.motion | known.placing


def repaired(tree: Tree) -> Tree:
    """The tree with the usual mistakes put right, and its phrases where they belong.

    Args:
        tree: one sentence; it is changed.
    """
    words = (_complete, _colour, _clause, _participle, _of_doing)
    lists = (_second_subject, _lost_verb, _pair, _list)
    moves = dict.fromkeys(("acl", "relcl"), _move_participle) | {"prep": _move_phrase, "advcl": _lower}
    for i in range(len(tree.words)):
        for rule in words + lists:
            rule(tree, i)
        # A second phrase hangs on what the first one hangs on: "off the rocks and into the water".
        if tree.deps[i] == "conj" and tree.tags[i] == "IN" and tree.tags[tree.heads[i]][:2] in ("VB", "NN"):
            tree.deps[i] = "prep"
    for i in range(len(tree.words)):
        if tree.deps[i] in moves:
            moves[tree.deps[i]](tree, i)
    return tree


def _complete(tree: Tree, i: int) -> None:
    """A preposition that was left without its noun: "flying over | a toy"."""
    left = tree.tags[i] == "IN" and tree.deps[i] in ("prep", "advmod", "prt") and not tree.children[i]
    for noun in tree.below(tree.heads[i], "dobj", "attr", "npadvmod") if left else ():
        if min([noun, *tree.children[noun]]) == i + 1:
            tree.deps[i] = "prep"
            tree.hang(noun, i, "pobj")


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
    """Of two subjects the one after "and" goes on a list: "with a red shirt and long hair is"."""
    subjects = tree.below(i, "nsubj", "nsubjpass")[:2]
    two = len(subjects) == 2 and subjects[1] < i
    for conjunction in _conjunctions(tree, *subjects)[:1] if two else ():
        tree.hang(subjects[1], tree.heads[conjunction], "conj")


def _conjunctions(tree: Tree, start: int, end: int) -> list[int]:
    """Positions of "and" and the like between two words, where they join nouns."""
    return [c for c in range(start, end) if tree.deps[c] == "cc" and tree.noun(tree.heads[c])]


def _lost_verb(tree: Tree, i: int) -> None:
    """A noun that was given a subject: "a plate with potatoes and meat on it"."""
    alone = tree.noun(i) and tree.heads[i] == i
    for subject in [s for s in tree.below(i, "nsubj") if s < i and tree.noun(s)][:1] if alone else ():
        for conjunction in _conjunctions(tree, subject, i)[-1:]:
            if tree.heads[conjunction] not in (i, subject):
                tree.put({subject: (subject, "ROOT"), i: (tree.heads[conjunction], "conj")})


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


def reread(tree: Tree) -> list[Word] | None:
    """Verbs that were read as nouns, "a dog runs" taken for a compound: such a sentence is read again with
    other words, "a dog is running".

    Args:
        tree: the first reading.

    Returns:
        The words to be parsed instead, or None where the sentence was read well.
    """
    made: list[Word] = []
    for i, word in enumerate(tree.words):
        doubtful = 0 < i < len(tree.words) - 1 and not word.says and tree.noun(i)
        made += (doubtful and (_finite(tree, i) or _gerund(tree, i))) or [word]
    return made if len(made) > len(tree.words) else None


def _verbs_before(tree: Tree, i: int) -> bool:
    """Whether the clause has a finite verb already."""
    start = max((j for j in range(i) if tree.given(j) in (",", "while", "as", "and")), default=-1)
    return any(tag in ("VBZ", "VBP", "VBD", "MD") for tag in tree.tags[start + 1 : i])


_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")
_MUTE = re.compile(r"(?<=[^eoy])e$")


def _finite(tree: Tree, i: int) -> list[Word]:
    """A finite verb read as a noun: "a dog runs", "two men in ties smile at the camera", "a woman in white
    crosses the road".
    """
    word, before, tag = tree.given(i), tree.given(i - 1), tree.tags[i - 1]
    after, several = tree.given(i + 1), tag in ("NNS", "NNPS")
    followed = after in known.followers or tree.tags[i + 1] == "VBN"
    root, noun = tree.root(i), lemma(word, "NOUN")
    one = before not in known.one and any(tree.given(c) in known.one for c in tree.below(i, "det"))
    # A plural after "a" or "one" is no noun.
    clash = one and noun != word and noun not in known.animate
    may = followed and (several or word.endswith("s")) and (clash or root in known.verbs)
    if not may or _verbs_before(tree, i):
        return []
    if word == root:
        return [Word("are"), Word(_gerund_of(root))] if several else []
    singular = any(tree.given(j) in known.one or tree.given(j) == "the" for j in range(i))
    begins = singular or tree.tags[0] in ("NN", "NNP", "JJ")
    subject = word.endswith("s") and begins and (tag in ("NN", "NNP") or before in known.colours)
    loose = tree.deps[i] in ("ROOT", "appos", "dep") and after not in ("and", ",", ".", "with", "in")
    living = before in known.animate and tag == "NN"
    verb = subject and (clash or living or loose or after in known.openers)
    return [Word("is"), Word(_gerund_of(root))] if verb else []


def _gerund_of(root: str) -> str:
    """The participle, which is read as a verb more surely: "snarling"."""
    stem = _MUTE.sub("", root.replace("ie", "y") if root.endswith("ie") else root)
    return (root + root[-1] if _DOUBLED.fullmatch(root) else stem) + "ing"


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word = tree.given(i)
    verb = word.endswith("ing") and word not in known.gerund_nouns and tree.root(i) in known.verbs
    subject = tree.noun(i - 1) or tree.given(i - 1) in known.clothes | known.portable
    doing = tree.animate(i - 1) or any(tree.given(c) in known.one for c in tree.below(i, "det"))
    followed = tree.given(i + 1) in (known.followers if doing else known.openers)
    return [Word("who"), Word("is"), Word(word)] if verb and subject and followed else []


def _move_phrase(tree: Tree, i: int) -> None:
    targets = tree.below(i, "pobj") or [s for c in tree.below(i, "pcomp") for s in tree.below(c, "nsubj")]
    if targets and tree.given(i) == "with":
        _move_with(tree, i, targets[0])
    elif targets:
        for _ in range(4):
            tree.hang(i, _above(tree, i, targets[0]), "prep")
        head = tree.heads[i]
        sees = tree.verb(head) and (tree.root(head) in known.seeing or tree.root(head) == "have")
        at = [p for p in tree.below(head, "prep") if p < i and tree.given(p) == "at"]
        seen = [*tree.below(head, "dobj"), *(t for p in at for t in tree.below(p, "pobj"))]
        for thing in [t for t in seen if t < i][-1:] if sees and tree.given(i) in known.placing else ():
            tree.hang(i, thing, "prep")


def _above(tree: Tree, i: int, target: int) -> int:
    """What a phrase should hang on: a word further up, or its head where it is in its place."""
    head = tree.heads[i]
    over, dep = tree.heads[head], tree.deps[head]
    ahead = head > i and (dep == "amod" or (tree.noun(head) and dep in ("nsubj", "nsubjpass")))
    look = tree.tags[head].startswith("JJ") and dep in ("amod", "conj", "acl")
    free = tree.noun(head) and tree.given(i) in RAISED
    done = free and dep == "dobj" and tree.verb(over) and _of_the_verb(tree, i, target)
    if ahead or done or (look and tree.given(i) in known.placing):
        return over
    first = tree.heads[over]
    if free and dep == "pobj" and first != over and _of_the_first(tree, over, head, target):
        filled = tree.deps[first] == "acl" and tree.root(first) in known.filling
        return tree.heads[first] if filled else first
    return head


def _own(tree: Tree, target: int) -> bool:
    return any(tree.tags[c] == "PRP$" for c in tree.below(target, "poss"))


def _of_the_verb(tree: Tree, i: int, target: int) -> bool:
    """Whether a phrase after a verb's object says where or how it is done."""
    noun = tree.heads[i]
    place = tree.name(target) in known.places or _own(tree, target)
    moves = tree.given(i) in known.motion and not tree.animate(noun)
    return tree.root(tree.heads[noun]) not in known.seeing and (place or moves)


def _of_the_first(tree: Tree, before: int, noun: int, target: int) -> bool:
    """Whether the second of two phrases says something of what the first one is about."""
    first, name = tree.given(before), tree.name(target)
    pronoun = tree.tags[target].startswith("PRP") and tree.given(target) not in known.reflexive
    if pronoun or (tree.animate(noun) and (name in known.clothes or name in known.colours)):
        return False
    if first == "of":
        return tree.name(tree.heads[before]) not in known.parts
    if first == "with":
        filled = tree.verb(tree.heads[before]) and not tree.animate(noun)
        brought = name in known.places and (
            tree.animate(noun) or tree.name(noun) in known.clothes | known.body | known.portable
        )
        return (filled or brought) and not _own(tree, target) and name not in known.views
    return True


def _move_with(tree: Tree, i: int, target: int) -> None:
    """Move a phrase with "with": clothing, body parts and surroundings go to the subject, tools and
    companions to the verb.
    """
    head, name, around = tree.heads[i], tree.name(target), _surrounding(tree, target)
    while around and tree.deps[head] in ("pobj", "prep", "dobj") and not tree.verb(head):
        head = tree.heads[head]
    if tree.noun(head) and head != tree.heads[i]:
        tree.hang(i, head, "prep")
    elif tree.verb(head):
        described = [tree.heads[head]] if tree.deps[head] == "acl" else []
        subjects = [s for s in tree.below(head, "nsubj", "nsubjpass") if s < i] or described
        things = [t for t in tree.below(head, "dobj") if t < i]
        if things and name in known.body and not _own(tree, target):
            tree.hang(i, things[-1], "prep")
        elif subjects and (around or (not things and name in known.clothes | known.body)):
            tree.hang(i, subjects[0], "prep")
    elif tree.deps[head] == "pobj" and tree.noun(head):
        over = tree.heads[tree.heads[head]]
        moves = name in known.animate | known.portable and (tree.verb(over) or tree.animate(over))
        if moves and tree.name(head) in known.places:
            tree.hang(i, over, "prep")


def _surrounding(tree: Tree, target: int) -> bool:
    """Whether a phrase tells what is around: "with a church behind him", "with trees in the background"."""
    clause = [tree.heads[target]] if tree.deps[target] == "nsubj" else []
    ends = [t for own in (target, *tree.below(target, "acl"), *clause) for t in tree.phrases(own)]
    return any(tree.tags[t].startswith("PRP") or tree.given(t) in known.views for t in ends)


def _lower(tree: Tree, i: int) -> None:
    """What follows a person or an animal at once is about them: "a woman holding a child | looking at
    giraffes".
    """
    after = i > 0 and tree.deps[i - 1] in ("dobj", "pobj") and tree.animate(i - 1)
    if after and tree.tags[i] == "VBG" and tree.root(i) not in known.manners:
        tree.hang(i, i - 1, "acl")


def _move_participle(tree: Tree, i: int) -> None:
    """Move a participle from what cannot do it: "a man in a shirt holding a bat"."""
    head, deed = tree.heads[i], tree.root(i)
    over = tree.heads[head]
    held = tree.deps[head] == "dobj" and tree.root(over) in known.holding
    part = tree.given(over) == "of" and tree.deps[head] == "pobj"
    # What is worn, held, or in something that stands does not stand or sit by itself.
    idle = held or part or tree.name(head) in known.clothes
    does = deed in known.deeds or (deed in known.postures and idle)
    if tree.animate(head) or not does or tree.tags[i] not in ("VBG", "VBN"):
        return
    while tree.deps[head] == "conj" and tree.noun(tree.heads[head]):
        head = tree.heads[head]
    over = tree.heads[head]
    above = tree.heads[over] if tree.deps[head] == "pobj" else over
    if tree.noun(above) and (tree.animate(above) or tree.given(over) == "of"):
        tree.hang(i, above, "acl")
    elif tree.verb(above):
        tree.hang(i, above, "advcl")
