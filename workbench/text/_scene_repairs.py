"""Mistakes of the parser that captions provoke again and again, put right."""

from __future__ import annotations

from workbench.text import _scene_words as known
from workbench.text._scene_tree import Tree


def repair(tree: Tree) -> Tree:
    """The tree with the usual mistakes put right.

    Args:
        tree: one sentence; it is changed.
    """
    words = (_complete, _colour, _clause, _participle, _of_doing)
    lists = (_second_subject, _lost_verb, _pair, _list, _joined_phrase)
    for i in range(len(tree.words)):
        for rule in words + lists:
            rule(tree, i)
    return tree


def _joined_phrase(tree: Tree, i: int) -> None:
    """A second phrase hangs on what the first one hangs on: "off the rocks and into the water"."""
    if (
        tree.deps[i] == "conj"
        and tree.tags[i] == "IN"
        and (tree.verb(tree.heads[i]) or tree.noun(tree.heads[i]))
    ):
        tree.deps[i] = "prep"


def _complete(tree: Tree, i: int) -> None:
    """A preposition that was left without its noun: "flying over | a toy"."""
    if tree.tags[i] != "IN" or tree.deps[i] not in ("prep", "advmod", "prt") or tree.children[i]:
        return
    for other in tree.below(tree.heads[i], "dobj", "attr", "npadvmod"):
        if min([other, *tree.children[other]]) == i + 1:
            tree.deps[i] = "prep"
            tree.hang(other, i, "pobj")
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
        verbs = [
            v
            for v in range(noun + 1, min(noun + 3, len(tree.words)))
            if tree.tags[v] in ("VBZ", "VBP", "VBD")
        ]
        if verbs and not tree.below(verbs[0], "nsubj", "nsubjpass"):
            tree.deps[noun], tree.deps[i] = "nsubj", "mark"
            tree.hang(noun, verbs[0], "nsubj")


def _participle(tree: Tree, i: int) -> None:
    """Verbs read as nouns or nouns' adjectives read as verbs: "singing and playing", "washed clothing is
    hung".
    """
    head, word = tree.heads[i], tree.given(i)
    if tree.tags[i] in ("VBD", "VBN") and i == 0 and tree.deps[i] in ("nsubj", "nsubjpass"):
        for noun in tree.below(i, "dobj")[:1]:
            tree.heads[noun], tree.deps[noun] = head, tree.deps[i]
            tree.heads[i], tree.deps[i] = noun, "amod"
            tree.link()
    elif (
        tree.noun(i)
        and tree.deps[i] == "conj"
        and word.endswith("ing")
        and tree.root(i) in known.VERBS
        and not tree.below(i, "det")
    ):
        above = tree.heads[head] if tree.deps[head] == "dobj" else head
        if tree.tags[above] == "VBG":
            tree.tags[i] = "VBG"
            tree.hang(i, above, "conj")


def _second_subject(tree: Tree, i: int) -> None:
    """Of two subjects the one after "and" goes on a list: "with a red shirt and long hair is"."""
    subjects = tree.below(i, "nsubj", "nsubjpass")
    if len(subjects) < 2 or subjects[1] > i:
        return
    for cc in range(subjects[0] + 1, subjects[1]):
        if tree.deps[cc] == "cc" and tree.noun(tree.heads[cc]):
            tree.hang(subjects[1], tree.heads[cc], "conj")
            return


def _first(tree: Tree, i: int) -> int:
    """The first noun of all that a phrase hangs on."""
    while tree.deps[i] in ("pobj", "prep") and not tree.verb(tree.heads[i]):
        i = tree.heads[i]
    return i


def _lost_verb(tree: Tree, i: int) -> None:
    """A noun that was given a subject: "a plate with potatoes and meat on it"."""
    subjects = (
        [s for s in tree.below(i, "nsubj") if s < i and tree.noun(s)]
        if tree.noun(i) and tree.heads[i] == i
        else []
    )
    ands = [
        c
        for c in range(subjects[0] if subjects else i, i)
        if tree.deps[c] == "cc" and tree.noun(tree.heads[c])
    ]
    if ands and tree.heads[ands[-1]] not in (i, subjects[0]):
        tree.heads[subjects[0]], tree.deps[subjects[0]] = subjects[0], "ROOT"
        tree.heads[i], tree.deps[i] = tree.heads[ands[-1]], "conj"
        tree.link()


def _pair(tree: Tree, i: int) -> None:
    """Two nouns read as one name although "and" stands between: "in a hat and red shirt"."""
    head = tree.heads[i]
    if (
        tree.deps[i] not in ("compound", "nmod", "amod")
        or not tree.noun(i)
        or head < i
        or tree.said(i) in known.COLOURS
    ):
        return
    if i + 1 >= len(tree.words) or tree.given(i + 1) not in ("and", "or") or not tree.noun(head):
        return
    tree.heads[i], tree.deps[i] = (i if tree.heads[head] == head else tree.heads[head]), tree.deps[head]
    tree.heads[head], tree.deps[head] = i, "conj"
    for child in [c for c in tree.children[head] if c < i]:
        tree.heads[child] = i
    for child in [c for c in tree.children[i] if i < c < head and tree.deps[c] == "conj"]:
        tree.heads[child], tree.deps[child] = head, "amod"
    tree.link()


def _of_doing(tree: Tree, i: int) -> None:
    """A participle before its noun, read as a clause: "of wilting flowers"."""
    verbs = (
        [v for v in tree.below(i, "pcomp") if tree.tags[v] == "VBG"] if tree.given(i) in _NO_CLAUSE else []
    )
    for verb in verbs:
        for noun in tree.below(verb, "dobj")[:1]:
            if noun > verb and not any(tree.tags[c] in ("DT", "PRP$") for c in tree.children[noun]):
                tree.heads[noun], tree.deps[noun] = i, "pobj"
                tree.heads[verb], tree.deps[verb] = noun, "amod"
                for child in tree.children[verb]:
                    tree.heads[child] = noun if child != noun else i
                tree.link()


_NO_CLAUSE = frozenset(("of", "near", "with", "on", "over", "under", "at", "through", "behind"))


def _list(tree: Tree, i: int) -> None:
    """A list goes on where it began: "a man with overalls and a hat"."""
    head = tree.heads[i]
    if tree.deps[i] != "conj" or not (tree.noun(i) and (tree.noun(head) or tree.tags[head] == "PRP")):
        return
    if tree.tags[head] == "PRP":
        tree.hang(i, _first(tree, head), "conj")
        return
    ours = any(tree.tags[t] == "PRP" for p in tree.below(i, "prep") for t in tree.below(p, "pobj"))
    if not (ours or (tree.animate(head) and not tree.animate(i))):
        return
    inner = [
        t
        for p in tree.below(head, "prep")
        if p < i
        for t in tree.below(p, "pobj")
        if not tree.animate(t) and t < i
    ]
    if inner and tree.given(tree.heads[inner[-1]]) in ("in", "with"):
        tree.hang(i, inner[-1], "conj")
