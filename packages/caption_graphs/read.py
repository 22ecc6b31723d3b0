"""Step 5, last: from the parsed sentences of a caption to its scene graph.

Words that name something become nodes, pronouns stand for nodes, and what verbs and prepositions say becomes
relations where there is something to relate, else an attribute of the subject.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from caption_graphs import wording
from caption_graphs.naming import attributes_of_noun, is_inner, is_object, name_of, naming_noun
from caption_graphs.statements import (
    SUBJECTS,
    Statement,
    described_nouns,
    statements_of_noun,
    statements_of_verb,
    subjects,
)
from caption_graphs.tree import Tree, lemma
from caption_graphs.vocabulary import known
from workbench.records import SceneGraph

# the attribute of things that are many, though no word says how many
PLURAL = "plural"
# small words that change what is said
DENIALS = frozenset({"no", "not", "never", "neither", "nor", "or", "without"})
# what hangs on a noun, or on any word that is no verb, and says something of it
TELLING = frozenset({"prep", "dative", "agent", "prt", "amod", "poss"})


def unread_words(text: str, graph: SceneGraph) -> tuple[str, ...]:
    """Return the words of a text that its graph holds in no form; those that say nothing by themselves are
    left out.

    Args:
        text: as it was written.
        graph: read from it.
    """
    from spacy.lang.en.stop_words import STOP_WORDS  # slow to import

    looks, ties = (word for _, word in graph.attributes), (word for _, word, _ in graph.relations)
    read = set(wording.tokens(" ".join([*graph.objects, *looks, *ties])))
    left = (word for word in wording.tokens(text) if word.isalpha() and word not in STOP_WORDS - DENIALS)
    forms = {word: {word, lemma(word, "NOUN"), lemma(word, "VERB")} for word in left}
    return tuple(word for word, several in forms.items() if read.isdisjoint(several))


@dataclass
class _Node:
    """One object of the caption, and where it is named first."""

    label: str
    sentence: int
    position: int
    plural: bool
    attributes: list[str]

    def is_named_by(self, words: Collection[str]) -> bool:
        """Return whether the last word of its name is one of these."""
        return self.label.rpartition(" ")[2] in words


def read_graph(trees: Sequence[Tree], *, plurals: bool = False) -> SceneGraph | None:
    """Return the scene graph of a caption, or None where no word names an object.

    Args:
        trees: its parsed sentences, with phrases where they belong.
        plurals: mark things that are many, though no word says how many.
    """
    nodes: list[_Node] = []
    relations: list[tuple[int, str, int]] = []
    for number, tree in enumerate(trees):
        relations += _Sentence(number, tree, nodes).read()
    if not nodes:
        return None
    attributes: list[tuple[int, str]] = []
    for n, node in enumerate(nodes):
        attributes += [(n, look) for look in node.attributes if plurals or look != PLURAL]
    names = tuple(node.label for node in nodes)
    return SceneGraph(names, tuple(dict.fromkeys(attributes)), tuple(dict.fromkeys(relations)))


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
            self.means[i] = [self._node_of_object(i)]
        for i in [i for i in places if tree.token(i) in known.pronouns]:
            if tree.deps[i] not in ("nummod", "det", "poss", "amod", "predet") and not is_inner(tree, i):
                self.means[i] = self._nodes_of_pronoun(i, tree.token(i))
                for node in self.means[i] if tree.words[i].kind == "count" else ():
                    self.nodes[node].attributes.append(tree.text(i))
        for i in places:
            says = (
                tree.is_verb(i) and tree.deps[i] not in ("aux", "auxpass", "amod") and not is_inner(tree, i)
            )
            tells = says or not TELLING.isdisjoint([tree.deps[c] for c in tree.children[i]])
            for statement in (
                statements_of_verb(tree, i) if says else statements_of_noun(tree, i) if tells else ()
            ):
                yield from self._relations_of(statement)

    def _node_of_object(self, i: int) -> int:
        """Return the node of an object: a new one, unless "the cat" is one that was told of before."""
        tree, named = self.tree, naming_noun(self.tree, i)
        label, attributes = name_of(tree, named), [a for _, a in attributes_of_noun(tree, i)]
        attributes += [tree.text(i)] if named != i else []
        definite = any(tree.token(c) in ("the", "this", "these", "that") for c in tree.children_by(i, "det"))
        bare = len(tree.children[i]) == 1 + bool(tree.children_by(i, "case")) and tree.deps[i] != "conj"
        # "the cat" is one that an earlier sentence named, or any before where nothing else is said of it
        before = self._nodes_where(lambda n: n.label == label and (n.sentence < self.number or bare))
        if definite and not attributes and before:
            return before[-1]
        plural = tree.tags[i] in ("NNS", "NNPS") or label == "people"
        if plural and not any(
            tree.tags[at] == "CD" or a in known.counted for at, a in attributes_of_noun(tree, i)
        ):
            attributes.append(PLURAL)
        return self._add_node(i, label, attributes, plural=plural)

    def _nodes_of_pronoun(self, i: int, word: str) -> list[int]:
        """Return the nodes that a pronoun means; where it tells of something else of that name, "a man holds
        up another", "beside a large one", or where nothing was named before, it has a node of its own.
        """
        meant = self._nodes_meant(i, word)
        look = [a for _, a in attributes_of_noun(self.tree, i)] if word in ("one", "ones", "others") else []
        if word == "others":
            living = {node.label for node in self.nodes if node.is_named_by(known.animate)}
            return [self._add_node(i, living.pop() if len(living) == 1 else "others", look)]
        if meant and (look or word == "another"):
            return [self._add_node(i, self.nodes[meant[0]].label, look)]
        # "he rides a moped" -> he
        alone = not meant and self.tree.deps[i] in SUBJECTS and word in ("he", "she", "they")
        return [self._add_node(i, self.tree.text(i), [])] if alone else meant

    def _add_node(self, i: int, label: str, attributes: list[str], *, plural: bool = False) -> int:
        """Return a new node, which a word names first."""
        self.nodes.append(_Node(label, self.number, i, plural, attributes))
        return len(self.nodes) - 1

    def _nodes_where(self, test: Callable[[_Node], bool], among: Iterable[int] | None = None) -> list[int]:
        """Return the nodes, of all or of some, of which something is true."""
        numbers = range(len(self.nodes)) if among is None else among
        return [n for n in numbers if test(self.nodes[n])]

    def _nodes_meant(self, i: int, word: str) -> list[int]:
        """Return which nodes a pronoun means."""
        barred, before = (
            self._barred_nodes(i),
            self._nodes_where(lambda n: (n.sentence, n.position) < (self.number, i)),
        )
        if word in known.reflexive:
            living = self._nodes_where(lambda n: n.is_named_by(known.animate))
            alone = self.tree.token(self.tree.heads[i]) == "by"
            return [] if alone else sorted(barred & set(living)) or living or sorted(barred)
        if word == "one" and (whole := self.tree.phrases(i, "of")):
            # "one of the cats" is a cat
            return self._nodes_of_words(whole)
        if word in known.plural_pronouns | {"it"} and (owners := self._owners(i)):
            return owners
        free = [n for n in before if n not in barred] or before
        if word in known.plural_pronouns:
            several = self._nodes_where(lambda n: n.plural, free)
            # "men in sunglasses look at something near them"
            bare = self._nodes_where(lambda n: not n.is_named_by(known.clothes), several)
            return (
                bare[-1:]
                or several[-1:]
                or self._nodes_where(lambda n: n.is_named_by(known.animate), free)[:2]
            )
        if word in known.person_pronouns:
            others = known.male if self.tree.text(i) in ("she", "her") else known.female
            persons = self._nodes_where(lambda n: n.is_named_by(known.persons - others), free)
            return (persons or self._nodes_where(lambda n: n.is_named_by(known.animals), free) or free)[:1]
        if word in known.others:
            counted = self._nodes_where(lambda n: "one" in n.attributes, before)
            return counted[-1:] or (self._nodes_where(lambda n: n.plural, before) or before)[:1]
        things = self._nodes_where(lambda n: not n.is_named_by(known.persons) and not n.plural, free)
        # What is worn is hardly ever meant: "a woman in a coat faces the sea as it rises".
        bare = self._nodes_where(lambda n: not n.is_named_by(known.clothes), things)
        return (bare or things or free)[:1] if word == "it" else []

    def _nodes_of_words(self, words: Iterable[int]) -> list[int]:
        """Return the nodes that words mean."""
        return list(chain.from_iterable(self.means.get(word, ()) for word in words))

    def _owners(self, i: int) -> list[int]:
        """Return whose thing a phrase speaks of: in "a desk with a laptop on it" the desk's."""
        tree = self.tree
        noun = tree.heads[tree.heads[i]] if tree.deps[i] == "pobj" else i
        while tree.deps[noun] in ("conj", "appos"):
            noun = tree.heads[noun]
        above = tree.heads[noun]
        owner = tree.heads[above]
        if tree.deps[noun] == "dobj" and tree.verb_lemma(above) == "have":
            return self._nodes_of_words(subjects(tree, above))
        if tree.deps[noun] != "pobj" or tree.token(above) != "with":
            return []
        return self._nodes_of_words([owner] if tree.is_noun(owner) else subjects(tree, owner))

    def _barred_nodes(self, i: int) -> set[int]:
        """Return what a pronoun cannot mean: the noun that its own preposition hangs on, or the subject of
        its own verb.
        """
        tree, above = self.tree, self.tree.heads[i]
        head = tree.heads[above] if tree.deps[i] == "pobj" else above
        doers = subjects(tree, head) if tree.is_verb(head) and tree.deps[i] not in SUBJECTS else []
        return set(self._nodes_of_words([*described_nouns(tree, head), *doers]))

    def _relations_of(self, statement: Statement) -> Iterator[tuple[int, str, int]]:
        """Yield a statement about words as relations of nodes, or as an attribute of them."""
        subject, says, thing = statement
        for node in self._nodes_of_words([subject]):
            if thing is None:
                self.nodes[node].attributes.append(says)
            else:
                # Only who is alone in "each other" or "himself" can be related with itself.
                meant = self._nodes_of_words([thing])
                itself = self.tree.token(thing) in known.reflexive and set(meant) == {node}
                yield from ((node, says, n) for n in meant if n != node or itself)
