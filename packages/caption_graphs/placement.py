"""Step 4: four kinds of phrases are moved to the word they belong to, where the parser hung them on another.

The parser has learnt where most phrases belong. What is left for rules is what the guide decides by kinds of
things.
"""

from itertools import chain

from caption_graphs.tree import Tree
from caption_graphs.vocabulary import known


def place_phrases(tree: Tree) -> Tree:
    """Return the tree with its phrases where they belong.

    Args:
        tree: one sentence; it is changed.
    """
    for i in range(1, len(tree.words)):
        if tree.deps[i] in ("dep", "conj") and tree.is_noun(i):
            attach_listed_noun(tree, i)
        elif tree.deps[i] == "prep":
            attach_place_to_seen(tree, i)
            attach_phrase_to_held(tree, i)
            if tree.token(i) == "with":
                attach_surroundings(tree, i)
    return tree


def attach_listed_noun(tree: Tree, i: int) -> None:
    """Hang the next of a list on the noun before its comma: "a kitchen with a stove, | a can and an oven";
    and who is joined is joined to whoever stands before "and": "a boat pushed by a boy and | a man".
    """
    begin, head = min((i, *tree.children[i])), tree.heads[i]
    before = begin - 2
    if before < 0 or head >= before or not tree.is_noun(before) or tree.deps[before] not in ("pobj", "dobj"):
        return
    tie = tree.token(begin - 1)
    comma = tree.deps[i] == "dep" and tie in (",", "and")
    alike = tree.deps[i] == "conj" and tie == "and" and tree.is_noun(head)
    if comma or (alike and tree.is_animate(i) and tree.is_animate(before) and not tree.is_animate(head)):
        tree.attach(i, before, "conj")


def attach_place_to_seen(tree: Tree, i: int) -> None:
    """Hang a place on what is seen: "watching two dogs | in the water", "looks at a child | on a
    swing"; but not of a lens or a screen.
    """
    head, seen = tree.heads[i], i - 1
    if not tree.is_verb(head) or tree.verb_lemma(head) not in known.seeing or not tree.is_noun(seen):
        return
    before = tree.heads[seen]
    at = tree.deps[seen] == "pobj" and tree.token(before) == "at" and tree.heads[before] == head
    thing = tree.name(seen) not in known.lenses and tree.children_by(i, "pobj") != []
    if thing and tree.token(i) in known.placing and (at or (tree.deps[seen] == "dobj" and before == head)):
        tree.attach(i, seen, "prep")


def attach_phrase_to_held(tree: Tree, i: int) -> None:
    """Attach where something is in relation to who has it, "pulling a trolley | behind it", and where an
    action goes that is a thing: "does a trick | off a ledge".
    """
    verb, tie = tree.heads[i], tree.text(i)
    thing = i - 1
    if not tree.is_verb(verb) or tree.deps[thing] != "dobj" or tree.heads[thing] != verb:
        return
    root, targets = tree.verb_lemma(verb), tree.children_by(i, "pobj")
    behind = tie in ("behind", "in front of") and any(tree.tags[t] == "PRP" for t in targets)
    behind &= root in known.keeping
    # "flies a kite | in the sky"
    flown = root == "fly" and tie == "in" and any(tree.name(t) in known.skies for t in targets)
    # but not "does her homework | down the hall"
    goes = (
        root in known.light
        and tie in ("off", "off of", "down", "over")
        and not tree.children_by(thing, "poss")
    )
    if behind or flown or goes:
        tree.attach(i, thing, "prep")


def attach_surroundings(tree: Tree, i: int) -> None:
    """Hang what is around on the subject: "sits on a bench | with a church behind him"."""
    things = tree.children_by(i, "pobj") or tree.children_of_all(tree.children_by(i, "pcomp"), "nsubj")
    if not things or not _is_around(tree, things[0]):
        return
    head = tree.heads[i]
    while tree.deps[head] in ("pobj", "prep", "dobj") and not tree.is_verb(head):
        head = tree.heads[head]
    described = [tree.heads[head]] if tree.deps[head] == "acl" else []
    subjects = [s for s in tree.children_by(head, "nsubj", "nsubjpass") if s < i] or described
    if subjects or tree.is_noun(head):
        tree.attach(i, subjects[0] if tree.is_verb(head) and subjects else head, "prep")


def _is_around(tree: Tree, thing: int) -> bool:
    """Return whether a phrase tells what is around: "with a church behind him", "with trees in the
    background".
    """
    owners = [thing, *tree.children_by(thing, "acl", "conj")]
    owners += [tree.heads[thing]] if tree.deps[thing] == "nsubj" else []
    ends = chain.from_iterable(map(tree.phrases, owners))
    # but not "with a ball on it", which is the ball's place
    return any(
        (tree.tags[t].startswith("PRP") and tree.token(t) != "it") or tree.token(t) in known.views
        for t in ends
    )
