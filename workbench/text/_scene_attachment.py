"""Phrases and participles moved to the word they belong to by meaning, where the parser hung them on the nearest one.

The rules follow the annotation guide: what is true of the nearer noun only stays there; what fits both belongs to the verb, or
without a verb to the first noun.
"""

from __future__ import annotations

from workbench.text import _scene_words as known
from workbench.text._scene_tree import Tree, lemma

RAISED = known.MOTION | known.PLACING


def attach(tree: Tree) -> Tree:
    """The tree with phrases moved.

    Args:
        tree: one sentence; it is changed.
    """
    for i in range(len(tree.words)):
        _complete(tree, i)
        _colour(tree, i)
        _clause(tree, i)
        _list(tree, i)
        if tree.deps[i] == "conj" and tree.tags[i] == "IN" and (tree.verb(tree.heads[i]) or tree.noun(tree.heads[i])):
            tree.deps[i] = "prep"
        if tree.deps[i] == "prep":
            _move_phrase(tree, i)
        elif tree.deps[i] in ("acl", "relcl") and tree.tags[i] == "VBG":
            _move_participle(tree, i)
    return tree


def _complete(tree: Tree, i: int) -> None:
    """A preposition that was left without its noun: "flying over | a toy"."""
    if tree.tags[i] != "IN" or tree.deps[i] not in ("prep", "advmod", "prt") or tree.children[i]:
        return
    for other in tree.below(tree.heads[i], "dobj", "attr", "npadvmod"):
        if min([other, *tree.children[other]]) == i + 1:
            tree.deps[i] = "prep"
            _hang(tree, other, i, "pobj")
            return


def _colour(tree: Tree, i: int) -> None:
    """A colour that was read as a noun although a noun follows: "a small pink | spotted ball"."""
    if tree.said(i) not in known.COLOURS or not tree.noun(i) or tree.deps[i] in ("compound", "amod", "nmod"):
        return
    j = i + 1
    while (
        j < len(tree.words)
        and tree.tags[j] in ("JJ", "VBN", "VBG", "NN", "NNS")
        and not (tree.noun(j) and tree.deps[j] != "compound")
    ):
        j += 1
    if j >= len(tree.words) or not tree.noun(j):
        return
    if tree.heads[j] == i:
        tree.heads[j], tree.deps[j] = (j if tree.heads[i] == i else tree.heads[i]), tree.deps[i]
    for child in [c for c in tree.children[i] if c < i]:
        tree.heads[child] = j
    tree.heads[i], tree.deps[i], tree.tags[i] = j, "amod", "JJ"
    tree.link()


def _clause(tree: Tree, i: int) -> None:
    """What "as" opens may be a clause, and the noun its subject: "as a horse tramples him"."""
    if tree.given(i) not in ("as", "while") or tree.deps[i] != "prep":
        return
    for noun in tree.below(i, "pobj"):
        verbs = [v for v in range(noun + 1, min(noun + 3, len(tree.words))) if tree.tags[v] in ("VBZ", "VBP", "VBD")]
        if verbs and not tree.below(verbs[0], "nsubj", "nsubjpass"):
            tree.deps[noun], tree.deps[i] = "nsubj", "mark"
            _hang(tree, noun, verbs[0], "nsubj")


def _list(tree: Tree, i: int) -> None:
    """A list goes on where it began: "a man with overalls and a hat"."""
    head = tree.heads[i]
    if tree.deps[i] != "conj" or not (tree.noun(i) and tree.noun(head)) or not animate(tree, head) or animate(tree, i):
        return
    inner = [t for p in tree.below(head, "prep") if p < i for t in tree.below(p, "pobj") if not animate(tree, t) and t < i]
    if inner and tree.given(tree.heads[inner[-1]]) in ("in", "with"):
        _hang(tree, i, inner[-1], "conj")


def head_noun(tree: Tree, i: int) -> str:
    """The dictionary form of a noun."""
    return lemma(tree.given(i), "NOUN") if tree.tags[i] in ("NNS", "NNPS") else tree.given(i)


def animate(tree: Tree, i: int) -> bool:
    """Whether a noun is a person or an animal."""
    return head_noun(tree, i) in known.ANIMATE


def _hang(tree: Tree, i: int, head: int, dep: str) -> None:
    tree.children[tree.heads[i]].remove(i)
    tree.heads[i], tree.deps[i] = head, dep
    tree.children[head] = sorted([*tree.children[head], i])


def _move_phrase(tree: Tree, i: int) -> None:
    targets = tree.below(i, "pobj")
    if not targets:
        return
    if tree.given(i) == "with":
        _move_with(tree, i, targets[0])
        return
    for _ in range(4):
        above = _above(tree, i, targets[0])
        if above is None:
            break
        _hang(tree, i, above, "prep")
    head = tree.heads[i]
    if tree.verb(head) and lemma(tree.given(head), "VERB") in known.SEEING and tree.given(i) in known.PLACING:
        seen = [t for t in (*tree.below(head, "dobj"), *_seen(tree, head, i)) if t < i]
        if seen:
            _hang(tree, i, seen[-1], "prep")


def _seen(tree: Tree, verb: int, i: int) -> list[int]:
    return [t for p in tree.below(verb, "prep") if p < i and tree.given(p) == "at" for t in tree.below(p, "pobj")]


def _above(tree: Tree, i: int, target: int) -> int | None:
    """Where a phrase should move up to, or None where it is in its place."""
    head = tree.heads[i]
    over, dep = tree.heads[head], tree.deps[head]
    if head > i and (dep == "amod" or (tree.noun(head) and dep in ("nsubj", "nsubjpass"))):
        return over
    if tree.tags[head].startswith("JJ") and dep in ("amod", "conj", "acl"):
        return over if tree.given(i) in known.PLACING else None
    if (
        not tree.noun(head)
        or tree.given(i) not in RAISED
        or (tree.deps[over] == "ROOT" and not tree.verb(over) and dep == "conj")
    ):
        return None
    if dep == "dobj" and tree.verb(over):
        return over if _of_the_verb(tree, i, head, over, target) else None
    if dep == "pobj" and tree.heads[over] != over and _of_the_first(tree, over, head, target):
        first = tree.heads[over]
        holds = tree.deps[first] == "acl" and lemma(tree.given(first), "VERB") in known.FILLING
        return tree.heads[first] if holds else first
    return None


def _own(tree: Tree, target: int) -> bool:
    return any(tree.tags[c] == "PRP$" for c in tree.below(target, "poss"))


def _of_the_verb(tree: Tree, i: int, noun: int, verb: int, target: int) -> bool:
    """Whether a phrase after a verb's object says where or how it is done."""
    if lemma(tree.given(verb), "VERB") in known.SEEING:
        return False
    place = head_noun(tree, target) in known.PLACES or _own(tree, target)
    return place or (tree.given(i) in known.MOTION and not animate(tree, noun))


def _of_the_first(tree: Tree, before: int, noun: int, target: int) -> bool:
    """Whether the second of two phrases says something of what the first one is about."""
    first, name = tree.given(before), head_noun(tree, target)
    if tree.tags[target].startswith("PRP") or (name in known.CLOTHES and animate(tree, noun)):
        return False
    if first == "of":
        return head_noun(tree, tree.heads[before]) not in known.PARTS
    if first == "with":
        filled = tree.verb(tree.heads[before]) and not animate(tree, noun)
        return (filled or name in known.PLACES) and not _own(tree, target) and name not in known.VIEWS
    return True


def _move_with(tree: Tree, i: int, target: int) -> None:
    """Move a phrase with "with": clothing, body parts and surroundings go to the subject, tools and companions to the verb."""
    head = tree.heads[i]
    name = head_noun(tree, target)
    if tree.verb(head):
        subject = _subject(tree, head, i)
        things = [t for t in tree.below(head, "dobj") if t < i]
        if things and name in known.BODY and not _own(tree, target):
            _hang(tree, i, things[-1], "prep")
        elif subject is not None and (_surrounding(tree, target) or (not things and name in known.CLOTHES | known.BODY)):
            _hang(tree, i, subject, "prep")
    elif tree.deps[head] == "dobj" and _surrounding(tree, target) and tree.verb(tree.heads[head]):
        subject = _subject(tree, tree.heads[head], i)
        if subject is not None:
            _hang(tree, i, subject, "prep")
    elif tree.deps[head] == "pobj" and tree.noun(head):
        over = tree.heads[tree.heads[head]]
        portable = name in known.ANIMATE or name in known.PORTABLE
        if portable and head_noun(tree, head) in known.PLACES and (tree.verb(over) or animate(tree, over)):
            _hang(tree, i, over, "prep")


def _subject(tree: Tree, verb: int, i: int) -> int | None:
    own = [s for s in tree.below(verb, "nsubj", "nsubjpass") if s < i and s not in tree.below(verb, "expl")]
    return own[0] if own else tree.heads[verb] if tree.deps[verb] == "acl" else None


def _surrounding(tree: Tree, target: int) -> bool:
    """Whether a phrase tells what is around: "with a church behind him", "with trees in the background"."""
    ends = [t for p in tree.below(target, "prep") for t in tree.below(p, "pobj")]
    return any(tree.tags[t].startswith("PRP") or tree.given(t) in known.VIEWS for t in ends)


def _move_participle(tree: Tree, i: int) -> None:
    """Move a participle from what cannot do it: "a man in a shirt holding a bat"."""
    head = tree.heads[i]
    deed = lemma(tree.given(i), "VERB")
    if animate(tree, head) or (
        deed not in known.DEEDS and not (deed in known.POSTURES and head_noun(tree, head) in known.CLOTHES)
    ):
        return
    while tree.deps[head] == "conj" and tree.noun(tree.heads[head]):
        head = tree.heads[head]
    over = tree.heads[head]
    above = tree.heads[over] if tree.deps[head] == "pobj" else over
    if tree.noun(above) and animate(tree, above):
        _hang(tree, i, above, "acl")
    elif tree.verb(above):
        _hang(tree, i, above, "advcl")
