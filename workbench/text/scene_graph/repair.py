"""Step 3: mistakes of the parser that captions provoke, put right."""

import re

from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import Word, known


def repaired(tree: Tree) -> Tree:
    """The tree with the usual mistakes put right.

    Args:
        tree: one sentence; it is changed.
    """
    words = (_complete, _colour, _clause, _participle, _of_doing)
    lists = (_second_subject, _lost_verb, _pair, _list)
    for i in range(len(tree.words)):
        for rule in words + lists:
            rule(tree, i)
        # A second phrase hangs on what the first one hangs on: "off the rocks and into the water".
        if tree.deps[i] == "conj" and tree.tags[i] == "IN" and tree.tags[tree.heads[i]][:2] in ("VB", "NN"):
            tree.deps[i] = "prep"
    return tree


def _complete(tree: Tree, i: int) -> None:
    """A preposition that was left without its noun: "flying over | a toy"."""
    if tree.tags[i] == "IN" and tree.deps[i] in ("prep", "advmod", "prt") and not tree.children[i]:
        others = tree.below(tree.heads[i], "dobj", "attr", "npadvmod")
        for other in [o for o in others if min([o, *tree.children[o]]) == i + 1][:1]:
            tree.deps[i] = "prep"
            tree.hang(other, i, "pobj")


def _colour(tree: Tree, i: int) -> None:
    """A colour that was read as a noun although a noun follows: "a small pink | spotted ball"."""
    if tree.said(i) not in known.colours or not tree.noun(i) or tree.deps[i] in ("compound", "amod", "nmod"):
        return
    between = ("JJ", "VBN", "VBG", "NN", "NNS")
    after = range(i + 1, len(tree.words))
    ends = (k for k in after if tree.tags[k] not in between or (tree.noun(k) and tree.deps[k] != "compound"))
    j = next(ends, i)
    if j == i or not tree.noun(j):
        return
    if tree.heads[j] == i:
        tree.heads[j], tree.deps[j] = (j if tree.heads[i] == i else tree.heads[i]), tree.deps[i]
    for child in [c for c in tree.children[i] if c < i]:
        tree.heads[child] = j
    tree.heads[i], tree.deps[i], tree.tags[i] = j, "amod", "JJ"
    tree.link()


def _clause(tree: Tree, i: int) -> None:
    """What "as" opens may be a clause, and the noun its subject: "as a horse tramples him"."""
    opens = tree.given(i) in ("as", "while") and tree.deps[i] == "prep"
    for noun in tree.below(i, "pobj") if opens else ():
        near = range(noun + 1, min(noun + 3, len(tree.words)))
        verbs = [v for v in near if tree.tags[v] in ("VBZ", "VBP", "VBD")]
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
            tree.heads[noun], tree.deps[noun] = head, dep
            tree.heads[i], tree.deps[i] = noun, "amod"
            tree.link()
    elif tree.noun(i) and dep == "conj" and tree.given(i).endswith("ing") and not tree.below(i, "det"):
        above = tree.heads[head] if tree.deps[head] == "dobj" else head
        if tree.tags[above] == "VBG" and tree.root(i) in known.verbs:
            tree.tags[i] = "VBG"
            tree.hang(i, above, "conj")


def _second_subject(tree: Tree, i: int) -> None:
    """Of two subjects the one after "and" goes on a list: "with a red shirt and long hair is"."""
    subjects = tree.below(i, "nsubj", "nsubjpass")[:2]
    if len(subjects) == 2 and subjects[1] < i:
        for conjunction in _conjunctions(tree, *subjects)[:1]:
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
                tree.heads[subject], tree.deps[subject] = subject, "ROOT"
                tree.heads[i], tree.deps[i] = tree.heads[conjunction], "conj"
                tree.link()


def _pair(tree: Tree, i: int) -> None:
    """Two nouns read as one name although "and" stands between: "in a hat and red shirt"."""
    head, words = tree.heads[i], tree.words
    named = tree.deps[i] in ("compound", "nmod", "amod") and head > i and tree.said(i) not in known.colours
    if not (named and tree.noun(i) and tree.noun(head) and words[i + 1].given in ("and", "or")):
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
    opens = tree.given(i) in ("of", "near", "with", "on", "over", "under", "at", "through", "behind")
    for verb in [v for v in tree.below(i, "pcomp") if tree.tags[v] == "VBG"] if opens else ():
        for noun in tree.below(verb, "dobj")[:1]:
            if noun > verb and not any(tree.tags[c] in ("DT", "PRP$") for c in tree.children[noun]):
                tree.heads[noun], tree.deps[noun] = i, "pobj"
                tree.heads[verb], tree.deps[verb] = noun, "amod"
                for child in tree.children[verb]:
                    tree.heads[child] = noun if child != noun else i
                tree.link()


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
    made = [_otherwise(tree, i) for i in range(len(tree.words))]
    return [word for words in made for word in words] if len(made) < sum(map(len, made)) else None


def _otherwise(tree: Tree, i: int) -> list[Word]:
    """What one word is replaced by."""
    word = tree.words[i]
    inside = 0 < i < len(tree.words) - 1
    return (inside and not word.says and tree.noun(i) and (_finite(tree, i) or _gerund(tree, i))) or [word]


def _verbs_before(tree: Tree, i: int) -> bool:
    """Whether the clause has a finite verb already."""
    stops = [j for j in range(i) if tree.given(j) in (",", "while", "as", "and")]
    return any(tree.tags[j] in ("VBZ", "VBP", "VBD", "MD") for j in range(max(stops, default=-1) + 1, i))


_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")
_MUTE = re.compile(r"(?<=[^eoy])e$")


def _finite(tree: Tree, i: int) -> list[Word]:
    """A finite verb read as a noun: "a dog runs", "two men in ties smile at the camera", "a woman in white
    crosses the road".
    """
    word, before, tag = tree.given(i), tree.given(i - 1), tree.tags[i - 1]
    followed = tree.given(i + 1) in known.followers or tree.tags[i + 1] == "VBN"
    several = tag in ("NNS", "NNPS")
    if not followed or not (several or word.endswith("s")) or _verbs_before(tree, i):
        return []
    root, noun = tree.root(i), lemma(word, "NOUN")
    one = before not in known.one and any(tree.given(c) in known.one for c in tree.below(i, "det"))
    # A plural after "a" or "one" is no noun.
    clash = one and noun != word and noun not in known.animate
    if not clash and root not in known.verbs:
        return []
    if word == root:
        return [Word("are"), Word(_gerund_of(root))] if several else []
    singular = any(tree.given(j) in known.one or tree.given(j) == "the" for j in range(i))
    begins = singular or tree.tags[0] in ("NN", "NNP", "JJ")
    if not (word.endswith("s") and begins and (tag in ("NN", "NNP") or before in known.colours)):
        return []
    ends = tree.given(i + 1) in ("and", ",", ".", "with", "in")
    loose = tree.deps[i] in ("ROOT", "appos", "dep") and not ends
    living = before in known.animate and tag == "NN"
    verb = clash or living or loose or tree.given(i + 1) in known.openers
    return [Word("is"), Word(_gerund_of(root))] if verb else []


def _gerund_of(root: str) -> str:
    """The participle, which is read as a verb more surely: "snarling"."""
    if _DOUBLED.fullmatch(root):
        return root + root[-1] + "ing"
    return _MUTE.sub("", root.replace("ie", "y") if root.endswith("ie") else root) + "ing"


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word = tree.given(i)
    verb = word.endswith("ing") and word not in known.gerund_nouns and tree.root(i) in known.verbs
    if not verb or not (tree.noun(i - 1) or tree.given(i - 1) in known.clothes | known.portable):
        return []
    doing = tree.animate(i - 1) or any(tree.given(c) in known.one for c in tree.below(i, "det"))
    single = doing and tree.given(i + 1) in known.followers
    return [Word("who"), Word("is"), Word(word)] if single or tree.given(i + 1) in known.openers else []
