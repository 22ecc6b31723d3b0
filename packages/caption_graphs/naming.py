"""Step 5, first half: which words name something, by what name, and what the words beside them say of it."""

from itertools import chain

from caption_graphs.tree import Tree, dictionary, lemma
from caption_graphs.vocabulary import SINGULARS, known

NO_OBJECTS = known.pronouns | known.unsaid | known.be
# words before a noun that are no part of its name; joined once, since every such word is asked for
NO_PARTS = known.colours | known.materials | known.dropped | known.participles | known.never_named
PERSONS = {"women": "woman", "men": "man"}
# tags of words that may name something
NAMING = frozenset({"NN", "NNS", "NNP", "NNPS", "JJ", "JJR", "JJS", "CD"})
SIZES = frozenset({"big", "large", "little", "old", "short", "small", "tall", "young"})
LIT = frozenset({"on", "off"})
INNER = ("compound", "nmod", "amod", "nummod", "det", "advmod", "quantmod", "nn")
BESIDE = ("amod", "nummod", "compound", "nmod", "det", "predet", "advmod", "quantmod", "npadvmod", "appos")


def is_inner(tree: Tree, i: int) -> bool:
    """Return whether a word only helps to name or describe a noun that follows it."""
    head = tree.heads[i]
    # "is rock | climbing", "a man rock | climbing"
    does = tree.is_verb(head) and (tree.deps[head] == "acl" or bool(tree.children_by(head, "aux")))
    sport = tree.deps[i] == "compound" and does
    return head > i and tree.deps[i] in INNER and (tree.is_noun(head) or tree.deps[head] in INNER or sport)


def is_object(tree: Tree, i: int) -> bool:
    """Return whether a word is the head of a phrase that names something."""
    word, kind = tree.token(i), tree.words[i].kind
    names = word in known.indefinite or kind == "name"
    if not names and tree.tags[i] not in NAMING:
        return False
    if kind in ("attribute", "preposition") or not word[0].isalnum() or word in NO_OBJECTS:
        return False
    if names or tree.is_noun(i):
        # "Outdoors" is a noun used as an adverb, but not in "on the outside".
        adverb = word in known.adverbs and not tree.children_by(i, "det")
        return not is_inner(tree, i) and (names or not adverb)
    # An adjective or number may stand for a thing: "a man in red", "two are playing".
    first = i
    while tree.deps[first] == "conj" and tree.text(first) in known.colours:
        first = tree.heads[first]
    return (
        word not in known.amounts
        and tree.deps[first] in ("nsubj", "nsubjpass", "dobj", "pobj")
        and (
            # "in orange and | black"
            not tree.is_noun(first) or tree.text(first) in known.colours
        )
    )


def name_of(tree: Tree, i: int) -> str:
    """Return the name of an object: compound words as written, and the dictionary form of the head."""
    word = tree.words[i]
    plural = tree.tags[i] in ("NNS", "NNPS") or word.token in SINGULARS or word.kind == "name"
    plural |= word.token.endswith("s") and word.token not in dictionary()
    head = lemma(word.token, "NOUN") if plural else tree.text(i)
    if word.kind == "name":
        start = word.says[: max(word.says.rfind(" "), word.says.rfind("-")) + 1]
        last = word.says[len(start) :]
        # No plural ends in -a: "coca-cola".
        whole = start == "pair of " or last.endswith("a")
        head = word.says if whole else SINGULARS.get(word.says) or start + lemma(last, "NOUN")
    # "a women tennis player"
    parts = (PERSONS.get(tree.text(c), tree.text(c)) for c in compound_nouns(tree, i))
    return " ".join([*parts, head])


def naming_noun(tree: Tree, i: int) -> int:
    """Return the noun that names an object: itself, or the noun joined to a colour or size, "a black and a
    white dog".
    """
    own = any(tree.token(c) in known.articles for c in tree.children_by(i, "det"))
    looks = next((some for some in (known.colours, SIZES) if tree.text(i) in some), None)
    if looks is None or tree.deps[i] == "pobj" or not own:
        return i
    alike = [n for n in tree.children_by(i, "conj") if tree.is_noun(n) and tree.children_by(n, "det")]
    for noun in alike:
        if any(tree.text(c) in looks for c in tree.children_by(noun, "amod")):
            return noun
    return i


def compound_nouns(tree: Tree, i: int) -> list[int]:
    """Return positions of the nouns that make one name with the noun at ``i``."""
    beside = tree.children_by(i, "compound", "nmod", "amod", "nummod")
    places: list[int] = []
    for part in beside:
        if part < i and is_part_of_name(tree, part):
            places += [*compound_nouns(tree, part), part]
    return places


def is_part_of_name(tree: Tree, i: int) -> bool:
    """Return whether a word before a noun belongs to its name rather than describes it."""
    word = tree.text(i)
    if tree.words[i].kind in ("attribute", "preposition") or word in NO_PARTS:
        return False
    if word in known.kinds:
        return True
    if word == "top":
        # "the top floor", but "a desk top computer" and "an open top bus"
        return i > 0 and tree.token(i - 1) not in known.openers
    if tree.tags[i] == "VBG":
        plain = tree.token(tree.heads[i]) not in known.animate
        return plain and tree.deps[i + 1 : i + 2] != ["amod"] and not tree.children_by(i, "advmod", "amod")
    # Adjectives that taggers take for nouns: "shirtless man".
    describes = word.endswith(("less", "ful", "ed", "ous"))
    return tree.is_noun(i) and (not describes or word in known.unworked)


def attributes_of_noun(tree: Tree, i: int) -> list[tuple[int, str]]:
    """Return what words beside a noun say of it: adjectives, participles, numbers, colours, materials.

    Returns:
        ``(position, attribute)`` in the order of the text.
    """
    own = chain.from_iterable(_modifier_attributes(tree, child, i) for child in tree.children_by(i, *BESIDE))
    return sorted([*own, *_raised_attributes(tree, i), *_gathering_attributes(tree, i)])


def _raised_attributes(tree: Tree, i: int) -> list[tuple[int, str]]:
    """Return where a part of the body, or what is worn, is held, "with its ears up", and whether a light is
    on.
    """
    first = tree.first(i)
    if tree.deps[first] != "pobj" or tree.token(tree.heads[first]) != "with":
        return []
    name = tree.name(i)
    ways = LIT if name in known.lamps else frozenset()
    ways = known.particles if name in known.personal else ways
    moved = [c for c in tree.children_by(i, "advmod") if c > i and tree.token(c) in ways]
    return [(c, tree.token(c)) for c in moved if tree.token(c + 1) not in known.placing | {"against"}]


def _gathering_attributes(tree: Tree, i: int) -> list[tuple[int, str]]:
    """Return what gathers a joined noun that has no word of its own before it: "a row of bikes and
    mopeds".
    """
    first = tree.first(i)
    if first == i or tree.children_by(i, *BESIDE) or any(c < i for c in tree.children_by(i, "poss")):
        return []
    kinds = [c for c in tree.children_by(first, *BESIDE) if tree.words[c].says in known.gathers]
    return [(c, tree.words[c].says) for c in kinds]


def _modifier_attributes(tree: Tree, child: int, i: int) -> list[tuple[int, str]]:
    """Return the attribute that one modifier gives, with those that are joined to it."""
    word, tag = tree.words[child], tree.tags[child]
    if tree.deps[child] == "appos" and tree.token(child - 1) != ",":
        return []
    joined = tree.children_by(child, "conj", "amod", "compound", "nmod", "nummod", "advmod")
    more = list(chain.from_iterable(_modifier_attributes(tree, j, i) for j in joined))
    if word.kind == "attribute":
        return [(child, word.says), *more]
    adjective = tag.startswith("JJ")
    adverb = tree.deps[child] == "advmod" and not adjective and word.token not in known.flat
    if (not adjective or tree.children_by(child, "prep")) if child > i else adverb:
        return []
    if is_part_of_name(tree, child):
        return [(p, a) for p, a in more if not is_part_of_name(tree, p)]
    descriptive = (
        word.token in known.flat
        or tag in ("JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "CD", "FW")
        or tree.is_noun(child)
        or word.token in known.counted
    )
    says = descriptive and word.token not in known.dropped and word.token[0].isalnum()
    # "a run down building"
    look = " ".join([tree.text(child), *(tree.token(c) for c in tree.children_by(child, "prt") if c > child)])
    return [(child, look), *more] if says else more
