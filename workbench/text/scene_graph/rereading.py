"""Step 3: sentences in which a verb was read as a noun are read again with other words.

A tagger that knows newspapers takes "a dog runs" for a compound, and "a man in a hat posing" for a man in a
"hat posing"; "a dog is running" and "a hat who is posing" leave it no choice.
"""

import re

from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import Word, known


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
        doubtful = 0 < i < len(tree.words) - 1 and not word.says and (tree.noun(i) or _merged(tree, i))
        made += (doubtful and (_finite(tree, i) or _gerund(tree, i))) or [word]
    return made if len(made) > len(tree.words) else None


def _merged(tree: Tree, i: int) -> bool:
    """A verb that the noun before it was made part of: "a dark | hat shoots"."""
    loose = tree.deps[i] in ("pobj", "dobj", "conj", "compound")
    return loose and tree.tags[i] in ("VBZ", "VBG") and i - 1 in tree.below(i, "compound", "nmod", "amod")


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
    if word == root and not several and followed and root in known.verbs:
        return _joint(tree, i)
    if not may or (_verbs_before(tree, i) and before not in ("and", ",")):
        return []
    if word == root:
        return [Word("are"), Word(_gerund_of(root))] if several else []
    singular = any(tree.given(j) in known.one or tree.given(j) == "the" for j in range(i))
    begins = singular or tree.tags[0] in ("NN", "NNP", "JJ")
    follows = before == "and" and any(tree.tags[j] in ("VBZ", "VBG") for j in range(i))
    subject = begins and (tag in ("NN", "NNP") or before in known.colours or follows)
    loose = tree.deps[i] in ("ROOT", "appos", "dep") and after not in ("and", ",", ".", "with", "in")
    living = before in known.animate and tag == "NN"
    plain = root in known.hardly_nouns or _merged(tree, i) or (follows and after in ("at", "towards", "up"))
    verb = clash or living or loose or after in known.openers
    told = word.endswith("s") and ((subject and not follows and verb) or (plain and (subject or several)))
    return [Word("is"), Word(_gerund_of(root))] if told else []


def _joint(tree: Tree, i: int) -> list[Word]:
    """What two do together: "a person and a horse splash through the water"."""
    two = tree.animate(i - 1) and tree.tags[i - 1] == "NN" and not _verbs_before(tree, i)
    joined = two and any(tree.given(j) == "and" for j in range(max(i - 4, 0), i - 1))
    return [Word("are"), Word(_gerund_of(tree.root(i)))] if joined else []


def _gerund_of(root: str) -> str:
    """The participle, which is read as a verb more surely: "snarling"."""
    stem = _MUTE.sub("", root.replace("ie", "y") if root.endswith("ie") else root)
    return (root + root[-1] if _DOUBLED.fullmatch(root) else stem) + "ing"


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word, before = tree.given(i), tree.given(i - 1)
    verb = word.endswith("ing") and word not in known.gerund_nouns and tree.root(i) in known.verbs
    subject = tree.noun(i - 1) or before in known.clothes | known.portable
    marks = [c for c in (*tree.children[i], *tree.children[i - 1]) if c < i - 1]
    told = any(tree.tags[c] in ("DT", "PRP$", "CD") or tree.adjective(c) for c in marks)
    doing = told or tree.animate(i - 1) or tree.name(i - 1) in known.body | known.clothes
    acting = doing and tree.root(i) in known.acting and tree.noun(i + 1)
    followed = tree.given(i + 1) in (known.followers if doing else known.openers) or acting
    return [Word("who"), Word("is"), Word(word)] if verb and subject and followed else []
