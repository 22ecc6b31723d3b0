"""From the parsed sentences of a caption to its scene graph: nodes, what pronouns stand for, statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.records import SceneGraph
from workbench.text import _scene_objects as objects
from workbench.text import _scene_relations as relations
from workbench.text import _scene_words as known
from workbench.text._scene_relations import Said
from workbench.text._scene_tree import Tree


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


def read(trees: Sequence[Tree]) -> SceneGraph | None:
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
        if not objects.is_object(tree, i):
            continue
        label, said = objects.label(tree, i), [a for _, a in objects.attributes(tree, i)]
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
        if word not in known.PRONOUNS or (number, i) in caption.means or objects.inner(tree, i):
            continue
        if tree.deps[i] in ("nummod", "det", "poss", "amod", "predet"):
            continue
        if word in known.REFLEXIVE:
            caption.mutual.add((number, i))
            alone = tree.given(tree.heads[i]) == "by"
            selves = sorted(_barred(caption, number, tree, i))
            living = [n for n in range(len(caption.nodes)) if caption.nodes[n].head in known.ANIMATE]
            caption.means[number, i] = [] if alone else [n for n in selves if n in living] or living or selves
            continue
        found = _antecedent(caption, number, tree, i, word)
        if found:
            caption.means[number, i] = found


def _antecedent(caption: _Caption, number: int, tree: Tree, i: int, word: str) -> list[int]:
    before = [n for n, node in enumerate(caption.nodes) if (node.sentence, node.position) < (number, i)]
    owners = _owners(caption, number, tree, i)
    if owners and word in (*known.PLURAL_PRONOUNS, "it"):
        return owners
    barred = _barred(caption, number, tree, i)
    free = [n for n in before if n not in barred] or before
    if word in known.PLURAL_PRONOUNS:
        several = [n for n in free if caption.nodes[n].plural]
        return several[-1:] or free[:2]
    if word in known.PERSON_PRONOUNS:
        persons = [n for n in free if caption.nodes[n].head in known.PERSONS]
        return persons[:1] or [n for n in free if caption.nodes[n].head in known.ANIMALS][:1] or free[:1]
    if word in known.OTHERS:
        return [n for n in before if caption.nodes[n].plural][:1] or before[:1]
    if word == "it":
        return (
            [n for n in free if caption.nodes[n].head not in known.PERSONS and not caption.nodes[n].plural]
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
        found = [owner] if tree.noun(owner) else relations.subjects(tree, owner)
    elif tree.deps[noun] == "dobj" and tree.root(above) == "have":
        found = relations.subjects(tree, above)
    else:
        return []
    return [n for one in found for n in caption.means.get((number, one), ())]


def _barred(caption: _Caption, number: int, tree: Tree, i: int) -> set[int]:
    """What a pronoun cannot mean: the noun that its own preposition hangs on, or the subject of its own verb."""
    head = tree.heads[i]
    if tree.deps[i] == "pobj":
        head = tree.heads[head]
    barred = {n for one in relations.described(tree, head) for n in caption.means.get((number, one), ())}
    if tree.verb(head) and tree.deps[i] not in relations.SUBJECTS:
        barred |= {n for s in relations.subjects(tree, head) for n in caption.means.get((number, s), ())}
    return barred


def _statements(tree: Tree) -> list[Said]:
    found: list[Said] = []
    for i in range(len(tree.words)):
        if tree.verb(i) and not objects.inner(tree, i) and tree.deps[i] not in ("aux", "auxpass", "amod"):
            found += relations.of_verb(tree, i)
        else:
            found += relations.of_noun(tree, i)
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
