"""From the parsed sentences of a caption to its scene graph: nodes, what pronouns stand for, statements."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.records import SceneGraph
from workbench.text.scene_graph import statements
from workbench.text.scene_graph.statements import Said
from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import SINGULARS, known


@dataclass
class _Node:
    """One object of the caption; ``places`` are the words that mean it."""

    label: str
    sentence: int
    position: int
    plural: bool
    attributes: list[str] = field(default_factory=list)

    @property
    def head(self) -> str:
        return self.label.rpartition(" ")[2]


@dataclass
class _Caption:
    """What is known so far: nodes, and which nodes each word means."""

    nodes: list[_Node] = field(default_factory=list)
    means: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    relations: list[tuple[int, str, int]] = field(default_factory=list)
    mutual: set[tuple[int, int]] = field(default_factory=set)


def read_graph(trees: Sequence[Tree]) -> SceneGraph | None:
    """The scene graph of a caption, or None where no word names an object.

    Args:
        trees: its parsed sentences.
    """
    caption = _Caption()
    for number, tree in enumerate(trees):
        _name(caption, number, tree)
        _resolve(caption, number, tree)
        for said in _statements(tree):
            _state(caption, number, said)
    if not caption.nodes:
        return None
    attributes = dict.fromkeys((n, a) for n, node in enumerate(caption.nodes) for a in node.attributes)
    return SceneGraph(
        tuple(n.label for n in caption.nodes), tuple(attributes), tuple(dict.fromkeys(caption.relations))
    )


def _name(caption: _Caption, number: int, tree: Tree) -> None:
    """A node for each object of the sentence, unless "the cat" is one that an earlier sentence told of."""
    for i in range(len(tree.words)):
        if not is_object(tree, i):
            continue
        label, said = name_of(tree, i), [a for _, a in looks_of(tree, i)]
        again = _again(caption, number, tree, i, label) if not said else None
        if again is None:
            plural = tree.tags[i] in ("NNS", "NNPS") or label == "people"
            again = len(caption.nodes)
            caption.nodes.append(_Node(label, number, i, plural, said))
        caption.means[number, i] = [again]


def _again(caption: _Caption, number: int, tree: Tree, i: int, label: str) -> int | None:
    if not any(tree.given(c) in ("the", "this", "these", "that") for c in tree.below(i, "det")):
        return None
    bare = len(tree.children[i]) == 1 and tree.deps[i] != "conj"
    same = [
        n for n, node in enumerate(caption.nodes) if node.label == label and (node.sentence < number or bare)
    ]
    return same[-1] if same else None


def _resolve(caption: _Caption, number: int, tree: Tree) -> None:
    """Which nodes each pronoun means."""
    for i in range(len(tree.words)):
        word = tree.given(i)
        if word not in known.pronouns or (number, i) in caption.means or inner(tree, i):
            continue
        if tree.deps[i] in ("nummod", "det", "poss", "amod", "predet"):
            continue
        if word in known.reflexive:
            caption.mutual.add((number, i))
            alone = tree.given(tree.heads[i]) == "by"
            selves = sorted(_barred(caption, number, tree, i))
            living = [n for n in range(len(caption.nodes)) if caption.nodes[n].head in known.animate]
            caption.means[number, i] = [] if alone else [n for n in selves if n in living] or living or selves
            continue
        found = _antecedent(caption, number, tree, i, word)
        if found:
            caption.means[number, i] = found


def _antecedent(caption: _Caption, number: int, tree: Tree, i: int, word: str) -> list[int]:
    before = [n for n, node in enumerate(caption.nodes) if (node.sentence, node.position) < (number, i)]
    owners = _owners(caption, number, tree, i)
    if owners and word in (*known.plural_pronouns, "it"):
        return owners
    barred = _barred(caption, number, tree, i)
    free = [n for n in before if n not in barred] or before
    if word in known.plural_pronouns:
        several = [n for n in free if caption.nodes[n].plural]
        return several[-1:] or free[:2]
    if word in known.person_pronouns:
        persons = [n for n in free if caption.nodes[n].head in known.persons]
        return persons[:1] or [n for n in free if caption.nodes[n].head in known.animals][:1] or free[:1]
    if word in known.others:
        return [n for n in before if caption.nodes[n].plural][:1] or before[:1]
    if word == "it":
        return (
            [n for n in free if caption.nodes[n].head not in known.persons and not caption.nodes[n].plural]
            or free
        )[:1]
    return []


def _owners(caption: _Caption, number: int, tree: Tree, i: int) -> list[int]:
    """Whose thing a phrase speaks of: in "a desk with a laptop on it" the desk's."""
    noun = tree.heads[tree.heads[i]] if tree.deps[i] == "pobj" else i
    while tree.deps[noun] in ("conj", "appos"):
        noun = tree.heads[noun]
    above = tree.heads[noun]
    if tree.deps[noun] == "pobj" and tree.given(above) == "with":
        owner = tree.heads[above]
        found = [owner] if tree.noun(owner) else statements.subjects(tree, owner)
    elif tree.deps[noun] == "dobj" and tree.root(above) == "have":
        found = statements.subjects(tree, above)
    else:
        return []
    return [n for one in found for n in caption.means.get((number, one), ())]


def _barred(caption: _Caption, number: int, tree: Tree, i: int) -> set[int]:
    """What a pronoun cannot mean: the noun that its own preposition hangs on, or the subject of its own verb."""
    head = tree.heads[i]
    if tree.deps[i] == "pobj":
        head = tree.heads[head]
    barred = {n for one in statements.described(tree, head) for n in caption.means.get((number, one), ())}
    if tree.verb(head) and tree.deps[i] not in statements.SUBJECTS:
        barred |= {n for s in statements.subjects(tree, head) for n in caption.means.get((number, s), ())}
    return barred


def _statements(tree: Tree) -> list[Said]:
    found: list[Said] = []
    for i in range(len(tree.words)):
        if tree.verb(i) and not inner(tree, i) and tree.deps[i] not in ("aux", "auxpass", "amod"):
            found += statements.of_verb(tree, i)
        else:
            found += statements.of_noun(tree, i)
    return found


def _state(caption: _Caption, number: int, said: Said) -> None:
    """Turn a statement about words into one about nodes."""
    for subject in caption.means.get((number, said.subject), ()):
        if said.object is None:
            caption.nodes[subject].attributes.append(said.says)
            continue
        for thing in caption.means.get((number, said.object), ()):
            if thing != subject or (number, said.object) in caption.mutual:
                caption.relations.append((subject, said.says, thing))


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
    if word in known.pronouns or word in known.unsaid or word in known.be:
        return False
    if word in known.indefinite or kind == "name":
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


def name_of(tree: Tree, i: int) -> str:
    """The name of an object: compound words as written, and the dictionary form of the head."""
    word = tree.words[i]
    plural = tree.tags[i] in ("NNS", "NNPS") or word.given in SINGULARS or word.kind == "name"
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
    if tree.words[i].kind in ("attribute", "preposition") or word in known.colours or word in known.materials:
        return False
    if tree.tags[i] == "VBG":
        return (
            tree.deps[i + 1 : i + 2] != ["amod"]
            and word not in known.participles
            and tree.given(tree.heads[i]) not in known.animate
            and not tree.below(i, "advmod", "amod")
        )
    return tree.noun(i) and not _describes(word)


def _describes(word: str) -> bool:
    """Adjectives that taggers take for nouns: "shirtless man", "wooden"."""
    return word.endswith(("less", "ful", "ed", "ous")) and word not in ("bed", "shed", "sled", "seed", "weed")


def looks_of(tree: Tree, i: int) -> list[tuple[int, str]]:
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
        and word.given not in known.flat
    ):
        return []
    if part_of_name(tree, child):
        return [(p, a) for p, a in joined if not part_of_name(tree, p)]
    descriptive = (
        word.given in known.flat
        or tag in ("JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "CD", "FW")
        or tree.noun(child)
        or word.given in known.counted
    )
    if not descriptive or word.given in known.dropped or not word.given[0].isalnum():
        return joined
    return [(child, tree.said(child)), *joined]
