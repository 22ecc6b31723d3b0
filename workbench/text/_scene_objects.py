"""Which words of a parsed sentence name objects, what each is called, and what is said of it by words beside
it.
"""

from __future__ import annotations

from workbench.text import _scene_words as known
from workbench.text._scene_tree import Tree, lemma

INNER = ("compound", "nmod", "amod", "nummod", "det", "advmod", "quantmod", "nn")


def inner(tree: Tree, i: int) -> bool:
    """Whether a word only helps to name or describe a noun that follows it."""
    head = tree.heads[i]
    return head > i and tree.deps[i] in INNER and (tree.noun(head) or tree.deps[head] in INNER)


def is_object(tree: Tree, i: int) -> bool:
    """Whether a word is the head of a phrase that names something."""
    word, kind = tree.given(i), tree.words[i].kind
    if kind in ("attribute", "preposition") or not word[0].isalnum():
        return False
    if word in known.PRONOUNS or word in known.UNSAID or word in known.BE:
        return False
    if word in known.INDEFINITE or kind == "name":
        return not inner(tree, i)
    if tree.noun(i):
        return not inner(tree, i) and not _adverbial(tree, i)
    return _nominal(tree, i)


def _adverbial(tree: Tree, i: int) -> bool:
    """Whether a noun is used as an adverb: "outdoors"."""
    return tree.given(i) in ("outdoors", "indoors", "outside", "inside", "together", "upside")


def _nominal(tree: Tree, i: int) -> bool:
    """An adjective or number that stands for a thing: "a man in red", "two are playing"."""
    if tree.tags[i] not in ("JJ", "JJR", "JJS", "CD") or tree.deps[i] not in (
        "nsubj",
        "nsubjpass",
        "dobj",
        "pobj",
    ):
        return False
    return tree.given(i) not in ("many", "several", "few", "more", "other", "such", "same", "least")


def label(tree: Tree, i: int) -> str:
    """The name of an object: compound words as written, and the dictionary form of the head."""
    word = tree.words[i]
    plural = tree.tags[i] in ("NNS", "NNPS") or word.given in known.SINGULARS or word.kind == "name"
    head = lemma(word.given, "NOUN") if plural else tree.said(i)
    if word.kind == "name":
        start = word.says[: max(word.says.rfind(" "), word.says.rfind("-")) + 1]
        head = word.says if start == "pair of " else start + lemma(word.says[len(start) :], "NOUN")
    return " ".join([*(tree.said(c) for c in compound(tree, i)), head])


def compound(tree: Tree, i: int) -> list[int]:
    """Positions of the nouns that make one name with the noun at ``i``."""
    found: list[int] = []
    for child in tree.below(i, "compound", "nmod", "amod", "nummod"):
        if child < i and part_of_name(tree, child):
            found += [*compound(tree, child), child]
    return found


def part_of_name(tree: Tree, i: int) -> bool:
    """Whether a word before a noun belongs to its name rather than describes it."""
    word = tree.said(i)
    if tree.words[i].kind in ("attribute", "preposition") or word in known.COLOURS or word in known.MATERIALS:
        return False
    if tree.tags[i] == "VBG":
        return (
            tree.deps[i + 1 : i + 2] != ["amod"]
            and word not in known.PARTICIPLES
            and tree.given(tree.heads[i]) not in known.ANIMATE
            and not tree.below(i, "advmod", "amod")
        )
    return tree.noun(i) and not _describes(word)


def _describes(word: str) -> bool:
    """Adjectives that taggers take for nouns: "shirtless man", "wooden"."""
    return word.endswith(("less", "ful", "ed", "ous")) and word not in ("bed", "shed", "sled", "seed", "weed")


def attributes(tree: Tree, i: int) -> list[tuple[int, str]]:
    """What words beside a noun say of it: adjectives, participles, numbers, colours, materials.

    Returns:
        ``(position, attribute)`` in the order of the text.
    """
    found: list[tuple[int, str]] = []
    for child in tree.children[i]:
        if tree.deps[child] in (
            "amod",
            "nummod",
            "compound",
            "nmod",
            "det",
            "predet",
            "advmod",
            "quantmod",
            "npadvmod",
        ):
            found += _described(tree, child, i)
    return sorted(found)


def _described(tree: Tree, child: int, i: int) -> list[tuple[int, str]]:
    """The attribute that one modifier gives, with those that are joined to it."""
    word, tag = tree.words[child], tree.tags[child]
    joined = [
        c
        for j in tree.below(child, "conj", "amod", "compound", "nmod", "nummod", "advmod")
        for c in _described(tree, j, i)
    ]
    if word.kind == "attribute":
        return [(child, word.says), *joined]
    if child > i and (not tag.startswith("JJ") or tree.below(child, "prep")):
        return []
    if (
        tree.deps[child] == "advmod"
        and child < i
        and not tag.startswith("JJ")
        and word.given not in known.FLAT
    ):
        return []
    if part_of_name(tree, child):
        return [(p, a) for p, a in joined if not part_of_name(tree, p)]
    descriptive = (
        word.given in known.FLAT
        or tag in ("JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "CD", "FW")
        or tree.noun(child)
        or word.given in known.COUNTED
    )
    if not descriptive or word.given in known.DROPPED or not word.given[0].isalnum():
        return joined
    return [(child, tree.said(child)), *joined]
