"""Verbs that were read as nouns: "a dog runs" taken for a compound. Such a sentence is read again, with "does run"."""

from __future__ import annotations

from workbench.text import _scene_words as known
from workbench.text._scene_tree import Tree, lemma
from workbench.text._scene_wording import Word

OPENERS = frozenset(("a", "an", "the", "his", "her", "its", "their", "two", "some", "another"))
FOLLOWERS = OPENERS | frozenset(
    (
        "in",
        "on",
        "at",
        "through",
        "over",
        "down",
        "up",
        "across",
        "into",
        "along",
        "to",
        "with",
        "near",
        "around",
        "by",
        "off",
        "from",
        "for",
        "out",
        "under",
        "past",
        "toward",
        "towards",
        "behind",
        "while",
        "as",
        "and",
        ",",
        ".",
        "outside",
        "inside",
        "against",
        "together",
    )
)


def again(tree: Tree) -> list[Word] | None:
    """The words to be parsed instead, or None where the sentence was read well.

    Args:
        tree: the first reading.
    """
    for i in range(1, len(tree.words) - 1):
        word = tree.words[i]
        if word.kind or word.says or not tree.noun(i):
            continue
        made = _finite(tree, i) or _gerund(tree, i)
        if made:
            return [*tree.words[:i], *made, *tree.words[i + 1 :]]
    return None


def _verbs_before(tree: Tree, i: int) -> bool:
    """Whether the clause has a finite verb already."""
    for j in range(i - 1, -1, -1):
        if tree.given(j) in (",", "while", "as", "and"):
            return False
        if tree.tags[j] in ("VBZ", "VBP", "VBD", "MD"):
            return True
    return False


def _finite(tree: Tree, i: int) -> list[Word]:
    """A finite verb read as a noun: "a dog runs", "two men in ties smile at the camera", "a woman in white crosses the road"."""
    word, before = tree.given(i), tree.tags[i - 1]
    root, clash = lemma(word, "VERB"), _clash(tree, i)
    if not (root in known.VERBS or clash) or tree.given(i + 1) not in FOLLOWERS or _verbs_before(tree, i):
        return []
    if word == root:
        plural = before in ("NNS", "NNPS") and tree.given(i - 1) not in known.SINGULARS
        return [Word("do"), Word(root)] if plural else []
    if not word.endswith("s") or not (before in ("NN", "NNP") or tree.given(i - 1) in known.COLOURS) or not _singular(tree, i):
        return []
    loose = tree.deps[i] in ("ROOT", "appos", "dep") and tree.given(i + 1) not in ("and", ",", ".", "with", "in")
    if not (clash or loose or tree.given(i + 1) in OPENERS):
        return []
    return [Word("does"), Word(root)] if root in known.VERBS else [Word("is"), Word(_gerund_of(root))]


def _gerund_of(root: str) -> str:
    """The participle, which is read as a verb more surely: "snarling"."""
    return (root[:-1] if root.endswith("e") and not root.endswith("ee") else root) + "ing"


def _clash(tree: Tree, i: int) -> bool:
    """A plural after "a" or "one"."""
    root = lemma(tree.given(i), "NOUN")
    plain = root != tree.given(i) and root not in known.ANIMATE
    return plain and tree.given(i - 1) not in known.ONE and any(tree.given(c) in known.ONE for c in tree.below(i, "det"))


def _singular(tree: Tree, i: int) -> bool:
    return any(tree.given(j) in known.ONE or tree.given(j) == "the" for j in range(i)) or tree.tags[0] in ("NN", "NNP", "JJ")


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word = tree.given(i)
    if not word.endswith("ing") or lemma(word, "VERB") not in known.VERBS or word in known.GERUND_NOUNS or not tree.noun(i - 1):
        return []
    single = any(tree.given(c) in known.ONE for c in tree.below(i, "det")) and tree.given(i + 1) in FOLLOWERS
    return [Word("who"), Word("is"), Word(word)] if single or tree.given(i + 1) in OPENERS else []
