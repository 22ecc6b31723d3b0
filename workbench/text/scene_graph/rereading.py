"""Step 3: sentences in which a verb was read as a noun are read again with other words.

A tagger that knows newspapers takes "a dog runs" for a compound, and "a man in a hat posing" for a man in a
"hat posing"; "a dog is running" and "a hat who is posing" leave it no choice.
"""

import re

from workbench.text.scene_graph.tree import Tree, lemma
from workbench.text.scene_graph.wording import Word, known

FOLLOWERS = known.followers | known.placing
ADVERBIAL = ("VBN", "IN", "RB", "VBG")


def reread(tree: Tree) -> list[Word] | None:
    """Verbs that were read as nouns, "a dog runs" taken for a compound: such a sentence is read again with
    other words, "a dog is running".

    Args:
        tree: the first reading.

    Returns:
        The words to be parsed instead, or None where the sentence was read well.
    """
    # What opens like a command names something, "vase with flowers", but not "look, a cat".
    bare = tree.tags[0] in ("VB", "VBP") and tree.heads[0] == 0 and tree.given(1) in known.followers - {","}
    made = [Word("a")] if bare else []
    for i, word in enumerate(tree.words):
        inside = 0 < i < len(tree.words) - 1 and not word.says
        doubtful = inside and (tree.noun(i) or _merged(tree, i))
        # Of two words in a row one at most is such a verb.
        doubtful = doubtful and made[-1:] == [tree.words[i - 1]]
        verb = (doubtful and (_finite(tree, i) or _gerund(tree, i))) or (inside and _after_look(tree, i))
        made += verb or [word]
    return made if len(made) > len(tree.words) else None


def _merged(tree: Tree, i: int) -> bool:
    """A verb that the noun before it was made part of: "a dark | hat shoots"."""
    if tree.tags[i] not in ("VBZ", "VBG"):
        return False
    loose = tree.deps[i] in ("pobj", "dobj", "conj", "compound", "ROOT") or (tree.tags[i] == "VBZ" and i > 1)
    into = loose and i - 1 in tree.below(i, "compound", "nmod", "amod")
    into |= tree.tags[i] == "VBZ" and tree.deps[i] == tree.deps[i - 1] == "dobj"
    # "one person | having food", "a woman in white | playing tennis", "man | squirts water"
    parts = ("compound", "amod", "nmod") if tree.root(i) in known.acting or tree.tags[i] == "VBZ" else ()
    # "at the stove | cooking green beans", "child | squirting paint"
    plain = tree.tags[i] == "VBG" and tree.given(i) not in known.sports | known.participles
    if plain and ((tree.adjective(i + 1) and tree.noun(i - 1)) or tree.animate(i - 1)):
        parts = ("compound", "amod", "nmod")
    between = tree.deps[i] in parts and tree.noun(tree.heads[i]) and i < tree.heads[i]
    told = tree.noun(i - 1) or tree.said(i - 1) in known.colours
    return into or (between and told)


def _verbs_before(tree: Tree, i: int) -> bool:
    """Whether the clause has a finite verb already, one after "who" not counted."""
    start = max((j for j in range(i) if tree.given(j) in (",", "while", "as", "and")), default=-1)
    verbs = (j for j in range(start + 1, i) if tree.tags[j] in ("VBZ", "VBP", "VBD", "MD"))
    return any(tree.given(j - 1) not in known.relatives for j in verbs)


_DOUBLED = re.compile(r"[^aeiou]*[aeiou][bdgklmnprt]")
_MUTE = re.compile(r"(?<=[^eoy])e$")


def _finite(tree: Tree, i: int) -> list[Word]:
    """A finite verb read as a noun: "a dog runs", "two men in ties smile at the camera", "a woman in white
    crosses the road".
    """
    word, before, tag = tree.given(i), tree.given(i - 1), tree.tags[i - 1]
    if i == 1 and tree.tags[i] == "VBZ" and tree.animate(0) and tree.root(i) in known.verbs:
        return [Word("is"), Word(_gerund_of(tree.root(i)))]
    root, noun = tree.root(i), lemma(word, "NOUN")
    if root not in known.verbs and noun == word:
        return []
    after, several = tree.given(i + 1), tag in ("NNS", "NNPS")
    worn = _after_worn(tree, i)
    followed = after in FOLLOWERS or tree.tags[i + 1] in (("VBN", "IN", "RB") if not worn else ADVERBIAL)
    one = before not in known.one and any(tree.given(c) in known.one for c in tree.below(i, "det"))
    # A plural after "a" or "one" is no noun.
    clash = one and noun != word and noun not in known.animate
    # "people | board train"
    followed |= (
        several and tree.animate(i - 1) and word == root and tree.noun(i + 1) and not _verbs_before(tree, i)
    )
    may = followed and (several or word.endswith("s")) and (clash or root in known.verbs)
    if word == root and not several and followed and root in known.verbs:
        return _seen(tree, i) or _together(tree, i)
    if not may or (_verbs_before(tree, i) and before not in ("and", ",")):
        return []
    if word == root:
        return [Word("are"), Word(_gerund_of(root))] if several else []
    singular = any(tree.given(j) in known.one or tree.given(j) == "the" for j in range(i))
    begins = singular or tree.tags[0] in ("NN", "NNP", "JJ")
    follows = before == "and" and any(tree.tags[j] in ("VBZ", "VBG") for j in range(i))
    subject = begins and (tag in ("NN", "NNP") or before in known.colours or follows or worn)
    loose = tree.deps[i] in ("ROOT", "appos", "dep") and after not in ("and", ",", ".", "with", "in")
    living = before in known.animate and tag == "NN"
    plain = root in known.hardly_nouns or _merged(tree, i) or after in ("as", "while")
    plain |= follows and after in ("at", "towards", "up")
    verb = clash or living or loose or after in known.openers or worn
    told = word.endswith("s") and ((subject and not follows and verb) or (plain and (subject or several)))
    return [Word("is"), Word(_gerund_of(root))] if told else []


def _seen(tree: Tree, i: int) -> list[Word]:
    """What somebody sees another do: "watching a dog | run past"."""
    seen = tree.deps[i] == "dobj" and i - 1 in tree.below(i, "compound")
    seen = seen and tree.animate(i - 1) and tree.root(tree.heads[i]) in known.seeing | known.controlling
    return [Word("who"), Word("is"), Word(_gerund_of(tree.root(i)))] if seen else []


def _after_worn(tree: Tree, i: int) -> bool:
    """Whether a word was joined to what someone has on: "a dog with an orange collar | walks in a field"."""
    things = [j for j in range(i) if tree.noun(j) and tree.deps[j] != "compound"]
    someone = things and tree.animate(things[0]) and tree.tags[things[0]] in ("NN", "NNP")
    worn = tree.name(i - 1) in known.clothes | known.body | known.portable | known.ridden
    return bool(someone) and worn and i - 1 in tree.below(i, "compound", "nmod")


def _together(tree: Tree, i: int) -> list[Word]:
    """What several do: "a person and a horse splash through the water", "two boys in a hat look at a toy"."""
    first = next((j for j in range(i) if tree.noun(j)), i)
    if tree.tags[i - 1] not in ("NN", "JJ") or _verbs_before(tree, i):
        return []
    joined = tree.animate(i - 1) and any(tree.given(j) == "and" for j in range(max(i - 4, 0), i - 1))
    # "a man in a shirt and a man in a hat | jump in the air"
    people, ands = [j for j in range(i) if tree.animate(j)], [j for j in range(i) if tree.given(j) == "and"]
    joined |= tree.name(i - 1) in known.clothes and any(people[0] < j < people[-1] for j in ands if people)
    followed = tree.given(first + 1) in known.relatives | {"in", "with", "on", "at"}
    gathered = any(tree.words[j].says in known.gathers for j in range(first))
    several = tree.animate(first) and (gathered or (tree.tags[first] == "NNS" and followed))
    # What is worn, carried or alive has no stand, and no look.
    held = tree.name(i - 1) in known.clothes | known.portable | known.animate
    # "two dogs on a lawn | play with a toy", but "at a city park"
    held |= tree.name(i - 1) in known.places and tree.root(i) in known.deeds | known.moving
    return [Word("are"), Word(_gerund_of(tree.root(i)))] if joined or (several and held) else []


def _after_look(tree: Tree, i: int) -> list[Word]:
    """A verb after a clause that tells a look: "a boy who is tall | catches a ball"."""
    clause = i > 2 and tree.given(i - 3) in known.relatives and tree.given(i - 2) in known.be
    look = clause and tree.tags[i - 1].startswith("JJ")
    verb = look and tree.given(i).endswith("s") and tree.root(i) in known.verbs
    return [Word("is"), Word(_gerund_of(tree.root(i)))] if verb else []


def _gerund_of(root: str) -> str:
    """The participle, which is read as a verb more surely: "snarling"."""
    stem = _MUTE.sub("", root.replace("ie", "y") if root.endswith("ie") else root)
    return (root + root[-1] if _DOUBLED.fullmatch(root) else stem) + "ing"


def _gerund(tree: Tree, i: int) -> list[Word]:
    """A participle read as a noun: "a man with an orange helmet climbing a rock"."""
    word, before = tree.given(i), tree.given(i - 1)
    if not word.endswith("ing") or word in known.gerund_nouns or tree.root(i) not in known.verbs:
        return []
    wears = i > 1 and tree.said(i - 1) in known.colours and tree.given(i - 2) in ("in", "wearing")
    subject = tree.noun(i - 1) or before in known.clothes | known.portable or wears
    marks = [c for j in (i, i - 1, tree.heads[i]) for c in tree.children[j] if c < i - 1]
    told = any(tree.tags[c] in ("DT", "PRP$", "CD") or tree.adjective(c) for c in marks)
    doing = told or wears or tree.animate(i - 1) or tree.name(i - 1) in known.body | known.clothes
    # "with water | shooting out of the ground"
    doing |= tree.tags[i] == "VBG" and tree.deps[i] == "pobj"
    acting = doing and tree.root(i) in known.acting and tree.noun(i + 1)
    followed = tree.given(i + 1) in (known.followers if doing else known.openers) or acting
    # "at the stove | cooking green beans", "child | squirting paint"; but not "horse riding"
    plain = word not in known.sports and tree.deps[i] in ("amod", "compound", "nmod")
    followed |= plain and (tree.adjective(i + 1) or (tree.animate(i - 1) and tree.noun(i + 1)))
    # "standing in snow | barking"
    placed = tree.name(i - 1) in known.places and tree.tags[i + 1] in (".", "CC")
    followed |= placed and word not in known.sports and any(tree.tags[j] == "VBG" for j in range(i))
    return [Word("who"), Word("is"), Word(word)] if subject and followed else []
