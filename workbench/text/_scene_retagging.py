"""Verbs that were read as nouns: "a dog runs" taken for a compound. Such a sentence is read again, with "does
run".
"""

from __future__ import annotations

import re

from workbench.text import _scene_words as known
from workbench.text._scene_phrases import Word
from workbench.text._scene_tree import Tree, lemma


def again(tree: Tree) -> list[Word] | None:
    """The words to be parsed instead, or None where the sentence was read well.

    Args:
        tree: the first reading.
    """
    made = [_otherwise(tree, i) for i in range(len(tree.words))]
    return [word for words in made for word in words] if any(len(words) > 1 for words in made) else None


def _otherwise(tree: Tree, i: int) -> list[Word]:
    """What one word is replaced by."""
    word = tree.words[i]
    inside = 0 < i < len(tree.words) - 1
    return (inside and not word.says and tree.noun(i) and (_finite(tree, i) or _gerund(tree, i))) or [word]


def _followed(tree: Tree, i: int) -> bool:
    """Whether what comes next may follow a verb."""
    return tree.given(i + 1) in known.FOLLOWERS or tree.tags[i + 1] == "VBN"


def _verbs_before(tree: Tree, i: int) -> bool:
    """Whether the clause has a finite verb already."""
    for j in range(i - 1, -1, -1):
        if tree.given(j) in (",", "while", "as", "and"):
            return False
        if tree.tags[j] in ("VBZ", "VBP", "VBD", "MD"):
            return True
    return False


_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")
_MUTE = re.compile(r"(?<=[^eoy])e$")


def _finite(tree: Tree, i: int) -> list[Word]:
    """A finite verb read as a noun: "a dog runs", "two men in ties smile at the camera", "a woman in white
    crosses the road".
    """
    word, before = tree.given(i), tree.tags[i - 1]
    if (
        not _followed(tree, i)
        or not (word.endswith("s") or before in ("NNS", "NNPS"))
        or _verbs_before(tree, i)
    ):
        return []
    root, clash = tree.root(i), _clash(tree, i)
    if not (root in known.VERBS or clash):
        return []
    if word == root:
        plural = before in ("NNS", "NNPS")
        return [Word("are"), Word(_gerund_of(root))] if plural else []
    if (
        not word.endswith("s")
        or not (before in ("NN", "NNP") or tree.given(i - 1) in known.COLOURS)
        or not _singular(tree, i)
    ):
        return []
    living = tree.given(i - 1) in known.ANIMATE and tree.tags[i - 1] == "NN"
    loose = living or (
        tree.deps[i] in ("ROOT", "appos", "dep") and tree.given(i + 1) not in ("and", ",", ".", "with", "in")
    )
    if not (clash or loose or tree.given(i + 1) in known.OPENERS):
        return []
    return [Word("is"), Word(_gerund_of(root))]


def _gerund_of(root: str) -> str:
    """The participle, which is read as a verb more surely: "snarling"."""
    if _DOUBLED.fullmatch(root):
        return root + root[-1] + "ing"
    return _MUTE.sub("", root.replace("ie", "y") if root.endswith("ie") else root) + "ing"


def _clash(tree: Tree, i: int) -> bool:
    """A plural after "a" or "one"."""
    root = lemma(tree.given(i), "NOUN")
    plain = root != tree.given(i) and root not in known.ANIMATE
    return (
        plain
        and tree.given(i - 1) not in known.ONE
        and any(tree.given(c) in known.ONE for c in tree.below(i, "det"))
    )


def _singular(tree: Tree, i: int) -> bool:
    return any(tree.given(j) in known.ONE or tree.given(j) == "the" for j in range(i)) or tree.tags[0] in (
        "NN",
        "NNP",
        "JJ",
    )


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word = tree.given(i)
    if not word.endswith("ing") or word in known.GERUND_NOUNS or tree.root(i) not in known.VERBS:
        return []
    if not tree.noun(i - 1) and tree.given(i - 1) not in known.CLOTHES | known.PORTABLE:
        return []
    doing = tree.animate(i - 1) or any(tree.given(c) in known.ONE for c in tree.below(i, "det"))
    single = doing and tree.given(i + 1) in known.FOLLOWERS
    return [Word("who"), Word("is"), Word(word)] if single or tree.given(i + 1) in known.OPENERS else []
