"""Step 5: from the parsed sentences of a caption to its scene graph: nodes, what pronouns stand for,
statements.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from workbench.records import SceneGraph
from workbench.text.scene_graph import statements
from workbench.text.scene_graph.statements import Statement
from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import SINGULARS, known


@dataclass
class _Node:
    """One object of the caption, and where it is named first."""

    label: str
    sentence: int
    position: int
    plural: bool
    attributes: list[str]

    def among(self, words: Collection[str]) -> bool:
        """Whether the last word of its name is one of these."""
        return self.label.rpartition(" ")[2] in words


def read_graph(trees: Sequence[Tree]) -> SceneGraph | None:
    """The scene graph of a caption, or None where no word names an object.

    Args:
        trees: its parsed sentences.
    """
    nodes: list[_Node] = []
    relations: list[tuple[int, str, int]] = []
    for number, tree in enumerate(trees):
        relations += _Sentence(number, tree, nodes).read()
    if not nodes:
        return None
    attributes = dict.fromkeys((n, a) for n, node in enumerate(nodes) for a in node.attributes)
    labels = tuple(node.label for node in nodes)
    return SceneGraph(labels, tuple(attributes), tuple(dict.fromkeys(relations)))


@dataclass
class _Sentence:
    """What is known while a sentence is read: the nodes of the caption so far, and which of them each word
    means.
    """

    number: int
    tree: Tree
    nodes: list[_Node]
    means: dict[int, list[int]] = field(default_factory=dict)

    def read(self) -> Iterator[tuple[int, str, int]]:
        """Name nodes and give them attributes; yields the relations between them."""
        tree, places = self.tree, range(len(self.tree.words))
        for i in filter(lambda i: is_object(tree, i), places):
            self.means[i] = [self._node(i)]
        for i in places:
            bare = tree.deps[i] not in ("nummod", "det", "poss", "amod", "predet") and not inner(tree, i)
            if bare and tree.given(i) in known.pronouns:
                self.means[i] = self._meant(i, tree.given(i))
        for i in places:
            says = tree.verb(i) and not inner(tree, i) and tree.deps[i] not in ("aux", "auxpass", "amod")
            for statement in (statements.of_verb if says else statements.of_noun)(tree, i):
                yield from self._related(statement)

    def _node(self, i: int) -> int:
        """The node of an object: a new one, unless "the cat" is one that was told of before."""
        tree, label = self.tree, name_of(self.tree, i)
        attributes = [a for _, a in looks_of(tree, i)]
        definite = any(tree.given(c) in ("the", "this", "these", "that") for c in tree.below(i, "det"))
        bare = len(tree.children[i]) == 1 and tree.deps[i] != "conj"
        known_before = self._where(lambda n: n.label == label and (n.sentence < self.number or bare))
        if definite and not attributes and known_before:
            return known_before[-1]
        plural = tree.tags[i] in ("NNS", "NNPS") or label == "people"
        self.nodes.append(_Node(label, self.number, i, plural, attributes))
        return len(self.nodes) - 1

    def _where(self, test: Callable[[_Node], bool], among: Iterable[int] | None = None) -> list[int]:
        """The nodes, of all or of some, of which something is true."""
        return [n for n in (range(len(self.nodes)) if among is None else among) if test(self.nodes[n])]

    def _meant(self, i: int, word: str) -> list[int]:
        """Which nodes a pronoun means."""
        barred = self._barred(i)
        if word in known.reflexive:
            living = self._where(lambda n: n.among(known.animate))
            alone = self.tree.given(self.tree.heads[i]) == "by"
            return [] if alone else sorted(barred & set(living)) or living or sorted(barred)
        owners = self._owners(i)
        if owners and (word in known.plural_pronouns or word == "it"):
            return owners
        before = self._where(lambda n: (n.sentence, n.position) < (self.number, i))
        free = [n for n in before if n not in barred] or before
        if word in known.plural_pronouns:
            return self._where(lambda n: n.plural, free)[-1:] or free[:2]
        if word in known.person_pronouns:
            persons = self._where(lambda n: n.among(known.persons), free)
            animals = self._where(lambda n: n.among(known.animals), free)
            return (persons or animals or free)[:1]
        if word in known.others:
            return (self._where(lambda n: n.plural, before) or before)[:1]
        things = self._where(lambda n: not n.among(known.persons) and not n.plural, free)
        return (things or free)[:1] if word == "it" else []

    def _nodes(self, words: Iterable[int]) -> list[int]:
        """The nodes that words mean."""
        return [node for word in words for node in self.means.get(word, ())]

    def _owners(self, i: int) -> list[int]:
        """Whose thing a phrase speaks of: in "a desk with a laptop on it" the desk's."""
        tree = self.tree
        noun = tree.heads[tree.heads[i]] if tree.deps[i] == "pobj" else i
        while tree.deps[noun] in ("conj", "appos"):
            noun = tree.heads[noun]
        above = tree.heads[noun]
        if tree.deps[noun] == "dobj" and tree.root(above) == "have":
            return self._nodes(statements.subjects(tree, above))
        if tree.deps[noun] != "pobj" or tree.given(above) != "with":
            return []
        owner = tree.heads[above]
        return self._nodes([owner] if tree.noun(owner) else statements.subjects(tree, owner))

    def _barred(self, i: int) -> set[int]:
        """What a pronoun cannot mean: the noun that its own preposition hangs on, or the subject of its own
        verb.
        """
        tree, head = self.tree, self.tree.heads[i]
        if tree.deps[i] == "pobj":
            head = tree.heads[head]
        barred = self._nodes(statements.described(tree, head))
        if tree.verb(head) and tree.deps[i] not in statements.SUBJECTS:
            barred += self._nodes(statements.subjects(tree, head))
        return set(barred)

    def _related(self, statement: Statement) -> Iterator[tuple[int, str, int]]:
        """A statement about words as relations of nodes, or as an attribute of them."""
        for subject in self.means.get(statement.subject, ()):
            if statement.object is None:
                self.nodes[subject].attributes.append(statement.says)
                continue
            itself = self.tree.given(statement.object) in known.reflexive
            for thing in self.means.get(statement.object, ()):
                if thing != subject or itself:
                    yield subject, statement.says, thing


INNER = ("compound", "nmod", "amod", "nummod", "det", "advmod", "quantmod", "nn")
BESIDE = ("amod", "nummod", "compound", "nmod", "det", "predet", "advmod", "quantmod", "npadvmod")


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
        # "Outdoors" is a noun used as an adverb.
        return not inner(tree, i) and word not in known.adverbs
    # An adjective or number may stand for a thing: "a man in red", "two are playing".
    named = tree.tags[i] in ("JJ", "JJR", "JJS", "CD") and word not in known.amounts
    return named and tree.deps[i] in ("nsubj", "nsubjpass", "dobj", "pobj")


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
        plain = word not in known.participles and tree.given(tree.heads[i]) not in known.animate
        return plain and tree.deps[i + 1 : i + 2] != ["amod"] and not tree.below(i, "advmod", "amod")
    # Adjectives that taggers take for nouns: "shirtless man".
    describes = word.endswith(("less", "ful", "ed", "ous"))
    return tree.noun(i) and (not describes or word in ("bed", "shed", "sled", "seed", "weed"))


def looks_of(tree: Tree, i: int) -> list[tuple[int, str]]:
    """What words beside a noun say of it: adjectives, participles, numbers, colours, materials.

    Returns:
        ``(position, attribute)`` in the order of the text.
    """
    beside = (child for child in tree.children[i] if tree.deps[child] in BESIDE)
    return sorted(look for child in beside for look in _described(tree, child, i))


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
    adverb = tree.deps[child] == "advmod" and not tag.startswith("JJ") and word.given not in known.flat
    if child < i and adverb:
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
