"""Mistakes of the parser that captions provoke again and again, put right."""

from __future__ import annotations

from workbench.text import _scene_words as known
from workbench.text._scene_tree import Tree


def repair(tree: Tree) -> Tree:
    """The tree with the usual mistakes put right.

    Args:
        tree: one sentence; it is changed.
    """
    for i in range(len(tree.words)):
        for rule in (_complete, _colour, _clause, _participle, _second_subject, _list, _joined_phrase):
            rule(tree, i)
    return tree


def _joined_phrase(tree: Tree, i: int) -> None:
    """A second phrase hangs on what the first one hangs on: "off the rocks and into the water"."""
    if tree.deps[i] == "conj" and tree.tags[i] == "IN" and (tree.verb(tree.heads[i]) or tree.noun(tree.heads[i])):
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
        verbs = [v for v in range(noun + 1, min(noun + 3, len(tree.words))) if tree.tags[v] in ("VBZ", "VBP", "VBD")]
        if verbs and not tree.below(verbs[0], "nsubj", "nsubjpass"):
            tree.deps[noun], tree.deps[i] = "nsubj", "mark"
            tree.hang(noun, verbs[0], "nsubj")


def _participle(tree: Tree, i: int) -> None:
    """Verbs read as nouns or nouns' adjectives read as verbs: "singing and playing", "washed clothing is hung"."""
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


def _list(tree: Tree, i: int) -> None:
    """A list goes on where it began: "a man with overalls and a hat"."""
    head = tree.heads[i]
    if tree.deps[i] != "conj" or not (tree.noun(i) and tree.noun(head)) or not tree.animate(head) or tree.animate(i):
        return
    inner = [t for p in tree.below(head, "prep") if p < i for t in tree.below(p, "pobj") if not tree.animate(t) and t < i]
    if inner and tree.given(tree.heads[inner[-1]]) in ("in", "with"):
        tree.hang(i, inner[-1], "conj")
