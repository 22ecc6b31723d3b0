"""Mistakes of the parser that captions provoke again and again, put right."""

import re

from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import Word, known


def repaired(tree: Tree) -> Tree:
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
    if tree.said(i) not in known.colours or not tree.noun(i) or tree.deps[i] in ("compound", "amod", "nmod"):
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
        and tree.root(i) in known.verbs
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
        or tree.said(i) in known.colours
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


def reread(tree: Tree) -> list[Word] | None:
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
    return tree.given(i + 1) in known.followers or tree.tags[i + 1] == "VBN"


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
    if not (root in known.verbs or clash):
        return []
    if word == root:
        plural = before in ("NNS", "NNPS")
        return [Word("are"), Word(_gerund_of(root))] if plural else []
    if (
        not word.endswith("s")
        or not (before in ("NN", "NNP") or tree.given(i - 1) in known.colours)
        or not _singular(tree, i)
    ):
        return []
    living = tree.given(i - 1) in known.animate and tree.tags[i - 1] == "NN"
    loose = living or (
        tree.deps[i] in ("ROOT", "appos", "dep") and tree.given(i + 1) not in ("and", ",", ".", "with", "in")
    )
    if not (clash or loose or tree.given(i + 1) in known.openers):
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
    plain = root != tree.given(i) and root not in known.animate
    return (
        plain
        and tree.given(i - 1) not in known.one
        and any(tree.given(c) in known.one for c in tree.below(i, "det"))
    )


def _singular(tree: Tree, i: int) -> bool:
    return any(tree.given(j) in known.one or tree.given(j) == "the" for j in range(i)) or tree.tags[0] in (
        "NN",
        "NNP",
        "JJ",
    )


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word = tree.given(i)
    if not word.endswith("ing") or word in known.gerund_nouns or tree.root(i) not in known.verbs:
        return []
    if not tree.noun(i - 1) and tree.given(i - 1) not in known.clothes | known.portable:
        return []
    doing = tree.animate(i - 1) or any(tree.given(c) in known.one for c in tree.below(i, "det"))
    single = doing and tree.given(i + 1) in known.followers
    return [Word("who"), Word("is"), Word(word)] if single or tree.given(i + 1) in known.openers else []
